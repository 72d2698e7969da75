"""A visitor of the console without a browser: keeps cookies, follows redirects, sends forms as pages have them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx

from testing.holders import TestedHolder
from testing.http_clients import AUTHORITIES


@dataclass
class Page(HTMLParser):
    """A page, read: its elements, its forms' tokens, the text that people see."""

    answer: httpx.Response
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    areas: dict[str, str] = field(default_factory=dict)
    """What the fields of several lines hold, by their names."""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._area: str | None = None
        self.feed(self.answer.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._area = dict(attrs).get("name") if tag == "textarea" else None

    def handle_endtag(self, tag: str) -> None:
        self._area = None

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._area:
            # A line break behind the tag is none of its text.
            self.areas[self._area] = (self.areas.get(self._area, "") + data).removeprefix("\n")

    @property
    def status(self) -> int:
        """The answer's status."""
        return self.answer.status_code

    @property
    def path(self) -> str:
        """Where redirects led."""
        return self.answer.url.path

    @property
    def text(self) -> str:
        """The text, blanks made one."""
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def values(self) -> dict[str, str]:
        """What the inputs hold, by their names; of several of a name the last."""
        return {one["name"]: one.get("value", "") for one in self.all("input") if "name" in one}

    @property
    def actions(self) -> set[str]:
        """Where the forms that change something go."""
        return {one["action"] for one in self.all("form") if one["method"] == "post"}


@dataclass
class Visitor:
    """Somebody with a browser."""

    client: httpx.Client

    def get(self, path: str) -> Page:
        """Open a page."""
        return Page(self.client.get(path))

    def send(self, page: str, fields: Mapping[str, str], *, to: str = "") -> Page:
        """Fill in and send a form of a page, with the token that it has there: to its own path, or to one below it."""
        action = to if to.startswith("/") else f"{page}/{to}".rstrip("/")
        shown = self.get(page)
        assert action in shown.actions, (page, action, shown.actions)
        return self.post(action, {"form_token": shown.values["form_token"], **fields})

    def post(self, action: str, fields: Mapping[str, str]) -> Page:
        """Send a form as it is."""
        return Page(self.client.post(action, data=dict(fields)))

    def log_in(self, key: str) -> Page:
        """Open a session."""
        return self.send("/console/log-in", {"key": key, "then": "/console"})


@contextmanager
def visitor(holder: TestedHolder, *, logged_in: bool = True) -> Iterator[Visitor]:
    """Somebody new; with a session of the administrator unless said otherwise."""
    with httpx.Client(base_url=holder.client.base_url, timeout=60, follow_redirects=True, verify=AUTHORITIES) as client:
        visits = Visitor(client)
        if logged_in:
            assert visits.log_in(holder.admin_key).path == "/console"
        yield visits
