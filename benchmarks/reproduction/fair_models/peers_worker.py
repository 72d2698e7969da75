"""What others' private learners make of some splits; runs in an environment of its own, with nothing of the project.

`python peers_worker.py FOLDER`: reads `job.json` and `split-N.npz` there, and writes `scores.npz`. Each learner is
given public bounds: one that would read them off the records ends the run. All other settings are the libraries'
defaults.

diffprivlib's trees get categories as numbers, because they part people at random places, and do better so than with a
column for each category. Its logistic regression gets a column for each.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from diffprivlib.models import DecisionTreeClassifier, LogisticRegression, RandomForestClassifier
from diffprivlib.utils import PrivacyLeakWarning
from interpret.privacy import DPExplainableBoostingClassifier

DELTA = 1e-5
"""Of the boosting machine alone: the library's default."""
Fitted = Callable[[Any], Any]


def learners(split: Any, epsilon: float, seed: int) -> Iterator[tuple[str, Any, str]]:
    """Each learner's name, itself, and which columns it is given."""
    bounds = (split["bounds"][:, 0], split["bounds"][:, 1])
    of_trees = {"epsilon": epsilon, "bounds": bounds, "classes": [0, 1], "random_state": seed}
    # Of each feature's columns the squares add up to 1 at most.
    norm = len(split["bounds"]) ** 0.5
    yield "diffprivlib tree", DecisionTreeClassifier(**of_trees), "codes"
    yield "diffprivlib forest", RandomForestClassifier(**of_trees), "codes"
    yield "diffprivlib logistic", LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed), "one_hot"
    types = ["nominal" if one else "continuous" for one in split["nominal"]]
    yield (
        "DP-EBM",
        DPExplainableBoostingClassifier(
            epsilon=epsilon, delta=DELTA, privacy_bounds=split["bounds"], feature_types=types, n_jobs=1
        ),
        "codes",
    )


def main(folder: Path) -> None:
    """Fit every learner on every split of the job."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", PrivacyLeakWarning)
    warnings.filterwarnings("error", message=".*[Pp]rivacy.*")
    job = json.loads((folder / "job.json").read_text())
    found = {}
    for run, name in zip(job["runs"], job["splits"], strict=True):
        split = np.load(folder / name)
        for learner, model, columns in learners(split, job["epsilon"], run):
            model.fit(split[f"{columns}_train"], split["labels"].astype(int))
            for part in ("train", "test"):
                found[f"{learner}|{run}|{part}"] = model.predict_proba(split[f"{columns}_{part}"])[:, 1]
    np.savez(folder / "scores.npz", **found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
