"""How few people stand behind a declaration: against a slow count over people, and what it offers to merge."""

import random
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import pytest

from holder_service.domain.errors import Conflict, InvalidRequest, NoRecords
from holder_service.records.engines import Engine
from holder_service.records.options import RiskOptions
from holder_service.records.risk import risk_of
from holder_service.services.datasets.risks import risk_of_loaded
from holder_service.storage.datasets import Dataset
from shared.contract.schema import Column, Schema
from testing.encoded_records import encoded_columns

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="town", type="category", categories=("a", "b", "c", "d", "nobody"), nullable=True),
        Column(name="children", type="integer", minimum=0, maximum=9),
        Column(name="income", type="number", nullable=True),
        Column(name="owner", type="boolean"),
        Column(name="good", type="boolean", label=True),
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
        Column(name="age", type="integer", minimum=0, maximum=99, sensitive=True, bands_from=(30, 65)),
    ),
)


def invented(people: int, seed: int) -> dict[str, list[Any]]:
    draw = random.Random(seed)
    return {
        "town": draw.choices(["a", "b", "c", "d", None], [50, 30, 2, 3, 5], k=people),
        "children": [draw.randint(0, 3) for _ in range(people)],
        "income": [draw.choice([None, 10.5, 20.0, 30.25]) for _ in range(people)],
        "owner": [draw.random() < 0.5 for _ in range(people)],
        "good": [draw.random() < 0.5 for _ in range(people)],
        "sex": draw.choices(["F", "M"], k=people),
        "age": [draw.randint(0, 99) for _ in range(people)],
    }


@pytest.mark.parametrize(("people", "weighted"), [(0, False), (1, False), (120, False), (300, False), (90, True)])
def test_it_counts_as_a_walk_over_all_people_does(tmp_path: Path, people: int, weighted: bool) -> None:
    columns = invented(people, people)
    weights = [1 + index % 4 for index in range(people)] if weighted else None
    schema = SCHEMA.model_copy(update={"person_key": None, "people": "n"}) if weighted else SCHEMA
    schema = Schema(person_key=schema.person_key, people=schema.people, columns=SCHEMA.columns)
    quasi = ("town", "children", "income")
    records = encoded_columns(tmp_path, schema, columns, people=weights)

    found = risk_of(records, RiskOptions(quasi=quasi, people_min=5, together=2))

    everybody = [
        dict(zip(columns, row, strict=True))
        for row, times in zip(zip(*columns.values(), strict=True), weights or [1] * people, strict=True)
        for _ in range(times)
    ]
    for person in everybody:
        person["age"] = SCHEMA.by_name["age"].group_value(person["age"])
    assert found.people == len(everybody)
    towns = Counter(person["town"] for person in everybody)
    assert {one.value: one.people for one in found.values if one.column == "town"} == {
        word: towns[word] for word in ("a", "b", "c", "d", "nobody", None)
    }
    bands = Counter(person["age"] for person in everybody)
    assert [one.people for one in found.values if one.column == "age"] == [
        bands[word] for word in SCHEMA.by_name["age"].group_values
    ]
    wanted = [*((name,) for name in quasi), *combinations(quasi, 2), quasi]
    assert [one.columns for one in found.combinations] == wanted
    for one in found.combinations:
        alike: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for person in everybody:
            alike[tuple(person[name] for name in one.columns)].append(person)
        sizes = [len(those) for those in alike.values()]
        assert (one.occupied, one.k) == (len(sizes), min(sizes, default=0))
        assert (one.alone, one.few) == (sizes.count(1), sum(size for size in sizes if size < 5))
        assert one.diversity == {
            name: min((len({person[name] for person in those}) for those in alike.values()), default=0)
            for name in ("sex", "age")
        }


def test_what_to_merge_leaves_no_value_of_few_people(tmp_path: Path) -> None:
    columns = invented(400, 7)
    columns["age"] = [20] * 3 + [40] * 20 + [70] * 377
    found = risk_of(encoded_columns(tmp_path, SCHEMA, columns), RiskOptions(people_min=20))

    towns = Counter(columns["town"])
    merged = {one.column: one for one in found.merges}
    assert set(merged) == {"town", "age"}
    assert set(merged["town"].values) >= {"nobody"}
    assert None not in merged["town"].values
    assert merged["town"].people == sum(towns[word] for word in merged["town"].values) >= 20
    ages = SCHEMA.by_name["age"].group_values
    assert (merged["age"].values, merged["age"].people) == (ages[:2], 23), "a band joins a neighbour"


def test_columns_that_nobody_named_are_said_to_be_left_out(tmp_path: Path) -> None:
    records = encoded_columns(tmp_path, SCHEMA, invented(50, 1))

    found = risk_of(records, RiskOptions(together=1))

    assert found.left_out == ("income",)
    assert [one.columns for one in found.combinations] == [
        ("town",), ("children",), ("owner",), ("town", "children", "owner")
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["nowhere", "sex"])
def test_what_cannot_single_out_somebody_here_is_refused(tmp_path: Path, name: str) -> None:
    records = encoded_columns(tmp_path, SCHEMA, invented(5, 1))

    with pytest.raises(InvalidRequest, match=name):
        risk_of(records, RiskOptions(quasi=(name,)))


def test_too_many_sets_are_refused(tmp_path: Path) -> None:
    schema = Schema(
        person_key="id", columns=tuple(Column(name=f"c{index}", type="boolean") for index in range(60))
    )  # fmt: skip
    records = encoded_columns(tmp_path, schema, {f"c{index}": [True] for index in range(60)})

    with pytest.raises(InvalidRequest, match="--quasi"):
        risk_of(records, RiskOptions(together=4))


def test_printing_what_was_found_shows_no_count(tmp_path: Path) -> None:
    found = risk_of(encoded_columns(tmp_path, SCHEMA, invented(4321, 1)), RiskOptions())

    assert all("people" not in repr(one) for one in (found, *found.values, *found.combinations))


def test_records_on_a_cluster_and_no_records_are_refused() -> None:
    loaded = Dataset(
        name="d", population="d", records_max=10, schema=SCHEMA, retired=False, version=1, version_last=1,
        records_file="0" * 32, people_file=None,
    )  # fmt: skip

    with pytest.raises(Conflict, match="--records"):
        risk_of_loaded(loaded, cast(Engine, object()), RiskOptions())
    with pytest.raises(NoRecords, match="--records"):
        risk_of_loaded(
            Dataset(
                name="d", population="d", records_max=10, schema=SCHEMA, retired=False, version=None, version_last=1,
                records_file=None, people_file=None,
            ),
            cast(Engine, object()), RiskOptions(),
        )  # fmt: skip
