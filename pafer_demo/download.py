"""`python -m pafer_demo.download [FOLDER]` (`./run data`): fetch Adult, COMPAS and German from who publishes them.

Every file is checked against its SHA-256 before it is written under its name, and one that is there already and is
right is left alone. Of COMPAS only what the paper uses is kept: names, dates of birth, case numbers and charges are
dropped before anything is written, and dates in custody are cut to their year.
"""

import csv
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from pafer_demo.open_data import DOWNLOADED, SHA256, data_directory, is_published

DOWNLOAD_BYTES_MAX: Final = 32 * 2**20
"""The largest of the three is 2.5 MB: what is larger is another file."""
ELSEWHERE: Final = "If you have the file from elsewhere, set PAFER_DATA to its folder."


class DownloadFailed(Exception):
    """A file could not be fetched, or is another one than was published."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where files come from.

    Attributes:
        url: What is fetched.
        files: The files in what was fetched, bytes by name.
    """

    url: str
    files: Callable[[bytes], Mapping[str, bytes]]


def download(folder: Path, sources: Mapping[str, Source]) -> list[str]:
    """Fetch what is not in a folder yet.

    Args:
        folder: Made where it is not there.
        sources: Each published file's source, by the file's name in `SHA256`.

    Returns:
        The names of the files that were written.

    Raises:
        DownloadFailed: A source cannot be had, or gives other bytes than were published; files before it are kept.
    """
    missing = [name for name in sources if not is_published(folder / name, SHA256[name])]
    fetched: dict[str, Mapping[str, bytes]] = {}
    for name in missing:
        source = sources[name]
        if source.url not in fetched:
            fetched[source.url] = _files(source)
        folder.mkdir(parents=True, exist_ok=True)
        unchecked = folder / f"{name}.unchecked"
        unchecked.write_bytes(fetched[source.url].get(name, b""))
        if not is_published(unchecked, SHA256[name]):
            unchecked.unlink()
            raise DownloadFailed(
                f"{source.url} has a different {name} than the one that the figures are based on: its SHA-256 differs."
            )
        unchecked.replace(folder / name)
    return missing


def _files(source: Source) -> Mapping[str, bytes]:
    content = bytearray()
    try:
        with httpx.stream("GET", source.url, follow_redirects=True, timeout=60) as response:
            if not response.is_success:
                raise DownloadFailed(f"{source.url} returned status {response.status_code}. {ELSEWHERE}")
            for part in response.iter_bytes():
                content += part
                if len(content) > DOWNLOAD_BYTES_MAX:
                    raise DownloadFailed(
                        f"{source.url} is larger than {DOWNLOAD_BYTES_MAX} bytes, so it is not the expected file."
                    )
        return source.files(bytes(content))
    except (httpx.HTTPError, zipfile.BadZipFile, zlib.error, UnicodeDecodeError, KeyError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise DownloadFailed(f"{source.url} cannot be fetched or read ({problem}). {ELSEWHERE}") from error


def zip_members(*names: str) -> Callable[[bytes], Mapping[str, bytes]]:
    """The reader of some files out of a zip archive."""

    def read(content: bytes) -> Mapping[str, bytes]:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: archive.read(name) for name in names if archive.getinfo(name).file_size < DOWNLOAD_BYTES_MAX}

    return read


_COMPAS_COLUMNS: Final = (
    "id sex age age_cat race juv_fel_count decile_score juv_misd_count juv_other_count priors_count "
    "days_b_screening_arrest c_jail_in c_jail_out c_charge_degree is_recid score_text in_custody out_custody "
    "two_year_recid"
).split()
_COMPAS_DATES: Final = {"c_jail_in", "c_jail_out", "in_custody", "out_custody"}


def compas_without_identities(content: bytes) -> Mapping[str, bytes]:
    """ProPublica's two-year file without what identifies a person (`compas.csv`).

    Raises:
        KeyError: A column is not there.
    """
    rows = csv.DictReader(io.StringIO(content.decode()), restval="")
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(f"{column}_year" if column in _COMPAS_DATES else column for column in _COMPAS_COLUMNS)
    for row in rows:
        writer.writerow(row[column][:4] if column in _COMPAS_DATES else row[column] for column in _COMPAS_COLUMNS)
    return {"compas.csv": written.getvalue().encode()}


_UCI: Final = "https://archive.ics.uci.edu/static/public"
_ADULT: Final = Source(f"{_UCI}/2/adult.zip", zip_members("adult.data", "adult.test"))
_GERMAN: Final = Source(f"{_UCI}/144/statlog+german+credit+data.zip", zip_members("german.data"))
_COMPAS: Final = Source(
    "https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
    compas_without_identities,
)
SOURCES: Final[Mapping[str, Source]] = {
    "adult.data": _ADULT,
    "adult.test": _ADULT,
    "compas.csv": _COMPAS,
    "german.data": _GERMAN,
}


def main() -> None:
    """Fetch the files, and say where they are."""
    named = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("PAFER_DATA")
    folder = Path(named) if named else data_directory() or DOWNLOADED
    try:
        written = download(folder, SOURCES)
    except (DownloadFailed, OSError) as failure:
        sys.exit(str(failure))
    print(f"{folder} has all files; fetched: {', '.join(written) or 'none'}.")


if __name__ == "__main__":
    main()
