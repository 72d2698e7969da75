"""Which test or command holds each sentence of the guarantee and the limits: `python -m checks.promises`.

Below each paragraph, list item or table of the pages is a comment that no reader of the site sees:

    <!-- held by
    The holder has: tests/integration/test_x.py::test_name; python -m checks.kills
    Encrypt the volume: - advice
    -->

It has one line for each sentence, in order: the sentence's first words, a colon, and what holds it. A table has one
line. What holds a sentence is a test, a file of tests, or a command of the project, several parted by semicolons; or a
dash with the reason why there is none. The command prints how many sentences are held by what, and ends with 1 if a
sentence has no line, or a line names what does not exist. `--sentences` lists the lines of blocks without a comment, to
be completed.
"""

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

TREE: Final = Path(__file__).parents[1]
PAGES: Final = ("docs/guarantee.md", "docs/limits.md")
REASONS: Final = {
    "definition": "says what a word, a sign or a table means",
    "advice": "tells the reader what to do",
    "trust": "is somebody's word, which nothing here can test",
    "theorem": "is mathematics, proved in the text or in what it cites",
    "renounced": "says what is not promised",
    "measured": "has figures of an earlier run of the command that is named there",
}
_MARK: Final = re.compile(r"<!-- held by\n(.*?)\n?-->", re.DOTALL)
_TITLE: Final = re.compile(r"^\*\*[^*]+[.]\*\*\s*")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_END: Final = re.compile(r"(?<=[.!?])(?<!\bal\.)\s+(?=[\"“(]?[A-Zδε*`—0-9])")
_WORDS: Final = re.compile(r"[\w′’'-]+")


@dataclass(frozen=True)
class Block:
    """A paragraph, item of a list or table, with what is said to hold it.

    Attributes:
        page: The page's path below the tree.
        line: Where the block begins, from 1.
        sentences: Its sentences in order; of a table its first row.
        marks: The lines of its comment in order; `None` if it has none.
    """

    page: str
    line: int
    sentences: tuple[str, ...]
    marks: tuple[str, ...] | None


def sentences_of(text: str) -> tuple[str, ...]:
    """Split a block's text into sentences, without its title and its links' targets."""
    plain = _TITLE.sub("", _LINK.sub(r"\1", " ".join(text.split())).removeprefix("> "))
    if plain.startswith("|"):
        return (text.splitlines()[0].strip("| "),)
    return tuple(part for part in _END.split(plain) if _WORDS.search(part))


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """Read a page's blocks, each with the comment that follows it."""
    pending: tuple[int, tuple[str, ...]] | None = None
    for line, part in _parts(text):
        mark = _MARK.fullmatch(part)
        if mark is not None and pending is not None:
            yield Block(page, *pending, tuple(mark[1].splitlines()))
            pending = None
            continue
        if pending is not None:
            yield Block(page, *pending, None)
        pending = (line, sentences_of(re.sub(r"^>\s?", "", part, flags=re.MULTILINE)))
        pending = None if part.startswith("#") or not pending[1] else pending
    if pending is not None:
        yield Block(page, *pending, None)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Split a page at its blank lines and comments; gives each part and its line."""
    for found in re.finditer(r"<!-- held by\n.*?-->|(?:(?!<!-- held by)[^\n]*\S[^\n]*\n?)+", text, re.DOTALL):
        yield text.count("\n", 0, found.start()) + 1, found[0].strip()


def faults_of(block: Block) -> list[str]:
    """Say what a block's comment lacks or names wrongly."""
    position = f"{block.page}:{block.line}"
    if block.marks is None:
        return [f"{position}: no `<!-- held by` comment follows {block.sentences[0]!r}"]
    if len(block.marks) != len(block.sentences):
        return [f"{position}: {len(block.sentences)} sentences, and {len(block.marks)} lines in the comment"]
    return [
        f"{position}: {fault}"
        for sentence, mark in zip(block.sentences, block.marks, strict=True)
        for fault in _faults_of_mark(sentence, mark)
    ]


def _faults_of_mark(sentence: str, mark: str) -> Iterator[str]:
    begins, _, holders = mark.partition(": ")
    if not begins.strip() or _key(begins) != _key(sentence)[: len(_key(begins))]:
        yield f"the line {mark!r} is not about {sentence!r}"
    if not holders.strip():
        yield f"nothing is said to hold {sentence!r}"
    for holder in holders_of(mark):
        if not exists(holder):
            yield f"{holder!r} does not exist"


def _key(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def holders_of(mark: str) -> list[str]:
    """List what a comment's line names."""
    return [holder.strip() for holder in mark.partition(": ")[2].split(";") if holder.strip()]


def exists(holder: str) -> bool:
    """Whether there is such a test, command or reason."""
    if holder.startswith("- "):
        return holder[2:] in REASONS
    if holder.startswith("tests/"):
        path, _, name = holder.partition("::")
        return (TREE / path).is_file() and (not name or name in _tests(path))
    if (module := re.fullmatch(r"python -m (checks\.[a-z_]+)( --.*)?", holder)) is not None:
        position = TREE / module[1].replace(".", "/")
        return position.with_suffix(".py").is_file() or (position / "__main__.py").is_file()
    if (command := re.fullmatch(r"\./run ([a-z-]+)( .*)?", holder)) is not None:
        return re.search(rf"^  {command[1]} ", (TREE / "run").read_text(), re.MULTILINE) is not None
    return holder == "holder audit-privacy --with-faults"


@cache
def _tests(path: str) -> frozenset[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse((TREE / path).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions) and node.name[:5] == "test_")


def all_blocks() -> list[Block]:
    """Read both pages."""
    return [block for page in PAGES for block in blocks_of(page, (TREE / page).read_text("utf-8"))]


def kind_of(mark: str) -> str:
    """Name what holds a line's sentence: tests before commands, before a reason."""
    holders = holders_of(mark)
    if any(holder.startswith("tests/") for holder in holders):
        return "a test"
    return "a command" if any(not holder.startswith("-") for holder in holders) else holders[0]


def main() -> int:
    """Print the coverage and the faults; gives the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sentences", action="store_true", help="list the sentences of blocks without a comment")
    given = options.parse_args()
    blocks, console = all_blocks(), Console(width=150)
    faults = [fault for block in blocks for fault in faults_of(block)]
    if given.sentences:
        _print_unmarked(blocks)
    counted = Counter((block.page, kind_of(mark)) for block in blocks for mark in block.marks or () if holders_of(mark))
    table = Table("sentences held by", *PAGES, "meaning")
    for kind in ["a test", "a command", *(f"- {reason}" for reason in REASONS)]:
        table.add_row(kind, *(str(counted[page, kind]) for page in PAGES), REASONS.get(kind[2:], ""))
    console.print(table)
    for fault in faults:
        console.print(fault, markup=False, soft_wrap=True)
    return int(bool(faults))


def _print_unmarked(blocks: list[Block]) -> None:
    for block in blocks:
        if block.marks is None:
            print(f"\n{block.page}:{block.line}")
            for sentence in block.sentences:
                print(f"{' '.join(_WORDS.findall(sentence)[:3])}: ")


if __name__ == "__main__":
    raise SystemExit(main())
