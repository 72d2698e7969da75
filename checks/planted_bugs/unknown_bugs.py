"""Bugs in bounds over the people whose group is unknown."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_BOUNDS: Final = "auditor_client/estimation/unknown_bounds.py"
_GROUPS: Final = "auditor_client/estimation/unknown_groups.py"
_FIGURES: Final = "auditor_client/estimation/unknown_figures.py"
_TESTS: Final = "tests/unit/auditor_client/test_unknown_bounds.py"

UNKNOWN_BUGS: Final = (
    Bug(
        "a group can have the unknown accepted or the unknown refused, but the worst case gives it half of them",
        (Edit(_BOUNDS, "_shares", "return 0.0, 1.0", "return 0.0, 0.5"),),
        (_TESTS,),
    ),
    Bug(
        "the best case gives low groups more accepted people than there are",
        (
            Edit(
                _BOUNDS,
                "_allows",
                "accepted + (remainder * not_judged.accepted_least).sum(axis=0) <= remainder * block.accepted + slack,",
                "accepted >= 0,",
            ),
        ),
        (f"{_TESTS}::test_the_best_difference_is_that_of_linear_programs",),
    ),
    Bug(
        "a factor in odds widens one side alone",
        (Edit(_BOUNDS, "_shares", "share / (share + factor * (1 - share))", "share"),),
        (_TESTS,),
    ),
    Bug(
        "a verdict of an adverse ratio is about the ratio itself",
        (
            Edit(
                _GROUPS,
                "with_unknown",
                "ratio=ratio.reciprocal() if kind.adverse else ratio,",
                "ratio=ratio,",
            ),
        ),
        (_TESTS,),
    ),
    Bug(
        "a verdict holds for the best division alone",
        (Edit(_FIGURES, "SetEstimate.against", "if self.low >= threshold:", "if self.high >= threshold:"),),
        (_TESTS,),
    ),
    Bug(
        "the noise is blamed for what the unknown leave open",
        (
            Edit(
                _GROUPS,
                "with_unknown",
                "because = OpenBecause.UNKNOWN if ratio.reaches_across(threshold) else OpenBecause.NOISE",
                "because = OpenBecause.NOISE",
            ),
        ),
        (_TESTS,),
    ),
    Bug(
        "whole people are divided one by one, but not counted in the highest rate",
        (
            Edit(
                "auditor_client/estimation/whole_people.py",
                "_lowest_highest",
                "np.maximum(before, rate), np.inf)",
                "before, np.inf)",
            ),
        ),
        (f"{_TESTS}::test_every_small_register_has_the_ends_of_all_its_allocations",),
    ),
)
