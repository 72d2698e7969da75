"""Settings come from the environment alone, and one that is not usable is reported by name."""

from pathlib import Path

import pytest

from holder_service.settings import QUANTUM_MS_DEFAULT, QUANTUM_MS_MAX, InvalidSettings, Settings


def test_nothing_set_is_a_holder_in_the_working_directory() -> None:
    settings = Settings.from_environment({})

    assert settings.home == Path.cwd() / "holder-home"
    assert settings.database_url == f"sqlite:///{settings.home / 'holder.sqlite'}"
    assert settings.anchor == settings.home / "anchor"
    assert settings.release_quantum_ms == QUANTUM_MS_DEFAULT


def test_a_home_may_have_any_path() -> None:
    settings = Settings.from_environment({"HOLDER_HOME": "/srv/100 %?#"})

    assert settings.database_url == "sqlite:////srv/100 %?#/holder.sqlite"


def test_everything_may_be_set() -> None:
    settings = Settings.from_environment(
        {
            "HOLDER_HOME": "/srv/holder",
            "HOLDER_DATABASE_URL": "postgresql://holder@db:5433/holder",
            "HOLDER_ANCHOR": "/srv/anchor/head",
            "HOLDER_RELEASE_QUANTUM_MS": "0",
            "HOLDER_REQUESTS_PER_S": "0",
            "HOLDER_CONCURRENT_RELEASES": "7",
        }
    )

    assert settings.home == Path("/srv/holder")
    assert settings.database_url == "postgresql://holder@db:5433/holder"
    assert settings.anchor == Path("/srv/anchor/head")
    assert settings.release_quantum_ms == 0
    assert settings.requests_per_s == 0
    assert settings.concurrent_releases == 7


def test_what_is_set_to_nothing_is_not_set() -> None:
    names = ("HOLDER_HOME", "HOLDER_DATABASE_URL", "HOLDER_ANCHOR", "HOLDER_RELEASE_QUANTUM_MS")

    assert Settings.from_environment(dict.fromkeys(names, "")) == Settings.from_environment({})


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////srv/holder.sqlite", "sqlite:///holder.sqlite", "postgresql:///holder?host=/run/postgresql",
        "postgresql+psycopg://u:p@db/holder", "postgresql://",
    ],
)  # fmt: skip
def test_a_url_of_a_store_that_lasts_is_taken(url: str) -> None:
    assert Settings.from_environment({"HOLDER_DATABASE_URL": url}).database_url == url


def test_postgres_is_taken_as_postgresql() -> None:
    settings = Settings.from_environment({"HOLDER_DATABASE_URL": "postgres://holder@db/postgres"})

    assert settings.database_url == "postgresql://holder@db/postgres"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://db/holder", "/srv/holder.sqlite", "sqlite://", "sqlite:///", "sqlite:///:memory:",
        "sqlite:///x?mode=memory&uri=true", "postgresql:/db", "postgresql://u:secret@db:port/holder",
        "postgresql://[::1/holder", "postgresql://db:99999/holder", "SQLITE:///x", "\n",
    ],
)  # fmt: skip
def test_another_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidSettings, match="HOLDER_DATABASE_URL") as raised:
        Settings.from_environment({"HOLDER_DATABASE_URL": url})

    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "quantum", ["-1", "+1", "1.5", "1e3", "1_000", " 1", "1\n", "٥", "²", str(QUANTUM_MS_MAX + 1), "9" * 5000]
)
def test_a_quantum_is_whole_milliseconds(quantum: str) -> None:
    with pytest.raises(InvalidSettings, match="HOLDER_RELEASE_QUANTUM_MS"):
        Settings.from_environment({"HOLDER_RELEASE_QUANTUM_MS": quantum})


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("HOLDER_REQUESTS_PER_S", "-1"), ("HOLDER_REQUESTS_PER_S", "1.5"), ("HOLDER_REQUESTS_PER_S", "100000"),
        ("HOLDER_CONCURRENT_RELEASES", "0"), ("HOLDER_CONCURRENT_RELEASES", "٥"), ("HOLDER_CONCURRENT_RELEASES", "1\n"),
    ],
)  # fmt: skip
def test_a_limit_is_a_whole_number(name: str, number: str) -> None:
    with pytest.raises(InvalidSettings, match=name):
        Settings.from_environment({name: number})


def test_a_password_in_the_url_is_not_shown() -> None:
    settings = Settings.from_environment({"HOLDER_DATABASE_URL": "postgresql://u:secret@db/holder"})

    assert "secret" not in repr(settings)
