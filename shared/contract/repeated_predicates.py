"""Predicates that a plan holds again and again: read once, looked at once.

Paths of a tree share their beginnings: a thousand leaves have some two thousand different predicates, and ten times as
many in all. So a plan's JSON is read with each different predicate once, and everything that follows from predicates
alone is worked out once for each object.
"""

import itertools
import marshal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import FailFast, TypeAdapter

from shared.contract.rules import Predicate, Rule
from shared.wire import limits

_PREDICATES: Final = TypeAdapter(Annotated[list[Predicate], FailFast()])


def read_alike_once(batches: list[Any]) -> list[Any]:
    """The batches of one plan, as JSON values, with their predicates read: those that are written alike once.

    Where one does not fit, all are left as they came: whoever reads the plan then refuses it, and says where. Nothing
    is kept from plan to plan: what others asked would show in the time that a plan takes.
    """
    lists = list(_lists(batches))
    try:
        # Compared by their bytes: as values 1, 1.0 and true are equal. The bytes are never read back.
        written = [list(map(marshal.dumps, one, itertools.repeat(2))) for one in lists]
        different: dict[bytes, Any] = {}
        for contents, one in zip(written, lists, strict=True):
            different.update(zip(contents, one, strict=True))
        read = dict(zip(different, _PREDICATES.validate_python(list(different.values())), strict=True))
    except ValueError:  # pydantic's is one
        return batches
    paths = {id(one): tuple(map(read.__getitem__, contents)) for one, contents in zip(lists, written, strict=True)}
    return [
        {**batch, "cells": [_read_cell(cell, paths) for cell in cells]} if (cells := _listed(batch, "cells")) else batch
        for batch in batches
    ]


def _lists(batches: list[Any]) -> Iterator[list[Any]]:
    """The lists of predicates in some batches, those that may be read at all."""
    for batch in batches:
        for cell in _listed(batch, "cells"):
            for rule in _listed(cell, "any_of") or (cell,):
                all_of = _listed(rule, "all_of")
                if 0 < len(all_of) <= limits.PREDICATES_PER_RULE_MAX:
                    yield all_of


def _listed(holder: Any, name: str) -> list[Any]:
    """A list within a JSON object; an empty one if it is missing."""
    listed = holder.get(name) if type(holder) is dict else None
    return listed if type(listed) is list else []


def _read_cell(cell: Any, paths: Mapping[int, tuple[Predicate, ...]]) -> Any:
    if any_of := _listed(cell, "any_of"):
        return {**cell, "any_of": [_read_rule(rule, paths) for rule in any_of]}
    return _read_rule(cell, paths)


def _read_rule(rule: Any, paths: Mapping[int, tuple[Predicate, ...]]) -> Any:
    path = paths.get(id(_listed(rule, "all_of")))
    return rule if path is None else {**rule, "all_of": path}


def counted(rules: Iterable[Rule]) -> list[tuple[Predicate, int]]:
    """Each predicate of some rules once, in order of first appearance, and how often it is there.

    Predicates that are equal but not one object may be there each by itself.
    """
    every = list(itertools.chain.from_iterable(rule.all_of for rule in rules))
    numbers = list(map(id, every))
    objects = dict(zip(numbers, every, strict=True))
    return [(objects[number], times) for number, times in Counter(numbers).items()]
