"""The anchor never goes back, and a write that a crash cut short loses nothing."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holder_service.storage.anchor import Anchor
from shared.kinds.releases import LedgerPosition


def at(sequence: int, digest: str) -> LedgerPosition:
    return LedgerPosition(sequence=sequence, hash=f"sha256:{digest}")


def anchored(path: Path, *heads: LedgerPosition) -> Anchor:
    anchor = Anchor(path)
    anchor.create(at(0, "genesis"))
    for head in heads:
        anchor.advance(head)
    return anchor


def test_it_holds_the_newest_entry(tmp_path: Path) -> None:
    anchor = anchored(tmp_path / "anchor", at(1, "a"), at(2, "b"))

    assert anchor.read() == at(2, "b")
    assert Anchor(tmp_path / "anchor").read() == at(2, "b")


def test_it_never_goes_back_even_from_another_process(tmp_path: Path) -> None:
    anchored(tmp_path / "anchor", at(7, "g"))

    Anchor(tmp_path / "anchor").advance(at(3, "c"))

    assert Anchor(tmp_path / "anchor").read() == at(7, "g")


@pytest.mark.parametrize("next_sequence", [4, 5])
def test_a_torn_write_leaves_the_entry_before_it(tmp_path: Path, next_sequence: int) -> None:
    """Also where commits shared a write and the numbers between were left out."""
    path = tmp_path / "anchor"
    anchor = anchored(path, at(1, "a"), at(3, "c"))
    before = path.read_bytes()
    anchor.advance(at(next_sequence, "next"))
    after = path.read_bytes()

    for cut in range(len(after)):
        path.write_bytes(after[:cut] + before[cut:])
        assert Anchor(path).read() in (at(3, "c"), at(next_sequence, "next"))


def test_a_restore_replaces_an_entry_that_the_database_lost(tmp_path: Path) -> None:
    anchor = anchored(tmp_path / "anchor", at(8, "h"), at(9, "i"))

    anchor.restore(at(4, "restored"), has=lambda _: False)

    assert anchor.read() == at(4, "restored")
    anchor.advance(at(5, "next"))
    assert anchor.read() == at(5, "next")


def test_a_restore_never_takes_an_anchor_back_that_the_database_has(tmp_path: Path) -> None:
    """Another process may have committed, anchored and answered since the restore's own entry."""
    anchor = anchored(tmp_path / "anchor", at(9, "i"))

    anchor.restore(at(4, "restored"), has=lambda head: head == at(9, "i"))

    assert anchor.read() == at(9, "i")


def test_a_restore_makes_a_lost_anchor_anew(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")

    anchor.restore(at(4, "restored"), has=lambda _: True)

    assert anchor.read() == at(4, "restored")


def test_no_file_is_no_anchor_and_none_is_made_silently(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")

    assert anchor.read() is None
    with pytest.raises(FileNotFoundError):
        anchor.advance(at(1, "a"))


def test_racing_writers_leave_the_newest(tmp_path: Path) -> None:
    anchored(tmp_path / "anchor")
    anchors = [Anchor(tmp_path / "anchor") for _ in range(3)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: anchors[n % 3].advance(at(n, f"{n}")), range(1, 200)))

    assert anchors[0].read() == at(199, "199")
