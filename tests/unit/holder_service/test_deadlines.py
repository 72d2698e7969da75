"""The deadline is a public multiple of the quantum, and an overrun waits for a public multiple of it."""

import math
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holder_service.domain.deadlines import (
    AS_SHIPPED,
    NOISE_COUNT_MS,
    PlanSize,
    Work,
    public_time_s,
    release_deadline_s,
    require_bounded,
    work_s,
)
from holder_service.domain.pricing import price
from holder_service.files.set_up_errors import InvalidSettings
from holder_service.learning.learners import LEARNERS
from holder_service.services.running.work_measurement import (
    MARGIN,
    RUNS_MIN,
    Measured,
    TimeShares,
    factors,
    measure,
    read_anew,
)
from holder_service.services.work.measured_requests import plans
from holder_service.services.work.work_factors import read_factors, write_factors
from holder_service.settings.holder import Settings
from shared.kinds.plans import Plan
from shared.wire.limits import RELEASE_S_MAX
from shared.wire.problems import TooLarge
from testing.hostile_plans import SCHEMA

SIZE = PlanSize(
    rules=16, predicates=64, values=8, cuts=16, columns=5, counts={"laplace": 32, "gaussian": 4}, gaussians=1,
    classes=1, words=1, word_columns=5, starts=1,
)  # fmt: skip
sizes = st.builds(
    PlanSize, rules=st.integers(1, 8192), predicates=st.integers(0, 24_576), values=st.integers(0, 65_536),
    cuts=st.integers(0, 100_000), columns=st.integers(0, 1000),
    counts=st.dictionaries(st.sampled_from(sorted(NOISE_COUNT_MS)), st.integers(1, 16_384), min_size=1),
    gaussians=st.integers(0, 16), classes=st.integers(1, 4096), words=st.integers(1, 500),
    word_columns=st.integers(0, 10_000), starts=st.integers(1, 64),
)  # fmt: skip


def deadline_s(size: PlanSize, records_max: int, quantum_ms: int, factors: Work = AS_SHIPPED) -> float:
    """The deadline of a plan that is alone."""
    return release_deadline_s(work_s(size, records_max=records_max, factors=factors), quantum_ms=quantum_ms)


@given(sizes, st.integers(1, 10**9), st.integers(1, 1000))
def test_it_is_a_positive_multiple_of_the_quantum(size: PlanSize, records_max: int, quantum_ms: int) -> None:
    quanta = deadline_s(size, records_max, quantum_ms) * 1000 / quantum_ms

    assert quanta >= 1
    assert quanta == pytest.approx(round(quanta))


@given(sizes, st.integers(1, 10**9), st.sampled_from([field.name for field in fields(PlanSize)]), st.integers(1, 9))
def test_more_of_anything_takes_no_less(size: PlanSize, records_max: int, name: str, factor: int) -> None:
    before = getattr(size, name)
    more = {key: factor * value for key, value in before.items()} if isinstance(before, dict) else factor * before

    larger_size = PlanSize(**{**asdict(size), name: more})
    larger = deadline_s(larger_size, records_max, 25)

    assert larger >= deadline_s(size, records_max, 25)
    assert deadline_s(size, factor * records_max, 25) >= deadline_s(size, records_max, 25)


def test_it_depends_on_the_declared_maximum_of_records() -> None:
    small = deadline_s(SIZE, 10_000, 25)
    large = deadline_s(SIZE, 10_000_000, 25)

    assert small < large


def test_a_slower_machine_takes_longer() -> None:
    slower = Work(**{name: 3.0 * factor for name, factor in asdict(AS_SHIPPED).items()})

    assert deadline_s(SIZE, 10**6, 1, slower) > 2.5 * deadline_s(SIZE, 10**6, 1)


def test_a_plan_s_size_is_what_it_asks() -> None:
    cells = [
        {"id": "a", "any_of": [{"all_of": [{"column": "x1", "op": "le", "value": 1}]}, {"all_of": []}]},
        {"id": "b", "all_of": [{"column": "c0", "op": "in", "values": ["c1", "c2", "c3"]}]},
    ]
    batch = {"name": "1", "mechanism": {"name": "laplace"}, "epsilon": "1", "cells": cells}
    gaussian = {**batch, "name": "2", "mechanism": {"name": "gaussian", "delta": "0.001"}}
    plan = Plan.model_validate({"sensitive": ["sex"], "batches": [batch, gaussian]})

    size = PlanSize.of(price(plan, SCHEMA), 2)

    assert size == PlanSize(
        rules=6, predicates=4, values=6, cuts=8, columns=4, counts={"laplace": 4, "gaussian": 4}, gaussians=1,
        classes=4, words=2, word_columns=4, starts=2,
    )  # fmt: skip


def test_each_batch_begins_to_read_the_records_and_the_derived_columns_that_it_names() -> None:
    def batch(name: str, column: str) -> dict[str, object]:
        cell = {"id": "a", "all_of": [{"column": column, "op": "not_missing"}]}
        return {"name": name, "mechanism": {"name": "laplace"}, "epsilon": "1", "cells": [cell]}

    plan = Plan.model_validate({"sensitive": ["sex"], "batches": [batch("1", "x1"), batch("2", "c0")]})

    def starts(*derived: str) -> int:
        return PlanSize.of(price(plan, SCHEMA), 2, sensitive=plan.sensitive, derived=derived).starts

    assert starts() == 2
    assert starts("c0", "x2") == 3
    assert starts("c0", "sex") == 5


def test_a_plan_that_would_count_for_minutes_is_refused() -> None:
    """Its 8 192 rules name other columns each; about fewer people, or about one column, as many are taken."""
    heavy = replace(SIZE, rules=8192, predicates=24_576, classes=4096, words=385, word_columns=385 * 512)

    require_bounded(heavy, records_max=10_000)
    require_bounded(replace(heavy, word_columns=385), records_max=10**6)
    with pytest.raises(TooLarge, match=f"more than {RELEASE_S_MAX} seconds of work"):
        require_bounded(heavy, records_max=10**6)


def test_without_a_quantum_nothing_waits() -> None:
    assert deadline_s(SIZE, 10**6, 0) == 0.0
    assert public_time_s(begun_s=1.0, period_s=0.0, now_s=4.0) == (4.0, False)


@pytest.mark.parametrize(
    ("elapsed_s", "periods", "overran"), [(0.0, 1, False), (0.125, 1, False), (0.1875, 2, True), (0.375, 4, True)]
)
def test_an_overrun_waits_for_the_double(elapsed_s: float, periods: int, overran: bool) -> None:
    found = public_time_s(begun_s=8.0, period_s=0.125, now_s=8.0 + elapsed_s)

    assert found == (8.0 + periods * 0.125, overran)


# Calibration


def test_a_calibration_divides_its_time_among_the_plans_that_are_left() -> None:
    """A plan that takes longer than its share takes it from the others; some runs of each are made in any case."""
    now_s = [0.0]
    pace = TimeShares(100, plans=4, clock=lambda: now_s[0])

    def runs(run_s: float) -> int:
        number = 0
        for number, _ in enumerate(pace.runs(), start=1):  # noqa: B007 - the last one is the number of runs
            now_s[0] += run_s
        return number

    assert runs(1) == 25
    assert runs(10) == 1 + RUNS_MIN, "60 s, although its share was 25"
    assert runs(1) == 8, "half of the 15 s that are left, and one that began in time"
    assert runs(0.5) == 14


@pytest.mark.slow
def test_a_calibrated_machine_s_deadlines_cover_what_was_measured(tmp_path: Path) -> None:
    found = list(measure(Settings(tmp_path, "", tmp_path / "anchor"), records=(500,), runs=1))

    compared = factors(found)

    named = {one.plan for one in found}
    assert {f"training, {name}" for name in LEARNERS} < named
    assert "64 leaves, laplace, rows" in named, "aggregate tables are measured too"
    assert_covered(found, compared)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def assert_covered(found: Sequence[Measured], compared: Work) -> None:
    for one in found:
        for took in one.took_ms:
            assert took.total <= one.modelled_ms().times(compared).total * (1 + 1e-9)


def invented(start_ms: float, *, pace: float, jitter_ms: float = 0.0) -> list[Measured]:
    """What an engine takes whose counts have a start of their own, and after it so many times the modelled work."""
    found = []
    for number, (name, size) in enumerate({"small": replace(SIZE, words=1), "large": replace(SIZE, words=40)}.items()):
        for records in (20_000, 200_000):
            supposed = Work.modelled_ms(size, records_max=records)
            count_ms = start_ms * size.starts + pace * supposed.counting + jitter_ms * (number % 2)
            took_ms = replace(supposed, starting=0, counting=count_ms, pauses=0)
            found.append(Measured(name, records, [size], [took_ms]))
    return found


@pytest.mark.parametrize(("start_ms", "pace"), [(300.0, 0.5), (0.2, 0.5), (2000.0, 3.0)])
def test_the_start_of_a_count_is_not_taken_for_what_it_reads(start_ms: float, pace: float) -> None:
    """One factor for both would have a count of a hundred times the people wait for a hundred starts."""
    compared = factors(found := invented(start_ms, pace=pace))

    least_ms = min(one.modelled_ms().counting for one in found)
    assert MARGIN * start_ms <= compared.starting <= MARGIN * (start_ms + pace * least_ms)
    assert 0.5 * MARGIN * pace <= compared.counting <= MARGIN * pace
    assert work_s(SIZE, records_max=1, factors=compared) >= MARGIN * start_ms / 1000, "of fewer people too"
    assert_covered(found, compared)


def test_what_a_cluster_s_counts_vary_by_is_not_laid_to_the_records() -> None:
    """Of a plan that reads next to nothing, counts of 250 to 400 milliseconds say nothing of a larger dataset."""
    heavy, light = (replace(SIZE, words=words, columns=columns) for words, columns in ((400, 100), (1, 0)))
    found = []
    for name, size, counts_ms in (("heavy", heavy, (400, 402, 404)), ("light", light, (250, 325, 400))):
        supposed = Work.modelled_ms(size, records_max=10_000)
        took_ms = [replace(supposed, starting=0, counting=count_ms, pauses=0) for count_ms in counts_ms]
        found.append(Measured(name, 10_000, [size], took_ms))
    small = replace(found[1], records=1000, took_ms=[replace(found[1].took_ms[0], counting=300)])

    compared = factors(found := [*found, small])

    assert compared.counting < 2 * MARGIN * 100 / found[0].modelled_ms().counting
    assert_covered(found, compared)


@given(st.floats(0, 3000), st.floats(0.01, 5), st.floats(0, 100))
def test_start_and_count_together_cover_every_plan(start_ms: float, pace: float, jitter_ms: float) -> None:
    found = invented(start_ms, pace=pace, jitter_ms=jitter_ms)

    assert_covered(found, factors(found))


def test_a_job_s_start_does_not_grow_with_the_records() -> None:
    cluster = replace(AS_SHIPPED, starting=1000.0)

    added_s = [
        work_s(SIZE, records_max=records, factors=cluster) - work_s(SIZE, records_max=records)
        for records in (1000, 10**9)
    ]

    assert added_s == pytest.approx([0.999, 0.999])
    twice = work_s(replace(SIZE, starts=2), records_max=1000, factors=cluster)
    assert twice - work_s(SIZE, records_max=1000, factors=cluster) == pytest.approx(1.0)


def test_each_measured_run_works_its_request_out_anew() -> None:
    """A caller's plan comes without what pricing works out of it; a copy that shares it would be priced too fast."""
    request = plans()["64 leaves, laplace"]
    request.require_small()

    again = read_anew(request, 2)

    assert isinstance(request, Plan)
    assert isinstance(again, Plan)
    assert again == request.model_copy(update={"draw": 2})
    assert "predicates" in vars(request.batches[0])
    assert "predicates" not in vars(again.batches[0])


def test_factors_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    assert read_factors(path, engine="local") == AS_SHIPPED
    assert read_factors(path, engine="spark").starting > 100 * AS_SHIPPED.starting
    measured = Work(pricing=0.5, starting=300, counting=2.25, noise=1, writing=3, pauses=1e-3)

    write_factors(path, measured, engine="spark")

    assert read_factors(path, engine="spark") == measured
    assert [one.name for one in tmp_path.iterdir()] == ["calibration.json"]


def test_factors_of_another_engine_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_factors(path, AS_SHIPPED, engine="local")

    with pytest.raises(InvalidSettings, match=r"HOLDER_ENGINE=spark\. Run `holder calibrate` again"):
        read_factors(path, engine="spark")


def test_factors_of_before_are_the_local_engine_s(tmp_path: Path) -> None:
    """They had one for all of a count, its start with it."""
    path = tmp_path / "calibration.json"
    path.write_text('{"pricing": 0.5, "counting": 2.25, "noise": 1, "writing": 3, "pauses": 0.25}')

    found = read_factors(path, engine="local")

    assert found == Work(pricing=0.5, starting=2.25, counting=2.25, noise=1, writing=3, pauses=0.25)
    with pytest.raises(InvalidSettings, match="holder calibrate"):
        read_factors(path, engine="spark")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pricing": 1}', "nan"])
def test_a_file_that_holds_no_factors_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(content)

    with pytest.raises(InvalidSettings, match="holder calibrate"):
        read_factors(path, engine="local")


@pytest.mark.parametrize("factor", [-1.0, math.nan, math.inf])
def test_a_factor_is_a_number_that_time_can_have(factor: float) -> None:
    with pytest.raises(ValueError, match="noise"):
        replace(AS_SHIPPED, noise=factor)
