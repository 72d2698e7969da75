"""`python -m checks.plain_english`: find constructions that readers stumble over, in texts, docs and names.

The list holds constructions, not taste: negated nouns ("is no number"), sentences that open with a relative clause
("Whoever asks"), and names that are participles or pronouns (`asked`, `one`). It finds places to look at; a person
rewrites them. `plain_english.txt` has what is accepted today: of texts and documentation by file, of docstrings and
names by room. More than that is a failure of `./run lint`. After a rewrite `--lower` writes the smaller numbers; it
never raises one. A hit that was looked at and has to stay is entered by hand, with a reason in the commit.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from checks.words import PRODUCT, ROOT

ACCEPTED: Final = Path(__file__).with_suffix(".txt")
OPENING: Final = re.compile(
    r"(Of|By|As|That|Those|Whoever|What|Which|Who|Whom|Nothing|Nobody|How|Where|From|Such)\b(?! is\b.*\?)"
)
"""How docstrings do not open: a function's opens with a verb, a class's with a noun."""
PHRASE: Final = re.compile(
    r"\b(is|are|was|were|be|has|have|had) (no|none|nobody)\b(?! longer\b)|\bwhoever\b|\bof whom\b|\bby no\b"
    r"|\bof which any\b|\bat hand\b|\bto be had\b|\bmend(s|ed|ing)?\b"
    r"|\bnothing of\b|\bas ever\b|\bfor certain\b|\bfaults? at once\b"
    r"|\bthe like\b|\bno more than\b|\b(is|are|was) said\b|\bsays? so\b|\bin earnest\b"
    r"|\bparts (nobody|anyone)\b|\bkept back\b",
    re.IGNORECASE,
)
NAMES: Final = frozenset(
    "asked said found given kept shown told one some others most made drawn named meant known wanted held seen met "
    "rest begun apart posed whose already wholly".split()
)
"""Participles and pronouns, where the thing has a name: `request`, `text`, `result`, `group`."""
_CODE: Final = re.compile(r"```.*?```|<!--.*?-->|`[^`\n]*`|\]\([^)]*\)", re.DOTALL)
"""What is no prose in Markdown: code, comments and the targets of links."""


def hits_of_docs(text: str) -> list[str]:
    """Return the phrases in the prose of a Markdown page."""
    prose = _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return [match[0] for match in PHRASE.finditer(prose)]


def hits_of_source(source: str) -> dict[str, list[str]]:
    """Return the hits of a module: in its texts, in its docstrings, and among its names."""
    tree = ast.parse(source)
    hits: dict[str, list[str]] = {"text": [], "docstring": [], "name": []}
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text:
                docstrings.add(id(node.body[0].value))  # type: ignore[attr-defined]
                hits["docstring"] += [match[0] for match in (OPENING.match(text),) if match]
                hits["docstring"] += [match[0] for match in PHRASE.finditer(text)]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(id(node.value))  # of an attribute, below it
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings and text.count(" ") >= 3:
                hits["text"] += [match[0] for match in PHRASE.finditer(_CODE.sub(" ", text))]
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in NAMES:
                hits["name"].append(name)
    return hits


def counts() -> Counter[str]:
    """Return the number of hits: of texts and documentation by file, of docstrings and names by room."""
    found: Counter[str] = Counter()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if "adr" not in page.parts:
            found[f"docs {page.relative_to(ROOT).as_posix()}"] += len(hits_of_docs(page.read_text(encoding="utf-8")))
    for package in PRODUCT:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            room = "/".join(name.split("/")[:-1][:2])
            for kind, hits in hits_of_source(path.read_text(encoding="utf-8")).items():
                found[f"{kind} {name if kind == 'text' else room}"] += len(hits)
    return +found


def accepted() -> Counter[str]:
    """Return the accepted numbers, as `counts` gives them."""
    lines = ACCEPTED.read_text(encoding="utf-8").splitlines()
    return Counter({where: int(number) for number, where in (line.split(" ", 1) for line in lines)})


def excess(found: Counter[str], limits: Counter[str]) -> Iterator[str]:
    """Yield a sentence for each place with more hits than are accepted."""
    for where, number in sorted((found - limits).items()):
        yield (
            f"{where}: {found[where]} hits, {limits[where]} accepted. Rewrite {number}: see Plain English in "
            "docs/CONTRIBUTING.md."
        )


def main() -> int:
    """Run the check; the exit status is 1 if a place has more hits than are accepted."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--lower", action="store_true", help="write the numbers that became smaller")
    options.add_argument("--list", metavar="FILE", help="print the hits of one file")
    arguments = options.parse_args()
    if arguments.list:
        text = Path(arguments.list).read_text(encoding="utf-8")
        hits = {"docs": hits_of_docs(text)} if arguments.list.endswith(".md") else hits_of_source(text)
        print("\n".join(f"{kind}: {hit}" for kind, of_kind in hits.items() for hit in of_kind))
        return 0
    found, limits = counts(), accepted()
    if arguments.lower:
        lowered = Counter({where: min(number, found[where]) for where, number in limits.items()})
        lines = (f"{number} {where}" for where, number in sorted((+lowered).items()))
        ACCEPTED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        limits = lowered
    faults = list(excess(found, limits))
    kinds: Counter[str] = Counter()
    for where, number in found.items():
        kinds[where.split(" ")[0]] += number
    print("\n".join(faults) or "; ".join(f"{kind}: {number}" for kind, number in sorted(kinds.items())))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
