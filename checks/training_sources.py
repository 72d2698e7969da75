"""What is claimed of the two published private and fair learners, beside what search finds (7-training §3).

`python -m checks.training_sources [--people 5] [--seed 0]`

Each line is a figure of the sources or of ours. *published* is the sources' figure. *found* is the largest that
exhaustive search finds among neighbouring registers of up to `--people` people, or what was computed. *bound* is what
is proven, in the same unit. A figure that is not what the page says of it, or a bound that a register exceeds, fails
the check. The line about Adult needs the public data (`./run data`) and is left out without them.

Nothing here is private, and no learner of the holder takes a published constant.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from holder_service.learning.coordinates import Coordinates
from holder_service.learning.pflr import FAIRNESS_UNIT, OBJECTIVE_UNIT, steps
from holder_service.learning.quadratic import minimiser, penalised_minimiser
from pafer_demo.open_data import adult, data_directory
from testing.invented.trainings import SCHEMA, training

FloatArray = npt.NDArray[np.float64]
Vector = tuple[Fraction, ...]
HALF: Final = Fraction(1, 2)
ROUNDING: Final = 1e-9


class Person(NamedTuple):
    """What the sources know of one."""

    x: Vector
    s: int
    y: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """A figure and what stands beside it; `None` where there is none.

    Attributes:
        of: What it is.
        published: The sources'.
        found: What search or computation gives.
        bound: What is proven; no register may exceed it.
        holds: Whether what docs/training-sources.md says of it is so.
    """

    of: str
    published: float | None
    found: float
    bound: float | None
    holds: bool


Statistic = Callable[[Sequence[Person]], Vector]


def covariances(people: Sequence[Person]) -> Vector:
    """Σ (s − s̄) x, coordinate by coordinate; s̄ is that of these people."""
    if not people:
        return ()
    mean = Fraction(sum(one.s for one in people), len(people))
    return tuple(
        sum(((one.s - mean) * value for one, value in zip(people, column, strict=True)), Fraction(0))
        for column in zip(*(one.x for one in people), strict=True)
    )


def halves(people: Sequence[Person]) -> Vector:
    """Σ (s − ½) x and Σ (s − ½): what the holder measures in position of it."""
    return added((*((one.s - HALF) * value for value in one.x), one.s - HALF) for one in people)


def polynomial(people: Sequence[Person]) -> Vector:
    """The published coefficients of degree 1 and 2: every ordered pair of coordinates."""
    return added(
        (*((HALF - one.y) * value for value in one.x), *(a * b / 8 for a, b in itertools.product(one.x, repeat=2)))
        for one in people
    )


def polynomial_once(people: Sequence[Person]) -> Vector:
    """The same with each unordered pair once."""
    return added(
        (
            *((HALF - one.y) * value for value in one.x),
            *(a * b / 8 for a, b in itertools.combinations_with_replacement(one.x, 2)),
        )
        for one in people
    )


def with_covariances(people: Sequence[Person]) -> Vector:
    """PFLR's, α being 1: the polynomial and the covariances beside it."""
    return (*polynomial(people), *covariances(people))


def added(rows: Iterator[Vector]) -> Vector:
    """Coordinate by coordinate."""
    return tuple(sum(column, Fraction(0)) for column in zip(*rows, strict=True))


def largest_change(statistic: Statistic, kinds: Sequence[Person], people: int, relation: str) -> Fraction:
    """The largest L1 change between neighbours, over every register of 2 to `people` people of these kinds."""
    largest = Fraction(0)
    for size in range(2, people + 1):
        for rest in itertools.combinations_with_replacement(kinds, size - 1):
            values = [statistic((*rest, one)) for one in kinds]
            if relation == "add_remove":
                pairs = [(value, statistic(rest)) for value in values]
            else:
                pairs = list(itertools.combinations(values, 2))
            largest = max([largest, *(distance(*pair) for pair in pairs)])
    return largest


def distance(one: Vector, other: Vector) -> Fraction:
    """In L1."""
    return sum((abs(a - b) for a, b in zip(one, other, strict=True)), Fraction(0))


def kinds_of_people(d: int, positions: Sequence[Fraction] = (Fraction(0), Fraction(1))) -> list[Person]:
    """All that d coordinates at some positions, s and y distinguish."""
    return [
        Person(x, s, y) for x in itertools.product(positions, repeat=d) for s, y in itertools.product((0, 1), repeat=2)
    ]


def covariance_lines(people: int) -> Iterator[Line]:
    """Δ_g, for one coordinate and for two; what becomes of the terms of those who did not change."""
    for d, positions in ((1, (Fraction(0), HALF, Fraction(1))), (2, (Fraction(0), Fraction(1)))):
        kinds = [one for one in kinds_of_people(d, positions) if one.y == 0]
        size = people if d == 1 else min(people, 4)
        for relation in ("replace", "add_remove"):
            found = largest_change(covariances, kinds, size, relation)
            proven = Fraction(d * (size - 1), size)
            yield Line(f"Δ_g, d = {d}, {relation}, s̄ moving", 2 * d, float(found), d, found == proven)
        for relation, bound in (("replace", d + 1), ("add_remove", Fraction(d + 1, 2))):
            found = largest_change(halves, kinds, 2, relation)
            yield Line(
                f"the same around ½, with the mean's own, {relation}", None, float(found), float(bound), found == bound
            )
    moved = largest_move_of_others(people)
    yield Line(
        "of it in terms of those who did not change", 0, float(moved), None, moved == Fraction(people - 1, people)
    )


def largest_move_of_others(people: int) -> Fraction:
    """By how much the terms (s − s̄) x of all but one change together when that one is replaced; d = 1."""
    kinds = [Person((Fraction(x),), s) for x in (0, 1) for s in (0, 1)]
    moves = []
    for rest in itertools.combinations_with_replacement(kinds, people - 1):
        total, at_one = sum(one.x[0] for one in rest), sum(one.s for one in rest)
        means = [Fraction(at_one + s, people) for s in (0, 1)]
        moves.append(abs(means[1] - means[0]) * total)
    return max(moves)


def polynomial_lines() -> Iterator[Line]:
    """Δ_f; sums are linear in people, so registers of two are enough."""
    for d in (1, 2, 3):
        kinds = [one for one in kinds_of_people(d) if one.s == 0]
        published = d * d / 4 + d
        once = d / 2 + d * (d + 1) / 16
        for relation, times in (("replace", 2), ("add_remove", 1)):
            found = largest_change(polynomial, kinds, 2, relation)
            yield Line(f"Δ_f, d = {d}, {relation}", published, float(found), None, found <= published)
            found = largest_change(polynomial_once, kinds, 2, relation)
            attained = relation == "replace" or found == once
            yield Line("the same, each pair once", None, float(found), times * once, found <= times * once and attained)


def joint_lines(people: int) -> Iterator[Line]:
    """PFLR's sensitivity, α being 1."""
    for d in (1, 2):
        for relation, times in (("replace", 2), ("add_remove", 1)):
            found = largest_change(with_covariances, kinds_of_people(d), min(people, 3), relation)
            yield Line(
                f"Δ of PFLR, d = {d}, {relation}", d * d / 4 + 3 * d, float(found), times * (d / 2 + d * d / 8) + d,
                found <= times * (d / 2 + d * d / 8) + d,
            )  # fmt: skip


def holder_lines() -> Iterator[Line]:
    """What the holder announces for four features, which are seven coordinates with that of everybody."""
    asked = training({"name": "pflr"})
    objective, fairness = steps(asked, SCHEMA)
    d = Coordinates.of(asked, SCHEMA).size
    for relation, times in (("replace", 2), ("add_remove", 1)):
        for of, step, unit, published in (
            ("Δ_f", objective, OBJECTIVE_UNIT, d * d / 4 + d),
            ("Δ_g", fairness, FAIRNESS_UNIT, 2 * d),
        ):
            announced = times * step.sensitivity / unit
            yield Line(
                f"{of} that the holder announces, {d} coordinates, {relation}",
                published,
                announced,
                None,
                announced <= published / 2,
            )


def entropy(having: int, people: int) -> float:
    """Of a label, in bits."""
    parts = [part / people for part in (having, people - having) if part]
    return -sum(part * float(np.log2(part)) for part in parts)


def entropy_lines() -> Iterator[Line]:
    """How far one person who comes moves the entropy of n people's labels; a count moves by 1 whatever n is."""
    for people in (1, 10, 100, 1000, 10_000):
        found = max(
            abs(entropy(having + more, people + 1) - entropy(having, people))
            for having in range(people + 1)
            for more in (0, 1)
        )
        order = (np.log2(people + 1) + 3) / (people + 1)
        yield Line(f"entropy of {people} people, one more comes, bits", None, found, float(order), found <= order)
        if people > 1:
            above = found * people
            yield Line("the same times the number of people", None, above, None, above > 1)


def pair_lines(people: int) -> Iterator[Line]:
    """How far one person moves the number of pairs of similar people."""
    positions = (0.0, 0.5, 1.0)
    for size in range(2, people + 1):
        found = max(
            sum(abs(one - other) <= 0.5 for one in rest)
            for rest in itertools.combinations_with_replacement(positions, size - 1)
            for other in positions
        )
        yield Line(f"similar pairs of {size} people, one comes", None, found, None, found == size - 1)


def form_lines(seed: int) -> Iterator[Line]:
    """How often the noisy form with the published noise is not positive definite: 20 coordinates, 200 draws."""
    rng, d = np.random.default_rng(seed), 20
    for people, epsilon in ((1000, 0.1), (1000, 1.0), (30_000, 0.1), (30_000, 1.0)):
        x = rng.random((people, d))
        form = x.T @ x / 8
        scale = (d * d / 4 + d) / epsilon
        indefinite = 0
        for _ in range(200):
            noise = np.triu(rng.laplace(scale=scale, size=(d, d)))
            noisy = form + noise + np.triu(noise, 1).T
            indefinite += bool(np.linalg.eigvalsh(noisy)[0] <= 0)
        claimed = people > 1000 or indefinite > 0
        yield Line(
            f"share of forms with no minimum, {people} people, ε = {epsilon}", None, indefinite / 200, None, claimed
        )


def invented_register(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """4000 people whose feature depends on s, and the label on the feature: x, s and y."""
    rng = np.random.default_rng(seed)
    s = (rng.random(4000) < 0.6).astype(float)
    feature = np.clip(rng.normal(0.4 + 0.2 * s, 0.2), 0, 1)
    y = (rng.random(4000) < feature).astype(float)
    return np.column_stack([np.ones(4000), feature]), s, y


def direction_lines(seed: int) -> Iterator[Line]:
    """The difference in acceptance without any noise: PFLR* with s for one group or for the other."""
    x, s, y = invented_register(seed)
    form, linear = x.T @ x / 8, (0.5 - y) @ x

    def difference(weights: FloatArray) -> float:
        accepted = x @ weights >= 0
        return abs(float(accepted[s == 1].mean() - accepted[s == 0].mean()))

    covariance = (s - s.mean()) @ x
    plain = difference(minimiser(form, linear, ridge=0))
    lowered = difference(minimiser(form, linear + covariance, ridge=0))
    raised = difference(minimiser(form, linear - covariance, ridge=0))
    penalised = [
        difference(penalised_minimiser(form, linear, sign * covariance, ridge=0, penalty=1, threshold=0))
        for sign in (1, -1)
    ]
    yield Line("difference of acceptance, no noise, no fairness", None, plain, None, plain > 0)
    yield Line("PFLR*, s = 1 for the favoured group", None, lowered, None, lowered < plain)
    yield Line("PFLR*, s = 1 for the other group", None, raised, None, raised > lowered)
    yield Line("PFLR, α = 1, either way", None, penalised[0], None, abs(penalised[0] - penalised[1]) < ROUNDING)


def headline_lines() -> Iterator[Line]:
    """The accuracy of PFLR* on Adult at ε = 0.1 as published, and of always saying no, on the part for tests."""
    if data_directory() is None:
        return
    high = adult().test.column("income_high").to_numpy()
    accuracy = 100 * float(1 - high.mean())
    yield Line("accuracy on Adult, %: the constant no", 74.91, accuracy, None, accuracy > 74.91)
    yield Line("risk difference, %: the constant no", 0.28, 0.0, None, True)
    yield Line("balanced accuracy, %, and AUC, %: the constant no", None, 50.0, None, True)


def lines(people: int, seed: int) -> Iterator[Line]:
    """All of them."""
    yield from covariance_lines(people)
    yield from polynomial_lines()
    yield from joint_lines(people)
    yield from holder_lines()
    yield from form_lines(seed)
    yield from headline_lines()
    yield from entropy_lines()
    yield from pair_lines(people)
    yield from direction_lines(seed)


def broken(line: Line) -> bool:
    """Whether what is said of a figure is not so, or something exceeds the bound that is used."""
    return not line.holds or (line.bound is not None and line.found > line.bound + ROUNDING)


def main(given: Sequence[str] | None = None) -> None:
    """Print the table.

    Raises:
        SystemExit: A figure is not what is said of it, or exceeds the bound that is used.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--people", type=int, default=5, help="the largest registers that are searched")
    parser.add_argument("--seed", type=int, default=0, help="of what is invented")
    arguments = parser.parse_args(given)
    print(f"{'':<72}{'published':>10}{'found':>10}{'bound':>10}")
    failed = []
    for line in lines(arguments.people, arguments.seed):
        figures = ("" if one is None else f"{one:.4g}" for one in (line.published, line.found, line.bound))
        print(f"{line.of:<72}" + "".join(f"{one:>10}" for one in figures))
        failed += [line.of] if broken(line) else []
    if failed:
        raise SystemExit(f"Not as it is said: {'; '.join(failed)}.")


if __name__ == "__main__":
    main()
