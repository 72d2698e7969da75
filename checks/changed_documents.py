"""Sound JSON documents with some values changed at random, or some bytes."""

import copy
import json
import random
from typing import Any, Final

ODD: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1e308, 2**70, "", "\0", "x" * 300, [], {}, [[]], {"a": {}}, "sex", "0.1", 1.5,
)  # fmt: skip


def changed(sound: dict[str, Any], rng: random.Random) -> bytes:
    """A document as it goes over the wire: none to three values are other ones, and none to four times some bytes."""
    document = copy.deepcopy(sound)
    for _ in range(rng.randint(0, 3)):
        _change_value(document, rng)
    body = bytearray(json.dumps(document).encode())
    for _ in range(rng.choice((0, 0, 1, 4))):
        _change_bytes(body, rng)
    return bytes(body)


def _change_value(document: dict[str, Any], rng: random.Random) -> None:
    """Go down at random, and there put something else, take something out, or add or double it."""
    node: Any = document
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        if not (isinstance(node[key], dict | list) and rng.random() < 0.8):
            break
        node = node[key]
    kind = rng.randrange(4)
    if kind == 0:
        del node[key]
    elif kind == 1:
        node[key] = [node[key]] * rng.choice((1, 2, 20))
    elif kind == 2 and isinstance(node, dict):
        node[rng.choice(("", "x", "value", "values", "any_of", "all_of", "epsilon"))] = copy.deepcopy(rng.choice(ODD))
    else:
        node[key] = copy.deepcopy(rng.choice(ODD))


def _change_bytes(body: bytearray, rng: random.Random) -> None:
    index = rng.randrange(len(body) + 1)
    kind = rng.randrange(3)
    if kind == 0:
        body[index:index] = rng.randbytes(rng.choice((1, 1, 8)))
    elif kind == 1:
        del body[index : index + rng.choice((1, 10, len(body)))]
    else:
        body[index : index + 1] = rng.choice(b'{}[]",:\\0e-.').to_bytes()
