"""Which rule matches each record first, by walking down a decision diagram (2-privacy §§3, 8; ADR 0004).

All records of a chunk go one node down at a time. A node is a row of a table: where to go on, for each
atom of the column that it tests. Whoever has arrived stays where he is until all levels are done, so
the work depends on the diagram and on how many records there are, not on what is in them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import admitted_paths
from holder_service.domain.decision_diagram import DecisionDiagram
from holder_service.records.atoms import ColumnAtoms
from holder_service.records.encoded import Chunk, Records
from shared.contract.rules import Rule

ENTRIES_MAX: Final = 2**23
STEP_RECORDS: Final = 2**13
"""So many records walk at once: what they look up and where they stand stay in a core's own cache."""

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class TreeWalk:
    """A decision diagram as tables. Its states are the nodes, then one for each rule, and one for none.

    Attributes:
        columns: The columns that it tests.
        column_at: The column that each state tests, shape (states,); behind the last where the walk is over.
        row_at: Where each state's row begins in `following`, shape (states,).
        following: The state that comes next, row by row and atom by atom.
        nodes: How many of the states are nodes.
        root: The state where the walk begins.
        steps: How many steps it takes.
    """

    columns: Sequence[ColumnAtoms]
    column_at: _Array
    row_at: _Array
    following: _Array
    nodes: int
    root: int
    steps: int

    @classmethod
    def compiled(
        cls, rules: Sequence[Rule], records: Records, worth: Callable[[int, int], bool] = lambda _steps, _columns: True
    ) -> "TreeWalk | None":
        """The walk of rules that fit the records' schema.

        `None` if their diagram or its tables become too large, or so many steps over so many columns are not worth it.
        """
        partitions, paths = admitted_paths(rules, records.schema)
        diagram = DecisionDiagram.rebuilt(partitions, paths)
        if diagram is None or sum(partitions[node.column].atoms for node in diagram.nodes) > ENTRIES_MAX:
            return None
        if not worth(diagram.depth, len(partitions)):
            return None
        nodes = len(diagram.nodes)
        # Child ~r, a rule, is the state behind the nodes by r.
        children = np.array([node.children for node in diagram.nodes] + [[diagram.root] * 2])
        children = np.where(children < 0, nodes + ~children, children)
        states = nodes + len(rules) + 1
        following = [np.arange(nodes, states)]
        column_at, row_at = np.full(states, len(partitions)), np.arange(states) - nodes
        begin = states - nodes
        for number, (name, partition) in enumerate(partitions.items()):
            testing = [state for state, node in enumerate(diagram.nodes) if node.column == name]
            column_at[testing] = number
            row_at[testing] = begin + partition.atoms * np.arange(len(testing))
            turned = _bits([diagram.nodes[state].atoms for state in testing], partition.atoms)
            following.append(np.where(turned, children[testing, 1:], children[testing, :1]).ravel())
            begin += turned.size
        columns = [ColumnAtoms.compiled(partition, records) for partition in partitions.values()]
        table = np.concatenate(following).astype(np.min_scalar_type(states))
        return cls(columns, column_at, row_at, table, nodes, int(children[-1, 0]), diagram.depth)

    def first_matching(self, chunk: Chunk) -> _Array:
        """The rule that matches each record first, shape (records,); the number of rules where none does."""
        kind = np.min_scalar_type(max((column.partition.atoms for column in self.columns), default=0))
        atoms = np.zeros((len(self.columns) + 1, chunk.records), dtype=kind)
        for row, column in zip(atoms, self.columns, strict=False):
            row[:] = column.of(chunk)
        first = np.empty(chunk.records, dtype=np.intp)
        for start in range(0, chunk.records, STEP_RECORDS):
            record = np.arange(start, min(start + STEP_RECORDS, chunk.records))
            first[start : start + len(record)] = self._ends(atoms, record)
        return first - self.nodes

    def _ends(self, atoms: _Array, record: _Array) -> _Array:
        """The states where the walks of some records end."""
        column_begins = self.column_at * atoms.shape[1]
        state = np.full(len(record), self.root)
        for _ in range(self.steps):
            atom = atoms.ravel().take(column_begins.take(state, mode="clip") + record, mode="clip")
            state = self.following.take(self.row_at.take(state, mode="clip") + atom, mode="clip")
        return state


def _bits(sets: Sequence[int], atoms: int) -> npt.NDArray[np.bool_]:
    """Sets of atoms as truth values, shape (sets, atoms)."""
    size = -(-atoms // 8)
    packed = np.frombuffer(b"".join(atoms_in.to_bytes(size, "little") for atoms_in in sets), dtype=np.uint8)
    return np.unpackbits(packed.reshape(len(sets), size), axis=1, count=atoms, bitorder="little").astype(bool)
