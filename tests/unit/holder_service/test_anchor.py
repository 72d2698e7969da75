"""The anchor never goes back, and a write that a crash cut short loses nothing."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holder_service.storage.anchor import Anchor


def anchored(path: Path, *heads: tuple[int, str]) -> Anchor:
    anchor = Anchor(path)
    anchor.create(0, "sha256:genesis")
    for sequence, entry_hash in heads:
        anchor.advance(sequence, entry_hash)
    return anchor


def test_it_holds_the_newest_entry(tmp_path: Path) -> None:
    anchor = anchored(tmp_path / "anchor", (1, "sha256:a"), (2, "sha256:b"))

    assert anchor.read() == (2, "sha256:b")
    assert Anchor(tmp_path / "anchor").read() == (2, "sha256:b")


def test_it_never_goes_back_even_from_another_process(tmp_path: Path) -> None:
    anchored(tmp_path / "anchor", (7, "sha256:g"))

    Anchor(tmp_path / "anchor").advance(3, "sha256:c")

    assert Anchor(tmp_path / "anchor").read() == (7, "sha256:g")


@pytest.mark.parametrize("next_sequence", [4, 5])
def test_a_torn_write_leaves_the_entry_before_it(tmp_path: Path, next_sequence: int) -> None:
    """Also where commits shared a write and the numbers between were left out."""
    path = tmp_path / "anchor"
    anchor = anchored(path, (1, "sha256:a"), (3, "sha256:c"))
    before = path.read_bytes()
    anchor.advance(next_sequence, "sha256:next")
    after = path.read_bytes()

    for cut in range(len(after)):
        path.write_bytes(after[:cut] + before[cut:])
        assert Anchor(path).read() in ((3, "sha256:c"), (next_sequence, "sha256:next"))


def test_a_restore_takes_the_place_of_an_entry_that_the_database_lost(tmp_path: Path) -> None:
    anchor = anchored(tmp_path / "anchor", (8, "sha256:h"), (9, "sha256:i"))

    anchor.restore(4, "sha256:restored", has=lambda _sequence, _hash: False)

    assert anchor.read() == (4, "sha256:restored")
    anchor.advance(5, "sha256:next")
    assert anchor.read() == (5, "sha256:next")


def test_a_restore_never_takes_an_anchor_back_that_the_database_has(tmp_path: Path) -> None:
    """Another process may have committed, anchored and answered since the restore's own entry."""
    anchor = anchored(tmp_path / "anchor", (9, "sha256:i"))

    anchor.restore(4, "sha256:restored", has=lambda *head: head == (9, "sha256:i"))

    assert anchor.read() == (9, "sha256:i")


def test_a_restore_makes_a_lost_anchor_anew(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")

    anchor.restore(4, "sha256:restored", has=lambda _sequence, _hash: True)

    assert anchor.read() == (4, "sha256:restored")


def test_no_file_is_no_anchor_and_none_is_made_silently(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")

    assert anchor.read() is None
    with pytest.raises(FileNotFoundError):
        anchor.advance(1, "sha256:a")


def test_racing_writers_leave_the_newest(tmp_path: Path) -> None:
    anchored(tmp_path / "anchor")
    anchors = [Anchor(tmp_path / "anchor") for _ in range(3)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: anchors[n % 3].advance(n, f"sha256:{n}"), range(1, 200)))

    assert anchors[0].read() == (199, "sha256:199")
