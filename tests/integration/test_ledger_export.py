"""The ledger as it is read: filtered, paged, and exported so that a file that broke off is known for it."""

import csv
import io
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.ledger.export import END, csv_pages, is_whole, json_pages
from holder_service.storage.ledger_views import EntryFilter
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, register_csv


@pytest.fixture(scope="module")
def busy(lasting_holder: TestedHolder) -> TestedHolder:
    """A holder with entries of most kinds, of two datasets and two auditors."""
    lasting_holder.declare("second", person_key="=cmd()")
    lasting_holder.load(register_csv(people=5).replace(b"id,", b"=cmd(),", 1), "second")
    key = lasting_holder.open_auditor("other", epsilon="1", dataset="second")
    for draw in (1, 2, 3):
        assert lasting_holder.release(plan(draw=draw)).status_code == 201
        assert lasting_holder.release(plan(draw=draw), dataset="second", key=key).status_code == 201
    lasting_holder.admin("POST", "/signing-keys")
    lasting_holder.declare("second", person_key="=cmd()", cap={"epsilon": "5", "delta": "0"})
    lasting_holder.admin("DELETE", "/datasets/second")
    return lasting_holder


def asked(holder: TestedHolder, **parameters: Any) -> list[dict[str, Any]]:
    answer = holder.admin("GET", f"/ledger?{urlencode({'limit': 1000, **parameters})}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


FILTERS: list[tuple[dict[str, str], Any]] = [
    ({"kind": "charge"}, lambda entry: entry["kind"] == "charge"),
    ({"population": "second"}, lambda entry: entry.get("population") == "second"),
    ({"dataset": "register"}, lambda entry: entry.get("dataset") == "register"),
    ({"auditor": "other"}, lambda entry: entry.get("auditor") == "other"),
    (
        {"account": "other"},
        lambda entry: "other" in (entry.get("auditor"), entry["actor"], entry.get("subject"))
        or entry["detail"].get("account") == "other",
    ),
    ({"after": "4", "upto": "9"}, lambda entry: 4 < entry["sequence"] <= 9),
    ({"kind": "charge", "auditor": "ADR", "after": "8"},
     lambda entry: entry["kind"] == "charge" and entry["auditor"] == "ADR" and entry["sequence"] > 8),
    ({"dataset": "nothing"}, lambda _: False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "passes"), FILTERS, ids=lambda value: str(value)[:60] if isinstance(value, dict) else ""
)
def test_a_filter_finds_what_passes_it_and_nothing_else(
    busy: TestedHolder, parameters: dict[str, str], passes: Any
) -> None:
    expected = [entry for entry in busy.entries() if passes(entry)]

    assert asked(busy, **parameters) == expected
    paged, after = [], int(parameters.get("after", "0"))
    while page := asked(busy, **{**parameters, "after": str(after), "limit": "2"}):
        paged += page
        after = page[-1]["sequence"]
    assert paged == expected
    exported = busy.admin("GET", f"/ledger?{urlencode({**parameters, 'format': 'jsonl'})}").text.splitlines()
    assert [json.loads(line) for line in exported[:-1]] == expected


def test_times_are_compared_as_times(busy: TestedHolder) -> None:
    entries = busy.entries()
    middle = datetime.fromisoformat(entries[7]["at"])
    elsewhere = (middle + timedelta(hours=5)).isoformat().replace("+00:00", "+05:00")

    assert asked(busy, since=elsewhere) == [entry for entry in entries if entry["at"] >= entries[7]["at"]]
    assert asked(busy, until=elsewhere) == [entry for entry in entries if entry["at"] < entries[7]["at"]]


@pytest.mark.parametrize(
    "query", ["kind=nothing", "since=yesterday", "since=2026-01-01T00:00:00", "upto=-1", "account=a%20b", "format=xml"]
)
def test_a_filter_that_is_none_is_refused(busy: TestedHolder, query: str) -> None:
    refused(busy.admin("GET", f"/ledger?{query}"), "invalid-request", holder=busy)


def test_an_export_is_whole_and_runs_no_formula(busy: TestedHolder) -> None:
    entries = busy.entries()

    answer = busy.admin("GET", "/ledger?format=csv&after=2")

    assert answer.headers["content-type"].startswith("text/csv")
    *rows, end = csv.DictReader(io.StringIO(answer.text))
    assert [(int(row["sequence"]), row["hash"]) for row in rows] == [(e["sequence"], e["hash"]) for e in entries[2:]]
    assert not any(field[:1] in ("=", "+", "-", "@") for row in rows for field in row.values())
    assert end["kind"] == END
    assert json.loads(end["detail"]) == {
        "entries": len(rows), "head": busy.auditor("GET", "/ledger/head").json(),
    }  # fmt: skip


@pytest.mark.parametrize("as_format", ["csv", "jsonl"])
def test_an_export_that_broke_off_is_known_for_it(busy: TestedHolder, as_format: str) -> None:
    content = busy.admin("GET", f"/ledger?format={as_format}").content
    lines = content.splitlines(keepends=True)

    assert is_whole(io.BytesIO(content))
    broken = [content[:length] for length in range(0, len(content) - 2, 97)]
    missing = [b"".join(lines[:index] + lines[index + 1 :]) for index in range(1, len(lines))]
    assert not any(is_whole(io.BytesIO(part)) for part in (*broken, *missing))


def test_an_export_stops_at_the_head_that_it_began_with(busy: TestedHolder) -> None:
    """Else it would never end on a busy ledger, and its last line would speak of another state than the rest."""
    for pages, pieces in ((csv_pages, 2), (json_pages, 1)):
        head = ledger_reading.head(busy.holder.store).sequence
        begun = pages(busy.holder.store)
        first = [next(begun) for _ in range(pieces)]
        busy.admin("POST", "/signing-keys")

        export = "".join([*first, *begun])

        assert is_whole(io.BytesIO(export.encode()))
        assert re.findall(r'"sequence"+: ([0-9]+)', export)[-1] == str(head)
        assert json.dumps(head + 1) not in re.findall(r'^(?:{"sequence": )?([0-9]+)', export, flags=re.MULTILINE)


def test_the_console_filters_as_before(busy: TestedHolder) -> None:
    from holder_service.services.running import overview

    newest = overview.newest_entries(busy.holder.store, EntryFilter(kind="charge"), before=None, limit=2)

    assert [entry.event.kind for entry in newest] == ["charge"] * 2
    assert newest[0].sequence > newest[1].sequence


def test_the_command_keeps_a_whole_file_or_none(busy: TestedHolder, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from holder_service.cli import app

    env = {"HOLDER_URL": busy.url, "HOLDER_ADMIN_KEY": busy.admin_key}

    def export(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["admin", "export-ledger", *arguments], env=env)

    for name in ("ledger.csv", "charges.jsonl"):
        done = export(str(tmp_path / name), *(["--kind", "charge"] if name.startswith("charges") else []))
        assert (done.exit_code, done.stdout) == (0, "")
        assert done.stderr == f"The entries are in {tmp_path / name}, and the export is whole.\n"
    charges = [json.loads(line)["kind"] for line in (tmp_path / "charges.jsonl").read_text().splitlines()]
    assert charges == ["charge"] * 6 + [END]
    again = export(str(tmp_path / "ledger.csv"))
    assert (again.exit_code, again.stdout) == (2, "")
    refused_filter = export(str(tmp_path / "none.csv"), "--kind", "nothing")
    assert (refused_filter.exit_code, refused_filter.stdout) == (2, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["charges.jsonl", "ledger.csv"]
