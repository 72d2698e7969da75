"""Settings come from the environment alone, and one that is not usable is reported by name."""

from pathlib import Path

import pytest
from sqlalchemy import make_url

from holder_service.files.set_up_errors import InvalidSettings, SetUpError
from holder_service.settings.holder import QUANTUM_MS_DEFAULT, QUANTUM_MS_MAX, Settings


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


def test_a_secret_comes_from_its_file_and_is_in_no_text(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("p@ss/w:rd %1\n")
    password.chmod(0o400)
    given = {"HOLDER_DATABASE_URL": "postgresql://holder@db/holder", "HOLDER_DATABASE_PASSWORD_FILE": str(password)}

    settings = Settings.from_environment(given)

    assert make_url(settings.database_url).password == "p@ss/w:rd %1"
    assert make_url(settings.database_url).host == "db"
    assert "w:rd" not in repr(settings)
    password.chmod(0o600)
    password.write_text(settings.database_url)
    again = Settings.from_environment({"HOLDER_DATABASE_URL_FILE": str(password)})
    assert again.database_url == settings.database_url


@pytest.mark.parametrize(
    ("content", "mode", "others", "said"),
    [
        (b"secret-word", 0o444, {}, "everybody may read"),
        (b"secret-word", 0o620, {}, "others may write"),
        (b"", 0o400, {}, "one line of text"),
        (b"secret-word\nsecond", 0o400, {}, "one line of text"),
        (b"secret-word\xff", 0o400, {}, "one line of text"),
        (b"secret-word" * 1000, 0o400, {}, "one line of text"),
        (None, 0o400, {}, "cannot be read: No such file"),
        (b"secret-word", 0o400, {"HOLDER_DATABASE_PASSWORD": "secret-word"}, "both set"),
        (b"secret-word", 0o400, {"HOLDER_DATABASE_URL": "postgresql://h:secret-word@db/h"}, "password already"),
        (b"secret-word", 0o400, {"HOLDER_DATABASE_URL": ""}, "names a user"),
    ],
)
def test_a_file_of_a_secret_that_will_not_do_is_named_and_not_shown(
    content: bytes | None, mode: int, others: dict[str, str], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    given = {"HOLDER_DATABASE_URL": "postgresql://h@db/h", "HOLDER_DATABASE_PASSWORD_FILE": str(file), **others}

    with pytest.raises(SetUpError, match=said) as refused:
        Settings.from_environment(given)

    assert "HOLDER_DATABASE_" in str(refused.value)
    assert "secret-word" not in str(refused.value)
