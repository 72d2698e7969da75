"""Who reads which model: by the name of its class or the content of its file, with nothing imported for nothing."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models import readers
from auditor_client.models.read_model import ModelRequest, ReadModel, above, decided
from auditor_client.models.readers import Reader, read_model, read_object
from auditor_client.models.tree import Branch, Leaf, Split, Tree
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn
from testing.invented.models import SCHEMA

AGES = [[20.0], [30.0], [40.0], [50.0]]


def tree_model(**options: Any) -> Any:
    return DecisionTreeClassifier(max_depth=1, **options).fit(AGES, [0, 0, 1, 1])


def score(**more: Any) -> DerivedColumn:
    document: dict[str, Any] = {"kind": "terms", "precision": "float64", "terms": [{"columns": ["age"], "slope": 2}]}
    return DerivedColumn.model_validate({"name": "score", "type": "number", "from": {"score": document}, **more})


def test_the_name_of_a_class_says_who_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Module:
        def __init__(self, name: str) -> None:
            self.name = name

        def read_object(self, model: Any, request: ModelRequest) -> ReadModel:
            asked.append(self.name)
            return ReadModel(Tree(Leaf("all", "yes", favourable=True)))

    few, many = Reader("few", classes=("sklearn.",)), Reader("many", classes=("sklearn.tree.",))
    monkeypatch.setattr(readers, "READERS", (few, many))
    monkeypatch.setattr(readers, "_module", lambda reader: Module(reader.module))

    for model in (StandardScaler(), tree_model(), make_pipeline(StandardScaler(), tree_model())):
        read_object(model, ModelRequest(SCHEMA))
    read_object(FixedThresholdClassifier(tree_model()).fit(AGES, [0, 0, 1, 1]), ModelRequest(SCHEMA, [1]))

    assert asked == ["few", "many", "many", "many"]


def test_a_tree_by_hand_needs_no_library() -> None:
    program = (
        "import sys; from auditor_client.models.readers import read_model; "
        "from auditor_client.models.read_model import ModelRequest; from auditor_client.models.tree import Leaf, Tree; "
        "from testing.registers import REGISTER; "
        "read_model(Tree(Leaf('a', 'yes', True)), ModelRequest(REGISTER.table)); print('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"False\n"


def test_a_tree_says_how_it_was_read_and_with_what_it_was_compared() -> None:
    read, digest = read_model(tree_model(), ModelRequest(SCHEMA, [1], columns=["age"]))

    assert digest is None
    assert read.provenance is not None
    assert read.provenance.description.startswith("a decision tree of 2 leaves, scikit-learn 1.")
    assert (read.provenance.probes, read.provenance.differing) == (8, 0)


def test_a_score_is_a_tree_over_a_column_of_its_own() -> None:
    read = ReadModel(above("score", 80, favourable=("granted", "refused")), (score(),), "score", (80,))

    assert read_model(read, ModelRequest(SCHEMA)) == (read, None)


def two_ways(*predicates: dict[str, Any]) -> Tree:
    leaves = (Leaf("a", "yes", favourable=True), Leaf("b", "no", favourable=False))
    branches = zip(predicates, leaves, strict=True)
    return Tree(Split("s", tuple(Branch((Predicate.model_validate(one),), leaf) for one, leaf in branches)))


OVER, UNDER = {"column": "score", "op": "gt", "value": 80}, {"column": "score", "op": "le", "value": 80}


def test_who_has_no_value_may_be_outside_of_what_a_model_decides() -> None:
    column = score(nullable=True)
    half = ReadModel(two_ways(OVER, UNDER), (column,))

    with pytest.raises(ModelRefused, match="score = missing takes 0"):
        half.check(SCHEMA)
    ReadModel(two_ways(OVER, UNDER), (column,), decided=decided(column.column)).check(SCHEMA)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (ReadModel(two_ways(OVER, UNDER)), "score"),
        (ReadModel(two_ways(OVER, {**UNDER, "value": 79}), (score(),)), "takes 0 of its branches"),
        (ReadModel(two_ways(OVER, UNDER), (score(name="age"),)), "declares a column 'age'"),
        (ReadModel(two_ways(OVER, UNDER), (score(), score())), "share a name"),
        (
            ReadModel(
                two_ways(OVER, UNDER), (score(),), decided=decided(Column(name="x", type="number", nullable=True))
            ),
            "'x'",
        ),
    ],
)
def test_a_read_model_that_does_not_fit_the_dataset_is_refused(model: ReadModel, text: str) -> None:
    with pytest.raises(ModelRefused, match=text):
        read_object(model, ModelRequest(SCHEMA))


def test_a_score_gets_a_name_that_the_dataset_does_not_have() -> None:
    taken = Schema(person_key="score-2", columns=(*SCHEMA.columns, Column(name="score", type="number")))

    assert ModelRequest(SCHEMA).score == "score"
    assert ModelRequest(taken).score == "score-3"


def test_a_file_that_nobody_reads_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"what is this")

    with pytest.raises(ModelRefused, match=r"model\.bin is not a skops file"):
        read_model(path, ModelRequest(SCHEMA))
