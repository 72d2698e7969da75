"""Settings: where they come from, what wins, and that a key never shows."""

import pwd
from pathlib import Path

import pytest

from auditor_client.errors import SettingsMissing, SettingsRefused
from auditor_client.exchange.sessions import shown_by
from auditor_client.settings import load_settings

ENVIRONMENT = {"AUDITOR_HOLDER_URL": "https://environment.example", "AUDITOR_API_KEY": "environment-key"}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    config = write(
        tmp_path / "auditor.toml",
        'holder_url = "https://file.example"\napi_key = "file-key"\nreceipts = "kept"\nallow_plain_http = true\n',
    )

    settings = load_settings({"holder_url": "https://flag.example", "receipts": None}, ENVIRONMENT, config)

    assert settings.holder_url == "https://flag.example"
    assert settings.key == "environment-key"
    assert settings.receipts == Path("kept")
    assert settings.allow_plain_http is True


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    config = write(tmp_path / "auditor.toml", 'holder_url = "https://file.example"\napi_key = "file-key"\n')

    settings = load_settings({}, {"AUDITOR_CONFIG": str(config)})

    assert settings.key == "file-key"


def test_a_file_that_merely_lies_here_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "auditor.toml", 'holder_url = "https://elsewhere.example"\n')
    monkeypatch.chdir(tmp_path)

    assert load_settings({}, ENVIRONMENT).holder_url == "https://environment.example"


def test_the_key_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    key = write(tmp_path / "key", "a-key\n")

    by_flag = load_settings({"api_key_file": key}, ENVIRONMENT)
    by_environment = load_settings({}, {"AUDITOR_HOLDER_URL": "https://h", "AUDITOR_API_KEY_FILE": str(key)})

    assert by_flag.key == by_environment.key == "a-key"


@pytest.mark.parametrize("missing", ["AUDITOR_HOLDER_URL", "AUDITOR_API_KEY"])
def test_what_is_missing_is_reported_by_name(missing: str, tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, missing: "", "AUDITOR_STATE": str(tmp_path)}

    with pytest.raises(SettingsMissing, match=missing):
        shown_by(load_settings({}, environment))


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "umläut", "", " ", "x" * 513, "tab\tbed", "trailing\n"])
def test_a_key_that_is_no_header_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises((SettingsRefused, SettingsMissing)) as refused:
        load_settings({"api_key": key}, {"AUDITOR_HOLDER_URL": "https://h"})

    assert key == "" or key.strip() == "" or key not in str(refused.value)


def test_a_setting_shows_no_key() -> None:
    settings = load_settings({}, ENVIRONMENT)

    assert "environment-key" not in f"{settings!r} {settings} {settings.model_dump_json()}"


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("holder_url = ", "TOML"),
        ('holder = "https://h"', "'holder'"),
        ("allow_plain_http = 7", "allow_plain_http"),
        ("api_key = 7", "key"),
        ("receipts = 7", r"AUDITOR_RECEIPTS \(receipts\) is a text"),
        ("organisation = 7", r"AUDITOR_ORGANISATION \(organisation\) is a text of one line, with at most 200"),
        (f"author = {'x' * 201!r}", r"AUDITOR_AUTHOR \(author\) is a text of one line, with at most 200"),
        ("#" * 70_000, "bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported(tmp_path: Path, text: str, refusal: str) -> None:
    config = write(tmp_path / "auditor.toml", text)

    with pytest.raises(SettingsRefused, match=refusal):
        load_settings({"holder_url": "https://h", "api_key": None if "api_key" in text else "k"}, {}, config)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    for flags, config in (({}, tmp_path / "none.toml"), ({"api_key_file": tmp_path / "none"}, None)):
        with pytest.raises(SettingsRefused, match="none"):
            load_settings(flags, ENVIRONMENT, config)


def test_a_text_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfe")

    with pytest.raises(SettingsRefused, match="UTF-8"):
        load_settings({"api_key_file": tmp_path / "key"}, ENVIRONMENT)


def test_a_token_counts_instead_of_a_key_and_never_beside_one(tmp_path: Path) -> None:
    file = write(tmp_path / "token", "a.b.c\n")
    url = {"AUDITOR_HOLDER_URL": "https://h"}

    by_environment = load_settings({}, {**url, "AUDITOR_TOKEN_FILE": str(file)})
    by_flag = load_settings({"token_file": file}, ENVIRONMENT)
    key_by_flag = load_settings({"api_key": "a-key"}, {**url, "AUDITOR_TOKEN_FILE": str(file)})

    assert by_environment.key == by_flag.key == file
    assert key_by_flag.key == "a-key"
    for other in ("AUDITOR_API_KEY", "AUDITOR_API_KEY_FILE"):
        with pytest.raises(SettingsRefused, match="Both a key and a token"):
            load_settings({}, {**url, "AUDITOR_TOKEN_FILE": str(file), other: str(file)})


def test_a_key_needs_no_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container of a user that the system does not know there is none."""
    unknown = "no such user"

    def refuse(_: int) -> None:
        raise KeyError(unknown)

    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", refuse)

    assert shown_by(load_settings({}, ENVIRONMENT)) == "environment-key"
    with pytest.raises(SettingsRefused, match="AUDITOR_API_KEY or AUDITOR_STATE"):
        shown_by(load_settings({"holder_url": "https://flag.example"}, {}))
