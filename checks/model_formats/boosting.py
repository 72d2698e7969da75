"""Random boosters, fitted by their makers."""

import json
import warnings
from pathlib import Path
from typing import Any, Final

import lightgbm
import numpy as np
import xgboost

from auditor_client.models.read_model import ModelRequest
from checks.model_formats.data import SCHEMA, labels, table
from shared.contract.schema import Schema

RECORDED: Final = Path(__file__).parents[2] / "tests" / "unit" / "auditor_client" / "formats" / "catboost_models.json"


def lightgbm_model(seed: int) -> tuple[Any, ModelRequest]:
    """A classifier of 2 or 3 classes, gradient-boosted or a random forest, with every way to treat missing values."""
    draw = np.random.default_rng(seed)
    frame = table(draw)
    classes = int(draw.choice([2, 2, 2, 3]))
    options: dict[str, Any] = {
        "n_estimators": int(draw.integers(1, 12)), "num_leaves": int(draw.integers(2, 16)),
        "min_child_samples": int(draw.integers(1, 10)), "learning_rate": float(draw.choice([0.1, 0.5, 1])),
        "zero_as_missing": bool(draw.random() < 0.3), "use_missing": bool(draw.random() < 0.8),
        "cat_smooth": 1, "min_data_per_group": 5, "max_cat_to_onehot": int(draw.integers(1, 5)),
        "verbose": -1, "n_jobs": 1,
    }  # fmt: skip
    if draw.random() < 0.2:
        options |= {"boosting_type": "rf", "bagging_fraction": 0.7, "bagging_freq": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lightgbm.LGBMClassifier(**options).fit(frame, labels(draw, frame, classes))
    return model, request(draw, classes)


def lightgbm_file(seed: int) -> tuple[bytes, ModelRequest]:
    """The same as LightGBM's text."""
    model, asked = lightgbm_model(seed)
    return model.booster_.model_to_string().encode(), asked


def xgboost_model(seed: int) -> tuple[Any, ModelRequest]:
    """A classifier of 2 or 3 classes; categories by lists and one by one, early stopping, parallel trees."""
    draw = np.random.default_rng(seed)
    frame = table(draw)
    frame["work"] = frame["work"].cat.set_categories(["w", "unseen", "x", "y", "z"])
    classes = int(draw.choice([2, 2, 2, 3]))
    target = labels(draw, frame, classes)
    options: dict[str, Any] = {
        "n_estimators": int(draw.integers(1, 12)), "max_depth": int(draw.integers(1, 6)),
        "min_child_weight": float(draw.choice([0.1, 1])), "learning_rate": float(draw.choice([0.1, 0.3, 1])),
        "max_cat_to_onehot": int(draw.integers(1, 8)), "num_parallel_tree": int(draw.choice([1, 1, 3])),
        "subsample": 0.8, "enable_categorical": True, "n_jobs": 1, "seed": seed,
    }  # fmt: skip
    if draw.random() < 0.3:
        options |= {"base_score": float(draw.random())}
    if draw.random() < 0.2:
        options |= {"early_stopping_rounds": 2}
    if seed % 5 == 4:
        options |= {"booster": "dart", "rate_drop": 0.4}
    model = xgboost.XGBClassifier(**options).fit(frame, target, eval_set=[(frame, target)], verbose=False)
    return model, request(draw, classes)


def xgboost_file(seed: int) -> tuple[bytes, ModelRequest]:
    """The same as JSON, and every other one as UBJSON."""
    model, asked = xgboost_model(seed)
    return bytes(model.get_booster().save_raw("json" if seed % 2 else "ubj")), asked


def request(draw: np.random.Generator, classes: int, schema: Schema = SCHEMA) -> ModelRequest:
    """A favourable class, and of two classes sometimes a threshold on its probability."""
    above = float(draw.choice([0.3, 0.5, 0.7])) if classes == 2 and draw.random() < 0.4 else None
    return ModelRequest(schema, favourable=[int(draw.integers(0, classes))], above=above)


def catboost_file(seed: int) -> tuple[bytes, ModelRequest]:
    """An export that was recorded: CatBoost is too large to be installed for tests."""
    recorded = json.loads(RECORDED.read_text())["models"]
    document = recorded[seed % len(recorded)]["document"]
    classes = document["model_info"]["class_params"]["class_names"]
    return json.dumps(document).encode(), ModelRequest(SCHEMA, favourable=[classes[-1]])
