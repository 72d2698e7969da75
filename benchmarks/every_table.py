"""What one answer by two sensitive columns gives in every table, against an audit for each table.

`python -m benchmarks.every_table [--epsilon 0.1] [--people 20000] [--runs 200] [--seed 1]`

Invented people of two sexes and four origins, by the holder's own noise and the client's own reading. One answer by
both columns at ε, and three audits at ε/3: by sex, by origin and by both. For each table the standard deviation of the
noise on a group's count, as it was drawn, and the mean width of the ratio's interval and mean error of its value.

Then how often intervals by sex hold where most of the finer groups are nearly empty: of the ratio, of the groups' rates
and of their sizes; as the page has them, and as the draws of the finer groups alone would have them, which is the
control: a prior on each of many empty groups is no prior on their sum.
"""

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from auditor_client.asking.request import PARITY
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.results import ParityEstimate
from auditor_client.findings.answers import Rate, RateCounts
from auditor_client.findings.coarser import members_of
from auditor_client.findings.insight import parity_of
from auditor_client.findings.reading import Reading
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.contract.schema import Column, Schema
from shared.privacy.amounts import parse_nano
from testing.many_releases import released
from testing.truths import holds, true_parity

READING: Final = Reading()
ROW: Final = "{:<12} {:<28} {:>10} {:>8} {:>8}"
SPARSE: Final = (((2, 4), 20_000), ((2, 7), 2_000), ((2, 20), 2_000), ((2, 7, 3), 2_000), ((2, 7, 3), 20_000))


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Accepted and refused people of every group by all columns, shape (K,) each."""

    schema: Schema
    accepted: IntArray
    refused: IntArray

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.schema.sensitive

    def by(self, columns: tuple[str, ...]) -> tuple[IntArray, IntArray]:
        """Accepted and refused people of every group by some columns."""
        members = np.array(members_of(self.schema, self.columns, columns))
        return self.accepted[members].sum(axis=1), self.refused[members].sum(axis=1)


def invented(values: tuple[int, ...], people: int, rng: np.random.Generator, *, spread: float) -> People:
    """People of columns with so many values; the smaller the spread, the more unequal the groups."""
    columns = tuple(
        Column(name=f"c{index}", type="category", categories=tuple(map(str, range(number))), sensitive=True)
        for index, number in enumerate(values)
    )
    shares = np.ones(1)
    for number in values:
        shares = np.multiply.outer(shares, rng.dirichlet(np.full(number, spread))).ravel()
    sizes = rng.multinomial(people, shares)
    rates = rng.uniform(0.2, 0.7) * rng.uniform(0.7, 1.1, len(sizes))
    accepted = rng.binomial(sizes, rates)
    return People(Schema(person_key="id", columns=columns), accepted, sizes - accepted)


def answers(counts: tuple[IntArray, IntArray], epsilon_nano: int, runs: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Noisy counts of releases by the holder's own mechanism."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1)
    yield from zip(*(released(mechanism, part[None], runs)[:, 0] for part in counts), strict=True)


def measured(schema: Schema, columns: tuple[str, ...], counts: tuple[IntArray, IntArray], nano: int) -> Measurement:
    """One release by some columns, as estimators see it."""
    noise = LaplaceMechanism.calibrated(epsilon_nano=nano, sensitivity=1).noise
    accepted, refused = (NoisyCounts.of([part.tolist()], noise) for part in counts)
    return Measurement(schema.groups(columns), accepted, refused, "unfavourable")


def table(joint: Measurement, schema: Schema, columns: tuple[str, ...]) -> Measurement:
    """The same answer by some of the columns."""
    return joint.added_up(schema.groups(columns), members_of(schema, schema.sensitive, columns), columns)


def read(measurement: Measurement) -> ParityEstimate:
    """The figures as audits have them."""
    counts = {Rate.ACCEPTANCE: RateCounts(measurement, (), ())}
    return parity_of(READING.estimate(PARITY, counts, None), Rate.ACCEPTANCE)


def compare(people: People, epsilon_nano: int, runs: int) -> None:
    """Print a line for each table and each way of asking."""
    schema, both = people.schema, people.columns
    joint = [measured(schema, both, noisy, epsilon_nano) for noisy in answers(people.by(both), epsilon_nano, runs)]
    print(ROW.format("table", "asked", "noise", "width", "error"))
    for columns in ((both[0],), (both[1],), both):
        accepted, refused = people.by(columns)
        truth = true_parity(accepted / (accepted + refused))[0]
        of_joint = joint if columns == both else [table(one, schema, columns) for one in joint]
        of_three = [
            measured(schema, columns, noisy, epsilon_nano // 3)
            for noisy in answers((accepted, refused), epsilon_nano // 3, runs)
        ]
        deviations = []
        for words, releases in (("one answer at ε", of_joint), ("one of three at ε/3", of_three)):
            deviations.append(np.std([one.favourable.totals - accepted for one in releases]))
            ratios = [read(one).ratio for one in releases]
            width, error = (np.mean([one.width for one in ratios]), np.mean([abs(one.value - truth) for one in ratios]))
            print(ROW.format("+".join(columns), words, f"{deviations[-1]:.1f}", f"{width:.4f}", f"{error:.4f}"))
        print(ROW.format("", "noise, one divided by other", f"{deviations[0] / deviations[1]:.2f}", "", ""))


def coverage(values: tuple[int, ...], people: int, epsilon_nano: int, runs: int, seed: int) -> None:
    """Print how often intervals by the first column hold, over several registers."""
    held: dict[str, list[list[bool]]] = {"as shown": [], "draws alone": []}
    registers = 8
    for number in range(registers):
        invented_people = invented(values, people, np.random.default_rng((seed, number)), spread=1.0)
        schema, first = invented_people.schema, invented_people.columns[:1]
        accepted, refused = invented_people.by(first)
        sizes = accepted + refused
        rates = accepted / sizes
        for noisy in answers(invented_people.by(invented_people.columns), epsilon_nano, runs // registers):
            coarse = table(measured(schema, invented_people.columns, noisy, epsilon_nano), schema, first)
            for words, found in (("as shown", read(coarse)), ("draws alone", estimate_parity(coarse))):
                held[words].append(
                    [
                        holds(found.ratio, true_parity(rates)[0]),
                        *(holds(group.rate, rate) for group, rate in zip(found.groups, rates, strict=True)),
                        *(holds(group.size, size) for group, size in zip(found.groups, sizes, strict=True)),
                    ]
                )
    for words, all_held in held.items():
        shares, groups = np.mean(all_held, axis=0), values[0]
        parts = itertools.pairwise((0, 1, 1 + groups, 1 + 2 * groups))
        cells = [f"{100 * shares[start:end].mean():.1f}%" for start, end in parts]
        print(ROW.format("×".join(map(str, values)), f"{people} people, {words}", *cells))


def main() -> None:
    """Print both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    nano, rng = parse_nano(options.epsilon), np.random.default_rng(options.seed)
    compare(invented((2, 4), options.people, rng, spread=5.0), nano, options.runs)
    print(ROW.format("\nby the first", "intervals that hold", "ratio", "rates", "sizes"))
    for values, people in SPARSE:
        coverage(values, people, nano, options.runs, options.seed)


if __name__ == "__main__":
    main()
