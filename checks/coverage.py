"""How often 95 % intervals hold the truth, beyond the ratio of the published analyses (3-estimation §4).

`python -m checks.coverage [--runs 2000] [--registers 200] [--first 0] [--only registers,odds,…] [--workers 2]`

Registers are invented: 2 to 8 groups of 5 to 5 000 people, rates from nobody to everybody, two to eight
rules. Each is released `--runs` times by the holder's own mechanism at one ε of .05 to .5, by one strategy,
and every release is estimated:

- `registers`: the ratio and the difference, additive noise, strategies `verdict`, `rules` and `pafer`;
- `scattered`: the same of 2 to 16 groups of 1 to 5 000 people, with up to 64 rules; and `alike`: of 2 to 16 groups
  of one size and one rate, where the truth is at the upper end of the ratio, `alike-forecast` with a forecast's draws;
- `pairs`: the ratio and the difference of the two groups that the headline names, by turns of groups alike, and of 2 to
  16 groups of 1 to 5 000 people; the truth is that of the pair named in the same release;
- `odds`: equalized odds from two such registers, one for either label;
- `shares`: the shares of the rules in the disparity of the two extreme groups, all intervals counted; and
  `supported-shares` with exact supports;
- `population`: ratio and difference of the population that the people were drawn from, drawn anew each time;
- `supports`: with exact numbers of people, K = 2 to 4, and with one of two groups counted;
- `joint`: all intervals of a joint report at once, and all its verdicts, of registers of 2 to 16 groups of 1 to 5 000
  people;
- `judged`: ratio and difference of the groups that are large enough, with groups right at the cut, as
  `testing.invented.registers.judged_register` makes them; the truth is that of the groups judged in the same release;
- `joined`: ratio and difference from several answers about the same people that together cost ε, of registers of 2 to
  16 groups of 1 to 5 000 people, as `checks.coverage_of_joined` asks them; and how often no verdict at 0.8 is wrong;
- `known-totals`: with the groups' sizes known, exactly or within bounds or of some groups, K = 2 to 16 of 1 to 5 000
  people; and with exact supports too;
- `exponential`, `empty-rules` and `reports`: the exponential mechanism's answers, the same with twenty empty rules
  in addition to the others, and randomised responses;
- `comparisons`: the change of ratio and difference from one model to another that one question asked about, of
  registers of 2 to 16 groups of 1 to 5 000 people;
- `adverse`: the adverse ratio, the difference and the verdict of registers in which hardly anybody has the adverse
  outcome, as `checks.coverage_of_adverse` makes them; the specification has 60 of them: `--registers 60 --worst 8`;
- `chains`: all intervals of a chain of decisions at once, of 2 to 6 groups of 300 to 200 000 people and 2 to 5 stages;
  and how often the step that is said to make the difference is the one that does;
- `scores` and `strata`: what bands of a score say, and conditional parity, one by one and together.

A line has the least and the mean coverage over the registers, which of them was worst, and how many are
below 93 % by more than chance (p < 0.001, binomial; intervals of one release count as one). If any is, the check fails.
`--worst 8` releases those of each part that held least again, 2 000 times, with noise of their own: a few runs of many
registers find which are weak, and many runs of these how weak.
One register again: `--only supports --first 37 --registers 1 --runs 2000`. With a planted fault, `--scale-factor 0.5`
or `--totals-factor 1.2`, it has to fail.
"""

import argparse
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from scipy import stats

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.attribution import attribute
from auditor_client.estimation.drawing import EDITIONS, LATEST, Drawing
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.exponential_likelihood import ExponentialAnswers
from auditor_client.estimation.many_releases import ParityRange, parity_ranges
from auditor_client.estimation.measurements import Measurement, NoisyCounts, Supports
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import estimate_parity, totals_of
from auditor_client.estimation.results import RatioKind
from auditor_client.estimation.totals import CountedTotals
from checks import coverage_of_chains, coverage_of_strata
from checks.coverage_of_adverse import rare_register, true_adverse, wrong_verdict
from checks.coverage_of_joined import joined_releases, questions
from checks.coverage_of_scores import figures_of, held, releases, scored
from checks.coverage_together import PopulationOfGroups, jointly_held
from holder_service.mechanisms.exponential import ExponentialMechanism
from shared.contract.schema import Group
from shared.privacy.amounts import parse_nano
from shared.privacy.noise import AdditiveNoise, KeptValue, RandomisedResponseNoise
from testing.invented.chains import ChainRegister
from testing.invented.pairs import PairRegister
from testing.invented.registers import Register, judged_register
from testing.invented.scores import ScoredRegister
from testing.invented.strata import StratifiedRegister
from testing.many_releases import (
    RUNS_AT_ONCE,
    AdditiveMechanism,
    additive,
    released,
    released_changes,
    released_strata,
    released_sums,
    released_totals,
)
from testing.truths import holds, is_wrong, true_parity

LEVEL: Final = 0.95
THRESHOLD: Final = 0.8
BAR: Final = 0.93
DRAWS: Final = 512
CHANCE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Task:
    """What to measure: one register's coverage.

    Attributes:
        seed: Of the register, not of the noise.
        runs: How many releases.
        scale_factor: The estimator gets the noise’s scale times this; below 1 its intervals have to fail.
        joint: Whether intervals that are called joint are made so; if not they have to fail.
        totals_factor: And known sizes of the groups times this; away from 1 they have to fail.
        edition: Of the estimator.
    """

    seed: int
    runs: int
    scale_factor: float = 1.0
    joint: bool = True
    totals_factor: float = 1.0
    edition: int = LATEST

    def drawing(self, draws: int = DRAWS, seed: int = 0) -> Drawing:
        """How the estimator draws."""
        return Drawing(draws, seed, EDITIONS[self.edition])

    def change(self, scale: float) -> dict[str, float]:
        """How the noise that the estimator hears of differs from a noise of this scale."""
        return {"scale": self.scale_factor * scale}

    def supposed(self, mechanism: AdditiveMechanism) -> AdditiveNoise:
        """The noise that the estimator hears of."""
        return mechanism.noise.model_copy(update=self.change(mechanism.scale))


@dataclass(frozen=True, slots=True)
class Covered:
    """How often the intervals of one register's figure held the truth.

    Attributes:
        name: Of the figure, with the register's seed.
        holding: How many intervals did.
        intervals: Of how many.
        releases: That these are of. Intervals of one release may hold or miss together: they count as one.
        width: Mean width; NaN where it says nothing.
    """

    name: str
    holding: int
    intervals: int
    releases: int
    width: float

    @property
    def coverage(self) -> float:
        """Share of the intervals."""
        return self.holding / self.intervals

    @property
    def held(self) -> int:
        """How many releases so many of the intervals are."""
        return self.holding * self.releases // self.intervals

    @property
    def below(self) -> bool:
        """Whether the coverage is below the bar by more than chance, if only releases are independent."""
        return bool(stats.binom.cdf(self.held, self.releases, BAR) < CHANCE)


def of_registers(
    task: Task, *, name: str = "", invented: Callable[[int], Register] = Register.invented, draws: int = DRAWS
) -> list[Covered]:
    """Ratio and difference of one register."""
    register = invented(task.seed)
    found = [
        figure
        for totals in totals_of_releases(register, task)
        for figure in parity_ranges(totals, level=LEVEL, drawing=task.drawing(draws))
    ]
    return _parity_covered(name, task, found, register.parity())


def of_adverse(task: Task) -> list[Covered]:
    """Adverse ratio, difference and verdict of one register with few adverse outcomes."""
    register = rare_register(task.seed)
    found = [
        figure
        for totals in totals_of_releases(register, task)
        for figure in parity_ranges(totals, level=LEVEL, drawing=task.drawing(), kind=RatioKind.HIGHEST)
    ]
    truths = true_adverse(register)
    right = sum(not wrong_verdict(figure.ratio, truths[0], THRESHOLD) for figure in found)
    return [
        *_parity_covered("adverse", task, found, truths),
        Covered(f"adverse verdicts {task.seed}", right, len(found), len(found), np.nan),
    ]


def of_pairs(task: Task) -> list[Covered]:
    """Ratio and difference of the two groups that are named, in every release of those that are."""
    alike = task.seed % 2 == 0
    register = Register.alike(task.seed) if alike else Register.invented(task.seed, groups_max=16, people_min=1)
    rates: dict[Group, float] = dict(zip(register.groups, (register.accepted / register.sizes).tolist(), strict=True))
    named = [
        (pair, rates[pair.lowest], rates[pair.highest])
        for measurement in _measurements(register, task)
        if (pair := estimate_parity(measurement, level=LEVEL, drawing=task.drawing()).pair) is not None
    ]
    if not named:
        return []
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.array([np.divide(low, high) for _, low, high in named])
    differences = np.array([high - low for _, low, high in named])
    return [
        _covered("pair ratio", task.seed, [pair.ratio for pair, *_ in named], ratios),
        _covered("pair difference", task.seed, [pair.difference for pair, *_ in named], differences),
    ]


def of_judged(task: Task) -> list[Covered]:
    """Ratio and difference of the groups that are judged, in every release of those that are there."""
    register, rule = judged_register(task.seed)
    found = [
        figure
        for totals in totals_of_releases(register, task)
        for figure in parity_ranges(totals, level=LEVEL, drawing=task.drawing(), rule=rule)
    ]
    ratios, differences = np.array([register.truth(figure.groups) for figure in found]).T
    return _parity_covered("judged", task, found, (ratios, differences))


def of_joined(task: Task) -> list[Covered]:
    """Ratio, difference and verdict of one register from several answers."""
    register = Register.invented(task.seed, groups_max=16, people_min=1)
    found = [
        figure
        for totals in joined_releases(questions(register, task.seed), task.runs, task.supposed)
        for figure in parity_ranges(totals, level=LEVEL, drawing=Drawing(DRAWS))
    ]
    truth, _ = register.parity()
    right = sum(not is_wrong(figure.ratio.against(THRESHOLD), truth, THRESHOLD) for figure in found)
    return [
        *_parity_covered("joined", task, found, register.parity()),
        Covered(f"joined verdicts {task.seed}", right, len(found), len(found), np.nan),
    ]


def of_odds(task: Task) -> list[Covered]:
    """Equalized odds of two registers of the same groups."""
    positive = Register.invented(task.seed)
    rng = np.random.default_rng(task.seed + 1_000_000)
    sizes = np.exp(rng.uniform(np.log(5), np.log(5_000), len(positive.sizes))).astype(np.int64)
    rates = rng.beta(2, 5, len(sizes))
    accepted = rng.binomial(sizes, rates)
    accepted[sizes.argmax()] += sizes.max() // 4 if not accepted.any() else 0
    negative = Register(accepted[None], (sizes - accepted)[None], rates, positive.epsilon, positive.strategy)
    found = [
        figure
        for both in zip(totals_of_releases(positive, task), totals_of_releases(negative, task), strict=True)
        for figure in parity_ranges(*both, level=LEVEL, drawing=task.drawing())
    ]
    (first, less), (second, more) = positive.parity(), negative.parity()
    return _parity_covered("odds", task, found, (float(np.fmin(first, second)), max(less, more)))


def of_shares(task: Task, *, name: str = "share", supported: bool = False) -> list[Covered]:
    """The rules' shares in the disparity of two groups that were chosen beforehand, perhaps with exact supports."""
    register = Register.invented(task.seed)
    rates = register.accepted / register.sizes
    pair = (int(rates.argmin()), int(rates.argmax()))
    if pair[0] == pair[1]:
        return []
    first, second = (register.parts()[0][:, group] / register.sizes[group] for group in pair)
    truths = 100 * (first - second)
    shares: list[list[Estimate]] = [[] for _ in truths]
    supports = Supports(*(tuple(part.sum(axis=1).tolist()) for part in register.parts())) if supported else None
    for measurement in _measurements(register, task):
        try:
            found = attribute(
                replace(measurement, supports=supports),
                pair=(register.groups[pair[0]], register.groups[pair[1]]),
                level=LEVEL,
            )
        except EstimationRefused:
            if task.scale_factor == 1:
                raise
            continue  # with the fault, some answers fit no supports; what is refused claims nothing
        for of_rule, share in zip(shares, found.shares, strict=True):
            of_rule.append(share.share)
    return [_covered(name, task.seed, of_rule, truth) for of_rule, truth in zip(shares, truths, strict=True)]


def of_population(task: Task) -> list[Covered]:
    """Ratio and difference of the population; people and noise are drawn anew each time."""
    register = Register.invented(task.seed)
    rng = np.random.default_rng(task.seed)
    found = []
    for _ in range(task.runs):
        accepted = rng.binomial(register.sizes, register.rates)
        sample = Register(
            accepted[None], (register.sizes - accepted)[None], register.rates, register.epsilon, "verdict"
        )
        found.append(estimate_parity(next(_measurements(sample, Task(task.seed, 1, task.scale_factor))), level=LEVEL))
    ratio, difference = true_parity(register.rates)
    return [
        _covered("population ratio", task.seed, [figure.population_ratio for figure in found], ratio),
        _covered("population difference", task.seed, [figure.population_difference for figure in found], difference),
    ]


def of_supports(task: Task) -> list[Covered]:
    """Ratio and difference with exact numbers of people; every second time one of two groups is counted."""
    counted = 1 if task.seed % 4 < 2 else 0
    register = Register.invented(task.seed, groups_max=2 if counted else 4)
    mechanism, parts = additive(task.seed, register.epsilon_nano()), register.parts()
    noise = task.supposed(mechanism)
    found = []
    for answers in released_sums(parts, mechanism, task.runs):
        known = replace(register.known(len(answers[0])), counted=counted or len(register.sizes))
        accepted, complement = (
            np.stack([part[:, 0], exact.sum() - part[:, 0]], axis=1) if counted else part
            for part, exact in zip(answers, parts, strict=True)
        )
        totals = CountedTotals.with_noise(
            accepted,
            complement,
            (noise, noise),
            cells=(len(parts[0]), len(parts[1])),
            complement_is=register.complement_is,
            known=known,
        )
        found += parity_ranges(totals, level=LEVEL, drawing=task.drawing())
    return _parity_covered("supports", task, found, register.parity())


def of_known_totals(task: Task, *, supported: bool = False) -> list[Covered]:
    """Ratio and difference where sizes of groups are known beforehand, perhaps with exact supports too."""
    register = Register.invented(task.seed, groups_max=4 if supported else 16, people_min=1)
    bounds = register.bounds(task.seed, task.totals_factor)
    found = []
    for totals in totals_of_releases(register, task):
        known = register.known(len(totals.estimates[0])) if supported else None
        found += parity_ranges(replace(totals, known=known, bounds=bounds), level=LEVEL, drawing=task.drawing())
    name = "totals and supports" if supported else "known totals"
    return _parity_covered(name, task, found, register.parity())


def of_exponential(task: Task, *, name: str = "exponential", empty: int = 0) -> list[Covered]:
    """Ratio and difference from the exponential mechanism's answers, perhaps with empty rules among the others."""
    register = Register.invented(task.seed)
    if empty:
        none = np.zeros((empty, len(register.sizes)), dtype=np.int64)
        register = replace(register, favourable=np.vstack([register.favourable, none]), strategy="rules")
    mechanism = ExponentialMechanism.calibrated(
        epsilon_nano=register.epsilon_nano(), upper=20_000, counts_that_change=1
    )
    noise = mechanism.noise.model_copy(update=task.change(mechanism.scale))
    answers = [released(mechanism, part, task.runs) for part in register.parts()]
    found = []
    for start in range(0, task.runs, RUNS_AT_ONCE):
        accepted, complement = (ExponentialAnswers.of(part[start : start + RUNS_AT_ONCE], noise) for part in answers)
        totals = CountedTotals.of_exponential(accepted, complement, complement_is=register.complement_is)
        found += parity_ranges(totals, level=LEVEL, drawing=task.drawing())
    return _parity_covered(name, task, found, register.parity())


def of_reports(task: Task) -> list[Covered]:
    """Ratio and difference from randomised responses, whose people answer anew each time."""
    register = Register.invented(task.seed, groups_max=4)
    rng = np.random.default_rng(task.seed)
    size = len(register.sizes)
    kept = float(rng.choice([0.7, 0.8, 0.9]))
    response = np.full((size, size), (1 - kept) / (size - 1))
    np.fill_diagonal(response, kept)
    stated = 1 - task.scale_factor * (1 - kept)
    noise = RandomisedResponseNoise(kept=(KeptValue(column="group", probability=f"{stated:.3f}"),))
    found: list[ParityRange] = []
    for _ in range(task.runs):
        favourable, unfavourable = (
            NoisyCounts(np.stack([rng.multinomial(rule, response).sum(axis=0) for rule in part]), noise)
            for part in (register.favourable, register.unfavourable)
        )
        totals = totals_of(Measurement(register.groups, favourable, unfavourable, "unfavourable"))
        found += parity_ranges(totals, level=LEVEL, drawing=task.drawing())
    return _parity_covered("reports", task, found, register.parity())


def of_comparisons(task: Task) -> list[Covered]:
    """What changes in ratio and difference from one model to another."""
    register = PairRegister.invented(task.seed)
    mechanism = additive(task.seed, parse_nano(register.epsilon))
    found = released_changes(register, mechanism, task.runs, level=LEVEL, draws=DRAWS, noise=task.supposed(mechanism))
    truths = register.change()
    return [
        _covered("change of ratio", task.seed, [figures.ratio for figures in found], truths[0]),
        _covered("change of difference", task.seed, [figures.difference for figures in found], truths[1]),
    ]


def of_scores(task: Task) -> list[Covered]:
    """Every figure of a score's bands, one by one or together."""
    register = ScoredRegister.invented(task.seed)
    mechanism = additive(task.seed, parse_nano(register.epsilon))
    noise = task.supposed(mechanism)
    return _held_covered(
        task,
        (
            held(register, figures_of(register, scored(register, answers, noise), seed=run, draws=4 * DRAWS))
            for run, answers in enumerate(releases(register, mechanism, task.runs))
        ),
    )


def of_joint(task: Task) -> list[Covered]:
    """All intervals of a joint report at once, and all its verdicts."""
    population = PopulationOfGroups.invented(task.seed)
    mechanism = additive(task.seed, parse_nano(population.epsilon))
    noise = task.supposed(mechanism)
    found = list(jointly_held(population, mechanism, noise, task.runs, seed=task.seed, joint=task.joint))
    width = float(np.nanmean([one.width for one in found]))
    return [
        Covered(f"{name} {task.seed}", sum(holding), task.runs, task.runs, width)
        for name, holding in (
            ("together", [one.intervals for one in found]),
            ("verdicts together", [one.verdicts for one in found]),
        )
    ]


def of_strata(task: Task) -> list[Covered]:
    """Every figure of conditional parity, one by one or together."""
    register = StratifiedRegister.invented(task.seed)
    mechanism = additive(task.seed, parse_nano(register.epsilon))
    answered = released_strata(register, mechanism, task.runs, noise=task.supposed(mechanism))
    return _held_covered(
        task,
        (coverage_of_strata.held(register, measured, level=LEVEL, seed=run) for run, measured in enumerate(answered)),
    )


def of_chains(task: Task) -> list[Covered]:
    """All intervals of a chain of decisions at once, and what is said of the step that makes the difference."""
    register = ChainRegister.invented(task.seed)
    mechanism = additive(task.seed, parse_nano(register.epsilon))
    noise, answers = task.supposed(mechanism), released(mechanism, register.counts, task.runs)
    return _held_covered(
        task,
        (coverage_of_chains.held(register, one, noise, level=LEVEL, seed=run) for run, one in enumerate(answers)),
    )


PARTS: Final[dict[str, tuple[Callable[[Task], list[Covered]], float]]] = {
    "registers": (of_registers, 1.0),
    "scattered": (
        partial(
            of_registers,
            name="scattered",
            invented=partial(Register.invented, groups_max=16, people_min=1, rules_max=64),
        ),
        1.0,
    ),
    # As many draws as an audit makes, and as a forecast does.
    "alike": (partial(of_registers, name="alike", invented=Register.alike, draws=8 * DRAWS), 0.25),
    "adverse": (of_adverse, 1.0),
    "alike-forecast": (partial(of_registers, name="alike forecast", invented=Register.alike), 0.25),
    "pairs": (of_pairs, 0.25),
    "judged": (of_judged, 0.5),
    "joined": (of_joined, 1.0),
    "odds": (of_odds, 0.5),
    "shares": (of_shares, 0.1),
    "supported-shares": (partial(of_shares, name="supported share", supported=True), 0.1),
    "population": (of_population, 0.1),
    "supports": (of_supports, 0.1),
    "known-totals": (of_known_totals, 0.2),
    "totals-and-supports": (partial(of_known_totals, supported=True), 0.1),
    "exponential": (of_exponential, 0.1),
    "empty-rules": (partial(of_exponential, name="empty rules", empty=20), 0.05),
    "reports": (of_reports, 0.05),
    "scores": (of_scores, 0.05),
    "joint": (of_joint, 0.15),
    "comparisons": (of_comparisons, 1.0),
    "strata": (of_strata, 0.2),
    "chains": (of_chains, 0.3),
}
"""What is measured, and on what part of the registers: some take a hundred times as long as others."""


def totals_of_releases(register: Register, task: Task) -> Iterator[CountedTotals]:
    """What some releases at once say, with the noise that the estimator supposes."""
    mechanism = additive(task.seed, register.epsilon_nano())
    return released_totals(
        register.parts(),
        mechanism,
        task.runs,
        noise=task.supposed(mechanism),
        complement_is=register.complement_is,
    )


def _measurements(register: Register, task: Task) -> Iterator[Measurement]:
    """Releases one by one."""
    mechanism = additive(task.seed, register.epsilon_nano())
    favourable, complement = (released(mechanism, part, task.runs) for part in register.parts())
    noise = task.supposed(mechanism)
    for first, second in zip(favourable, complement, strict=True):
        yield Measurement(
            register.groups,
            NoisyCounts(first, noise),
            NoisyCounts(second, noise),
            register.complement_is,
        )


def _parity_covered(
    name: str, task: Task, found: Sequence[ParityRange], truths: tuple[float | FloatArray, float | FloatArray]
) -> list[Covered]:
    """How often ratio and difference were held."""
    return [
        _covered(f"{name} ratio".lstrip(), task.seed, [figure.ratio for figure in found], truths[0]),
        _covered(f"{name} difference".lstrip(), task.seed, [figure.difference for figure in found], truths[1]),
    ]


def _covered(
    name: str, seed: int, figures: "list[Estimate] | list[Estimate | None]", truth: float | FloatArray
) -> Covered:
    claimed = [figure for figure in figures if figure is not None]
    widths = [figure.width for figure in claimed if np.isfinite(figure.width)]
    holding = sum(map(holds, claimed, np.broadcast_to(truth, len(claimed))))
    return Covered(f"{name} {seed}", holding, len(claimed), len(claimed), float(np.mean(widths)) if widths else np.nan)


def _held_covered(task: Task, found: Iterable[dict[str, list[bool]]]) -> list[Covered]:
    """Of every figure how many intervals held, from those of each release."""
    by_name: dict[str, list[list[bool]]] = {}
    for of_release in found:
        for name, held_here in of_release.items():
            by_name.setdefault(name, []).append(held_here)
    return [
        Covered(f"{name} {task.seed}", sum(map(sum, of_name)), sum(map(len, of_name)), len(of_name), np.nan)
        for name, of_name in by_name.items()
    ]


def _line(name: str, covered: list[Covered]) -> str:
    coverage = [of.coverage for of in covered]
    worst = min(covered, key=lambda of: of.coverage)
    widths = [of.width for of in covered if np.isfinite(of.width)]  # some figures have no upper end in any release
    return (
        f"{name:<24} {len(covered):>5} {worst.releases:>5} {min(coverage):8.1%} {np.mean(coverage):8.1%} "
        f"{np.mean(widths or [np.nan]):8.3f} {sum(of.below for of in covered):>6}   {worst.name}"
    )


def _print_lines(found: Iterable[list[Covered]], *, what: str = "") -> int:
    """Print a line for each figure of some registers; how many of them are below the bar."""
    lines: dict[str, list[Covered]] = {}
    for covered in itertools.chain.from_iterable(found):
        lines.setdefault(covered.name.rsplit(" ", 1)[0], []).append(covered)
    for name, of_name in lines.items():
        print(_line(name + what, of_name), flush=True)
    return sum(of.below for of_name in lines.values() for of in of_name)


def _worst(tasks: Sequence[Task], found: Sequence[list[Covered]]) -> list[Task]:
    """The tasks that claimed anything, those whose worst figure held least first."""
    least = {task: min(of.coverage for of in covered) for task, covered in zip(tasks, found, strict=True) if covered}
    return sorted(least, key=lambda task: least[task])


def main(given: Sequence[str] | None = None) -> None:
    """Print a line for each figure.

    Raises:
        SystemExit: Some register is below the bar by more than chance.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=200, help="releases of each register; the bars are for 2 000")
    parser.add_argument("--registers", type=int, default=200, help="how many registers for the first part")
    parser.add_argument("--first", type=int, default=0, help="the number of the first register")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--worst", type=int, default=0, help="so many registers of each part that held least, again")
    parser.add_argument("--worst-runs", type=int, default=2000, help="releases of each of these")
    parser.add_argument("--scale-factor", type=float, default=1.0, help="a fault: the estimator hears of such noise")
    parser.add_argument("--totals-factor", type=float, default=1.0, help="a fault: and of such known sizes of groups")
    parser.add_argument("--edition", type=int, default=LATEST, help="of the estimator")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args(given)
    print(f"{'figure':<24} {'of':>5} {'runs':>5} {'least':>8} {'mean':>8} {'width':>8} {'< 93 %':>6}   worst")
    below = 0
    with ProcessPoolExecutor(arguments.workers) as processes:
        for part in arguments.only.split(","):
            measure, share = PARTS[part]
            first, number = arguments.first, max(round(share * arguments.registers), 1)
            task = Task(first, arguments.runs, arguments.scale_factor, True, arguments.totals_factor, arguments.edition)
            tasks = [replace(task, seed=seed) for seed in range(first, first + number)]
            found = list(processes.map(measure, tasks, chunksize=2))
            below += _print_lines(found)
            if arguments.worst:
                again = [replace(task, runs=arguments.worst_runs) for task in _worst(tasks, found)[: arguments.worst]]
                below += _print_lines(processes.map(measure, again), what=" again")
    if below:
        raise SystemExit(f"{below} figures of registers are below {BAR:.0%} by more than chance.")


if __name__ == "__main__":
    main()
