"""Files that were changed by one place, asked of their maker's library as a file: the referee of a mutation."""

import importlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from checks.foreign_models.makers.made import Answers, Estimator


@dataclass
class Booster:
    """LightGBM's text, without its estimator."""

    booster: Any
    classes: Any

    def ask(self, table: Any) -> tuple[Any, Any]:
        """Ask `Booster.predict`."""
        predicted = np.asarray(self.booster.predict(table))
        if self.classes is None:
            return predicted, None
        shares = np.column_stack([1 - predicted, predicted]) if predicted.ndim == 1 else predicted
        return self.classes[np.argmax(shares, axis=1)], shares


def of_changed_file(path: Path, model: Answers) -> Answers:
    """What answers for a changed file.

    Args:
        path: The file.
        model: What answered for the file before it was changed.
    """
    content = path.read_bytes()
    if hasattr(model, "content"):  # the formats whose evaluator has the file itself
        changes: dict[str, Any] = {"content": content}
        if path.suffix == ".json":
            changes["suffix"] = ".json"
        return replace(model, **changes)  # type: ignore[type-var]
    if not isinstance(model, Estimator):
        raise TypeError("No changed file of this kind.")
    if path.suffix == ".skops":
        skops = importlib.import_module("skops.io")
        return Estimator(skops.loads(content, trusted=skops.get_untrusted_types(data=content)))
    if path.suffix == ".txt":
        booster = importlib.import_module("lightgbm").Booster(model_str=content.decode())
        return Booster(booster, getattr(model.model, "classes_", None))
    estimator = type(model.model)()
    estimator.load_model(path)
    return Estimator(estimator, model.probable)
