"""Pairs of registers that differ by one person as far as a neighbouring relation lets them (2-privacy §2).

A count that changes is 1 or 0 for one of them, and `UPPER` or one less for the other: at the ends of its range the
exponential mechanism loses most. The other mechanisms lose the same at any counts.
"""

from dataclasses import dataclass
from typing import Any, Final

from shared.contract.datasets import DatasetDeclaration
from shared.contract.relations import Relation
from shared.kinds.plans import Batch, Plan
from shared.privacy.amounts import DELTA_NANO_MAX

UPPER: Final = 20
"""The largest answer of the exponential mechanism, in people."""
BUDGET: Final = {"epsilon": "999", "delta": "0.9"}
"""Of the auditor, and the cap of the population: about as much as either can be."""

_HEADER: Final = "id,age,sex,origin"
_YOUNG_WOMAN: Final = "20,Female,here"
_YOUNG_MAN: Final = "20,Male,here"
_OLD_MAN: Final = "60,Male,here"
_YOUNG_WOMAN_FROM_THERE: Final = "20,Female,there"
_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
    {"name": "origin", "type": "category", "categories": ["here", "there"], "sensitive": True},
]
_BY_AGE: Final[list[dict[str, Any]]] = [
    {"id": "young", "all_of": [{"column": "age", "op": "le", "value": 40}]},
    {"id": "old", "all_of": [{"column": "age", "op": "gt", "value": 40}]},
]
_BY_ORIGIN: Final[list[dict[str, Any]]] = [
    {"id": "here", "all_of": [{"column": "origin", "op": "eq", "value": "here"}]},
    {"id": "there", "all_of": [{"column": "origin", "op": "eq", "value": "there"}]},
]
# At these ε, 100 000 draws show a tenth more for every mechanism; at smaller ones that takes more of them.
_MECHANISMS: Final[list[dict[str, Any]]] = [
    {"name": "laplace", "mechanism": {"name": "laplace"}, "epsilon": "2"},
    {"name": "gaussian", "mechanism": {"name": "gaussian", "delta": "0.001"}, "epsilon": "8"},
    {"name": "exponential", "mechanism": {"name": "exponential", "upper": UPPER}, "epsilon": "4"},
]
_BY_RHO: Final[dict[str, Any]] = {"name": "gaussian by rho", "mechanism": {"name": "gaussian"}, "rho": "2"}
"""In an account of ρ; the loss that is examined is what it is read as."""
READ_AT_NANO: Final = DELTA_NANO_MAX
"""The δ that ρ is read at, in units of 10⁻⁹."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two registers, and what the person that they differ by is in either.

    Attributes:
        sensitive: The columns that the groups are made of: two groups or four.
        person: The person's values in one register.
        changed: In the other; `None` if absent there.
        crowd: The values of everybody else, so many people less one of each.
        named: Whether the cells are by origin, which is sensitive, and not by age.
    """

    relation: Relation
    sensitive: tuple[str, ...]
    person: str
    changed: str | None
    crowd: tuple[str, ...] = (_OLD_MAN, _YOUNG_MAN)
    named: bool = False

    @property
    def registers(self) -> tuple[bytes, bytes]:
        everybody = [_HEADER]
        for letter, values in zip("oy", self.crowd, strict=False):
            everybody += [f"{letter}{number},{values}" for number in range(UPPER - 1)]
        there = "\n".join([*everybody, f"p,{self.person}", ""])
        elsewhere = "\n".join([*everybody, *([] if self.changed is None else [f"p,{self.changed}"]), ""])
        return there.encode(), elsewhere.encode()

    @property
    def declaration(self) -> DatasetDeclaration:
        """What both are declared as."""
        return DatasetDeclaration.model_validate(self.declaration_document)

    @property
    def declaration_document(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "person_key": "id", "relation": self.relation, "records_max": 1000, "columns": _COLUMNS,
            "cap": BUDGET, **({"sensitive_in_rules": True} if self.named else {}),
        }  # fmt: skip

    @property
    def label(self) -> str:
        return f"{self.relation}, {self.groups}{', sensitive rules' if self.named else ''}"

    @property
    def groups(self) -> int:
        return self.declaration.table.group_count(self.sensitive)

    def plan(self, *, draw: int = 1, runs: int = 0) -> Plan:
        """A plan with a batch for each mechanism, of two disjoint cells; each so many times for independent runs."""
        batches = [{**batch, "cells": self._cells} for batch in _MECHANISMS]
        repeated = [{**batch, "name": f"{batch['name']}-{run}"} for batch in batches for run in range(runs)]
        return Plan.model_validate({"sensitive": self.sensitive, "draw": draw, "batches": repeated or batches})

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches of the plan, and one of Gaussian noise by ρ, which no account in ε and δ takes."""
        return *self.plan().batches, Batch.model_validate({**_BY_RHO, "cells": self._cells})

    @property
    def _cells(self) -> list[dict[str, Any]]:
        return _BY_ORIGIN if self.named else _BY_AGE


EVERY_PAIR: Final = (
    Neighbours("add_remove", ("sex",), _YOUNG_WOMAN, None),
    Neighbours("replace", ("sex",), _YOUNG_WOMAN, _OLD_MAN),
    Neighbours("sensitive_attribute", ("sex",), _YOUNG_WOMAN, _YOUNG_MAN),
    Neighbours("sensitive_attribute", ("sex", "origin"), _YOUNG_WOMAN, _YOUNG_MAN),
    Neighbours(
        "sensitive_attribute",
        ("sex",),
        _YOUNG_WOMAN,
        _YOUNG_WOMAN_FROM_THERE,
        crowd=(_YOUNG_WOMAN_FROM_THERE, _YOUNG_MAN),
        named=True,
    ),
)
