"""Work in the background: woken, tried again, and never lost with its thread."""

import threading
from collections.abc import Iterator

import pytest

from holder_service.services.work.workers import Worker
from testing.waits import wait_until


class _Counting(Worker):
    """Fails as often as it is told, and says how often it was tried."""

    def __init__(self, *failures: Exception | None) -> None:
        super().__init__("watches", failed_waits_s=0)
        self.failures = list(failures)
        self.begun = self.tried = self.rested = 0
        self.done = threading.Event()

    def _begin(self) -> None:
        self.begun += 1
        if self.begun == 1:
            raise KeyError("a record's text")

    def _rest(self) -> None:
        self.rested += 1

    def _work_off(self) -> bool:
        self.tried += 1
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        if self.failures:
            return False
        self.done.set()
        return True


@pytest.fixture
def worker() -> Iterator[_Counting]:
    """One that fails in two ways, then leaves something undone, then does all."""
    counting = _Counting(OSError(), ValueError("a record's text"), None, None)
    yield counting
    counting.close()


def test_what_fails_in_whatever_way_is_tried_again_by_the_same_thread(
    worker: _Counting, caplog: pytest.LogCaptureFixture
) -> None:
    worker.wake()

    assert worker.done.wait(60)
    wait_until(lambda: worker.rested == 1)
    assert (worker.begun, worker.tried) == (1, 4)
    assert [record.getMessage() for record in caplog.records] == ["background work failed"] * 3
    assert [vars(record)["error"] for record in caplog.records] == ["KeyError", "OSError", "ValueError"]
    assert "record's text" not in caplog.text


def test_a_thread_that_ended_is_followed_by_another(worker: _Counting) -> None:
    worker.wake()
    wait_until(lambda: worker.rested == 1)
    worker.wake()

    wait_until(lambda: worker.rested == 2)
    assert (worker.begun, worker.tried) == (2, 5)


def test_nothing_begins_after_the_end(worker: _Counting) -> None:
    worker.close()
    worker.wake()

    assert (worker.begun, worker.tried) == (0, 0)
