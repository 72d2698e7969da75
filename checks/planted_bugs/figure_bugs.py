"""Planted bugs: intervals that exclude their value, hold too seldom or are another pair's."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_TESTS: Final = "tests/unit/auditor_client/test_joint_ends.py"
_REPORTS: Final = "tests/unit/auditor_client/test_report.py"
_TABLES: Final = "tests/unit/auditor_client/test_coarser.py"
_AGAIN: Final = "tests/integration/test_audits_over_time.py"

FIGURE_BUGS: Final = (
    Bug(
        "the lower end of an impact ratio may be above 1",
        (
            Edit(
                "auditor_client/estimation/intervals.py",
                "RateDraws.over_highest",
                "low = min(ends[0], 1.0) if self.edition.in_range else ends[0]",
                "low = ends[0]",
            ),
        ),
        (f"{_TESTS}::test_no_estimate_lies_outside_its_own_interval",),
    ),
    Bug(
        "joint ends are judged by the draws that made them",
        (
            Edit(
                "auditor_client/estimation/joint_ends.py",
                "upper_ends",
                "rank = int(highest[max(number - math.floor(allowed) - 1, 0)])",
                "return _at(draws, order, int(highest[max(number - math.floor(allowed) - 1, 0)]))",
            ),
        ),
        (f"{_TESTS}::test_new_draws_miss_joint_ends_as_often_as_is_allowed",),
    ),
    Bug(
        "a named pair has the interval of a pair that was chosen beforehand",
        (
            Edit(
                "auditor_client/estimation/named_pair.py",
                "_ends",
                "np.union1d(contenders, [chosen])",
                "np.array([chosen])",
            ),
        ),
        (f"{_TESTS}::test_the_named_pairs_interval_holds_though_the_pair_is_chosen_afterwards",),
    ),
    Bug(
        "the headline gives two groups the interval of the ratio over all groups",
        (
            Edit(
                "auditor_client/report/headlines.py",
                "_named_figures",
                "return ParityFigures(ratio=compared.pair.ratio, difference=compared.pair.difference)",
                "return compared",
            ),
        ),
        (f"{_REPORTS}::test_a_sentence_about_two_groups_has_the_interval_of_that_pair",),
    ),
    Bug(
        "all facts stand between the finding and the chart",
        (
            Edit(
                "auditor_client/report/audit_data.py",
                "audit_data",
                "facts=first_facts(finding),",
                "facts=_question(finding),",
            ),
        ),
        (f"{_REPORTS}::test_the_first_screen_has_the_finding_its_limits_and_five_facts_before_the_chart",),
    ),
    Bug(
        "a question that is asked again is said to cost what it cost before",
        (
            Edit(
                "auditor_client/audits/answering.py",
                "Answering.answered",
                "repeated = asked_before(receipts, question, prepared.posed.auditor)",
                "repeated = False",
            ),
        ),
        (f"{_AGAIN}::test_the_very_same_question_is_asked_again_of_the_holder_for_nothing",),
    ),
    Bug(
        "the same decisions the other way round are charged again",
        (
            Edit(
                "auditor_client/findings/answers.py",
                "_admitted",
                "if column is None or not column.values:",
                "if column is None or column.values is not None:",
            ),
        ),
        ("tests/integration/test_decisions_the_other_way_round.py",),
    ),
    Bug(
        "a table by fewer columns is drawn from its own added counts, apart from the others",
        (
            Edit(
                "auditor_client/estimation/draws.py",
                "posterior_draws",
                "if totals.finer is not None:",
                "if totals.finer is not None and not isinstance(totals, CountedTotals):",
            ),
        ),
        (f"{_TABLES}::test_a_table_s_shares_are_the_sums_of_the_joint_draws",),
    ),
    Bug(
        "a table by fewer columns has the groups of the other column",
        (
            Edit(
                "auditor_client/findings/coarser.py",
                "members_of",
                "indices = [sensitive.index(name) for name in columns]",
                "indices = [len(sensitive) - 1 - sensitive.index(name) for name in columns]",
            ),
        ),
        (_TABLES,),
    ),
    Bug(
        "intervals of a table rest on the priors of its many empty groups alone",
        (
            Edit(
                "auditor_client/estimation/hulls.py",
                "_hull",
                "return value.hull(other)",
                "return value",
            ),
        ),
        (f"{_TABLES}::test_an_interval_of_a_table_holds_what_the_added_counts_say_alone",),
    ),
    Bug(
        "the page of an audit has one verdict for all of its tables",
        (
            Edit(
                "auditor_client/report/table_data.py",
                "tables_data",
                "map(_table, finding.tables.values())",
                "(_table(finding) for _ in finding.tables)",
            ),
        ),
        ("tests/integration/test_every_table.py::test_the_sentences_of_each_table_are_true_of_its_figures",),
    ),
)
