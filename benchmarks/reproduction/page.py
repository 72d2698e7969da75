"""One HTML page with the paper and the product side by side; opens offline and loads nothing."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import jinja2

from benchmarks.reproduction.claims import Claim
from benchmarks.reproduction.tables import Table

_TEMPLATE: Final = Path(__file__).with_name("page.html.j2")


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure on the page.

    Attributes:
        name: Of its files.
        caption: What it shows, in sentences.
        svg: The figure.
    """

    name: str
    caption: str
    svg: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: text, then tables, then pictures."""

    title: str
    paragraphs: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


def write_page(path: Path, *, sections: list[Section], subtitle: str) -> None:
    """Render the page.

    Args:
        path: Where to.
        sections: In their order.
        subtitle: How large the run was.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    path.write_text(template.render(sections=sections, subtitle=subtitle), encoding="utf-8")
