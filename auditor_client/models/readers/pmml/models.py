"""PMML's models, each as a score document and what decides about it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from xml.etree.ElementTree import Element  # the type; defusedxml parses

from auditor_client.errors import ModelRefused
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.read_model import ReadModel
from auditor_client.models.readers.decisions import Adding, by_choice, one_number, two_classes
from auditor_client.models.readers.links import exp, logistic
from auditor_client.models.readers.pmml.bayes import naive_bayes
from auditor_client.models.readers.pmml.diagrams import Diagram
from auditor_client.models.readers.pmml.dictionary import predicted_number, require_plain_output, rescaled
from auditor_client.models.readers.pmml.fields import Fields, PmmlField, attribute, number, same
from auditor_client.models.readers.pmml.networks import network
from auditor_client.models.readers.pmml.terms import PmmlModel, indicator, number_term, product
from auditor_client.models.readers.pmml.vectors import vector_machine
from auditor_client.models.readers.tree_tables import TestTable, made, tree_of_rules
from shared.contract.rules import Predicate, Rule
from shared.scores.documents import RuleTerm, ScoreTree, Term, Terms, Trees

MODELS: Final = (
    "TreeModel", "RegressionModel", "GeneralRegressionModel", "Scorecard", "RuleSetModel", "NaiveBayesModel",
    "NeuralNetwork", "SupportVectorMachineModel", "MiningModel",
)  # fmt: skip
READ: Final = f"Read are PMML 4.0 to 4.4 with {', '.join(MODELS)} and the usual transformations."
_MISSING: Final = ("none", "lastPrediction", "nullPrediction", "defaultChild")
_IMAGES: Final[dict[str, Callable[[float], float] | None]] = {
    "none": None, "identity": None, "exp": exp, "log": exp, "logit": logistic, "softmax": logistic,
}  # fmt: skip


def decide(model: PmmlModel) -> ReadModel:
    """Read a model element.

    Raises:
        ModelRefused: It is not known, or some of it is not.
    """
    if model.element.get("functionName") not in ("classification", "regression"):
        raise ModelRefused(f"The functionName {model.element.get('functionName', '')[:40]!r} is not read.")
    if model.classifies:
        require_plain_output(model.element)
        if rescaled(model.element) != (1.0, 0.0):
            raise ModelRefused("Targets that rescale a class are not read.")
    readers: dict[str, Callable[[PmmlModel], ReadModel]] = {
        "TreeModel": _tree, "RegressionModel": _regression, "GeneralRegressionModel": _general, "Scorecard": _scorecard,
        "RuleSetModel": _rules, "NaiveBayesModel": naive_bayes, "NeuralNetwork": network,
        "SupportVectorMachineModel": vector_machine, "MiningModel": _mining,
    }  # fmt: skip
    if model.element.tag not in readers:
        raise ModelRefused(f"{model.element.tag[:40]} is not read. {READ}")
    return readers[model.element.tag](model)


def _number(document: Adding, model: PmmlModel, image: Callable[[float], float] | None = None) -> ReadModel:
    """A model that predicts a number, as its Targets and its Output give it."""
    prediction, own = predicted_number(model.element), image or float
    return one_number(document, model.request, model.provenance, image=lambda score: prediction(own(score)))


def _labelled(diagram: Diagram, root: int, labels: list[str], model: PmmlModel) -> ReadModel:
    """A diagram whose leaves are indices of labels."""
    tests = TestTable()
    table = diagram.table(root, tests)
    favourable = favourable_classes(labels, model.request.favourable)
    if model.request.above is not None:
        raise ModelRefused("The model decides without a score: leave `above` out.")
    tree = tree_of_rules(
        table, tests.tests, model.request.schema, lambda value: (labels[int(value)], labels[int(value)] in favourable)
    )
    if tree is not None:
        return ReadModel(tree, provenance=model.provenance)
    values = tuple(float(labels[int(value)] in favourable) for value in table.values)
    document = made(
        Trees,
        kind="trees",
        precision="float64",
        tests=tests.tests,
        trees=(table.model_copy(update={"values": values}),),
    )
    names = (" or ".join(label for label in labels if label not in favourable), " or ".join(map(str, favourable)))
    request = replace(model.request, favourable=[names[1]])
    return two_classes(
        document, request, model.provenance, classes=names, decides=lambda score: score > 0.5, shares=None
    )


def tree_diagram(model: PmmlModel, value: Callable[[Element], float], diagram: Diagram) -> int:
    """The diagram of a TreeModel.

    Args:
        model: The model.
        value: What a node that scores is worth.
        diagram: Which grows.
    """
    element = model.element
    strategy = element.get("missingValueStrategy", "none")
    if strategy not in _MISSING:
        raise ModelRefused(f"missingValueStrategy {strategy[:40]!r} is not read. Read are {', '.join(_MISSING)}.")
    last = element.get("noTrueChildStrategy", "returnNullPrediction") == "returnLastPrediction"
    nothing = diagram.leaf(math.nan)

    def walk(node: Element, depth: int) -> int:
        if depth > 300:
            raise ModelRefused("The tree is nested too deeply.")
        children = [child for child in node if child.tag == "Node"]
        scored = node.get("score") is not None or node.find("ScoreDistribution") is not None
        own = diagram.leaf(value(node)) if scored else nothing
        if not children:
            return own
        entries = {child.get("id", str(index)): walk(child, depth + 1) for index, child in enumerate(children)}
        unknown = {"lastPrediction": own, "nullPrediction": nothing}.get(strategy, -1)
        if strategy == "defaultChild":
            unknown = entries.get(node.get("defaultChild", ""), nothing)
        predicates = [_predicate(child) for child in children]
        onward = own if last else nothing
        ways = list(entries.values())
        if len(ways) != len(children):
            raise ModelRefused("Two nodes of the tree have the same id.")
        if diagram.alone(predicates):  # nobody gets past the last
            onward = ways[-1]
        for predicate, entry in zip(reversed(predicates), reversed(ways), strict=True):
            gone = (own if last else nothing) if unknown == -1 and predicate is predicates[-1] else onward
            onward = diagram.predicate(predicate, entry, onward, gone if unknown == -1 else unknown)
        return onward

    root = element.find("Node")
    if root is None:
        raise ModelRefused("A TreeModel has no node.")
    entry = walk(root, 0)
    return diagram.predicate(_predicate(root), entry, nothing, nothing)


def _predicate(node: Element) -> Element:
    tags = ("True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate")
    predicate = next((child for child in node if child.tag in tags), None)
    if predicate is None:
        raise ModelRefused(f"A {node.tag} has no predicate.")
    return predicate


def _winner(node: Element) -> str:
    """A node's class: its score, or that with most records."""
    if (score := node.get("score")) is not None:
        return score
    shares = node.findall("ScoreDistribution")
    return attribute(max(shares, key=lambda share: number(share, "recordCount")), "value")


def _tree(model: PmmlModel) -> ReadModel:
    diagram = Diagram(model.fields)
    if not model.classifies:
        return _number(_tree_document([model], mean=False), model)
    labels: list[str] = list(model.classes)

    def value(node: Element) -> float:
        label = _winner(node)
        if label not in labels:
            labels.append(label)
        return float(labels.index(label))

    root = tree_diagram(model, value, diagram)
    return _labelled(diagram, root, labels, model)


def _tree_document(models: Sequence[PmmlModel], *, mean: bool) -> Trees:
    """TreeModels of numbers that are added."""
    tests = TestTable()
    tables = []
    for model in models:
        diagram = Diagram(model.fields)
        root = tree_diagram(model, lambda node: number(node, "score"), diagram)
        tables.append(diagram.table(root, tests))
    return made(Trees, kind="trees", precision=models[0].precision, tests=tests.tests, trees=tuple(tables), mean=mean)


def _tree_documents(
    models: Sequence[PmmlModel], worth: Callable[[Element], tuple[float, ...]], count: int, *, mean: bool
) -> list[Trees]:
    """Of TreeModels that are added for each of several classes, the document of each."""
    tests = TestTable()
    tables: list[list[ScoreTree]] = [[] for _ in range(count)]
    for model in models:
        diagram, leaves = Diagram(model.fields), dict[tuple[float, ...], int]()
        root = tree_diagram(model, _numbered(worth, leaves), diagram)
        table, listed = diagram.table(root, tests), list(leaves)
        for output, own in enumerate(tables):
            values = tuple(listed[int(index)][output] for index in table.values)
            own.append(table.model_copy(update={"values": values}))
    return [
        made(Trees, kind="trees", precision=models[0].precision, tests=tests.tests, trees=tuple(own), mean=mean)
        for own in tables
    ]


def _numbered(
    worth: Callable[[Element], tuple[float, ...]], leaves: dict[tuple[float, ...], int]
) -> Callable[[Element], float]:
    """What a node is worth, as its number among all that were met."""
    return lambda node: float(leaves.setdefault(worth(node), len(leaves)))


def _regression_table(table: Element, fields: Fields) -> Terms:
    base = number(table, "intercept", 0.0)
    terms: list[Term] = []
    for part in table:
        weight = number(part, "coefficient") if part.tag != "Extension" else 0.0
        if part.tag == "NumericPredictor":
            source = fields[attribute(part, "name")]
            exponent = number(part, "exponent", 1.0)
            if exponent == 1:
                made_terms, constant = number_term(source, weight)
                terms += made_terms
                base += constant
            else:
                terms.append(product([source] * 2 if exponent == 2 else [], weight))
        elif part.tag == "CategoricalPredictor":
            source = fields[attribute(part, "name")]
            terms.append(indicator(source, attribute(part, "value"), weight, of_missing=True))
        elif part.tag == "PredictorTerm":
            names = [attribute(reference, "field") for reference in part.findall("FieldRef")]
            terms.append(product([fields[name] for name in names], weight))
        elif part.tag != "Extension":
            raise ModelRefused(f"A RegressionTable with {part.tag[:40]!r} is not read.")
    return made(Terms, kind="terms", precision="float64", base=base, terms=tuple(terms))


def _regression(model: PmmlModel) -> ReadModel:
    tables = model.element.findall("RegressionTable")
    method = model.element.get("normalizationMethod", "none")
    documents = [_regression_table(table, model.fields) for table in tables]
    names = [table.get("targetCategory", "") for table in tables]
    return _by_regression(documents, names, method, model)


def _by_regression(documents: Sequence[Adding], names: list[str], method: str, model: PmmlModel) -> ReadModel:
    if method not in _IMAGES:
        raise ModelRefused(f"normalizationMethod {method[:40]!r} is not read. Read are {', '.join(_IMAGES)}.")
    if not model.classifies:
        if len(documents) != 1:
            raise ModelRefused("A regression has one RegressionTable.")
        return _number(documents[0], model, _IMAGES[method])
    alone = len(documents) == 2 and isinstance(documents[1], Terms) and not documents[1].terms
    if alone and documents[1].base == 0 and method in ("logit", "softmax"):  # type: ignore[union-attr]
        return two_classes(
            documents[0], model.request, model.provenance, classes=(names[1], names[0]),
            decides=lambda score: score >= 0, shares=lambda score: (1.0 - logistic(score), logistic(score)),
        )  # fmt: skip
    if method == "none":
        raise ModelRefused(
            "A classification with normalizationMethod `none` is not read: makers mean different things by it. Save "
            "the model with softmax or logit, or as a regression."
        )
    if method == "softmax" and len(documents) >= 2:
        return by_choice(documents, model.request, model.provenance, classes=names)
    raise ModelRefused(f"A classification of {len(documents)} tables by {method!r} is not read.")


def _general(model: PmmlModel) -> ReadModel:
    element = model.element
    kind = element.get("modelType", "")
    link = element.get("linkFunction", "identity")
    if kind not in ("regression", "generalLinear", "generalizedLinear", "multinomialLogistic"):
        raise ModelRefused(f"A GeneralRegressionModel of the type {kind[:40]!r} is not read.")
    if element.get("offsetVariable") or element.get("trialsVariable") or number(element, "offsetValue", 0.0) != 0:
        raise ModelRefused("A GeneralRegressionModel with an offset or trials is not read.")
    lists = {name: element.find(name) for name in ("FactorList", "CovariateList", "PPMatrix", "ParamMatrix")}
    factor_list = lists["FactorList"]
    factors = set() if factor_list is None else {attribute(factor, "name") for factor in factor_list}
    cells: dict[str, list[tuple[str, str]]] = {}
    for cell in lists["PPMatrix"] if lists["PPMatrix"] is not None else ():
        cells.setdefault(attribute(cell, "parameterName"), []).append(
            (attribute(cell, "predictorName"), attribute(cell, "value"))
        )
    betas: dict[str, dict[str, float]] = {}
    for cell in lists["ParamMatrix"] if lists["ParamMatrix"] is not None else ():
        category = cell.get("targetCategory", "")
        betas.setdefault(category, {})[attribute(cell, "parameterName")] = number(cell, "beta")
    documents = {name: _parameters(beta, cells, factors, model.fields) for name, beta in betas.items()}
    method = {"multinomialLogistic": "softmax"}.get(kind, link if kind == "generalizedLinear" else "identity")
    without_beta = (label for label in model.classes if label not in betas)
    reference = element.get("targetReferenceCategory") or next(without_beta, "")
    names = [name or next((label for label in model.classes if label != reference), "") for name in documents]
    listed: list[Adding] = list(documents.values())
    if model.classifies and reference:
        listed.append(made(Terms, kind="terms", precision="float64", terms=()))
        names.append(reference)
    return _by_regression(listed, names, method, model)


def _parameters(
    beta: dict[str, float], cells: dict[str, list[tuple[str, str]]], factors: set[str], fields: Fields
) -> Terms:
    base, terms = 0.0, []
    for name, weight in beta.items():
        own = cells.get(name, [])
        if not own:
            base += weight
            continue
        covariates = [(fields[name], float(value)) for name, value in own if name not in factors]
        sources = [(fields[name], value) for name, value in own if name in factors]
        if sources and covariates:
            raise ModelRefused("A parameter of a factor and a covariate together is not read.")
        if len(sources) == 1:
            terms.append(indicator(*sources[0], weight))
        elif sources:
            predicates = (
                Predicate(column=source.column.name, op="eq", value=_value(source, text)) for source, text in sources
            )
            rule = Rule(all_of=tuple(predicates))
            fields_used = [source for source, _ in sources]
            if any(each.column.nullable or each.results is not None or each.cuts is not None for each in fields_used):
                raise ModelRefused("Factors together are read where they are neither derived nor missing.")
            terms.append(made(RuleTerm, rule=rule, value=weight))
        elif len(covariates) == 1 and covariates[0][1] == 1:
            factor_terms, constant = number_term(covariates[0][0], weight)
            terms += factor_terms
            base += constant
        else:
            powers = [source for source, exponent in covariates for _ in range(int(exponent)) if exponent in (1, 2)]
            if any(exponent not in (1, 2) for _, exponent in covariates):
                raise ModelRefused("Covariates are read with the exponents 1 and 2.")
            terms.append(product(powers, weight))
    return made(Terms, kind="terms", precision="float64", base=base, terms=tuple(terms))


def _value(source: PmmlField, text: str) -> Any:
    declared = next((value for value in source.column.values if same(value, text)), None)
    if declared is None:
        raise ModelRefused(f"The model knows {text[:40]!r} of {source.column.name!r}, which is not declared.")
    return declared


def _scorecard(model: PmmlModel) -> ReadModel:
    tests = TestTable()
    tables: list[ScoreTree] = []
    characteristics = model.element.find("Characteristics")
    for characteristic in characteristics if characteristics is not None else ():
        if characteristic.tag != "Characteristic":
            continue
        diagram = Diagram(model.fields)
        attributes = characteristic.findall("Attribute")
        if any(part.find("ComplexPartialScore") is not None for part in attributes):
            raise ModelRefused("A ComplexPartialScore is not read.")
        nothing = diagram.leaf(math.nan)
        leaves = [diagram.leaf(number(part, "partialScore")) for part in attributes]
        predicates = [_predicate(part) for part in attributes]
        plain = [p for p in predicates if p.tag.startswith("Simple") and "issing" not in p.get("operator", "")]
        covered = bool(plain) and diagram.alone(plain)
        onward = nothing
        for index in reversed(range(len(attributes))):
            if covered and predicates[index] is plain[-1]:
                onward = diagram.predicate(predicates[index], leaves[index], leaves[index], onward)
            else:
                onward = diagram.predicate(predicates[index], leaves[index], onward, onward)
        tables.append(diagram.table(onward, tests))
    base = number(model.element, "initialScore", 0.0)
    document = made(Trees, kind="trees", precision="float64", base=base, tests=tests.tests, trees=tuple(tables))
    return _number(document, model)


def _rules(model: PmmlModel) -> ReadModel:
    rules = model.element.find("RuleSet")
    if rules is None:
        raise ModelRefused("A RuleSetModel has no RuleSet.")
    selection = rules.find("RuleSelectionMethod")
    if selection is None or selection.get("criterion") != "firstHit":
        raise ModelRefused("Rule sets are read whose first RuleSelectionMethod is firstHit.")
    diagram = Diagram(model.fields)
    labels = list(model.classes)

    def leaf(label: str | None) -> int:
        if label is None:
            return diagram.leaf(math.nan)
        if label not in labels:
            labels.append(label)
        return diagram.leaf(float(labels.index(label)))

    def walk(parts: list[Element], onward: int, depth: int) -> int:
        if depth > 100:
            raise ModelRefused("The rules are nested too deeply.")
        for part in reversed(parts):
            if part.tag == "SimpleRule":
                inner = leaf(attribute(part, "score"))
            else:
                inner = walk([child for child in part if child.tag.endswith("Rule")], onward, depth + 1)
            onward = diagram.predicate(_predicate(part), inner, onward, onward)
        return onward

    root = walk([child for child in rules if child.tag.endswith("Rule")], leaf(rules.get("defaultScore")), 0)
    return _labelled(diagram, root, labels, model)


def _model_of(segment: Element) -> Element | None:
    return next((child for child in segment if child.tag.endswith(("Model", "Scorecard"))), None)


def _mining(model: PmmlModel) -> ReadModel:
    segmentation = model.element.find("Segmentation")
    if segmentation is None:
        raise ModelRefused("A MiningModel is read with a Segmentation.")
    method = attribute(segmentation, "multipleModelMethod")
    segments = segmentation.findall("Segment")
    if not segments or any(_predicate(segment).tag != "True" for segment in segments):
        raise ModelRefused("Segments are read that are for everybody: their predicate is True.")
    inner = [_model_of(segment) for segment in segments]
    models = [replace(model, element=element) for element in inner if element is not None]
    if any(part.element.find("Targets") is not None for part in models) and method != "modelChain":
        raise ModelRefused("Targets of a segment are not read.")
    if method == "modelChain":
        return _chain(models, model)
    if len(models) != len(segments) or any(part.element.tag != "TreeModel" for part in models):
        raise ModelRefused("Ensembles are read of TreeModels.")
    weights = [number(segment, "weight", 1.0) for segment in segments]
    if not model.classifies:
        return _number(_sum(models, method, weights, model), model)
    labels = list(model.classes) or sorted(
        {_winner(node) for part in models for node in part.element.iter("Node") if node.get("score")}
    )
    if method in ("majorityVote", "weightedMajorityVote"):
        documents = _tree_documents(
            models, lambda node: tuple(float(_winner(node) == label) for label in labels), len(labels), mean=False
        )
        if method == "weightedMajorityVote":
            documents = [_weighted(document, weights) for document in documents]
    elif method == "average":
        documents = _tree_documents(models, lambda node: _shares(node, labels), len(labels), mean=True)
    else:
        raise ModelRefused(
            f"Classifications by {method[:40]!r} are not read: majorityVote, weightedMajorityVote and average are."
        )
    return by_choice(documents, model.request, model.provenance, classes=labels)


def _sum(models: Sequence[PmmlModel], method: str, weights: Sequence[float], around: PmmlModel) -> Trees:
    """The trees of an ensemble, added in its own precision."""
    if around.precision == "float64" and any(part.precision != "float64" for part in models):
        raise ModelRefused("Trees of another x-mathContext than their sum's are not read.")
    weighted = method == "weightedAverage" and len(set(weights)) == 1 and weights[0] > 0
    if method in ("sum", "average") or weighted:
        document = _tree_document(models, mean=method != "sum")
        return document.model_copy(update={"precision": around.precision})
    raise ModelRefused(f"Numbers by {method[:40]!r} are not read: sum, average, weightedAverage of equal weights.")


def _shares(node: Element, labels: Sequence[str]) -> tuple[float, ...]:
    """Each class's share of a node."""
    shares = {attribute(distribution, "value"): distribution for distribution in node.findall("ScoreDistribution")}
    if not shares:
        raise ModelRefused("An average of classifications is read whose leaves have ScoreDistributions.")
    total = None
    label_shares = []
    for label in labels:
        if label not in shares:
            label_shares.append(0.0)
        elif shares[label].get("probability") is not None:
            label_shares.append(number(shares[label], "probability"))
        else:
            total = total or sum(number(distribution, "recordCount") for distribution in shares.values())
            label_shares.append(number(shares[label], "recordCount") / total)
    return tuple(label_shares)


def _weighted(document: Trees, weights: Sequence[float]) -> Trees:
    trees = tuple(
        tree.model_copy(update={"values": tuple(weight * value for value in tree.values)})
        for tree, weight in zip(document.trees, weights, strict=True)
    )
    return document.model_copy(update={"trees": trees})


@dataclass(frozen=True, slots=True)
class _Summed:
    """An output of a chain: trees that are added, times a factor, and a constant."""

    document: Trees
    factor: float
    constant: float


def _chain(models: Sequence[PmmlModel], model: PmmlModel) -> ReadModel:
    """Sums of trees, and a regression that only makes a number or probabilities of them: boosted trees, exported."""
    sums: dict[str, _Summed] = {}
    for segment in models[:-1]:
        made_of = _summed(segment) if segment.element.tag == "MiningModel" else _passed_on(segment, sums)
        sums |= dict.fromkeys(_output_names(segment), made_of)
    last = models[-1]
    if last.element.tag != "RegressionModel" or not sums:
        raise ModelRefused("Chains are read of trees that are added, and a regression behind them.")
    require_plain_output(last.element)
    _require_no_targets(last.element)
    link = last.element.get("normalizationMethod", "none")
    tables = [_line_of(table, sums) for table in last.element.findall("RegressionTable")]
    if link not in _IMAGES:
        raise ModelRefused(f"The regression of a chain has the normalizationMethod {link[:40]!r}, which is not read.")
    if len(tables) > 2 and last.classifies and link == "softmax":
        names = [attribute(table, "targetCategory") for table in last.element.findall("RegressionTable")]
        return by_choice(_comparable(tables), model.request, model.provenance, classes=names)
    further = [table for table in tables[1:] if isinstance(table, _Summed) or table != 0]
    if not tables or further or isinstance(tables[0], float) or tables[0].factor <= 0:
        raise ModelRefused(
            "The regression of a chain is read with the trees' sum as its only predictor, and a positive coefficient."
        )
    document, factor, constant = tables[0].document, tables[0].factor, tables[0].constant
    image = _IMAGES[link] or float

    def rising(score: float) -> float:
        return image(constant + factor * score)

    if not last.classifies:
        return _number(document, model, rising)
    if len(tables) != 2 or link not in ("logit", "softmax"):
        raise ModelRefused("The regression of a chain is read of two classes by logit or softmax.")
    [first, second] = [attribute(table, "targetCategory") for table in last.element.findall("RegressionTable")]
    return two_classes(
        document, model.request, model.provenance, classes=(second, first), decides=lambda score: rising(score) >= 0.5,
        shares=lambda score: (1.0 - rising(score), rising(score)),
    )  # fmt: skip


def _summed(model: PmmlModel) -> _Summed:
    """A segment of a chain that adds trees."""
    segmentation = model.element.find("Segmentation")
    parts = [] if segmentation is None else segmentation.findall("Segment")
    if any(_predicate(segment).tag != "True" for segment in parts):
        raise ModelRefused("Segments are read that are for everybody: their predicate is True.")
    trees = [replace(model, element=child) for segment in parts for child in segment if child.tag == "TreeModel"]
    if segmentation is None or not trees or len(trees) != len(parts):
        raise ModelRefused("Chains are read of trees that are added, and a regression behind them.")
    for tree in trees:
        _require_no_targets(tree.element)
    method = segmentation.get("multipleModelMethod", "")
    document = _sum(trees, method, [number(segment, "weight", 1.0) for segment in parts], model)
    return _Summed(document, *rescaled(model.element))


def _passed_on(model: PmmlModel, sums: Mapping[str, _Summed]) -> _Summed:
    """A segment of a chain that makes another number of a sum, by a line."""
    element = model.element
    tables = element.findall("RegressionTable") if element.tag == "RegressionModel" and not model.classifies else []
    if len(tables) != 1 or element.get("normalizationMethod", "none") not in ("none", "identity"):
        raise ModelRefused("Chains are read of trees that are added, and a regression behind them.")
    _require_no_targets(element)
    line = _line_of(tables[0], sums)
    if isinstance(line, float):
        raise ModelRefused("A regression inside of a chain has no predictor.")
    return line


def _output_names(model: PmmlModel) -> list[str]:
    fields = model.element.findall("Output/OutputField")
    return [
        attribute(output, "name") for output in fields if output.get("feature", "predictedValue") == "predictedValue"
    ]


def _line_of(table: Element, sums: Mapping[str, _Summed]) -> _Summed | float:
    """A table of one predictor that is an output of the chain; its intercept, if it has none."""
    predictors = [predictor for predictor in table if predictor.tag != "Extension"]
    intercept = number(table, "intercept", 0.0)
    if not predictors:
        return intercept
    source = sums.get(predictors[0].get("name", ""))
    plain = len(predictors) == 1 and predictors[0].tag == "NumericPredictor" and source is not None
    if not plain or source is None or number(predictors[0], "exponent", 1.0) != 1:
        raise ModelRefused("The regression of a chain is read with the trees' sum as its only predictor.")
    weight = number(predictors[0], "coefficient")
    return _Summed(source.document, source.factor * weight, source.constant * weight + intercept)


def _comparable(tables: Sequence[_Summed | float]) -> list[Adding]:
    """The classes' sums as documents of one scale: a constant is added behind the trees, as evaluators do."""
    sums = [total for total in tables if isinstance(total, _Summed)]
    factors, constants = {total.factor for total in sums}, {total.constant for total in sums}
    if len(factors) != 1 or min(factors) <= 0 or (factors != {1.0} and constants != {0.0}):
        raise ModelRefused("Sums of a chain are compared that have one positive coefficient, and no constant beside.")
    [factor] = factors
    documents: list[Adding] = []
    for total in tables:
        if isinstance(total, float):
            documents.append(made(Terms, kind="terms", precision="float64", base=total / factor, terms=()))
        elif total.constant == 0:
            documents.append(total.document)
        else:
            own = made(ScoreTree, tests=(), yes=(), no=(), values=(total.constant,))
            if total.document.mean:
                raise ModelRefused("A mean and a constant beside it are not read in a chain of several classes.")
            documents.append(total.document.model_copy(update={"trees": (*total.document.trees, own)}))
    return documents


def _require_no_targets(element: Element) -> None:
    if rescaled(element) != (1.0, 0.0):
        raise ModelRefused("Targets of a segment are not read, but those of a chain's sum of trees.")
