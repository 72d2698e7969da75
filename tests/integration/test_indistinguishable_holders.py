"""Two holders that differ in nothing but their records show it to nobody, but by their noisy counts (2-privacy §7).

The size of a release depends on the digits of its noisy counts, or on the model that was learned, which are in it, and
on nothing else of the records.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from holder_service.web.edge.logs import JsonLines
from shared.wire.canonical import canonical_bytes
from testing.holders import OF_THE_TIME, TestedHolder, running_holder
from testing.kept_logs import logged
from testing.registers import LEARNABLE, learnable_csv, plan, training

PEOPLE: Final = 311
OTHER_PEOPLE: Final = 947
VARYING_HEADERS: Final = {"date", "x-request-id", "content-length"}
VARYING_FIELDS: Final = {"time", "request_id", "process"}
VARYING_IN_RELEASES: Final = {"created", "signature", "key", "nonce"}


def other_records() -> bytes:
    """Thrice as many people, all of one group, none of middle education, ages around 40."""
    rows = list(csv.DictReader(io.StringIO(learnable_csv(people=OTHER_PEOPLE, seed=1).decode())))
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "age": 40, "education": "high", "sex": "Female", "origin": "", "repaid": "true"})
    return text.getvalue().encode()


@dataclass
class Seen:
    """All that a holder lets the outside know in a battery of calls."""

    answers: list[tuple[int, dict[str, str], Any]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    series: dict[str, float] = field(default_factory=dict)

    def take(self, answer: httpx.Response) -> None:
        """Take down an answer: status, headers, and of the body what may not depend on records."""
        headers = {name: value for name, value in answer.headers.items() if name not in VARYING_HEADERS}
        body = answer.json()
        digits = len(body.get("created", ""))  # a time of a whole second has no fraction
        if "batches" in body and "ledger" in body:
            digits += sum(len(str(count)) for count in _counts(body))
            body = _without_noise(body)
        elif "model" in body:
            digits += len(canonical_bytes([body.pop("model"), body.pop("counts", None)]))  # as they were sent
            body = _without_noise(body)
        elif "hash" in body:
            del body["hash"]
        elif "columns" not in body and (listed := {"releases", "trainings"}.intersection(body)):
            body = [(one["id"], one["sequence"]) for one in body[listed.pop()]]
        self.answers.append((answer.status_code, headers, body))
        self.sizes.append(len(answer.content) - digits)


def _counts(release: dict[str, Any]) -> Iterator[int]:
    return (count for batch in release["batches"] for cell in batch["cells"] for count in cell["counts"])


def _without_noise(release: dict[str, Any]) -> dict[str, Any]:
    """A release without its counts and what follows from them or from the clock."""
    document = {name: value for name, value in release.items() if name not in VARYING_IN_RELEASES}
    for batch in document.get("batches", ()):
        for cell in batch["cells"]:
            cell["counts"] = len(cell["counts"])
    del document["ledger"]["hash"]
    return document


def battery(holder: TestedHolder) -> Iterator[httpx.Response]:
    """Calls of every kind, sound ones and such as are refused: before the count, after it, and for want of budget."""
    for draw in range(1, 4):
        yield holder.release(plan(draw=draw, age=40))
        yield holder.release(plan(draw=draw, age=-1))
    yield holder.release(plan(age=40))
    yield holder.release({**plan(), "sensitive": ["sex", "origin"]})
    for mechanism in ({"name": "gaussian", "delta": "0.0001"}, {"name": "exponential", "upper": 2000}):
        yield holder.release(plan(epsilon="0.01", mechanism=mechanism))
    empty = {"id": "x", "all_of": [{"column": "education", "op": "eq", "value": "middle"}]}
    yield holder.release(plan(cells=[empty]))
    yield holder.release(plan(epsilon="5"))
    yield holder.release(plan(epsilon="9.99"))
    yield holder.release(plan(version=7))
    yield holder.release(plan(), dataset="nope")
    yield holder.release(plan(epsilon="1e400"))
    yield holder.auditor("POST", "/datasets/register/quotes", json=plan())
    yield holder.auditor("POST", "/datasets/register/quotes", content=b"{")
    for path in ("/datasets", "/datasets/register", "/datasets/register/budget", "/datasets/register/releases"):
        yield holder.auditor("GET", path)
    for algorithm in ("fair_tree", "private_fair_tree", "pflr", "pflr_star", "fair_linear"):
        asked = training(epsilon="0.1", algorithm={"name": algorithm})
        yield holder.auditor("POST", "/datasets/register/trainings/quotes", json=asked)
        yield holder.auditor("POST", "/datasets/register/trainings", json=asked)
    yield holder.auditor(
        "POST", "/datasets/register/trainings", json=training(epsilon="0.1", algorithm={"name": "pflr"})
    )
    yield holder.auditor("POST", "/datasets/register/trainings", json=training(epsilon="9.99"))
    yield holder.auditor("POST", "/datasets/register/trainings", json=training(version=7))
    yield holder.auditor("POST", "/datasets/register/trainings", json=training(label="citizen"))
    yield holder.auditor("POST", "/datasets/nope/trainings", json=training())
    yield holder.auditor("GET", "/datasets/register/trainings")
    yield holder.auditor("GET", "/ledger/head")
    yield holder.auditor("GET", "/ledger/entries/3")
    yield holder.auditor("GET", "/ledger/entries/999")
    yield holder.auditor("GET", "/admin/ledger")


def seen_of(home: Path, content: bytes) -> Seen:
    """Everything that a holder of these records shows."""
    seen = Seen()
    with running_holder(home, epsilon="9.5") as holder:
        cap = {"epsilon": "100", "delta": "0.5"}
        assert holder.declare(columns=LEARNABLE["columns"], cap=cap).status_code == 200
        assert holder.load(content).status_code == 200
        holder.grant("9.5", delta="0.1")
        with logged() as records:
            for answer in battery(holder):
                seen.take(answer)
        exposition = holder.metrics().text
    lines = [json.loads(JsonLines().format(record)) for record in records]
    seen.lines = [{name: value for name, value in line.items() if name not in VARYING_FIELDS} for line in lines]
    found = (line.rpartition(" ") for line in exposition.splitlines() if not line.startswith("#"))
    seen.series = {name: float(value) for name, _, value in found if not name.startswith(OF_THE_TIME)}
    return seen


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, Seen]:
    """What two holders show, of the register and of other records."""
    one, other = (
        seen_of(tmp_path_factory.mktemp("holder"), content)
        for content in (learnable_csv(people=PEOPLE), other_records())
    )
    return one, other


@pytest.mark.slow
def test_answers_are_alike_but_for_their_counts(both: tuple[Seen, Seen]) -> None:
    one, other = both

    assert one.answers == other.answers
    assert sum("training" in body for status, _, body in one.answers if status == 201) == 5
    assert {status for status, _, _ in one.answers} == {200, 201, 403, 404, 415, 422}


def test_sizes_are_alike_but_for_the_digits_of_counts(both: tuple[Seen, Seen]) -> None:
    one, other = both

    assert one.sizes == other.sizes


def test_the_digits_of_a_small_weight_are_counted_as_sent() -> None:
    """JSON writes 0.00005 with seven characters, and Python 5e-05 with five: that is no difference of two holders."""
    seen = Seen()
    for weight in (0.25, 0.00005):
        seen.take(httpx.Response(201, content=canonical_bytes({"model": [weight], "ledger": {"hash": "x"}})))

    assert seen.sizes[0] == seen.sizes[1]


def test_logs_have_the_same_lines(both: tuple[Seen, Seen]) -> None:
    one, other = both

    assert one.lines == other.lines
    assert len(one.lines) >= len(one.answers)


def test_metrics_are_the_same(both: tuple[Seen, Seen]) -> None:
    one, other = both

    assert one.series == other.series
    assert len(one.series) > 40


def test_what_holds_true_counts_shows_none(both: tuple[Seen, Seen]) -> None:
    """Neither all people nor a group of theirs is in anything that was shown, and keys do not either."""
    for seen, people in zip(both, (PEOPLE, OTHER_PEOPLE), strict=True):
        shown = json.dumps([seen.answers, seen.lines, sorted(seen.series)])
        assert not re.search(rf"(?<![0-9.]){people}(?![0-9])", shown)
        assert "pafer_" not in shown
