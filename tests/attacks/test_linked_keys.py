"""How many linked keys the holder knows is shown by nothing but a charged release (5-decisions §1).

Three files are alike but for their keys: the register has all of them, every other one, or none. Whatever an auditor,
or an administrator, can see of linking them has to be the same, but for what is drawn at random and for clocks.
"""

import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from holder_service.storage import columns
from holder_service.web.edge.logs import JsonLines
from testing.holders import OF_THE_TIME, TestedHolder, running_holder
from testing.kept_logs import logged
from testing.registers import linked_column, linked_values, plan, register_csv
from testing.waits import wait_until

PEOPLE: Final = 300
SHARES: Final = (1.0, 0.5, 0.0)
COLUMNS: Final = "/datasets/register/columns"
VARYING_HEADERS: Final = ("date", "x-request-id", "retry-after", "content-length")
"""The length has to be the text's own; the text is compared but for what is drawn, of its width, and a clock's."""
ATTEMPTS: Final = 3
STATES: Final = ["preparing"] * 4 + ["ready"] * 2
"""Of the column at each look, where the machine is quick enough to look before its time."""
VARYING_FIELDS: Final = ("time", "request_id", "process")
BY_CHANCE: Final = {
    r"sha256:[0-9a-f]{64}": "sha256:",
    r"\d{4}-\d{2}-\d{2}T[0-9:.]+(?:Z|\+00:00)": "time",
    r'"nonce": ?"[0-9a-f]{32}"': '"nonce":',
    r'"retry_after_s":[0-9]+': '"retry_after_s":',
}


def alike(text: str) -> str:
    """A text with what is drawn, or a clock's, written alike."""
    for pattern, written in BY_CHANCE.items():
        text = re.sub(pattern, written, text)
    return text


def calls(holder: TestedHolder, values: bytes) -> Iterator[httpx.Response]:
    """Everything that may be called about a linked column, before and after it is ready."""
    head = holder.auditor("GET", "/ledger/head").json()["sequence"]
    made = holder.derive(linked_column(values))
    column = made.json()["id"]
    cell = {"id": "granted", "all_of": [{"column": "decision", "op": "eq", "value": "granted"}]}
    asked = plan(cells=[cell], columns={"decision": column}, epsilon="0.001")

    def look() -> Iterator[httpx.Response]:
        yield holder.auditor("GET", COLUMNS)
        yield holder.auditor("GET", f"{COLUMNS}/{column}")
        yield holder.auditor("POST", "/datasets/register/quotes", json=asked)
        yield holder.admin("GET", COLUMNS)

    yield made
    yield holder.link(values, column)
    yield holder.release(asked)
    yield from look()
    wait_until(lambda: bool(list(holder.settings.derived.glob("[0-9a-f]*"))))
    yield holder.release(asked)
    yield from look()
    due = datetime.fromisoformat(holder.auditor("GET", f"{COLUMNS}/{column}").json()["ready_at"])
    time.sleep(max((due - datetime.now(due.tzinfo)).total_seconds(), 0) + 0.05)
    yield from look()
    yield holder.link(values, column)
    yield holder.admin("POST", "/ledger/verify")
    yield holder.admin("GET", f"/ledger?after={head}")


def files_of(home: Path) -> list[tuple[str, int, int]]:
    """Every file of a home but the database and those whose names are drawn: folder, mode and size."""
    found = [
        (str(path.parent.relative_to(home)), path.stat().st_mode, path.stat().st_size)
        for folder in ("derived", "linked", "incoming", "records", "people")
        for path in (home / folder).rglob("*")
    ]
    return sorted(found)


def seen_of(home: Path, share: float) -> dict[str, Any]:
    """All that linking a file shows, of whose keys the register has a share."""
    records = register_csv(people=PEOPLE)
    with running_holder(home, quantum_ms=25, people=PEOPLE) as holder:
        with logged() as logs:
            answers = list(calls(holder, linked_values(records, known=share)))
        lines = [json.loads(JsonLines().format(record)) for record in logs]
        exposition = holder.metrics().text
        files = files_of(holder.settings.home)
        (column,) = holder.holder.store.look_up(columns.of_dataset, "register")
    assert column.begun is not None
    assert column.due is not None
    series = [line for line in exposition.splitlines() if not line.startswith(("#", *OF_THE_TIME))]
    return {
        "answers": [
            (
                answer.status_code,
                {name: alike(value) for name, value in answer.headers.items() if name not in VARYING_HEADERS},
                int(answer.headers["content-length"]) - len(answer.content),
                alike(answer.text),
            )
            for answer in answers
        ],
        "lines": [{name: value for name, value in line.items() if name not in VARYING_FIELDS} for line in lines],
        "series": series,
        "files": files,
        "period": column.due - column.begun,
        "states": [
            column["state"] for answer in answers if "columns" in answer.json() for column in answer.json()["columns"]
        ],
    }


def seen_in_time(folders: pytest.TempPathFactory, share: float) -> dict[str, Any]:
    """The same, again where a busy machine let the column overrun; what the keys delay overruns each time."""
    for _ in range(ATTEMPTS):
        found = seen_of(folders.mktemp("share"), share)
        if found["states"] == STATES:
            break
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return [seen_in_time(tmp_path_factory, share) for share in SHARES]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["answers", "lines", "series", "files", "period", "states"])
def test_linking_shows_nothing_of_whose_keys_are_known(seen: list[dict[str, Any]], what: str) -> None:
    everybody, half, nobody = (one[what] for one in seen)

    assert everybody
    assert everybody == half == nobody


@pytest.mark.slow
def test_what_is_seen_says_when_a_column_is_ready(seen: list[dict[str, Any]]) -> None:
    """The comparison is not of nothing: states change, and the file that was made is among the files."""
    assert seen[0]["states"] == STATES
    assert [folder for folder, _, _ in seen[0]["files"]] == ["derived", "linked", "people", "records"]
