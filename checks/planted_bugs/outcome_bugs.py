"""The bugs that turn a finding round or misname what it counts; `bugs` has all."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_TESTS: Final = "tests/integration/test_outcomes.py"
_OF_COLUMNS: Final = f"{_TESTS}::test_the_sentence_about_a_column_is_what_pandas_counts"
_OF_COMMANDS: Final = f"{_TESTS}::test_every_command_asks_for_the_outcome"

OUTCOME_BUGS: Final = (
    Bug(
        "the larger of two classes is taken for the good outcome",
        (
            Edit(
                "auditor_client/models/favourable.py",
                "favourable_classes",
                'raise OutcomeNotNamed("The model predicts", [class_text(label) for label in classes])',
                "return {max(classes)}",
            ),
        ),
        (_OF_COMMANDS,),
    ),
    Bug(
        "true is taken for the good outcome of a column",
        (
            Edit(
                "auditor_client/asking/source.py",
                "_decision_tree",
                "wanted = request.favourable",
                'wanted = request.favourable or (("true",) if column.type == "boolean" else None)',
            ),
        ),
        (_OF_COLUMNS,),
    ),
    Bug(
        "a report names the other decision than it counts",
        (
            Edit(
                "auditor_client/report/outcome.py",
                "outcome",
                "for favourable in (True, False)",
                "for favourable in (False, True)",
            ),
        ),
        (_OF_COLUMNS,),
    ),
    Bug(
        "a report says of everybody in the register how many people have a decision",
        (
            Edit(
                "auditor_client/report/people.py",
                "_people",
                "total = sum(size.value for size in sizes)",
                "total = 4 / 3 * sum(size.value for size in sizes)",
            ),
        ),
        (_OF_COLUMNS,),
    ),
)
