"""Rule lists in memory: imodels' GreedyRuleListClassifier, and CORELS, also as imodels' OptimalRuleListClassifier.

The first rule that matches decides. A greedy list compares one number at a time, as a double; CORELS asks whether
features are true, so its inputs are boolean columns.
"""

from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.inventing import Invented
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.decisions import compared
from auditor_client.models.readers.inputs import InputTest, ModelInputs, one_of
from auditor_client.models.readers.own.own_json import read_list
from auditor_client.models.readers.parsing import DocumentPart
from auditor_client.models.tree import Leaf, Tree
from shared.contract.rules import Predicate, Rule
from shared.scores.documents import Case, RuleList
from shared.wire import limits

_READ: Final = "Read are GreedyRuleListClassifier, OptimalRuleListClassifier and CorelsClassifier, fitted."


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a fitted list over a dataset's columns.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    kind = type(model).__name__
    if kind not in ("GreedyRuleListClassifier", "OptimalRuleListClassifier", "CorelsClassifier"):
        raise ModelRefused(f"{kind} is not read. {_READ}")
    classes = np.asarray(getattr(model, "classes_", [0, 1])).tolist()
    if len(classes) != 2:
        raise ModelRefused("A rule list is read that decides between two classes.")
    names = getattr(model, "feature_names_", None)  # of a DataFrame an Index, which is neither true nor false
    if names is None:
        names = getattr(getattr(model, "rl_", None), "features", [])
    inputs = ModelInputs([str(name) for name in names], request)
    favourable = favourable_classes(classes, request.favourable)
    if hasattr(model, "rl_"):
        if request.above is not None:
            raise ModelRefused("CORELS decides without probabilities: leave `above` out.")
        cases, otherwise = _corels(DocumentPart(list(model.rl_.rules), "rules"), inputs)
    else:
        cases, otherwise = _greedy(
            DocumentPart(list(model.rules_), "rules"), inputs, request, classes.index(min(favourable, key=str))
        )
    texts = [str(label) for label in classes]
    listed = RuleList(
        kind="list",
        cases=tuple(Case(rule=rule, value=texts[index]) for rule, index in cases),
        otherwise=texts[otherwise],
    )
    request_by_text = ModelRequest(request.schema, [str(label) for label in classes if label in favourable])
    provenance = Provenance(f"a rule list of {len(cases)} rules, {kind}", "rule list")
    if len({index for _, index in cases} | {otherwise}) == 1:
        leaf = Leaf("everybody", texts[otherwise], texts[otherwise] in (request_by_text.favourable or ()))
        read = ReadModel(Tree(leaf), provenance=provenance)
    else:
        read = read_list(listed, request_by_text, provenance)

    def ask(records: Invented) -> MakersAnswers:
        table = np.column_stack(
            [
                np.asarray(records.values[name], np.float64) if name in records.values else np.zeros(records.count)
                for name in inputs.names
            ]
        )
        if request.above is not None:
            share = model.predict_proba(table)[:, [label in favourable for label in classes].index(True)]
            return MakersAnswers(favourable=share > request.above)
        predicted = np.asarray(model.predict(table)).tolist()
        is_favourable = [any(label == choice for choice in favourable) for label in predicted]
        return MakersAnswers(favourable=np.array(is_favourable, bool))

    return compared(read, request_by_text, ask, f"{type(model).__module__.partition('.')[0]} {kind}")


def _greedy(
    part: DocumentPart, inputs: ModelInputs, request: ModelRequest, favourable: int
) -> tuple[list[tuple[Rule, int]], int]:
    def decided(share: float) -> int:
        """The class's index: by the larger share, or by the wanted one's against the threshold; NaN is above none."""
        if request.above is None:
            return int(share > 1 - share)
        return favourable if (share if favourable else 1 - share) > request.above else 1 - favourable

    *rules, last = part.items(limits.RULES_PER_PLAN_MAX)
    cases = []
    for rule in rules:
        index = int(DocumentPart(int(rule["index_col"].value), rule.path).integer(0, len(inputs) - 1))
        column = inputs[index].column
        if column.nullable:
            raise ModelRefused(f"The list refuses missing values, and {column.name!r} may be missing.")
        test = InputTest("lt" if rule["flip"].value else "ge", float(rule["cutoff"].value))
        predicate = inputs[index].predicate(test)
        share = float(rule["val_right"].value)
        if predicate is not False:
            cases.append((Rule(all_of=() if predicate is True else (predicate,)), decided(share)))
    return cases, decided(float(last["val"].value))


def _corels(part: DocumentPart, inputs: ModelInputs) -> tuple[list[tuple[Rule, int]], int]:
    *rules, last = part.items(limits.RULES_PER_PLAN_MAX)
    cases = []
    for rule in rules:
        predicates: list[Predicate] = []
        for feature in rule["antecedents"].integers(-len(inputs), len(inputs)):
            column = inputs[abs(feature) - 1].column
            if feature == 0 or column.type != "boolean" or column.nullable:
                raise ModelRefused("CORELS asks of boolean columns that are never missing.")
            predicate = one_of(column, [feature > 0], missing=False)
            if isinstance(predicate, Predicate):
                predicates.append(predicate)
        cases.append((Rule(all_of=tuple(predicates)), int(bool(rule["prediction"].value))))
    return cases, int(bool(last["prediction"].value))
