"""Messages of the contract as they were recorded, which have to read, hash and verify the same for ever.

Each folder here is a set: what a real holder was sent and answered. **A file that was recorded is never edited and
never made anew**: auditors keep such files as receipts, and holders as their ledger. A test that fails on one has found
a change that breaks them all. Where messages grow (the docstrings of `shared.plans`, `shared.releases` and
`holder_service.domain.ledger` say how), or a kind of entry is new, another set joins those that there are:
`python -m tests.contract NAME`.

| file | what a line is |
|---|---|
| `plans.jsonl` | a plan as it was sent, with its auditor, dataset, version and identity |
| `quotes.jsonl`, `releases.jsonl` | the quote of that plan; the release, in the bytes that were sent and stored |
| `entries.jsonl` | an entry of the ledger, in order; the last line ends the export |
| `datasets.json`, `keys.json` | the declarations that the plans were made for; the public keys that signed |
"""
