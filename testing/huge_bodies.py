"""Bodies of plans that are huge, and how they are refused."""

import json
from collections.abc import Callable
from typing import Final

from shared.wire import limits
from testing.documents import put
from testing.registers import plan

PREDICATE: Final = '{"column":"age","op":"gt","value":1}'
LISTED: Final = (
    '{"all_of":[{"column":"education","op":"in","values":[' + ",".join(f'"{n}"' for n in range(1024)) + "]}]}"
)
BAD_RULE: Final = '{"all_of":[' + ",".join("0" * 256) + "]}"


def with_json(path: tuple[str | int, ...], text: str) -> bytes:
    """A plan's JSON with something else at one path, written as it is."""
    return json.dumps(put(plan(), path, "@here@")).replace('"@here@"', text).encode("utf-8", "surrogatepass")


def cells(text: str) -> bytes:
    """A plan whose list of cells is some JSON text."""
    return with_json(("batches", 0, "cells"), text)


def many(number: int) -> str:
    """The JSON text of some cells of everybody."""
    return "[" + ",".join(f'{{"id":"{index}","all_of":[]}}' for index in range(number)) + "]"


def rules(text: str) -> bytes:
    """A plan of one cell whose rules are some JSON text."""
    return cells(f'[{{"id": "a", "any_of": [{text}]}}]')


HUGE: Final[dict[str, tuple[Callable[[], bytes], str]]] = {
    "a million rules": (lambda: rules(",".join(['{"all_of":[]}'] * 1_000_000)), "too-large"),
    "a million empty rules": (lambda: rules(",".join(["{}"] * 1_000_000)), "too-large"),
    "eight thousand empty rules": (lambda: rules(",".join(["{}"] * 8000)), "invalid-plan"),
    "a million lists": (lambda: b"[" + b",".join([b"[]"] * 1_000_000) + b"]", "too-large"),
    "millions of numbers for cells": (lambda: cells("[" + ",".join("0" * 2_000_000) + "]"), "invalid-plan"),
    "millions of numbers for predicates": (lambda: rules(",".join([BAD_RULE] * 7000)), "invalid-plan"),
    "an unknown field in each rule": (lambda: rules(",".join(['{"all_of":[],"x":0}'] * 8000)), "invalid-plan"),
    "350 000 unknown fields": (
        lambda: b"{" + b",".join(b'"%d":0' % n for n in range(350_000)) + b"}", "invalid-plan",
    ),
    "one field with a name of 4 MB": (lambda: b'{"' + b"k" * 4_000_000 + b'":0}', "invalid-plan"),
    "an id of 4 MB": (lambda: cells('[{"id":"' + "a" * 4_000_000 + '","all_of":[]}]'), "invalid-plan"),
    "one rule too many": (lambda: rules(",".join(['{"all_of":[]}'] * (limits.RULES_PER_PLAN_MAX + 1))), "too-large"),
    "one cell too many": (
        lambda: cells(many(limits.CELLS_PER_PLAN_MAX + 1)), "too-large",
    ),
    "too many predicates": (
        lambda: rules(",".join(['{"all_of":[' + ",".join([PREDICATE] * 200) + "]}"] * 200)), "too-large",
    ),
    "a predicate too many": (
        lambda: rules('{"all_of":[' + ",".join([PREDICATE] * 257) + "]}"), "too-large",
    ),
    "too many values": (lambda: rules(",".join([LISTED] * 257)), "too-large"),
    "a body over the limit": (lambda: b" " * (limits.BODY_BYTES_MAX + 1), "too-large"),
}  # fmt: skip
"""By name: what makes it, and the code of the refusal."""
