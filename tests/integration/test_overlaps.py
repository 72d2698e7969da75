"""Populations that share people: the administrator is told how many, an auditor nothing, and a merge ends it."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from holder_service.records.person_keys import PersonSecret
from holder_service.services.overlaps import find_overlaps
from testing.holders import TestedHolder, plan, register_csv
from testing.refusals import refused


def people(first: int, last: int, *, prefix: str = "p") -> bytes:
    """A register of the people of some numbers."""
    head, *lines = register_csv(people=last).decode().splitlines()
    return "\n".join([head, *(f"{prefix}{line[1:]}" for line in lines[first:])]).encode()


def overlaps(holder: TestedHolder) -> dict[tuple[str, ...], int]:
    answer = holder.admin("GET", "/populations/overlaps")
    assert answer.status_code == 200, answer.text
    return {tuple(one["populations"]): one["people"] for one in answer.json()["overlaps"]}


def add(holder: TestedHolder, name: str, content: bytes, **changes: object) -> None:
    assert holder.declare(name, **changes).status_code == 200
    assert holder.load(content, name).status_code == 200


def test_populations_that_share_people_are_told_and_merging_ends_it(holder: TestedHolder) -> None:
    """The register has the people 0 to 299."""
    add(holder, "later", people(200, 420))
    add(holder, "apart", people(500, 600))
    add(holder, "elsewhere", people(0, 10), relation="replace")

    found = holder.admin("GET", "/populations/overlaps").json()

    assert found["not_compared"] == []
    assert overlaps(holder) == {("later", "register"): 100, ("elsewhere", "register"): 10}
    assert {tuple(one["populations"]): one["mergeable"] for one in found["overlaps"]} == {
        ("later", "register"): True, ("elsewhere", "register"): False,
    }  # fmt: skip
    assert holder.admin("POST", "/populations/register/merge", json={"population": "later"}).status_code == 204
    assert overlaps(holder) == {("elsewhere", "register"): 10}
    assert holder.admin("POST", "/ledger/verify").json()["reason"] is None


def test_who_was_taken_away_is_not_forgotten(sqlite_holder: TestedHolder) -> None:
    """Else a register that is retired and declared again under another name would begin with a whole budget."""
    sqlite_holder.load(people(300, 310))
    sqlite_holder.admin("DELETE", "/datasets/register")

    add(sqlite_holder, "renamed", people(290, 310))

    assert overlaps(sqlite_holder) == {("register", "renamed"): 20}


def test_several_datasets_of_a_population_count_a_person_once(sqlite_holder: TestedHolder) -> None:
    add(sqlite_holder, "second", people(250, 350), population="register", cap=None)
    add(sqlite_holder, "other", people(200, 400))

    assert overlaps(sqlite_holder) == {("other", "register"): 150}


def test_the_same_text_in_another_spelling_is_the_same_person(sqlite_holder: TestedHolder) -> None:
    head, line = register_csv(people=1).decode().splitlines()
    for name, key in (("composed", "Zo\u00eb"), ("decomposed", "Zoe\u0308")):
        add(sqlite_holder, name, f"{head}\n{key}{line[2:]}\n".encode())

    assert overlaps(sqlite_holder) == {("composed", "decomposed"): 1}


def test_no_auditor_and_no_trace_shows_how_many(sqlite_holder: TestedHolder) -> None:
    add(sqlite_holder, "later", people(163, 420))
    assert overlaps(sqlite_holder) == {("later", "register"): 137}

    refused(sqlite_holder.auditor("GET", "/admin/populations/overlaps"), "forbidden", holder=sqlite_holder)
    assert not re.search(r"\b137\b", json.dumps([entry["detail"] for entry in sqlite_holder.entries()]))


def test_neither_secret_nor_hash_is_in_the_database(sqlite_holder: TestedHolder) -> None:
    secret = sqlite_holder.holder.files.secret
    (file,) = sqlite_holder.settings.people.iterdir()

    content = file.read_bytes()

    stored = b"".join(
        path.read_bytes() for path in sqlite_holder.settings.home.parent.glob("holder.sqlite*") if path.is_file()
    )
    assert len(content) == 300 * 8
    assert secret.digest("p7")[:8] in content
    assert secret.key not in stored
    assert not any(content[place : place + 8] in stored for place in range(0, len(content), 8))
    hashes = [int.from_bytes(content[place : place + 8], "little") for place in range(0, len(content), 8)]
    assert all(one < other for one, other in pairwise(hashes)), "in an order that says nothing"


def test_hashes_under_a_lost_secret_are_told_and_made_anew_by_the_next_load(sqlite_holder: TestedHolder) -> None:
    add(sqlite_holder, "later", people(200, 420))
    other = PersonSecret.forgotten()
    files = type(sqlite_holder.holder.files)(
        **{name: getattr(sqlite_holder.holder.files, name) for name in ("records", "people", "incoming", "lock")},
        secret=other,
    )

    report = find_overlaps(sqlite_holder.holder.books, files)

    assert (report.overlaps, report.not_compared) == ((), ("later", "register"))


def test_two_loads_of_a_dataset_at_once_never_lose_people(sqlite_holder: TestedHolder) -> None:
    with ThreadPoolExecutor(3) as pool:
        loads = [pool.submit(sqlite_holder.load, people(300 + 50 * k, 350 + 50 * k)) for k in range(3)]
        statuses = [load.result().status_code for load in loads]
    add(sqlite_holder, "all", people(0, 450))

    assert statuses == [200] * 3
    assert overlaps(sqlite_holder) == {("all", "register"): 450}
    assert sqlite_holder.release(plan()).status_code == 201


def test_overlaps_are_told_while_records_are_loaded(sqlite_holder: TestedHolder) -> None:
    """A file that is replaced meanwhile is neither missed nor stumbled over."""
    add(sqlite_holder, "later", people(200, 420))

    with ThreadPoolExecutor(3) as pool:
        loads = [pool.submit(sqlite_holder.load, people(200, 421 + k), "later") for k in range(4)]
        told = [pool.submit(overlaps, sqlite_holder) for _ in range(12)]

        assert {load.result().status_code for load in loads} == {200}
        assert all(report.result() == {("later", "register"): 100} for report in told)
