"""Settings that are secret, each from its variable or from a file: a container's secret, a credential of systemd."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holder_service.files.set_up_errors import SetUpError

SECRETS: Final[Mapping[str, str]] = {
    "HOLDER_DATABASE_URL": "its text is the database's URL",
    "HOLDER_DATABASE_PASSWORD": "its text is the password of the user that the database's URL names",
    "HOLDER_SPARK_REMOTE": "its text is the URL of the Spark Connect server, with its token",
    "HOLDER_OIDC_CLIENT_SECRET": "its text is the console's secret at the identity provider",
    "HOLDER_ADMIN_KEY": "its text is an administrator's key, or a token, for `holder admin`",
}
"""What a file has that NAME_FILE names, by NAME."""
ENDING: Final = "_FILE"
CONTAINER_FOLDER: Final = Path("/run/secrets")
"""Where containers have their secrets: nobody else is in there, and modes are the runtime's."""
_BYTES_MAX: Final = 4096


class UnreadableSecret(SetUpError):
    """A secret cannot be read from its file; the text names the variable and the file, never what is in it."""


def secret(environment: Mapping[str, str], name: str) -> str | None:
    """A secret setting, from its variable or from the file that the variable with _FILE behind it names.

    Raises:
        UnreadableSecret: Both are set; or the file is not there, is open to others, or does not hold one line of text.
    """
    given, file = environment.get(name) or None, environment.get(name + ENDING) or None
    if file is None:
        return given
    if given is not None:
        raise UnreadableSecret(f"{name} and {name}{ENDING} are both set: keep one.")
    return _read(Path(file), name + ENDING)


def _read(path: Path, variable: str) -> str:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            content = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise UnreadableSecret(f"{variable}: {path} cannot be read: {error.strerror}.") from None
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnreadableSecret(f"{variable}: others may write {path}. Close it: chmod 400.")
    if mode & stat.S_IROTH and CONTAINER_FOLDER not in path.absolute().parents:
        raise UnreadableSecret(f"{variable}: everybody may read {path}. Close it: chmod 400, or 440 for a group.")
    try:
        text = content.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        text = ""
    if text and text.isprintable() and len(content) <= _BYTES_MAX:
        return text
    raise UnreadableSecret(f"{variable}: {path} has to hold the secret as one line of text, and nothing else.")
