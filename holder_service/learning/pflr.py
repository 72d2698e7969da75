"""PFLR and PFLR*: logistic regression by the functional mechanism, with covariance held down (7-training §2).

Source: Xu, Yuan, Wu (2019), *Achieving Differential Privacy and Fairness in Logistic Regression*, §4; the mechanism:
Zhang et al. (2012). What is loose there, and the figures beside it: docs/training-sources.md.

**What is minimised.** With x of `learning.coordinates` (x₀ = 1), y the label and s = 1 for one of two groups, the
logistic loss expanded to degree 2 at 0 is wᵀMw + bᵀw, where M = ⅛ Σ x xᵀ and b = Σ (½ − y) x. PFLR adds α|gᵀw − τ| with
g = Σ (s − s̄) x. PFLR* adds gᵀw: that is what it means to draw the noise of b around g. The second is not symmetric:
it lowers the scores of those with s = 1 whatever they would be without it, so the request says who they are.

**What is measured**, all of it whole-number combinations of counts of public bins:

- *objective*: b, and of the symmetric M each pair once, in units of 1/(8·GRID²). Products of two coordinates of one
  feature are 0 for everybody, and are not measured. One class of cells for everybody, one for each feature, both by
  label, and one for each pair of features.
- *fairness*: h = Σ (s − ½) x in units of 1/(2·GRID): everybody, and one class for each feature, by group.

**The mean of s** is neither public nor paid for by itself. s̄ − ½ = h₀ / 8M₀₀ and Σ x = 8 M₀, so that
g = h − (s̄ − ½) · 8 M₀ is post-processing of what is measured anyway. As s̄ moves for everybody when one person changes,
no noise is calibrated to a formula with s̄ in it.

**Sensitivity.** The sums are linear in people, so one who comes or goes changes them by their own share and nothing
else: by at most the largest total weight in each class, over all classes (`measuring.largest_change`). With m features
that is (m + 1)/2 + (m + 1)(m + 2)/16 for the objective, attained by who has the last bin everywhere, and (m + 1)/2 for
h. *add_remove*: these. *replace*: one goes and one comes, so at most twice these. The published bounds, d + d²/4 and 2d
for d coordinates, are met a fortiori: a person has m + 1 coordinates that are not 0, not d, and a pair is drawn once.

**Division of ε.** PFLR has one noise scale for b, M and αg, as published: ε is divided in proportion to the
sensitivities, of which g's is α times that of h. With α = 0 it is the functional mechanism alone. PFLR* divides ε by
its parameter `fairness`. The losses of both steps add up (sequential composition).

**Afterwards** M is repaired (`learning.quadratic`), four standard deviations of its noise being the ridge, as the
functional mechanism has it. Who has a score of 0 or more, a probability of ½, is decided favourably.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from holder_service.learning.coordinates import GRID, Coordinates, RaisingBin
from holder_service.learning.features import Path, both_labels, numbered_cell
from holder_service.learning.measuring import Combination, LearningStep, Measuring, largest_change
from holder_service.learning.quadratic import FloatArray, minimiser, penalised_minimiser
from holder_service.learning.sizes import size_of_cells
from shared.contract.rules import Cell, Rule
from shared.contract.schema import Schema
from shared.kinds.trainings import Pflr, PflrStar, TrainedScore, Training
from shared.privacy.amounts import NANO_PER_UNIT
from shared.scores.documents import RuleTerm, Terms
from shared.wire import limits
from shared.wire.problems import InvalidPlan, TooLarge

OBJECTIVE = "objective"
FAIRNESS = "fairness"
OBJECTIVE_UNIT = 8 * GRID**2
FAIRNESS_UNIT = 2 * GRID
SCORE_MAX = limits.SCORE_NUMBER_MAX
RIDGE_DEVIATIONS = 4
"""What is added to eigenvalues, in standard deviations of the noise on an entry of M: Zhang et al. (2012), §6.1."""

Key = tuple[int, int]
"""Of a sum: two coordinates, ascending, of M; or −1 and one, of b or h."""


def steps(training: Training, schema: Schema) -> tuple[LearningStep, ...]:
    """The objective, and the fairness vector unless it is left out.

    Raises:
        InvalidPlan: There are not two groups.
        TooLarge: There are too many coordinates, or pairs of bins.
    """
    _require_two_groups(training, schema)
    coordinates = Coordinates.of(training, schema)
    objective = _objective(coordinates, training.label)
    fairness = _fairness(coordinates, lowered=_lowered(training))
    spent = _fairness_nano(training, objective.sensitivity, fairness.sensitivity)
    polynomial = objective.step(OBJECTIVE, training.epsilon - spent, schema, ())
    return (polynomial, fairness.step(FAIRNESS, spent, schema, training.sensitive)) if spent else (polynomial,)


def learn(training: Training, schema: Schema, measuring: Measuring) -> tuple[TrainedScore, None]:
    """Measure the polynomial and the fairness vector, and minimise."""
    coordinates = Coordinates.of(training, schema)
    polynomial, announced = _objective(coordinates, training.label), {step.name: step for step in measuring.steps}
    noisy = polynomial.measured(OBJECTIVE, measuring, ())
    linear = _vector(noisy, coordinates.size) / OBJECTIVE_UNIT
    quadratic = _matrix(noisy, coordinates.size) / OBJECTIVE_UNIT
    variance = announced[OBJECTIVE].noise(measuring.relation).noise.variance
    ridge = RIDGE_DEVIATIONS * float(np.sqrt(variance)) / OBJECTIVE_UNIT
    if FAIRNESS not in announced:
        return _model(coordinates, minimiser(quadratic, linear, ridge=ridge)), None
    by_group = _fairness(coordinates, lowered=_lowered(training))
    around_half = _vector(by_group.measured(FAIRNESS, measuring, training.sensitive), coordinates.size) / FAIRNESS_UNIT
    covariance = _around_mean(around_half, 8 * quadratic[0])
    algorithm = training.algorithm
    if isinstance(algorithm, Pflr):
        weights = penalised_minimiser(
            quadratic, linear, covariance, ridge=ridge, penalty=algorithm.penalty / NANO_PER_UNIT,
            threshold=algorithm.threshold / NANO_PER_UNIT,
        )  # fmt: skip
    else:
        weights = minimiser(quadratic, linear + covariance, ridge=ridge)
    return _model(coordinates, weights), None


@dataclass(slots=True)
class _Sums:
    """Sums over tables of disjoint cells, as they are made.

    Attributes:
        groups: How many each cell is counted by.
        cells: Those of all tables.
        tables: The indices of each table's cells.
        terms: Of each sum, the counts that are in it and their weights.
    """

    groups: int
    cells: list[Cell] = field(default_factory=list)
    tables: list[list[int]] = field(default_factory=list)
    terms: defaultdict[Key, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def add_table(self, rows: Iterable[tuple[Path, Sequence[tuple[Key, int, int]]]]) -> None:
        """Add a table: of each cell who is in it, and the sums that a group's count enters with a weight."""
        first = len(self.cells)
        for path, entries in rows:
            if len(self.cells) >= limits.CELLS_PER_STEP_MAX:
                raise TooLarge(
                    what="cells (pairs of bins of two features)", limit=limits.CELLS_PER_STEP_MAX, path="features",
                    asked="training", remedy="name fewer features or cuts",
                )  # fmt: skip
            for key, group, weight in entries:
                self.terms[key].append((len(self.cells) * self.groups + group, weight))
            self.cells.append(numbered_cell(len(self.cells), path))
        if len(self.cells) > first:
            self.tables.append(list(range(first, len(self.cells))))

    @property
    def combinations(self) -> dict[Key, Combination]:
        """Each sum, in order of its key."""
        return {
            key: Combination(*(np.array(column, dtype=np.int64) for column in zip(*self.terms[key], strict=True)))
            for key in sorted(self.terms)
        }

    @property
    def sensitivity(self) -> int:
        """In their unit, of all sums together."""
        return largest_change(list(self.combinations.values()), self.tables, self.groups)

    def step(self, name: str, epsilon_nano: int, schema: Schema, sensitive: Sequence[str]) -> LearningStep:
        """The step that measures them."""
        size = size_of_cells(
            self.cells, schema, classes=len(self.tables), noisy=len(self.terms), sensitive=sensitive
        )  # fmt: skip
        return LearningStep(name, "sums", epsilon_nano, len(self.tables), size, self.sensitivity)

    def measured(self, name: str, measuring: Measuring, sensitive: Sequence[str]) -> dict[Key, int]:
        """The noisy sums."""
        combinations = self.combinations
        noisy = measuring.sums(name, self.cells, list(combinations.values()), sensitive)
        return dict(zip(combinations, noisy, strict=True))


def _objective(coordinates: Coordinates, label: str) -> _Sums:
    """Vector b and matrix M, in units of 1/(8·GRID²)."""
    sums = _Sums(groups=1)
    everybody = RaisingBin((), 0, GRID)
    for bins in ((everybody,), *coordinates.features):
        sums.add_table(
            ((*part.path, has_label), _own_terms(part, sign))
            for part in bins
            for has_label, sign in zip(both_labels(label), (-1, 1), strict=True)
        )
    for left_bins, right_bins in itertools.combinations(coordinates.features, 2):
        sums.add_table(
            ((*left.path, *right.path), [((left.coordinate, right.coordinate), 0, left.position * right.position)])
            for left in left_bins
            for right in right_bins
        )
    return sums


def _own_terms(part: RaisingBin, sign: int) -> list[tuple[Key, int, int]]:
    """Return what a person in a bin adds to b, to the row of everybody, and to the diagonal."""
    at, position = part.coordinate, part.position
    terms = [((-1, at), 0, sign * 4 * GRID * position), ((0, at), 0, GRID * position)]
    return terms if at == 0 else [*terms, ((at, at), 0, position * position)]


def _fairness(coordinates: Coordinates, *, lowered: int) -> _Sums:
    """Vector h, in units of 1/(2·GRID), s being 1 in the group of the index `lowered`."""
    sums = _Sums(groups=2)
    for bins in ((RaisingBin((), 0, GRID),), *coordinates.features):
        sums.add_table(
            (
                part.path,
                [
                    ((-1, part.coordinate), group, part.position if group == lowered else -part.position)
                    for group in (0, 1)
                ],
            )
            for part in bins
        )
    return sums


def _fairness_nano(training: Training, objective: int, fairness: int) -> int:
    """Return what of ε the fairness vector gets, given both sensitivities in their units; 0 if it is left out."""
    algorithm = training.algorithm
    if isinstance(algorithm, PflrStar):
        return training.epsilon * algorithm.fairness // NANO_PER_UNIT
    of_fairness = training.algorithm_as(Pflr).penalty * fairness * OBJECTIVE_UNIT
    of_objective = NANO_PER_UNIT * objective * FAIRNESS_UNIT
    return training.epsilon * of_fairness // (of_fairness + of_objective)


def _around_mean(around_half: FloatArray, totals: FloatArray) -> FloatArray:
    """Σ (s − s̄) x from Σ (s − ½) x and Σ x, all noisy; of everybody's coordinate it is 0 by definition."""
    people = max(float(totals[0]), 1.0)
    off_half = min(max(float(around_half[0]) / people, -0.5), 0.5)
    covariance = around_half - off_half * totals
    covariance[0] = 0.0
    return covariance


def _vector(noisy: dict[Key, int], size: int) -> FloatArray:
    return np.array([noisy[-1, at] for at in range(size)], dtype=np.float64)


def _matrix(noisy: dict[Key, int], size: int) -> FloatArray:
    matrix = np.zeros((size, size))
    for (row, column), value in noisy.items():
        if row >= 0:
            matrix[row, column] = matrix[column, row] = value
    return matrix


def _model(coordinates: Coordinates, weights: FloatArray) -> TrainedScore:
    """The score wᵀx, a term for each bin that raises a coordinate."""
    bounded = np.clip(weights, -SCORE_MAX, SCORE_MAX).tolist()
    terms = [
        RuleTerm(rule=Rule(all_of=part.path), value=bounded[part.coordinate] * part.position / GRID)
        for bins in coordinates.features
        for part in bins
    ]
    document = Terms(kind="terms", precision="float64", base=bounded[0], terms=tuple(terms))
    return TrainedScore(document=document, at_least=0.0)


def _lowered(training: Training) -> int:
    return training.algorithm.lowered if isinstance(training.algorithm, PflrStar) else 1


def _require_two_groups(training: Training, schema: Schema) -> None:
    groups = schema.group_count(training.sensitive)
    if groups != 2:
        raise InvalidPlan(
            f"This algorithm is about two groups, and these columns make {groups} (missing values are one): name one "
            "sensitive column of two values that is never missing, or take another algorithm.",
            "sensitive",
        )
