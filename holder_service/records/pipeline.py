"""Work on parts, on several cores at once, whose results come in the order of the parts."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

import pyarrow as pa

Part = TypeVar("Part")
Result = TypeVar("Result")

CORES_MAX: Final = 4
"""More would wait for whoever takes the results, and for each other: what Python does, it does on one core."""
PARTS_AHEAD: Final = 2
"""So many parts for each core are worked on or done before the first of them is taken; memory is bounded by them."""


def cores_for_work() -> int:
    """Return how many cores work at once: those that this process may use, or fewer where OMP_NUM_THREADS says so."""
    return min(int(pa.cpu_count()), CORES_MAX)


def in_order(work: Callable[[Part], Result], parts: Iterable[Part]) -> Generator[Result]:
    """Yield what some work makes of each part, part by part.

    The work is done in threads, so only numpy's and Arrow's share of it is faster. An error, of the work or of what
    gives the parts, is raised in its place, after the results of all parts before it. Once this is closed, nothing is
    worked on any more.
    """
    cores = cores_for_work()
    if cores == 1:
        yield from map(work, parts)
        return
    ahead: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(cores)
    try:
        for future in _submitted(pool, work, parts):
            ahead.append(future)
            if len(ahead) > PARTS_AHEAD * cores:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(
    pool: ThreadPoolExecutor, work: Callable[[Part], Result], parts: Iterable[Part]
) -> Iterator[Future[Result]]:
    try:
        for part in parts:
            yield pool.submit(work, part)
    except Exception as error:  # noqa: BLE001 - whatever it is, it waits for its turn
        failed: Future[Result] = Future()
        failed.set_exception(error)
        yield failed
