"""Others' private learners, asked in the environment that `./run reproduce training` makes for them."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.reproduction.fair_models.splits import bounds, codes, one_hot
from benchmarks.trained_models import FloatArray, Parts

ENVIRONMENT: Final = Path(__file__).parents[3] / ".venv-peers"
NAMES: Final = ("diffprivlib tree", "diffprivlib forest", "diffprivlib logistic", "DP-EBM")
_WORKER: Final = Path(__file__).with_name("peers_worker.py")


class PeersMissing(Exception):
    """The environment of the peers' libraries is not there."""


def require_peers() -> None:
    """Refuse to go on without their environment.

    Raises:
        PeersMissing: It is not there.
    """
    if not (ENVIRONMENT / "bin" / "python").exists():
        raise PeersMissing("There is no .venv-peers with others' libraries: `./run reproduce training` makes it.")


def peers_scores(
    runs: Mapping[int, Parts], names: Sequence[str], epsilon: float
) -> dict[tuple[str, int], tuple[FloatArray, FloatArray]]:
    """Scores of both parts' people by every peer's name and run, shape (n,) each.

    Args:
        runs: The parts of each run; the same object where they are the same.
        names: The columns that are used.
        epsilon: What each peer's model costs.

    Raises:
        PeersMissing: Their environment is not there.
        RuntimeError: A library failed, or would have read bounds off the records.
    """
    require_peers()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files: dict[int, str] = {}
        for parts in runs.values():
            if id(parts) not in files:
                files[id(parts)] = f"split-{len(files)}.npz"
                _write(folder / files[id(parts)], parts, names)
        job = {"epsilon": epsilon, "runs": list(runs), "splits": [files[id(parts)] for parts in runs.values()]}
        (folder / "job.json").write_text(json.dumps(job))
        ended = subprocess.run(
            [ENVIRONMENT / "bin" / "python", _WORKER, folder], capture_output=True, text=True, check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": ""},
        )  # fmt: skip
        if ended.returncode:
            raise RuntimeError(f"Others' learners failed: {ended.stderr[-2000:]}")
        with np.load(folder / "scores.npz") as found:
            return {
                (peer, run): (found[f"{peer}|{run}|train"], found[f"{peer}|{run}|test"])
                for peer in NAMES
                for run in runs
            }


def _write(path: Path, parts: Parts, names: Sequence[str]) -> None:
    columns = [parts.schema.by_name[name] for name in names]
    arrays: dict[str, NDArray[Any]] = {
        f"{kind}_{part}": made(people, names)
        for kind, made in (("one_hot", one_hot), ("codes", codes))
        for part, people in (("train", parts.train), ("test", parts.test))
    }
    arrays["labels"] = parts.train.labels(parts.data.label)
    arrays["bounds"] = bounds(parts.train, names)
    arrays["nominal"] = np.array([not column.ordered for column in columns])
    np.savez(path, allow_pickle=False, **arrays)
