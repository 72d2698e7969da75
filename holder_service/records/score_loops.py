"""The loops that numpy would take several times as long for, compiled by numba (ADR 0022).

They are compiled when they are first wanted, for all documents alike, and kept in no file. Importing numba takes a
third of a second, and compiling some seconds: only a process that computes scores does either.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]


class TestArrays(NamedTuple):
    """Of `score_trees._Tests`, with the runs of one chunk: the first code and the number of codes of each."""

    row: _Array
    run: _Array
    first: _Array
    width: _Array
    rows_begin: _Array
    run_column: _Array


class TreeArrays(NamedTuple):
    """Of `score_trees.TreeSum`."""

    steps: _Array
    begins: _Array
    nodes: _Array
    ends: _Array
    slots: int
    values_begin: _Array
    values: _Array


@cache
def add_trees() -> Callable[..., None]:
    """`_add_trees` as machine code."""
    import numba  # noqa: PLC0415

    loop: Callable[..., None] = numba.njit(nogil=True)(_add_trees)
    return loop


@cache
def scale_by_rank() -> Callable[..., float]:
    """`_scale_by_rank` as machine code."""
    import numba  # noqa: PLC0415

    loop: Callable[..., float] = numba.njit(nogil=True)(_scale_by_rank)
    return loop


def _scale_by_rank(scaled: _Array, numbers: _Array, ranks: _Array, slope: Any) -> float:
    """Into `scaled`, each record's number in its precision, times the slope.

    The numbers are read once in order before: the processor sees that coming, and would have to wait for each if it
    met them in the records' order first. Their sum is given so that no compiler leaves the reading out.
    """
    read = 0.0
    for index in range(0, len(numbers), 8):
        read += numbers[index]
    for index in range(len(ranks)):
        scaled[index] = numbers[ranks[index]]
        scaled[index] *= slope
    return read


def _add_trees(total: _Array, codes: _Array, tests: TestArrays, trees: TreeArrays, block: int) -> None:
    """Add the leaf of every tree to each record's total, block by block and tree by tree; compiled by numba."""
    row_of, run_of, first, width, rows_begin, run_column = tests
    steps, begins, nodes, ends, slots, values_begin, values = trees
    columns, records = codes.shape
    own_rows = len(rows_begin) - 1
    rows = np.zeros((columns + own_rows, block), dtype=np.uint16)
    found = np.zeros((slots + 1, block), dtype=np.uint16)
    state = np.zeros(block, dtype=np.int64)
    for start in range(0, records, block):
        size = min(block, records - start)
        for column in range(columns):
            rows[column, :size] = codes[column, start : start + size]
        for own in range(own_rows):
            row = rows[columns + own]
            row[:] = 0
            for run in range(rows_begin[own], rows_begin[own + 1]):
                code, low, size_of = rows[run_column[run]], first[run], width[run]
                for i in range(block):
                    row[i] |= np.uint16(np.uint16(code[i] - low) < size_of)
        for tree in range(len(steps)):
            begin, end = begins[tree], begins[tree + 1]
            leaf = values[values_begin[tree] :]
            if steps[tree]:
                state[:] = begin + ends[tree]
                for _ in range(steps[tree]):
                    for i in range(size):
                        node = state[i]
                        test = nodes[node, 0]
                        run = run_of[test]
                        within = np.uint16(rows[row_of[test], i] - first[run]) < width[run]
                        state[i] = begin + (nodes[node, 1] if within else nodes[node, 2])
                for i in range(size):
                    total[start + i] += leaf[nodes[state[i], 3]]
                continue
            for node in range(begin, end):
                test, yes, no = nodes[node, 0], nodes[node, 1], nodes[node, 2]
                code, out = rows[row_of[test]], found[nodes[node, 3]]
                low, size_of = first[run_of[test]], width[run_of[test]]
                # Without a branch, so that the compiler takes many records at a time.
                if yes < 0 and no < 0:
                    one, other = np.uint16(~yes), np.uint16(~no)
                    for i in range(block):
                        out[i] = one if np.uint16(code[i] - low) < size_of else other
                elif yes < 0:
                    one, others = np.uint16(~yes), found[no]
                    for i in range(block):
                        mask = np.uint16(0) - np.uint16(np.uint16(code[i] - low) < size_of)
                        out[i] = others[i] ^ ((one ^ others[i]) & mask)
                elif no < 0:
                    ones, other = found[yes], np.uint16(~no)
                    for i in range(block):
                        mask = np.uint16(0) - np.uint16(np.uint16(code[i] - low) < size_of)
                        out[i] = other ^ ((ones[i] ^ other) & mask)
                else:
                    ones, others = found[yes], found[no]
                    for i in range(block):
                        mask = np.uint16(0) - np.uint16(np.uint16(code[i] - low) < size_of)
                        out[i] = others[i] ^ ((ones[i] ^ others[i]) & mask)
            if ends[tree] < 0:
                for i in range(size):
                    total[start + i] += leaf[0]
            else:
                root = found[ends[tree]]
                for i in range(size):
                    total[start + i] += leaf[root[i]]
