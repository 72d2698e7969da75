"""Back-ups: restored by one command, and checked by restoring them; whatever is damaged is found."""

import json
import os
import re
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from holder_service.cli import app
from holder_service.domain.errors import Conflict
from holder_service.services.running import backup
from holder_service.services.running.backup import LIST, back_up, back_up_into, restore, shown_time
from holder_service.services.running.drill import drill
from holder_service.storage.database import Database
from testing.holders import TestedHolder, opened, running_holder, settings_in
from testing.refusals import refused
from testing.registers import plan
from tests.integration.test_upgrade import ARCHIVE

NOW = datetime.now(UTC)
FULL_AT_BYTES = 65_536


@dataclass(frozen=True)
class Made:
    """A back-up, and the holder it was made of."""

    folder: Path
    holder: TestedHolder


@pytest.fixture(scope="module")
def made(set_up_holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("backups")
    folder.chmod(0o700)
    old_mask = os.umask(0o077)
    with set_up_holder.copied(folder / "holder") as holder:
        assert holder.release(plan()).status_code == 201
        assert holder.admin("POST", "/signing-keys").status_code == 201
        back_up(holder.holder, folder / "backup")
        yield Made(folder / "backup", holder)
    os.umask(old_mask)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(folder: Path, *options: str) -> Result:
    clean = {name: None for name in os.environ if name.startswith("HOLDER_")}
    return CliRunner().invoke(app, ["check-backup", str(folder), *options], env={**clean, "HOLDER_HOME": "/nowhere"})


def test_a_whole_back_up_is_said_to_be_one_and_nothing_is_touched(made: Made) -> None:
    before = contents(made.folder), contents(made.holder.settings.home)
    head = made.holder.entries()[-1]

    found = check(made.folder, "--max-age-hours=1", "--json")
    shown = check(made.folder)

    assert found.exit_code == shown.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert (document["intact"], document["entries"], document["head"]) == (True, head["sequence"], head["hash"])
    assert len(document["signing_keys"]) == 2
    assert document["datasets"] == {"register": 1}
    assert (document["faults"], document["load_again"], document["remarks"]) == ([], [], [])
    assert "Intact: it can be restored." in shown.stdout
    assert (contents(made.folder), contents(made.holder.settings.home)) == before
    assert not list(Path(tempfile.gettempdir()).glob("pafer-drill-*"))


def flipped(name: str, *, at: int | None = None) -> Callable[[Path], None]:
    """One bit of the first file of that name is another one: in the middle, unless a byte is named."""

    def damage(folder: Path) -> None:
        path = min(folder.glob(name))
        content = bytearray(path.read_bytes())
        content[len(content) // 2 if at is None else at] ^= 1
        path.chmod(0o600)
        path.write_bytes(content)

    return damage


def changed(statement: str) -> Callable[[Path], None]:
    """The database says something else, and the list has the digest of that."""

    def damage(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "holder.sqlite")) as database:
            database.execute(statement)
            database.commit()
        listed_again(folder)

    return damage


def gone(name: str) -> Callable[[Path], None]:
    """Files are gone, and the list does not have them."""

    def damage(folder: Path) -> None:
        for path in folder.glob(name):
            path.unlink()
        listed_again(folder)

    return damage


def listed_again(folder: Path) -> None:
    document = json.loads((folder / LIST).read_text())
    document["files"] = {name: backup._digest(folder / name) for name in backup._files(folder) if name != LIST}
    (folder / LIST).write_text(json.dumps(document))


DAMAGE: list[tuple[Callable[[Path], Any], str]] = [
    (flipped("holder.sqlite"), "holder.sqlite is damaged"),
    (flipped("records/*"), "is damaged"),
    (flipped("people/*"), "is damaged"),
    (flipped("person-key-secret"), "person-key-secret is damaged"),
    (flipped("signing-keys/*"), "is damaged"),
    (flipped(LIST, at=0), LIST),
    (flipped("watch-secret"), "watch-secret is damaged"),
    (lambda folder: (folder / LIST).unlink(), f"{LIST} is missing"),
    (lambda folder: min(folder.glob("records/*")).unlink(), "is missing"),
    (lambda folder: folder.chmod(0o755), "open to others"),
    (gone("records/*"), "the records of register are missing"),
    (gone("people/*"), "the people of register are missing"),
    (gone("signing-keys/*"), "signing key"),
    (gone("person-key-secret"), "secret for person keys"),
    (gone("holder.sqlite"), "holder.sqlite"),
    (changed("DELETE FROM releases"), "not stored"),
    (changed("UPDATE entries SET epsilon_nano = 1 WHERE kind = 'charge'"), "broken at entry"),
    (changed("UPDATE api_keys SET account = 'ADR'"), "broken at entry"),
    (changed("DELETE FROM signing_keys WHERE valid_to IS NOT NULL"), "broken at entry"),
]


def test_every_damage_is_found(made: Made, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    for number, (damage, said) in enumerate(DAMAGE):
        copy = Path(shutil.copytree(made.folder, tmp_path / str(number)))
        damage(copy)

        found = check(copy)

        assert found.exit_code in (1, 2), (number, said, found.output)
        assert said in found.stderr, (number, said, found.output)
        assert "Intact" not in found.stdout
        assert "pafer-drill" not in found.output

    old = check(made.folder)
    document = json.loads((made.folder / LIST).read_text())
    copy = Path(shutil.copytree(made.folder, tmp_path / "old"))
    (copy / LIST).write_text(json.dumps({**document, "made": (NOW - timedelta(hours=27)).isoformat()}))
    assert old.exit_code == check(copy, "--max-age-hours=28").exit_code == 0
    assert "older than 26 hours" in check(copy, "--max-age-hours=26").stderr
    (copy / LIST).write_text(json.dumps({**document, "ledger": {"sequence": 99, "hash": "sha256:" + "0" * 64}}))
    assert "ends at another entry" in check(copy).stderr


def test_a_back_up_of_0_1_is_drilled_too_and_what_has_to_be_loaded_again_is_named(tmp_path: Path) -> None:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="tar")

    found = drill(tmp_path / "home", now=NOW)

    assert found.intact
    assert found.load_again == ("loans", "survey")
    assert "no list" in found.remarks[0]


def test_a_restore_needs_an_empty_home_and_refuses_what_is_damaged(made: Made, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    damaged = Path(shutil.copytree(made.folder, tmp_path / "damaged"))
    flipped("records/*")(damaged)
    with pytest.raises(Conflict, match=r"damaged\. Nothing was restored"):
        restore(damaged, settings)
    assert not settings.home.exists()

    restore(made.folder, replace(settings, anchor=settings.home / "anchor"))

    for again in (settings, replace(settings, home=tmp_path / "other")):
        with pytest.raises(Conflict, match=r"Move "):
            restore(made.folder, again)
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in settings.home.rglob("*")} == {0}
    shutil.copy(made.holder.settings.anchor, settings.anchor)
    with opened(settings, made.holder.admin_key, made.holder.auditor_key) as restored:
        assert restored.release(plan()).status_code == 200
        assert restored.is_intact()


@pytest.mark.postgres
def test_a_database_on_a_server_is_in_the_back_up_and_comes_back(tmp_path: Path, postgres_url: str) -> None:
    """Also populations that were merged, the later into the earlier."""
    with running_holder(tmp_path, postgres_url) as holder:
        for name in ("apart", "zebra"):
            holder.declare(name)
        assert holder.admin("POST", "/populations/apart/merge", json={"population": "zebra"}).status_code == 204
        kept = holder.release(plan(draw=1))
        back_up(holder.holder, tmp_path / "backup")
        (tmp_path / "backup").chmod(0o700)
        assert drill(tmp_path / "backup", now=NOW).intact
        assert holder.release(plan(draw=99)).status_code == 201
        with pytest.raises(Conflict, match="is not empty"):
            restore(tmp_path / "backup", replace(holder.settings, home=tmp_path / "other"))
        entries = holder.entries()
    shutil.rmtree(holder.settings.home)
    with closing(Database(postgres_url)) as database:
        database.write(lambda tables: tables.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))

    restore(tmp_path / "backup", holder.settings)

    with holder.reopened() as after:
        assert after.entries() == entries[:-1]
        refused(after.release(plan(draw=99)), "restore-unrecorded", holder=after)
        after.admin("POST", "/ledger/restore", json={"reason": "the server failed"})
        after.declare()
        assert after.release(plan(draw=1)).content == kept.content
        assert after.is_intact()


def test_the_newest_are_kept_and_their_time_is_shown_late(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """How long a back-up takes depends on the records: the metric moves an hour after it was begun, not at its end."""
    folder = tmp_path / "backups"
    folder.mkdir(mode=0o700)
    for name in ("20200101T000000Z", "20200102T000000Z", "notes", ".20200103T000000Z.partial", ".notes.partial"):
        (folder / name).mkdir()  # the fourth was killed

    with sqlite_holder.holder.files.backing_up(), pytest.raises(Conflict, match="is running"):
        back_up_into(sqlite_holder.holder, folder, keep=2)
    new = back_up_into(sqlite_holder.holder, folder, keep=2)

    assert sorted(path.name for path in folder.iterdir()) == [".notes.partial", "20200102T000000Z", new.name, "notes"]
    assert check(folder).stdout.startswith(f"Back-up {new}, made at ")
    with pytest.raises(Conflict, match="itself a back-up or a home"):
        back_up_into(sqlite_holder.holder, new, keep=2)
    restored = CliRunner().invoke(app, ["restore", str(folder)], env={"HOLDER_HOME": str(tmp_path / "restored")})
    assert restored.stderr.startswith(f"{new} is restored."), restored.output
    verified = CliRunner().invoke(app, ["ledger", "verify", "--backup", str(folder)])
    assert verified.stdout.startswith("Intact"), verified.output
    home, began = sqlite_holder.settings.home, datetime.now(UTC)
    assert shown_time(home, began) is None
    assert "holder_last_backup_timestamp_seconds 0.0" in sqlite_holder.metrics().text
    shown = shown_time(home, began + timedelta(hours=1))
    assert shown is not None
    assert timedelta() <= began - shown < timedelta(minutes=1)
    assert check(tmp_path / "home").exit_code == 2


def on_a_full_disk(*arguments: str, holder: TestedHolder, room: Path) -> subprocess.CompletedProcess[str]:
    """A command where no file gets as large as the database is, run by itself as a timer runs it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDER_")}
    return subprocess.run(
        [sys.executable, "-m", "holder_service.cli", *arguments], capture_output=True, text=True, check=False,
        env={
            **environment, "HOLDER_HOME": str(holder.settings.home), "HOLDER_ANCHOR": str(holder.settings.anchor),
            "HOLDER_DATABASE_URL": holder.settings.database_url, "TMPDIR": str(room),
        },
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_AT_BYTES, FULL_AT_BYTES)),
    )  # fmt: skip


@pytest.mark.slow
def test_a_full_disk_is_said_in_one_line_that_names_what_cannot_be_written(made: Made, tmp_path: Path) -> None:
    folder, room = tmp_path / "backups", tmp_path / "room"
    for one in (folder, room):
        one.mkdir(mode=0o700)

    copied = on_a_full_disk("backup", str(folder), "--keep=3", holder=made.holder, room=room)
    drilled = on_a_full_disk("check-backup", str(made.folder), holder=made.holder, room=room)

    assert copied.returncode == drilled.returncode == 2
    assert re.fullmatch(rf"The database cannot be copied, .+: {folder}/.+\n", copied.stderr)
    assert re.fullmatch(rf"File too large: {room}/.+\n", drilled.stderr)
    assert not [*folder.iterdir(), *room.iterdir()]
