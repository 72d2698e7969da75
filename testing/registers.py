"""The small register that most tests ask about: declared, described, as records, and plans about it."""

import io
import random
from collections.abc import Sequence
from typing import Any, Final

from shared.contract.datasets import DatasetDescription, Limits
from shared.contract.schema import Column
from shared.wire.canonical import sha256_name

DECLARATION: Final[dict[str, Any]] = {
    "person_key": "id",
    "cap": {"epsilon": "100", "delta": "0"},
    "records_max": 10_000,
    "columns": [
        {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
        {"name": "hours", "type": "number", "nullable": True},
        {"name": "education", "type": "category", "categories": ["low", "middle", "high"]},
        {"name": "citizen", "type": "boolean"},
        {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
        {"name": "origin", "type": "category", "categories": ["here", "there"], "sensitive": True, "nullable": True},
    ],
}

REGISTER: Final = DatasetDescription(
    name="register",
    population="register",
    relation="add_remove",
    version=1,
    person_key="id",
    columns=tuple(Column.model_validate(column) for column in DECLARATION["columns"]),
    sensitive=("sex", "origin"),
    mechanisms=("laplace", "gaussian", "exponential"),
    records_max=10_000,
    release_quantum_ms=0,
    limits=Limits(),
)
"""As the holder describes it to an auditor."""

LOANS: Final = REGISTER.model_copy(
    update={
        "version": 3,
        "trainings": ("fair_tree", "private_fair_tree", "pflr", "pflr_star", "fair_linear"),
        "columns": (
            *REGISTER.columns,
            Column(name="region", type="category", categories=("North", "South", "East")),
            Column(name="marital status", type="category", categories=("single", "married and well", "in a home")),
            Column(name="repaid", type="boolean", label=True),
        ),
    }
)
"""With a label, and categories whose names are no words."""


def register_csv(*, people: int = 300, seed: int = 0) -> bytes:
    """The register's records as CSV; the same for the same seed."""
    source = random.Random(seed)
    lines = io.StringIO()
    lines.write("id,age,hours,education,citizen,sex,origin\n")
    for person in range(people):
        hours = "" if source.random() < 0.1 else f"{source.uniform(0, 60):.2f}"
        education = source.choice(["low", "middle", "high"])
        citizen = source.choice(["true", "false"])
        sex, origin = source.choice(["Female", "Male"]), source.choice(["here", "there", ""])
        lines.write(f"p{person},{source.randint(0, 120)},{hours},{education},{citizen},{sex},{origin}\n")
    return lines.getvalue().encode()


def plan(
    *,
    epsilon: str = "0.1",
    age: float = 40,
    cells: Sequence[dict[str, Any]] | None = None,
    mechanism: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A plan of one batch by sex: of two disjoint cells, or of other ones."""
    if cells is None:
        cells = [
            {"id": "young", "all_of": [{"column": "age", "op": "le", "value": age}]},
            {"id": "old", "all_of": [{"column": "age", "op": "gt", "value": age}]},
        ]
    mechanism = mechanism or {"name": "laplace"}
    loss = {} if mechanism["name"] == "randomised_response" else {"epsilon": epsilon}
    batch = {"name": "verdict", "mechanism": mechanism, **loss, "cells": list(cells)}
    return {"sensitive": ["sex"], "batches": [batch], **fields}


def numbered_plan(number: int, *, epsilon: str = "0.001") -> dict[str, Any]:
    """Another plan for each number."""
    return plan(epsilon=epsilon, draw=number % 1000 + 1, age=number // 1000)


def watch(*, epsilon: str = "1", age: float = 40, **fields: Any) -> dict[str, Any]:
    """A watch over a decision by age alone, between women and men."""
    cells = plan(age=age)["batches"][0]["cells"]
    return {
        "sensitive": ["sex"], "favourable": cells[0], "unfavourable": cells[1], "threshold": "0.8",
        "verdict": "meets", "epsilon": epsilon, **fields,
    }  # fmt: skip


def numbered_watch(number: int, *, epsilon: str = "0.001") -> dict[str, Any]:
    """Another watch for each number, which says as good as never that anything changed."""
    return watch(epsilon=epsilon, draw=number % 1000 + 1, age=number // 1000, margin=-1_000_000)


EVERYBODY: Final[dict[str, Any]] = {"id": "everybody", "all_of": []}
"""The cell that all people are in."""


def linked_values(records: bytes, *, known: float = 1.0, decision: str = "granted") -> bytes:
    """A decision for each person of a register as CSV, every third one another; a share of the keys is the register's.

    The file has the same size whatever the share is.
    """
    keys = [line.split(",")[0] for line in records.decode().splitlines()[1:]]
    first_unknown = round(known * len(keys))
    lines = ["id,value"]
    for number, key in enumerate(keys):
        named = key if number < first_unknown else key.replace(key[0], "?", 1)
        lines.append(f"{named},{'refused' if number % 3 == 0 else decision}")
    return "".join(f"{line}\n" for line in lines).encode()


def linked_column(values: bytes, *, name: str = "decision") -> dict[str, Any]:
    """The linked column of such a file, as it is asked for."""
    return {
        "name": name, "type": "category", "categories": ["granted", "refused"], "nullable": True, "from": "linked",
        "values": sha256_name(values),
    }  # fmt: skip


LEARNABLE: Final[dict[str, Any]] = {
    **DECLARATION,
    "columns": [*DECLARATION["columns"], {"name": "repaid", "type": "boolean", "label": True}],
}
"""The register with a label, which a model can be learned to predict."""


def learnable_csv(*, people: int = 300, seed: int = 0) -> bytes:
    """Its records: who is older than 50, or works more than 40 hours, mostly repaid."""
    source = random.Random(seed)
    header, *lines = register_csv(people=people, seed=seed).decode().splitlines()
    labelled = [f"{header},repaid"]
    for line in lines:
        _, age, hours, *_ = line.split(",")
        likely = 0.9 if int(age) > 50 or float(hours or 0) > 40 else 0.2
        labelled.append(f"{line},{'true' if source.random() < likely else 'false'}")
    return "".join(f"{line}\n" for line in labelled).encode()


def training(*, epsilon: str = "1", depth: int = 2, **fields: Any) -> dict[str, Any]:
    """A training about it: a tree by all kinds of features, one of which may be missing."""
    return {
        "algorithm": {"name": "fair_tree", "depth": depth}, "label": "repaid", "sensitive": ["sex"],
        "features": [
            {"column": "age", "cuts": [25, 50, 75]}, {"column": "hours", "cuts": [20, 40]}, {"column": "education"},
            {"column": "citizen"},
        ],
        "epsilon": epsilon, **fields,
    }  # fmt: skip


def numbered_training(number: int, *, epsilon: str = "0.001") -> dict[str, Any]:
    """Another training for each number, of two levels."""
    features = [{"column": "age", "cuts": [number // 1000 + 1]}, {"column": "hours", "cuts": [30]}]
    return training(epsilon=epsilon, features=features, draw=number % 1000 + 1)
