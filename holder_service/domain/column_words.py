"""What a derived column says of a record, in lines for officers who decide about a plan that names it.

All of it follows from what the auditor declared: of linked values that they were sent, and of which kind, and no value.

Lines are few and short enough to be read, so an auditor could put what matters behind the last of them. Two things
stand against that: the terms of a score come by their weight, the heaviest first; and whatever is not in the lines is
counted by its name, "3 of 64 terms", beside the whole document, which officers download.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from shared.scores.columns import DerivedColumn, ScoreOrigin
from shared.scores.documents import (
    Axis,
    Choice,
    Document,
    Layers,
    Part,
    Product,
    RuleList,
    RuleTerm,
    TableTerm,
    Term,
    Terms,
    Trees,
)

LINES_MAX: Final = 60
CHARACTERS_PER_LINE_MAX: Final = 2000


class ColumnSummary(NamedTuple):
    """A derived column in lines.

    Attributes:
        says: The lines.
        not_shown: What is not in them, by number and name, such as "3 of 64 terms"; empty where all of it is.
    """

    says: tuple[str, ...]
    not_shown: tuple[str, ...]


class _WordedLine(NamedTuple):
    """A line, and what it is one of.

    Attributes:
        text: The line; empty for what cannot be said in words.
        unit: What it stands for, in the plural.
        number: For how many of them.
    """

    text: str
    unit: str = "lines"
    number: int = 1


def column_words(document: str) -> ColumnSummary:
    """The lines of a column that was asked for so; done apart, for a document may have many megabytes."""
    found = list(_lines(DerivedColumn.model_validate_json(document)))
    shown = [line for line in found if line.text]
    whole = [line for line in shown[:LINES_MAX] if len(line.text) <= CHARACTERS_PER_LINE_MAX]
    every, said = Counter[str](), Counter[str]()
    for counter, lines in ((every, found), (said, whole)):
        for line in lines:
            counter[line.unit] += line.number
    missing = tuple(f"{every[unit] - said[unit]} of {every[unit]} {unit}" for unit in every if every[unit] > said[unit])
    return ColumnSummary(tuple(_cut(line.text) for line in shown[:LINES_MAX]), missing)


def _cut(line: str) -> str:
    return line if len(line) <= CHARACTERS_PER_LINE_MAX else f"{line[:CHARACTERS_PER_LINE_MAX]} …"


def _lines(asked: DerivedColumn) -> Iterator[_WordedLine]:
    if isinstance(asked.origin, ScoreOrigin):
        yield _WordedLine(
            f"A score, which the holder computes from each record's {', '.join(asked.reads) or 'presence alone'}"
        )
        yield from _document(asked.origin.score)
    else:
        yield _WordedLine("Linked values, which the auditor sent for each person by the person's key")
        yield _WordedLine(_domain(asked))
    if asked.label:
        yield _WordedLine("It says what people turned out to be, in place of the dataset's label")


def _domain(asked: DerivedColumn) -> str:
    """Return what values there may be."""
    if asked.categories is not None:
        return f"Each is one of: {', '.join(asked.categories)}"
    ends = [f"from {_number(asked.minimum)}" if asked.minimum is not None else ""]
    ends.append(f"up to {_number(asked.maximum)}" if asked.maximum is not None else "")
    return " ".join(filter(None, (f"Each is of type {asked.type}", *ends)))


def _document(document: Document) -> Iterator[_WordedLine]:
    if isinstance(document, Choice):
        yield _WordedLine(f"The category whose number is largest, of {len(document.categories)}:")
        for category, part in zip(document.categories, document.of, strict=True):
            yield _WordedLine(f"The number of {category}:")
            yield from _part(part)
    else:
        yield from _part(document)


def _part(part: Part) -> Iterator[_WordedLine]:
    match part:
        case Trees():
            number, leaves = len(part.trees), sum(len(tree.values) for tree in part.trees)
            depth = max(tree.depth for tree in part.trees)
            mean = f", divided by {number}" if part.mean else ""
            yield _WordedLine(f"{_number(part.base)} and a leaf of each tree, added{mean}")
            yield _WordedLine(f"Trees: {number}, with {leaves} leaves and at most {depth} tests in a row")
            yield _WordedLine("", "trees", number)
            yield _WordedLine(f"Their tests: {len(part.tests)}")
            yield from (_WordedLine(str(test), "tests") for test in part.tests)
        case Terms():
            yield _WordedLine(f"{_number(part.base)}, and added to it:")
            yield from map(_term, _heaviest_first(part.terms))
        case Layers():
            sizes = ", ".join(f"{len(layer.bias)} ({layer.activation})" for layer in part.layers)
            yield _WordedLine(f"A network with layers of {sizes} units, over {len(part.inputs)} inputs:")
            yield _WordedLine("", "layers", len(part.layers))
            yield from map(_term, _heaviest_first(part.inputs))
        case RuleList():
            yield _WordedLine("The value of the first rule that matches:")
            for case in part.cases:
                yield _WordedLine(f"{case.value}: {case.rule}", "rules")
            yield _WordedLine(f"{part.otherwise}: everybody else")


def _heaviest_first(terms: tuple[Term, ...]) -> list[Term]:
    return sorted(terms, key=_weight, reverse=True)


def _weight(term: Term) -> float:
    """The largest number in a term, whatever its sign."""
    match term:
        case Product():
            return max(abs(term.slope), abs(term.missing or 0))
        case TableTerm():
            return max(map(abs, term.table))
        case RuleTerm():
            return abs(term.value)


def _term(term: Term) -> _WordedLine:
    match term:
        case Product():
            missing = "" if term.missing is None else f"; {_number(term.missing)} where one is missing"
            text = f"{' × '.join((_number(term.slope), *term.columns))}{missing}"
        case TableTerm():
            text = f"by {' and '.join(map(_axis, term.axes))}: {', '.join(map(_number, term.table))}"
        case RuleTerm():
            text = f"{_number(term.value)} where {term.rule}"
    return _WordedLine(text, "terms")


def _axis(axis: Axis) -> str:
    """A column, and where each of its bins begins."""
    bins = map(str, axis.values) if axis.values is not None else map(_number, axis.cuts or ())
    cut = f"{'' if axis.values is not None else 'cut at '}{', '.join(bins)}"
    return f"{axis.column} ({cut}{', missing' if axis.missing else ''})"


def _number(number: float) -> str:
    return repr(float(number)).removesuffix(".0")
