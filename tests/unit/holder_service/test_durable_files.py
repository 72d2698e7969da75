"""A file has its name once it is whole and on the disk; a kill or a loss of power leaves the old file or the new."""

import stat
from pathlib import Path

import pytest

from auditor_client.durable_files import write_durably
from holder_service.domain.deadlines import AS_SHIPPED
from holder_service.files.durable import durable_file
from holder_service.keys.signing import SigningKeyFolder
from holder_service.records.person_keys import PersonSecret
from holder_service.services.work.work_factors import write_factors
from testing.disk_steps import disk_steps

DURABLE = ["file", "named", "folder"]


def write(path: Path, content: bytes, *, replaces: bool = True) -> None:
    """Write a whole file as the holder does."""
    with durable_file(path, replaces=replaces) as file:
        file.write(content)


def test_content_is_on_the_disk_before_the_name_and_the_name_before_anybody_goes_on(tmp_path: Path) -> None:
    assert disk_steps(lambda: write(tmp_path / "one", b"new")) == DURABLE
    assert disk_steps(lambda: write(tmp_path / "two", b"new", replaces=False)) == DURABLE
    assert disk_steps(lambda: write_durably(tmp_path / "folder" / "three", b"new")) == DURABLE
    assert disk_steps(lambda: write_factors(tmp_path / "factors", AS_SHIPPED, engine="local")) == DURABLE
    assert disk_steps(lambda: PersonSecret.create(tmp_path / "secret")) == DURABLE
    assert disk_steps(SigningKeyFolder(tmp_path / "keys").create) == [*DURABLE, "folder"]


def test_a_file_that_is_only_renamed_is_not_durable(tmp_path: Path) -> None:
    """The negative control: what the steps show of a write that a loss of power could empty."""

    def careless() -> None:
        (tmp_path / "partial").write_bytes(b"new")
        (tmp_path / "partial").replace(tmp_path / "one")

    assert disk_steps(careless) == ["named"]


def test_what_fails_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "one"
    write(path, b"old")

    with pytest.raises(TypeError), durable_file(path) as file:
        file.writelines([b"half", "no bytes"])  # type: ignore[list-item]  # what fails halfway
    with pytest.raises(FileExistsError):
        write(path, b"new", replaces=False)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_for_its_owner_alone_and_takes_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "one", b"")
    write_durably(tmp_path / "two", b"")
    with durable_file(tmp_path / "three", mode=0o400) as file:
        file.write(b"new")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"one": 0o600, "two": 0o600, "three": 0o400}
