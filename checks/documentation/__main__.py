"""Builds the site into build/site, offline; `python -m checks.documentation [--without-tutorial]`, or `./run docs`.

Exits with 1 if a page is missing from the navigation, a link leads nowhere or a page loads from elsewhere.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from checks.documentation.built_pages import faults
from checks.documentation.references import (
    PROGRAMS,
    class_index,
    commands,
    decisions,
    expected_widths,
    python_surface,
)

ROOT: Final = Path(__file__).resolve().parents[2]
MADE: Final = ROOT / "build" / "documentation"
SITE: Final = ROOT / "build" / "site"


def main() -> int:
    """Make the pages that follow from the code, build, and check what was built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-tutorial", action="store_true", help="do not run the tutorial; for a quick look")
    arguments = parser.parse_args()
    shutil.rmtree(MADE, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    MADE.mkdir(parents=True)
    for program in PROGRAMS:
        (MADE / f"{program}.md").write_text(commands(program))
    (MADE / "python.md").write_text(python_surface())
    (MADE / "expected-widths.md").write_text(expected_widths())
    (MADE / "classes.md").write_text(class_index())
    (MADE / "decisions.md").write_text(decisions(ROOT / "docs" / "adr"))
    if arguments.without_tutorial:
        (MADE / "tutorial.md").write_text("The outputs were left out.\n")
    else:
        from checks.documentation.tutorial import write_tutorial  # noqa: PLC0415 - slow, and needs a notebook's kernel

        write_tutorial(ROOT / "docs" / "tutorial.ipynb", MADE)
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT, check=False)
    if built.returncode:
        return 1
    if (MADE / "tutorial_files").exists():
        shutil.copytree(MADE / "tutorial_files", SITE / "tutorial_files")
    found = faults(SITE, ROOT / "docs", (ROOT / "mkdocs.yml").read_text())
    print("\n".join(found) or f"{len(list(SITE.rglob('*.html')))} pages in {SITE.relative_to(ROOT)}; open index.html")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
