"""Trainings that are kept, through what happens to a holder: back-ups, restores, new keys, new records."""

import shutil
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from typer.testing import CliRunner

from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts, check_receipts
from holder_service.cli import app as holder_command
from holder_service.learning.learners import LEARNERS
from holder_service.services.running.backup import back_up
from shared.kinds.releases import verify_signature
from testing.holders import TestedHolder, opened, running_holder
from testing.refusals import refused
from testing.registers import LEARNABLE, learnable_csv, training
from testing.tampering import lose_the_anchored_entry

LOANS: Final[dict[str, Any]] = {"columns": LEARNABLE["columns"]}


def ask(holder: TestedHolder, dataset: str = "loans", **changes: Any) -> httpx.Response:
    return holder.auditor("POST", f"/datasets/{dataset}/trainings", json=training(**changes))


def every_model(holder: TestedHolder, dataset: str = "loans") -> list[httpx.Response]:
    """One by each algorithm."""
    answers = [ask(holder, dataset, algorithm={"name": name}) for name in LEARNERS]
    assert {answer.status_code for answer in answers} <= {200, 201}, [answer.text for answer in answers]
    return answers


def test_a_back_up_has_every_model_byte_for_byte(tmp_path: Path) -> None:
    """It is verified by itself, and put back it answers what was answered, at no cost."""
    with running_holder(tmp_path / "home") as holder:
        holder.offer("loans", learnable_csv(), epsilon="10", **LOANS)
        before = every_model(holder)
        back_up(holder.holder, tmp_path / "backup")
        settings, keys = holder.settings, (holder.admin_key, holder.auditor_key)

    verified = CliRunner().invoke(holder_command, ["ledger", "verify", "--backup", str(tmp_path / "backup")])
    shutil.rmtree(settings.home)
    shutil.copytree(tmp_path / "backup", settings.home)

    assert verified.exit_code == 0, verified.output
    with opened(settings, *keys) as again:
        assert [one.content for one in every_model(again)] == [one.content for one in before]
        assert again.spent(dataset="loans") == str(len(LEARNERS))
        assert again.is_intact()


def test_a_recorded_restore_closes_trainings_and_keeps_what_was_answered(holder: TestedHolder) -> None:
    holder.offer("loans", learnable_csv(), epsilon="10", **LOANS)
    given = ask(holder)
    lose_the_anchored_entry(holder.settings)
    refused(ask(holder, draw=2), "restore-unrecorded", holder=holder)

    holder.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})

    assert ask(holder).content == given.content
    refused(ask(holder, draw=2), "cap-exhausted", holder=holder)
    holder.declare("loans", cap={"epsilon": "2", "delta": "0"}, records_max=20_000, **LOANS)
    assert ask(holder, draw=2).status_code == 201
    refused(ask(holder, draw=3), "cap-exhausted", holder=holder)
    assert holder.is_intact()


def test_models_keep_the_key_that_signed_them(holder: TestedHolder, tmp_path: Path) -> None:
    """A pinned client follows, and its receipts verify."""
    holder.offer("loans", learnable_csv(), epsilon="10", **LOANS)
    receipts = Receipts(tmp_path / "receipts")
    with HolderClient(url=holder.url, key=holder.auditor_key) as auditor:
        receipts.pin(auditor.keys())
        first = ask(holder)
        assert holder.admin("POST", "/signing-keys").status_code == 201
        second = ask(holder, draw=2)
        for answer in (first, second):
            verify_signature(answer.json(), holder.published_keys())
            receipts.keep(answer.json()["id"], answer.content)

        assert first.json()["key"] != second.json()["key"]
        assert ask(holder).content == first.content
        receipts.pin(auditor.keys())
        found = check_receipts(receipts, auditor)
    assert found.ok
    assert len(found.checks) == 2
    assert holder.is_intact()


def test_a_retired_dataset_and_replaced_records_keep_their_models(holder: TestedHolder) -> None:
    holder.offer("loans", learnable_csv(), epsilon="10", **LOANS)
    first = ask(holder, version=1)
    holder.load(learnable_csv(seed=1), "loans")
    second = ask(holder)
    assert second.json()["version"] == 2

    assert holder.admin("DELETE", "/datasets/loans").status_code == 204

    path = "/datasets/loans/trainings"
    for answer in (first, second):
        assert holder.auditor("GET", f"{path}/{answer.json()['id']}").content == answer.content
    assert ask(holder, version=1).content == first.content
    assert ask(holder, draw=9).status_code in (404, 409)
    assert holder.is_intact()


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_models_are_learned_from_the_people_of_a_table_s_rows(sqlite_holder: TestedHolder, relation: str) -> None:
    """Each row stands for 40 people: what a tree's leaves have together, at ε 10, is far from the number of rows."""
    head, *lines = learnable_csv().decode().splitlines()
    rows = [head.replace("id,", "people,"), *(f"40,{line.partition(',')[2]}" for line in lines)]
    table = {"person_key": None, "people": "people", "records_max": 20_000, "relation": relation}
    sqlite_holder.offer("table", "\n".join(rows).encode(), epsilon="100", **LOANS, **table)

    models = every_model(sqlite_holder, "table")
    counted = ask(sqlite_holder, "table", epsilon="10", depth=1).json()["counts"]["leaves"]

    assert [one.status_code for one in models] == [201] * len(LEARNERS)
    people = sum(sum(leaf["positive"]) + sum(leaf["negative"]) for leaf in counted)
    assert abs(people - 40 * len(lines)) < 100
    assert sqlite_holder.is_intact()
