"""Files of keyed hashes: joined and compared as sets are, whatever their sizes; and secrets that are kept."""

import stat
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import overlaps
from holder_service.records import person_keys
from holder_service.records.person_keys import PersonKeys, PersonSecret, UnusableSecret, count_shared, join_hashes

HASHES = st.sets(st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 40), st.integers(2**64 - 40, 2**64 - 1)))


def written(path: Path, hashes: set[int]) -> Path:
    path.unlink(missing_ok=True)
    np.array(sorted(hashes), dtype=np.uint64).tofile(path)
    return path


@given(st.lists(HASHES, max_size=3), st.lists(HASHES, max_size=3), st.integers(1, 7))
@settings(max_examples=150, deadline=None)
def test_they_are_joined_and_compared_as_sets(ones: list[set[int]], others: list[set[int]], step: int) -> None:
    """Also in many ranges: a step of one makes as many as there are hashes."""
    import tempfile

    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(person_keys, "_STEP", step)
        folder = Path(name)
        here = tuple(written(folder / f"one-{index}", hashes) for index, hashes in enumerate(ones))
        there = tuple(written(folder / f"other-{index}", hashes) for index, hashes in enumerate(others))
        join_hashes(here, folder / "joined")

        joined = np.fromfile(folder / "joined", dtype=np.uint64).tolist()
        assert joined == sorted(set().union(*ones))
        assert count_shared(here, there) == len(set().union(*ones) & set().union(*others))


class Halves(PersonSecret):
    """Hashes "1 2" to the halves 1 and 2, so that hashes may agree in one half alone."""

    def digests(self, keys: Iterable[str]) -> bytes:
        return np.array([key.split() for key in keys], dtype=np.uint64).tobytes()


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=40), st.integers(1, 9), st.integers(1, 5))
@settings(max_examples=400, deadline=None)
def test_the_first_who_come_again_are_found_whatever_halves_agree(
    keys: list[tuple[int, int]], step: int, count: int
) -> None:
    """Also where not everything is in memory at once."""
    import tempfile

    again = [index for index, key in enumerate(keys) if key in keys[:index]]
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(person_keys, "_STEP", step)
        people = PersonKeys(Path(name), Halves("", b""))
        people.add(f"{half} {rest}" for half, rest in keys)

        assert people.repeated(count) == again[:count]
        assert people.hashes.tolist() == [half for half, _ in keys]
        assert np.fromfile(people.sorted_hashes, dtype=np.uint64).tolist() == sorted(half for half, _ in keys)


def test_a_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret"

    made = [PersonSecret.create(path), PersonSecret.create(path)]

    assert made == [True, False]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert PersonSecret.load(path) == PersonSecret.load(path)
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]
    assert path.read_bytes().hex() not in repr(PersonSecret.load(path))


def test_hashes_depend_on_the_secret_and_on_all_of_the_key() -> None:
    one, other = PersonSecret.forgotten(), PersonSecret.forgotten()

    assert one.digest("p1") != other.digest("p1")
    assert len({one.digest(key) for key in ("p1", "p2", "P1", "p1 ", "")}) == 5
    assert one.digest("Zo\u00eb") == one.digest("Zoe\u0308")
    assert one.made(one.file_name())
    assert not other.made(one.file_name())


def test_a_file_of_something_else_is_reported(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"short")

    with pytest.raises(UnusableSecret, match="secret"):
        PersonSecret.load(tmp_path / "secret")


def test_the_measurement_finds_the_people_that_it_put_into_both(tmp_path: Path) -> None:
    assert overlaps.row(tmp_path, 2000).split()[::4] == ["2000", "200"]
