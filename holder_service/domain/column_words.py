"""What a derived column says of a record, in lines for officers who decide about a plan that names it.

All of it follows from what the auditor declared: of linked values that they were sent, and of which kind, and no value.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from shared.columns import DerivedColumn, ScoreOrigin
from shared.scores import Choice, Document, Layers, Part, Product, RuleList, RuleTerm, TableTerm, Term, Terms, Trees

LINES_MAX: Final = 60
CHARACTERS_PER_LINE_MAX: Final = 500


def column_words(document: str) -> tuple[str, ...]:
    """The lines of a column that was asked for so; done apart, for a document may have many megabytes.

    Long ones are cut, and say so.
    """
    lines = map(_cut, _lines(DerivedColumn.model_validate_json(document)))
    found = tuple(islice(lines, LINES_MAX))
    more = sum(1 for _ in lines)
    return (*found, f"… and {more} more lines") if more else found


def _cut(line: str) -> str:
    return line if len(line) <= CHARACTERS_PER_LINE_MAX else f"{line[:CHARACTERS_PER_LINE_MAX]} …"


def _lines(asked: DerivedColumn) -> Iterator[str]:
    if isinstance(asked.origin, ScoreOrigin):
        yield f"A score, which the holder computes from each record's {', '.join(asked.reads) or 'presence alone'}"
        yield from _document(asked.origin.score)
    else:
        yield "Linked values, which the auditor sent for each person by the person's key"
        yield _domain(asked)
    if asked.label:
        yield "It says what people turned out to be, in place of the dataset's label"


def _domain(asked: DerivedColumn) -> str:
    """What values there may be."""
    if asked.categories is not None:
        return f"Each is one of: {', '.join(asked.categories)}"
    ends = [f"from {_number(asked.minimum)}" if asked.minimum is not None else ""]
    ends.append(f"up to {_number(asked.maximum)}" if asked.maximum is not None else "")
    return " ".join(filter(None, (f"Each is of type {asked.type}", *ends)))


def _document(document: Document) -> Iterator[str]:
    if isinstance(document, Choice):
        yield f"The category whose number is largest, of {len(document.categories)}:"
        for category, part in zip(document.categories, document.of, strict=True):
            yield f"The number of {category}:"
            yield from _part(part)
    else:
        yield from _part(document)


def _part(part: Part) -> Iterator[str]:
    match part:
        case Trees():
            number, leaves = len(part.trees), sum(len(tree.values) for tree in part.trees)
            depth = max(tree.depth for tree in part.trees)
            yield f"{_number(part.base)} and a leaf of each tree, added{f', divided by {number}' if part.mean else ''}"
            yield f"Trees: {number}, with {leaves} leaves and at most {depth} tests in a row"
            yield f"Their tests: {len(part.tests)}"
            yield from map(str, part.tests)
        case Terms():
            yield f"{_number(part.base)}, and added to it:"
            yield from map(_term, part.terms)
        case Layers():
            sizes = ", ".join(f"{len(layer.bias)} ({layer.activation})" for layer in part.layers)
            yield f"A network with layers of {sizes} units, over {len(part.inputs)} inputs:"
            yield from map(_term, part.inputs)
        case RuleList():
            yield "The value of the first rule that matches:"
            for case in part.cases:
                yield f"{case.value}: {case.rule}"
            yield f"{part.otherwise}: everybody else"


def _term(term: Term) -> str:
    match term:
        case Product():
            missing = "" if term.missing is None else f"; {_number(term.missing)} where one is missing"
            return f"{' × '.join((_number(term.slope), *term.columns))}{missing}"
        case TableTerm():
            by = " and ".join(f"{axis.column} ({axis.size} places)" for axis in term.axes)
            return f"a number from {_number(min(term.table))} to {_number(max(term.table))}, looked up by {by}"
        case RuleTerm():
            return f"{_number(term.value)} where {term.rule}"


def _number(number: float) -> str:
    return repr(float(number)).removesuffix(".0")
