"""How far each kind of release is spread over the code: `python -m checks.kinds`.

Counts the files with two or more mentions of a kind's noun, the places that ask which kind they have, and the lines of
the product and the tests. The figures to compare with are those of the review that this order of the code follows:
96 files for watches, 180 for trainings, 108 for rehearsals, 55 dispatches, 77 361 product lines.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from shared.kinds.registry import KINDS

TREE: Final = Path(__file__).parents[1]
PRODUCT: Final = ("holder_service", "auditor_client", "shared")
ELSEWHERE: Final = ("testing", "checks", "benchmarks", "pafer_demo", "tests", "docs")
RECORDED: Final = ("tests/contract/", "languages/", "migrations/")
NOUNS: Final = {"watch": (96, 45), "training": (180, 110), "rehears": (108, 40)}
"""By the beginning of each noun: files in the review, and the aim."""
DISPATCHES: Final = (55, 8)
REQUEST_TYPES: Final = frozenset(
    name
    for kind in KINDS.values()
    for name in (kind.release.__name__, kind.request and kind.request.__name__, kind.quote and kind.quote.__name__)
    if name
) | {"PricedPlan", "PricedTraining", "PricedWatch"}
KIND_NAMES: Final = frozenset({*KINDS, "ANSWER_KIND", "SKIP_KIND"})


def files_of(rooms: tuple[str, ...]) -> Iterator[Path]:
    """Source files and pages of some rooms, without what was recorded."""
    for room in rooms:
        for path in sorted((TREE / room).rglob("*")):
            if path.suffix in (".py", ".j2", ".html", ".md") and not any(part in path.as_posix() for part in RECORDED):
                yield path


def dispatches(source: str) -> Iterator[ast.AST]:
    """The places of a module that ask which kind of request, quote or release they have."""
    return (node for node in ast.walk(ast.parse(source)) if _asks_for_a_kind(node))


def _asks_for_a_kind(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, types]):
            return bool(REQUEST_TYPES & _names(types))
        case ast.match_case(pattern=ast.MatchClass(cls=matched)):
            return bool(REQUEST_TYPES & _names(matched))
        case ast.Compare(left=left, ops=[ast.In()]):
            return _is_kind(left)
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            return _is_kind(right)
    return False


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is_kind(node: ast.expr) -> bool:
    """Whether an operand is the name of a kind."""
    if isinstance(node, ast.Constant):
        return node.value in KIND_NAMES
    return isinstance(node, ast.Name) and node.id in KIND_NAMES


def main() -> None:
    """Print the table."""
    table = Table("figure", "now", "review", "aim")
    texts = {path: path.read_text(encoding="utf-8") for path in files_of((*PRODUCT, *ELSEWHERE))}
    for noun, (before, aim) in NOUNS.items():
        files = sum(len(re.findall(noun, text, re.IGNORECASE)) >= 2 for text in texts.values())
        table.add_row(f"files with two or more mentions of {noun!r}", str(files), str(before), f"≤ {aim}")
    asking = {
        path.relative_to(TREE).as_posix(): number
        for path in files_of(PRODUCT)
        if path.suffix == ".py" and (number := len(list(dispatches(texts[path]))))
    }
    table.add_row("dispatches on a kind in the product", str(sum(asking.values())), *map(str, DISPATCHES))
    for rooms, lines_before in ((PRODUCT, "77361"), (("tests",), "54166")):
        lines = sum(texts[path].count("\n") for path in files_of(rooms) if path.suffix == ".py")
        table.add_row(f"lines of Python in {', '.join(rooms)}", str(lines), lines_before, "")
    Console(width=120).print(table)
    for path, number in sorted(asking.items(), key=lambda pair: -pair[1]):
        print(f"{number:4} {path}")


if __name__ == "__main__":
    main()
