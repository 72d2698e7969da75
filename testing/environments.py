"""The package as its users install it: a wheel, and empty environments into which one party alone is put."""

import os
import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
INSTALL_S_MAX: Final = 400
_PACKAGED_ANYWAY: Final = ("pip", "pkg_resources", "setuptools", "_distutils_hack", "distutils-precedence.pth")


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of its own, which has nothing of the one that this runs in."""

    folder: Path

    @property
    def programs(self) -> Path:
        """Where its programs are."""
        return self.folder / "bin"

    @property
    def packages(self) -> Path:
        """Where its packages are."""
        return next((self.folder / "lib").glob("python3*")) / "site-packages"

    @property
    def distributions(self) -> int:
        """How many distributions were installed, this project's included."""
        return len([path for path in self.packages.glob("*.dist-info") if not path.name.startswith(_PACKAGED_ANYWAY)])

    @property
    def megabytes(self) -> float:
        """How much was installed, in millions of bytes; compiled copies of sources are not counted."""
        return sum(size for _, size in self.largest()) / 1e6

    @property
    def megabytes_compiled(self) -> float:
        """How much was installed, in millions of bytes, with the compiled copies of sources that pip makes."""
        return sum(size for _, size in self.largest(compiled=True)) / 1e6

    def largest(self, *, compiled: bool = False) -> list[tuple[str, int]]:
        """What lies in it by size in bytes, the largest first; pip and setuptools, which venv puts there, are left out.

        Args:
            compiled: Whether to count compiled copies of sources.
        """
        found = {
            path.name: sum(
                one.stat().st_size
                for one in (path.rglob("*") if path.is_dir() else [path])
                if one.is_file() and (compiled or one.suffix != ".pyc")
            )
            for path in self.packages.iterdir()
            if not path.name.startswith(_PACKAGED_ANYWAY)
        }
        return sorted(found.items(), key=lambda item: -item[1])


def build(folder: Path) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from what it holds; into a folder."""
    _run([sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder)], ROOT)
    (source,) = folder.glob("*.tar.gz")
    _run(
        [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation", "-w", ".", source.name],
        folder,
    )
    (wheel,) = folder.glob("*.whl")
    return source, wheel


def installed(folder: Path, wheel: Path, extras: Sequence[str]) -> Environment:
    """An environment with the wheel and some of its extras, in the versions that the project is tested with.

    An environment that is there already gets the extras besides.
    """
    if not folder.exists():
        venv.create(folder, with_pip=True)
    tested = folder / "tested.txt"
    pins = re.findall(r"^([\w.-]+==[^\s\\]+(?: ;[^\\\n]*)?)", (ROOT / "requirements/all.txt").read_text(), re.MULTILINE)
    tested.write_text("\n".join(pins))
    wanted = f"{wheel}[{','.join(extras)}]"
    _run(
        [str(folder / "bin" / "pip"), "install", "-qq", "--disable-pip-version-check", "-c", str(tested), wanted],
        folder,
    )
    return Environment(folder)


def _run(command: Sequence[str], folder: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, cwd=folder, env=clean, check=True, timeout=INSTALL_S_MAX)
