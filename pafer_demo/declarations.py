"""What a holder declares about the three public data sets: domains from their documentation, not from the records.

Sex and ethnicity are binary, as in the paper (1-method §5): male or not, White or not. The privileged
value stands first in its column.
"""

from typing import Final

from shared.contract.datasets import DatasetDeclaration
from shared.contract.schema import Column

PERSON_KEY: Final = "person"


def category(name: str, categories: str) -> Column:
    """A column of categories, written with blanks between them."""
    return Column(name=name, type="category", categories=tuple(categories.split()))


def integer(name: str, minimum: int, maximum: int) -> Column:
    """A column of whole numbers with a declared range, both ends included."""
    return Column(name=name, type="integer", minimum=minimum, maximum=maximum)


def sensitive(name: str, privileged: str) -> Column:
    """A binary sensitive column: the privileged value, then everybody else."""
    return Column(name=name, type="category", categories=(privileged, f"non-{privileged}"), sensitive=True)


def label(name: str) -> Column:
    """The column of true outcomes, true where the outcome is favourable."""
    return Column(name=name, type="boolean", label=True)


ADULT: Final = DatasetDeclaration(
    person_key=PERSON_KEY,
    columns=(
        integer("age", 0, 120),
        category(
            "workclass",
            "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
        ),
        category(
            "education",
            "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th "
            "10th Doctorate 5th-6th Preschool",
        ),
        integer("education-num", 1, 16),
        category(
            "marital-status",
            "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
        ),
        category(
            "occupation",
            "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
            "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
            "Armed-Forces",
        ),
        category("relationship", "Wife Own-child Husband Not-in-family Other-relative Unmarried"),
        integer("capital-gain", 0, 99_999),
        integer("capital-loss", 0, 99_999),
        integer("hours-per-week", 0, 168),
        category(
            "native-country",
            "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece "
            "South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France "
            "Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
            "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
        ),
        sensitive("sex", "male"),
        sensitive("ethnicity", "White"),
        label("income_high"),
    ),
)

COMPAS: Final = DatasetDeclaration(
    person_key=PERSON_KEY,
    columns=(
        category("c_charge_degree", "F M"),
        category("score_text", "Low Medium High"),
        integer("priors_count", 0, 100),
        integer("days_b_screening_arrest", -30, 30),
        integer("decile_score", 1, 10),
        integer("in_custody_year", 2000, 2030),
        integer("out_custody_year", 2000, 2030),
        sensitive("sex", "male"),
        sensitive("ethnicity", "White"),
        label("no_recidivism"),
    ),
)

GERMAN: Final = DatasetDeclaration(
    person_key=PERSON_KEY,
    columns=(
        category("checking_account", "A11 A12 A13 A14"),
        integer("duration", 0, 120),
        category("credit_history", "A30 A31 A32 A33 A34"),
        category("purpose", "A40 A41 A42 A43 A44 A45 A46 A47 A48 A49 A410"),
        integer("credit_amount", 0, 1_000_000),
        category("savings", "A61 A62 A63 A64 A65"),
        category("employment_since", "A71 A72 A73 A74 A75"),
        integer("instalment_rate", 0, 100),
        category("marital_status", "separated separated-or-married single married-or-widowed"),
        category("other_debtors", "A101 A102 A103"),
        integer("residence_since", 0, 120),
        category("property", "A121 A122 A123 A124"),
        integer("age", 0, 120),
        category("other_instalments", "A141 A142 A143"),
        category("housing", "A151 A152 A153"),
        integer("existing_credits", 0, 100),
        category("job", "A171 A172 A173 A174"),
        integer("dependants", 0, 100),
        category("telephone", "A191 A192"),
        sensitive("sex", "male"),
        sensitive("ethnicity", "White"),
        label("good_credit"),
    ),
)
