"""Bugs in what is said of adverse outcomes."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_RESULTS: Final = "auditor_client/estimation/results.py"
_TESTS: Final = "tests/unit/auditor_client/test_adverse.py"

ADVERSE_BUGS: Final = (
    Bug(
        "an adverse ratio keeps the ends of its reciprocal where they were",
        (
            Edit(
                "auditor_client/estimation/estimates.py",
                "Estimate.reciprocal",
                "for end in (self.value, self.high, self.low)",
                "for end in (self.value, self.low, self.high)",
            ),
        ),
        (f"{_TESTS}::test_a_reciprocal_turns_its_ends",),
    ),
    Bug(
        "an adverse ratio is of the favourable rates",
        (
            Edit(
                "auditor_client/estimation/outcomes.py",
                "draws_of_outcome",
                "return (flat.turned_round(), pooled.turned_round()) if kind.adverse else (flat, pooled)",
                "return flat, pooled",
            ),
        ),
        (_TESTS,),
    ),
    Bug(
        "the ends of an adverse rate are those of the favourable one",
        (
            Edit(
                "auditor_client/estimation/intervals.py",
                "RateDraws.turned_round",
                "RateDraws(1 - self.rates, 1 - self.upper, 1 - self.lower, self.edition)",
                "RateDraws(1 - self.rates, self.lower, self.upper, self.edition)",
            ),
        ),
        (_TESTS,),
    ),
    Bug(
        "a pass of the favourable ratio is the verdict of an audit whose adverse ratio fails",
        (
            Edit(
                "auditor_client/findings/verdicts.py",
                "combined_verdict",
                "if favourable.verdict is not adverse.verdict:",
                "if favourable.verdict is Verdict.FAILS and adverse.verdict is not Verdict.FAILS:",
            ),
        ),
        (_TESTS,),
    ),
    Bug(
        "a large adverse ratio meets",
        (
            Edit(
                _RESULTS,
                "JudgedFigures._against_threshold",
                "return self.ratio_kind.reported(ratio).against(self.threshold)",
                "return ratio.against(self.threshold)",
            ),
        ),
        (_TESTS,),
    ),
    Bug(
        "the picture of an adverse ratio says that it fails below its limit",
        (
            Edit(
                "auditor_client/report/figures.py",
                "_ratio_picture",
                "adverse=kind.adverse",
                "adverse=False",
            ),
        ),
        ("tests/unit/auditor_client/test_about.py",),
    ),
    Bug(
        "an audit of a punitive decision is mended as if a true label spoke for the person",
        (
            Edit(
                "auditor_client/findings/mending.py",
                "counts_to_mend",
                'if finding.intervention == "punitive":',
                "if False:",
            ),
        ),
        ("tests/unit/auditor_client/test_mending.py",),
    ),
    Bug(
        "rates above every threshold pass where being below is a burden",
        (
            Edit(
                "auditor_client/report/audit_data.py",
                "audit_data",
                'assistive=finding.intervention == "assistive"',
                "assistive=True",
            ),
        ),
        ("tests/unit/auditor_client/test_any_decision.py",),
    ),
)
