"""Refined answers, watches and losses in ρ, through what happens to a holder: back-ups, restores, keys, upgrades."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import httpx
from typer.testing import CliRunner

from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts, ReceiptsReport, check_receipts
from holder_service.cli import app as holder_command
from holder_service.services.running.backup import back_up, restore
from holder_service.services.running.holder import initialise
from holder_service.settings.holder import Settings
from holder_service.storage import watches as stored_watches
from testing.holders import TestedHolder, opened, running_holder
from testing.refusals import refused
from testing.registers import plan, register_csv, watch
from testing.tampering import database, edit, unsealed
from testing.waits import wait_until

IN_RHO: Final = {"rho": "0.05", "delta": "0.000001"}
WATCH: Final = watch(epsilon="1", margin=-5000)


class Kept:
    """A chain of answers, a watch and a loss in ρ at a holder, and the receipts of all of them."""

    def __init__(self, holder: TestedHolder, folder: Path) -> None:
        self.holder = holder
        self.receipts = Receipts(folder)
        self.chain: list[httpx.Response] = []
        self.set: httpx.Response
        self.spent: httpx.Response

    def begin(self) -> None:
        """Two links, a watch that is answered once, and an answer in an account of ρ."""
        assert self.holder.declare("monthly", cap=IN_RHO).is_success
        assert self.holder.load(register_csv(people=60), "monthly").is_success
        assert self.holder.admin("PUT", "/datasets/monthly/budgets/ADR", json={"rho": "0.03"}).is_success
        self.chain = [self.holder.release(plan(epsilon="0.1"))]
        self.go_on("0.2")
        self.set = self.holder.auditor("POST", "/datasets/register/watches", json={**WATCH, "version": 1})
        self.spent = self.holder.release(plan(epsilon="0.1"), dataset="monthly")
        assert {self.set.status_code, self.spent.status_code} == {201}
        self.answers(1)

    def go_on(self, epsilon: str) -> None:
        """One link more."""
        self.chain.append(self.holder.release(self.finer(self.chain[-1], epsilon)))
        assert self.chain[-1].status_code == 201, self.chain[-1].text

    @staticmethod
    def finer(answer: httpx.Response, epsilon: str) -> dict[str, Any]:
        body = {**answer.json()["plan"], "refines": answer.json()["id"]}
        return {**body, "batches": [{**batch, "epsilon": epsilon} for batch in body["batches"]]}

    def answers(self, number: int) -> list[dict[str, Any]]:
        """What the watch has said, once it has said so much and nothing waits."""
        path = f"/datasets/register/watches/{self.set.json()['id']}"
        wait_until(lambda: self.holder.auditor("GET", path).json()["pending"] is None)
        found: list[dict[str, Any]] = self.holder.auditor("GET", path).json()["answers"]
        assert [one["version"] for one in found] == list(range(1, number + 1))
        return found

    @property
    def threshold(self) -> int:
        """The watch's secret."""
        found = self.holder.holder.store.look_up(stored_watches.find, self.set.json()["id"])
        assert found is not None
        return self.holder.holder.seals.opened(found.id, found.sealed).noisy_threshold

    def at(self, holder: TestedHolder) -> "Kept":
        """The same at the holder as it is now; every answer is given again, byte for byte, for nothing."""
        spent = holder.spent()
        for answer in self.chain:
            assert holder.release(answer.json()["plan"]).content == answer.content
        assert holder.release(plan(epsilon="0.1", version=1), dataset="monthly").content == self.spent.content
        again = holder.auditor("POST", "/datasets/register/watches", json={**WATCH, "version": 1})
        assert (again.status_code, again.content) == (200, self.set.content)
        assert holder.spent() == spent
        assert holder.auditor("GET", "/datasets/monthly/budget").json()["spent"]["rho"] == "0.005"
        self.holder = holder
        return self

    def verified(self, answers: list[dict[str, Any]]) -> ReceiptsReport:
        """What `auditor verify` finds of everything."""
        with HolderClient(url=self.holder.url, key=self.holder.auditor_key) as auditor:
            self.receipts.pin(auditor.keys())
            for answer in (*self.chain, self.set, self.spent):
                self.receipts.keep(answer.json()["id"], answer.content)
            for one in answers:
                self.receipts.keep(one["id"], json.dumps(one).encode())
            return check_receipts(self.receipts, auditor)


def put_back(settings: Settings, backup: Path) -> None:
    """Have home and database be what a back-up of them is, as `holder restore` does."""
    shutil.rmtree(settings.home)
    for file in Path(settings.database_url.removeprefix("sqlite:///")).parent.glob("holder.sqlite*"):
        file.unlink()
    restore(backup, settings)


def test_a_back_up_that_is_put_back_goes_on_with_everything(tmp_path: Path) -> None:
    with running_holder(tmp_path / "home") as holder:
        kept = Kept(holder, tmp_path / "receipts")
        kept.begin()
        threshold, said = kept.threshold, kept.answers(1)
        back_up(holder.holder, tmp_path / "backup")
        settings, keys = holder.settings, (holder.admin_key, holder.auditor_key)
    checked = CliRunner().invoke(holder_command, ["ledger", "verify", "--backup", str(tmp_path / "backup")])
    put_back(settings, tmp_path / "backup")

    assert checked.exit_code == 0, checked.output
    with opened(settings, *keys) as again:
        kept.at(again).go_on("0.4")
        again.load(register_csv()).raise_for_status()
        answers = kept.answers(2)

        assert again.spent() == "1.4"
        assert (kept.threshold, answers[:1]) == (threshold, said)
        assert kept.verified(answers).ok
        assert again.is_intact()


def test_a_restore_ends_chains_and_watches_and_keeps_what_is_there(tmp_path: Path) -> None:
    """The third link and the watch's second answer are lost; receipts show that, and nothing is drawn anew."""
    with running_holder(tmp_path / "home") as holder:
        kept = Kept(holder, tmp_path / "receipts")
        kept.begin()
        threshold, said = kept.threshold, kept.answers(1)
        back_up(holder.holder, tmp_path / "backup")
        settings, keys = holder.settings, (holder.admin_key, holder.auditor_key)
        kept.go_on("0.4")
        holder.load(register_csv()).raise_for_status()
        lost, answered = kept.chain.pop(), kept.answers(2)
        kept.receipts.keep(lost.json()["id"], lost.content)
    put_back(settings, tmp_path / "backup")

    with opened(settings, *keys) as again:
        refused(again.release(lost.json()["plan"]), "restore-unrecorded", holder=again)
        again.admin("POST", "/ledger/restore", json={"reason": "the disk failed"}).raise_for_status()
        refused(again.declare("monthly", cap={"epsilon": "1"}), "already-charged", holder=again)
        assert again.declare("monthly", cap=IN_RHO).is_success
        assert again.declare(cap={"epsilon": "5", "delta": "0"}).is_success
        kept.at(again)

        for body in (lost.json()["plan"], kept.finer(kept.chain[-1], "0.3"), kept.finer(kept.chain[0], "0.3")):
            assert "re" in refused(again.release(body), "conflict", holder=again)["detail"]
        again.load(register_csv()).raise_for_status()
        assert (kept.answers(1), kept.threshold) == (said, threshold)
        found = kept.verified(answered)
        assert {one.release.id for one in found.checks if one.fault and one.release} == {
            lost.json()["id"], answered[1]["id"]
        }  # fmt: skip
        fresh = again.release(plan(epsilon="0.1", draw=2))
        assert again.release(kept.finer(fresh, "0.2")).status_code == 201
        assert again.is_intact()


def test_a_chain_and_a_watch_go_on_under_a_new_key(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    kept = Kept(sqlite_holder, tmp_path / "receipts")
    kept.begin()
    assert kept.verified([]).ok

    assert sqlite_holder.admin("POST", "/signing-keys").status_code == 201
    kept.go_on("0.4")
    sqlite_holder.load(register_csv()).raise_for_status()
    answers = kept.answers(2)

    assert [len({one["key"] for one in some}) for some in ([one.json() for one in kept.chain], answers)] == [2, 2]
    assert kept.at(sqlite_holder).verified(answers).ok
    assert sqlite_holder.is_intact()


def test_a_store_from_before_there_was_rho_is_upgraded_with_its_chains_and_watches(tmp_path: Path) -> None:
    with running_holder(tmp_path / "home") as holder:
        kept = Kept(holder, tmp_path / "receipts")
        kept.chain = [holder.release(plan(epsilon="0.1"))]
        kept.go_on("0.2")
        kept.set = holder.auditor("POST", "/datasets/register/watches", json={**WATCH, "version": 1})
        threshold, said = kept.threshold, kept.answers(1)
        settings, keys = holder.settings, (holder.admin_key, holder.auditor_key)
    settings.watch_secret.unlink()
    edit(
        settings, *unsealed(threshold), "DROP TABLE approvals",
        "ALTER TABLE populations DROP COLUMN approval_days",
        "DROP TABLE completed_sign_ins", "ALTER TABLE datasets DROP COLUMN rehearsal",
        "ALTER TABLE entries DROP COLUMN rho_nano", "UPDATE alembic_version SET version_num = '0006'",
    )  # fmt: skip

    assert initialise(settings) is None

    with opened(settings, *keys) as again:
        kept.holder = again
        kept.go_on("0.4")
        again.load(register_csv()).raise_for_status()
        assert (kept.answers(2)[:1], kept.threshold) == (said, threshold)
        assert again.spent() == "1.4"
        assert again.is_intact()
    with database(settings) as store:
        assert store.execute("SELECT count(*) FROM entries WHERE rho_nano IS NOT NULL").fetchone() == (0,)
