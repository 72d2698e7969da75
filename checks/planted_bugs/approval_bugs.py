"""Bugs of approvals: each lets something be answered that nobody, or not the right one, approved."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_APPROVALS: Final = "holder_service/services/releases/approvals.py"
_TESTS: Final = "tests/integration/test_approvals.py"
_LOOKED_AT_AGAIN: Final = (f"{_TESTS}::test_an_approval_is_looked_at_again_under_the_lock",)

_WORDS: Final = "holder_service/domain/column_words.py"
_WORDS_TESTS: Final = "tests/unit/holder_service/test_column_words.py"

_SECOND: Final = "holder_service/domain/second_officers.py"
_SECOND_SERVICE: Final = "holder_service/services/accounts/second_officers.py"
_SECOND_TESTS: Final = "tests/integration/test_second_officers.py"

APPROVAL_BUGS: Final = (
    Bug(
        "an officer confirms their own proposal",
        (Edit(_SECOND_SERVICE, "agreed", "if entry.event.actor != actor]", "if entry.event.actor]"),),
        (f"{_SECOND_TESTS}::test_a_raised_cap_takes_two_officers",),
    ),
    Bug(
        "one officer ends the requirement of a second",
        (
            Edit(
                _SECOND,
                "is_looser",
                'for name in ("in_full", "second_officer"))',
                'for name in ("in_full",))',
            ),
        ),
        (f"{_SECOND_TESTS}::test_one_officer_cannot_loosen_the_setting",),
    ),
    Bug(
        "verification believes a proposal of the same officer",
        (
            Edit(
                _SECOND,
                "SecondOfficerReplay._require_second",
                "or proposal.event.actor == event.actor",
                "or proposal.event.actor is None",
            ),
        ),
        (f"{_SECOND_TESTS}::test_the_replay_finds_what_no_second_officer_confirmed",),
    ),
    Bug(
        "a request about unreadable columns slips in while the rule is set",
        (
            Edit(
                _APPROVALS,
                "write_down",
                "if column_digests and not in_full and",
                "if not column_digests and not in_full and",
            ),
        ),
        (f"{_TESTS}::test_a_request_that_was_not_checked_is_refused_under_the_lock",),
    ),
    Bug(
        "what officers cannot read in full waits although that is refused",
        (Edit(_APPROVALS, "require_shown", "        if missing:\n", "        if len(missing) > 1:\n"),),
        (f"{_TESTS}::test_a_population_refuses_what_officers_cannot_read_in_full",),
    ),
    Bug(
        "nobody is told that a cap was raised",
        (
            Edit(
                "holder_service/domain/notices.py",
                "LooserLimit.is_looser",
                "return before.admits_any and",
                "return before.is_nothing and",
            ),
        ),
        (f"{_TESTS}::test_what_an_officer_loosens_is_noticed",),
    ),
    Bug(
        "what matters of a score is behind the last line that officers read",
        (
            Edit(
                _WORDS,
                "_heaviest_first",
                "    return sorted(terms, key=_weight, reverse=True)",
                "    return list(terms)",
            ),
        ),
        (f"{_TESTS}::test_an_officer_sees_the_heaviest_terms_first_and_gets_all_of_them",),
    ),
    Bug(
        "a network passes for one that officers were shown in full",
        (Edit(_WORDS, "_part", '            yield _WordedLine("", "layers", len(part.layers))\n', ""),),
        (f"{_WORDS_TESTS}::test_what_cannot_be_said_in_words_is_counted_and_named[layers]",),
    ),
    Bug(
        "a request may name another document than was declared",
        (
            Edit(
                "holder_service/domain/table_facts.py",
                "TableFacts._require_own_columns",
                'if (row.get("document"), row.get("auditor")) != (digest, entry.event.auditor):',
                "if not row:",
            ),
        ),
        (f"{_TESTS}::test_a_request_that_names_another_document_than_was_declared_is_found",),
    ),
    Bug(
        "what was asked is seen no more once it is answered",
        (Edit(_APPROVALS, "_asked_in", 'if document is None and found.state == "answered":', "if False:"),),
        (f"{_TESTS}::test_what_was_asked_is_seen_after_it_was_answered",),
    ),
    Bug(
        "an approval is not looked at again at the charge",
        (
            Edit(
                _APPROVALS,
                "require_approved",
                '    if found is None or found.state != "approved" or found.purpose != asked.purpose:',
                "    if found is not None and found.purpose != asked.purpose:",
            ),
        ),
        _LOOKED_AT_AGAIN,
    ),
    Bug(
        "a decision is about another request than was seen",
        (
            Edit(
                _APPROVALS,
                "decide.work",
                "        if decision.entry != _last(found):\n",
                "        if decision.entry > _last(found):\n",
            ),
        ),
        (f"{_TESTS}::test_who_decides_decides_what_they_have_seen",),
    ),
    Bug(
        "an approval that has expired is accepted",
        (
            Edit(
                _APPROVALS,
                "_in_force",
                "found.state not in IN_FORCE or not now < found.expires:\n        return None",
                "found.state not in IN_FORCE:\n        return None",
            ),
        ),
        (*_LOOKED_AT_AGAIN, f"{_TESTS}::test_a_request_ends_with_its_days_whatever_was_decided"),
    ),
    Bug(
        "an approval of another identity is accepted",
        (
            Edit(
                "holder_service/storage/approvals.py",
                "find.row",
                "row = connection.execute(select(*_COLUMNS).where(approvals.c.id == identity)).one_or_none()",
                "row = connection.execute(select(*_COLUMNS).order_by(approvals.c.state).limit(1)).one_or_none()",
            ),
        ),
        (f"{_TESTS}::test_an_approval_is_for_one_identity_and_nothing_is_asked_around_it",),
    ),
    Bug(
        "another dataset of a population needs no approval",
        (
            Edit(
                "holder_service/storage/ledger.py",
                "account_state.approval_days",
                "    approval_days = row.approval_days\n",
                "    approval_days = row.approval_days if row.name == row.population else None\n",
            ),
        ),
        (f"{_TESTS}::test_an_approval_is_for_one_identity_and_nothing_is_asked_around_it",),
    ),
    Bug(
        "an auditor may decide",
        (
            Edit(
                "holder_service/web/edge/roles.py",
                "OFFICERS",
                'OFFICERS: Final = Admission(("administrator", "budget-officer"))',
                'OFFICERS: Final = Admission(("administrator", "budget-officer", "auditor"))',
            ),
        ),
        (f"{_TESTS}::test_only_officers_decide_and_nobody_asked_can",),
    ),
    Bug(
        "an approval allows another charge",
        (
            Edit(
                _APPROVALS,
                "_in_force",
                "    if (found.charge, found.relation) != (asked.charge, asked.priced.relation.name):\n",
                "    if found.relation != asked.priced.relation.name:\n",
            ),
        ),
        (f"{_TESTS}::test_another_price_of_the_same_is_another_request",),
    ),
    Bug(
        "a charge that nobody approved is found intact",
        (
            Edit(
                "holder_service/domain/approvals.py",
                "ApprovalReplay._charged",
                'or entry.event.detail.get("approval") != request.allowed_by:',
                "and False:",
            ),
        ),
        ("tests/unit/holder_service/test_approval_replay.py",),
    ),
    Bug(
        "a restore leaves approvals in force",
        (
            Edit(
                "holder_service/services/ledger/reading.py",
                "record_restore.work",
                "        approvals.end_all(transaction.connection)\n",
                "",
            ),
        ),
        (f"{_TESTS}::test_a_recorded_restore_ends_what_was_approved",),
    ),
    Bug(
        "what is withdrawn or deleted may be made again without an end",
        (
            Edit(
                "holder_service/services/ledger/store.py",
                "Transaction.require_few.made",
                "        made = EntryFilter(kind=kind, actor=actor, population=population, subject=subject)\n",
                "        made = EntryFilter(kind=kind, auditor=actor, population=population, subject=subject)\n",
            ),
        ),
        ("tests/integration/test_columns.py::test_who_makes_and_deletes_all_day_comes_to_an_end",),
    ),
    Bug(
        "officers are not told which release a plan refines",
        (
            Edit(
                "shared/kinds/plans.py",
                "Plan.summary",
                'refined = () if self.refines is None else (("Refines the release", self.refines),)',
                "refined = ()",
            ),
        ),
        ("tests/unit/shared/test_summaries.py::test_a_plan_says_of_each_batch_how_it_is_counted_at_what_loss",),
    ),
    Bug(
        "officers are not told which threshold is watched",
        (
            Edit(
                "shared/kinds/watches.py",
                "Watch.summary",
                '("Threshold", f"{format_nano(self.threshold)} of the largest acceptance rate"),',
                "",
            ),
        ),
        ("tests/unit/shared/test_summaries.py::test_a_watch_says_threshold_verdict_and_margin",),
    ),
    Bug(
        "an officer decides about derived columns by their names",
        (
            Edit(
                _APPROVALS,
                "in_full",
                '        parts["columns"] = _in_words(store, found, asked.derived_columns, apart)\n',
                "        pass\n",
            ),
        ),
        (f"{_TESTS}::test_an_officer_sees_what_derived_columns_compute",),
    ),
)
