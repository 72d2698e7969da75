"""A client generated from the interface's description calls every operation of a running holder once.

`./run generated-client`

openapi-python-client generates it in its own environment, as `docs/developers.md` says. It fails on a warning, a
type or an operation that is left out, and an answer that is no type of the contract.
"""

import argparse
import importlib
import io
import os
import subprocess
import sys
import tempfile
import typing
from enum import Enum
from pathlib import Path
from typing import Any, Final

from testing.holders import TestedHolder, running_holder
from testing.interface_walk import new_holder, operations_of, walk
from testing.shown_commands import shown

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "developers.md"
PACKAGE: Final = "pafer_holder"
GENERATOR: Final = ROOT / ".venv-generator" / "bin"


class GeneratedCaller:
    """Calls operations through the generated client, with its own types."""

    def __init__(self, holder: TestedHolder) -> None:
        self._holder = holder
        self._operations = operations_of(holder.client.get("/openapi.json").json())
        self._client = importlib.import_module(PACKAGE)
        self._types = importlib.import_module(f"{PACKAGE}.types")
        self.called: set[str] = set()

    @property
    def left_out(self) -> set[str]:
        """The operations that were not called."""
        return self._operations.keys() - self.called

    def __call__(self, operation: str, body: Any = None, **parameters: Any) -> Any:
        """Call an operation."""
        [tag] = self._operations[operation][2]["tags"]
        function = importlib.import_module(f"{PACKAGE}.api.{tag}.{operation}").sync_detailed
        hints = typing.get_type_hints(function)
        arguments = {name: _typed(hints[name], value) for name, value in parameters.items()}
        if isinstance(body, bytes):
            arguments["body"] = self._types.File(payload=io.BytesIO(body))
        elif body is not None:
            arguments["body"] = hints["body"].from_dict(body)
        key = self._holder.admin_key if tag == "administrator" else self._holder.auditor_key
        is_public = "security" not in self._operations[operation][2]
        client = (
            self._client.Client(base_url=self._holder.url)
            if is_public
            else self._client.AuthenticatedClient(base_url=self._holder.url, token=key)
        )
        answer = function(client=client, **arguments)
        assert 200 <= answer.status_code < 300, f"{operation}: {answer.status_code} {answer.content!r}"
        self.called.add(operation)
        if answer.status_code == 204:
            return None
        assert answer.parsed is not None, f"{operation}: its answer has no type"
        return answer.parsed.to_dict() if hasattr(answer.parsed, "to_dict") else answer.parsed


def main() -> None:
    """Generate, look at what was generated, and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with running_holder(home / "asked") as holder:
            generate(holder, home)
            run_example(holder, home)
        sys.path.insert(0, str(home))
        with new_holder(home / "walked") as holder:
            types, operations = call_everything(holder)
    print(f"{types} types were generated; {operations} operations were called.")


def generate(holder: TestedHolder, folder: Path) -> None:
    """Generate the client, by the page's own command and configuration; a warning is an error."""
    (folder / "generator.yml").write_text(shown(PAGE, "yaml")[0], "utf-8")
    environment = {**os.environ, "HOLDER": holder.url, "PATH": f"{GENERATOR}:{os.environ['PATH']}"}
    command = shown(PAGE, "bash")[0].strip() + " --fail-on-warning"
    subprocess.run(["/bin/bash", "-euo", "pipefail", "-c", command], cwd=folder, env=environment, check=True)


def run_example(holder: TestedHolder, folder: Path) -> None:
    """Run the page's example of the client."""
    (folder / "auditor.key").write_text(holder.auditor_key)
    environment = {**os.environ, "HOLDER": holder.url, "PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, "-c", shown(PAGE, "python")[0]], cwd=folder, env=environment, check=True)
    assert holder.spent() == "0.1"


def call_everything(holder: TestedHolder) -> tuple[int, int]:
    """Call every operation of a new holder; gives how many types there are, and how many operations."""
    named = {*importlib.import_module(f"{PACKAGE}.models").__all__}
    dropped = holder.client.get("/openapi.json").json()["components"]["schemas"].keys() - named
    assert not dropped, f"types were left out: {sorted(dropped)}"
    caller = GeneratedCaller(holder)
    walk(holder, caller)
    assert not caller.left_out, f"operations were left out: {sorted(caller.left_out)}"
    return len(named), len(caller.called)


def _typed(hint: Any, value: Any) -> Any:
    """A parameter's value as the type that the client has for it."""
    kinds = [kind for kind in typing.get_args(hint) or (hint,) if isinstance(kind, type) and issubclass(kind, Enum)]
    return kinds[0](value) if kinds else value


if __name__ == "__main__":
    main()
