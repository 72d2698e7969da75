"""That the sentence of an audit says what pandas counts in the register: which group gets the outcome less often, at
which ratio, with which rates, among how many people; for models of several makers, both codings of every kind of
classes, and declared and linked columns, through Python, the command line and the desk. Nothing is guessed: without the
outcome every way of asking asks for it.
"""

import html
import io
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import pandas as pd
import pytest
import skops.io
import uvicorn
from lightgbm import LGBMClassifier
from pydantic import SecretStr
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.cli import app
from auditor_client.desk.app import create_desk
from auditor_client.desk.desk import Desk
from auditor_client.errors import OutcomeNotNamed
from auditor_client.settings import AuditorSettings
from testing.holders import TestedHolder, listening, running_holder
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
_PEOPLE: Final = re.compile(
    r"People (?:counted|with a decision): about ([\d ]+) \(95 % interval ([\d ]+) to ([\d ]+)\)"
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
    rows = re.findall(r"(?m)^ +(Female|Male)\b[a-z ]* ([\d.]+) %", text)  # the adverse rates come after them
    shown = {group: float(rate) / 100 for group, rate in reversed(rows)}
    adverse = _ADVERSE.search(text)  # said too, where nobody says which kind of decision it is
    return (
        abs(float(found[5]) / 100 - rates.min() / rates.max()) < 0.1
        and abs(float(found[1]) / 100 - rates.min()) < 0.02
        and abs(float(found[3]) / 100 - rates.max()) < 0.02
        and shown.keys() == set(rates.index)
        and all(abs(shown[group] - rates[group]) < 0.02 for group in shown)
        and (adverse is None or (adverse[1], adverse[2]) == (rates.idxmin(), rates.idxmax()))
    )


def says_how_many(text: str, number: int) -> bool:
    """Whether an audit's text says a number of people, and an interval, that have the true number.

    The four counts are off by 12 people each at most, as above.
    """
    ends = _PEOPLE.search(text.replace("\N{NARROW NO-BREAK SPACE}", " "))
    if ends is None:
        return False
    about, low, high = (int(end.replace(" ", "")) for end in ends.groups())
    return low - 48 <= number <= high + 48 and abs(about - number) <= 48


@dataclass(frozen=True)
class Way:
    """A way of asking: gives an audit's text, or the refusal's; `asked` is by the names of the flags."""

    of_model: Callable[[Path, Mapping[str, str]], str]
    of_column: Callable[[str, Mapping[str, str]], str]


def by_command(holder: TestedHolder, receipts: Path) -> Way:
    """`auditor audit`, and what it prints."""
    reached = {"AUDITOR_HOLDER_URL": holder.url, "AUDITOR_API_KEY": holder.auditor_key}
    always = ["--dataset", "register", "--sensitive", "sex", "--epsilon", "2", "--receipts", str(receipts)]

    def ask(first: list[str], asked: Mapping[str, str]) -> str:
        flags = [part for name, value in asked.items() for part in (f"--{name.replace('_', '-')}", value)]
        ended = CliRunner().invoke(app, ["audit", *first, *always, *flags], env=reached)
        assert ended.exit_code == (0 if "favourable" in asked else 2), ended.output
        return ended.output

    return Way(lambda model, asked: ask([str(model)], asked), lambda column, asked: ask(["--decision", column], asked))


def by_desk(desk: Desk, browser: httpx.Client) -> Way:
    """The desk's forms, and its page about the audit together with the report."""
    root, token = desk.door.root, {"form_token": desk.door.form_token}

    def sent(path: str, typed: Mapping[str, str], **files: Any) -> httpx.Response:
        page = browser.post(path, data={**token, **typed}, **files)
        while "/tasks/" in str(page.url):
            time.sleep(0.02)
            page = browser.get(page.url)
        return page

    def ask(typed: Mapping[str, str], asked: Mapping[str, str], **files: Any) -> str:
        question = sent(f"{root}/new", {"dataset": "register", **typed}, **files).url
        boxes = re.findall(r'name="favourable" value="([^"]*)"', browser.get(question).text)
        assert len(boxes) > 1, "the outcomes are there to choose from"
        planned = sent(str(question), {"sensitive": "sex", "metrics": "statistical-parity", "epsilon": "2", **asked})
        if "favourable" not in asked:
            return lines(planned.text)
        assert asked["favourable"] in boxes
        audit = sent(f"{question.copy_with(fragment=None)}/ask", {"epsilon": "2"})
        assert "/audits/" in str(audit.url), lines(audit.text)
        return lines(audit.text) + lines(browser.get(f"{audit.url}/report").text)

    def lines(page: str) -> str:
        """The text of a page, where the rows of tables and the terms of lists are lines, as on a terminal."""
        body = re.sub(r"\s+", " ", page.partition("<body")[2])
        body = re.sub(r"</dt> *<dd[^>]*>", ": ", re.sub(r"<(?:tr|p|h\d|dt|li|caption)\b", "\n  <", body))
        return "\n".join(
            re.sub(r" +", " ", line).rstrip() for line in html.unescape(re.sub(r"<[^>]*>", "", body)).split("\n")
        )

    return Way(
        lambda model, asked: ask({}, asked, files={"model": (model.name, model.read_bytes())}),
        lambda column, asked: ask({"decision": column}, asked),
    )


@pytest.fixture(scope="module")
def ways(holder: TestedHolder, auditor: Auditor) -> Iterator[dict[str, Way]]:
    """The ways of asking besides Python, with its receipts: these know the names of linked columns."""
    receipts = auditor.receipts.directory
    settings = AuditorSettings(holder_url=holder.url, api_key=SecretStr(holder.auditor_key), receipts=receipts)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        desk = Desk(settings, listener.getsockname()[1])
        config = uvicorn.Config(create_desk(desk), log_level="warning", access_log=False)
        cookies = {"desk": str(desk.door._session)}
        with (
            listening(config, listener=listener) as url,
            httpx.Client(base_url=url, timeout=60, cookies=cookies, follow_redirects=True) as browser,
        ):
            yield {"command": by_command(holder, receipts), "desk": by_desk(desk, browser)}


def saved(model: Any, folder: Path) -> tuple[Path, bool]:
    """A model's file, and whether it has the names of the classes: a booster's own has their numbers alone."""
    if isinstance(model, LGBMClassifier):
        model.booster_.save_model(folder / "model.txt")
        return folder / "model.txt", False
    skops.io.dump(model, folder / "model.skops")
    return folder / "model.skops", True


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("second", [False, True])
def test_the_sentence_about_a_model_is_what_pandas_counts(
    auditor: Auditor,
    ways: dict[str, Way],
    people: pd.DataFrame,
    *,
    tmp_path: Path,
    maker: str,
    coding: str,
    second: bool,
) -> None:
    model, outcome = fitted(maker, coding), CODINGS[coding][second]
    favourable = pd.Series(model.predict(people[FEATURES]) == outcome)
    file, has_names = saved(model, tmp_path)
    name = (str(outcome).lower() if coding == "booleans" else str(outcome)) if has_names else str(int(second))
    with pytest.raises(OutcomeNotNamed, match="good outcome for the person"):
        auditor.audit(model, "register", ["sex"], "2")

    result = auditor.audit(model, "register", ["sex"], "2", favourable=outcome)
    texts = {way: asking.of_model(file, {"favourable": name}) for way, asking in ways.items()}

    assert f"“{outcome}”" in result.view.data.headline
    for way, text in {"Python": result.summary(), **texts}.items():
        assert says_what_pandas_counts(text, people, favourable), (way, text)
        assert not says_what_pandas_counts(text, people, ~favourable), "the negative control"
        assert says_how_many(text, PEOPLE), (way, text)
        assert not says_how_many(text, PEOPLE - 100), "the negative control"
        assert f"“{outcome if has_names or way == 'Python' else name}”" in text


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["booleans", "texts"])
@pytest.mark.parametrize("second", [False, True])
def test_the_sentence_about_a_column_is_what_pandas_counts(
    auditor: Auditor, ways: dict[str, Way], people: pd.DataFrame, *, linked: bool, kind: str, second: bool
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

    named: dict[str, Any] = {"favourable": name, "favourable_word": "chosen"}
    result = auditor.audit(**asked, **named)
    texts = {way: asking.of_column(column, named) for way, asking in ways.items()}

    apart = (value == outcome).groupby(some["sex"]).mean()
    shown = {"true": "yes", "false": "no"}.get(name, name)
    for way, text in {"Python": result.summary(), **texts}.items():
        if apart.max() - apart.min() > 0.05:  # else the noise may choose the direction
            assert says_what_pandas_counts(text, some, value == outcome), (way, text)
        assert says_how_many(text, len(some)), (way, text)
        assert "the decision “chosen”" in text
        assert f"is {shown})" in text


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
