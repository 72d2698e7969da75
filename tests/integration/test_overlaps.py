"""Populations that share people: exact figures on the holder's own machine, noise and a charge over the network.

An administrator loads records and looks: with exact figures a key would be an oracle for who is in a register.
A statement about noise here fails by chance at most once in a million.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import httpx

from holder_service.records.person_keys import PersonSecret
from holder_service.services.datasets.overlaps import OverlapReport, find_overlaps, look_at_overlap
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, register_csv


def people(first: int, last: int, *, prefix: str = "p") -> bytes:
    """A register of the people of some numbers."""
    head, *lines = register_csv(people=last).decode().splitlines()
    return "\n".join([head, *(f"{prefix}{line[1:]}" for line in lines[first:])]).encode()


def report(holder: TestedHolder) -> OverlapReport:
    """What `holder overlaps` finds on the holder's own machine."""
    return find_overlaps(holder.holder.store, holder.holder.engine, holder.holder.files)


def overlaps(holder: TestedHolder) -> dict[tuple[str, ...], int]:
    return {one.populations: one.people for one in report(holder).overlaps}


def look(holder: TestedHolder, one: str, other: str) -> httpx.Response:
    """What an administrator gets over the network."""
    return holder.admin("POST", "/populations/overlaps", json={"population": one, "other": other})


def test_populations_that_share_people_are_reported_and_merging_ends_it(holder: TestedHolder) -> None:
    """The register has the people 0 to 299."""
    holder.offer("later", people(200, 420))
    holder.offer("apart", people(500, 600))
    holder.offer("elsewhere", people(0, 10), relation="replace")

    found = report(holder)

    assert found.not_compared == ()
    assert overlaps(holder) == {("later", "register"): 100, ("elsewhere", "register"): 10}
    assert {one.populations: one.mergeable for one in found.overlaps} == {
        ("later", "register"): True, ("elsewhere", "register"): False,
    }  # fmt: skip
    assert holder.admin("POST", "/populations/register/merge", json={"population": "later"}).status_code == 204
    assert overlaps(holder) == {("elsewhere", "register"): 10}
    assert holder.admin("POST", "/ledger/verify").json()["reason"] is None


def test_who_was_taken_away_is_not_forgotten(sqlite_holder: TestedHolder) -> None:
    """Else a register that is retired and declared again under another name would begin with a whole budget."""
    sqlite_holder.load(people(300, 310))
    sqlite_holder.admin("DELETE", "/datasets/register")

    sqlite_holder.offer("renamed", people(290, 310))

    assert overlaps(sqlite_holder) == {("register", "renamed"): 20}


def test_several_datasets_of_a_population_count_a_person_once(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.offer("second", people(250, 350), population="register", cap=None)
    sqlite_holder.offer("other", people(200, 400))

    assert overlaps(sqlite_holder) == {("other", "register"): 150}


def test_the_same_text_in_another_spelling_is_the_same_person(sqlite_holder: TestedHolder) -> None:
    head, line = register_csv(people=1).decode().splitlines()
    for name, key in (("composed", "Zo\u00eb"), ("decomposed", "Zoe\u0308")):
        sqlite_holder.offer(name, f"{head}\n{key}{line[2:]}\n".encode())

    assert overlaps(sqlite_holder) == {("composed", "decomposed"): 1}


def test_a_key_is_no_oracle_for_who_is_in_a_register(sqlite_holder: TestedHolder) -> None:
    """One guessed key at a time: in the register are p0 to p299."""
    answers = []
    for who in ("p7", "p299", "p300", "nobody"):
        head, line = register_csv(people=1).decode().splitlines()
        sqlite_holder.offer(f"probe-{who}", f"{head}\n{who}{line[2:]}\n".encode())
        answers.append(look(sqlite_holder, f"probe-{who}", "register").json())

    assert {(answer["people_from"], answer["people_below"]) for answer in answers} == {(0, 100)}
    assert sqlite_holder.admin("GET", "/populations/overlaps").status_code == 405


def test_neither_is_the_edge_of_a_band(sqlite_holder: TestedHolder) -> None:
    """Whoever knows 99 people of a register cannot see at the edge whether a hundredth is in it.

    With 100 people in both the noise is 0 or more in 55 % of all looks: 60 of them agree by chance less often than
    once in 10 to the 15th.
    """
    sqlite_holder.offer("later", people(200, 420))

    said = {look(sqlite_holder, "later", "register").json()["people_from"] for _ in range(60)}

    assert said == {0, 100}


def test_a_large_overlap_is_seen_as_it_is(sqlite_holder: TestedHolder) -> None:
    """300 people are 200 from the edges of their band: noise of scale 5 crosses one of them once in 10 to the 17th."""
    sqlite_holder.offer("second", people(0, 300))

    found = look(sqlite_holder, "second", "register").json()

    assert found == {
        "populations": ["second", "register"], "person_keys": ["id", "id"], "people_from": 100, "people_below": 1000,
        "mergeable": True, "not_compared": [], "charged": {"epsilon": "0.2", "delta": "0"},
    }  # fmt: skip


def test_each_look_is_charged_to_both_populations(holder: TestedHolder) -> None:
    """And its entries say who looked at what, not what was found."""
    holder.offer("later", people(200, 420), cap={"epsilon": "0.5", "delta": "0"})
    before = len(holder.entries())

    assert look(holder, "later", "register").status_code == 200
    assert look(holder, "register", "later").status_code == 200
    refused(look(holder, "later", "register"), "conflict", holder=holder)

    looks = holder.entries()[before:]
    assert [(one["kind"], one["actor"], one["population"], one["detail"], one["epsilon_nano"]) for one in looks] == [
        ("overlap-look", "administrator", "later", {"with": "register"}, 200_000_000),
        ("overlap-look", "administrator", "register", {"with": "later"}, 200_000_000),
        ("overlap-look", "administrator", "register", {"with": "later"}, 200_000_000),
        ("overlap-look", "administrator", "later", {"with": "register"}, 200_000_000),
    ]
    assert [one["cap"]["spent_epsilon_nano"] for one in looks] == [200_000_000, 200_000_000, 400_000_000, 400_000_000]
    assert holder.admin("POST", "/ledger/verify").json()["reason"] is None
    assert holder.spent() == "0", "no auditor's budget pays for it"


def test_what_cannot_be_looked_at_is_refused_and_costs_nothing(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.offer("later", people(200, 420))
    sqlite_holder.offer("gone", people(0, 10))
    sqlite_holder.admin("POST", "/populations/later/merge", json={"population": "gone"})
    before = sqlite_holder.entries()

    for one, other, code in (
        ("register", "register", "conflict"), ("register", "gone", "conflict"), ("register", "unknown", "not-found"),
        ("", "register", "invalid-request"),
    ):  # fmt: skip
        refused(look(sqlite_holder, one, other), code, holder=sqlite_holder)
    refused(
        sqlite_holder.auditor("POST", "/admin/populations/overlaps", json={"population": "later", "other": "register"}),
        "forbidden",
        holder=sqlite_holder,
    )

    assert sqlite_holder.entries() == before


def test_no_entry_shows_how_many(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.offer("later", people(163, 420))
    assert overlaps(sqlite_holder) == {("later", "register"): 137}
    look(sqlite_holder, "later", "register")

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
    assert not any(content[index : index + 8] in stored for index in range(0, len(content), 8))
    hashes = [int.from_bytes(content[index : index + 8], "little") for index in range(0, len(content), 8)]
    assert all(one < other for one, other in pairwise(hashes)), "in an order that says nothing"


def test_hashes_under_a_lost_secret_are_reported_and_made_anew_by_the_next_load(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.offer("later", people(200, 420))
    other = PersonSecret.forgotten()
    files = replace(sqlite_holder.holder.files, secret=other)

    engine = sqlite_holder.holder.engine
    found = find_overlaps(sqlite_holder.holder.store, engine, files)

    assert (found.overlaps, found.not_compared) == ((), ("later", "register"))
    seen = look_at_overlap(
        sqlite_holder.holder.store, engine, files, actor="administrator", one="later", other="register"
    )
    assert seen.not_compared == ("later", "register")


def test_two_loads_of_a_dataset_at_once_never_lose_people(sqlite_holder: TestedHolder) -> None:
    with ThreadPoolExecutor(3) as pool:
        loads = [pool.submit(sqlite_holder.load, people(300 + 50 * k, 350 + 50 * k)) for k in range(3)]
        statuses = [load.result().status_code for load in loads]
    sqlite_holder.offer("all", people(0, 450))

    assert statuses == [200] * 3
    assert overlaps(sqlite_holder) == {("all", "register"): 450}
    assert sqlite_holder.release(plan()).status_code == 201


def test_overlaps_are_reported_while_records_are_loaded(sqlite_holder: TestedHolder) -> None:
    """A file that is replaced meanwhile is neither missed nor stumbled over."""
    sqlite_holder.offer("later", people(200, 420))

    with ThreadPoolExecutor(3) as pool:
        loads = [pool.submit(sqlite_holder.load, people(200, 421 + k), "later") for k in range(4)]
        found = [pool.submit(overlaps, sqlite_holder) for _ in range(12)]

        assert {load.result().status_code for load in loads} == {200}
        assert all(report.result() == {("later", "register"): 100} for report in found)
