"""JSON documents with something else in them."""

import copy
from collections.abc import Callable
from typing import Any


def put(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy of a document with another value at a path; `...` takes out what is there."""
    changed = copy.deepcopy(document)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


def change_at(path: str, value: Any) -> Callable[[Any], None]:
    """Return a function that puts a value into a document at a path: "batches.0.noise.scale"."""
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]

    def change(document: Any) -> None:
        for part in parents:
            document = document[part]
        document[last] = value

    return change
