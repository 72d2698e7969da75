"""Bugs of the ledger's public log and its witnesses."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_LOG: Final = "holder_service/services/ledger/log.py"
_CLIENT: Final = "auditor_client/exchange/ledger_log.py"
_SERVER: Final = "holder_service/witnessing/server.py"
_LOG_TESTS: Final = "tests/integration/test_log.py"
_WITNESS_TESTS: Final = "tests/integration/test_witness.py"
_CLIENT_TESTS: Final = "tests/unit/auditor_client/test_ledger_log.py"

_CHECKS: Final = "holder_service/services/ledger/release_checks.py"
_LONG_TESTS: Final = "tests/integration/test_long_ledgers.py"
_FIRST_FAULT: Final = f"{_LONG_TESTS}::test_the_first_fault_is_found_by_one_process_and_by_several"

LOG_BUGS: Final = (
    Bug(
        "a verification by several processes names a later fault than the first",
        (Edit(_CHECKS, "ReleaseChecks._replay_watches", "self._pending.clear()", "pass"),),
        (f"{_FIRST_FAULT}[sqlite-two-releases]",),
    ),
    Bug(
        "a release that was not charged passes the comparison of its bytes",
        (
            Edit(
                "shared/kinds/releases.py",
                "has_answer_digest",
                "return answer_digest(release) == digest",
                "return True",
            ),
        ),
        (f"{_FIRST_FAULT}[sqlite-body]",),
    ),
    Bug(
        "metrics say that the log is never behind",
        (Edit(_LOG, "LedgerLog.lag", "max(ledger.head(connection).sequence - size, 0)", "0 * size"),),
        (f"{_LOG_TESTS}::test_metrics_show_how_far_the_log_is_behind",),
    ),
    Bug(
        "a witness cosigns two histories",
        (
            Edit(
                _SERVER,
                "create_witness.cosign",
                "            _require_consistent(asked, checkpoint, watched)\n",
                "",
            ),
        ),
        (
            f"{_WITNESS_TESTS}::test_anything_else_is_refused_and_forgotten",
            f"{_LOG_TESTS}::test_a_log_that_forks_is_not_cosigned",
        ),
    ),
    Bug(
        "a witness forgets what it cosigned",
        (
            Edit(
                _SERVER,
                "create_witness.cosign",
                "                folder.keep({**logs, checkpoint.origin: seen})\n",
                "                pass\n",
            ),
        ),
        (f"{_WITNESS_TESTS}::test_what_was_seen_survives_the_process",),
    ),
    Bug(
        "a witness cosigns what the log did not sign",
        (Edit(_SERVER, "create_witness.cosign", "            _require_signed(asked.note, watched)\n", ""),),
        (f"{_WITNESS_TESTS}::test_anything_else_is_refused_and_forgotten",),
    ),
    Bug(
        "more of the log is served than was published",
        (Edit(_LOG, "LedgerLog.tile", "not tile.is_in(Checkpoint.parse(note.text).size)", "tile.width < 1"),),
        (f"{_LOG_TESTS}::test_only_what_the_checkpoint_covers_is_served",),
    ),
    Bug(
        "a restored ledger keeps the name of its log",
        (Edit(_LOG, "LedgerLog._name", "self._origin if restore is None else", "self._origin if restore != '' else"),),
        (f"{_LOG_TESTS}::test_a_restored_ledger_is_another_log",),
    ),
    Bug(
        "a checkpoint without cosignatures replaces one that has some",
        (
            Edit(
                "holder_service/services/running/log_publisher.py",
                "LogPublisher.publish",
                "before is not None and len(cosignatures) < self._required(before)",
                "before is None and len(cosignatures) < 0",
            ),
        ),
        (f"{_LOG_TESTS}::test_a_witness_cosigns_every_later_checkpoint_and_the_release_does_not_wait",),
    ),
    Bug(
        "a ledger that was rolled back with its anchor is published",
        (
            Edit(
                "holder_service/services/running/log_publisher.py",
                "LogPublisher.publish",
                "not self._ledger_log.has(Checkpoint.parse(before.text))",
                "not before.text",
            ),
        ),
        (f"{_LOG_TESTS}::test_a_ledger_that_was_rolled_back_with_its_anchor_gets_no_checkpoint",),
    ),
    Bug(
        "the auditor does not compute the root of the log",
        (
            Edit(
                _CLIENT,
                "PublicLog.require_true",
                "if root_of(size, nodes_of(leaves)) != checkpoint.root:",
                "if not leaves and size:",
            ),
        ),
        (f"{_CLIENT_TESTS}::test_a_false_log_is_refused",),
    ),
    Bug(
        "the auditor does not compare the log with the one before",
        (Edit(_CLIENT, "PublicLog.fault_before", "first_difference(earlier, self)", "None"),),
        (
            f"{_CLIENT_TESTS}::test_a_true_log_of_another_history_is_a_fault",
            f"{_LOG_TESTS}::test_a_rewritten_ledger_is_named_by_its_entry",
        ),
    ),
    Bug(
        "cosignatures of the future count",
        (Edit(_CLIENT, "RequiredWitnesses.cosigned", "at <= now + AHEAD_MAX", "at <= now + 10**6 * AHEAD_MAX"),),
        (f"{_CLIENT_TESTS}::test_missing_and_false_cosignatures_are_faults",),
    ),
    Bug(
        "one cosignature is enough for any number of witnesses",
        (
            Edit(
                _CLIENT,
                "RequiredWitnesses.fault",
                "len(signed) < self.needed",
                "len(signed) < min(self.needed, 1)",
            ),
        ),
        (f"{_CLIENT_TESTS}::test_missing_and_false_cosignatures_are_faults",),
    ),
    Bug(
        "anybody's key signs the log of a bundle that is compared",
        (
            Edit(
                "auditor_client/audits/bundle.py",
                "_OpenedBundle.require_signed",
                "key for key in self.keys.keys if key.id not in trusted_ids",
                "key for key in ()",
            ),
        ),
        (f"{_LOG_TESTS}::test_a_made_up_bundle_accuses_nobody",),
    ),
    Bug(
        "a bundle's receipts may lie behind its witnessed log",
        (
            Edit(
                "auditor_client/audits/bundle.py",
                "_checked_log",
                "fault is None and newer and witnesses.needed",
                "False",
            ),
        ),
        (f"{_LOG_TESTS}::test_a_fork_is_caught_from_a_receipt_that_the_shown_log_does_not_reach",),
    ),
    Bug(
        "a witness lets one key sign two logs",
        (
            Edit(
                "holder_service/witnessing/state.py",
                "WitnessFolder.add",
                "if key.public_bytes in open_keys:",
                "if key.public_bytes in ():",
            ),
        ),
        (f"{_WITNESS_TESTS}::test_one_key_signs_one_log_until_another_replaces_it",),
    ),
    Bug(
        "a receipt is not looked up in the public log",
        (Edit(_CLIENT, "PublicLog.receipt_fault", "if found is None or found == position.hash:", "if True:"),),
        (f"{_CLIENT_TESTS}::test_a_receipt_is_looked_up_in_the_log",),
    ),
)
