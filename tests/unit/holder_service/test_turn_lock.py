"""What is done apart is done in turns: who brings much keeps nobody waiting for more than one piece of it."""

import threading

from holder_service.services.work.apart import TurnLock


class Crowd:
    """Threads that wait for a lock one after the other, and write down their turns."""

    def __init__(self) -> None:
        self.lock = TurnLock()
        self.order: list[str] = []
        self._threads: list[threading.Thread] = []

    def ask(self, name: str) -> None:
        """Have a thread wait, and go on once it does."""
        thread = threading.Thread(target=self._take, args=(name,), daemon=True)
        before = len(self.lock.waiting(name[0]))
        thread.start()
        self._threads.append(thread)
        while len(self.lock.waiting(name[0])) == before:
            pass

    def end(self) -> None:
        for thread in self._threads:
            thread.join(timeout=60)

    def _take(self, name: str) -> None:
        with self.lock.taken(name[0]):
            self.order.append(name)


def test_accounts_take_turns() -> None:
    crowd = Crowd()
    with crowd.lock.taken("x"):
        for name in ("a1", "a2", "a3", "b1", "c1", "b2"):
            crowd.ask(name)
    crowd.end()

    assert crowd.order == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_the_lock_is_free_again_after_an_error() -> None:
    lock = TurnLock()
    for _ in range(2):
        try:
            with lock.taken("a"):
                raise RuntimeError
        except RuntimeError:
            continue
    with lock.taken("b"):
        assert lock.waiting("b") == ()
