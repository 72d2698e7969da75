"""Makers' libraries in the versions that people have, each set in an environment of its own."""

import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_INSTALL_S_MAX: Final = 1800
_RUN_S_MAX: Final = 3600


@dataclass(frozen=True, slots=True)
class Environment:
    """A set of libraries.

    Attributes:
        requirements: What pip installs, with versions.
        formats: The formats that are made there.
    """

    requirements: str
    formats: tuple[str, ...]


_ALL: Final = ("skops", "xgboost", "lightgbm", "onnx")
ENVIRONMENTS: Final[Mapping[str, Environment]] = {
    "sklearn-1.2": Environment(
        "scikit-learn==1.2.2 numpy==1.24.4 scipy==1.10.1 pandas==1.5.3 skops==0.8.0 skl2onnx==1.14.1 onnx==1.14.1 "
        "protobuf==4.25.8 onnxruntime==1.16.3 xgboost==1.7.6 lightgbm==3.3.5", _ALL,
    ),
    "sklearn-1.3": Environment(
        "scikit-learn==1.3.2 numpy==1.26.4 scipy==1.11.4 pandas==2.1.4 skops==0.9.0 skl2onnx==1.16.0 onnx==1.15.0 "
        "protobuf==4.25.8 onnxruntime==1.17.3 lightgbm==4.1.0", ("skops", "lightgbm", "onnx"),
    ),
    "sklearn-1.4": Environment(
        "scikit-learn==1.4.2 numpy==1.26.4 scipy==1.13.1 pandas==2.2.3 skops==0.10.0 skl2onnx==1.17.0 onnx==1.16.2 "
        "protobuf==4.25.8 onnxruntime==1.18.1 xgboost-cpu==2.1.4 lightgbm==4.3.0", _ALL,
    ),
    "sklearn-1.5": Environment(
        "scikit-learn==1.5.2 numpy==1.26.4 scipy==1.14.1 pandas==2.2.3 skops==0.11.0 skl2onnx==1.18.0 onnx==1.17.0 "
        "onnxruntime==1.19.2 xgboost-cpu==3.0.5 lightgbm==4.5.0", _ALL,
    ),
    "sklearn-1.6": Environment(
        "scikit-learn==1.6.1 numpy==2.2.6 scipy==1.15.3 pandas==2.2.3 skops==0.13.0 skl2onnx==1.19.1 onnx==1.17.0 "
        "onnxruntime==1.20.1 xgboost-cpu==3.1.3 lightgbm==4.6.0", _ALL,
    ),
    "sklearn-1.7": Environment(
        "scikit-learn==1.7.2 numpy==2.2.6 scipy==1.15.3 pandas==2.3.3 skops==0.13.0 skl2onnx==1.20.0 onnx==1.19.1 "
        "onnxruntime==1.23.2 xgboost-cpu==3.2.0 lightgbm==4.7.0", _ALL,
    ),
    "sklearn-1.8": Environment("scikit-learn==1.8.0 numpy==2.3.5 pandas==2.3.3 skops==0.14.0", ("skops",)),
    "sklearn-1.9": Environment(
        "scikit-learn==1.9.1 numpy==2.4.6 pandas==3.1.1 skops==0.16.0 skl2onnx==1.20.0 onnx onnxruntime==1.32.0 "
        "xgboost-cpu==3.2.0 lightgbm==4.7.0", _ALL,
    ),
    "lightgbm-3.0": Environment(
        "lightgbm==3.0.0 scikit-learn==1.2.2 numpy==1.23.5 scipy==1.10.1 pandas==1.5.3", ("lightgbm",)
    ),
    "lightgbm-3.2": Environment(
        "lightgbm==3.2.1 scikit-learn==1.2.2 numpy==1.23.5 scipy==1.10.1 pandas==1.5.3 wheel", ("lightgbm",)
    ),
    "catboost-1.2": Environment(
        "catboost==1.2.10 numpy==1.26.4 pandas==2.2.3 scipy==1.14.1 scikit-learn==1.5.2", ("catboost",)
    ),
    "pmml": Environment(
        "scikit-learn==1.6.1 numpy==2.2.6 scipy==1.15.3 pandas==2.2.3 sklearn2pmml==0.133.1 "
        "jpmml-evaluator[jpype]==0.16.0 xgboost-cpu==3.0.5 lightgbm==4.5.0", ("pmml",),
    ),
}  # fmt: skip
"""By name; `pmml` needs a Java runtime beside it."""


def cache() -> Path:
    """Where environments and the makers' files are kept."""
    return Path(os.environ.get("PAFER_DATA", ROOT / "build")) / "foreign_models"


def python_of(name: str) -> Path | None:
    """The Python of an environment, which is installed where it is not yet; None where it cannot be installed."""
    home = cache() / "env" / name
    python, finished = home / "bin" / "python", home / "ok"
    if finished.exists():
        return python
    print(f"{name}: installing; this takes some minutes, once", file=sys.stderr)
    venv.create(home, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--only-binary", ":all:"]
    try:
        done = subprocess.run(
            [*command, *ENVIRONMENTS[name].requirements.split()], capture_output=True, text=True, check=False,
            timeout=_INSTALL_S_MAX,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"{name}: skipped: not installed within {_INSTALL_S_MAX} s", file=sys.stderr)
        return None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"{name}: skipped: its libraries cannot be installed ({reason[:200]})", file=sys.stderr)
        return None
    finished.touch()
    return python


def run(python: Path, *arguments: str) -> None:
    """Run the makers' side in an environment."""
    subprocess.run(
        [str(python), "-m", "checks.foreign_models.makers", *arguments], check=True, timeout=_RUN_S_MAX,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
