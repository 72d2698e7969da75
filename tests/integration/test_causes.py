"""A failing store: readiness and metrics say why, and the commands say where."""

from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from typer.testing import CliRunner

from holder_service.cli import app
from holder_service.services.ledger import store as ledger_store
from holder_service.storage import database
from testing.holders import TestedHolder, running_holder


def test_a_full_disk_is_not_ready_and_says_why(sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_store, "TRIED_EVERY_S", 0.0)
    assert sqlite_holder.client.get("/readyz").status_code == 200
    assert "holder_ready 1.0" in sqlite_holder.metrics().text

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(database, "try_file", full)

    answer = sqlite_holder.client.get("/readyz")
    assert answer.status_code == 503
    assert (answer.json()["reason"], answer.json()["fault"]) == ("disk-full", "ENOSPC")
    assert sqlite_holder.client.get("/healthz").status_code == 200
    shown = sqlite_holder.metrics().text
    assert "holder_ready 0.0" in shown
    assert 'holder_not_ready{reason="disk-full"} 1.0' in shown


@pytest.mark.postgres
def test_metrics_outlive_the_database_and_name_it(tmp_path: Path, postgres_url: str) -> None:
    """The key of a scrape that was admitted before is remembered; what is not known then is left out."""
    with running_holder(tmp_path, postgres_url) as holder:
        assert "holder_ledger_sequence" in holder.metrics().text
        parts = urlsplit(postgres_url)
        other, maintenance = parts.path.removeprefix("/"), urlunsplit(parts._replace(path="/postgres"))
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {other} WITH ALLOW_CONNECTIONS false")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (other,))

            shown = holder.metrics()
            ready = holder.client.get("/readyz")

            connection.execute(f"ALTER DATABASE {other} WITH ALLOW_CONNECTIONS true")
        assert shown.status_code == 200
        assert "holder_not_ready{reason=" in shown.text
        assert "holder_ledger_sequence" not in shown.text
        assert "holder_requests_total" in shown.text
        assert ready.status_code == 503
        assert ready.json()["reason"] in {"refused", "connection-lost", "starting-or-stopping"}


@pytest.mark.parametrize("command", [["init"], ["ledger", "verify"]])
def test_a_command_names_the_address_and_the_cause(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDER_HOME", str(tmp_path / "home"))
    CliRunner().invoke(app, ["init"])
    monkeypatch.setenv("HOLDER_DATABASE_URL", "postgresql://pafer@127.0.0.1:1/pafer")

    result = CliRunner().invoke(app, command)

    assert result.exit_code == 2
    assert "PostgreSQL at 127.0.0.1:1 does not answer: nobody listens there (ECONNREFUSED)" in result.stderr


def test_a_misspelt_setting_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOLDER_LOGLEVEL", "debug")
    monkeypatch.setenv("HOLDER_ANCOR", "/x")
    monkeypatch.setenv("HOLDER_SERVICE_HOST", "10.0.0.1")

    result = CliRunner().invoke(app, ["init"])

    assert result.exit_code == 2
    assert "HOLDER_LOGLEVEL is not a setting: did you mean HOLDER_LOG_LEVEL?" in result.stderr
    assert "HOLDER_ANCOR is not a setting: did you mean HOLDER_ANCHOR?" in result.stderr
    assert "SERVICE_HOST" not in result.stderr
    assert not (tmp_path / "home").exists()


def test_the_version_is_shown(sqlite_holder: TestedHolder) -> None:
    result = CliRunner().invoke(app, ["--version"])

    assert (result.exit_code, result.stdout) == (0, f"holder {version('pafer')}\n")
    assert f'holder_build_info{{version="{version("pafer")}"}} 1.0' in sqlite_holder.metrics().text
