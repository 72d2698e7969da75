"""The public data come from their publishers, checked before they are written; here from a server on this machine."""

import csv
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pafer_demo import download as downloading
from pafer_demo.download import SOURCES, DownloadFailed, Source, compas_without_identities, download, zip_members
from pafer_demo.open_data import SHA256, adult, compas, german
from testing.http_servers import SilentFiles, serving_http

ORIGINAL_COLUMNS = (
    "id,name,first,last,compas_screening_date,sex,dob,age,age_cat,race,juv_fel_count,decile_score,juv_misd_count,"
    "juv_other_count,priors_count,days_b_screening_arrest,c_jail_in,c_jail_out,c_case_number,c_charge_degree,"
    "c_charge_desc,is_recid,decile_score,score_text,in_custody,out_custody,priors_count,event,two_year_recid"
).split(",")
"""Of ProPublica's 53, with the two that it has twice; the others are left out alike."""


def torn() -> bytes:
    """An archive whose file begins with a block of a kind that there is not."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archived:
        archived.writestr("adult.data", b"39, State-gov" * 100)
    content = bytearray(written.getvalue())
    content[30 + len("adult.data")] = 0x07
    return bytes(content)


TORN = torn()


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """The folder of a publisher."""
    folder = tmp_path / "published"
    folder.mkdir()
    return folder


@pytest.fixture
def address(published: Path) -> Iterator[str]:
    """Where the publisher's folder is served."""
    with serving_http(partial(SilentFiles, directory=str(published))) as url:
        yield url


def test_what_is_fetched_is_what_the_loaders_take(
    open_data: Path, published: Path, address: str, tmp_path: Path
) -> None:
    archive(published / "adult.zip", {name: (open_data / name).read_bytes() for name in ("adult.data", "adult.test")})
    archive(published / "german.zip", {"german.data": (open_data / "german.data").read_bytes(), "Index": b"other"})
    (published / "compas.csv").write_bytes(with_identities((open_data / "compas.csv").read_bytes()))
    archives = {"adult.data": "adult.zip", "adult.test": "adult.zip", "compas.csv": "compas.csv"}
    sources = {
        name: Source(f"{address}/{archives.get(name, 'german.zip')}", source.files) for name, source in SOURCES.items()
    }

    written = download(tmp_path / "data", sources)

    assert sorted(written) == sorted(SHA256)
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == sorted(SHA256)
    assert [len(load(tmp_path / "data").test) for load in (adult, compas, german)] == [15_060, 2_058, 334]
    assert (
        download(
            tmp_path / "data", {name: Source("http://127.0.0.1:9/", source.files) for name, source in sources.items()}
        )
        == []
    )


def test_every_file_that_is_checked_has_a_source() -> None:
    assert SOURCES.keys() == SHA256.keys()
    assert all(source.url.startswith("https://") for source in SOURCES.values())


def test_identities_are_dropped_before_anything_is_written() -> None:
    original = with_identities(b"id,sex,c_jail_in_year,in_custody_year\n1,Male,2013,\n")

    kept = compas_without_identities(original)["compas.csv"].decode().splitlines()

    assert b"Doe" in original
    assert kept[1].split(",")[:2] == ["1", "Male"]
    assert "Doe" not in "".join(kept)
    row = dict(zip(kept[0].split(","), kept[1].split(","), strict=True))
    assert (row["c_jail_in_year"], row["in_custody_year"]) == ("2013", "")


def test_other_bytes_than_were_published_are_not_kept(
    published: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHA256, "good", hashlib.sha256(b"right").hexdigest())
    monkeypatch.setitem(SHA256, "bad", hashlib.sha256(b"right").hexdigest())
    archive(published / "all.zip", {"good": b"right", "bad": b"wrong"})
    sources = {name: Source(f"{address}/all.zip", zip_members("good", "bad")) for name in ("good", "bad")}

    with pytest.raises(DownloadFailed, match=r"all\.zip has a different bad than"):
        download(tmp_path / "data", sources)

    assert [path.name for path in (tmp_path / "data").iterdir()] == ["good"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("absent.zip", None),
        ("page.zip", b"<html>"),
        ("empty.zip", b""),
        ("torn.zip", TORN),
        ("compas.csv", b"id,sex\n1,Male\n"),
        ("x.csv", b"\xff"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_to_do(
    published: Path, address: str, tmp_path: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (published / name).write_bytes(content)
    reader = zip_members("adult.data") if name.endswith(".zip") else compas_without_identities
    sources = {"adult.data": Source(f"{address}/{name}", reader)}

    with pytest.raises(
        DownloadFailed, match=rf"{name} (returned status 404|cannot be fetched or read).*set PAFER_DATA"
    ):
        download(tmp_path / "data", sources)

    assert not (tmp_path / "data").exists()


def test_a_source_without_end_is_refused(
    published: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloading, "DOWNLOAD_BYTES_MAX", 1000)
    (published / "adult.zip").write_bytes(bytes(1001))

    with pytest.raises(DownloadFailed, match="larger than 1000 bytes"):
        download(tmp_path / "data", {"adult.data": Source(f"{address}/adult.zip", zip_members("adult.data"))})


def archive(path: Path, members: dict[str, bytes]) -> None:
    """Write a zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)


def with_identities(reduced: bytes) -> bytes:
    """The file as ProPublica has it, with an invented name, date of birth, case and charge for everybody."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(ORIGINAL_COLUMNS)
    for row in csv.DictReader(io.StringIO(reduced.decode())):
        dates = {name: row.get(f"{name}_year") for name in ("c_jail_in", "c_jail_out", "in_custody", "out_custody")}
        full = row | {name: f"{year}-08-13 06:03:42" for name, year in dates.items() if year}
        invented = {"name": "Jo Doe", "dob": "1970-01-01", "c_case_number": "13CF", "c_charge_desc": 'Poss "3,4 MDMA"'}
        writer.writerow((full | invented).get(column, "") for column in ORIGINAL_COLUMNS)
    return written.getvalue().encode()
