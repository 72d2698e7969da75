"""What the catalogues of the report's languages lack, and what they have too much.

`python -m checks.languages` reads the templates of all sentences from the source, and compares them with each
catalogue; the exit status is 1 if one is not complete. `--update` adds what lacks, without words, and takes out what
is not said any more.
"""

import argparse
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

from auditor_client.report import languages

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ("auditor_client/**/*.py", "auditor_client/report/*.j2", "shared/**/*.py")
KEYWORDS: Final = {"said": (1,), "sentence": (1,), "said_of": (2, 3)}
CATALOGUES: Final = Path(languages.__file__).parent / "catalogues"

Texts = str | tuple[str, ...]


def templates() -> Iterator[tuple[str, Texts]]:
    """Where each template is, and what it is; of one thing and of several as two."""
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            method = "python" if path.suffix == ".py" else "jinja2.ext:babel_extract"
            with path.open("rb") as file:
                for _, message, _, _ in extract(method, file, KEYWORDS):
                    yield path.relative_to(ROOT).as_posix(), message if isinstance(message, str) else tuple(message)


def catalogue_of(code: str) -> Catalog:
    """A language's catalogue; an empty one if there is none."""
    path = CATALOGUES / f"{code}.po"
    if not path.exists():
        return Catalog(locale=code, header_comment="", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=code)


def updated(code: str) -> Catalog:
    """The catalogue with every template, in the order of the source, and none besides."""
    known, made = catalogue_of(code), Catalog(locale=code, header_comment="", charset="utf-8")
    for path, message in templates():
        before = known.get(_id(message))
        made.add(message, string=before.string if before else None, auto_comments=[path])
    return made


def update(code: str) -> None:
    """Write a catalogue anew, with what it says already."""
    made = updated(code)  # before the file is opened, which empties it
    CATALOGUES.mkdir(exist_ok=True)
    with (CATALOGUES / f"{code}.po").open("wb") as file:
        write_po(file, made, width=120, omit_header=True, ignore_obsolete=True)


def faults(code: str) -> Iterator[str]:
    """What is wrong with a catalogue."""
    catalogue, wanted = catalogue_of(code), {_id(message): message for _, message in templates()}
    for name, message in wanted.items():
        found = catalogue.get(name)
        if found is None or not all(_texts(found)):
            yield f"{code}: nothing is said for {name!r}"
        elif found.fuzzy:
            yield f"{code}: not certain: {name!r}"
        elif not _fills_in(_texts(found), _names(_of_several(message))):
            yield f"{code}: other names are filled in than in {name!r}"
    for one in catalogue:
        if one.id and _id(one.id) not in wanted:
            yield f"{code}: not said any more: {_id(one.id)!r}"


def _id(message: Texts | list[str]) -> str:
    return message if isinstance(message, str) else message[0]


def _fills_in(texts: tuple[str, ...], names: set[str]) -> bool:
    """Whether the texts have these names; what is said of one thing may leave the number out."""
    *of_one, last = map(_names, texts)
    return last == names and all(one | {"number"} == names | {"number"} for one in of_one)


def _of_several(message: Texts) -> str:
    return message if isinstance(message, str) else message[-1]


def _texts(message: Message) -> tuple[str, ...]:
    return (message.string or "",) if isinstance(message.string, str | None) else tuple(message.string)


def _names(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def main() -> int:
    """Run the check; the exit status."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--update", nargs="+", default=[], metavar="CODE", help="write these catalogues anew")
    asked = options.parse_args()
    for code in asked.update:
        update(code)
    found = [fault for code in languages.LANGUAGES[1:] for fault in faults(code)]
    print("\n".join(found) or f"{len({_id(message) for _, message in templates()})} templates, all said everywhere.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
