"""A view of a result: made once as data, and shown as text, page and document.

A page loads nothing and runs nothing, and its own policy forbids both. Every text is escaped: names of
categories and columns come from the other party.
"""

import html
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from auditor_client.report.formats import change_words, ratio, verdict_words
from auditor_client.report.languages import LANGUAGES, Language
from auditor_client.report.rehearsal import MARK, marked, rehearsal_in, rehearsal_line, rehearsal_words
from auditor_client.text import readable
from shared.contract.datasets import DatasetDescription
from shared.contract.rehearsals import Rehearsal
from shared.wire.wording import joined, listed, said, said_of

Data = TypeVar("Data")

_DIRECTION_CONTROLS: Final = dict.fromkeys(
    (*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}"
)
"""Characters that turn the direction of what follows: in a name they could turn a figure round."""


_FORMATS: Final = {
    form.__name__: form
    for form in (
        *(ratio, verdict_words, change_words),
        *(joined, listed, said, said_of),
    )
}
"""What pages write figures with."""


@dataclass(frozen=True)
class View(Generic[Data]):
    """A result as it is shown. Its data and its document are made when they are first wanted, and once.

    Attributes:
        about: The datasets whose people it is about: where those of one are invented, text, page and document say so
            before all else.
        title, height: Of the frame in a notebook; the height in CSS units.
        template: The file of the page; it has the data as `shown`.
        make_data: What text and page say.
        make_lines: The data in lines for a terminal.
        make_document: The same facts as JSON values, exact and unrounded.
    """

    about: tuple[DatasetDescription, ...]
    title: str
    height: str
    template: str
    make_data: Callable[[], Data]
    make_lines: Callable[[Data], Sequence[str]]
    make_document: Callable[[], dict[str, Any]]

    @cached_property
    def rehearsal(self) -> Rehearsal | None:
        """The rehearsed dataset, if its people are invented."""
        return rehearsal_in(self.about)

    @cached_property
    def data(self) -> Data:
        """The data of text and page."""
        return self.make_data()

    @cached_property
    def document(self) -> dict[str, Any]:
        """JSON values."""
        return self.begun(self.make_document())

    def begun(self, document: dict[str, Any]) -> dict[str, Any]:
        """A document, behind what is rehearsed, if it is of a rehearsal."""
        if self.rehearsal is None:
            return document
        return {"rehearsal": self.rehearsal.model_dump(mode="json"), **document}

    @property
    def text(self) -> str:
        """A few lines for a terminal."""
        first = [] if self.rehearsal is None else [rehearsal_line(self.rehearsal), ""]
        return "\n".join([*first, *map(readable, self.make_lines(self.data))])

    @property
    def page(self) -> str:
        """A whole HTML page in English, UTF-8, that needs nothing else."""
        return self.page_in(LANGUAGES[0])

    def page_in(self, language: str) -> str:
        """The page in a language of `LANGUAGES`.

        Raises:
            QuestionRefused: The language does not exist.
        """
        template = _template(self.template, language)
        rehearsal = None if self.rehearsal is None else rehearsal_words(self.rehearsal)
        css = Markup(_resource("report.css"))  # noqa: S704 - our own file
        return template.render(shown=self.data, css=css, rehearsal=rehearsal, mark=MARK)

    def marked(self, text: str) -> str:
        """A short text, such as a title, behind the mark of a rehearsal, if it is one."""
        return marked(self.rehearsal, text)

    @property
    def frame(self) -> str:
        """The page in a frame, for a notebook: its styles stay inside, and nothing in it can run."""
        return (
            f'<iframe sandbox="" srcdoc="{html.escape(self.page, quote=True)}" title="{self.marked(self.title)}" '
            f'style="width: 100%; height: {self.height}; border: 1px solid #ccc"></iframe>'
        )


class Shown(ABC):
    """A result that shows itself."""

    @property
    @abstractmethod
    def view(self) -> View[Any]:
        """The view of it."""

    @property
    def report(self) -> View[Any]:
        """The view of it in a file."""
        return self.view

    def summary(self) -> str:
        """The result as plain text, for a terminal."""
        return self.view.text

    def to_html(self, *, language: str = LANGUAGES[0]) -> str:
        """The result as one page that needs nothing else, in English ("en"), German, French or Dutch.

        Raises:
            QuestionRefused: The language does not exist.
        """
        return self.view.page_in(language)

    def to_document(self) -> dict[str, Any]:
        """The result as a JSON document; figures that are undefined are null."""
        return self.view.document

    def to_json(self) -> str:
        """The document as a text."""
        return json.dumps(self.to_document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def write_report(self, path: Path | str, *, language: str = LANGUAGES[0]) -> Path:
        """Write the page, in a language as `to_html` takes it, into a file and return its path.

        Raises:
            OSError: It cannot be written.
            QuestionRefused: The language does not exist.
        """
        target = Path(path)
        target.write_text(self.report.page_in(language), encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.view.marked(readable(self.view.make_lines(self.view.data)[0]))}>"

    def _repr_html_(self) -> str:
        return self.view.frame


@cache
def _template(name: str, code: str) -> Template:
    language = Language.of(code)

    def shown(value: Any) -> Any:
        return without_direction(language.say(value))

    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def bdi(text: str) -> Markup:
        """A text from outside within a sentence: it keeps its direction to itself."""
        return Markup("<bdi>{}</bdi>").format(shown(text))

    environment.filters |= _FORMATS
    environment.globals |= {**_FORMATS, "bdi": bdi, "language": language.code}
    return environment.get_template(name)


def without_direction(value: Any) -> Any:
    """A text without what turns the direction of what follows; anything else as it is."""
    return value.translate(_DIRECTION_CONTROLS) if isinstance(value, str) else value


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
