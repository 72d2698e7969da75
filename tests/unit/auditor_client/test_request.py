"""Requests and readings: made once from keywords or flags, frozen, and kept whole."""

import ast
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError
from typer.main import get_command
from typer.testing import CliRunner

import auditor_client
from auditor_client.asking.assumption import Assumption
from auditor_client.asking.request import OF_DECISIONS, AuditRequest
from auditor_client.audits.asking import Asking, OnHand, UntilDecided
from auditor_client.cli import app
from auditor_client.errors import QuestionRefused, ReceiptsDamaged
from auditor_client.estimation.drawing import EDITIONS, LATEST
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.notes import Note, read_note
from auditor_client.findings.reading import Reading
from shared.wire.canonical import digest
from shared.wire.deferred_commands import loaded
from testing.invented.audits import invented_audit
from testing.invented.people import PEOPLE
from testing.invented.questions import exact_release, question

REQUEST = AuditRequest(sensitive=("sex",), epsilon="0.1")


def asking(*given: Any, reading: Reading | None = None, epsilon: str | None = None, **keywords: Any) -> Asking:
    return Asking.of(given[0] if given else (), epsilon, reading, keywords)


def test_keywords_make_the_values_that_a_program_makes_itself() -> None:
    found = asking(["sex"], epsilon="0.1", strategy="rules", threshold=0.9, metrics="equal-opportunity", reuse=False)

    assert found.request == AuditRequest(
        sensitive=("sex",), epsilon="0.1", strategy="rules", metrics=("equal-opportunity",)
    )
    assert found.reading == Reading(threshold=0.9)
    assert found.own == OnHand(reuse=False)
    assert asking(found.request, reading=found.reading, reuse=False) == found


def test_the_sensitive_columns_may_be_a_keyword() -> None:
    assert asking(sensitive=["sex"]).request == AuditRequest(sensitive=("sex",))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a slip of the pen": ({"treshold": 0.9}, "did you mean 'threshold'"),
    "a word that is near no other": ({"zzz": "red"}, r"'zzz' is no argument\. There are sensitive, epsilon, metrics"),
    "a text for a number": ({"draw": "often"}, "`draw`: .*not 'often'"),
    "a list for a text": ({"strategy": ["rules"]}, "`strategy`: "),
    "supports that are no counts": ({"supports": {"favourable": "many"}}, "`supports`: "),
    "a part of a request that was given whole": ({"request": REQUEST, "strategy": "rules"}, "part of the request"),
    "an assumption beside a request that was given whole": (
        {"request": REQUEST, "people": 5, "strategy": "rules"},
        "'people' is part of the request",
    ),
    "the epsilon of a request that was given whole": ({"request": REQUEST, "epsilon": "0.2"}, "part of the request"),
    "a part of a reading that was given whole": ({"reading": Reading(), "level": 0.9}, "part of the reading"),
    "a level beyond what an estimator's draws reach": ({"level": 0.9995}, "between 0.5 and 0.999; not at 0.9995"),
    "an epsilon that is no exact decimal": ({"epsilon": 0.1 + 0.2}, "0.30000000000000004 is not an amount"),
    "an epsilon of single precision": ({"epsilon": np.float32(0.1)}, "is not an amount"),
    "an epsilon that is no number": ({"epsilon": float("nan")}, "is not an amount"),
    "an epsilon that is infinite": ({"epsilon": Decimal("inf")}, "is not an amount"),
    "an epsilon below zero": ({"epsilon": -1}, "is not an amount"),
    "a truth value for epsilon": ({"epsilon": True}, "is not an amount"),
    "a list for epsilon": ({"epsilon": [0.1]}, "is not an amount"),
}


@pytest.mark.parametrize(
    ("written", "epsilon"),
    [(0.1, "0.1"), (np.float64(0.1), "0.1"), (1, "1"), (2.0, "2.0"), (Decimal("0.25"), "0.25"), (1e-3, "0.001"),
     (Decimal("1E+1"), "10"), ("0.5", "0.5")],
)  # fmt: skip
def test_an_epsilon_is_what_was_written(written: Any, epsilon: str) -> None:
    assert asking(epsilon=written).request.epsilon == epsilon


def test_one_text_is_one_column() -> None:
    assert asking("sex").request == asking(["sex"]).request
    assert AuditRequest(sensitive="sex", columns="age") == AuditRequest(sensitive=("sex",), columns=("age",))  # type: ignore[arg-type]  # read as a list of one


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_keyword_that_cannot_be_meant_is_refused_in_words(case: str) -> None:
    keywords, message = REFUSED[case]
    request = keywords.get("request", ["sex"])

    with pytest.raises(QuestionRefused, match=message):
        asking(request, **{name: value for name, value in keywords.items() if name != "request"})


def test_the_values_are_frozen() -> None:
    with pytest.raises(ValidationError):
        REQUEST.epsilon = "10"


def test_classes_of_an_array_are_plain_values_in_one_order() -> None:
    assert AuditRequest(sensitive=("sex",), favourable=np.array([1, 2])).favourable == (1, 2)  # type: ignore[arg-type]  # what notebooks pass
    assert AuditRequest(sensitive=("sex",), favourable={"b", "a"}).favourable == ("a", "b")  # type: ignore[arg-type]  # likewise


def kept_note(**asked: Any) -> Note:
    """The note of an audit of which everything was chosen otherwise than by default."""
    put = question(
        **{
            "metrics": OF_DECISIONS,
            "where": ["age >= 18", "region in (North, South)"],
            "reference": "Male",
            "mechanism": "gaussian",
            "delta": "0.00001",
            "draw": 2,
            "assumption": Assumption(people=777, shares=(1.0, 3.0)),
            **asked,
        }
    )
    release = exact_release(put.plan, PEOPLE)
    stored = StoredAnswer(release, {}, Path("one.json"), invented_audit().key, reused=True, supports={"favourable": 7})
    return Note.of(put, stored, Reading(estimator="plug-in", negative="zero", threshold=0.7, level=0.9))


def test_a_note_gives_back_question_and_reading_with_all_that_was_chosen() -> None:
    note = kept_note()
    again = read_note(Note, note.model_dump_json().encode(), "a note")

    assert again == note
    assert again.name == note.name
    assert again.question().plan == note.plan
    assert again.question().request.assumption == Assumption(people=777, shares=(1.0, 3.0))
    assert again.reading == Reading(estimator="plug-in", negative="zero", threshold=0.7, level=0.9)


def test_a_note_names_the_edition_of_the_estimator_and_one_without_is_of_the_first() -> None:
    document = json.loads(kept_note().model_dump_json())
    latest = document["reading"].pop("edition")
    first = read_note(Note, json.dumps(document).encode(), "a note")

    assert (latest, first.reading.edition) == (LATEST, 1)
    assert first.name == digest(document)
    assert first.reading.drawing().edition == EDITIONS[1]
    assert Reading().drawing().edition == EDITIONS[LATEST]


def test_an_edition_that_this_version_does_not_know_is_refused() -> None:
    document = json.loads(kept_note().model_dump_json())
    document["reading"]["edition"] = LATEST + 1

    with pytest.raises(ReceiptsDamaged):
        read_note(Note, json.dumps(document).encode(), "a note")
    with pytest.raises(QuestionRefused, match="use the version that made them"):
        Reading(edition=LATEST + 1)


@pytest.mark.parametrize("changes", [{"epsilon": "0.2"}, {"assumption": Assumption(people=778)}, {"draw": 3}])
def test_notes_of_other_requests_have_other_names(changes: dict[str, Any]) -> None:
    assert kept_note(**changes).name != kept_note().name


def test_a_note_whose_request_is_none_is_refused() -> None:
    text = kept_note().model_dump_json()

    for old, new in (('"metrics":["', '"metrics":["kindness","'), ('"threshold":0.7', '"threshold":7')):
        assert old in text
        with pytest.raises(ReceiptsDamaged, match="cannot be read"):
            read_note(Note, text.replace(old, new).encode(), "a note")


def test_a_question_is_settled_so_that_it_is_the_same_again() -> None:
    """Whatever was left open is filled in: the same plan follows, also where the formula of "auto" is another one."""
    asked = question(strategy="auto", epsilon="0.50", mechanism="exponential").request

    assert (asked.strategy in ("verdict", "rules"), asked.epsilon, asked.version) == (True, "0.5", 3)
    assert (asked.mechanism, asked.upper) == ("exponential", 10_000)


def commands() -> dict[str, Any]:
    group: Any = get_command(app)
    return {name: loaded(command) for name, command in group.commands.items()}


NAMES = {"metrics": "--metric", "version": "--records-version"}


@pytest.mark.parametrize("kind", [AuditRequest, Reading, UntilDecided])
def test_every_field_is_a_flag_of_audit_with_its_help_and_default(kind: type[BaseModel]) -> None:
    flags = {name: flag for flag in commands()["audit"].params for name in flag.opts}
    made_of_others = ("assumption", "known_totals", "group_study", "looks")
    fields = {name: field for name, field in kind.model_fields.items() if name not in made_of_others}

    for name, field in fields.items():
        flag = flags[NAMES.get(name, f"--{name.replace('_', '-')}")]
        assert str(getattr(flag, "help", "")).replace("\\[", "[") == field.description
        assert flag.required == field.is_required()
        assert flag.default in (field.default, None)


def test_a_forecast_has_the_flags_of_the_assumption() -> None:
    flags = {name for flag in commands()["plan"].params for name in flag.opts}

    assert {f"--{name}" for name in Assumption.model_fields} <= flags


def test_help_shows_brackets_as_they_are_written() -> None:
    ran = CliRunner().invoke(app, ["plan", "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})

    for text in ("[statistical-parity]", "[what the dataset takes]", "[0.000001]", "[equal]"):
        assert text in " ".join(ran.output.replace("│", " ").split())


def test_no_command_and_no_other_function_takes_more_than_eight_values() -> None:
    """Counted in the source, with the receiver."""
    for path in Path(str(auditor_client.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                names = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
                assert sum(name is not None for name in names) <= 8, f"{path.name}: {node.name}"


def test_what_is_known_of_the_people_is_given_by_itself() -> None:
    assert asking(["sex"], people=442, shares=(1, 2)).request.assumption == Assumption(people=442, shares=(1, 2))
    with pytest.raises(QuestionRefused, match="'people' is part of the assumption"):
        asking(["sex"], people=442, assumption=Assumption())
