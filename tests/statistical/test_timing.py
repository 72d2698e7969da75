"""When an answer leaves does not say how long the work took, as long as the work fits into its deadline.

`python -m checks.timing` measures the same through a whole holder over HTTP, noise against noise and data against
data. Here the work is a wait of known length, so that a busy machine does not drown the difference: 400 answers after
short work and 400 after long work, distinguished by the time that they took. If that time says nothing, the area under
the ROC curve is .5 with a standard deviation of .0204, so it is .1 away by chance once in a million times. The lengths
are far enough apart, and from the deadline, for a machine that lets a process wait for some tens of milliseconds.
"""

import asyncio
import random
import time
from typing import Final

import pytest

from checks.timing import auc
from holder_service.domain import deadlines
from holder_service.domain.deadlines import PlanSize
from holder_service.web.edge.public_times import wait_until_public

pytestmark = pytest.mark.statistical

ANSWERS: Final = 400
AT_ONCE: Final = 20
AUC_MAX: Final = 0.6
SHORT_S: Final = 0.002
LONG_S: Final = 0.1
SIZE: Final = PlanSize(
    rules=2, predicates=2, values=0, cuts=3, columns=1, counts={"laplace": 4}, gaussians=0, classes=1, words=1,
    word_columns=1, starts=1,
)  # fmt: skip


async def times(quantum_ms: int) -> tuple[list[float], list[float]]:
    """How long answers take after long and after short work, in mixed order."""
    supposed_s = deadlines.work_s(SIZE, records_max=10_000)
    deadline_s = deadlines.release_deadline_s(supposed_s, quantum_ms=quantum_ms)

    async def answer(work_s: float) -> float:
        begun_s = time.monotonic()
        await asyncio.sleep(work_s)
        await wait_until_public(begun_s, deadline_s)
        return time.monotonic() - begun_s

    took_s: dict[float, list[float]] = {LONG_S: [], SHORT_S: []}
    works = [LONG_S, SHORT_S] * ANSWERS
    random.shuffle(works)
    for start in range(0, len(works), AT_ONCE):
        group = works[start : start + AT_ONCE]
        for work_s, one_s in zip(group, await asyncio.gather(*map(answer, group)), strict=True):
            took_s[work_s].append(one_s)
    return took_s[LONG_S], took_s[SHORT_S]


def test_the_time_to_an_answer_does_not_show_the_work() -> None:
    long_s, short_s = asyncio.run(times(quantum_ms=400))

    assert 1 - AUC_MAX <= auc(long_s, short_s) <= AUC_MAX


def test_without_a_deadline_it_does() -> None:
    """The negative control: the same comparison finds what there is to find."""
    long_s, short_s = asyncio.run(times(quantum_ms=0))

    assert auc(long_s, short_s) > 0.9
