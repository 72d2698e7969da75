"""Write down the names of PMML's elements and attributes, as JPMML's class model of the standard's schema has them.

    .venv/bin/python -m checks.foreign_models.pmml_schema

The class model is generated from the schema of PMML 4.4 and comes with sklearn2pmml, in the environment `pmml`; reading
it takes a JDK (`javap`). The tests then hold that each name is used, irrelevant for a reason, or refused.
"""

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from checks.foreign_models.environments import ROOT, python_of

WRITTEN: Final = ROOT / "tests" / "unit" / "auditor_client" / "formats" / "pmml_schema.json"
_OURS: Final = re.compile(r"org/dmg/pmml/([a-z_]+/)*[A-Z]\w*\.class")
_ROOT: Final = re.compile(r"annotation\.XmlRootElement\(\n((?:\s+\w+=.*\n)+)")
_ATTRIBUTE: Final = re.compile(r"annotation\.XmlAttribute\(\n((?:\s+\w+=.*\n)+)")
_NAME: Final = re.compile(r'name="([^"]+)"')


def names_of(listing: str) -> dict[str, list[str]]:
    """Each element and its attributes, from what `javap -v` prints of the classes."""
    found: dict[str, set[str]] = {}
    for part in re.split(r"(?m)^Classfile ", listing)[1:]:
        root = _ROOT.search(part)
        name = _NAME.search(root[1]) if root else None
        if name is None:
            continue
        attributes = found.setdefault(name[1], set())
        attributes |= {one[1] for text in _ATTRIBUTE.findall(part) if (one := _NAME.search(text))}
    return {name: sorted(attributes) for name, attributes in sorted(found.items())}


def main() -> int:
    """Write the file."""
    python = python_of("pmml")
    archives = (
        sorted(python.parents[1].glob("lib/*/site-packages/sklearn2pmml/resources/pmml-model-[0-9]*.jar"))
        if python
        else []
    )
    if not archives:
        print("The environment `pmml` cannot be installed, or has no class model.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archives[0]) as archive:
        classes = [name for name in archive.namelist() if _OURS.fullmatch(name)]
        archive.extractall(folder, classes)
        listing = subprocess.run(
            ["javap", "-v", "-p", *(str(Path(folder) / name) for name in classes)],  # noqa: S607  # the JDK on the path
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    WRITTEN.write_text(json.dumps(names_of(listing), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
