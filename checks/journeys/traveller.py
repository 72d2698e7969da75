"""A person who goes step by step; each step is shown with what the person sees."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

STEP_S_MAX = 300


class Stopped(AssertionError):
    """A person cannot go on, or sees something else than what was promised."""


@dataclass
class Traveller:
    """Somebody with a folder, an empty environment and the programs of one installation."""

    name: str
    folder: Path
    programs: Path
    variables: dict[str, str] = field(default_factory=dict)
    steps: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a program of this person gets, and no other."""
        path = f"{self.programs}{os.pathsep}{os.defpath}"
        return {"PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8", "COLUMNS": "120", **self.variables}

    def does(
        self, what: str, *command: str, sees: str | tuple[str, ...] = (), status: int = 0, hides: tuple[str, ...] = ()
    ) -> str:
        """Run a command; show what is seen.

        Args:
            what: What the person wants.
            command: The program and its arguments.
            sees: Texts that have to be there.
            status: The exit status that has to be.
            hides: Texts that nobody may see.

        Raises:
            Stopped: It ended otherwise, or a text is not there.
        """
        self.shows(what, f"$ {' '.join(command)}")
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, text=True, check=False, timeout=STEP_S_MAX,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        print("".join(f"    {line}\n" for line in done.stdout.splitlines()), flush=True)
        self.requires(done.returncode == status, f"{command[0]} ended with {done.returncode}, and not with {status}")
        said = " ".join(done.stdout.split())
        for text in (sees,) if isinstance(sees, str) else sees:
            self.requires(text in said, f"nothing says {text!r}")
        for text in ("Traceback", *hides):
            self.requires(text not in said, f"{text!r} is shown")
        return done.stdout

    def shows(self, what: str, more: str = "") -> None:
        """Say which step this is."""
        self.steps += 1
        print(
            f"{self.name} {self.steps}. {what}\n    {more}" if more else f"{self.name} {self.steps}. {what}", flush=True
        )

    def requires(self, holds: bool, otherwise: str) -> None:
        """Go on only if something holds.

        Raises:
            Stopped: It does not.
        """
        if not holds:
            raise Stopped(f"{self.name}, step {self.steps}: {otherwise}.")

    def knows(self, variables: Mapping[str, str]) -> None:
        """Set variables for the steps that follow."""
        self.variables |= variables
