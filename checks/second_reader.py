"""`python -m checks.second_reader FILE`: write the text of the report that the second reader's questions are about.

A second reader who has not seen the code answers ten questions about this report, and ten about each of five pages,
from the text alone: `second_reader.md` beside this file has the questions and the answers. The report is of invented
people: the same every time, in English, German, French or Dutch.
"""

import argparse
import re
from html import unescape
from pathlib import Path

from auditor_client.report.languages import LANGUAGES
from testing.invented.audits import invented_audit


def report_text(language: str) -> str:
    """Return the text of the page, without markup: a line for each heading, paragraph and row."""
    page = invented_audit().to_html(language=language)
    body = page[page.index("<body") :]
    words = re.sub(r"<svg.*?</svg>", "", body, flags=re.DOTALL)
    lines = re.sub(r"</(h\d|p|tr|dt|dd|li|summary|caption|figcaption|div)>", "\n", words)
    text = unescape(re.sub(r"<[^>]+>", " ", lines))
    return "\n".join(line for line in (re.sub(r"[ \t]+", " ", line).strip() for line in text.splitlines()) if line)


def main() -> None:
    """Write the report's text."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file", type=Path, help="the text file to write")
    options.add_argument("--language", choices=LANGUAGES, default="en")
    arguments = options.parse_args()
    arguments.file.write_text(report_text(arguments.language), encoding="utf-8")


if __name__ == "__main__":
    main()
