"""`./run check words`: identifiers that hold a word to avoid, and classes of one name, room by room.

The glossary's column *avoid* is the only list of such words. An entry in backticks is a whole identifier
(`Message`); any other is a word, or several in a row, inside an identifier (`place` in `read_places`).
"""

import ast
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PRODUCT: Final = ("auditor_client", "holder_service", "pafer_demo", "shared")
PROBLEM_CLASSES: Final = ("auditor_client/errors.py", "holder_service/domain/errors.py")
"""A problem has one code and one name: the holder raises it, and the auditor's client raises it again."""


@dataclass(frozen=True, slots=True)
class Avoided:
    """An identifier that holds a word to avoid."""

    path: str
    line: int
    identifier: str
    word: str

    @property
    def room(self) -> str:
        """The folder that the file is in, two levels deep at most."""
        return "/".join(self.path.split("/")[:-1][:2])


def glossary_rows() -> list[list[str]]:
    """The cells of each row of the glossary: term, meaning, in code, avoid."""
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if line.startswith("| **")]


def avoided_entries() -> list[str]:
    """The entries of the glossary's column *avoid*."""
    return [entry.strip() for row in glossary_rows() for entry in row[3].split(",") if entry.strip()]


def names_in_code() -> set[str]:
    """The names that the glossary's column *in code* gives."""
    return {name for row in glossary_rows() for name in re.findall(r"`(\w+)`", row[2])}


def python_files() -> list[str]:
    """Every Python file of the project, by its path from the root."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in found if (ROOT / path).is_file()]


def identifiers(source: str) -> Iterator[tuple[str, int]]:
    """Every name that a module defines, with its line: functions, classes, arguments, variables, attributes."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str(name)) | ast.MatchAs(name=str(name)):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name, node.lineno


def words(identifier: str) -> list[str]:
    """An identifier split at underscores and at capitals: `ReadPlaces_2` is read, places, 2."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", identifier)]


def avoided_word(identifier: str, entries: Sequence[str]) -> str | None:
    """The first entry that an identifier holds, if any."""
    spaced = f" {' '.join(words(identifier))} "
    for entry in entries:
        if entry.startswith("`"):
            if identifier.lstrip("_") == entry.strip("`"):
                return entry
        elif f" {entry} " in spaced:
            return entry
    return None


def avoided_identifiers(sources: Mapping[str, str], entries: Sequence[str]) -> list[Avoided]:
    """The identifiers of some files, and the names of the files, that hold a word to avoid.

    Args:
        sources: The text of each file, by its path.
        entries: The words to avoid.
    """
    return [
        Avoided(path, line, identifier, word)
        for path, source in sources.items()
        for identifier, line in [(Path(path).stem, 0), *identifiers(source)]
        if (word := avoided_word(identifier, entries))
    ]


def classes_named_twice(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The files of each class name that is defined more than once; problem classes of both parties aside."""
    found = defaultdict(list)
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1 and sorted(paths) != list(PROBLEM_CLASSES)}


def public_classes(sources: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The public classes at the top of some files: name, first sentence of the docstring, and path, by name."""
    return sorted(
        (node.name, (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " "), path)
        for path, source in sources.items()
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )


def sources_of(rooms: Sequence[str] = ("",)) -> dict[str, str]:
    """The text of every Python file whose path begins with one of some rooms."""
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in python_files() if path.startswith(tuple(rooms))}


def main() -> None:
    """Print the figures by room, then each identifier and each class name."""
    avoided = avoided_identifiers(sources_of(), avoided_entries())
    twice = classes_named_twice(sources_of([f"{package}/" for package in PRODUCT]))
    for room, number in sorted(Counter(one.room for one in avoided).items()):
        print(f"{number:6d}  {room}")
    print(f"{len(avoided):6d}  identifiers with avoided words")
    print(f"{len(twice):6d}  class names with two meanings")
    for one in avoided:
        print(f"{one.path}:{one.line}: {one.identifier} holds {one.word!r}")
    for name, paths in twice.items():
        print(f"{name}: {', '.join(paths)}")


if __name__ == "__main__":
    main()
