"""A register of people who never lived, for where the public data are not at hand.

Some fifty thousand applicants for a loan. Whether somebody pays back depends on income, work and earlier
applications, never on sex or origin; but women work fewer paid hours and migrants earn less with the
same schooling, so a model that sees neither sex nor origin still treats the groups differently. That is
the disparity an audit has to find. The same seed gives the same people.
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pafer_demo.declarations import PERSON_KEY, category, integer, label
from pafer_demo.open_data import OpenData
from shared.contract.datasets import DatasetDeclaration
from shared.contract.metadata import ColumnWords, DatasetMetadata
from shared.contract.schema import Column

PEOPLE: Final = 50_000
PEOPLE_TO_TRAIN_ON: Final = 20_000

EDUCATION: Final = ("primary", "secondary", "vocational", "bachelor", "master")
EMPLOYMENT: Final = ("employed", "self-employed", "unemployed", "student", "retired")
HOUSEHOLD: Final = ("single", "single-parent", "couple", "couple-with-children", "shared")
REGION: Final = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "capital")
SEX: Final = ("female", "male")
ORIGIN: Final = ("native", "second-generation", "migrant")

METADATA: Final = DatasetMetadata(
    title="Applicants for a loan",
    description="Invented people who apply for a loan in an invented country. Nobody of them ever lived.",
    source="Drawn at random by pafer_demo",
    reference_date="2025-12-31",
    people=PEOPLE,
    columns={
        "age": ColumnWords(unit="years"),
        "hours_per_week": ColumnWords(title="paid work", unit="hours per week"),
        "income": ColumnWords(unit="euros per year"),
        "prior_applications": ColumnWords(title="earlier applications"),
        "sex": ColumnWords(values={"female": "women", "male": "men"}),
        "origin": ColumnWords(values={"native": "natives", "migrant": "migrants"}),
        "repaid": ColumnWords(title="repayment", values={"true": "the loan was repaid", "false": "it was not"}),
    },
)

DECLARATION: Final = DatasetDeclaration(
    person_key=PERSON_KEY,
    columns=(
        integer("age", 18, 100),
        category("education", " ".join(EDUCATION)),
        category("employment", " ".join(EMPLOYMENT)),
        integer("hours_per_week", 0, 80),
        Column(name="income", type="number", minimum=0, maximum=1_000_000, nullable=True),
        category("household", " ".join(HOUSEHOLD)),
        category("region", " ".join(REGION)),
        integer("prior_applications", 0, 50),
        Column(name="sex", type="category", categories=SEX, sensitive=True),
        Column(name="origin", type="category", categories=ORIGIN, sensitive=True),
        label("repaid"),
    ),
    metadata=METADATA,
)

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]


def register(*, people: int = PEOPLE, people_to_train_on: int = PEOPLE_TO_TRAIN_ON, seed: int = 0) -> OpenData:
    """The register, and other people from the same country to train a model on.

    Args:
        people: How many records the holder has.
        people_to_train_on: How many records the model's maker has.
        seed: The same seed and numbers give the same records.
    """
    for_training, for_audit = np.random.default_rng(seed).spawn(2)
    return OpenData(
        "register",
        DECLARATION,
        train=_people(people_to_train_on, "train", for_training),
        test=_people(people, "person", for_audit),
    )


def _people(number: int, prefix: str, rng: np.random.Generator) -> pa.Table:
    """A table of the declared columns and the person key, one row a person."""
    sex = rng.choice(2, number, p=[0.51, 0.49])
    origin = rng.choice(3, number, p=[0.74, 0.12, 0.14])
    age = np.clip(rng.gamma(9, 5, number), 18, 100).astype(np.int64)
    education = np.clip(rng.normal(2.1 - 0.35 * (origin == 2), 1.1, number).round(), 0, 4).astype(np.int64)
    employment = _employment(age, origin, rng)
    hours = _hours(employment, sex, rng)
    income = _income(age=age, education=education, hours=hours, sex=sex, origin=origin, rng=rng)
    prior = rng.poisson(0.8 + 0.8 * (employment == EMPLOYMENT.index("unemployed")), number)
    repaid = rng.random(number) < _repayment(income, employment, prior)
    unknown = rng.random(number) < 0.02
    return pa.table(
        {
            PERSON_KEY: [f"{prefix}-{person}" for person in range(1, number + 1)],
            "age": age,
            "education": _named(education, EDUCATION),
            "employment": _named(employment, EMPLOYMENT),
            "hours_per_week": hours,
            "income": pa.array(income.round(2), mask=unknown),
            "household": _named(_household(age, rng), HOUSEHOLD),
            "region": _named(rng.choice(8, number, p=[0.08, 0.08, 0.1, 0.12, 0.14, 0.1, 0.2, 0.18]), REGION),
            "prior_applications": prior,
            "sex": _named(sex, SEX),
            "origin": _named(origin, ORIGIN),
            "repaid": repaid,
        }
    )


def _employment(age: Codes, origin: Codes, rng: np.random.Generator) -> Codes:
    """Indices in EMPLOYMENT: retired from 67, more students below 25, more unemployed among migrants."""
    chance = rng.random(len(age))
    unemployed = 0.06 + 0.07 * (origin == 2)
    codes = np.where(chance < unemployed, 2, np.where(chance < unemployed + 0.12, 1, 0))
    codes = np.where((age < 25) & (rng.random(len(age)) < 0.45), 3, codes)
    return np.where(age >= 67, 4, codes).astype(np.int64)


def _hours(employment: Codes, sex: Codes, rng: np.random.Generator) -> Codes:
    """Paid hours a week, within [0, 80]: none for the unemployed and the retired, more part-time work among women."""
    mean = np.where(employment == 3, 12.0, np.where(sex == 0, 29.0, 37.0))
    hours = np.clip(rng.normal(mean, 7), 4, 80).round()
    return np.where(np.isin(employment, (2, 4)), 0, hours).astype(np.int64)


def _income(
    *, age: Codes, education: Codes, hours: Codes, sex: Codes, origin: Codes, rng: np.random.Generator
) -> Numbers:
    """Yearly income, within [0, 1 000 000]: hours at a wage that rises with schooling and age, above a minimum."""
    wage = 13.0 * np.exp(
        0.17 * education + 0.008 * (np.minimum(age, 55) - 18) - 0.06 * (sex == 0) - 0.16 * (origin == 2)
    )
    earned = 50 * hours * wage * rng.lognormal(0, 0.25, len(age))
    minimum = np.where(age >= 67, 19_000.0, 12_000.0) * rng.lognormal(0, 0.15, len(age))
    return np.asarray(np.clip(earned + minimum * (hours < 16), 0, 1_000_000), dtype=np.float64)


def _repayment(income: Numbers, employment: Codes, prior: Codes) -> Numbers:
    """The chance to pay back, within [0, 1]; it looks at neither sex nor origin."""
    score = 2.2 * np.log(np.maximum(income, 1_000) / 24_000) - 0.7 * (employment == 2) - 0.35 * (prior - 1) + 0.3
    return np.asarray(1 / (1 + np.exp(-score)), dtype=np.float64)


def _household(age: Codes, rng: np.random.Generator) -> Codes:
    """Indices in HOUSEHOLD; the young share more often."""
    old = rng.choice(5, len(age), p=[0.27, 0.08, 0.3, 0.31, 0.04])
    young = rng.choice(5, len(age), p=[0.38, 0.03, 0.15, 0.06, 0.38])
    return np.where(age < 28, young, old)


def _named(codes: Codes, names: tuple[str, ...]) -> pa.Array:
    return pa.array(np.array(names, dtype=object)[codes], pa.string())
