"""Boosters of other makers at the end of a scikit-learn Pipeline (5-decisions §3).

The booster compares numbers that the steps before it made. Its trees are read over those numbers, and where each test
turns in the raw columns is asked of the steps themselves, as for scikit-learn's own ensembles.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers
from auditor_client.models.forests import Ensemble, documents
from auditor_client.models.inventing import Invented
from auditor_client.models.preprocessing import Preprocessing, quietly
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers.decisions import compared, makers_answers
from auditor_client.models.sklearn_tree import inputs_of
from auditor_client.models.soundness import require_fitted
from shared.scores.documents import Trees

Numbers = NDArray[np.float64]


class BoosterPipeline:
    """A fitted Pipeline that ends in a booster.

    Attributes:
        booster: Its last step.
    """

    def __init__(self, pipeline: Pipeline, request: ModelRequest) -> None:
        """Trace its steps.

        Raises:
            ModelRefused: A step is not fitted, mixes columns or is not known; or the model fails for a declared value.
        """
        *steps, self.booster = _flat(pipeline)
        for part in (*steps, self.booster):
            require_fitted(part)
        self._pipeline, self._request = pipeline, request
        inputs = inputs_of([*steps, self.booster], request.schema, request.columns, request.input_dtypes)
        self._steps = Preprocessing(steps, inputs)
        self._steps.require_works(pipeline.predict, self._steps.features, type(self.booster).__name__)

    def documents(self, ensemble: Ensemble, *, absent_is_missing: bool = False) -> list[Trees]:
        """The documents of the booster's numbers, over the dataset's columns.

        Args:
            ensemble: The booster's trees over the numbers that the steps make. Those of precision float32 compare
                the numbers rounded to float32.
            absent_is_missing: Whether the booster takes what a sparse matrix leaves out for missing, not for 0.

        Raises:
            ModelRefused: The trees read what nothing may be asked about, or are more than a document may hold.
        """
        features, steps = len(self._steps.features), self._steps
        if any(test is not None and test.feature >= features for tree in ensemble.trees for test in tree.tests):
            raise ModelRefused("The model has more inputs than the steps before it make: save it again.")
        if absent_is_missing:
            steps.cut_at_zero()  # a number that becomes 0 on the way is left out, too

        def matrix(table: Any) -> NDArray[Any]:
            numbers = _numbers(quietly(steps.transform, table), absent_is_missing=absent_is_missing)
            with np.errstate(over="ignore"):
                return numbers.astype(np.dtype(ensemble.precision))

        return list(documents(ensemble, steps, matrix))

    def compared(
        self,
        read: ReadModel,
        classes: list[Any],
        maker: str,
        raw: Callable[[Any], Any] | None,
        ties: float | None,
    ) -> ReadModel:
        """The model, compared with what the whole pipeline itself predicts.

        Args:
            read: What was read.
            classes: The booster's classes in its order; of one that predicts a number, nothing.
            maker: Whose predictions they are.
            raw: From a table of raw rows to the pipeline's scores; None: not shown.
            ties: How near two classes' numbers have to be for their probabilities to round to the same.
        """

        def ask(records: Invented) -> MakersAnswers:
            table = self._steps.inputs.invented(records)
            decided = quietly(self._pipeline.predict, table)
            index = {label: number for number, label in enumerate(classes)}
            return makers_answers(
                read, self._request, classes=classes,
                probabilities=quietly(self._pipeline.predict_proba, table) if classes else decided,
                raw=None if raw is None else quietly(raw, table),
                decided_as=np.array([index[label] for label in decided.tolist()], np.intp) if classes else None,
                ties=ties,
            )  # fmt: skip

        return compared(read, self._request, ask, maker)


def _flat(model: Any) -> list[Any]:
    """The steps of a pipeline, and of those at its end."""
    if type(model) is not Pipeline:
        return [model]
    return [*(step for _, step in model.steps[:-1]), *_flat(model.steps[-1][1])]


def _numbers(table: Any, *, absent_is_missing: bool) -> Numbers:
    """A table of the steps' as doubles, shape (rows, features)."""
    if not hasattr(table, "toarray"):
        return np.asarray(table).astype(np.float64)
    if not absent_is_missing:
        return np.asarray(table.toarray(), np.float64)
    listed = table.tocoo()
    numbers = np.full(listed.shape, np.nan)
    numbers[listed.row, listed.col] = listed.data
    return numbers
