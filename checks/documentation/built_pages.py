"""What may be wrong with built pages: links that lead nowhere, things loaded from elsewhere, pages nobody finds."""

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_LOADING: Final = {"img": "src", "script": "src", "iframe": "src", "link": "href"}
_NOT_LOADED: Final = ("canonical", "next", "prev", "alternate", "edit")


class _Page(HTMLParser):
    """The links, the loads and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif given.get(_LOADING.get(tag, "")) and given.get("rel") not in _NOT_LOADED:
            self.loads.append(given[_LOADING[tag]])


def faults(site: Path, sources: Path, navigation: str) -> list[str]:
    """List the errors of a site.

    Args:
        site: The folder of built pages.
        sources: The folder of Markdown files. The navigation names each of them, or a page that it names links to it;
            decisions are excepted.
        navigation: The text that names pages.
    """
    pages = {path: _Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    names = [path.relative_to(sources).as_posix() for path in sources.rglob("*.md")]
    named = {name for name in names if f": {name}\n" in f"{navigation}\n"}
    reachable = named.union(*(_linked(sources, name) for name in named))
    return [
        *(fault for path in pages for fault in _page_faults(path, pages, site)),
        *(
            f"{name}: is neither in the navigation nor linked from a page of it"
            for name in names
            if not name.startswith("adr/0") and name not in reachable
        ),
    ]


def _linked(sources: Path, name: str) -> set[str]:
    """List the Markdown files that a page links to, by their paths from the folder of sources."""
    page = sources / name
    targets = re.findall(r"\]\(([^)#\s:]+\.md)", page.read_text())
    return {os.path.relpath(page.parent / target, sources).replace(os.sep, "/") for target in targets}


def _page_faults(path: Path, pages: dict[Path, _Page], site: Path) -> Iterator[str]:
    name = path.relative_to(site)
    for target in pages[path].loads:
        if urlsplit(target).netloc:
            yield f"{name}: loads {target}"
    for target in pages[path].links + pages[path].loads:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        goal = goal / "index.html" if goal.is_dir() else goal
        anchor = unquote(parts.fragment)
        if not goal.exists() or (anchor and goal in pages and anchor not in pages[goal].anchors):
            yield f"{name}: {target} leads nowhere"
