"""Auditors take turns, and what a turn's end follows from; no clock runs here: every time is given."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holder_service.domain.turns import DrawTurn, DrawTurns, RoundRobin

SMALL_S, LARGE_S = 0.008, 14.0
PAUSE_S = 0.008


def turn(auditor: str, begun_s: float, work_s: float = SMALL_S) -> DrawTurn:
    return DrawTurn(auditor, begun_s, work_s, PAUSE_S)


def taken(waiting: RoundRobin[str]) -> list[str]:
    items = []
    while waiting:
        items.append(waiting.take())
    return items


def test_auditors_take_turns_and_each_ones_items_keep_their_order() -> None:
    waiting: RoundRobin[str] = RoundRobin()
    for item in ("a1", "a2", "a3", "b1", "c1", "b2"):
        waiting.add(item[0], item)

    assert taken(waiting) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_who_comes_later_waits_for_one_turn_of_each_other_auditor_at_most() -> None:
    waiting: RoundRobin[str] = RoundRobin()
    for item in ("a1", "a2", "a3"):
        waiting.add("a", item)
    assert waiting.take() == "a1"
    waiting.add("b", "b1")

    assert taken(waiting) == ["b1", "a2", "a3"]


def test_who_comes_again_at_once_is_behind_who_waits() -> None:
    waiting: RoundRobin[str] = RoundRobin()
    for item in ("a1", "b1", "b2"):
        waiting.add(item[0], item)
    assert waiting.take() == "a1"
    waiting.add("a", "a2")

    assert taken(waiting) == ["b1", "a2", "b2"]


def test_what_is_discarded_has_no_turn() -> None:
    waiting: RoundRobin[str] = RoundRobin()
    for item in ("a1", "b1"):
        waiting.add(item[0], item)
    waiting.discard("a", "a1")
    waiting.discard("a", "never there")

    assert taken(waiting) == ["b1"]


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=60))
def test_no_auditor_waits_for_two_turns_of_another(arrivals: Sequence[str]) -> None:
    waiting: RoundRobin[str] = RoundRobin()
    for auditor in arrivals:
        waiting.add(auditor, auditor)
    order = taken(waiting)

    assert sorted(order) == sorted(arrivals)
    for at, auditor in enumerate(order):
        rest = order[at + 1 :]
        others = {other for other in rest if other != auditor}
        if auditor in rest:
            assert others <= set(rest[: rest.index(auditor)]), "all who still wait come before its next turn"


def test_a_small_plan_waits_for_the_large_one_that_is_drawn_and_for_no_other() -> None:
    turns = DrawTurns()
    for _ in range(16):
        turns.join(turn("large", 100.0, LARGE_S))
    turns.begin(100.0)
    small = turn("small", 101.0)
    turns.join(small)

    assert turns.begin(113.9) == []
    [(first, done_s)] = turns.begin(114.0)
    assert first is small
    assert done_s == pytest.approx(114.0 + SMALL_S + PAUSE_S)
    assert turns.next_s == pytest.approx(114.008)


def test_a_pause_is_allowed_for_once_in_each_deadline() -> None:
    """Not once for each plan before it: a pause delays all that wait at the same time."""
    turns = DrawTurns()
    for _ in range(16):
        turns.join(turn("ADR", 100.0))

    done_s = [at_s for _, at_s in turns.begin(101.0)]

    expected = [100.0 + SMALL_S * number + PAUSE_S for number in range(1, 17)]
    assert done_s == pytest.approx(expected)


def test_a_turn_that_nothing_waits_for_begins_when_the_plan_comes() -> None:
    turns = DrawTurns()
    turns.join(turn("ADR", 100.0))
    turns.begin(100.0)
    turns.join(turn("ADR", 200.0))

    [(_, done_s)] = turns.begin(200.0)

    assert done_s == pytest.approx(200.016)


def test_a_rest_is_behind_a_turn_and_in_no_deadline_of_its_own() -> None:
    turns = DrawTurns()
    for _ in range(2):
        turns.join(DrawTurn("ADR", 100.0, 1.0, PAUSE_S, rest_s=3.0))

    [(_, first_s)] = turns.begin(103.9)
    [(_, second_s)] = turns.begin(104.0)

    assert [first_s, second_s] == pytest.approx([101.0 + PAUSE_S, 105.0 + PAUSE_S])


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(0, 5), st.floats(0.001, 2), st.floats(0, 0.1)),
        min_size=1,
        max_size=25,
    )
)
def test_turns_never_overlap_and_each_has_its_whole_time(asked: list[tuple[str, float, float, float]]) -> None:
    turns, done = DrawTurns(), []
    for auditor, begun_s, work_s, pauses_s in sorted(asked, key=lambda one: one[1]):
        turns.join(DrawTurn(auditor, begun_s, work_s, pauses_s))
        done += turns.begin(begun_s + 0.025)
    done += turns.begin(float("inf"))

    assert len(done) == len(asked)
    ended_s = 0.0
    for one, done_s in done:
        starts_s = done_s - one.pauses_s - one.work_s
        assert starts_s >= ended_s - 1e-9
        assert starts_s >= one.begun_s - 1e-9
        ended_s = starts_s + one.work_s
