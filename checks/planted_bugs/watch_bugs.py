"""Bugs of what watches keep and say: each lets one answer too often, say too much, or be silent about a version."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_WATCHING: Final = "holder_service/services/releases/watching.py"
_SEALS: Final = "holder_service/keys/watch_seals.py"
_REPLAY: Final = "holder_service/domain/watch_replay.py"
_SEALED: Final = "tests/integration/test_sealed_watches.py"
_SKIPPED: Final = "tests/integration/test_skipped_versions.py"

WATCH_BUGS: Final = (
    Bug(
        "a load does nothing for the kinds that have to answer it",
        (
            Edit(
                "holder_service/services/running/loads.py",
                "_record_version",
                "kind.after_load(transaction, after, pace)",
                "pass",
            ),
        ),
        ("tests/integration/test_watches.py::test_a_watch_is_charged_once_and_answers_every_version_for_nothing",),
    ),
    Bug(
        "a release is charged to nobody's account",
        (
            Edit(
                "holder_service/services/releases/charging.py",
                "charge",
                "state.account.charged(loss), ",
                "state.account, ",
            ),
        ),
        (
            "tests/integration/test_adding_a_kind.py::test_a_new_kind_is_refused_like_every_other",
            "tests/integration/test_races.py::test_of_many_racing_plans_exactly_those_that_fit_are_released",
        ),
    ),
    Bug(
        "a watch's row decides, whatever it has signed",
        (
            Edit(_WATCHING, "enter", "if now.changed or _has_changed(last):", "if now.changed:"),
            Edit(_WATCHING, "draw", "if _has_changed(watches.last_statement(connection, watch.id)):", "if False:"),
            Edit(_WATCHING, "draw", "if state.changed or watch.changed:", "if watch.changed:"),
        ),
        (
            f"{_SEALED}::test_a_used_up_watch_is_not_reopened_by_its_row",
            f"{_SEALED}::test_a_whole_row_of_before_the_change_reopens_nothing",
        ),
    ),
    Bug(
        "a watch that was set with noise on both sides answers with that of new watches",
        (Edit(_WATCHING, "draw", ", set_with=set_as.noise", ""),),
        ("tests/integration/test_two_sided_watches.py::test_an_answer_is_drawn_with_its_own_noise",),
    ),
    Bug(
        "the client takes the noise of a watch as the holder describes it",
        (
            Edit(
                "auditor_client/exchange/watch_verification.py",
                "_check_noise",
                "require(is_expected(described, kind(scale=not_below(scale))),",
                "require(True,",
            ),
        ),
        ("tests/unit/auditor_client/test_watch_noise.py",),
    ),
    Bug(
        "the seal of a watch is not bound to it",
        (
            Edit(_SEALS, "WatchSeals.seal", "encrypt(nonce, content, watch.encode())", 'encrypt(nonce, content, b"")'),
            Edit(
                _SEALS, "WatchSeals.opened", "decrypt(nonce, content, watch.encode())", 'decrypt(nonce, content, b"")'
            ),
        ),
        (f"{_SEALED}::test_a_seal_that_does_not_open_is_answered_by_nothing",),
    ),
    Bug(
        "verify does not look at the rows of watches",
        (Edit(_REPLAY, "WatchReplay.require", "left = dict(self._watches)", "rows, left = (), dict[str, _Watch]()"),),
        (f"{_SEALED}::test_verify_compares_rows_with_signed_answers",),
    ),
    Bug(
        "verify takes an answer behind the change",
        (Edit(_REPLAY, "WatchReplay._said", "if watch.changed:", "if False:"),),
        ("tests/unit/holder_service/test_watch_replay.py::test_a_statement_without_a_charge_is_found",),
    ),
    Bug(
        "a disabled account's watch goes on",
        (Edit(_WATCHING, "_reason", "if account is None or account.disabled:", "if account is None:"),),
        (f"{_SKIPPED}::test_a_disabled_accounts_watch_pauses",),
    ),
    Bug(
        "versions that were replaced are passed over in silence",
        (Edit(_WATCHING, "enter", "if first < watch.version:", "if first > watch.version:"),),
        (f"{_SKIPPED}::test_versions_that_are_replaced_before_they_are_due_are_said_to_be",),
    ),
    Bug(
        "the client names no version without a word",
        (
            Edit(
                "auditor_client/report/watch_gaps.py",
                "gaps",
                "spans.append(Gap(following, gap.first - 1))",
                "pass",
            ),
        ),
        (f"{_SKIPPED}::test_a_version_without_a_word_is_named_too",),
    ),
    Bug(
        "a refinement may cost next to nothing",
        (
            Edit(
                "holder_service/services/releases/refining.py", "require_step", "< limits.REFINING_STEP_NANO_MIN", "< 0"
            ),
        ),
        ("tests/integration/test_refining.py::test_a_refinement_raises_epsilon_by_a_step",),
    ),
)
"""Of the sealed state of watches, of skipped versions, and of what is nearly free."""
