"""What PMML says outside of its models: used, or refused by its name, and never ignored."""

from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.pmml.vocabulary import SKIPPED
from shared.contract.schema import Column, Schema
from shared.scores.arrays import TableColumns, score_column
from shared.scores.columns import extended

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="x", type="number", minimum=-1000, maximum=1000),
        Column(name="age", type="number", minimum=0, maximum=120, nullable=True),
        Column(name="g", type="category", categories=("u", "v"), nullable=True),
        Column(name="h", type="category", categories=("f", "m")),
        Column(name="owner", type="boolean", nullable=True),
    ),
)
PREDICATE = '<SimplePredicate field="x" operator="{}" value="{}"/>'
LESS, REST = PREDICATE.format("lessThan", "2"), PREDICATE.format("greaterOrEqual", "2")
TREE = (
    f'<Node id="0"><True/><Node id="1" score="A">{LESS}</Node><Node id="2" score="B">{REST}</Node></Node>'
)  # fmt: skip
NUMBERS = TREE.replace('score="A"', 'score="-1"').replace('score="B"', 'score="1"')


def pmml(model: str, *, fields: str = "", target: str = "string", values: tuple[str, ...] = ("A", "B")) -> bytes:
    listed = "".join(f'<Value value="{value}"/>' for value in values)
    inputs = fields or '<DataField name="x" optype="continuous" dataType="double"/>'
    return (
        f'<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary><DataField name="y" '
        f'optype="categorical" dataType="{target}">{listed}</DataField>{inputs}</DataDictionary>{model}</PMML>'
    ).encode()


def schema_of(*names: str, more: str = "") -> str:
    listed = "".join(f'<MiningField name="{name}" {more}/>' for name in names)
    return f'<MiningSchema><MiningField name="y" usageType="target"/>{listed}</MiningSchema>'


def tree(nodes: str = TREE, *, kind: str = "classification", around: str = "", more: str = "") -> str:
    return f'<TreeModel functionName="{kind}">{schema_of("x", more=more)}{around}{nodes}</TreeModel>'


def added(nodes: str = NUMBERS, *, around: str = "", inside: str = "", names: tuple[str, ...] = ("x",)) -> str:
    """Trees that are added, as R's gbm writes them."""
    segment = f'<Segment id="1"><True/><TreeModel functionName="regression">{inside}{nodes}</TreeModel></Segment>'
    return (
        f'<MiningModel functionName="regression">{schema_of(*names)}{around}<Segmentation multipleModelMethod="sum">'
        f"{segment}</Segmentation></MiningModel>"
    )


def _deciding(name: str, operator: str, value: str) -> str:
    """1 for those of whom a test holds, and 0 for others."""
    test = f'<SimplePredicate field="{name}" operator="{operator}" value="{value}"/>'
    return f'<Node score="0"><True/><Node score="1">{test}</Node></Node>'


def read(content: bytes, **asked: Any) -> ReadModel:
    return read_object(load_object(content, "model.pmml"), ModelRequest(SCHEMA, **asked))


def decided(content: bytes, records: dict[str, list[Any]], **asked: Any) -> list[bool]:
    """Whether each record is decided favourably."""
    model = read(content, **asked)
    scores = {
        column.name: score_column(column.origin.score, records, SCHEMA)  # type: ignore[union-attr]
        for column in model.columns
    }
    table = TableColumns.of(
        {**records, **scores}, extended(SCHEMA, {one.name: one.column for one in model.columns}, reads={})
    )
    favourable = [rule.rule for rule in model.tree.rules() if rule.favourable]
    matching = [list(row) for row in table.matching(favourable)]
    return [any(row[index] for row in matching) for index in range(table.records)]


XS = {"x": [-5.0, 1.9, 2.0, 50.0]}


def test_the_plain_models_are_read() -> None:
    """The negative control of all that is refused below."""
    assert decided(pmml(tree()), XS, favourable=["A"]) == [True, True, False, False]
    assert decided(pmml(added()), XS, above=0) == [False, False, True, True]


@pytest.mark.parametrize("asked", ["1", "1.0", 1])
def test_classes_that_are_numbers_are_compared_as_numbers(asked: Any) -> None:
    nodes = TREE.replace('"A"', '"0"').replace('"B"', '"1"')
    content = pmml(tree(nodes), target="double", values=("0.0", "1.0"))

    assert decided(content, XS, favourable=["1.0"]) == [False, False, True, True]
    with pytest.raises(ModelRefused, match="twice"):
        read(pmml(tree(nodes), target="double", values=("1", "1.0")), favourable=["1"])


FIELD = '<DataField name="x" optype="continuous" dataType="double" {}>{}</DataField>'
INTERVAL = '<Interval closure="closedClosed" leftMargin="{}" rightMargin="{}"/>'
MISSING, INVALID = '<Value value="-99" property="missing"/>', '<Value value="7" property="invalid"/>'
REFUSED = {
    "a value that is missing": (pmml(tree(), fields=FIELD.format("", MISSING)), "-99"),
    "a value that is invalid": (pmml(tree(), fields=FIELD.format("", INVALID)), "invalid"),
    "an interval": (pmml(tree(), fields=FIELD.format("", INTERVAL.format(0, 100))), "from -1000 to 1000"),
    "an interval, as missing": (
        pmml(tree(more='invalidValueTreatment="asMissing"'), fields=FIELD.format("", INTERVAL.format(0, 100))), "1000"
    ),
    "an open interval": (
        pmml(tree(), fields=FIELD.format("", INTERVAL.format(-1000, 1000).replace("closedC", "openC"))), "1000"
    ),
    "another value for invalid ones": (
        pmml(tree(more='invalidValueTreatment="asValue" invalidValueReplacement="3"')), "invalidValue"
    ),
    "a cycle": (pmml(tree(), fields=FIELD.format('isCyclic="1"', "")), "isCyclic"),
    "outliers": (pmml(tree(more='outliers="asExtremeValues" lowValue="0" highValue="9"')), "outliers"),
    "an unknown element": (pmml(tree(around="<Surprise/>")), "Surprise"),
    "an unknown attribute": (pmml(tree(TREE.replace('score="A"', 'score="A" surprise="7"'))), "surprise"),
    "an integer for numbers": (pmml(tree(), fields=FIELD.format("", "").replace("double", "integer")), "fractions"),
    "a date": (pmml(tree(), fields=FIELD.format("", "").replace("double", "dateDaysSince[1970]")), "dateDays"),
    "a list of valid numbers": (pmml(tree(), fields=FIELD.format("", '<Value value="7"/>')), "valid"),
    "two fields of one name": (pmml(tree(), fields=2 * FIELD.format("", "")), "twice"),
    "a field that is not active": (pmml(tree(more='usageType="supplementary"')), "not active"),
    "two targets": (
        pmml(tree().replace("<MiningSchema>", '<MiningSchema><MiningField name="z" usageType="target"/>')), "2 fields"
    ),
    "a whole number that arithmetic makes": (
        pmml(tree(TREE.replace('"x"', '"d"'), around='<LocalTransformations><DerivedField name="d" dataType="integer">'
        '<Apply function="-"><FieldRef field="x"/><Constant>0.5</Constant></Apply></DerivedField>'
        '</LocalTransformations>')), "'integer'"
    ),
    "another function": (pmml(tree(kind="clustering")), "clustering"),
    "a decision of the output's own": (
        pmml(tree(around='<Output><OutputField name="d" feature="decision"/></Output>')), "decision"
    ),
    "a class that the output makes of a probability": (
        pmml(tree(around='<Output><OutputField name="p" feature="probability" value="A"/><OutputField name="d" '
        'feature="transformedValue"><Apply function="greaterThan"><FieldRef field="p"/><Constant>0.3</Constant>'
        '</Apply></OutputField></Output>')), "transformedValue"
    ),
    "a number cast to a text": (
        pmml(tree(TREE.replace('"x"', '"d"'), around='<LocalTransformations><DerivedField name="d" dataType="string">'
        '<FieldRef field="x"/></DerivedField></LocalTransformations>')), "casts"
    ),
    "an extension of the standard": (pmml(tree(TREE.replace('score="A"', 'score="A" x-weight="7"'))), "x-weight"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_may_change_a_decision_is_refused_by_its_name(kind: str) -> None:
    content, text = REFUSED[kind]

    with pytest.raises(ModelRefused, match=text):
        read(content, favourable=["A"])


ADMITTED = {
    "a value that the dataset does not admit": pmml(
        tree(), fields=FIELD.format("", '<Value value="-9999" property="missing"/>')
    ),
    "an interval around the declared range": pmml(tree(), fields=FIELD.format("", INTERVAL.format(-1000, 1000))),
    "an interval, as it is": pmml(
        tree(more='invalidValueTreatment="asIs"'), fields=FIELD.format("", INTERVAL.format(0, 100))
    ),
    "no cycle": pmml(tree(), fields=FIELD.format('isCyclic="0"', "")),
    "an extension": pmml(tree(around='<Extension name="note" value="7"><whatever/></Extension>')),
    "statistics": pmml(tree(around="<ModelStats><UnivariateStats/></ModelStats>")),
}


@pytest.mark.parametrize("kind", ADMITTED)
def test_what_changes_no_decision_is_read(kind: str) -> None:
    assert decided(ADMITTED[kind], XS, favourable=["A"]) == [True, True, False, False]


def test_each_skipped_element_has_its_reason() -> None:
    assert all(reason for reason in SKIPPED.values())


def test_a_contrast_matrix_is_refused() -> None:
    matrix = (
        '<Matrix nbRows="2" nbCols="1"><Array n="1" type="real">.5</Array><Array n="1" type="real">-.5</Array></Matrix>'
    )
    model = (
        '<GeneralRegressionModel modelType="multinomialLogistic" functionName="classification" '
        f'targetReferenceCategory="B">{schema_of("h")}<ParameterList><Parameter name="p0"/><Parameter name="p1"/>'
        '</ParameterList><FactorList><Predictor name="h">%s</Predictor></FactorList><CovariateList/><PPMatrix><PPCell '
        'value="f" predictorName="h" parameterName="p1"/></PPMatrix><ParamMatrix><PCell targetCategory="A" '
        'parameterName="p0" beta="-1"/><PCell targetCategory="A" parameterName="p1" beta="1.5"/></ParamMatrix>'
        "</GeneralRegressionModel>"
    )
    fields = '<DataField name="h" optype="categorical" dataType="string"/>'

    assert decided(pmml(model % "", fields=fields), {"h": ["f", "m"]}, favourable=["A"]) == [True, False]
    with pytest.raises(ModelRefused, match="Matrix"):
        read(pmml(model % matrix, fields=fields), favourable=["A"])


def test_a_segment_that_replaces_what_the_model_does_not_is_refused() -> None:
    age = '<DataField name="age" optype="continuous" dataType="double"/>'
    missing = '<Node id="3" score="0"><SimplePredicate field="age" operator="isMissing"/></Node></Node>'
    nodes = NUMBERS[: -len("</Node>")].replace('field="x"', 'field="age"') + missing
    inside = '<MiningSchema><MiningField name="age" {}/></MiningSchema>'
    replaced = added(nodes, inside=inside.format('missingValueReplacement="-1"'), names=("age",))

    with pytest.raises(ModelRefused, match="a segment replaces"):
        read(pmml(replaced, fields=age), above=0)
    everywhere = replaced.replace('<MiningField name="age" />', '<MiningField name="age" missingValueReplacement="5"/>')
    assert decided(pmml(everywhere, fields=age), {"age": [1.0, 3.0, float("nan")]}, above=0) == [False, True, True]


@pytest.mark.parametrize(
    ("replacement", "operator", "value", "yes"),
    [
        ("0.48", "lessOrEqual", "0.45", False), ("0.48", "lessOrEqual", "0.5", True), ("0.48", "equal", "0.48", True),
        ("1.0", "greaterThan", "0.5", True), ("true", "greaterThan", "0.5", True), ("0", "lessThan", "0.5", True),
        ("1", "equal", "1", True), ("1", "notEqual", "1", False),
    ],
)  # fmt: skip
def test_the_mean_of_truth_values_may_stand_for_a_missing_one(
    replacement: str, operator: str, value: str, *, yes: bool
) -> None:
    """As imputers write it: it is compared as the number that it is, and is neither true nor false."""
    field = '<DataField name="owner" optype="continuous" dataType="double"/>'
    model = (
        '<TreeModel functionName="regression" noTrueChildStrategy="returnLastPrediction">'
        f"{schema_of('owner', more=f'missingValueReplacement={quoteattr(replacement)}')}"
        f"{_deciding('owner', operator, value)}</TreeModel>"
    )

    assert decided(pmml(model, fields=field), {"owner": [None]}, above=0.5) == [yes]


def test_what_stands_for_a_missing_number_is_rounded_as_its_field_is() -> None:
    """0.1 is a little more as a float than as a double, and the threshold is a float too."""
    field = '<DataField name="age" optype="continuous" dataType="float"/>'
    replaced = 'missingValueReplacement="0.10000000149"'
    model = (
        '<TreeModel functionName="regression" noTrueChildStrategy="returnLastPrediction">'
        f"{schema_of('age', more=replaced)}{_deciding('age', 'lessOrEqual', '0.1')}</TreeModel>"
    )

    assert decided(pmml(model, fields=field), {"age": [float("nan"), 0.1]}, above=0.5) == [True, True]


def test_fields_that_are_derived_inside_of_a_segment_are_read() -> None:
    """As sklearn2pmml writes boosters of LightGBM and XGBoost; the same field may be derived twice, another may not."""
    field = '<DataField name="h" optype="categorical" dataType="string"/>'
    derived = (
        '<LocalTransformations><DerivedField name="h=f" optype="continuous" dataType="double">'
        '<NormDiscrete field="h" value="f"/></DerivedField></LocalTransformations>'
    )
    nodes = NUMBERS.replace('field="x"', 'field="h=f"').replace('value="2"', 'value="0.5"')
    once = added(nodes, inside=schema_of("h") + derived, names=("h",))
    start, end = once.index("<Segment id"), once.index("</Segmentation>")
    twice = once[:end] + once[start:end].replace('Segment id="1"', 'Segment id="2"') + once[end:]
    other = once[:end] + once[start:end].replace('value="f"', 'value="m"') + once[end:]

    assert decided(pmml(once, fields=field), {"h": ["f", "m"]}, above=0) == [True, False]
    assert decided(pmml(twice, fields=field), {"h": ["f", "m"]}, above=0) == [True, False]
    with pytest.raises(ModelRefused, match="twice"):
        read(pmml(other, fields=field), above=0)


def test_a_scaled_number_may_have_stood_for_a_missing_one() -> None:
    replaced = 'missingValueReplacement="60"'
    field = '<DataField name="age" optype="continuous" dataType="double"/>'
    around = (
        '<LocalTransformations><DerivedField name="s" optype="continuous" dataType="double"><Apply function="/">'
        '<Apply function="-"><FieldRef field="age"/><Constant>40</Constant></Apply><Constant>10</Constant></Apply>'
        "</DerivedField></LocalTransformations>"
    )
    model = (
        f'<RegressionModel functionName="regression">{schema_of("age", more=replaced)}{around}'
        '<RegressionTable intercept="1"><NumericPredictor name="s" coefficient="1"/></RegressionTable>'
        "</RegressionModel>"
    )

    assert decided(pmml(model, fields=field), {"age": [float("nan"), 50.0, 49.0]}, above=1.95) == [True, True, False]


@pytest.mark.parametrize("tables", [2, 3])
def test_classes_without_a_link_are_refused(tables: int) -> None:
    listed = "".join(f'<RegressionTable intercept="0.{one}" targetCategory="{"ABC"[one]}"/>' for one in range(tables))
    model = f'<RegressionModel functionName="classification" normalizationMethod="none">{schema_of("x")}{listed}'

    with pytest.raises(ModelRefused, match="`none`"):
        read(pmml(model + "</RegressionModel>", values=("A", "B", "C")[:tables]), favourable=["A"])


def test_a_missing_category_adds_nothing_to_a_regression() -> None:
    model = (
        f'<RegressionModel functionName="classification" normalizationMethod="softmax">{schema_of("g")}'
        '<RegressionTable intercept="0.3" targetCategory="A"><CategoricalPredictor name="g" value="u" '
        'coefficient="-1"/></RegressionTable><RegressionTable intercept="0" targetCategory="B"/></RegressionModel>'
    )
    content = pmml(model, fields='<DataField name="g" optype="categorical" dataType="string"/>')

    assert decided(content, {"g": ["u", "v", None]}, favourable=["A"]) == [False, True, True]


TARGETS = '<Targets><Target field="y" rescaleConstant="{}" rescaleFactor="{}"/></Targets>'
RAW = '<OutputField name="raw" feature="predictedValue"/>'
FINAL = '<OutputField name="final" feature="transformedValue">{}</OutputField>'
PLUS = '<Apply function="{}"><FieldRef field="raw"/><Constant>{}</Constant></Apply>'


@pytest.mark.parametrize(
    ("around", "numbers"),
    [
        (TARGETS.format(20, 1), (19, 21)),
        (TARGETS.format(1, 3), (-2, 4)),
        (f"<Output>{RAW}{FINAL.format(PLUS.format('+', 20))}</Output>", (19, 21)),
        (f"<Output>{RAW}{FINAL.format(PLUS.format('/', 4))}</Output>", (-0.25, 0.25)),
        (f"<Output>{RAW}{FINAL.format(PLUS.format('-', 4))}</Output>{TARGETS.format(10, 2)}", (4, 8)),
        (f"<Output>{RAW}</Output>", (-1, 1)),
    ],
)
def test_a_number_is_the_one_that_the_file_gives(around: str, numbers: tuple[float, float]) -> None:
    content = pmml(added(around=around))

    assert decided(content, XS, above=sum(numbers) / 2) == [False, False, True, True]
    assert decided(content, XS, above=numbers[0] - 0.01) == [True] * 4
    assert decided(content, XS, above=numbers[1] + 0.01) == [False] * 4


@pytest.mark.parametrize(
    ("around", "text"),
    [
        (TARGETS.format(0, -1), "rescale"),
        (TARGETS.format(0, 1).replace("rescaleFactor", 'castInteger="round" rescaleFactor'), "rescale"),
        (TARGETS.format(0, 1).replace("rescaleFactor", 'min="0" rescaleFactor'), "rescale"),
        (f"<Output>{RAW}{FINAL.format(PLUS.format('*', -1))}</Output>", "rises"),
        (f"<Output>{RAW}{FINAL.format(PLUS.format('pow', 2))}</Output>", "Output"),
        (f"<Output>{RAW}{2 * FINAL.format(PLUS.format('+', 2))}</Output>", "one transformed number"),
    ],
)
def test_other_targets_and_outputs_are_refused(around: str, text: str) -> None:
    with pytest.raises(ModelRefused, match=text):
        read(pmml(added(around=around)), above=0)


def test_a_third_child_for_missing_is_read() -> None:
    """As every gbm of R has one, also for a column that is never missing."""
    missing = '<Node id="3" score="0"><SimplePredicate field="{}" operator="isMissing"/></Node></Node>'
    content = pmml(added(NUMBERS[: -len("</Node>")] + missing.format("x")))
    of_age = NUMBERS[: -len("</Node>")].replace('field="x"', 'field="age"') + missing.format("age")
    fields = '<DataField name="age" optype="continuous" dataType="double"/>'

    assert decided(content, XS, above=0) == [False, False, True, True]
    ages = {"age": [1.0, 3.0, float("nan")]}
    assert decided(pmml(added(of_age, names=("age",)), fields=fields), ages, above=-0.5) == [False, True, True]


def test_bands_of_a_scorecard_and_rules_that_cover_all_are_read() -> None:
    bands = (
        '<Attribute partialScore="-1"><SimplePredicate field="age" operator="isMissing"/></Attribute>'
        '<Attribute partialScore="1"><SimplePredicate field="age" operator="lessOrEqual" value="30"/></Attribute>'
        '<Attribute partialScore="5"><CompoundPredicate booleanOperator="and"><SimplePredicate field="age" '
        'operator="greaterThan" value="30"/><SimplePredicate field="age" operator="lessOrEqual" value="60"/>'
        '</CompoundPredicate></Attribute><Attribute partialScore="2"><SimplePredicate field="age" '
        'operator="greaterThan" value="60"/></Attribute>'
    )
    card = (
        f'<Scorecard functionName="regression" initialScore="10">{schema_of("age")}<Characteristics><Characteristic '
        f'name="a">{bands}</Characteristic></Characteristics></Scorecard>'
    )
    fields = '<DataField name="age" optype="continuous" dataType="double"/>'
    ages = {"age": [30.0, 30.5, 60.0, 61.0, float("nan")]}
    assert decided(pmml(card, fields=fields), ages, above=11.5) == [False, True, True, True, False]

    rules = (
        f'<RuleSetModel functionName="classification">{schema_of("x")}<RuleSet><RuleSelectionMethod '
        f'criterion="firstHit"/><SimpleRule score="A">{LESS}</SimpleRule><SimpleRule score="B">{REST}</SimpleRule>'
        "</RuleSet></RuleSetModel>"
    )
    assert decided(pmml(rules), XS, favourable=["A"]) == [True, True, False, False]


def test_a_real_gap_is_refused_with_somebody_who_falls_into_it() -> None:
    content = pmml(tree(TREE.replace('value="2"', 'value="7"', 1)), fields=FIELD.format("", ""))
    gap = pmml(tree(TREE.replace('operator="lessThan" value="2"', 'operator="lessThan" value="-7"')))

    assert decided(content, XS, favourable=["A"]) == [True, True, True, False]
    with pytest.raises(ModelRefused, match=r"no prediction .* such as x = 0\."):
        read(gap, favourable=["A"])


def test_a_prefix_of_the_namespace_is_none_of_a_name() -> None:
    """As Python's ElementTree writes it."""
    text = pmml(tree()).decode().replace("</", "</p:").replace("<", "<p:").replace("<p:/p:", "</p:")

    assert decided(text.replace("xmlns=", "xmlns:p=").encode(), XS, favourable=["A"]) == [True, True, False, False]


def test_a_derived_float_is_compared_as_one() -> None:
    """0.1 as a double is below 0.1 as a float32, and as a float32 it is not."""
    field = '<DerivedField name="f" optype="continuous" dataType="{}"><FieldRef field="x"/></DerivedField>'
    derived = f"<LocalTransformations>{field}</LocalTransformations>"
    nodes = TREE.replace('field="x"', 'field="f"').replace('value="2"', 'value="0.10000000149011612"')
    of = {kind: pmml(tree(nodes, around=derived.format(kind))) for kind in ("double", "float", "integer")}

    assert decided(of["double"], {"x": [0.1]}, favourable=["A"]) == [True]
    assert decided(of["float"], {"x": [0.1]}, favourable=["A"]) == [False]
    with pytest.raises(ModelRefused, match="casts"):
        read(of["integer"], favourable=["A"])


def test_a_targets_own_value_counts_only_where_an_input_may_be_missing() -> None:
    """SAS writes prior probabilities; they are for people without a prediction."""
    prior = '<Targets><Target field="y"><TargetValue value="A" priorProbability="0.7"/></Target></Targets>'
    model = (
        f'<RegressionModel functionName="classification" normalizationMethod="softmax">{schema_of("{0}")}{prior}'
        '<RegressionTable intercept="1" targetCategory="A"><NumericPredictor name="{0}" coefficient="-0.5"/>'
        '</RegressionTable><RegressionTable intercept="0" targetCategory="B"/></RegressionModel>'
    )
    field = '<DataField name="{}" optype="continuous" dataType="double"/>'

    content = pmml(model.format("x"), fields=field.format("x"))
    assert decided(content, XS, favourable=["A"]) == [True, True, True, False]
    with pytest.raises(ModelRefused, match=r"default or prior .* 'age' may be missing"):
        read(pmml(model.format("age"), fields=field.format("age")), favourable=["A"])


def test_codes_of_a_list_that_the_segment_alone_has_are_invalid() -> None:
    """Each MiningField has its own treatment: the segment's default is that others are invalid."""
    fields = '<DataField name="h" optype="categorical" dataType="string"><Value value="f"/></DataField>'
    nodes = NUMBERS.replace(LESS, '<SimplePredicate field="h" operator="equal" value="f"/>').replace(
        REST, '<SimplePredicate field="h" operator="notEqual" value="f"/>'
    )
    inside = '<MiningSchema><MiningField name="h" {}/></MiningSchema>'
    whole = '<MiningField name="h" invalidValueTreatment="asIs"/>'

    def content(treatment: str) -> bytes:
        model = added(nodes, inside=inside.format(treatment), names=("h",)).replace(
            '<MiningField name="h" />', whole, 1
        )
        return pmml(model, fields=fields)

    assert decided(content('invalidValueTreatment="asIs"'), {"h": ["f", "m"]}, above=0) == [False, True]
    with pytest.raises(ModelRefused, match="'m'"):
        read(content(""), above=0)


@pytest.mark.parametrize("data_type", ["double", "integer"])
def test_bins_that_are_numbers_are_compared_as_numbers(data_type: str) -> None:
    bins = "".join(
        f'<DiscretizeBin binValue="{value}"><Interval closure="{closure}" {margin}="2"/></DiscretizeBin>'
        for value, closure, margin in (("1.0", "openOpen", "rightMargin"), ("2.0", "closedOpen", "leftMargin"))
    )
    around = (
        f'<LocalTransformations><DerivedField name="d" optype="categorical" dataType="{data_type}">'
        f'<Discretize field="x">{bins}</Discretize></DerivedField></LocalTransformations>'
    )
    nodes = TREE.replace(LESS, '<SimplePredicate field="d" operator="equal" value="1"/>').replace(
        REST, '<SimplePredicate field="d" operator="equal" value="2"/>'
    )

    assert decided(pmml(tree(nodes, around=around)), XS, favourable=["A"]) == [True, True, False, False]
