"""The three trees that the paper's experiment 1 arrived at, over the columns of the public data (1-method §5)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from auditor_client.models.tree import Branch, Leaf, Node, Split, Tree
from holder_service.records.encoded import Records, load_records
from pafer_demo.open_data import LOADERS
from shared.contract.rules import Predicate
from shared.contract.schema import Schema


@dataclass(frozen=True, slots=True)
class PublishedTree:
    """A tree and what the paper found with it.

    Attributes:
        dataset: The dataset's name, as `pafer_demo.open_data.LOADERS` has it.
        tree: The tree; its favourable leaves are the published rules.
        parity: The true SP of the test part by sensitive columns: the nine values of the paper's Table 4.
    """

    dataset: str
    tree: Tree
    parity: dict[tuple[str, ...], float]

    def opened(self, folder: Path) -> tuple[Records, Schema]:
        """The test part of its open data, loaded by the holder's own code into a folder."""
        data = LOADERS[self.dataset](None)
        schema = data.declaration.table
        source, destination = folder / f"{self.dataset}.csv", folder / self.dataset
        data.write_csv(source)
        load_records(source, "text/csv", schema, data.declaration.records_max, destination)
        return Records.open(destination, schema), schema


def _accept(name: str) -> Leaf:
    return Leaf(name, "accepted", favourable=True)


def _refuse(name: str) -> Leaf:
    return Leaf(name, "refused", favourable=False)


def _is(column: str, value: str | int, yes: Node, no: Node) -> Split:
    """A split into those whose value is the one named, and the others."""
    return Split(
        f"{column} is {value}",
        (
            Branch((Predicate(column=column, op="eq", value=value),), yes),
            Branch((Predicate(column=column, op="ne", value=value),), no),
        ),
    )


def _at_most(column: str, value: float, yes: Node, no: Node) -> Split:
    """A split at a threshold."""
    return Split(
        f"{column} at most {value}",
        (
            Branch((Predicate(column=column, op="le", value=value),), yes),
            Branch((Predicate(column=column, op="gt", value=value),), no),
        ),
    )


_ADULT: Final = _is(
    "marital-status",
    "Married-civ-spouse",
    _at_most(
        "education-num",
        12.5,
        _at_most("capital-gain", 5095.5, _refuse("married, gain small"), _accept("married, gain large")),
        _accept("married, educated"),
    ),
    _at_most("capital-gain", 7073.5, _refuse("unmarried, gain small"), _accept("unmarried, gain large")),
)

_COMPAS: Final = _is(
    "out_custody_year",
    2013,
    _at_most(
        "priors_count",
        1.5,
        _accept("2013, few priors"),
        _at_most("decile_score", 5.5, _accept("2013, priors, low score"), _refuse("2013, priors, high score")),
    ),
    _at_most(
        "decile_score",
        4.5,
        _is(
            "out_custody_year",
            2014,
            _at_most("priors_count", 1.5, _accept("2014, few priors"), _refuse("2014, priors")),
            _refuse("other years, low score"),
        ),
        _refuse("other years, high score"),
    ),
)

_GERMAN: Final = _is(
    "checking_account",
    "A14",
    _accept("no account"),
    _at_most(
        "duration",
        33,
        _is(
            "purpose",
            "A40",
            _is("credit_history", "A34", _accept("new car, good history"), _refuse("new car")),
            _accept("short, no new car"),
        ),
        _refuse("long"),
    ),
)

PUBLISHED_TREES: Final = (
    PublishedTree("adult", Tree(_ADULT), {("ethnicity",): 0.6465, ("sex",): 0.3023, ("sex", "ethnicity"): 0.2280}),
    PublishedTree("compas", Tree(_COMPAS), {("ethnicity",): 0.7792, ("sex",): 0.8452, ("sex", "ethnicity"): 0.7194}),
    PublishedTree("german", Tree(_GERMAN), {("ethnicity",): 0.8985, ("sex",): 0.8956, ("sex", "ethnicity"): 0.7817}),
)
