"""The elements and attributes of PMML that may stand in a file that is read; any other is refused by its name.

The readers use those that change a prediction, and refuse the values that they do not read. `IRRELEVANT` says of each
of the others why it changes no prediction. A test compares the table with the names of the standard's schema.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final
from xml.etree.ElementTree import Element  # the type; defusedxml parses

from auditor_client.errors import ModelRefused

SKIPPED: Final[Mapping[str, str]] = {
    "Header": "says who made the file",
    "MiningBuildTask": "says how the model was trained",
    "Extension": "changes no prediction, by the standard",
    "ModelStats": "statistics of the training data",
    "ModelExplanation": "measures of the model's quality",
    "ModelVerification": "records to compare with, which are compared",
    "Partition": "statistics of a node",
    "DefineFunction": "a function: a field that calls one is refused",
    "PCovMatrix": "covariances of the parameters",
    "EventValues": "of survival models, which are refused",
    "Categories": "the names of a factor's values; a contrast matrix is refused",
    "InlineTable": "rows, which the element around it uses",
    "Array": "values, which the element around it uses",
}
"""Elements with all that is in them, and why nothing in them is looked at here."""

_MODEL: Final = "modelName functionName algorithmName isScorable x-mathContext"
VOCABULARY: Final[Mapping[str, str]] = {
    "PMML": "version x-baseVersion",
    "DataDictionary": "numberOfFields",
    "DataField": "name optype dataType displayName",
    "Value": "value property displayValue",
    "Interval": "closure leftMargin rightMargin",
    "TransformationDictionary": "", "LocalTransformations": "",
    "DerivedField": "name displayName optype dataType",
    "Constant": "dataType",
    "FieldRef": "field mapMissingTo",
    "NormContinuous": "field outliers mapMissingTo",
    "LinearNorm": "orig norm",
    "NormDiscrete": "field value mapMissingTo",
    "Discretize": "field mapMissingTo dataType",
    "DiscretizeBin": "binValue",
    "MapValues": "outputColumn defaultValue mapMissingTo dataType",
    "FieldColumnPair": "field column",
    "Apply": "function invalidValueTreatment",
    "MiningSchema": "",
    "MiningField": "name usageType optype importance outliers lowValue highValue missingValueReplacement "
    "missingValueTreatment invalidValueTreatment",
    "Output": "",
    "OutputField": "name displayName optype dataType targetField feature value ruleFeature algorithm rank rankBasis "
    "rankOrder segmentId isFinalResult isMultiValued",
    "Targets": "", "Target": "field optype rescaleConstant rescaleFactor",
    "TargetValue": "value displayValue priorProbability defaultValue",
    "TreeModel": f"{_MODEL} missingValueStrategy missingValuePenalty noTrueChildStrategy splitCharacteristic",
    "Node": "id score recordCount defaultChild",
    "ScoreDistribution": "value recordCount confidence probability",
    "True": "", "False": "",
    "SimplePredicate": "field operator value",
    "SimpleSetPredicate": "field booleanOperator",
    "CompoundPredicate": "booleanOperator",
    "RegressionModel": f"{_MODEL} modelType targetFieldName normalizationMethod",
    "RegressionTable": "intercept targetCategory",
    "NumericPredictor": "name exponent coefficient",
    "CategoricalPredictor": "name value coefficient",
    "PredictorTerm": "name coefficient",
    "GeneralRegressionModel": f"{_MODEL} targetVariableName modelType targetReferenceCategory linkFunction "
    "distribution trialsVariable offsetVariable offsetValue modelDF",
    "ParameterList": "", "Parameter": "name label",
    "FactorList": "", "CovariateList": "", "Predictor": "name contrastMatrixType",
    "PPMatrix": "", "PPCell": "value predictorName parameterName",
    "ParamMatrix": "", "PCell": "targetCategory parameterName beta df",
    "Scorecard": f"{_MODEL} initialScore useReasonCodes reasonCodeAlgorithm baselineScore baselineMethod",
    "Characteristics": "", "Characteristic": "name reasonCode baselineScore",
    "Attribute": "partialScore reasonCode",
    "RuleSetModel": _MODEL,
    "RuleSet": "recordCount nbCorrect defaultScore defaultConfidence",
    "RuleSelectionMethod": "criterion",
    "SimpleRule": "id score recordCount nbCorrect confidence weight",
    "CompoundRule": "",
    "NaiveBayesModel": f"{_MODEL} threshold",
    "BayesInputs": "", "BayesInput": "fieldName", "BayesOutput": "fieldName", "PairCounts": "value",
    "TargetValueStats": "", "TargetValueStat": "value", "GaussianDistribution": "mean variance",
    "TargetValueCounts": "", "TargetValueCount": "value count",
    "NeuralNetwork": f"{_MODEL} activationFunction normalizationMethod numberOfLayers",
    "NeuralInputs": "numberOfInputs", "NeuralInput": "id",
    "NeuralLayer": "numberOfNeurons activationFunction normalizationMethod",
    "Neuron": "id bias", "Con": "from weight",
    "NeuralOutputs": "numberOfOutputs", "NeuralOutput": "outputNeuron",
    "SupportVectorMachineModel": f"{_MODEL} threshold svmRepresentation classificationMethod maxWins",
    "LinearKernelType": "description",
    "VectorDictionary": "numberOfVectors", "VectorFields": "numberOfFields", "VectorInstance": "id",
    "REAL-SparseArray": "n defaultValue", "Indices": "", "REAL-Entries": "",
    "SupportVectorMachine": "targetCategory alternateTargetCategory threshold",
    "SupportVectors": "numberOfAttributes numberOfSupportVectors", "SupportVector": "vectorId",
    "Coefficients": "numberOfCoefficients absoluteValue", "Coefficient": "value",
    "MiningModel": _MODEL,
    "Segmentation": "multipleModelMethod missingPredictionTreatment missingThreshold x-missingPredictionTreatment",
    "Segment": "id weight",
}  # fmt: skip
"""Each element that may stand in a file, and its attributes that may."""
IRRELEVANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("numberOfFields", "numberOfLayers", "numberOfInputs", "numberOfNeurons", "numberOfOutputs", "numberOfVectors",
         "numberOfAttributes", "numberOfSupportVectors", "numberOfCoefficients", "n"),
        "how many there are: they are there",
    ),
    **dict.fromkeys(("nbCorrect", "modelDF", "df", "distribution"), "of training"),
    **dict.fromkeys(("displayName", "displayValue", "modelName", "label", "description"), "a name for people"),
    **dict.fromkeys(("algorithmName", "splitCharacteristic", "x-baseVersion"), "how the file was made"),
    **dict.fromkeys(
        ("targetField", "ruleFeature", "algorithm", "rank", "rankBasis", "rankOrder", "segmentId", "isMultiValued"),
        "of further outputs beside the prediction",
    ),
    **dict.fromkeys(("targetFieldName", "targetVariableName"), "the mining schema says which field is the target"),
    **dict.fromkeys(
        ("useReasonCodes", "reasonCodeAlgorithm", "baselineScore", "baselineMethod", "reasonCode"),
        "of explanations beside the score",
    ),
    **dict.fromkeys(
        ("confidence", "defaultConfidence", "missingValuePenalty"),
        "of the confidence, and no probability or decision reads it: votes by confidence are refused",
    ),
    **dict.fromkeys(
        ("missingPredictionTreatment", "missingThreshold", "x-missingPredictionTreatment"),
        "of segments that give no prediction: a file with such a segment is refused",
    ),
    "importance": "of an input in the whole model",
    **dict.fromkeys(("lowValue", "highValue"), "the limits of outliers: a treatment of outliers is refused"),
    "contrastMatrixType": "the name of a matrix: a contrast matrix itself is refused",
}  # fmt: skip
"""Attributes of the vocabulary that no reader uses, and why none has to. The readers use all others."""
_NEUTRAL: Final = {
    "isCyclic": ("0",),
    "method": ("indicator",),
    "taxonomy": (),
    "referencePoint": ("0", "0.0"),
    "castInteger": (),
}
"""Attributes that may stand where they say what is so without them."""


_ONCE: Final = frozenset(
    "DataDictionary TransformationDictionary MiningSchema Output Targets LocalTransformations Segmentation "
    "Characteristics RuleSet NeuralInputs NeuralOutputs ParameterList FactorList CovariateList PPMatrix ParamMatrix "
    "BayesInputs BayesOutput VectorDictionary SupportVectors Coefficients TargetValueCounts TargetValueStats Array "
    "InlineTable ModelVerification LinearKernelType".split()
)
"""Elements that another has at most once: programs differ in which of several they take."""
_DISTINCT: Final[Mapping[str, tuple[str, ...]]] = {
    "DataField": ("name",), "MiningField": ("name",), "DerivedField": ("name",), "Target": ("field",),
    "ScoreDistribution": ("value",), "RegressionTable": ("targetCategory",), "CategoricalPredictor": ("name", "value"),
    "PPCell": ("predictorName", "parameterName"), "PCell": ("targetCategory", "parameterName"),
    "TargetValueCount": ("value",), "TargetValueStat": ("value",), "PairCounts": ("value",),
    "BayesInput": ("fieldName",), "Con": ("from",), "Parameter": ("name",), "Predictor": ("name",),
    "VectorInstance": ("id",), "NeuralInput": ("id",), "Neuron": ("id",), "Value": ("value", "property"),
    "Segment": ("id",),
}  # fmt: skip
"""Elements that have to differ from others beside them, and in which attributes."""
_PREDICATES: Final = frozenset("True False SimplePredicate SimpleSetPredicate CompoundPredicate".split())
_WITH_PREDICATE: Final = frozenset("Node Segment Attribute SimpleRule CompoundRule".split())
_MODELS: Final = frozenset(name for name, attributes in VOCABULARY.items() if attributes.startswith(_MODEL))
_NAMING: Final = {
    "SimplePredicate": "field", "SimpleSetPredicate": "field", "FieldRef": "field", "NormDiscrete": "field",
    "NormContinuous": "field", "Discretize": "field", "FieldColumnPair": "field", "NumericPredictor": "name",
    "CategoricalPredictor": "name",
}  # fmt: skip
"""Elements that name an input, and by which attribute."""


def _require_unambiguous(element: Element) -> None:
    """Refuse children of which programs take different ones."""
    counts = Counter(child.tag for child in element)
    twice = next((tag for tag, count in counts.items() if count > 1 and tag in _ONCE), None)
    keys = Counter(
        (child.tag, *(child.get(name) for name in _DISTINCT[child.tag]))
        for child in element
        if child.tag in _DISTINCT and (child.tag != "Segment" or child.get("id") is not None)
    )
    twice = twice or next((str(key[0]) for key, count in keys.items() if count > 1), None)
    if twice is not None:
        raise ModelRefused(f"{element.tag!r} has twice the same {twice!r}: save the model again.")
    if element.tag in _MODELS:
        _require_one_function(element)
    if element.tag in _WITH_PREDICATE and sum(counts[tag] for tag in _PREDICATES) != 1:
        raise ModelRefused(f"{element.tag!r} has not exactly one predicate: save the model again.")


def _require_one_function(model: Element) -> None:
    """Refuse a model that says not what it predicts, that is not for use, or whose parts predict something else."""
    function, segments = model.get("functionName"), model.find("Segmentation")
    if function not in ("regression", "classification") or model.get("isScorable", "true") == "false":
        raise ModelRefused(f"{model.tag!r} has functionName={function!r} or is not scorable, and is not read.")
    parts = [part for segment in segments or () for part in segment if part.tag in _MODELS]
    chain = segments is not None and segments.get("multipleModelMethod") == "modelChain"
    if not chain and any(part.get("functionName") != function for part in parts):
        raise ModelRefused(f"A segment of a {function} predicts something else: save the model again.")


def require_declared_inputs(root: Element, names: Collection[str]) -> None:
    """Refuse a model or segment that tests a field which its MiningSchema does not list: it would be missing there.

    Args:
        root: The document.
        names: Of the fields of the dictionary. Outputs of earlier segments are looked at as well.

    Raises:
        ModelRefused: There is one; the text names it.
    """
    local = {field.get("name", "") for around in root.iter("LocalTransformations") for field in around}
    outputs = {field.get("name", "") for field in root.iter("OutputField")}
    for model in root.iter():
        schema = model.find("MiningSchema") if model.tag in _MODELS else None
        if schema is None:
            continue
        listed = {field.get("name") for field in schema}
        listed |= {field.get("name") for around in model.iter("LocalTransformations") for field in around}
        listed |= {
            field.get("name") for part in model.iter() if part is not model for field in part.iterfind("Output/*")
        }
        for part in model.iter():
            name = part.get(_NAMING[part.tag], "") if part.tag in _NAMING else ""
            of_output = part.tag != "FieldRef" and name in outputs  # an Output may refer to one of its own
            if (name in names or name in local or of_output) and name not in listed:
                raise ModelRefused(f"{model.tag!r} uses {name[:40]!r}, which its MiningSchema does not list.")


def require_known(root: Element) -> None:
    """Refuse a file with an element or an attribute that is not in the vocabulary.

    Raises:
        ModelRefused: It has one; the text names it.
    """
    waiting = [root]
    while waiting:
        element = waiting.pop()
        attributes = VOCABULARY.get(element.tag)
        if attributes is None:
            raise ModelRefused(f"The element {element.tag[:60]!r} is not read: it may change what the model predicts.")
        names = attributes.split()
        for name, value in element.attrib.items():
            if name not in names and not name.startswith("{") and value not in _NEUTRAL.get(name, ()):
                raise ModelRefused(
                    f"The attribute {name[:60]!r} ({value[:40]!r}) of {element.tag!r} is not read: it may change "
                    "what the model predicts."
                )
        _require_unambiguous(element)
        waiting += [child for child in element if child.tag not in SKIPPED]
