"""Our own JSON, "pafer-model/1": a tree, a list of rules or a score, written by hand or by any program.

For scorecards, rules that people wrote down, and models fitted where no other format comes from. What it says is what
a score document or a tree says (`shared.scores.documents`, `shared.contract.rules`), and the favourable decisions:

    {"format": "pafer-model/1",
     "description": "the bank's rules of 2025",
     "rules": [{"all_of": [{"column": "income", "op": "ge", "value": 40000}], "decision": "granted"}],
     "otherwise": "refused",
     "favourable": ["granted"],
     "examples": [{"record": {"income": 50000}, "decision": "granted"}]}

Instead of `rules` and `otherwise`: `tree`, of nodes {"if": a predicate, "then": a node, "else": a node} and leaves
{"decision": a text}; or `score`, a document, with one of `above`, `at_least`, `below` and `at_most` for the favourable
numbers and `decisions` for what the favourable and the unfavourable ones are called. A tree or rules may name scores of
their own, which are in `scores`, by name: documents that add. In rules such a name is the score's, whatever the
dataset's columns are called. What was mended or trained says of
what in `mended` or `trained`, from which nothing is computed.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers, checked
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.inventing import Invented
from auditor_client.models.nameable import nameable_column
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.decisions import by_choice, by_list, by_threshold
from auditor_client.models.readers.links import negated
from auditor_client.models.readers.own.faults import faults_in_words
from auditor_client.models.readers.parsing import DocumentPart, parsed_json, texts
from auditor_client.models.readers.tree_tables import TestTable, tree_of_rules, tree_table
from auditor_client.models.tree import DecisionRule
from auditor_client.text import first_fault
from shared.contract.rules import Predicate, Rule
from shared.contract.schema import Schema
from shared.scores.columns import DerivedColumn, ScoreOrigin, extended
from shared.scores.documents import Case, Choice, Document, RuleList, columns_of, values_of
from shared.wire import limits
from shared.wire.canonical import sha256_name
from shared.wire.problems import PlanRefused

T = TypeVar("T")
FORMAT: Final = "pafer-model/1"
EXAMPLES_MAX: Final = 100_000
_DESCRIPTION_MAX: Final = 200
_READ: Final = f'Read are documents of the format "{FORMAT}" with one of `tree`, `rules` and `score`.'
PAGE: Final = "docs/own-json.md has a whole example of each kind."
_MADE_OF: Final = ("mended", "trained")
_LIMITS: Final = ("above", "at_least", "below", "at_most")
_DOCUMENT: Final[TypeAdapter[Any]] = TypeAdapter(Document)


_Names = Mapping[str, str]
"""What scores of a file are called over a dataset, by their names in the file."""


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A parsed document of our own format, and the SHA-256 of its file, "sha256:<hex>"."""

    document: DocumentPart
    digest: str


def load_file(content: bytes, name: str) -> OwnModel:
    """Read the file's JSON.

    Raises:
        ModelRefused: It is none, or of another version.
    """
    document = DocumentPart(parsed_json(content, name), name)
    if document["format"].value != FORMAT:
        raise ModelRefused(f"{name} is of the format {document['format'].value!r}. {_READ}")
    misplaced = {"if", "then", "else", "decision"} & set(document.value)
    if misplaced:
        raise ModelRefused(f'{name} has {min(misplaced)!r} at the top: put the tree\'s first node under "tree". {PAGE}')
    document.known(
        "format",
        "description",
        "tree",
        "rules",
        "otherwise",
        "score",
        "scores",
        "favourable",
        "decisions",
        "examples",
        *_MADE_OF,
        *_LIMITS,
    )
    return OwnModel(document, sha256_name(content))


def rules_document(
    rules: Sequence[DecisionRule],
    description: str,
    made_of: Mapping[str, Mapping[str, Any]],
    *,
    scores: Mapping[str, Document] | None = None,
) -> dict[str, Any]:
    """A document of rules that exclude each other and cover everybody.

    `made_of` says what they were made of: one member, "mended" or "trained", with what it has to say. `scores` are what
    the rules name beside columns.
    """
    *cases, last = rules
    documents = {
        name: _DOCUMENT.dump_python(score, mode="json", exclude_none=True) for name, score in (scores or {}).items()
    }
    return {
        "format": FORMAT,
        "description": description[:_DESCRIPTION_MAX],
        **({"scores": documents} if documents else {}),
        "rules": [
            {**rule.rule.model_dump(mode="json", exclude_none=True), "decision": rule.leaf.decision} for rule in cases
        ],
        "otherwise": last.leaf.decision,
        "favourable": sorted({rule.leaf.decision for rule in rules if rule.favourable}),
        **made_of,
    }


def score_document(
    score: Document, at_least: float, description: str, made_of: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """A document of a score that is favourable from a threshold on; `made_of` as for rules."""
    return {
        "format": FORMAT,
        "description": description[:_DESCRIPTION_MAX],
        "score": _DOCUMENT.dump_python(score, mode="json", exclude_none=True),
        "at_least": at_least,
        **made_of,
    }


def read_object(model: OwnModel, request: ModelRequest) -> ReadModel:
    """Read a document over a dataset's columns.

    Raises:
        ModelRefused: It does not fit the dataset, says nothing of what is favourable, or decides otherwise than its own
            examples.
    """
    document = model.document
    if request.columns is not None:
        raise ModelRefused("A model of our own format names the dataset's columns itself: leave `columns` out.")
    kinds = [name for name in ("tree", "rules", "score") if document.get(name)]
    if len(kinds) != 1:
        raise ModelRefused(f"{document.path} has {' and '.join(kinds) or 'no model'}. {_READ}")
    described = document.get("description")
    provenance = Provenance(
        described.text()[:_DESCRIPTION_MAX] if described else f"a document of our own: a {kinds[0]}", "own JSON",
        rehearsal_of=_rehearsal_of(document),
    )  # fmt: skip
    try:
        names, scores = _scores(document, request.schema)
        reading = replace(request, schema=_with_scores(request.schema, scores)) if scores else request
        if kinds == ["score"]:
            read = _score(document, reading, provenance)
        else:
            read = {"tree": _tree, "rules": _rules}[kinds[0]](document, reading, provenance, names)
    except PlanRefused as error:
        raise ModelRefused(f"{document.path} does not fit the dataset: {error}") from error
    if scores and (read.columns or kinds == ["score"]):
        raise ModelRefused(f"{document.path}: `scores` go with a tree, or with rules that are few enough to be one.")
    read = replace(read, columns=scores) if scores else read
    examples = document.get("examples")
    return read if examples is None else _compared(read, examples, request)


def _rehearsal_of(document: DocumentPart) -> str | None:
    """The dataset whose rehearsal a model was made in, if its file says so."""
    made_of = [part for name in _MADE_OF if (part := document.get(name)) is not None and isinstance(part.value, dict)]
    return next((of.text() for part in made_of if (of := part.get("rehearsal_of")) is not None), None)


def _scores(document: DocumentPart, schema: Schema) -> tuple[_Names, tuple[DerivedColumn, ...]]:
    """The scores that a tree or rules name beside declared columns, and what each is called over this dataset.

    A name in `scores` is the file's own: where a column of the dataset has it, the score gets a number behind it.
    """
    scores_part = document.get("scores")
    if scores_part is None:
        return {}, ()
    names, scores, read = dict[str, str](), list[DerivedColumn](), set[str]()
    taken = {*schema.by_name, schema.row_column, *(scores_part.value if isinstance(scores_part.value, dict) else ())}
    for name in scores_part.value if isinstance(scores_part.value, dict) else scores_part.refuse("scores by name"):
        score = _validated(_DOCUMENT.validate_python, scores_part[name])
        for column in columns_of(score):
            nameable_column(column, schema)
            read.add(column)
        names[name] = name
        if name in schema.by_name:
            names[name] = next(other for number in itertools.count(2) if (other := f"{name}_{number}") not in taken)
            taken.add(names[name])
        try:
            derived = DerivedColumn.model_validate(
                {"name": names[name], "type": "number", "from": ScoreOrigin(score=score)}
            )
        except ValidationError as error:
            raise ModelRefused(f"{document.path}.scores.{name} does not fit: {first_fault(error)[1]} {PAGE}") from error
        derived.check(schema)
        scores.append(derived)
    if both := read & names.keys():
        raise ModelRefused(
            f"{document.path}: a score is called like the column {min(both)!r} that scores read: name it otherwise."
        )
    return names, tuple(scores)


def _named(predicate: Predicate, names: _Names) -> Predicate:
    """A predicate over what the file's scores are called here."""
    return predicate.model_copy(update={"column": names.get(predicate.column, predicate.column)})


def _validated(validate: Callable[[Any], T], part: DocumentPart) -> T:
    """What a part of a document says.

    Raises:
        ModelRefused: It does not fit; the text names each fault by its path.
    """
    try:
        return validate(part.value)
    except ValidationError as error:
        raise ModelRefused(f"{faults_in_words(error, part.value, part.path)} {PAGE}") from error


def _with_scores(schema: Schema, scores: Sequence[DerivedColumn]) -> Schema:
    """A dataset's columns, and scores behind them."""
    columns, reads = {score.name: score.column for score in scores}, {score.name: score.reads for score in scores}
    return extended(schema, columns, reads=reads)


def _rules(document: DocumentPart, request: ModelRequest, provenance: Provenance, names: _Names) -> ReadModel:
    cases = []
    for part in document["rules"].items(limits.RULES_PER_PLAN_MAX):
        part.known("id", "all_of", "decision")
        rule = {name: member for name, member in part.value.items() if name != "decision"}
        read = _validated(Rule.model_validate, DocumentPart(rule, part.path))
        here = read.model_copy(update={"all_of": tuple(_named(predicate, names) for predicate in read.all_of)})
        cases.append(Case(rule=here, value=part["decision"].text()))
    listed = RuleList(kind="list", cases=tuple(cases), otherwise=document["otherwise"].text())
    return read_list(listed, _with_favourable(document, request), provenance)


def read_list(listed: RuleList, request: ModelRequest, provenance: Provenance) -> ReadModel:
    """A list of rules, as a tree if that is small."""
    names = [str(value) for value in values_of(listed)]
    favourable = favourable_classes(names, request.favourable)
    for index, case in enumerate(listed.cases):
        for predicate in case.rule.all_of:
            nameable_column(predicate.column, request.schema)
            predicate.check(request.schema, f"rule {index + 1}")
    tests = TestTable()

    def step(node: Any) -> Any:
        index, depth = node
        if index == len(listed.cases):
            return float(names.index(str(listed.otherwise)))
        case = listed.cases[index]
        if depth == len(case.rule.all_of):
            return float(names.index(str(case.value)))
        return case.rule.all_of[depth], (index, depth + 1), (index + 1, 0)

    try:
        table = tree_table((0, 0), step, tests)
    except ModelRefused:  # more tests on a path than a tree has
        return by_list(listed, request, provenance)
    tree = tree_of_rules(
        table, tests.tests, request.schema, lambda value: (names[int(value)], names[int(value)] in favourable)
    )
    if (
        tree is None
        or max((len(rule.rule.all_of) for rule in tree.rules()), default=0) > limits.PREDICATES_PER_RULE_MAX
    ):
        return by_list(listed, request, provenance)
    return ReadModel(tree, provenance=provenance)


def _tree(document: DocumentPart, request: ModelRequest, provenance: Provenance, names: _Names) -> ReadModel:
    tests = TestTable()
    decisions: dict[str, int] = {}

    def step(node: Any) -> Any:
        part = nodes[node]
        if part.get("decision"):
            return float(decisions.setdefault(part.known("decision")["decision"].text(), len(decisions)))
        part.known("if", "then", "else")
        predicate = _named(_validated(Predicate.model_validate, part["if"]), names)
        predicate.check(request.schema, part.path)
        ways = []
        for name in ("then", "else"):
            ways.append(len(nodes))
            nodes.append(part[name])
        return predicate, ways[0], ways[1]

    nodes = [document["tree"]]
    table = tree_table(0, step, tests)
    called = list(decisions)
    favourable = favourable_classes(called, _with_favourable(document, request).favourable)
    tree = tree_of_rules(
        table, tests.tests, request.schema, lambda value: (called[int(value)], called[int(value)] in favourable)
    )
    if tree is None:
        raise ModelRefused("The tree has too many leaves: write it as a `score` of the kind `trees`.")
    return ReadModel(tree, provenance=provenance)


def _score(document: DocumentPart, request: ModelRequest, provenance: Provenance) -> ReadModel:
    score = _validated(_DOCUMENT.validate_python, document["score"])
    values = values_of(score)
    for name in columns_of(score):
        nameable_column(name, request.schema)
    if isinstance(score, RuleList) and all(isinstance(value, str) for value in values):
        return read_list(score, _with_favourable(document, request), provenance)
    if isinstance(score, Choice):
        return by_choice(score.of, _with_favourable(document, request), provenance, classes=score.categories)
    if isinstance(score, RuleList):
        raise ModelRefused("A list decides by texts: write its values as texts.")
    limit_names = [name for name in _LIMITS if document.get(name)]
    if request.above is not None:
        way, limit = "above", request.above
    elif len(limit_names) == 1:
        way, limit = limit_names[0], document[limit_names[0]].number()
    else:
        raise ModelRefused(f"{document.path}: give one of {', '.join(_LIMITS)} for the favourable scores.")
    called = document.get("decisions")
    labels = ["favourable", "unfavourable"]
    if called:
        two = isinstance(called.value, list) and len(called.value) == 2
        labels = texts(called) if two else called.refuse("a list of two texts: the favourable decision, then the other")
    if way in ("below", "at_most"):
        score, limit = negated(score), -limit
    return by_threshold(
        score, request, provenance, threshold=limit, strict=way in ("above", "below"), labels=(labels[0], labels[1])
    )


def _with_favourable(document: DocumentPart, request: ModelRequest) -> ModelRequest:
    """The request, with the decisions that the document calls favourable unless the auditor named others."""
    own = document.get("favourable")
    if request.favourable is not None or own is None:
        return request
    return ModelRequest(request.schema, texts(own), above=request.above)


def _compared(read: ReadModel, examples: DocumentPart, request: ModelRequest) -> ReadModel:
    """Compare with the examples that the document brings."""
    items = examples.items(EXAMPLES_MAX)
    favourable = {rule.leaf.decision for rule in read.tree.rules() if rule.favourable}
    decisions = {rule.leaf.decision for rule in read.tree.rules()}
    answers = []
    for item in items:
        item.known("record", "decision")
        decision = item["decision"].text()
        if decision not in decisions and not any(decision in text.split(" or ") for text in decisions):
            item["decision"].refuse("one of the model's decisions")
        answers.append(any(decision == text or decision in text.split(" or ") for text in favourable))
    records = example_records([item["record"] for item in items], read, request)
    expected = MakersAnswers(favourable=np.array(answers, bool))
    with_maker = ReadModel(
        read.tree, read.columns, read.score, read.thresholds, read.decided,
        Provenance(read.provenance.description, read.provenance.reader, "the examples in its file")
        if read.provenance else None,
    )  # fmt: skip
    return checked(with_maker, request.schema, lambda _: expected, records=records) if items else read


def example_records(parts: list[DocumentPart], read: ReadModel, request: ModelRequest) -> Invented:
    """Records that a file brings with it, column by column.

    Raises:
        ModelRefused: One has a value that the dataset does not admit, or none for a column that is never missing.
    """
    used = {predicate.column for rule in read.tree.rules() for predicate in rule.rule.all_of}
    for derived in read.columns:
        used |= set(columns_of(derived.origin.score)) if not isinstance(derived.origin, str) else set()
    values: dict[str, Any] = {}
    for column in request.schema.columns:
        if column.name not in used:
            continue
        entries = []
        for part in parts:
            entry_of_part = part.get(column.name)
            value = None if entry_of_part is None else entry_of_part.value
            fits = (
                column.nullable
                if value is None
                else type(value) in (int, float) and column.low <= value <= column.high
                if column.ordered
                else type(value) in (str, bool) and value in column.values
            )
            if not fits:
                raise ModelRefused(f"{part.path}: {value!r} is no value of column {column.name!r}.")
            entries.append(value)
        if column.ordered:
            values[column.name] = np.array([np.nan if entry is None else entry for entry in entries], np.float64)
        else:
            values[column.name] = np.array([*entries, None], object)[:-1]
    return Invented(len(parts), values)
