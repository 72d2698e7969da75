"""A register of people who never lived, as a spreadsheet in German writes it, and what an auditor has of such ones."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PEOPLE: Final = 4000
DEPARTMENTS: Final = ("Verkauf", "Lager", "Büro")
EXCEL: Final = ("--delimiter", ";", "--decimal", ",", "--encoding", "cp1252", "--true", "WAHR", "--false", "FALSCH")
DECLARATION: Final = """{
  "person_key": "Personalnummer",
  "cap": {"epsilon": "4"},
  "records_max": 10000,
  "columns": [
    {"name": "Alter", "type": "integer", "minimum": 16, "maximum": 75},
    {"name": "Einkommen", "type": "number", "minimum": 0, "maximum": 100000},
    {"name": "Abteilung", "type": "category", "categories": ["Verkauf", "Lager", "Büro"]},
    {"name": "Geschlecht", "type": "category", "categories": ["w", "m"], "sensitive": true},
    {"name": "befördert", "type": "boolean", "label": true}
  ]
}
"""
TRAINING: Final = """
import pandas as pd, skops.io
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

people = pd.read_csv("applicants.csv")
features = ["Alter", "Einkommen", "Abteilung"]
encode = make_column_transformer((OneHotEncoder(), ["Abteilung"]), remainder="passthrough")
for name, depth in (("model", 3), ("newer", 2)):
    model = make_pipeline(encode, DecisionTreeClassifier(max_depth=depth, min_samples_leaf=40, random_state=0))
    skops.io.dump(model.fit(people[features], people["eingestellt"]), f"{name}.skops")
"""
"""How the employer trained two models: on people of its own, whose sex it did not record."""


def _people(seed: int) -> Iterator[tuple[int, float, str, str, bool]]:
    """Age, income, department, sex, promoted: women earn less, and what is decided by income meets them."""
    draw = random.Random(seed)
    for _ in range(PEOPLE):
        sex = draw.choice("wm")
        income = round(draw.gauss(4200 if sex == "w" else 5200, 900), 2)
        yield draw.randint(18, 65), max(income, 1500.0), draw.choice(DEPARTMENTS), sex, draw.random() < income / 9000


def write_excel(path: Path) -> None:
    """The holder's register as Excel writes it in German."""
    lines = ["Personalnummer;Alter;Einkommen;Abteilung;Geschlecht;befördert"]
    for number, (age, income, department, sex, promoted) in enumerate(_people(1)):
        amount = f"{income:.2f}".replace(".", ",")
        lines.append(f"P{number:05};{age};{amount};{department};{sex};{'WAHR' if promoted else 'FALSCH'}")
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode("cp1252"))


def write_applicants(path: Path) -> None:
    """What the employer trained on: other people, without sex."""
    draw = random.Random(3)
    lines = ["Alter,Einkommen,Abteilung,eingestellt"]
    for age, income, department, *_ in _people(2):
        points = income + 60 * (age - 40) + 600 * (department == "Büro") + draw.gauss(0, 400)
        lines.append(f"{age},{income},{department},{points > 4700}")
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_decisions(path: Path) -> None:
    """Decisions about half of the register's people as Excel writes them in German: women are refused more often."""
    draw = random.Random(5)
    lines = ["Personalnummer;Entscheid;Punkte"]
    for number, (_, income, _, sex, _) in enumerate(_people(1)):
        if draw.random() < 0.5:
            granted = draw.random() < (0.4 if sex == "w" else 0.8)
            lines.append(
                f"P{number:05};{'gewährt' if granted else 'abgelehnt'};{f'{income / 100:.1f}'.replace('.', ',')}"
            )
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode("cp1252"))
