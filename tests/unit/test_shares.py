"""A share of long work: together the shares are all of it, once each."""

from argparse import ArgumentTypeError

import pytest

from testing.shares import Share


def test_the_shares_together_are_all_pieces_once() -> None:
    pieces = list(range(103))

    shares = [Share.read(f"{number}/4").of(pieces) for number in (1, 2, 3, 4)]

    assert sorted(piece for share in shares for piece in share) == pieces
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("written", ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b"])
def test_what_is_no_share_is_refused(written: str) -> None:
    with pytest.raises(ArgumentTypeError, match="write K/N"):
        Share.read(written)
