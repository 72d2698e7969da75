"""Who may import what: the contracts of `pyproject.toml` hold, and no library escapes them."""

import sys
import tomllib
from pathlib import Path

import grimp
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("auditor_client", "holder_service", "pafer_demo", "shared")
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
