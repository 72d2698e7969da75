"""PMML's chains of sums and regressions, and naive Bayes with normal densities, as their makers decide."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import load_object, read_object
from shared.contract.schema import Column, Schema
from shared.scores.arrays import score_column

SCHEMA = Schema(
    person_key="id",
    columns=tuple(Column(name=name, type="number", minimum=-8, maximum=8) for name in ("a", "b")),
)
NULLABLE = Schema(
    person_key="id",
    columns=tuple(Column(name=name, type="number", minimum=-8, maximum=8, nullable=True) for name in ("a", "b")),
)
CLASSES = ("low", "middle", "high")
DRAW = np.random.default_rng(5)
DATA = DRAW.normal(size=(400, 2))
TARGET = np.digitize(DATA[:, 0] + DATA[:, 1] ** 2, [0.2, 1.4])


def pmml(model: str, kind: str = "double") -> bytes:
    values = "".join(f'<Value value="{one}"/>' for one in CLASSES)
    fields = "".join(f'<DataField name="{name}" optype="continuous" dataType="{kind}"/>' for name in ("a", "b"))
    return (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary><DataField name="y" '
        f'optype="categorical" dataType="string">{values}</DataField>{fields}</DataDictionary>{model}</PMML>'
    ).encode()


SCHEMA_OF = (
    '<MiningSchema><MiningField name="y" usageType="target"/><MiningField name="a"/><MiningField name="b"/>'
    "</MiningSchema>"
)


def nodes(tree: DecisionTreeRegressor, rate: float, node: int = 0, test: str = "<True/>") -> str:
    made = tree.tree_
    left, right = int(made.children_left[node]), int(made.children_right[node])
    if left == -1:
        return f'<Node score="{rate * float(made.value[node].item())!r}">{test}</Node>'
    tests = (
        f'<SimplePredicate field="{"ab"[made.feature[node]]}" operator="{op}" value="{float(made.threshold[node])!r}"/>'
        for op in ("lessOrEqual", "greaterThan")
    )
    inner = "".join(nodes(tree, rate, child, own) for child, own in zip((left, right), tests, strict=True))
    return f"<Node>{test}{inner}</Node>"


def sum_of(trees: list[DecisionTreeRegressor], name: str, *, constant: float, rate: float = 0.1) -> str:
    segments = "".join(
        f'<Segment id="{number}"><True/><TreeModel functionName="regression">{nodes(tree, rate)}</TreeModel></Segment>'
        for number, tree in enumerate(trees)
    )
    return (
        '<MiningModel functionName="regression"><MiningSchema><MiningField name="a"/><MiningField name="b"/>'
        f'</MiningSchema><Output><OutputField name="{name}" '
        f'isFinalResult="false"/></Output><Targets><Target rescaleConstant="{constant!r}"/></Targets><Segmentation '
        f'multipleModelMethod="sum">{segments}</Segmentation></MiningModel>'
    )


def chain(parts: list[str], tables: str, method: str = "softmax") -> bytes:
    last = f'<RegressionModel functionName="classification" normalizationMethod="{method}">{tables}</RegressionModel>'
    segments = "".join(f'<Segment id="{number}"><True/>{part}</Segment>' for number, part in enumerate([*parts, last]))
    return pmml(
        f'<MiningModel functionName="classification">{SCHEMA_OF}<Segmentation multipleModelMethod="modelChain">'
        f"{segments}</Segmentation></MiningModel>"
    )


def table(name: str, coefficient: str = "1", intercept: str = "0", source: str | None = None) -> str:
    predictor = f'<NumericPredictor name="{source or name}" coefficient="{coefficient}"/>'
    return f'<RegressionTable intercept="{intercept}" targetCategory="{name}">{predictor}</RegressionTable>'


def read(content: bytes, schema: Schema = SCHEMA, **asked: Any) -> ReadModel:
    return read_object(load_object(content, "model.pmml"), ModelRequest(schema, **asked))


def choices(model: ReadModel, data: Any, schema: Schema = SCHEMA) -> list[Any]:
    [column] = model.columns
    return list(score_column(column.origin.score, {"a": data[:, 0], "b": data[:, 1]}, schema))  # type: ignore[union-attr]


def boosted() -> tuple[GradientBoostingClassifier, list[str]]:
    model = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=1).fit(DATA, TARGET)
    bases = model._raw_predict_init(DATA[:1])[0]
    return model, [
        sum_of(list(model.estimators_[:, number]), name, constant=float(bases[number]))
        for number, name in enumerate(CLASSES)
    ]


@pytest.mark.parametrize("coefficient", ["1", "2"])
def test_a_choice_between_sums_is_the_boosted_models(coefficient: str) -> None:
    model, parts = boosted()
    probes = DRAW.normal(size=(2_000, 2)).astype(np.float32).astype(np.float64)
    if coefficient == "2":
        parts = [re.sub("<Targets>.*</Targets>", "", part) for part in parts]
    tables = "".join(table(name, coefficient) for name in CLASSES)

    found = choices(read(chain(parts, tables), favourable=["high"]), probes)

    expected = model.predict(probes)
    if coefficient == "2":
        sums = sum(np.column_stack([tree.predict(probes) for tree in row]) * 0.1 for row in model.estimators_)
        expected = np.argmax(sums, axis=1)
    assert found == [CLASSES[one] for one in expected]


def test_a_sum_that_a_line_passes_on_is_the_same_sum() -> None:
    _, parts = boosted()
    passed = (
        '<RegressionModel functionName="regression"><MiningSchema><MiningField name="{0}"/></MiningSchema>'
        '<Output><OutputField name="{0}2" feature="predictedValue"/></Output>'
        '<RegressionTable intercept="0"><NumericPredictor name="{0}" coefficient="1"/></RegressionTable>'
        "</RegressionModel>"
    )
    lines = [passed.format(name) for name in CLASSES]
    probes = DRAW.normal(size=(500, 2))

    direct = read(chain(parts, "".join(map(table, CLASSES))), favourable=["low"])
    behind = read(chain(parts + lines, "".join(table(one, source=f"{one}2") for one in CLASSES)), favourable=["low"])

    assert choices(direct, probes) == choices(behind, probes)


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        (table("low") + table("middle", "2") + table("high"), "one positive coefficient"),
        (table("low", source="other") + table("middle") + table("high"), "only predictor"),
    ],
)
def test_sums_of_other_scales_are_refused(tables: str, text: str) -> None:
    with pytest.raises(ModelRefused, match=text):
        read(chain(boosted()[1], tables), favourable=["low"])


@pytest.mark.parametrize(("listed", "is_read"), [("low middle high", True), ("middle high", False)])
def test_a_sum_that_the_mining_schema_leaves_out_is_refused(listed: str, is_read: bool) -> None:
    """JPMML takes it for missing there, and adds nothing."""
    fields = "".join(f'<MiningField name="{name}"/>' for name in listed.split())
    content = chain(boosted()[1], f"<MiningSchema>{fields}</MiningSchema>" + "".join(map(table, CLASSES)))

    if is_read:
        read(content, favourable=["low"])
    else:
        with pytest.raises(ModelRefused, match="'RegressionModel' uses 'low', which its MiningSchema"):
            read(content, favourable=["low"])


@pytest.mark.parametrize("where", ["a tree", "the regression"])
def test_targets_that_a_chain_would_leave_out_are_refused(where: str) -> None:
    _, parts = boosted()
    targets = '<Targets><Target rescaleConstant="5"/></Targets>'
    if where == "a tree":
        begin = '<TreeModel functionName="regression">'
        parts[0] = parts[0].replace(begin, begin + targets, 1)
    content = chain(parts, ("" if where == "a tree" else targets) + "".join(map(table, CLASSES)))

    with pytest.raises(ModelRefused, match="Targets"):
        read(content, favourable=["low"])


def classifying(tree: DecisionTreeClassifier, node: int = 0, test: str = "<True/>") -> str:
    made = tree.tree_
    left, right = int(made.children_left[node]), int(made.children_right[node])
    if left == -1:
        shares = made.value[node][0].tolist()
        own = "".join(
            f'<ScoreDistribution value="{label}" recordCount="1" probability="{share!r}"/>'
            for label, share in zip(CLASSES, shares, strict=True)
        )
        return f'<Node score="{CLASSES[int(np.argmax(shares))]}">{test}{own}</Node>'
    tests = (
        f'<SimplePredicate field="{"ab"[made.feature[node]]}" operator="{op}" value="{float(made.threshold[node])!r}"/>'
        for op in ("lessOrEqual", "greaterThan")
    )
    inner = "".join(classifying(tree, child, own) for child, own in zip((left, right), tests, strict=True))
    return f"<Node>{test}{inner}</Node>"


def forest_pmml(model: RandomForestClassifier, method: str) -> str:
    segments = "".join(
        f'<Segment id="{number}" weight="{1 + number}"><True/><TreeModel functionName="classification">'
        f"{classifying(tree)}</TreeModel></Segment>"
        for number, tree in enumerate(model.estimators_)
    )
    return (
        f'<MiningModel functionName="classification">{SCHEMA_OF}<Segmentation multipleModelMethod="{method}">{segments}'
        "</Segmentation></MiningModel>"
    )


@pytest.mark.parametrize("method", ["average", "majorityVote", "weightedMajorityVote"])
def test_a_forest_decides_as_its_trees_together(method: str) -> None:
    model = RandomForestClassifier(n_estimators=7, max_depth=4, random_state=2).fit(DATA, TARGET)
    probes = DRAW.normal(size=(2_000, 2)).astype(np.float32).astype(np.float64)

    found = choices(read(pmml(forest_pmml(model, method)), favourable=["high"]), probes)

    votes = np.stack([tree.predict_proba(probes) for tree in model.estimators_])
    if method != "average":
        votes = np.eye(3)[np.argmax(votes, axis=2)]
    weights = np.arange(1.0, 8) if method == "weightedMajorityVote" else np.ones(7)
    sums = np.zeros((len(probes), 3))
    for weight, one in zip(weights, votes, strict=True):
        sums += weight * one
    assert found == [CLASSES[one] for one in np.argmax(sums, axis=1)]


def test_an_average_without_shares_is_refused() -> None:
    model = RandomForestClassifier(n_estimators=2, max_depth=2, random_state=2).fit(DATA, TARGET)
    content = re.sub(rb"<ScoreDistribution [^>]*/>", b"", pmml(forest_pmml(model, "average")))

    with pytest.raises(ModelRefused, match="ScoreDistributions"):
        read(content, favourable=["high"])


def bayes(model: GaussianNB, threshold: str = "0") -> str:
    inputs = "".join(
        f'<BayesInput fieldName="{name}"><TargetValueStats>'
        + "".join(
            f'<TargetValueStat value="{label}"><GaussianDistribution mean="{float(model.theta_[k, j])!r}" '
            f'variance="{float(model.var_[k, j])!r}"/></TargetValueStat>'
            for k, label in enumerate(CLASSES)
        )
        + "</TargetValueStats></BayesInput>"
        for j, name in enumerate(("a", "b"))
    )
    counts = "".join(
        f'<TargetValueCount value="{label}" count="{float(count)}"/>'
        for label, count in zip(CLASSES, model.class_count_, strict=True)
    )
    return (
        f'<NaiveBayesModel functionName="classification" threshold="{threshold}">{SCHEMA_OF}<BayesInputs>{inputs}'
        f'</BayesInputs><BayesOutput fieldName="y"><TargetValueCounts>{counts}</TargetValueCounts></BayesOutput>'
        "</NaiveBayesModel>"
    )


def test_normal_densities_decide_as_scikit_learns() -> None:
    model = GaussianNB().fit(DATA, TARGET)
    probes = DRAW.normal(size=(5_000, 2)) * 2

    found = choices(read(pmml(bayes(model)), favourable=["high"]), probes)

    assert found == [CLASSES[one] for one in model.predict(probes)]


def test_a_missing_number_leaves_its_density_out() -> None:
    model = GaussianNB().fit(DATA, TARGET)
    probes = np.column_stack([DRAW.normal(size=300), np.full(300, np.nan)])

    found = choices(read(pmml(bayes(model)), NULLABLE, favourable=["high"]), probes, NULLABLE)

    density = -0.5 * np.log(2 * np.pi * model.var_[:, 0]) - (probes[:, :1] - model.theta_[:, 0]) ** 2 / (
        2 * model.var_[:, 0]
    )
    assert found == [CLASSES[one] for one in np.argmax(np.log(model.class_prior_) + density, axis=1)]


def test_a_threshold_that_stands_for_small_densities_is_refused() -> None:
    with pytest.raises(ModelRefused, match="threshold"):
        read(pmml(bayes(GaussianNB().fit(DATA, TARGET), "0.001")), favourable=["high"])
