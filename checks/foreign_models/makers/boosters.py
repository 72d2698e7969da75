"""Random boosters of XGBoost, LightGBM and CatBoost."""

import importlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from checks.foreign_models.makers.data import NUMBERS, TEXTS, Table, classes_of, invented, number_of
from checks.foreign_models.makers.made import Estimator, Made

_NUMBER_OBJECTIVES: Final = (
    "reg:squarederror", "reg:logistic", "count:poisson", "reg:gamma", "reg:tweedie", "reg:pseudohubererror",
    "reg:squaredlogerror",
)  # fmt: skip


def xgboost_file(seed: int) -> Made:
    """A classifier or regressor as JSON or UBJSON."""
    library = importlib.import_module("xgboost")
    draw = np.random.default_rng(seed)
    values = invented(draw)
    by_name = bool(draw.random() < 0.35)
    known = {name: ["unseen", "z", "x", "w", "y"] if name == "work" else ["other", "own", "rent"] for name in TEXTS}
    columns = [*NUMBERS, *(TEXTS if by_name else ())]
    table = Table(columns, categories=known if by_name else {}, integers=("children",))
    options = _xgboost_options(draw, seed, by_name=by_name)
    objective = str(draw.choice(["class", "class", "class", "number", "hinge", "gblinear", "cox", "softmax"]))
    classes = list(range({"hinge": 2, "softmax": 3}.get(objective, int(draw.choice([2, 2, 2, 3])))))
    above, favourable, refused = None, None, None
    if objective in ("number", "cox"):
        options["objective"] = "survival:cox" if objective == "cox" else str(draw.choice(_NUMBER_OBJECTIVES))
        target = number_of(draw, values)
        target = target / (target.max() + 1) if options["objective"] == "reg:logistic" else target
        refused, classes = "survival:cox" if objective == "cox" else None, []
        model = library.XGBRegressor(**options).fit(table.of(values), target)
        above = float(np.round(np.median(model.predict(table.of(values))), 2))
    else:
        if objective in ("hinge", "softmax"):
            options["objective"] = {"hinge": "binary:hinge", "softmax": "multi:softmax"}[objective]
        if objective == "gblinear" and not by_name:
            options = {"booster": "gblinear", "n_estimators": 4, "n_jobs": 1, "seed": seed}
            refused = "gblinear"
        model = library.XGBClassifier(**options).fit(table.of(values), classes_of(draw, values, len(classes)))
        favourable = int(draw.choice(classes))
        if len(classes) == 2 and objective == "class" and draw.random() < 0.4:
            above = float(draw.choice([0.3, 0.5, 0.7]))
    version = tuple(map(int, library.__version__.split(".")[:2]))
    if by_name and version < (3, 1) and _categories_matter(model):
        old = "categories as XGBoost 1" if version < (2, 0) else "XGBoost before 3.1"
        refused = old if refused is None else f"{refused}|{old}"
    suffix = str(draw.choice([".json", ".ubj"]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        model.save_model(path)
        content = path.read_bytes()
    kind = f"{options.get('objective', 'class')} {options.get('booster', 'gbtree')}{' categories' if by_name else ''}"
    asked = Estimator(model, objective != "hinge")
    return Made(kind, suffix, content, table, asked, classes, favourable, above, refused)


def _xgboost_options(draw: np.random.Generator, seed: int, *, by_name: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "n_estimators": int(draw.integers(1, 12)), "max_depth": int(draw.integers(1, 6)), "subsample": 0.8,
        "min_child_weight": float(draw.choice([0.1, 1])), "learning_rate": float(draw.choice([0.1, 0.3, 1])),
        "num_parallel_tree": int(draw.choice([1, 1, 3])), "n_jobs": 1, "seed": seed,
        "tree_method": str(draw.choice(["hist", "exact", "approx"])),
    }  # fmt: skip
    if by_name:
        options |= {"enable_categorical": True, "tree_method": "hist", "max_cat_to_onehot": int(draw.integers(1, 8))}
    if draw.random() < 0.3:
        options["base_score"] = float(np.round(draw.uniform(0.1, 0.9), 3))
    if draw.random() < 0.15:
        options |= {"booster": "dart", "rate_drop": 0.4}
    return options


def _categories_matter(model: Any) -> bool:
    """Whether a tree tests a category at all."""
    trees = json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]
    trees = trees.get("gbtree", trees)["model"]["trees"]
    return any(tree.get("categories_nodes") for tree in trees)


def lightgbm_file(seed: int) -> Made:
    """A classifier or regressor as LightGBM's text."""
    library = importlib.import_module("lightgbm")
    draw = np.random.default_rng(seed)
    values = invented(draw)
    by_name = bool(draw.random() < 0.5)
    columns = [*NUMBERS, *(TEXTS if by_name else ())]
    table = Table(
        columns, categories={"work": list("wxyz"), "home": ["other", "own", "rent"]} if by_name else {},
        integers=("children",), array=not by_name and draw.random() < 0.2,
    )  # fmt: skip
    options: dict[str, Any] = {
        "n_estimators": int(draw.integers(1, 12)), "num_leaves": int(draw.integers(2, 16)),
        "min_child_samples": int(draw.integers(1, 10)), "learning_rate": float(draw.choice([0.1, 0.5, 1])),
        "zero_as_missing": bool(draw.random() < 0.2), "use_missing": bool(draw.random() < 0.8),
        "cat_smooth": 1, "min_data_per_group": 5, "max_cat_to_onehot": int(draw.integers(1, 5)),
        "verbose": -1, "n_jobs": 1, "random_state": seed,
        "boosting_type": str(draw.choice(["gbdt", "gbdt", "dart", "rf"])),
    }  # fmt: skip
    if options["boosting_type"] == "rf":
        options |= {"bagging_fraction": 0.7, "bagging_freq": 1}
    if draw.random() < 0.15:
        options |= {"extra_trees": True, "path_smooth": 0.5}
    if draw.random() < 0.1:
        options |= {"monotone_constraints": [1, *[0] * (len(columns) - 1)]}
    refused = None
    kind = str(draw.choice(["class", "class", "class", "number", "ova", "linear"]))
    above, classes, favourable = None, list(range(int(draw.choice([2, 2, 3])))), None
    if kind == "number":
        options["objective"] = str(draw.choice(["regression", "regression_l1", "poisson", "gamma", "tweedie", "huber",
                                                "quantile", "mape", "cross_entropy", "fair"]))  # fmt: skip
        target = number_of(draw, values)
        target = target / (target.max() + 1) if options["objective"] == "cross_entropy" else target
        model = library.LGBMRegressor(**options).fit(table.of(values), target)
        classes, above = [], float(np.round(np.median(model.predict(table.of(values))), 2))
    else:
        if kind == "ova":
            classes, options["objective"] = [0, 1, 2], "multiclassova"
        if kind == "linear" and not by_name:
            options |= {"linear_tree": True, "boosting_type": "gbdt", "zero_as_missing": False}
            options.pop("extra_trees", None)
            refused = "inear"
        model = library.LGBMClassifier(**options).fit(table.of(values), classes_of(draw, values, len(classes)))
        favourable = int(draw.choice(classes))
        if len(classes) == 2 and draw.random() < 0.4:
            above = float(draw.choice([0.3, 0.5, 0.7]))
    content = model.booster_.model_to_string().encode()
    name = f"{options.get('objective', 'class')} {options['boosting_type']}{' categories' if by_name else ''}"
    return Made(f"{name}{' linear' if refused else ''}", ".txt", content, table, Estimator(model), classes, favourable,
                above, refused)  # fmt: skip


@dataclass
class CatBoost:
    """CatBoost's own model, over a pool that says which columns are texts."""

    content: bytes
    kind: str
    texts: list[str]
    suffix: str = ".cbm"

    def ask(self, table: Any) -> tuple[Any, Any]:
        """Ask the model of the file."""
        library = importlib.import_module("catboost")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model{self.suffix}"
            path.write_bytes(self.content)
            model = getattr(library, self.kind)().load_model(str(path), format=self.suffix[1:])
        for name in self.texts:
            table[name] = table[name].astype(str)
        pool = library.Pool(table, cat_features=self.texts)
        return model.predict(pool), model.predict_proba(pool) if self.kind == "CatBoostClassifier" else None


def catboost_file(seed: int) -> Made:
    """A classifier or regressor as CatBoost's JSON."""
    library = importlib.import_module("catboost")
    draw = np.random.default_rng(seed)
    nan_mode = str(draw.choice(["Min", "Max"]))
    values = invented(draw)
    by_name, statistics = bool(draw.random() < 0.4), bool(draw.random() < 0.2)
    columns = [*NUMBERS, *(["home"] if by_name else ())]
    table = Table(columns, gone="gone")
    frame = table.of(values)
    options: dict[str, Any] = {
        "iterations": int(draw.integers(1, 12)), "depth": int(draw.integers(1, 6)), "nan_mode": nan_mode,
        "grow_policy": str(draw.choice(["SymmetricTree", "Depthwise", "Lossguide"])), "thread_count": 1,
        "learning_rate": float(draw.choice([0.1, 0.5, 1])), "border_count": int(draw.choice([4, 32, 254])),
        "random_seed": seed, "verbose": False, "allow_writing_files": False,
        "one_hot_max_size": 2 if statistics and by_name else 10,
    }  # fmt: skip
    texts = ["home"] if by_name else []
    above, classes, favourable = None, list(range(int(draw.choice([2, 2, 3])))), None
    kind = "CatBoostClassifier"
    if draw.random() < 0.25:
        kind, classes = "CatBoostRegressor", []
        options["loss_function"] = str(draw.choice(["RMSE", "MAE", "Quantile:alpha=0.7", "Poisson"]))
        target = number_of(draw, values)
    else:
        target = classes_of(draw, values, len(classes))
    pool = library.Pool(frame, target, cat_features=texts)
    model = getattr(library, kind)(**options).fit(pool)
    if classes:
        favourable = int(draw.choice(classes))
        above = float(draw.choice([0.3, 0.5, 0.7])) if len(classes) == 2 and draw.random() < 0.4 else None
    else:
        above = float(np.round(np.median(model.predict(pool)), 2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save_model(str(path), format="json", pool=pool)
        content = path.read_bytes()
        model.save_model(str(path), format="cbm")
        binary = path.read_bytes()
    refused = "statistics of categories" if b"OnlineCtr" in content else None
    refused = "'Poisson' is not read" if options.get("loss_function") == "Poisson" else refused
    name = f"{options.get('loss_function', 'class')} {options['grow_policy']}{' categories' if by_name else ''}"
    return Made(name, ".json", content, table, CatBoost(binary, kind, texts), classes, favourable, above, refused)
