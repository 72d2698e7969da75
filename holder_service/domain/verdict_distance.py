"""How many people lie between a verdict and the other one: what a watch measures (8-time §3).

A decision *meets* a threshold τ in some records if for every two groups j and k

    a_j · n_k ≥ τ · a_k · n_j,

where a are the people whom it accepts, r those whom it refuses, and n = a + r: then min p / max p ≥ τ. Nobody in a
group, or nobody accepted at all, breaks nothing.

**Distance of a pair.** S_jk are the records that satisfy the line above. The signed distance s_jk of records is, inside
of S_jk, the least number of people who have to come or go before it is broken; outside, 1 minus the least number of
people who have to come or go until it is satisfied. So it is at least 1 inside and at most 0 outside.

**Distance** of records is the smallest s_jk of all ordered pairs. If the decision meets the threshold this is the least
number of people who have to come or go before it does not: to break it, one pair has to be broken, and nobody in a
third group matters. If it fails, 1 minus the distance is the least number of people who have to come or go until the
worst pair is satisfied: for two groups that is until it meets the threshold, and for more it is at most as many. What
several groups together take is a search whose length depends on the counts, and the sign says the same.

**Sensitivity.** If one person comes or goes, the distance to a set of records changes by at most 1 (triangle
inequality). Within S_jk and outside of it, so does s_jk. From inside to outside both distances are 1, since the other
records are one step away: s_jk is 1 and 0. The smallest of numbers that each change by at most 1 changes by at most 1.
If one person takes the place of another, or is in another group, one goes and one comes: the distance changes by at
most 2. None of it depends on what the other records are: a person may be in all versions of the records, and in each
the distance is moved by no more.

**How it is found.** For so many changes within one group, the rate that it can get is extreme if all are of one kind,
as far as there are people of that kind: a rate (a − s)/(n + u − 2s), of u changes of which s take accepted people away
and the others bring refused ones, rises in s or falls in s for all s, by the sign of 2a − n − u. So each group has two
kinds of steps, along which a and n are linear, and the line above is a quadratic function of how d changes are divided
between the two groups. Whether d changes are enough is seen at its ends and at its vertex; more changes are never
worse, so d is halved. All in whole numbers, with as many steps for few people as for many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shared.privacy.amounts import NANO_PER_UNIT


class GroupCounts(NamedTuple):
    """True numbers of accepted and refused people of one group."""

    accepted: int
    refused: int


@dataclass(frozen=True, slots=True)
class _Steps:
    """What a group becomes by changes of one kind: accepted people and all people, linear in their number.

    Attributes:
        accepted, people: Before the first.
        of_accepted, of_people: What each change adds to them.
        most: So many changes of this kind there are; `None` for any number.
        before: So many changes were made already.
    """

    accepted: int
    people: int
    of_accepted: int = 0
    of_people: int = 0
    most: int | None = 0
    before: int = 0


def verdict_distance(counts: Sequence[GroupCounts], *, threshold_nano: int, people_max: int) -> int:
    """The signed distance of a decision's parity ratio from a threshold, in people: at least 1 if it meets it.

    It moves by at most 1 if one person comes or goes.

    Args:
        counts: Of at least two groups.
        threshold_nano: τ in units of 10⁻⁹, above 0 and at most 1.
        people_max: So many people there are at most; public, for how long the search takes follows from it.
    """
    return min(
        _signed(_Pair(worse, better, threshold_nano, people_max))
        for j, worse in enumerate(counts)
        for k, better in enumerate(counts)
        if j != k
    )


def steps_of(groups: int, people_max: int) -> int:
    """Return how many small steps finding the distance takes at most: divisions that are looked at."""
    return 10 * groups * (groups - 1) * ((people_max + 2).bit_length() + 2)


class _Pair(NamedTuple):
    """Two groups, of which the first is to have at least τ times the rate of the second."""

    worse: GroupCounts
    better: GroupCounts
    threshold_nano: int
    people_max: int


def _signed(pair: _Pair) -> int:
    """s_jk: how far the rate of j is from being less than τ times that of k."""
    (accepted, refused), (best_accepted, best_refused) = pair.worse, pair.better
    of_worse = NANO_PER_UNIT * accepted * (best_accepted + best_refused)
    of_better = pair.threshold_nano * best_accepted * (accepted + refused)
    if of_worse >= of_better:
        return _least(_lowering(pair.worse), _raising(pair.better), pair, broken=True)
    return 1 - _least(_lifting(pair.worse), _pressing(pair.better), pair, broken=False)


def _lowering(group: GroupCounts) -> tuple[_Steps, ...]:
    """Ways to a lower rate of a group that keeps somebody: accepted people go, refused come, or no accepted stay."""
    accepted, refused = group
    people = accepted + refused
    nobody_refused = int(refused == 0)
    return (
        _Steps(accepted, people, -1, -1, most=max(accepted - nobody_refused, 0)),
        _Steps(accepted, people, 0, 1, most=None),
        _Steps(0, 1, before=accepted + nobody_refused),
    )


def _raising(group: GroupCounts) -> tuple[_Steps, ...]:
    """Ways to a higher rate: accepted people come, refused go, or accepted people alone stay."""
    accepted, refused = group
    people = accepted + refused
    return (
        _Steps(accepted, people, 1, 1, most=None),
        _Steps(accepted, people, 0, -1, most=refused),
        _Steps(1, 1, before=refused + int(accepted == 0)),
    )


def _lifting(group: GroupCounts) -> tuple[_Steps, ...]:
    """Ways to a higher rate, or to nobody: with nobody refused in it a group breaks nothing."""
    return _raising(group)[:2]


def _pressing(group: GroupCounts) -> tuple[_Steps, ...]:
    """Ways to a lower rate, or to nobody: with nobody accepted in it no other is worse off."""
    accepted, refused = group
    return (
        _Steps(accepted, accepted + refused, -1, -1, most=accepted),
        _Steps(accepted, accepted + refused, 0, 1, most=None),
    )


def _least(worse: tuple[_Steps, ...], better: tuple[_Steps, ...], pair: _Pair, *, broken: bool) -> int:
    """The least number of changes by any two ways until the pair is broken, or until it is satisfied."""
    found = [_fewest(one, other, pair, broken=broken) for one in worse for other in better]
    return min(changes for changes in found if changes is not None)


def _fewest(worse: _Steps, better: _Steps, pair: _Pair, *, broken: bool) -> int | None:
    """The least number of changes by two ways; `None` if no number is enough. More are never worse."""
    low, high = 0, pair.people_max + 2  # always enough: nobody accepted is left in one group, and somebody in the other
    if worse.most is not None and better.most is not None:
        high = min(high, worse.most + better.most)
    possible = _is_enough(worse, better, high, pair.threshold_nano, broken=broken)
    for _ in range((pair.people_max + 2).bit_length()):
        middle = (low + high) // 2
        if _is_enough(worse, better, middle, pair.threshold_nano, broken=broken):
            high = middle
        else:
            low = min(middle + 1, high)
    return high + worse.before + better.before if possible else None


def _is_enough(worse: _Steps, better: _Steps, changes: int, threshold_nano: int, *, broken: bool) -> bool:
    """Whether so many changes, divided between the two groups, are enough.

    By how much the rate of the worse is more than τ times that of the better is, but for a factor above 0,
    constant + slope · u + curve · u² where u of the changes are in the worse.
    """
    best_accepted = better.accepted + better.of_accepted * changes
    best_people = better.people + better.of_people * changes
    constant = NANO_PER_UNIT * worse.accepted * best_people - threshold_nano * best_accepted * worse.people
    slope = NANO_PER_UNIT * (worse.of_accepted * best_people - worse.accepted * better.of_people) - threshold_nano * (
        best_accepted * worse.of_people - better.of_accepted * worse.people
    )
    curve = threshold_nano * better.of_accepted * worse.of_people - NANO_PER_UNIT * worse.of_accepted * better.of_people
    least = 0 if better.most is None else max(changes - better.most, 0)
    most = changes if worse.most is None else min(changes, worse.most)
    vertex = -slope // (2 * curve) if curve else least
    divisions = least, most, min(max(vertex, least), most), min(max(vertex + 1, least), most)
    excesses = [constant + one * (slope + one * curve) for one in divisions]
    return min(excesses) < 0 if broken else max(excesses) >= 0
