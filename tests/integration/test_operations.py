"""Running a holder: what a killed load leaves, a graceful end, back-ups and restores, several holders on one store."""

import fcntl
import json
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from auditor_client.errors import HolderLied
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.verification import signed_as
from holder_service.cli import app
from holder_service.services.datasets.overlaps import find_overlaps
from holder_service.services.running.backup import back_up
from holder_service.services.running.holder import Holder
from holder_service.settings.holder import Settings
from shared.kinds.releases import Release
from testing.holders import Served, TestedHolder, forked, opened, running_holder, serving, stopped_holder
from testing.refusals import refused
from testing.registers import plan, register_csv
from testing.waits import wait_until


def leave_things_behind(settings: Settings) -> list[Path]:
    """What is left of a load and of a derived column when killed: uploads, halves, files that were not committed."""
    folders = [settings.records / ".loading-killed", settings.linked / ".linking-killed"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "column-0").write_bytes(b"0" * 100)
    left = [
        settings.incoming / "upload", settings.records / ("0" * 32), settings.people / f"{'0' * 32}-00000000",
        settings.derived / ("1" * 32), settings.derived / f".{'2' * 32}-{'3' * 16}", settings.linked / ("4" * 32),
    ]  # fmt: skip
    for file in left:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"0" * 100)
    return [*folders, *left]


@pytest.fixture
def stopped(tmp_path: Path) -> TestedHolder:
    """A holder that was set up and is not running."""
    with running_holder(tmp_path) as holder:
        assert holder.release(plan()).status_code == 201
    return holder


def test_leftovers_of_a_killed_load_are_taken_away_at_the_next_start_and_nothing_else(stopped: TestedHolder) -> None:
    before = {path.name for folder in (stopped.settings.records, stopped.settings.people) for path in folder.iterdir()}
    left = leave_things_behind(stopped.settings)

    with stopped.reopened() as after:
        assert after.release(plan(draw=2)).status_code == 201, "the records are still there"

    assert not [path for path in left if path.exists()]
    assert before == {
        path.name for folder in (stopped.settings.records, stopped.settings.people) for path in folder.iterdir()
    }


def test_nothing_is_taken_from_a_load_at_work_in_another_process(stopped: TestedHolder) -> None:
    left = leave_things_behind(stopped.settings)
    with (stopped.settings.home / "loading.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)

        with stopped.reopened():
            pass

        assert all(path.exists() for path in left)
    with stopped.reopened():
        pass
    assert not any(path.exists() for path in left)


def test_nothing_is_taken_away_while_the_database_is_rolled_back(stopped: TestedHolder) -> None:
    """It names other files than the one that is to be put back."""
    left = leave_things_behind(stopped.settings)
    stopped.settings.anchor.unlink()

    with stopped.reopened():
        pass

    assert all(path.exists() for path in left)


@pytest.mark.slow
def test_a_load_that_is_killed_at_any_time_leaves_nothing_after_the_next_start(tmp_path: Path) -> None:
    holder = stopped_holder(tmp_path)
    content = register_csv(people=10_000)
    for wait_s in (0.03, 0.15):
        with forked(holder.settings) as served, holder.at(served.url) as killed, ThreadPoolExecutor(1) as pool:
            load = pool.submit(killed.load, content)
            time.sleep(wait_s)
            served.kill()
            load.exception()

    with holder.reopened() as after:
        assert after.release(plan()).status_code == 201
        assert not list(holder.settings.incoming.iterdir())
        assert len(list(holder.settings.records.iterdir())) == len(list(holder.settings.people.iterdir())) == 1
        assert after.admin("POST", "/ledger/verify").json()["reason"] is None


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_on_sigterm_it_answers_what_it_was_asked_and_ends_with_success(stopped: TestedHolder, workers: int) -> None:
    settings = replace(stopped.settings, release_quantum_ms=800)
    with serving(settings, workers=workers) as served, stopped.at(served.url) as holder, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(holder.release, plan(draw=3))
        wait_until(lambda: holder.spent() == "0.2")
        assert isinstance(served.process, subprocess.Popen)
        served.process.send_signal(signal.SIGTERM)

        assert asked.result().status_code == 201
        assert served.process.wait(timeout=60) == 0


def put_back(backup: Path, settings: Settings) -> None:
    """What docs/operations.md says: empty the home, and copy the back-up there; the anchor stays as it is."""
    shutil.rmtree(settings.home)
    shutil.copytree(backup, settings.home)


def test_a_back_up_is_verified_by_itself(tmp_path: Path) -> None:
    with running_holder(tmp_path / "home") as holder:
        assert holder.release(plan()).status_code == 201
        back_up(holder.holder, tmp_path / "backup")
        head = holder.entries()[-1]
    environment = {"HOLDER_HOME": str(tmp_path / "none")}
    command = ["ledger", "verify", "--backup", str(tmp_path / "backup")]
    files = {path.name: path.stat().st_size for path in (tmp_path / "backup").iterdir()}

    whole = CliRunner().invoke(app, command, env=environment)
    assert whole.exit_code == 0, whole.output
    assert whole.stdout == f"Intact: {head['sequence']} entries, head {head['hash']}.\n"
    assert {path.name: path.stat().st_size for path in (tmp_path / "backup").iterdir()} == files

    with sqlite3.connect(tmp_path / "backup" / "holder.sqlite") as database:
        database.execute("DELETE FROM releases")
    broken = CliRunner().invoke(app, command, env=environment)
    assert broken.exit_code == 1
    assert "charges a release that is not stored" in broken.stderr

    none = CliRunner().invoke(app, [*command[:-1], str(tmp_path)], env=environment)
    assert none.exit_code == 2
    assert "`holder backup` made" in none.stderr


def test_a_back_up_is_the_file_of_its_path_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    """In a home whose path means something else in an address, too."""
    folder = tmp_path / "of 100%25?mode=memory#1"
    with running_holder(folder / "home", f"sqlite:///{folder / 'home' / 'holder.sqlite'}") as holder:
        back_up(holder.holder, folder / "backup")
    command = ["ledger", "verify", "--backup", str(folder / "backup")]
    environment = {"HOLDER_HOME": str(tmp_path / "none")}

    whole = CliRunner().invoke(app, command, env=environment)
    (folder / "backup" / "holder.sqlite").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)
    damaged = CliRunner().invoke(app, command, env=environment)

    assert whole.exit_code == 0, whole.output
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert damaged.exit_code == 2
    assert "the copy is damaged" in damaged.stderr
    assert "copy it into a folder of your own" in damaged.stderr


def epsilon_of(release: dict[str, Any]) -> dict[str, str]:
    """The ε that a release was charged."""
    return {"epsilon": release["charge"]["epsilon"]}


def missing(holder: TestedHolder, receipts: Path) -> Result:
    """What `holder admin missing` finds."""
    environment = {
        "HOLDER_HOME": str(holder.settings.home), "HOLDER_DATABASE_URL": holder.settings.database_url,
        "HOLDER_ANCHOR": str(holder.settings.anchor), "HOLDER_ADMIN_KEY": holder.admin_key,
    }  # fmt: skip
    return CliRunner().invoke(app, ["admin", "missing", str(receipts), "--json"], env=environment)


def test_a_back_up_is_put_back_and_the_restore_recorded(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    with running_holder(tmp_path, f"sqlite:///{tmp_path / 'home' / 'holder.sqlite'}") as holder:
        settings = holder.settings
        kept = holder.release(plan(draw=1))
        with ThreadPoolExecutor(2) as pool:
            asking = pool.map(lambda draw: holder.release(plan(epsilon="0.001", draw=draw)).status_code, range(50, 80))
            back_up(holder.holder, tmp_path / "backup")
            assert set(asking) == {201}, "releases go on meanwhile"
        lost_answer = holder.release(plan(draw=99))
        lost = lost_answer.json()

    put_back(tmp_path / "backup", settings)

    receipts = tmp_path / "receipts"
    receipts.mkdir()
    for release in (kept, lost_answer):
        (receipts / f"{release.json()['id'].removeprefix('sha256:')}.json").write_bytes(release.content)
    (receipts / "note.json").write_text('{"id": "sha256:4711"}')
    with opened(settings, holder.admin_key, holder.auditor_key) as after:
        refused(after.release(plan(draw=99)), "restore-unrecorded", holder=after)
        shown = missing(after, receipts)
        assert json.loads(shown.stdout) == {
            "missing": [
                {"population": "register", "auditor": "ADR", "charges": 1, "epsilon": lost["charge"]["epsilon"]}
            ],
            "unread": 1,
        }
        assert "note.json is not a receipt of this holder" in shown.stderr
        found = after.admin("POST", "/ledger/verify").json()
        assert "anchored" in found["reason"]
        after.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})
        after.declare()
        assert after.release(plan(draw=1)).content == kept.content
        assert after.release(plan(draw=99)).json()["ledger"] != lost["ledger"]
        assert find_overlaps(after.holder.store, after.holder.engine, after.holder.files).not_compared == ()
        assert after.admin("POST", "/ledger/verify").json()["reason"] is None
    with pytest.raises(FileExistsError):
        back_up(Holder.open(settings), tmp_path / "backup")


def test_a_restore_from_before_rotations_is_healed_by_as_many(stopped: TestedHolder, tmp_path: Path) -> None:
    """The lost keys are still in the home, and are handed over to once more, in their order: pinned clients go on."""
    receipts = Receipts(tmp_path / "receipts")
    database = Path(stopped.settings.database_url.removeprefix("sqlite:///"))
    shutil.copy(database, tmp_path / "copy")
    with stopped.reopened() as holder:
        rotated = [holder.admin("POST", "/signing-keys").json()["id"] for _ in range(3)]
        lost = holder.release(plan(draw=4)).json()
        receipts.pin(holder.published_keys())
    for file in (database, *database.parent.glob("holder.sqlite-*")):
        file.unlink(missing_ok=True)
    shutil.copy(tmp_path / "copy", database)

    with stopped.reopened() as after:
        after.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})
        after.declare()
        with pytest.raises(HolderLied, match="no longer publishes"):
            receipts.pin(after.published_keys())
        assert [after.admin("POST", "/signing-keys").json()["id"] for _ in range(3)] == rotated
        assert len(receipts.pin(after.published_keys()).keys) == 4
        assert after.release(plan(draw=5)).json()["key"] == rotated[-1]
        assert signed_as(Release, lost, receipts.pinned()).key == rotated[-1], (
            "the lost entry's receipt proves the loss"
        )
        assert after.admin("POST", "/ledger/verify").json()["reason"] is None


@pytest.fixture
def pair_of_holders(tmp_path: Path, postgres_url: str) -> Iterator[tuple[list[TestedHolder], list[Served]]]:
    """Two holders on one PostgreSQL, with one home and one anchor, as on two machines with a shared volume."""
    holder = stopped_holder(tmp_path, postgres_url, epsilon="1")
    with ExitStack() as stack:
        served = [stack.enter_context(forked(holder.settings)) for _ in range(2)]
        yield [stack.enter_context(holder.at(each.url)) for each in served], served


@pytest.mark.slow
@pytest.mark.postgres
def test_several_holders_on_one_postgresql_are_one_holder(
    pair_of_holders: tuple[list[TestedHolder], list[Served]], tmp_path: Path
) -> None:
    """Answers, budgets, loads, rotations, restarts: whichever of them is asked."""
    holders, served = pair_of_holders

    def release(number: int, **asked: Any) -> httpx.Response:
        return holders[number % 2].release(plan(**asked))

    with ThreadPoolExecutor(8) as pool:
        same = {answer.content for answer in pool.map(release, range(16))}
        raced = list(pool.map(lambda number: release(number, draw=number + 2), range(30)))
    assert len(same) == 1, "one plan, one answer"
    assert sorted(answer.status_code for answer in raced) == [201] * 9 + [403] * 21, "one budget of 1, 0.1 each"

    holders[0].grant("5")
    assert holders[0].load(register_csv(seed=1)).json()["version"] == 2
    assert [release(number, draw=40).json()["version"] for number in (1, 0)] == [2, 2]
    made = holders[1].admin("POST", "/signing-keys").json()["id"]
    assert [release(number, draw=41 + number).json()["key"] for number in (0, 1)] == [made, made]
    served[0].kill()
    assert release(1, draw=50).status_code == 201
    assert holders[1].is_intact()
