"""Where the linters are: on the path, or unpacked from Debian's packages, none of which is installed or started."""

import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

UNPACKED: Final = Path("build/linters")
PACKAGES: Final = {"promtool": "prometheus", "caddy": "caddy", "nginx": "nginx"}
"""By program, Debian's package that has it and needs nothing else to check a file."""
FETCH_S_MAX: Final = 120


class NotHere(Exception):
    """A linter cannot be had on this machine; the text says which."""


@dataclass(frozen=True, slots=True)
class Linters:
    """Programs that check a file, found on this machine or, if `fetches`, fetched into a folder."""

    folder: Path
    fetches: bool = True
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def program(self, name: str) -> str:
        """The path of a program.

        Raises:
            NotHere: It is not here, and not to be had.
        """
        paths = (*os.environ["PATH"].split(":"), "/usr/sbin", *map(str, self._unpacked()))
        found = shutil.which(name, path=":".join(paths))
        if found is None and name in PACKAGES:
            with self._one_at_a_time:
                unpacked = ":".join(map(str, self._unpacked()))
                if shutil.which(name, path=unpacked) is None and self.fetches:
                    self._unpack(PACKAGES[name])
            found = shutil.which(name, path=unpacked)
        if found is None:
            raise NotHere(f"{name} is not on this machine")
        return found

    def compose(self) -> list[str]:
        """The command of docker compose, either of its two.

        Raises:
            NotHere: There is neither.
        """
        if shutil.which("docker") and not self._run("docker", "compose", "version"):
            return ["docker", "compose"]
        if shutil.which("docker-compose"):
            return ["docker-compose"]
        raise NotHere("neither docker compose nor docker-compose is on this machine")

    def kubernetes_schemas(self) -> Path:
        """An archive of the schemas of Kubernetes' objects, for each release of it.

        Raises:
            NotHere: It cannot be fetched.
        """
        folder, pattern = self.folder.absolute() / "kubernetes", "kubernetes_validate-*.whl"
        if not any(folder.glob(pattern)):
            if not self.fetches:
                raise NotHere("the schemas of Kubernetes are not on this machine")
            pinned = Path(__file__).with_name("requirements.txt")
            fetch = ("download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
            if self._run(sys.executable, "-m", "pip", *fetch, "--dest", str(folder), "-r", str(pinned)):
                raise NotHere("the schemas of Kubernetes cannot be fetched")
        return next(folder.glob(pattern))

    def _unpacked(self) -> tuple[Path, Path]:
        root = self.folder.absolute() / "packages"
        return root / "usr/bin", root / "usr/sbin"

    def _unpack(self, package: str) -> None:
        if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
            return
        downloads = self.folder.absolute() / "downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        if self._run("apt-get", "download", "-q", package, folder=downloads) and os.geteuid() == 0:
            self._run("apt-get", "update", "-qq")
            self._run("apt-get", "download", "-q", package, folder=downloads)
        for file in downloads.glob(f"{package}_*.deb"):
            self._run("dpkg-deb", "-x", str(file), str(self.folder.absolute() / "packages"))

    def _run(self, *command: str, folder: Path | None = None) -> int:
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=FETCH_S_MAX)
        except subprocess.TimeoutExpired:
            return 1
        return done.returncode
