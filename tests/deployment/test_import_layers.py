"""Who may import what: the contracts of `pyproject.toml` hold, and no library escapes them or is undeclared."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("auditor_client", "holder_service", "pafer_demo", "shared")
DEVELOPMENT = ("testing", "checks", "benchmarks", "tests")
BROUGHT_ALONG = {"joblib", "markupsafe", "pydantic_core", "starlette"}  # parts of other libraries that show
FREE = {"annotated_types", "cryptography", "pydantic", "pydantic_core", "rfc8785", "typing_extensions"}


def test_every_import_keeps_to_the_layers() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None) == 0


def test_every_library_has_a_layer() -> None:
    """A library that `shared` may not use is in a contract that says who may."""
    graph = grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)
    libraries = {module for module in graph.modules if graph.is_module_squashed(module)} - set(sys.stdlib_module_names)
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]

    protected = {name for contract in linter["contracts"] for name in contract.get("protected_modules", ())}

    assert libraries - FREE <= protected
    assert {"fastapi", "numpy", "opendp", "sqlalchemy"} <= libraries & protected


@pytest.mark.slow
def test_every_library_that_is_imported_is_declared() -> None:
    """Nothing works only because something else happens to bring it along."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = document["project"], document["dependency-groups"]
    sets = [project["dependencies"], *project["optional-dependencies"].values(), *groups.values()]
    wanted = [one for requirements in sets for one in requirements]
    declared = {re.split(r"[\[<>=;!~ ]", requirement)[0].replace("_", "-").lower() for requirement in wanted}
    distributions = packages_distributions()

    undeclared = set()
    for path in (path for folder in (*PACKAGES, *DEVELOPMENT) for path in (ROOT / folder).rglob("*.py")):
        for name in _imported(path) - set(sys.stdlib_module_names) - BROUGHT_ALONG:
            makers = {maker.replace("_", "-").lower() for maker in distributions.get(name, ())}
            if makers and not makers & declared and not (ROOT / name).is_dir():
                undeclared.add(f"{path.relative_to(ROOT)}: {name}")

    assert not undeclared


@pytest.mark.slow
def test_tests_stand_on_checks_and_those_on_the_harness() -> None:
    """Nothing imports tests, checks and benchmarks do not know each other, and the product knows none of them."""
    below: dict[str, set[str]] = {
        "testing": set(),
        "checks": {"testing"},
        "benchmarks": {"testing"},
        "tests": {*DEVELOPMENT},
    }

    for folder in (*PACKAGES, *DEVELOPMENT):
        allowed = {*PACKAGES, folder, *below.get(folder, ())}
        for path in (ROOT / folder).rglob("*.py"):
            assert not _imported(path) & {*PACKAGES, *DEVELOPMENT} - allowed, path


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names
