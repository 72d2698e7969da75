"""What a holder writes is for its owner alone, however its home was made; an open home is refused."""

import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import pytest
from typer.testing import CliRunner

from holder_service.cli import app as holder_command
from holder_service.files.private import OpenHome, require_closed
from holder_service.services.running.holder import Holder, initialise
from holder_service.settings.holder import Settings
from testing.holders import running_holder, serving
from testing.registers import DECLARATION, register_csv
from testing.waits import wait_until

READABLE: Final = 0o022
MODE_OF_OTHERS: Final = 0o077


@pytest.fixture
def careless() -> Iterator[None]:
    """A machine where new files are readable by everybody unless somebody sees to it."""
    before = os.umask(READABLE)
    yield
    os.umask(before)


def run(settings: Settings, *arguments: str, key: str = "") -> str:
    """A command where new files are readable by everybody unless it sees to it; gives what it prints."""
    os.umask(READABLE)
    done = CliRunner(env=environment(settings, key=key)).invoke(holder_command, arguments)
    os.umask(READABLE)  # the command changed this process's own
    assert done.exit_code == 0, done.stderr
    return done.stdout


def environment(settings: Settings, *, key: str = "") -> dict[str, str]:
    """The same settings for a command."""
    return {
        "HOLDER_HOME": str(settings.home), "HOLDER_DATABASE_URL": settings.database_url,
        "HOLDER_ANCHOR": str(settings.anchor), "HOLDER_ADMIN_KEY": key, "HOLDER_URL": "",
    }  # fmt: skip


def settings_in(folder: Path) -> Settings:
    """The settings that a holder has by default."""
    home = folder / "home"
    return Settings(home, f"sqlite:///{home / 'holder.sqlite'}", home / "anchor", 0)


def open_to_others(*roots: Path) -> list[str]:
    """All files and folders that anybody but their owner may read, write or enter."""
    paths = [path for root in roots for path in (root, *root.rglob("*"))]
    return sorted(str(path) for path in paths if stat.S_IMODE(path.lstat().st_mode) & MODE_OF_OTHERS)


@pytest.mark.usefixtures("careless")
def test_nothing_that_a_holder_writes_is_readable_by_others(tmp_path: Path) -> None:
    """The home was there before, open and empty, as `install --directory` and systemd make it."""
    settings = settings_in(tmp_path)
    settings.home.mkdir(mode=0o755)
    key = run(settings, "init").splitlines()[-1]
    admin = {"Authorization": f"Bearer {key}", "Content-Type": "text/csv"}
    seen: list[str] = []

    def body() -> Iterator[bytes]:
        content = register_csv()
        yield content[:200]
        incoming = settings.home / "incoming"
        wait_until(lambda: incoming.is_dir() and any(path.is_file() for path in incoming.iterdir()))
        seen.extend(open_to_others(settings.home))
        yield content[200:]

    with serving(settings, workers=2) as served, httpx.Client(base_url=served.url, timeout=60) as client:
        client.put(
            "/v1/admin/datasets/register", json=DECLARATION, headers=admin | {"Content-Type": "application/json"}
        )
        loaded = client.put("/v1/admin/datasets/register/records", content=body(), headers=admin)
        assert loaded.status_code == 200, loaded.text
        seen += open_to_others(settings.home)
        backup, report, export = tmp_path / "backup", tmp_path / "report.html", tmp_path / "ledger.csv"
        run(settings, "backup", str(backup))
        run(settings, "report", "register", str(report))
        run(settings, "admin", "export-ledger", str(export), key=key)

    assert seen == []
    assert open_to_others(settings.home, backup, report, export) == []
    (records,) = (settings.home / "records").iterdir()
    assert stat.S_IMODE(records.stat().st_mode) == 0o400


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o720, 0o702, 0o711])
def test_a_home_that_others_may_enter_is_open(tmp_path: Path, mode: int) -> None:
    (tmp_path / "it is").mkdir()
    (tmp_path / "it is").chmod(mode)

    with pytest.raises(OpenHome, match=f"chmod -R go= '{tmp_path}/it is'$"):
        require_closed(tmp_path / "it is")


@pytest.mark.usefixtures("careless")
def test_every_command_refuses_an_open_home_with_the_command_that_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)
    issued = initialise(settings)
    assert issued is not None
    settings.home.chmod(0o755)
    for name, value in environment(settings, key=issued.text).items():
        monkeypatch.setenv(name, value)

    refusals = [
        CliRunner().invoke(holder_command, arguments)
        for arguments in (
            ["serve", "--port", "0"], ["init"], ["ledger", "verify"], ["backup", str(tmp_path / "backup")],
            ["report", "register"], ["calibrate", "--records", "1000", "--runs", "3"],
            ["replace-lost-key", "why"], ["admin", "auditors"],
        )
    ]  # fmt: skip

    closing = f"chmod -R go= {settings.home}"
    assert [(refusal.exit_code, refusal.stdout) for refusal in refusals] == [(2, "")] * len(refusals)
    assert all(refusal.stderr.endswith(f"Close it: {closing}\n") for refusal in refusals), refusals[0].stderr
    subprocess.run(shlex.split(closing), check=True)
    assert CliRunner().invoke(holder_command, ["ledger", "verify"]).exit_code == 0


def test_a_home_that_somebody_else_filled_is_not_taken_over(tmp_path: Path) -> None:
    """What lies in an open folder may have been read, or put there, by anybody: its owner has to look first."""
    settings = settings_in(tmp_path)
    settings.home.mkdir()
    settings.home.chmod(0o755)
    (settings.home / "notes").touch()

    with pytest.raises(OpenHome):
        initialise(settings)

    assert [path.name for path in settings.home.iterdir()] == ["notes"]


def test_a_home_that_was_opened_while_it_served_is_not_opened_again(tmp_path: Path) -> None:
    with running_holder(tmp_path) as holder:
        holder.settings.home.chmod(0o755)

        with pytest.raises(OpenHome):
            Holder.open(holder.settings)
