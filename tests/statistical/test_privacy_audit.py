"""The loss, bounded from outside: releases on neighbouring records never tell more than their charge.

Two registers that differ by one person go through the real loader, proof, count and mechanism. For every
threshold on every count, the frequencies of "at least so many" on either side bound the loss from below
(Clopper and Pearson's limits, at 10⁻⁶ over all thresholds together: the false-alarm rate). 100 000 draws
a side. The twins draw with half the noise, and with the sensitivity of another relation, and are caught.

Source: 2-privacy §9; Ding, Wang, Wang, Zhang, Kifer (2018), Detecting violations of differential privacy.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from holder_service.domain.pricing import price
from holder_service.domain.relations import relation
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.storage.counting import count_cells
from holder_service.storage.records import Records, load_records
from shared.datasets import DatasetDeclaration, Relation
from shared.plans import Plan
from tests.holders import DECLARATION, plan, register_csv

DRAWS = 100_000
FALSE_ALARM = 1e-6
THRESHOLDS = 12

pytestmark = pytest.mark.statistical


def true_counts(folder: Path, content: bytes, asked: Plan) -> npt.NDArray[np.int64]:
    """The counts of a plan's only batch on some records, flat."""
    schema = DatasetDeclaration.model_validate(DECLARATION).table
    source = folder / "records.csv"
    source.write_bytes(content)
    load_records(source, "text/csv", schema, 1000, folder / "encoded")
    classes = price(asked, schema).batches[0].classes
    records = Records.open(folder / "encoded", schema)
    counts = count_cells(records, asked.batches[0].cells, classes, asked.sensitive)
    return counts.reveal_to_mechanism().ravel()


def neighbours(kind: Relation) -> tuple[bytes, bytes]:
    """Two registers that differ by one person, as far as the relation lets them."""
    everybody = register_csv(people=50)
    lines = everybody.splitlines(keepends=True)
    if kind == "add_remove":
        return everybody, b"".join(lines[:-1])
    other = (
        b"p49,100,,low,true,Male,here\n" if lines[-1].split(b",")[5] == b"Female" else b"p49,9,,low,true,Female,here\n"
    )
    return everybody, b"".join([*lines[:-1], other])


def loss_bound(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64], mechanism: LaplaceMechanism) -> float:
    """A lower confidence bound on the loss, from draws on either side, over all counts that differ together.

    The event is a sum over the counts that differ, signed by which side has more: the most telling one.
    """
    changed = np.flatnonzero(one != other)
    sign = np.sign(one - other)[changed]
    draws = [
        sign @ np.array([mechanism.release([int(side[place])] * DRAWS) for place in changed]) for side in (one, other)
    ]
    middle = int(np.median(np.concatenate(draws)))
    alpha = FALSE_ALARM / (2 * THRESHOLDS)
    bounds = []
    for threshold in range(middle, middle + THRESHOLDS):
        hits = [int(np.sum(drawn >= threshold)) for drawn in draws]
        low = stats.beta.ppf(alpha, hits[0], DRAWS - hits[0] + 1)
        high = stats.beta.isf(alpha, hits[1] + 1, DRAWS - hits[1])
        bounds.append(float(np.log(low / high)))
    return max(bounds)


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_the_loss_seen_from_outside_is_at_most_the_charge(tmp_path: Path, kind: Relation, epsilon: str) -> None:
    asked = Plan.model_validate(plan(epsilon=epsilon))
    sides = [true_counts(tmp_path, content, asked) for content in neighbours(kind)]
    mechanism = LaplaceMechanism.calibrated(
        epsilon_nano=asked.batches[0].epsilon, sensitivity=relation(kind).l1(groups=2)
    )

    bound = loss_bound(sides[0], sides[1], mechanism)

    assert 0.2 * float(epsilon) < bound <= float(epsilon), "a bound near zero would show nothing"


@pytest.mark.parametrize(
    ("kind", "factor", "sensitivity"),
    [("add_remove", 2, 1), ("replace", 1, 1)],
    ids=["half the noise", "sensitivity 1 under replace"],
)
def test_too_little_noise_is_caught(tmp_path: Path, kind: Relation, factor: int, sensitivity: int) -> None:
    asked = Plan.model_validate(plan(epsilon="0.5"))
    sides = [true_counts(tmp_path, content, asked) for content in neighbours(kind)]
    faulty = LaplaceMechanism.calibrated(epsilon_nano=asked.batches[0].epsilon * factor, sensitivity=sensitivity)

    assert loss_bound(sides[0], sides[1], faulty) > 0.5
