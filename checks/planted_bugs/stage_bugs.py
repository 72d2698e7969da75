"""The bugs of chains of decisions; `bugs` has all."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_UNIT: Final = "tests/unit/auditor_client/test_chains.py"
_FIGURES: Final = "auditor_client/estimation/chain_figures.py"
_COVERAGE: Final = "tests/statistical/test_chains.py"

STAGE_BUGS: Final = (
    Bug(
        "people without a value at a later stage are in no cell of a chain",
        (
            Edit(
                "auditor_client/asking/stages.py",
                "_of_column",
                "if everybody and column.nullable",
                "if False and column.nullable",
            ),
        ),
        (f"{_UNIT}::test_an_exact_answer_counts_who_reaches_each_stage",),
    ),
    Bug(
        "the intervals of a chain hold one by one",
        (Edit(_FIGURES, "chain_figures", "each = simultaneous_level(needed, level)", "each = level"),),
        (f"{_COVERAGE}::test_all_intervals_of_a_chain_hold_together",),
    ),
    Bug(
        "the largest step makes the difference whatever its interval is",
        (
            Edit(
                _FIGURES,
                "_decisive",
                "all(low > high + _ROUNDING for high in other_highs)",
                "low >= max(one for one, _ in ends)",
            ),
        ),
        (
            f"{_UNIT}::test_a_step_makes_the_difference_only_where_the_figures_carry_it",
            f"{_UNIT}::test_noise_that_hides_the_order_of_the_steps_names_none",
        ),
    ),
    Bug(
        "contributions are rounded one by one",
        (
            Edit(
                "auditor_client/report/chain_data.py",
                "shown_contributions",
                "largest_rest[: total - sum(units)]",
                "largest_rest[:0]",
            ),
        ),
        (f"{_UNIT}::test_contributions_add_up_in_every_draw_and_as_they_are_shown",),
    ),
    Bug(
        "contradictions are counted in the batch of the stages, at its charge",
        (
            Edit(
                "auditor_client/asking/strategies.py",
                "_rules",
                "yield batch(inquiry.request.changed(epsilon=loss), CONTRADICTING, [contradicting(inquiry)])",
                "yield batch(inquiry.request, CONTRADICTING, [contradicting(inquiry)])",
            ),
        ),
        (f"{_UNIT}::test_contradictions_are_counted_in_a_batch_of_their_own_and_only_on_request",),
    ),
)
