"""Random models of libraries that are installed for this check alone; without them their formats are skipped."""

import contextlib
import io
import warnings
from typing import Any, Final

import numpy as np
import pandas as pd

from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers.frames import installed
from checks.model_formats.boosting import request
from checks.model_formats.data import SCHEMA, labels, table
from checks.model_formats.onnx_graphs import NEVER_MISSING
from shared.contract.schema import Schema

NUMBERS: Final = ["income", "tiny", "age", "children", "owner", "insured"]
ANSWERS: Final = Schema.model_validate(
    {
        "person_key": "id",
        "columns": [{"name": name, "type": "boolean"} for name in ("owner", "insured", "married", "moved", "employed")],
    }
)
"""What an optimal list may ask."""


def _drawn(draw: np.random.Generator, *, missing: bool) -> pd.DataFrame:
    """A table; of some the incomes are neighbours among float32."""
    frame = table(draw, missing=missing)
    if draw.random() < 0.3:
        frame["income"] = 100 + frame["income"] * 1e-6
    return frame


def _named(
    draw: np.random.Generator, frame: pd.DataFrame, target: Any, asked: ModelRequest
) -> tuple[Any, Any, ModelRequest]:
    """Sometimes without the columns' names, sometimes with words for classes."""
    favourable = asked.favourable
    if favourable is not None and draw.random() < 0.3:
        words = np.array(["no", "yes", "perhaps"])
        target, favourable = words[target], words[list(favourable)].tolist()
    if draw.random() < 0.7:
        return frame, target, ModelRequest(asked.schema, favourable, above=asked.above)
    columns = [str(name) for name in frame]
    return frame.to_numpy(), target, ModelRequest(asked.schema, favourable, columns, above=asked.above)


def catboost_model(seed: int) -> tuple[Any, ModelRequest]:
    """A classifier or regressor over numbers; trees of all three shapes, missing below, above or refused."""
    draw = np.random.default_rng(seed)
    nan_mode = str(draw.choice(["Min", "Max", "Forbidden"]))
    frame = _drawn(draw, missing=nan_mode != "Forbidden")[NUMBERS]
    kind: Any = str(draw.choice(["bool", "float"]))
    frame["owner"] = frame["owner"].astype(kind)
    options: dict[str, Any] = {
        "iterations": int(draw.integers(1, 12)), "depth": int(draw.integers(1, 7)), "nan_mode": nan_mode,
        "grow_policy": str(draw.choice(["SymmetricTree", "Depthwise", "Lossguide"])),
        "learning_rate": float(draw.choice([0.1, 0.5, 1])), "border_count": int(draw.choice([4, 32, 254])),
        "l2_leaf_reg": float(draw.choice([0, 3])), "random_seed": seed, "thread_count": 1, "verbose": False,
        "allow_writing_files": False,
    }  # fmt: skip
    if draw.random() < 0.25:
        loss = str(draw.choice(["RMSE", "MAE", "Quantile:alpha=0.7"]))
        target = frame["income"].fillna(0) + draw.normal(size=len(frame)) * 3
        model = installed("catboost").CatBoostRegressor(loss_function=loss, **options).fit(frame, target)
        return model, ModelRequest(SCHEMA, above=float(np.round(np.median(model.predict(frame)), 2)))
    classes = int(draw.choice([2, 2, 3]))
    target = labels(draw, frame, classes)
    given, target, asked = _named(draw, frame, target, request(draw, classes))
    options["loss_function"] = str(draw.choice(["MultiClass", "MultiClassOneVsAll"] if classes > 2 else ["Logloss"]))
    if classes == 2 and target.dtype.kind != "U" and draw.random() < 0.4:
        options["loss_function"] = "CrossEntropy"  # it takes the target for a probability
    return installed("catboost").CatBoostClassifier(**options).fit(given, target), asked


def ebm_model(seed: int) -> tuple[Any, ModelRequest]:
    """A machine over numbers, categories and booleans with missing values, and pairs of them."""
    draw = np.random.default_rng(seed)
    frame = _drawn(draw, missing=draw.random() < 0.8)
    kinds_given = bool(draw.random() < 0.6)
    if kinds_given:
        frame[["work", "home"]] = frame[["work", "home"]].astype(object)  # pandas' categories have an order already
    if draw.random() < 0.5:
        frame["insured"] = frame["insured"].map({0.0: False, 1.0: True}).astype(object)
    numbers = str(draw.choice(["continuous", "quantile", "uniform", "rounded_quantile"]))
    boolean = str(draw.choice(["auto", "nominal"]))
    kinds: list[Any] = [*[numbers] * 4, "nominal", ["rent", "other", "own"], boolean, boolean]
    options: dict[str, Any] = {
        "interactions": int(draw.choice([0, 2, 5])), "max_bins": int(draw.choice([4, 32, 256])),
        "max_interaction_bins": int(draw.choice([3, 16])), "max_rounds": int(draw.integers(5, 60)),
        "outer_bags": int(draw.choice([1, 3])), "learning_rate": float(draw.choice([0.05, 0.3])),
        "min_samples_leaf": int(draw.integers(1, 6)), "random_state": seed, "n_jobs": 1,
        "feature_types": kinds if kinds_given else None,
    }  # fmt: skip
    library = installed("interpret.glassbox")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if draw.random() < 0.2:
            target = frame["income"].fillna(0) + draw.normal(size=len(frame)) * 3
            model = library.ExplainableBoostingRegressor(**options).fit(frame, target)
            return model, ModelRequest(SCHEMA, above=float(np.round(np.median(model.predict(frame)), 2)))
        classes = int(draw.choice([2, 2, 3]))
        given, target, asked = _named(draw, frame, labels(draw, frame, classes), request(draw, classes))
        return library.ExplainableBoostingClassifier(**options).fit(given, target), asked


def greedy_model(seed: int) -> tuple[Any, ModelRequest]:
    """A greedy list of imodels, over numbers that are never missing."""
    draw = np.random.default_rng(seed)
    frame = _drawn(draw, missing=False)[NUMBERS]
    kind: Any = str(draw.choice(["bool", "float"]))
    frame["insured"] = frame["insured"].astype(kind)
    given, target, asked = _named(draw, frame, labels(draw, frame, 2), request(draw, 2, NEVER_MISSING))
    model = installed("imodels").GreedyRuleListClassifier(
        max_depth=int(draw.integers(1, 9)),
        criterion=str(draw.choice(["gini", "entropy"])),
        class_weight="balanced" if draw.random() < 0.3 else None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(given, target), asked


def optimal_model(seed: int) -> tuple[Any, ModelRequest]:
    """A list of CORELS, over booleans."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({name: draw.random(400) < draw.random() for name in ANSWERS.by_name})
    score = frame.to_numpy() @ draw.normal(size=frame.shape[1]) + draw.normal(size=400) * 0.3
    model = installed("corels").CorelsClassifier(
        c=float(draw.choice([0.0001, 0.001, 0.01])),
        max_card=int(draw.integers(1, 4)),
        n_iter=2000,
        policy=str(draw.choice(["bfs", "curious", "lower_bound"])),
        verbosity=[],
    )
    with contextlib.redirect_stdout(io.StringIO()):
        model.fit(np.ascontiguousarray(frame), score > np.median(score), features=list(frame))
    return model, ModelRequest(ANSWERS, favourable=[int(draw.integers(0, 2))])
