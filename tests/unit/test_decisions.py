"""Decisions have a number each, which is also in their title."""

import re
from collections import Counter
from pathlib import Path

DECISIONS = Path(__file__).parents[2] / "docs" / "adr"


def numbers_twice(names: list[str]) -> list[str]:
    """The numbers that more than one file has."""
    return [number for number, files in Counter(name[:4] for name in names).items() if files > 1]


def test_a_decision_has_its_own_number() -> None:
    files = sorted(DECISIONS.glob("[0-9]*.md"))

    assert numbers_twice([file.name for file in files]) == []
    assert numbers_twice(["0059-turns.md", "0059-files.md", "0060-seals.md"]) == ["0059"]
    for file in files:
        title = file.read_text(encoding="utf-8").partition("\n")[0]
        assert re.match(rf"# {file.name[:4]}\b", title), f"{file.name} is titled {title!r}"
