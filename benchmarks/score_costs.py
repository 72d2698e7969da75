"""What documents of every shape take for one record, beside what their public time supposes (`domain.column_times`).

`python -m benchmarks.score_costs`; processor time of one thread, the best of some repetitions.
"""

import argparse
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.scoring import COLUMNS, best_s, encoded
from holder_service.domain.column_times import STEP_S, steps_of
from holder_service.records.encoded import CHUNK_RECORDS_MAX
from holder_service.records.scoring import Scores
from shared.contract.rules import Predicate, Rule
from shared.scores.documents import (
    Axis,
    Case,
    Dense,
    Document,
    Layers,
    Product,
    RuleList,
    RuleTerm,
    ScoreTree,
    TableTerm,
    Term,
    Terms,
    Trees,
)

_RNG: Final = np.random.default_rng(0)


def _predicate() -> Predicate:
    return Predicate(column=f"x{_RNG.integers(COLUMNS)}", op="le", value=float(_RNG.normal()))


def _rule() -> Rule:
    return Rule(all_of=tuple(_predicate() for _ in range(3)))


def _terms(*terms: Term) -> Terms:
    return Terms(kind="terms", precision="float64", terms=terms)


def _axis(cuts: int, column: int) -> Axis:
    return Axis(column=f"x{column}", cuts=tuple(np.linspace(-3, 3, cuts).tolist()))


def _network(inputs: int, units: int, activation: Any) -> Layers:
    hidden = Dense(weights=((0.1,) * inputs,) * units, bias=(0.0,) * units, activation=activation)
    last = Dense(weights=((0.1,) * units,), bias=(0.0,), activation="identity")
    terms = (Product(columns=("x0",), slope=1.0),) * inputs
    return Layers(kind="layers", precision="float64", inputs=terms, layers=(hidden, last))


def _forest(trees: int, depth: int) -> Trees:
    tests = tuple(_predicate() for _ in range(3000))
    nodes = 2**depth - 1

    def children(side: int) -> tuple[int, ...]:
        first = (2 * node + side for node in range(nodes))
        return tuple(child if child < nodes else ~(child - nodes) for child in first)

    grown = tuple(
        ScoreTree(
            tests=tuple(_RNG.integers(len(tests), size=nodes).tolist()), yes=children(1), no=children(2),
            values=tuple(_RNG.normal(size=nodes + 1).tolist()),
        )
        for _ in range(trees)
    )  # fmt: skip
    return Trees(kind="trees", precision="float64", tests=tests, trees=grown)


def documents() -> Iterator[tuple[str, Document]]:
    """Documents of every shape."""
    yield "20 products", _terms(*[Product(columns=("x0",), slope=2.0)] * 20)
    yield "20 products of two columns", _terms(*[Product(columns=("x0", "x1"), slope=2.0)] * 20)
    yield "20 tables of 10", _terms(*[TableTerm(axes=(_axis(9, 0),), table=(1.0,) * 10)] * 20)
    yield "20 tables of 10 000", _terms(*[TableTerm(axes=(_axis(9999, 0),), table=(1.0,) * 10_000)] * 20)
    yield "20 tables of 100 × 100", _terms(*[TableTerm(axes=(_axis(99, 0), _axis(99, 1)), table=(1.0,) * 10_000)] * 20)
    for rules in (20, 1000):
        yield f"{rules} rules of 3 predicates", _terms(*(RuleTerm(rule=_rule(), value=1.0) for _ in range(rules)))
    cases = tuple(Case(rule=_rule(), value=float(number % 3)) for number in range(1000))
    yield "a list of 1 000 rules", RuleList(kind="list", cases=cases, otherwise=0.0)
    for activation in ("identity", "relu", "tanh", "logistic"):
        yield f"20 × 100 units, {activation}", _network(20, 100, activation)
    yield "100 × 100 units, relu", _network(100, 100, "relu")
    yield "4 096 × 1 units, relu", _network(4096, 1, "relu")
    for trees, depth in ((10, 3), (100, 3), (100, 6), (100, 8), (10, 10), (10, 13), (1, 16)):
        yield f"{trees} trees of depth {depth}", _forest(trees, depth)


def main() -> None:
    """Print a line for each document."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    table = Table("document", "measured, ns a record", "supposed", "ratio", title="Scores, one thread")
    with tempfile.TemporaryDirectory() as name:
        records, _ = encoded(Path(name), 2 * CHUNK_RECORDS_MAX)
        for shape, document in documents():
            scores = Scores.compiled(document, records)
            scores.of(records.chunks[0])
            took_s, _ = best_s(partial(scores.of, records.chunks[1]), 3)
            measured = took_s / records.chunks[1].records * 1e9
            supposed = steps_of(document) * STEP_S * 1e9
            table.add_row(shape, f"{measured:,.0f}", f"{supposed:,.0f}", f"{supposed / measured:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
