"""Settings of the auditor's side: from flags, then the environment, then a configuration file (4-interface).

The configuration file is only read where the user named it: a file that happens to be in the
working directory could send the key to another holder. The key is never in a flag, a text or a repr.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypedDict

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator

from auditor_client.errors import SettingsMissing, SettingsRefused
from auditor_client.text import no_such
from shared.log.notes import VerifierKey, parse_witnesses
from shared.wire.limits import TEXT_CHARACTERS_MAX
from shared.wire.text import Words
from shared.wire.variables import unknown_variables

CONFIG_VARIABLE: Final = "AUDITOR_CONFIG"
DEFAULT_RECEIPTS: Final = Path("receipts")


class Setting(NamedTuple):
    """The environment variable of a setting, and what it means."""

    variable: str
    meaning: str


SETTINGS: Final[Mapping[str, Setting]] = {
    "holder_url": Setting("AUDITOR_HOLDER_URL", "The holder's address, such as `https://holder.example`. Needed."),
    "api_key": Setting(
        "AUDITOR_API_KEY", "Your key. Required, unless a file of it or a sign-in (`auditor login`) replaces it."
    ),
    "api_key_file": Setting("AUDITOR_API_KEY_FILE", "A file whose only text is your key."),
    "second_holder_url": Setting(
        "AUDITOR_SECOND_HOLDER_URL",
        "The address of the second holder, if each of two has one half of a register ([two holders](two-holders.md)).",
    ),
    "second_api_key": Setting(
        "AUDITOR_SECOND_API_KEY", "Your key at the second holder. The first holder's key is never sent to it."
    ),
    "second_api_key_file": Setting("AUDITOR_SECOND_API_KEY_FILE", "A file with your key at the second holder."),
    "token_file": Setting(
        "AUDITOR_TOKEN_FILE",
        "A file with a token of the holder's identity provider, read again at each call; instead of a key.",
    ),
    "oidc_issuer": Setting(
        "AUDITOR_OIDC_ISSUER",
        "The identity provider that you sign in at, to the last character: then the holder can name no other, and "
        "`auditor login` need not ask you.",
    ),
    "oidc_audience": Setting(
        "AUDITOR_OIDC_AUDIENCE", "The audience of your tokens, if it is not one of the holder's own addresses."
    ),
    "state": Setting("AUDITOR_STATE", "The private folder of sign-ins; `~/.local/state/pafer`."),
    "receipts": Setting("AUDITOR_RECEIPTS", "The folder of receipts and pinned keys, one for each holder; `receipts`."),
    "allow_plain_http": Setting(
        "AUDITOR_ALLOW_PLAIN_HTTP", "`true` lets the key travel unencrypted to another machine; `false`."
    ),
    "organisation": Setting("AUDITOR_ORGANISATION", "Who audits, for the head of reports."),
    "asked_for": Setting(
        "AUDITOR_ASKED_FOR", "What your questions are for: sent with each, entered into the holder's ledger, published."
    ),
    "wait_approval": Setting(
        "AUDITOR_WAIT_APPROVAL",
        "How many seconds to wait for a budget officer's approval, where the dataset requires it; `0`.",
    ),
    "author": Setting("AUDITOR_AUTHOR", "Who writes reports, for their head."),
    "witnesses": Setting(
        "AUDITOR_WITNESSES",
        "The keys of the witnesses that you trust to watch the holder's ledger, with spaces between "
        "([witnesses](witnesses.md)).",
    ),
    "witnesses_needed": Setting(
        "AUDITOR_WITNESSES_NEEDED", "How many of them have to have cosigned; more than half of them."
    ),
}
"""Every setting by its name in a configuration file."""

_WORDS: Final = f"is a text of one line, with at most {TEXT_CHARACTERS_MAX} characters."
_TAKES: Final = {
    "allow_plain_http": "is yes or no: write true or false.",
    "wait_approval": "is a number of seconds, 0 or more, such as 3600.",
    "organisation": _WORDS,
    "author": _WORDS,
    "asked_for": _WORDS,
    "witnesses": "is keys as `holder witness init` prints them, with spaces between.",
    "witnesses_needed": "is a whole number from 1 to the number of witnesses.",
}
"""What a setting takes, where not every text will do."""
_KEY: Final = re.compile(r"[\x21-\x7e]{1,512}")
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_SHOWN: Final = frozenset({"api_key", "api_key_file", "token_file"})
"""The settings that show who asks."""
_TOKEN_FILE_BYTES_MAX: Final = 16 * 1024
_KEY_FILE_BYTES_MAX: Final = 4096
_CONFIG_BYTES_MAX: Final = 64 * 1024


class Given(TypedDict, total=False):
    """Settings that a program may give by name; what is left out, or None, comes from the environment.

    Attributes:
        second_holder_url: Where the second holder is, if each of two has one half of a register.
        second_api_key: The auditor's key at the second holder.
        token_file: A file with a token of the holder's identity provider, instead of a key; read again at each call.
        state: The private folder of sign-ins; by default "~/.local/state/pafer".
        receipts: Directory of the receipts; by default "receipts" here.
        allow_plain_http: Let the key travel unencrypted to another machine.
        asked_for: What the questions are for, in one line: the holder enters it into its ledger and publishes it.
        wait_approval: How many seconds to wait for a budget officer's approval, where the dataset requires it; else
            `ApprovalAwaited` is raised at once.
        witnesses: The keys of witnesses of the holder's ledger, with spaces between.
        witnesses_needed: How many of them have to have cosigned; by default more than half of them.
    """

    second_holder_url: str | None
    second_api_key: str | None
    token_file: Path | str | None
    state: Path | str | None
    receipts: Path | str | None
    allow_plain_http: bool | None
    asked_for: str | None
    wait_approval: float | None
    witnesses: str | None
    witnesses_needed: int | None


class AuditorSettings(BaseModel):
    """How to reach the holder, and where receipts are, and the holder's pinned keys: one directory for one holder.

    The key is hidden in every text. There is a key, or the file of a token, or what a sign-in left in the folder
    `state`. `allow_plain_http`: whether it may travel unencrypted to another machine.
    """

    model_config = ConfigDict(frozen=True)

    holder_url: str
    api_key: SecretStr | None = None
    second_holder_url: str | None = None
    second_api_key: SecretStr | None = None
    token_file: Path | None = None
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    state: Path | None = None
    receipts: Path = DEFAULT_RECEIPTS
    allow_plain_http: bool = False
    organisation: Words | None = None
    author: Words | None = None
    asked_for: Words | None = None
    wait_approval: float = Field(default=0, ge=0, allow_inf_nan=False)
    witnesses: str = ""
    witnesses_needed: int | None = Field(default=None, ge=1)

    @field_validator("witnesses")
    @classmethod
    def _check_witnesses(cls, given: str) -> str:
        parse_witnesses(given)
        return given

    @field_validator("witnesses_needed")
    @classmethod
    def _check_needed(cls, needed: int | None, info: ValidationInfo) -> int | None:
        if needed is not None and needed > len(str(info.data.get("witnesses", "")).split()):
            raise ValueError
        return needed

    @property
    def trusted_witnesses(self) -> tuple[tuple[VerifierKey, ...], int]:
        """The witnesses' keys, and how many of them have to have cosigned: more than half of them by default."""
        keys = parse_witnesses(self.witnesses)
        if self.witnesses_needed is not None:
            return keys, self.witnesses_needed
        return keys, len(keys) // 2 + 1 if keys else 0

    @property
    def key(self) -> str | Path | None:
        """What shows who asks: the key, or the file of a token; None for what a sign-in left."""
        return self.token_file if self.api_key is None else self.api_key.get_secret_value()

    @property
    def state_folder(self) -> Path:
        """The private folder of sign-ins; by default one in the home directory.

        Raises:
            SettingsRefused: There is no home directory.
        """
        if self.state is not None:
            return self.state
        try:
            return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "pafer"
        except RuntimeError as error:
            raise SettingsRefused(
                "Your key is not set, and this user does not have a home directory for a sign-in. Set "
                f"{SETTINGS['api_key'].variable} or {SETTINGS['state'].variable}."
            ) from error


def load_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str], config: Path | str | None = None
) -> AuditorSettings:
    """Read the settings from flags, then the environment, then a configuration file; the first that has one wins.

    A flag that is `None` was not given, and an empty variable counts as not set. The file is TOML; by default the one
    that AUDITOR_CONFIG names, if any.

    Raises:
        SettingsMissing: The address is set nowhere.
        SettingsRefused: A file cannot be read, a name is unknown, or a value is not valid.
    """
    known = {CONFIG_VARIABLE, *(one.variable for one in SETTINGS.values())}
    unknown = unknown_variables("AUDITOR_", known, environment)
    if unknown is not None:
        raise SettingsRefused(unknown)
    path = config or environment.get(CONFIG_VARIABLE) or None
    sources: tuple[Mapping[str, Any], ...] = (
        {name: value for name, value in flags.items() if value is not None},
        {name: environment[one.variable] for name, one in SETTINGS.items() if environment.get(one.variable)},
        _read_config(Path(path)) if path is not None else {},
    )
    values = _first_of_each(sources)
    if "holder_url" not in values:
        raise SettingsMissing(
            "The holder's address is not set. Give `holder_url`, or set the environment variable "
            f"{SETTINGS['holder_url'].variable}, or 'holder_url' in the file that {CONFIG_VARIABLE} names."
        )
    if "api_key" in values:
        values["api_key"] = SecretStr(_key(values["api_key"]))
    values.pop("api_key_file", None)
    _settle_second(values)
    try:
        return AuditorSettings(**values)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise SettingsRefused(f"{SETTINGS[name].variable} ({name}) {_TAKES.get(name, 'is a text.')}") from error


def _settle_second(values: dict[str, Any]) -> None:
    """Read the key at the second holder, if there is one; the first holder's is not sent there.

    Raises:
        SettingsMissing: There is a second holder, and no key for it.
        SettingsRefused: The key or its file cannot be used.
    """
    file = values.pop("second_api_key_file", None)
    if file is not None and "second_api_key" not in values:
        values["second_api_key"] = _read(Path(str(file)), _KEY_FILE_BYTES_MAX).strip()
    if "second_api_key" in values:
        values["second_api_key"] = SecretStr(_key(values["second_api_key"]))
    elif "second_holder_url" in values:
        raise SettingsMissing(
            "The key at the second holder is not set, and the first holder's key is not sent there. Give "
            f"`second_api_key`, or set {SETTINGS['second_api_key'].variable} or "
            f"{SETTINGS['second_api_key_file'].variable}."
        )


def _first_of_each(sources: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    """The first value of each name. A source that names a key file has that file's key as its key.

    Raises:
        SettingsRefused: A source has both a key and a token, or a file cannot be read.
    """
    values: dict[str, Any] = {}
    for source in sources:
        if "token_file" in source and len(_SHOWN & source.keys()) > 1:
            raise SettingsRefused(
                "Both a key and a token are given, and which of them counts is not said: leave `api_key` or "
                "`token_file` out (AUDITOR_API_KEY, AUDITOR_API_KEY_FILE or AUDITOR_TOKEN_FILE)."
            )
        decided = not _SHOWN.isdisjoint(values)
        added = {name: value for name, value in source.items() if not (decided and name in _SHOWN)}
        values = {**added, **values}
        if "api_key" not in values and "api_key_file" in added:
            values["api_key"] = _read(Path(str(added["api_key_file"])), _KEY_FILE_BYTES_MAX).strip()
    return values


def read_token(path: Path) -> str:
    """The token in a file, as it is now.

    Raises:
        SettingsRefused: It does not exist.
    """
    token = _read(path, _TOKEN_FILE_BYTES_MAX).strip()
    if _TOKEN.fullmatch(token):
        return token
    raise SettingsRefused(f"{path} has to hold a token as its only text: have it written again.")


def _read_config(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(_read(path, _CONFIG_BYTES_MAX))
    except tomllib.TOMLDecodeError as error:
        raise SettingsRefused(f"The configuration file {path} is not valid TOML: {error}.") from error
    unknown = sorted(document.keys() - SETTINGS.keys())
    if unknown:
        raise SettingsRefused(f"The configuration file {path}: {no_such('setting', unknown[0], sorted(SETTINGS))}")
    return document


def _read(path: Path, bytes_max: int) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(bytes_max + 1)
        if len(content) <= bytes_max:
            return content.decode()
    except OSError as error:
        raise SettingsRefused(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SettingsRefused(f"{path} is not a UTF-8 text.") from error
    raise SettingsRefused(f"{path} exceeds {bytes_max} bytes: name another file.")


def _key(value: Any) -> str:
    """Check a key here: httpx could show one that it refuses for a header in its error."""
    if isinstance(value, str) and _KEY.fullmatch(value):
        return value
    raise SettingsRefused("The key must be 1 to 512 visible ASCII characters without blanks; copy it again.")
