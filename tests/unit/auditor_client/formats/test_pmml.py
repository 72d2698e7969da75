"""PMML: random trees and scorecards beside an obvious evaluator, small models beside their formulas, hostile files."""

import math
from typing import Any

import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.pmml import diagrams
from auditor_client.models.readers.pmml import networks as pmml_networks
from auditor_client.models.readers.pmml import vectors as pmml_vectors
from checks.model_formats import pmml_sums
from checks.model_formats.__main__ import survivors
from checks.model_formats.data import SCHEMA
from checks.model_formats.formats import Format
from checks.model_formats.pmml_trees import agreement, pmml_file
from shared.scores.values import score_value

FIELDS = """<DataField name="income" dataType="double" optype="continuous"/><DataField name="tiny" dataType="double"
 optype="continuous"/><DataField name="children" dataType="integer" optype="continuous"/><DataField name="home"
 dataType="string" optype="categorical"/><DataField name="owner" dataType="boolean" optype="categorical"/><DataField
 name="y" dataType="string" optype="categorical"><Value value="yes"/><Value value="no"/></DataField>"""
SCHEMA_OF_MODEL = """<MiningSchema><MiningField name="y" usageType="target"/><MiningField name="tiny"/><MiningField
 name="children"/><MiningField name="home"/><MiningField name="owner"/></MiningSchema>"""
RECORD: dict[str, Any] = {"tiny": 1.5, "children": 2, "home": "rent", "owner": True, "income": 3.0}


def pmml(model: str, version: str = "4.4", derived: str = "") -> bytes:
    return (
        f'<?xml version="1.0"?><PMML version="{version}" xmlns="http://www.dmg.org/PMML-4_4"><Header/><DataDictionary>'
        f"{FIELDS}</DataDictionary><TransformationDictionary>{derived}</TransformationDictionary>{model}</PMML>"
    ).encode()


def read(content: bytes, **request: Any) -> ReadModel:
    return read_object(load_object(content, "model.pmml"), ModelRequest(SCHEMA, **request))


def score(model: ReadModel, **changed: Any) -> Any:
    return score_value(model.columns[0].origin.score, RECORD | changed)  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_and_scorecards_decide_as_the_obvious_evaluator(seed: int) -> None:
    """Compound, surrogate and set predicates, three strategies for missing values, replaced ones."""
    _, found = agreement(*pmml_file(seed), records=300)

    assert found.differing == 0


def test_a_fault_in_reading_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: less than, read as at most."""
    monkeypatch.setitem(diagrams._OPERATORS, "lessThan", "le")

    assert sum(agreement(*pmml_file(seed), records=300)[1].differing for seed in range(20)) > 0


@pytest.mark.parametrize("seed", range(20))
def test_random_networks_decide_as_the_obvious_evaluator(seed: int) -> None:
    """By choice, by a share and as numbers; all differences are within the bound of rounding."""
    _, found = pmml_sums.agreement(*pmml_sums.network_file(seed), records=300)

    assert found.outside == 0


def test_a_fault_in_reading_networks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: tanh, read as logistic."""
    monkeypatch.setitem(pmml_networks._ACTIVATIONS, "tanh", "logistic")

    files = [pmml_sums.network_file(seed) for seed in range(20)]
    assert sum(pmml_sums.agreement(*made, records=300)[1].outside for made in files) > 0


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('activationFunction="', 'activationFunction="arc', "arc"),
        ('from="in0"', 'from="0.0"', "from the layer before"),
        ('outputNeuron="', 'outputNeuron="9', "of the last layer"),
        ('Method="simplemax"', 'Method="maximum"', "maximum"),
        ('field="income"', 'field="sex"', "sensitive"),
    ],
)
def test_what_is_not_known_of_networks_is_refused_by_name(old: str, new: str, text: str) -> None:
    content, request = pmml_sums.network_file(7)  # a simplemax behind a hidden layer
    assert old.encode() in content

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(content.replace(old.encode(), new.encode()), "model.pmml"), request)


@pytest.mark.parametrize("seed", range(20))
def test_random_linear_vector_machines_decide_as_the_obvious_evaluator(seed: int) -> None:
    """Of two classes, one against all and of numbers; by vectors, sparse ones too, and by coefficients."""
    _, found = pmml_sums.agreement(*pmml_sums.vectors_file(seed), records=300)

    assert found.outside == 0


def test_a_fault_in_reading_vector_machines_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the smallest wins, read as the largest."""
    monkeypatch.setattr(pmml_vectors, "negated", lambda document: document)

    files = [pmml_sums.vectors_file(seed) for seed in range(20)]
    assert sum(pmml_sums.agreement(*made, records=300)[1].outside for made in files) > 0


VECTORS = f"""<SupportVectorMachineModel functionName="classification" maxWins="true" threshold="2">{SCHEMA_OF_MODEL}
<LinearKernelType/><VectorDictionary><VectorFields><FieldRef field="tiny"/><FieldRef field="children"/></VectorFields>
<VectorInstance id="a"><Array type="real" n="2">2 1</Array></VectorInstance></VectorDictionary><SupportVectorMachine
 targetCategory="yes" alternateTargetCategory="no"><SupportVectors><SupportVector vectorId="a"/></SupportVectors>
<Coefficients absoluteValue="-3"><Coefficient value="1"/></Coefficients></SupportVectorMachine>
</SupportVectorMachineModel>"""


@pytest.mark.parametrize("favourable", ["yes", "no"])
def test_who_is_on_the_threshold_of_a_vector_machine_is_of_the_other_class(favourable: str) -> None:
    """2 · 1.5 + 2 − 3 is 2, which is not above 2."""
    model = read(pmml(VECTORS), favourable=[favourable])

    assert model.tree.decide(RECORD | {model.columns[0].name: score(model)}).favourable == (favourable == "no")
    over = RECORD | {"children": 3}
    assert model.tree.decide(over | {model.columns[0].name: score(model, children=3)}).favourable != (
        favourable == "no"
    )


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("LinearKernelType", "PolynomialKernelType", "PolynomialKernelType"),
        ('vectorId="a"', 'vectorId="b"', "VectorDictionary"),
        ("2 1</Array>", "2 1 3</Array>", "for each of the VectorFields"),
        ('maxWins="true"', 'maxWins="perhaps"', "perhaps"),
        ("<Coefficient value", "<Coefficient/><Coefficient value", "as many Coefficients"),
        ("</SupportVectorMachineModel>", VECTORS[VECTORS.index("<SupportVectorMachine\n") :], "pairs"),
    ],
)
def test_what_is_not_known_of_vector_machines_is_refused_by_name(old: str, new: str, text: str) -> None:
    assert old in VECTORS

    with pytest.raises(ModelRefused, match=text):
        read(pmml(VECTORS.replace(old, new)), favourable=["yes"])


REGRESSION = f"""<RegressionModel functionName="classification" normalizationMethod="logit">{SCHEMA_OF_MODEL}
<RegressionTable intercept="-1" targetCategory="yes"><NumericPredictor name="tiny" coefficient="2"/><NumericPredictor
 name="scaled" coefficient="3"/><NumericPredictor name="children" exponent="2" coefficient="0.5"/><CategoricalPredictor
 name="home" value="rent" coefficient="0.25"/><CategoricalPredictor name="owner" value="true" coefficient="-4"/>
<PredictorTerm coefficient="8"><FieldRef field="tiny"/><FieldRef field="children"/></PredictorTerm></RegressionTable>
<RegressionTable intercept="0" targetCategory="no"/></RegressionModel>"""
SCALED = """<DerivedField name="scaled" dataType="double" optype="continuous"><NormContinuous field="children">
<LinearNorm orig="0" norm="-1"/><LinearNorm orig="4" norm="1"/></NormContinuous></DerivedField>"""


def test_a_logistic_regression() -> None:
    model = read(pmml(REGRESSION, derived=SCALED), favourable=["yes"])

    assert score(model) == -1 + 2 * 1.5 + 3 * (2 / 2 - 1) + 0.5 * 4 + 0.25 - 4 + 8 * 1.5 * 2
    assert model.thresholds == (0.0,) or abs(model.thresholds[0]) < 1e-300
    above = read(pmml(REGRESSION, derived=SCALED), favourable=["yes"], above=0.8)
    assert math.isclose(above.thresholds[0], math.log(4), rel_tol=1e-12)


GENERAL = f"""<GeneralRegressionModel functionName="regression" modelType="generalizedLinear" linkFunction="log">
{SCHEMA_OF_MODEL}<ParameterList><Parameter name="p0"/></ParameterList><FactorList><Predictor name="home"/><Predictor
 name="owner"/></FactorList><CovariateList><Predictor name="tiny"/><Predictor name="children"/></CovariateList>
<PPMatrix><PPCell value="rent" predictorName="home" parameterName="p1"/><PPCell value="rent" predictorName="home"
 parameterName="p2"/><PPCell value="true" predictorName="owner" parameterName="p2"/><PPCell value="2"
 predictorName="tiny" parameterName="p3"/><PPCell value="1" predictorName="tiny" parameterName="p4"/><PPCell value="1"
 predictorName="children" parameterName="p4"/></PPMatrix><ParamMatrix><PCell parameterName="p0" beta="1"/><PCell
 parameterName="p1" beta="2"/><PCell parameterName="p2" beta="4"/><PCell parameterName="p3" beta="8"/><PCell
 parameterName="p4" beta="16"/></ParamMatrix></GeneralRegressionModel>"""


def test_a_generalised_linear_model_with_products() -> None:
    model = read(pmml(GENERAL), above=math.e)

    assert score(model) == 1 + 2 + 4 + 8 * 2.25 + 16 * 3
    assert score(model, home="own") == 1 + 8 * 2.25 + 16 * 3
    assert score(model, owner=False) == 1 + 2 + 8 * 2.25 + 16 * 3
    assert math.isclose(model.thresholds[0], 1.0, rel_tol=1e-12)


RULES = f"""<RuleSetModel functionName="classification">{SCHEMA_OF_MODEL}<RuleSet defaultScore="no">
<RuleSelectionMethod criterion="firstHit"/><SimpleRule score="yes"><SimplePredicate field="children"
 operator="greaterThan" value="3"/></SimpleRule><CompoundRule><SimplePredicate field="home" operator="equal"
 value="own"/><SimpleRule score="yes"><SimplePredicate field="owner" operator="equal" value="true"/></SimpleRule>
</CompoundRule></RuleSet></RuleSetModel>"""


def test_a_rule_set() -> None:
    model = read(pmml(RULES), favourable=["yes"])

    assert not model.tree.decide(RECORD).favourable
    assert model.tree.decide(RECORD | {"children": 4}).favourable
    assert model.tree.decide(RECORD | {"home": "own"}).favourable
    assert not model.tree.decide(RECORD | {"home": "own", "owner": False}).favourable


BAYES = f"""<NaiveBayesModel functionName="classification" threshold="0.001">{SCHEMA_OF_MODEL}<BayesInputs><BayesInput
 fieldName="home"><PairCounts value="own"><TargetValueCounts><TargetValueCount value="yes" count="6"/><TargetValueCount
 value="no" count="2"/></TargetValueCounts></PairCounts><PairCounts value="rent"><TargetValueCounts><TargetValueCount
 value="yes" count="4"/><TargetValueCount value="no" count="8"/></TargetValueCounts></PairCounts><PairCounts
 value="other"><TargetValueCounts><TargetValueCount value="yes" count="0"/><TargetValueCount value="no" count="5"/>
</TargetValueCounts></PairCounts></BayesInput></BayesInputs><BayesOutput fieldName="y"><TargetValueCounts>
<TargetValueCount value="yes" count="10"/><TargetValueCount value="no" count="15"/></TargetValueCounts></BayesOutput>
</NaiveBayesModel>"""


def test_a_naive_bayes_model() -> None:
    model = read(pmml(BAYES), favourable=["yes"])

    assert {home: score(model, home=home) for home in ("own", "rent", "other")} == {
        "own": "yes", "rent": "no", "other": "no"
    }  # fmt: skip


VERIFIED = """<ModelVerification><VerificationFields><VerificationField field="children"/><VerificationField
 field="home"/><VerificationField field="owner"/><VerificationField field="y"/></VerificationFields>
<InlineTable><row><children>4</children><home>own</home><owner>true</owner><y>{said}</y></row></InlineTable></ModelVerification></RuleSetModel>"""


def test_records_that_verify_the_model_are_compared() -> None:
    content = pmml(RULES.replace("</RuleSetModel>", VERIFIED.format(said="yes")))
    wrong = pmml(RULES.replace("</RuleSetModel>", VERIFIED.format(said="no")))

    provenance = read(content, favourable=["yes"]).provenance

    assert provenance is not None
    assert (provenance.compared_with, provenance.probes) == ("its ModelVerification records", 1)
    with pytest.raises(ModelRefused, match="decides otherwise"):
        read(wrong, favourable=["yes"])
    plain = read(pmml(RULES), favourable=["yes"]).provenance
    assert plain is not None
    assert plain.compared_with is None


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('version="4.4"', 'version="3.2"', "4.0 to 4.4"),
        ("RuleSetModel", "ClusteringModel", "ClusteringModel"),
        ("firstHit", "weightedMax", "firstHit"),
        ('operator="greaterThan"', 'operator="like"', "like"),
        ('value="3"', 'value="NaN"', "finite"),
        ('field="children"', 'field="sex"', "sensitive"),
        ('field="children"', 'field="wealth"', "does not declare"),
        (' defaultScore="no"', "", "no prediction"),
        ("</RuleSetModel>", "<Targets><Target castInteger='round'/></Targets></RuleSetModel>", "Targets"),
    ],
)
def test_what_is_not_known_is_refused_by_name(old: str, new: str, text: str) -> None:
    content = pmml(RULES).decode()
    assert old in content

    with pytest.raises(ModelRefused, match=text):
        read(content.replace(old, new).encode(), favourable=["yes"])


def test_no_prediction_for_a_missing_value_is_refused() -> None:
    tree = """<TreeModel functionName="classification" missingValueStrategy="nullPrediction"><MiningSchema>
     <MiningField name="{name}"/></MiningSchema><Node
     score="no"><True/><Node score="yes"><SimplePredicate field="{name}" operator="lessThan" value="5"/></Node><Node
     score="no"><SimplePredicate field="{name}" operator="greaterOrEqual" value="5"/></Node></Node></TreeModel>"""

    assert read(pmml(tree.format(name="tiny")), favourable=["yes"]).tree.decide({"tiny": 4.9}).favourable
    with pytest.raises(ModelRefused, match="no prediction"):
        read(pmml(tree.format(name="income")), favourable=["yes"])


@pytest.mark.parametrize(
    "content",
    [
        b'<?xml version="1.0"?><!DOCTYPE PMML [<!ENTITY a "b">]><PMML version="4.4">&a;</PMML>',
        b'<?xml version="1.0"?><!DOCTYPE PMML SYSTEM "http://127.0.0.1/x.dtd"><PMML version="4.4"/>',
        b'<!DOCTYPE z [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><PMML version="4.4">&b;</PMML>',
        b'<PMML version="4.4">' + b"<Node>" * 100_000 + b"</Node>" * 100_000 + b"</PMML>",
        b'<PMML version="4.4">' + b"<a/>" * 5_000_000 + b"</PMML>",
        b'<PMML version="4.4">' + b"<Node>" * 100_000,
        b"<?xml version='1.0'?><PMML version='4.4'></PMML>",
    ],
)
def test_hostile_xml_is_refused(content: bytes) -> None:
    with pytest.raises(ModelRefused):
        read(content)


def test_nested_predicates_that_test_nothing_are_refused_soon() -> None:
    """Each level is followed for true and for unknown: sixty levels would take 2^60 steps."""
    nest = '<CompoundPredicate booleanOperator="and">' * 60 + "<True/><True/>" + "</CompoundPredicate>" * 60
    content = pmml(RULES.replace('<SimplePredicate field="children"\n operator="greaterThan" value="3"/>', nest))
    assert b"CompoundPredicate" in content

    with pytest.raises(ModelRefused, match="nested too deeply"):
        read(content, favourable=["yes"])


@pytest.mark.parametrize("file", [pmml_file, pmml_sums.network_file, pmml_sums.vectors_file])
def test_damaged_files_are_refused_and_nothing_else(file: Any) -> None:
    survived, peak, faults = survivors(Format(None, file), 200)

    assert faults == []
    assert survived < 200
    assert peak < 200e6
