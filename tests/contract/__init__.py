"""Messages of the contract as they were recorded, which have to read, hash and verify the same for ever.

Each folder here is a set: what a real holder was sent and answered, or what a real auditor kept. **A file that was
recorded is never edited and never made anew**: auditors keep such files as receipts, and holders as their ledger. A
test that fails on one has found a change that breaks them all. Where messages grow (docstrings of `shared.kinds.plans`,
`shared.kinds.releases`, `holder_service.domain.ledger` and `auditor_client.findings.notes` say how), or a kind of entry
is new, another set joins those that there are: `python -m tests.contract NAME`, or `python -m tests.contract.audits
NAME`.

| file | what a line is |
|---|---|
| `plans.jsonl` | a plan as it was sent, with its auditor, dataset, version and identity |
| `quotes.jsonl`, `releases.jsonl` | the quote of that plan; the release, in the bytes that were sent and stored |
| `entries.jsonl` | an entry of the ledger, in order; the last line ends the export |
| `datasets.json`, `keys.json` | the declarations that the plans were made for; the public keys that signed |

| archive | what is in it |
|---|---|
| `receipts.zip` | an auditor's receipts directory: receipts, pinned keys, and in `questions` the notes |
| `bundle.zip` | an evidence bundle; its manifest names a version of its own |

So an estimator that would give other figures from the same answer gets another name.
"""
