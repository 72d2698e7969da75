"""Bugs in the correction of groups that are recorded wrongly."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_CONFUSION: Final = "auditor_client/estimation/confusion.py"
_DRAWS: Final = "auditor_client/estimation/misreporting.py"
_TESTS: Final = "tests/unit/auditor_client/test_misreporting.py"
_TABLE_TESTS: Final = "tests/unit/auditor_client/test_study_table.py"

MISREPORTED_BUGS: Final = (
    Bug(
        "the study's true and recorded groups change places",
        (
            Edit(
                _CONFUSION,
                "ConfusionCounts.weights",
                "np.array(self.people, dtype=np.float64) + 0.5",
                "np.array(self.people, dtype=np.float64).T + 0.5",
            ),
        ),
        (f"{_TESTS}::test_corrected_intervals_hold_the_truth_and_others_do_not",),
    ),
    Bug(
        "a study of few people is taken for certain",
        (
            Edit(
                _CONFUSION,
                "ConfusionCounts.matrices",
                "rng.standard_gamma(self.weights, (number, *self.weights.shape))",
                "np.tile(self.weights, (number, 1, 1))",
            ),
        ),
        (f"{_TESTS}::test_matrices_are_drawn_as_exactly_as_the_study_says",),
    ),
    Bug(
        "shares are drawn between pairs of groups alone, which hardly move where one group looks like a mixture",
        (Edit(_DRAWS, "true_counts", "for direction in (*axes, *pairs):", "for direction in pairs:"),),
        (f"{_TESTS}::test_a_group_that_is_recorded_as_a_mixture_of_others_may_have_anybody",),
    ),
    Bug(
        "a line is drawn from as if all records told the same",
        (
            Edit(
                _DRAWS,
                "_moved",
                "fit += recorded[:, group, None] * np.log(likely)",
                "fit += recorded.mean(axis=1)[:, None] * np.log(likely)",
            ),
        ),
        (f"{_TESTS}::test_true_counts_are_drawn_from_their_posterior",),
    ),
    Bug(
        "people who are recorded as a group are divided by the shares of all groups alone",
        (
            Edit(
                _DRAWS,
                "true_counts",
                "joint = shares[:, :, None] * matrices",
                "joint = shares[:, :, None] + 0 * matrices",
            ),
        ),
        (f"{_TESTS}::test_true_counts_are_drawn_from_their_posterior",),
    ),
    Bug(
        "a group whose accepted people may all be errors has a ratio above 0 for certain",
        (Edit(_DRAWS, "corrected_cases", "people.std(axis=-1) / 4", "-1"),),
        (f"{_TESTS}::test_nobody_may_be_accepted_of_a_group_whose_records_are_errors_alone",),
    ),
    Bug(
        "figures without a prior are of the groups as recorded",
        (
            Edit(
                "auditor_client/estimation/inversion.py",
                "inverted_rates",
                "if totals.confusion is not None or totals.known is not None or",
                "if totals.known is not None or",
            ),
        ),
        (f"{_TESTS}::test_corrected_intervals_hold_the_truth_and_others_do_not",),
    ),
    Bug(
        "a table of a study is read by its recorded groups first",
        (
            Edit(
                "auditor_client/asking/study_table.py",
                "read_group_study",
                "tuple(numbers.get((true, recorded), 0) for recorded in range(len(groups)))",
                "tuple(numbers.get((recorded, true), 0) for recorded in range(len(groups)))",
            ),
        ),
        (_TABLE_TESTS,),
    ),
)
