"""Evidence bundles as files: a zip file of bounded size, and a manifest that lists every file in it with its digest.

The auditor writes bundles and computes them again (`auditor_client.audits.bundle`); a holder reads those that auditors
publish. Nothing in one is trusted.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.wire.canonical import sha256_name

FORMAT: Final = "pafer-bundle/1"
README: Final = "READ-ME.txt"
"""The text that is opened first; it follows from the audits, and is checked with them."""
MEMBERS_MAX: Final = 4000
BYTES_MAX: Final = 256 * 1024 * 1024
"""Of all files together, unpacked: a small zip file can grow without bound."""
MANIFEST: Final = "manifest.json"
KEYS: Final = "keys.json"
LOG_CHECKPOINT: Final = "log/checkpoint"
LOG_ENTRIES: Final = "log/entries"
_PACKINGS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class BadBundle(ValueError):
    """A file is no evidence bundle; the text says why."""


class Manifest(BaseModel):
    """The list of a bundle: every file but this one, with its SHA-256."""

    model_config = ConfigDict(frozen=True)

    format: str
    audits: tuple[str, ...]
    trainings: tuple[str, ...] = ()
    files: dict[str, str]

    def faults(self, files: Mapping[str, bytes]) -> Iterator[str]:
        """Yield what is wrong with the files beside the list."""
        if self.format != FORMAT:
            yield f"The bundle is of format {self.format!r}; this version reads {FORMAT!r}."
        for name in sorted(self.files.keys() ^ files.keys()):
            yield f"{name} is {'missing' if name in self.files else 'not listed'}."
        for name in sorted(self.files.keys() & files.keys()):
            if sha256_name(files[name]) != self.files[name]:
                yield f"{name} is not the file that the manifest lists: it was changed since."


def read_bundle(path: Path) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest of a bundle, and its other files.

    Raises:
        BadBundle: It is no zip file of bounded size with a manifest.
    """
    files = _members(path)
    try:
        return Manifest.model_validate_json(files.pop(MANIFEST, b"")), files
    except ValidationError as error:
        raise BadBundle(f"{path} is not an evidence bundle: its manifest cannot be read.") from error


def _members(path: Path) -> dict[str, bytes]:
    """The members of a zip file, up to the limits."""
    files: dict[str, bytes] = {}
    left = BYTES_MAX
    try:
        with zipfile.ZipFile(path) as bundle:
            members = bundle.infolist()
            if not len(members) <= MEMBERS_MAX:
                raise BadBundle(f"{path} is not an evidence bundle: it has more than {MEMBERS_MAX} files.")
            for member in members:
                encrypted = member.flag_bits & 1
                if encrypted or member.compress_type not in _PACKINGS or member.filename in files:
                    raise BadBundle(
                        f"{path} is not an evidence bundle: it contains {member.filename} twice, or packed in "
                        "another way."
                    )
                with bundle.open(member) as file:
                    files[member.filename] = file.read(left + 1)
                left -= len(files[member.filename])
                if left < 0:
                    raise BadBundle(
                        f"{path} is not an evidence bundle: it has more than {BYTES_MAX} bytes when unpacked."
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadBundle(f"{path} cannot be read as a zip file: {reason}. Check its name, or get it again.") from error
    return files
