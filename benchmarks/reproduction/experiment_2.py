"""Experiments 2 and 2.1: how the size of a tree's leaves changes the error (1-method §5).

80 minimum leaf fractions equally spaced from .001 to .2, and .01 itself, which the tables name and that grid lacks;
five budgets; 50 trees each, fitted on bootstrap samples of the training part with binned numeric features. Each tree
goes the way of a model that is audited: read by the client, its rules merged, asked of a holder, the answer
verified. One plan asks all that is wanted of one tree and one choice of groups: for each ε strategy `pafer` and
strategy `verdict`, together fifteen batches.

The choices of groups and the budgets share the trees. Each cell of a table has 50 different trees, as in the paper;
cells of the same leaf fraction are correlated. So some 8 000 trees do instead of 120 000.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from auditor_client.asking.question import make_question
from auditor_client.asking.request import AuditRequest
from auditor_client.models.sklearn_tree import read_tree
from auditor_client.models.tree import Tree
from benchmarks.reproduction.binning import bin_edges, binned
from benchmarks.reproduction.chunks import Clock
from benchmarks.reproduction.data_sets import load, sensitive_choices
from benchmarks.reproduction.estimates import by_posterior, by_the_paper, counts_of, laplace_noise
from benchmarks.reproduction.in_process import InProcessHolder, in_process_holder, joined
from benchmarks.reproduction.published import Sensitive
from pafer_demo.open_data import OpenData
from shared.privacy.amounts import NANO_PER_UNIT, format_nano, parse_nano

SEED: Final = 20_231_213
DATASETS: Final = ("adult", "compas")
"""The paper leaves German out of the experiment, because the baseline wins there."""
BUDGETS: Final = tuple(map(parse_nano, ("0.05", "0.1", "0.15", "0.2", "0.25")))
TREES: Final = 50
TABLED_LEAVES: Final = (0.001, 0.01, 0.2)
LEAVES: Final = tuple(sorted({*np.linspace(0.001, 0.2, 80).round(6).tolist(), *TABLED_LEAVES}))
"""Minimum leaf fractions: the least share of the training people in a leaf."""
QUICK_LEAVES: Final = (0.001, 0.01, 0.02, 0.04, 0.08, 0.14, 0.2)
TREES_MAX: Final = 200
"""What a holder's funds are for: each tree costs three times 1.5 in ε."""
COLUMNS: Final = (
    "dataset", "sensitive", "leaf", "epsilon", "tree", "rules", "truth", "estimate", "invalid", "baseline", "product",
    "low", "high", "seconds", "cpu_seconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """A data set with binned numeric features, and its training part encoded once for all trees.

    Attributes:
        data: The data set.
        encoder: Fitted: a column for each category, and the bins as they are.
        matrix: The encoded training part, shape (people, columns).
        labels: Its outcomes, true where favourable, shape (people,).
    """

    data: OpenData
    encoder: ColumnTransformer
    matrix: NDArray[np.float32]
    labels: NDArray[np.bool_]

    @classmethod
    def of(cls, dataset: str) -> Self:
        """Bin and encode a data set."""
        plain = load(dataset)
        data = binned(plain, bin_edges(plain, seed=SEED))
        categorical = [name for name in data.features if not data.declaration.table.by_name[name].ordered]
        encoder = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32), categorical),
            remainder="passthrough",
        )
        people = data.train.to_pandas()
        matrix = encoder.fit_transform(people[list(data.features)]).astype(np.float32)
        return cls(data, encoder, matrix, people[data.label].to_numpy(dtype=np.bool_))


@dataclass(frozen=True, slots=True)
class LeafRuns:
    """All trees of one data set and one minimum leaf fraction, with everything that is asked of them: a chunk."""

    dataset: str
    leaf: float
    trees: int
    first: int = 0
    """The number of the first tree."""

    def __post_init__(self) -> None:
        if not 0 < self.trees <= TREES_MAX:
            raise ValueError(f"A holder's funds are for 1 to {TREES_MAX} trees.")

    @property
    def name(self) -> str:
        """Of the file."""
        trees = f"{self.trees}-trees-from-{self.first}"
        return f"{self.dataset}.leaf-{self.leaf:.6f}.{trees}.seed-{SEED}"

    @property
    def estimates(self) -> int:
        """How many estimates it makes, each by either procedure."""
        return self.trees * len(sensitive_choices(self.dataset)) * len(BUDGETS)

    def rows(self) -> pd.DataFrame:
        """One row for each tree, choice of groups and ε; trees that decide alike on everybody have none."""
        training = _training(self.dataset)
        data = training.data
        tables = [pd.DataFrame(columns=COLUMNS)]
        with in_process_holder(data) as holder:
            for number in range(self.first, self.first + self.trees):
                clock = Clock()
                tree = _tree(fitted_tree(training, leaf=self.leaf, number=number), data)
                if tree is not None:
                    found = pd.concat(
                        [
                            _estimated(holder, tree, sensitive, draw=number + 1)
                            for sensitive in sensitive_choices(self.dataset)
                        ]
                    )
                    tables.append(found.assign(tree=number, **clock.columns(len(found))))
        rows = pd.concat(tables[1:] or tables, ignore_index=True)
        guesses = np.random.default_rng([SEED, round(self.leaf * 10**6), self.first, 1]).uniform(size=len(rows))
        return rows.assign(dataset=self.dataset, leaf=self.leaf, baseline=guesses)[list(COLUMNS)]


def chunks(datasets: Sequence[str], *, quick: bool) -> list[LeafRuns]:
    """The experiment on some data sets; a quick one has seven leaf fractions."""
    leaves = QUICK_LEAVES if quick else LEAVES
    # The largest trees take longest: they come first, so that no core is idle at the end.
    return [LeafRuns(dataset, leaf, TREES) for leaf in leaves for dataset in datasets]


def fitted_tree(training: Training, *, leaf: float, number: int) -> Pipeline:
    """One of the fifty trees: fitted on its own bootstrap sample of the training part.

    Args:
        training: Of the data set.
        leaf: The minimum leaf fraction.
        number: Of the tree; the same number gives the same tree.

    Returns:
        The encoder and the tree, which take the data set's features.
    """
    generator = np.random.default_rng([SEED, round(leaf * 10**6), number])
    sample = generator.integers(0, len(training.labels), len(training.labels))
    tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=number)
    return make_pipeline(training.encoder, tree.fit(training.matrix[sample], training.labels[sample]))


def _estimated(holder: InProcessHolder, tree: Tree, sensitive: Sensitive, *, draw: int) -> pd.DataFrame:
    """Both procedures at every ε, about one tree and one choice of groups; one row for each ε.

    Two bootstrap samples may give the same tree, and the same plan would get the same answer: so each asks for its own
    draw.
    """
    request = AuditRequest(
        sensitive=sensitive, epsilon=format_nano(BUDGETS[0]), strategy="pafer", mechanism="laplace", draw=draw
    )
    question = make_question(tree, holder.dataset, request)
    plans = {
        f"{format_nano(epsilon_nano)} {strategy}": question.changed(
            epsilon=format_nano(epsilon_nano), strategy=strategy
        ).plan
        for epsilon_nano in BUDGETS
        for strategy in ("pafer", "verdict")
    }
    case = holder.truth(next(iter(plans.values())))
    plan = joined(plans)
    answers = iter(holder.ask(holder.quote(plan)).batches)
    rows = []
    for epsilon_nano in BUDGETS:
        everybody, favourable, verdict = (next(answers) for _ in range(3))
        paper = by_the_paper(counts_of(everybody)[None], counts_of(favourable)[None], case)
        accepted, refused = counts_of(verdict)
        product = by_posterior(accepted[None], refused[None], laplace_noise(verdict))
        rows.append(
            {
                "epsilon": epsilon_nano / NANO_PER_UNIT,
                "truth": case.ratio,
                "rules": len(case.favourable),
                "estimate": paper.value[0],
                "invalid": paper.invalid[0],
                "product": product.value[0],
                "low": product.low[0],
                "high": product.high[0],
            }
        )
    return pd.DataFrame(rows).assign(sensitive="-".join(sensitive))


def _tree(model: Pipeline, data: OpenData) -> Tree | None:
    """A fitted tree; None if it decides alike on everybody, so that there is nothing to ask."""
    tree = read_tree(model, data.declaration.table, favourable=[True]).merged()
    return tree if len({rule.favourable for rule in tree.rules()}) > 1 else None


@lru_cache(maxsize=1)
def _training(dataset: str) -> Training:
    return Training.of(dataset)
