"""That the sentence of an audit says what pandas counts in the register: which group gets the outcome less often, at
which ratio, with which rates, among how many people; for models of several makers, both codings of every kind of
classes, and declared and linked columns. Nothing is guessed: without the outcome every way of asking asks for it.
"""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
import skops.io
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.audits.result import AuditResult
from auditor_client.cli import app
from auditor_client.errors import OutcomeNotNamed
from testing.holders import TestedHolder, running_holder
from testing.registers import register_csv

pytestmark = [pytest.mark.usefixtures("coarse_chances"), pytest.mark.statistical]

PEOPLE: Final = 3000
FEATURES: Final = ["age", "hours"]
CODINGS: Final[dict[str, tuple[Any, Any]]] = {
    "0 and 1": (0, 1),
    "-1 and 1": (-1, 1),
    "booleans": (False, True),
    "texts": ("bad", "good"),
}
MAKERS: Final[dict[str, Callable[[], Any]]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "logistic": lambda: make_pipeline(SimpleImputer(), LogisticRegression(max_iter=1000)),
    "LightGBM": lambda: LGBMClassifier(n_estimators=5, num_leaves=4, verbose=-1),
}
_SENTENCE: Final = re.compile(
    r"[Tt]he share with (?:the|a) .*? is ([\d.]+) % in the group “(\w+)” and ([\d.]+) % in the group “(\w+)”: "
    r"a ratio of ([\d.]+) %"
)
_ADVERSE: Final = re.compile(
    r"times the lowest.*? the highest estimate is that of the group “(\w+)” .*? the lowest that of the group “(\w+)”"
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The records that the holder has: men are older, so that a model of age treats the groups differently."""
    records = pd.read_csv(io.BytesIO(register_csv(people=PEOPLE)))
    younger = (records["sex"] == "Female") & (records["age"] > 60) & (records.index % 3 > 0)
    records.loc[younger, "age"] -= 60
    return records.assign(hours=records["hours"].fillna(20.0).round(2))


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="100") as tested:
        assert tested.load(people.to_csv(index=False).encode()).status_code in (200, 201)
        yield tested


@pytest.fixture(scope="module")
def auditor(holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Auditor]:
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path_factory.mktemp("auditor") / "receipts") as auditor:
        yield auditor


def fitted(maker: str, coding: str) -> Any:
    """A model of other people: its second class is that of people over 45."""
    others = pd.read_csv(io.BytesIO(register_csv(people=800, seed=7))).dropna(subset=["hours"])
    worse, better = CODINGS[coding]
    labels = np.where(others["age"] + others["hours"] / 10 > 45, better, worse)
    return MAKERS[maker]().fit(others[FEATURES], labels)


def says_what_pandas_counts(text: str, people: pd.DataFrame, favourable: "pd.Series[bool]") -> bool:
    """Whether an audit's text agrees with the register in direction, groups, ratio, rates and number of people.

    At ε = 2 each of 4 counts is off by more than 12 people with a chance of 2·e^(−26)/(1 + e^(−2)) < 10⁻¹¹: of groups
    of 1 400 people with rates above 0.25 a rate is then off by less than 0.02, and a ratio by less than 0.1.
    """
    text = text.replace("\N{NARROW NO-BREAK SPACE}", " ")
    rates = favourable.groupby(people["sex"]).mean()
    found = _SENTENCE.search(text)
    if found is None or (found[2], found[4]) != (rates.idxmin(), rates.idxmax()):
        return False
    table = text.partition("\nStatistical parity\n")[2].partition("\n\n")[0] or text
    shown = {group: float(rate) / 100 for group, rate in re.findall(r"(?m)^  (Female|Male) +([\d.]+) %", table)}
    adverse = _ADVERSE.search(text)  # said too, where nobody says which kind of decision it is
    return (
        abs(float(found[5]) / 100 - rates.min() / rates.max()) < 0.1
        and abs(float(found[1]) / 100 - rates.min()) < 0.02
        and abs(float(found[3]) / 100 - rates.max()) < 0.02
        and shown.keys() == set(rates.index)
        and all(abs(shown[group] - rates[group]) < 0.02 for group in shown)
        and (adverse is None or (adverse[1], adverse[2]) == (rates.idxmin(), rates.idxmax()))
    )


def counted(result: AuditResult) -> tuple[float, float]:
    """Between which numbers the report says that the number of people lies."""
    [text] = [
        fact.text for fact in result.view.data.question if fact.term in ("People counted", "People with a decision")
    ]
    low, high = re.findall(r"(?:interval|to) ([\d ]+\d)", text.replace("\N{NARROW NO-BREAK SPACE}", " "))
    return float(low.replace(" ", "")), float(high.replace(" ", ""))


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("second", [False, True])
def test_the_sentence_about_a_model_is_what_pandas_counts(
    auditor: Auditor, people: pd.DataFrame, maker: str, coding: str, second: bool
) -> None:
    model, outcome = fitted(maker, coding), CODINGS[coding][second]
    with pytest.raises(OutcomeNotNamed, match="good outcome for the person"):
        auditor.audit(model, "register", ["sex"], "2")

    result = auditor.audit(model, "register", ["sex"], "2", favourable=outcome)

    favourable = pd.Series(model.predict(people[FEATURES]) == outcome)
    assert says_what_pandas_counts(result.summary(), people, favourable)
    assert not says_what_pandas_counts(result.summary(), people, ~favourable), "the negative control"
    low, high = counted(result)
    assert low - 48 <= PEOPLE <= high + 48
    assert f"“{str(outcome).lower() if coding == 'booleans' else outcome}”" in result.view.data.headline.replace(
        str(outcome), str(outcome).lower() if coding == "booleans" else str(outcome)
    )


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["booleans", "texts"])
@pytest.mark.parametrize("second", [False, True])
def test_the_sentence_about_a_column_is_what_pandas_counts(
    auditor: Auditor, people: pd.DataFrame, linked: bool, kind: str, second: bool
) -> None:
    if linked:
        some = people[people.index % 4 > 0]
        value = (
            some["age"] > 45 if kind == "booleans" else pd.Series(np.where(some["age"] > 45, "no", "yes"), some.index)
        )
        column = f"linked-{kind}"
        auditor.link(pd.DataFrame({"id": some["id"], column: value}), "register", name=column)
    else:
        some, column = people, "citizen" if kind == "booleans" else "education"
        value = some[column]
    outcome = sorted(value.unique())[second]
    name = str(outcome).lower() if kind == "booleans" else outcome
    asked: dict[str, Any] = {"dataset": "register", "sensitive": ["sex"], "epsilon": "2", "decision": column}
    with pytest.raises(OutcomeNotNamed, match="good outcome for the person"):
        auditor.audit(**asked)

    result = auditor.audit(**asked, favourable=name, favourable_word="chosen")

    apart = (value == outcome).groupby(some["sex"]).mean()
    if apart.max() - apart.min() > 0.05:  # else the noise may choose the direction
        assert says_what_pandas_counts(result.summary(), some, value == outcome)
    low, high = counted(result)
    assert low - 48 <= len(some) <= high + 48
    assert "the decision “chosen”" in result.view.data.headline
    shown = {"true": "yes", "false": "no"}.get(name, name)
    assert f"is {shown})" in result.view.data.headline


def test_every_command_asks_for_the_outcome(
    holder: TestedHolder, auditor: Auditor, people: pd.DataFrame, tmp_path: Path
) -> None:
    model = tmp_path / "default.skops"
    skops.io.dump(fitted("tree", "0 and 1"), model)
    reached = {"AUDITOR_HOLDER_URL": holder.url, "AUDITOR_API_KEY": holder.auditor_key}
    receipts = ["--receipts", str(tmp_path / "receipts")]
    asked = [str(model), "--dataset", "register", "--sensitive", "sex", "--epsilon", "2"]
    spent = auditor.budget("register").spent

    for command in (["plan", *asked], ["audit", *asked, *receipts], ["compare", str(model), *asked, *receipts]):
        refused = CliRunner().invoke(app, command, env=reached)
        assert refused.exit_code == 2, refused.output
        said = " ".join(refused.output.split())
        assert "The model predicts 0 or 1. Which of them is the good outcome for the person?" in said
        assert "--favourable 1" in said
    assert auditor.budget("register").spent == spent

    audited = CliRunner().invoke(app, ["audit", *asked, *receipts, "--favourable", "0"], env=reached)
    assert audited.exit_code == 0, audited.output
    repaid = pd.Series(fitted("tree", "0 and 1").predict(people[FEATURES]) == 0)
    assert says_what_pandas_counts(audited.stdout, people, repaid)
    history = CliRunner().invoke(app, ["history", str(tmp_path / "receipts")])
    assert "default.skops" in history.output
    assert "the prediction “0”" in history.output
