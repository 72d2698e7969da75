"""PMML's SupportVectorMachineModel with a linear kernel, as terms.

Support vectors are added up to one weight for each input, in double precision: an evaluator that adds a product for
each vector differs by its own rounding.
"""

from xml.etree.ElementTree import Element  # the type; defusedxml parses

from auditor_client.errors import ModelRefused
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.read_model import ReadModel
from auditor_client.models.readers.decisions import by_choice, by_threshold, one_number
from auditor_client.models.readers.links import negated
from auditor_client.models.readers.pmml.dictionary import predicted_number
from auditor_client.models.readers.pmml.fields import PmmlField, array, attribute, finite, number
from auditor_client.models.readers.pmml.terms import PmmlModel, indicator, number_term
from auditor_client.models.readers.tree_tables import made
from shared.scores.documents import Term, Terms
from shared.wire import limits


def vector_machine(model: PmmlModel) -> ReadModel:
    """Read a SupportVectorMachineModel.

    Raises:
        ModelRefused: Its kernel is not linear, or it votes between pairs of classes.
    """
    element = model.element
    kernels = [child.tag for child in element if child.tag.endswith("KernelType")]
    if kernels != ["LinearKernelType"]:
        raise ModelRefused(f"Support vector machines are read with a LinearKernelType, and not with {kernels[:3]}.")
    machines = element.findall("SupportVectorMachine")
    inputs = _inputs(model)
    vectors = _vectors(element, len(inputs))
    documents = [_sum(machine, inputs, vectors, element) for machine in machines]
    if not model.classifies:
        if len(documents) != 1:
            raise ModelRefused("A regression has one SupportVectorMachine.")
        return one_number(documents[0], model.request, model.provenance, image=predicted_number(element))
    wins = element.get("maxWins", "false").strip().lower()
    if wins not in ("true", "false", "1", "0"):
        raise ModelRefused(f"maxWins is {wins[:40]!r}, and has to be true or false.")
    largest = wins in ("true", "1")
    names = [attribute(machine, "targetCategory") for machine in machines]
    if len(machines) == 1:
        classes = (attribute(machines[0], "alternateTargetCategory"), names[0])
        return _of_two(documents[0], classes, largest, machines[0], model)
    if element.get("classificationMethod", "OneAgainstAll") != "OneAgainstAll" or any(
        machine.get("alternateTargetCategory") is not None for machine in machines
    ):
        raise ModelRefused("Several support vector machines are read by OneAgainstAll; votes between pairs are not.")
    rising = documents if largest else [negated(document) for document in documents]
    return by_choice(rising, model.request, model.provenance, classes=names)


def _of_two(
    document: Terms, classes: tuple[str, str], largest: bool, machine: Element, model: PmmlModel
) -> ReadModel:  # fmt: skip
    """Of the second class is who is above the threshold (`largest`), or below it; nobody who is on it."""
    if model.request.above is not None:
        raise ModelRefused("A support vector machine decides without probabilities: leave `above` out.")
    threshold = number(machine, "threshold", number(model.element, "threshold", 0.0))
    second = classes[1] in favourable_classes(classes, model.request.favourable)
    labels = (classes[second], classes[not second])
    rising = largest == second  # whether larger numbers are favourable
    return by_threshold(
        document if rising else negated(document), model.request, model.provenance,
        threshold=threshold if rising else -threshold, strict=second, labels=labels,
    )  # fmt: skip


def _inputs(model: PmmlModel) -> list[tuple[PmmlField, str | None]]:
    """The fields of the vectors, with the value that a CategoricalPredictor asks for."""
    inputs: list[tuple[PmmlField, str | None]] = []
    fields = model.element.find("VectorDictionary/VectorFields")
    for field in fields if fields is not None else ():
        if field.tag == "FieldRef" and field.get("mapMissingTo") is None:
            inputs.append((model.fields[attribute(field, "field")], None))
        elif field.tag == "CategoricalPredictor" and number(field, "coefficient", 1.0) == 1:
            inputs.append((model.fields[attribute(field, "name")], attribute(field, "value")))
        elif field.tag != "Extension":
            raise ModelRefused("VectorFields are read of FieldRef and CategoricalPredictor, as they are.")
    if not inputs:
        raise ModelRefused("A support vector machine has no VectorFields.")
    return inputs


def _vectors(element: Element, width: int) -> dict[str, dict[int, float]]:
    """The numbers of each VectorInstance, by its id and their indices."""
    vectors: dict[str, dict[int, float]] = {}
    for instance in element.iterfind("VectorDictionary/VectorInstance"):
        sparse, dense = instance.find("REAL-SparseArray"), instance.find("Array")
        if sparse is not None:
            indices = [int(text) - 1 for text in (sparse.findtext("Indices") or "").split()]
            texts = (sparse.findtext("REAL-Entries") or "").split()
            if number(sparse, "defaultValue", 0.0) != 0:
                raise ModelRefused("Sparse vectors are read whose other numbers are 0.")
        else:
            texts = array(dense) if dense is not None else []
            indices = list(range(width))
        if len(indices) != len(texts) or len(set(indices)) != len(indices) or not set(indices) <= set(range(width)):
            raise ModelRefused("A vector has a number for each of the VectorFields, or for some of them once each.")
        numbers = {index: finite(text, "A vector's number") for index, text in zip(indices, texts, strict=True)}
        if attribute(instance, "id") in vectors:
            raise ModelRefused("Two vectors have the same id.")
        vectors[attribute(instance, "id")] = numbers
    return vectors


def _sum(
    machine: Element, inputs: list[tuple[PmmlField, str | None]], vectors: dict[str, dict[int, float]], around: Element
) -> Terms:
    """What a machine adds."""
    coefficients = machine.find("Coefficients")
    if coefficients is None:
        raise ModelRefused("A SupportVectorMachine has no Coefficients.")
    base = number(coefficients, "absoluteValue", 0.0)
    alphas = [number(coefficient, "value", 0.0) for coefficient in coefficients.findall("Coefficient")]
    weights = dict.fromkeys(range(len(inputs)), 0.0)
    if around.get("svmRepresentation", "SupportVectors") == "Coefficients":
        if len(alphas) != len(inputs):
            raise ModelRefused("A SupportVectorMachine has as many Coefficients as there are VectorFields.")
        weights = dict(enumerate(alphas))
    else:
        used = machine.findall("SupportVectors/SupportVector")
        if len(used) != len(alphas):
            raise ModelRefused("A SupportVectorMachine has as many Coefficients as it has SupportVectors.")
        if len(used) * len(inputs) > limits.SCORE_NODES_MAX:
            raise ModelRefused("A SupportVectorMachine has too many vectors.")
        for support_vector, alpha in zip(used, alphas, strict=True):
            vector = vectors.get(attribute(support_vector, "vectorId"))
            if vector is None:
                raise ModelRefused("A SupportVector is not in the VectorDictionary.")
            for index, value in vector.items():
                weights[index] += alpha * value
    terms: list[Term] = []
    for (source, text), weight in zip(inputs, weights.values(), strict=True):
        if text is not None:
            terms.append(indicator(source, text, weight))
            continue
        factor_terms, constant = number_term(source, weight)
        terms += factor_terms
        base += constant
    return made(Terms, kind="terms", precision="float64", base=base, terms=tuple(terms))
