"""The losses of accounts by block, as nodes of their trees (`domain.block_losses`): read and changed a few at a time.

The sums follow from the ledger's entries, and verification compares them. The population's own, over all auditors, are
under the auditor "".
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import Connection, bindparam, insert, select, tuple_, update

from holder_service.domain.block_losses import BlockTree, Node, NodeState
from holder_service.storage.tables import block_losses

_READ_AT_ONCE: Final = 400
_AMOUNTS: Final = ("epsilon_nano", "delta_nano", "rho_nano")
_KEY: Final = (block_losses.c.level, block_losses.c.block)
_INSERT: Final = insert(block_losses)
_UPDATE: Final = (
    update(block_losses)
    .where(
        block_losses.c.population == bindparam("of"),
        block_losses.c.auditor == bindparam("whose"),
        block_losses.c.level == bindparam("at_level"),
        block_losses.c.block == bindparam("at_block"),
    )
    .values({f"{what}_{name}": bindparam(f"new_{what}_{name}") for what in ("added", "highest") for name in _AMOUNTS})
)


def tree(connection: Connection, population: str, auditor: str, nodes: Collection[Node]) -> BlockTree:
    """Some nodes of an account's tree; those that are empty are not in it."""
    own = select(block_losses).where(block_losses.c.population == population, block_losses.c.auditor == auditor)
    found: dict[Node, NodeState] = {}
    wanted = sorted(nodes)
    for start in range(0, len(wanted), _READ_AT_ONCE):
        rows = connection.execute(own.where(tuple_(*_KEY).in_(wanted[start : start + _READ_AT_ONCE])))
        found.update((_node(row._mapping), _state(row._mapping)) for row in rows)
    return BlockTree(found)


def whole_tree(connection: Connection, population: str, auditor: str) -> BlockTree:
    """All of an account's tree."""
    own = select(block_losses).where(block_losses.c.population == population, block_losses.c.auditor == auditor)
    return BlockTree({_node(row._mapping): _state(row._mapping) for row in connection.execute(own)})


def write(connection: Connection, population: str, auditor: str, changed: BlockTree, before: Collection[Node]) -> None:
    """Write the nodes of a tree that were changed since it was read.

    Args:
        before: The nodes that were not empty when it was read.
    """
    new = [node for node in changed.changed if node not in before]
    old = [node for node in changed.changed if node in before]
    if new:
        key = {"population": population, "auditor": auditor}
        rows = [
            {**key, "level": level, "block": block, **_columns(changed.nodes[level, block])} for level, block in new
        ]
        connection.execute(_INSERT, rows)
    if old:
        connection.execute(
            _UPDATE,
            [
                {
                    "of": population, "whose": auditor, "at_level": level, "at_block": block,
                    **{f"new_{name}": nano for name, nano in _columns(changed.nodes[level, block]).items()},
                }
                for level, block in old
            ],
        )  # fmt: skip


def every(connection: Connection) -> dict[tuple[str, str], dict[Node, NodeState]]:
    """The nodes of every account, by population and auditor."""
    found: dict[tuple[str, str], dict[Node, NodeState]] = {}
    for row in connection.execute(select(block_losses)):
        found.setdefault((row.population, row.auditor), {})[_node(row._mapping)] = _state(row._mapping)
    return found


def _node(row: Mapping[Any, Any]) -> Node:
    return row["level"], row["block"]


def _state(row: Mapping[Any, Any]) -> NodeState:
    added, highest = (
        (row[f"{what}_epsilon_nano"], row[f"{what}_delta_nano"], row[f"{what}_rho_nano"])
        for what in ("added", "highest")
    )
    return NodeState(added, highest)


def _columns(state: NodeState) -> dict[str, int]:
    return {
        f"{what}_{name}": nano
        for what, amounts in (("added", state.added), ("highest", state.highest))
        for name, nano in zip(_AMOUNTS, amounts, strict=True)
    }
