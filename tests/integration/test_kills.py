"""A holder killed fifty times, 25 on either store: nothing left it uncharged, nothing charged is lost."""

import itertools
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx
import pytest

from tests.holders import Served, TestedHolder, forked, opened, plan, running_holder

KILLS_EACH = 25
CLIENTS = 4


def ask_until_it_dies(served: Served, key: str, draws: Iterator[int], answered: Event) -> dict[str, bytes]:
    """Ask plan after plan until the holder is gone; gives every answer that arrived whole, by its id."""
    answers: dict[str, bytes] = {}
    with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
        for number in draws:
            body = plan(epsilon="0.001", draw=number % 1000 + 1, age=number // 1000)
            try:
                answer = client.post("/v1/datasets/register/releases", json=body)
            except httpx.TransportError:
                return answers
            if answer.status_code != 201:
                return answers
            answers[answer.json()["id"]] = answer.content
            answered.set()
    return answers


def released_before_death(holder: TestedHolder, draws: Iterator[int], alive_s: float) -> dict[str, bytes]:
    """Start the holder, let clients ask, and kill -9 it some seconds after its first answer."""
    answered = Event()
    with forked(holder.settings) as served, ThreadPoolExecutor(CLIENTS) as pool:
        asking = (served, holder.auditor_key, draws, answered)
        clients = [pool.submit(ask_until_it_dies, *asking) for _ in range(CLIENTS)]
        answered.wait(timeout=30)
        time.sleep(alive_s)
        served.kill()
        return {identity: content for client in clients for identity, content in client.result().items()}


@pytest.mark.slow
def test_killed_time_and_again_nothing_was_released_uncharged(tmp_path: Path, database_url: str) -> None:
    source = random.Random()
    draws = itertools.count()
    with running_holder(tmp_path, database_url, epsilon="90") as holder:
        pass

    answers: dict[str, bytes] = {}
    for _ in range(KILLS_EACH):
        answers.update(released_before_death(holder, draws, alive_s=source.uniform(0.0, 0.1)))

    with opened(holder.settings, holder.admin_key, holder.auditor_key) as after:
        charges = {entry["subject"] for entry in after.entries() if entry["kind"] == "charge"}
        assert len(answers) >= KILLS_EACH, "too few answers left before the kills to show anything"
        assert set(answers) <= charges, "an answer left that no entry charges"
        for identity in charges:
            stored = after.auditor("GET", f"/datasets/register/releases/{identity}")
            assert stored.status_code == 200, "a charged answer is lost"
            assert answers.get(identity, stored.content) == stored.content
        assert after.admin("POST", "/ledger/verify").json()["intact"]
