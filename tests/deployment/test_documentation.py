"""The documentation: what is made from the code is complete, and what may be wrong with built pages is found.

The site itself is built by `./run docs`, which needs more than the tests' environment has.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.core import TyperOption
from typer.main import get_command

import auditor_client
import holder_service
from checks.documentation.built_pages import faults
from checks.documentation.references import (
    PROGRAMS,
    commands,
    decisions,
    expected_widths,
    settings_tables,
    variables_read,
)
from holder_service.settings.oidc import PREFIX
from shared.wire.deferred_commands import loaded

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("package", [auditor_client, holder_service])
def test_every_variable_that_the_code_reads_is_in_the_table_of_settings(package: ModuleType) -> None:
    read = variables_read(package)

    assert len(read) > 5
    tables = settings_tables()
    assert not {name for name in read if not any(f"| `{prefix}{name}` |" in tables for prefix in ("", PREFIX))}


def test_the_page_of_settings_holds_the_tables_that_the_code_makes() -> None:
    """If not: `python -m checks.documentation.references` prints them."""
    assert settings_tables() in (DOCS / "settings.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_a_page_of_commands_has_every_command_with_its_options(program: str) -> None:
    _, *parts = re.split(r"^#+ `([a-z -]+)`$", commands(program), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    called = dict(commands_in(get_command(PROGRAMS[program][1]), program))

    assert sections.keys() == called.keys()
    for name, command in called.items():
        options = {option.opts[0] for option in command.params if isinstance(option, TyperOption)} | {"--help"}
        assert not {option for option in options if f"* `{option}" not in sections[name]}, name


def commands_in(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The commands and groups of a Typer program, each as it is called."""
    for below, listed in getattr(group, "commands", {}).items():
        command = loaded(listed)
        yield f"{name} {below}", command
        yield from commands_in(command, f"{name} {below}")


def test_every_decision_is_listed_by_its_title() -> None:
    listed = decisions(DOCS / "adr")

    for path in (DOCS / "adr").glob("[0-9]*.md"):
        title = path.read_text().partition("\n")[0]
        assert title.startswith(f"# {path.name[:4]} "), path.name
        assert f"- [{title[2:]}]({path.name})\n" in listed
    assert "## Privacy loss and noise\n\n- [0001" in listed
    assert "## Other" not in listed


def test_more_people_and_more_budget_make_the_expected_interval_narrower() -> None:
    rows = [line.split(" | ")[1:] for line in expected_widths().splitlines()[2:]]
    widths = [[float(cell.strip(" |")) for cell in row] for row in rows]

    assert all(row == sorted(row, reverse=True) for row in widths)
    assert all(list(column) == sorted(column, reverse=True) for column in zip(*widths, strict=True))
    assert widths[0][0] > widths[-1][-1] > 0


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="other.html">', None),
        ('<h2 id="here"></h2><a href="#here">', None),
        ('<a href="https://example.org">', None),
        ('<a href="gone.html">', "gone.html leads nowhere"),
        ('<a href="other.html#gone">', "other.html#gone leads nowhere"),
        ('<img src="gone.png">', "gone.png leads nowhere"),
        ('<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "loads //example.org/a.css"),
    ],
)
def test_what_is_wrong_with_a_built_page_is_found(tmp_path: Path, page: str, fault: str | None) -> None:
    site, sources = tmp_path / "site", tmp_path / "docs"
    site.mkdir()
    sources.mkdir()
    (site / "other.html").write_text("<p>Here.</p>")
    (site / "index.html").write_text(page)

    assert faults(site, sources, "") == ([f"index.html: {fault}"] if fault else [])


def test_a_page_that_no_page_of_the_navigation_links_to_is_found(tmp_path: Path) -> None:
    (tmp_path / "lost.md").write_text("# Lost")
    (tmp_path / "found.md").write_text("# Found\n\nSee [the other](other.md#there).")
    (tmp_path / "other.md").write_text("# Other\n\n[Lost](lost.md) is two links away.")

    assert faults(tmp_path, tmp_path, "- Found: found.md\n") == [
        "lost.md: is neither in the navigation nor linked from a page of it"
    ]


def test_the_navigation_names_at_most_30_pages_that_are_there() -> None:
    named = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)

    assert 20 < len(named) <= 30
    assert len(set(named)) == len(named)
    assert not [name for name in named if not (DOCS / name).is_file()]


def test_the_citation_is_of_this_version_and_names_the_article() -> None:
    """`cffconvert --validate` found it valid; what may change is compared here."""
    citation = (ROOT / "CITATION.cff").read_text()
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    title = re.search(r"^preferred-citation:\n  type: article\n  title: (.+)$", citation, re.MULTILINE)

    assert version
    assert f"\nversion: {version[1]}\n" in citation
    assert title
    assert title[1] in " ".join((ROOT / "README.md").read_text().split())
