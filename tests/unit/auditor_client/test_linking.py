"""Values of the auditor's own as a file: the same values are the same file, and what does not fit is refused."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from auditor_client.audits.asking import LinkRequest
from auditor_client.audits.linking import LinkedFile, linked_file
from auditor_client.errors import QuestionRefused
from shared.wire.canonical import sha256_name
from testing.registers import REGISTER


def linked(data: Any, **asked: Any) -> LinkedFile:
    return linked_file(data, REGISTER, LinkRequest(**{"name": "decision", **asked}))


def frame(values: list[Any], **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"p{row}" for row in range(len(values))], "decision": values, **more})


def test_the_file_names_keys_and_values_in_the_order_of_the_keys() -> None:
    file = linked(pd.DataFrame({"decision": ["no", "yes", None], "id": ["p2", "p10", "p1"]}))

    assert file.content == b"id,value\np10,yes\np2,no\n"
    assert file.people == 2
    assert file.column.values == sha256_name(file.content)
    assert (file.column.type, file.column.categories, file.column.nullable) == ("category", ("no", "yes"), True)


def test_a_file_of_another_tool_is_the_same_file_as_declared(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": ["é1", "é2", "é3"], "score": [0.5, None, -12.25]})
    written = tmp_path / "scores.csv"
    table.to_csv(written, index=False, sep=";", decimal=",", na_rep="NA", encoding="latin-1")
    how: dict[str, Any] = {"delimiter": ";", "decimal": ",", "encoding": "latin-1", "missing": ("NA",)}

    read = linked(written, name="score", **how)

    assert read.content == linked(table, name="score").content == "id,value\né1,0.5\né3,-12.25\n".encode()
    assert read.column.type == "number"
    for name in ("delimiter", "decimal", "encoding"):
        found = linked(written, name="score", type="number", **{one: how[one] for one in how if one != name})
        assert found.content == read.content, "what is not said is found"
    with pytest.raises(QuestionRefused):
        linked(written, name="score", type="number", **{one: how[one] for one in how if one != "missing"})


def test_one_word_or_category_by_itself_is_a_list_of_one() -> None:
    request = LinkRequest.model_validate({"name": "decision", "missing": "NA", "categories": "granted"})

    assert (request.missing, request.categories) == (("NA",), ("granted",))


def test_a_comma_in_a_category_is_none_of_a_number(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;decision\n1;yes, perhaps\n2;no\n")

    assert linked(tmp_path / "a.csv", delimiter=";", decimal=",").content == b'id,value\n1,"yes, perhaps"\n2,no\n'


def test_the_same_values_are_the_same_file_wherever_they_come_from(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": [3, 1, 2], "decision": ["b", "a", None]})
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    renamed = table.rename(columns={"id": "who", "decision": "what"}).assign(other=1)

    made = [
        linked(table),
        linked(table.iloc[::-1]),
        linked(table.set_index("id")),
        linked(tmp_path / "a.csv"),
        linked(str(tmp_path / "a.parquet")),
        linked(renamed, key="who", value="what"),
        linked(table.assign(id=table["id"].astype("float64"))),
    ]

    assert {file.content for file in made} == {b"id,value\n1,a\n3,b\n"}
    assert len(set(made)) == 1


@pytest.mark.parametrize(
    ("values", "asked", "kind", "written"),
    [
        ([True, False], {}, "boolean", ["true", "false"]),
        (["True", "false"], {}, "boolean", ["true", "false"]),
        ([1, 0], {}, "boolean", ["true", "false"]),
        ([1.0, None], {}, "boolean", ["true"]),
        ([1, 0], {"type": "number"}, "number", ["1.0", "0.0"]),
        ([1, 0], {"type": "category"}, "category", ["1", "0"]),
        ([0.1, 2], {}, "number", ["0.1", "2.0"]),
        (["0.1", "2e3"], {}, "number", ["0.1", "2000.0"]),
        ([3, 4], {"type": "integer"}, "integer", ["3", "4"]),
        (["3", "x"], {}, "category", ["3", "x"]),
        (["None", "NA"], {}, "category", ["None", "NA"]),
        (["cafe\u0301", "a,b"], {}, "category", ["café", '"a,b"']),
        ([1, 0], {"label": True}, "boolean", ["true", "false"]),
    ],
)
def test_what_the_values_are_is_seen_from_the_auditors_own_data_or_given(
    values: list[Any], asked: dict[str, Any], kind: str, written: list[str]
) -> None:
    file = linked(frame(values), **asked)

    assert file.column.type == kind
    assert file.column.label == asked.get("label", False)
    assert file.content.decode().splitlines()[1:] == [f"p{row},{text}" for row, text in enumerate(written)]


def test_all_categories_can_be_listed() -> None:
    assert linked(frame(["a"]), categories=("b", "a")).column.categories == ("b", "a")


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no key": (pd.DataFrame({"decision": [1]}), {}, "do not have the column 'id' with the person keys"),
    "no value": (pd.DataFrame({"id": [1], "a": [1], "b": [1]}), {}, "'decision' with the values.* 'a', 'b'"),
    "nothing but keys": (pd.DataFrame({"id": [1]}), {}, "columns are none"),
    "the key as value": (frame([1]), {"value": "id"}, "'id' with the values"),
    "a key twice": (pd.DataFrame({"id": [7, 8, 7], "x": [1, 1, 0]}), {}, "2 rows .* more than once"),
    "no key for a value": (pd.DataFrame({"id": ["a", None], "x": [1, 1]}), {}, "Row 2 .* no person key"),
    "half a key": (pd.DataFrame({"id": [0.5], "x": [1]}), {}, "fractions"),
    "no values": (frame([None, None]), {}, "does not have values"),
    "not finite": (frame([1.5, math.inf]), {}, "no number in row 2"),
    "no number": (frame(["1", None, "x"]), {"type": "number"}, "no number in row 3"),
    "half a whole": (frame([1, 1.5]), {"type": "integer"}, "no integer in row 2"),
    "no truth": (frame(["yes", "no"]), {"label": True}, "true and false in row 1"),
    "not listed": (frame(["a", "b"]), {"categories": ("a",)}, "categories in row 2"),
    "no type": (frame([1]), {"type": "date"}, "boolean, category, integer, number"),
    "a declared name": (frame([1]), {"name": "age"}, "declares a column 'age'"),
    "no name": (frame([1]), {"name": "a b", "value": "decision"}, "name"),
    "no file": (Path("nowhere.csv"), {}, "cannot be read"),
    "a control character": (frame(["a\x00"]), {}, "control characters"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_without_a_key_or_a_value(case: str) -> None:
    data, asked, text = REFUSED[case]

    with pytest.raises(QuestionRefused, match=text) as refused:
        linked(data, **asked)
    assert "p1" not in str(refused.value)
