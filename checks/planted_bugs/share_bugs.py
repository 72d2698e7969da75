"""Bugs of registers that two holders share."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_SHARES: Final = "holder_service/records/shares.py"
_UNIT: Final = "tests/unit/holder_service/test_shares.py"
_HOLDERS: Final = "tests/integration/test_shares.py"
_CLIENT: Final = "tests/integration/test_two_holders.py"

SHARE_BUGS: Final = (
    Bug(
        "a holder adds no noise to its half",
        (
            Edit(
                "holder_service/mechanisms/base.py",
                "noisy_words",
                "mechanism.release([0] * len(words))",
                "[0] * len(words)",
            ),
        ),
        (f"{_UNIT}::test_noise_is_added_modulo_two_to_the_64",),
    ),
    Bug(
        "every split has one seed",
        (
            Edit(
                "holder_service/records/splitting.py",
                "split_register",
                "secrets.token_bytes(SEED_BYTES)",
                "bytes(SEED_BYTES)",
            ),
        ),
        (f"{_UNIT}::test_two_splits_have_nothing_in_common",),
    ),
    Bug(
        "words of a share are always even",
        (
            Edit(
                _SHARES,
                "SeededWords.of",
                'np.frombuffer(content, dtype="<u8").reshape(people, self.per_person)',
                'np.frombuffer(content, dtype="<u8").reshape(people, self.per_person) & np.uint64(2**64 - 2)',
            ),
        ),
        (f"{_UNIT}::test_words_are_the_key_stream_wherever_one_begins",),
    ),
    Bug(
        "the words of a share begin anew in every chunk",
        (Edit(_SHARES, "SeededWords.of", "block = first *", "block = 0 *"),),
        (f"{_UNIT}::test_words_are_the_key_stream_wherever_one_begins",),
    ),
    Bug(
        "the seed of a share is logged",
        (
            Edit(
                _SHARES,
                "ShareFile.open",
                "header, names = _header(upload)",
                'header, names = _header(upload); __import__("logging").getLogger("holder_service").info(header.seed)',
            ),
        ),
        (f"{_HOLDERS}::test_the_seed_is_in_no_file_but_the_records_and_in_no_log",),
    ),
    Bug(
        "a holder takes the other half of a split that it has",
        (
            Edit(
                "holder_service/services/running/loads.py",
                "_record_version",
                "_require_other_half_elsewhere(transaction, now, split_id)",
                "pass",
            ),
        ),
        (f"{_HOLDERS}::test_what_was_loaded_stays_the_half_that_it_is",),
    ),
    Bug(
        "halves of two splits are added up",
        (
            Edit(
                "auditor_client/exchange/two_holders.py",
                "require_halves",
                "not first.shares.completes(second.shares) or first.version != second.version",
                "first.version != second.version",
            ),
        ),
        (f"{_CLIENT}::test_halves_of_different_splits_or_versions_are_refused",),
    ),
    Bug(
        "the noise of two holders is estimated as that of one",
        (
            Edit(
                "auditor_client/exchange/two_holders.py",
                "_joined_batch",
                "of_two_holders(first.noise)",
                "first.noise",
            ),
        ),
        (f"{_CLIENT}::test_an_audit_by_three_groups_has_the_noise_of_both_and_both_receipts",),
    ),
    Bug(
        "the halves of a register are in its order",
        (
            Edit(
                "holder_service/records/splitting.py",
                "_SortedRegister.of_pieces",
                "order = pc.array_sort_indices(all_keys)",
                "order = pa.array(range(len(all_keys)))",
            ),
        ),
        (f"{_UNIT}::test_order_and_sizes_follow_from_no_sensitive_value",),
    ),
    Bug(
        "a bundle of two holders is believed with the keys of the first",
        (Edit("auditor_client/audits/bundle.py", "check_bundle", "(*faults, _ONE_OF_TWO)", "faults"),),
        (f"{_CLIENT}::test_a_second_half_that_somebody_else_signed_is_found",),
    ),
    Bug(
        "the first holder is charged before the second approves",
        (
            Edit(
                "auditor_client/exchange/two_holders.py",
                "TwoHolders._halves",
                "if self._is_unapproved(other):",
                "if False:",
            ),
        ),
        (f"{_CLIENT}::test_nothing_is_charged_before_each_holder_has_approved",),
    ),
    Bug(
        "two holders may quote two prices",
        (
            Edit(
                "auditor_client/exchange/two_holders.py",
                "TwoHolders.priced",
                'require(same, "the two holders do not quote the same price and noise")',
                "pass",
            ),
        ),
        (f"{_CLIENT}::test_a_second_price_or_noise_that_differs_is_refused_and_nothing_is_spent",),
    ),
    Bug(
        "one organisation with one key may have both halves",
        (Edit("auditor_client/exchange/two_holders.py", "_require_two_signers", "in public_keys", "in ()"),),
        (f"{_CLIENT}::test_two_holders_with_one_signing_key_are_refused",),
    ),
    Bug(
        "the blinding of linked values is stored",
        (
            Edit(
                "holder_service/services/columns/asked_columns.py",
                "AskedColumn.of",
                'document.pop("blinding", None)',
                'document.get("blinding")',
            ),
        ),
        (f"{_CLIENT}::test_the_blinding_of_linked_values_is_kept_nowhere",),
    ),
    Bug(
        "a joined count may be any number",
        (Edit("auditor_client/exchange/two_holders.py", "_joined_batch", "count >= least", "True"),),
        (f"{_CLIENT}::test_a_count_that_no_noise_explains_is_refused",),
    ),
)
