"""Random data to fit models on: what each column does to a reader is said beside it."""

from typing import Any, Final

import numpy as np
import pandas as pd

from shared.contract.schema import Schema

SCHEMA: Final = Schema.model_validate(
    {
        "person_key": "id",
        "columns": [
            {"name": "income", "type": "number", "nullable": True},  # thresholds on roundings
            {"name": "tiny", "type": "number"},  # from 1e-40 to 1e4, both signs, and zeros
            {"name": "age", "type": "integer", "minimum": -3, "maximum": 40, "nullable": True},
            {"name": "children", "type": "integer", "minimum": 0, "maximum": 50},
            {"name": "work", "type": "category", "categories": ["x", "y", "z", "w", "unseen"], "nullable": True},
            {"name": "home", "type": "category", "categories": ["own", "rent", "other"]},
            {"name": "owner", "type": "boolean"},
            {"name": "insured", "type": "boolean", "nullable": True},
            {"name": "sex", "type": "category", "categories": ["f", "m"], "sensitive": True},
        ],
    }
)


def table(draw: np.random.Generator, records: int = 400, *, missing: bool = True) -> pd.DataFrame:
    """A table of the columns that a model may use; categories as pandas' own."""
    size = 10.0 ** draw.integers(-40, 5, records)
    made: dict[str, Any] = {
        "income": np.round(draw.normal(size=records) * 10, draw.integers(0, 6)),
        "tiny": np.where(draw.random(records) < 0.5, 0, draw.normal(size=records) * size),
        "age": draw.integers(-3, 41, records).astype(float),
        "children": draw.integers(0, 51, records),
        "work": pd.Categorical(draw.choice(list("xyzw"), records)),
        "home": pd.Categorical(draw.choice(["own", "rent", "other"], records)),
        "owner": draw.random(records) < 0.5,
        "insured": (draw.random(records) < 0.5).astype(float),
    }
    frame = pd.DataFrame(made)
    for name in ("income", "age", "work", "insured") if missing else ():
        frame.loc[draw.random(records) < 0.2, name] = np.nan
    return frame


def labels(draw: np.random.Generator, frame: pd.DataFrame, classes: int) -> Any:
    """Classes that depend on the table, or on nothing; each occurs."""
    score = (frame["income"].fillna(0) > 0) * draw.random(len(frame)) * classes + frame["age"].fillna(3) * 0.02
    found = draw.integers(0, classes, len(frame))
    if draw.random() < 0.7:
        found = np.clip(np.floor(score), 0, classes - 1).astype(int)
    found[:classes] = np.arange(classes)
    return found
