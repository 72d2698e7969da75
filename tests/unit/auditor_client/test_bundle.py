"""Evidence bundles come from outside: what is no sound zip file of bounded size is refused with a reason."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from auditor_client.audits.bundle import check_bundle
from auditor_client.errors import ReceiptsDamaged
from shared.kinds.bundles import BYTES_MAX


def _written(path: Path, packing: int = zipfile.ZIP_DEFLATED, content: bytes = b"{}" * 1_000) -> bytearray:
    with zipfile.ZipFile(path, "w", packing) as bundle:
        bundle.writestr("manifest.json", content)
    return bytearray(path.read_bytes())


def _broken(path: Path) -> None:
    content = _written(path)
    content[50:54] = b"\xff\xff\xff\xff"
    path.write_bytes(content)


def _encrypted(path: Path) -> None:
    content = _written(path)
    for header, index in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + index] |= 1
    path.write_bytes(content)


def _twice(path: Path) -> None:
    _written(path)
    with zipfile.ZipFile(path, "a") as bundle, pytest.warns(UserWarning, match="Duplicate"):
        bundle.writestr("manifest.json", "{}")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no zip file": (lambda path: path.write_bytes(b"PK"), "as a zip file"),
    "cut off": (lambda path: path.write_bytes(_written(path)[:60]), "as a zip file"),
    "packed data that are broken": (_broken, "as a zip file"),
    "encrypted": (_encrypted, "packed in another way"),
    "packed in another way": (lambda path: _written(path, zipfile.ZIP_LZMA), "packed in another way"),
    "a file twice": (_twice, "twice, or packed"),
    "a small file that grows": (lambda path: _written(path, content=bytes(BYTES_MAX + 1)), "it has more than"),
    "another zip file": (_written, "its manifest cannot"),
    "not there": (lambda _: None, "as a zip file"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_no_sound_zip_file_of_bounded_size_is_refused(damage: str, tmp_path: Path) -> None:
    make, words = DAMAGES[damage]
    make(tmp_path / "bundle.zip")

    with pytest.raises(ReceiptsDamaged, match=words):
        check_bundle(tmp_path / "bundle.zip")
