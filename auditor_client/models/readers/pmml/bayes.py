"""PMML's NaiveBayesModel: logarithms of shares and densities, added.

A count of zero stands for the model's threshold, and evaluators raise a density below the threshold to it. A sum has no
such corner, so inputs with a distribution are read where no declared number has so small a density.
"""

import math
from xml.etree.ElementTree import Element  # the type; defusedxml parses

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ReadModel
from auditor_client.models.readers.decisions import by_choice
from auditor_client.models.readers.pmml.fields import PmmlField, attribute, number, same
from auditor_client.models.readers.pmml.terms import PmmlModel
from auditor_client.models.readers.tree_tables import made
from shared.contract.rules import Predicate, Rule
from shared.scores.documents import Axis, Product, RuleTerm, TableTerm, Term, Terms


def naive_bayes(model: PmmlModel) -> ReadModel:
    """Read a NaiveBayesModel of categories and of numbers with a normal distribution.

    Raises:
        ModelRefused: It is of another kind.
    """
    threshold = number(model.element, "threshold")
    output, inputs = model.element.find("BayesOutput"), model.element.find("BayesInputs")
    if output is None or inputs is None or model.request.above is not None:
        raise ModelRefused("A NaiveBayesModel is read with inputs and an output, and without `above`.")
    counts = {attribute(count, "value"): number(count, "count") for count in output.iter("TargetValueCount")}
    if threshold < 0 or not counts or not all(count > 0 for count in counts.values()):
        raise ModelRefused("A NaiveBayesModel is read with a threshold of at least 0 and a count for each class.")
    terms: dict[str, list[Term]] = {label: [] for label in counts}
    bases = {label: math.log(count) for label, count in counts.items()}
    for bayes_input in inputs.findall("BayesInput"):
        if bayes_input.find("DerivedField") is not None:
            raise ModelRefused("A BayesInput with a DerivedField is not read.")
        source = model.fields[attribute(bayes_input, "fieldName")]
        if source.results is not None or source.cuts is not None or source.replacement is not None:
            raise ModelRefused("A NaiveBayesModel is read whose inputs are neither derived nor replaced.")
        stats = bayes_input.find("TargetValueStats")
        for label in counts:
            if stats is None:
                terms[label].append(_shares(bayes_input, source, label, threshold))
                continue
            densities, constant = _density(stats, source, label, threshold)
            terms[label] += densities
            bases[label] += constant
    documents = [
        made(Terms, kind="terms", precision="float64", base=bases[label], terms=tuple(listed))
        for label, listed in terms.items()
    ]
    return by_choice(documents, model.request, model.provenance, classes=list(terms))


def _shares(element: Element, source: PmmlField, label: str, threshold: float) -> Term:
    """The logarithm of each category's share of a class."""
    column = source.column
    if column.ordered:
        raise ModelRefused(f"The model counts the values of {column.name!r}, and the dataset declares {column.type}.")
    pairs = {
        attribute(pair, "value"): {attribute(c, "value"): number(c, "count") for c in pair.iter("TargetValueCount")}
        for pair in element.findall("PairCounts")
    }
    sums = sum(pair.get(label, 0.0) for pair in pairs.values())
    table = []
    for value in column.values:
        count = next((pair.get(label, 0.0) for text, pair in pairs.items() if same(value, text)), None)
        if count is None:
            raise ModelRefused(f"The model does not know {value!r} of {column.name!r}.")
        share = count / sums if count > 0 else threshold
        if share <= 0:
            raise ModelRefused(
                f"Nobody of the class {label[:40]!r} has {value!r} of {column.name!r}: give a threshold."
            )
        table.append(math.log(share))
    axis = Axis(column=column.name, values=column.values, missing=column.nullable)
    return made(TableTerm, axes=(axis,), table=(*table, *[0.0] * column.nullable))


def _density(stats: Element, source: PmmlField, label: str, threshold: float) -> tuple[list[Term], float]:
    """The logarithm of a normal density: two products and a constant, which is not there for missing ones."""
    column = source.column
    own = [statistic for statistic in stats.findall("TargetValueStat") if statistic.get("value") == label]
    normal = own[0].find("GaussianDistribution") if len(own) == 1 else None
    if normal is None or column.type not in ("number", "integer"):
        raise ModelRefused("A BayesInput of numbers is read with a GaussianDistribution for each class.")
    mean, variance = number(normal, "mean"), number(normal, "variance")
    if variance <= 0:
        raise ModelRefused(f"The variance of {column.name!r} is {variance}, and has to be positive.")
    top = -0.5 * math.log(2 * math.pi * variance)
    furthest = max(abs(column.low - mean), abs(column.high - mean))
    if threshold > 0 and top - furthest**2 / (2 * variance) < math.log(threshold):
        raise ModelRefused(
            f"The model's threshold {threshold:g} stands for densities below it, which {column.name!r} has within its "
            "declared range: declare a narrower range, or export the model with threshold 0."
        )
    names = (column.name,)
    missing = 0.0 if column.nullable else None
    terms: list[Term] = [
        made(Product, columns=(*names, *names), slope=-1 / (2 * variance), missing=missing),
        made(Product, columns=names, slope=mean / variance, missing=missing),
    ]
    constant = top - mean**2 / (2 * variance)
    if column.nullable:
        rule = Rule(all_of=(Predicate(column=column.name, op="is_missing"),))
        terms.append(made(RuleTerm, rule=rule, value=-constant))
    return terms, constant
