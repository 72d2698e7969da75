"""Forecasts of every step of a chain, before anything is spent (9-adverse-outcomes §4).

Answers about assumed people are simulated, and read as the audit would be. All groups are taken to go on alike at every
step, so the interval of a step's ratio is one around 1.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from auditor_client.asking.question import Question
from auditor_client.asking.stages import stage_cell
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.chain_counts import ChainCounts
from auditor_client.estimation.chain_figures import ChainFigures
from auditor_client.estimation.measurements import IntArray, NoisyCounts
from auditor_client.exchange.expected_noise import counted_noise
from auditor_client.findings.answers import CountSupport
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasts import StepForecast
from auditor_client.planning.simulation import simulated_answers

AUDITS: Final = 6
_HALF: Final = 0.5


def forecast_chain(
    question: Question, reading: Reading, *, supports: CountSupport | None = None, seed: int = 0
) -> tuple[StepForecast, ...]:
    """Return what would be seen of every step of a question's chain; empty without a chain.

    Args:
        question: With its assumption.
        reading: How the answer would be read.
        supports: Counts a cell in the auditor's own data; who goes on at each step is then theirs.
        seed: Of the simulation.

    Raises:
        QuestionRefused: The assumption has another number of steps, or does not fit the groups.
    """
    chain = question.request.chain
    if chain is None:
        return ()
    passing, sizes = _passing(question, supports), _sizes(question)
    true = _counts(sizes, passing)
    figures = _simulated(question, reading, true, seed)
    smallest = int(np.argmin(sizes))
    return tuple(_step(figures, number, smallest, passing[number]) for number in range(len(chain)))


def _passing(question: Question, supports: CountSupport | None) -> tuple[float, ...]:
    """The share who go on at each step."""
    chain, assumed = question.request.chain or (), question.request.assumption.passing
    if supports is not None:
        of_cells = {cell.id: supports(cell) for cell in question.plan.batches[0].cells}
        stopped = [of_cells[stage_cell(reached)] for reached in range(len(chain) + 1)]
        reached = np.cumsum(stopped[::-1])[::-1]
        return tuple(float(after / max(before, 1)) for before, after in itertools.pairwise(reached))
    if assumed is not None and len(assumed) != len(chain):
        raise QuestionRefused(
            f"The chain has {len(chain)} stages: give as many shares who go on (`passing`), with commas between them."
        )
    return assumed or (_HALF,) * len(chain)


def _sizes(question: Question) -> IntArray:
    _, sizes = question.request.assumption.counts(len(question.groups))
    return np.array(sizes, dtype=np.int64)


def _counts(sizes: IntArray, passing: Sequence[float]) -> IntArray:
    """The people who reach so many stages and no more, shape (S + 1, K)."""
    reached = [sizes]
    for share in passing:
        reached.append(np.round(reached[-1] * share).astype(np.int64))
    stacked = np.stack([*reached, np.zeros_like(sizes)])
    counts: IntArray = stacked[:-1] - stacked[1:]
    return counts


def _simulated(question: Question, reading: Reading, true: IntArray, seed: int) -> list[ChainFigures]:
    rng, sensitive = np.random.default_rng((seed, 9)), question.plan.sensitive
    noise = counted_noise(question.plan.batches[0], question.dataset, question.schema, sensitive)
    largest = question.groups[int(np.argmax(true.sum(axis=0)))]
    chain = question.request.chain or ()
    return [
        reading.chain(
            ChainCounts(
                question.groups,
                chain,
                (NoisyCounts(simulated_answers(true, noise, question.dataset.table, sensitive, rng), noise),),
            ),
            question.reference or largest,
        )
        for _ in range(AUDITS)
    ]


def _step(figures: Sequence[ChainFigures], number: int, group: int, passing: float) -> StepForecast:
    rates = [each.steps[number].rates[group] for each in figures]
    widths = [rate.width for rate in rates if rate.defined]
    ratios = [_ratio(each, number, group) for each in figures]
    ends = [ends for ends in ratios if ends is not None]
    low, high = (float(np.exp(np.mean(of_end))) for of_end in zip(*ends, strict=True)) if ends else (0.0, math.inf)
    return StepForecast(
        figures[0].stages[number],
        passing,
        float(np.mean(widths)) if widths else 1.0,
        low,
        high,
        len(ends) / len(figures),
    )


def _ratio(figures: ChainFigures, number: int, group: int) -> tuple[float, float] | None:
    """The logarithms of the ends of the ratio of a group's step, if it has both."""
    of_group = [each for each in figures.comparisons if each.group == figures.groups[group]]
    comparison = of_group[0] if of_group else figures.comparisons[0]
    ends = comparison.steps[number].contribution.low, comparison.steps[number].contribution.high
    return ends if all(map(math.isfinite, ends)) else None
