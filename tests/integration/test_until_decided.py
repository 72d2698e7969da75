"""Audits that look until their verdict is decided: what they cost and rest on, what they say, what is refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from auditor_client import Auditor, AuditResult, Verdict
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.cli import app
from auditor_client.errors import QuestionRefused
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasting import expectation
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import FOUR_LEAVES
from tests.contract.audits import declare, invented_people

NewAuditor = Callable[..., Auditor]

ASKED: dict[str, Any] = {"model": FOUR_LEAVES, "dataset": "loans", "sensitive": "sex", "threshold": 0.5}
LONG: dict[str, Any] = {**ASKED, "epsilon": "1", "until_decided": True, "first_look": "0.005"}
"""Undecided at the first look, where noise is larger than the groups, and decided long before the last."""
HOPELESS: dict[str, Any] = {**ASKED, "epsilon": "0.008", "until_decided": True, "first_look": "0.002"}
"""Undecided at every look."""
TRIES: Final = 5
"""Large noise decides by itself what is to be left open: each look in fewer than one of 50 audits (12 of 501 by ρ =
0.00004, 4 of 506 by ε = 0.008, none of 354 by ε = 0.005 were simulated), an audit's looks together in fewer than one of
20. Noise of five accounts is independent: all do so with a chance below 10⁻⁶.
"""


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="50") as tested:
        declare(tested, invented_people())
        yield tested


def account(holder: TestedHolder, tmp_path: Path, number: int = 0) -> NewAuditor:
    """Auditors of one of the accounts of a test's own, with one receipts directory."""
    name = f"{tmp_path.name.replace('_', '-')[:60]}-{number}"
    key = holder.open_auditor(name, epsilon="2", dataset="loans")
    assert holder.admin("PUT", f"/datasets/monthly/budgets/{name}", json={"rho": "0.1"}).is_success

    def made(**more: Any) -> Auditor:
        return Auditor(str(holder.client.base_url), key, receipts=tmp_path / str(number) / "receipts", **more)

    return made


@pytest.fixture
def accounts(holder: TestedHolder, tmp_path: Path) -> Iterator[NewAuditor]:
    """So many accounts as a test may try one after the other."""
    return (account(holder, tmp_path, number) for number in range(1, TRIES + 1))


@pytest.fixture
def auditor(holder: TestedHolder, tmp_path: Path) -> Iterator[Auditor]:
    with account(holder, tmp_path)() as auditor:
        yield auditor


@contextmanager
def audited(
    accounts: Iterator[NewAuditor], wanted: Callable[[AuditResult], bool], asked: dict[str, Any]
) -> Iterator[tuple[Auditor, AuditResult]]:
    """The first of the accounts whose audit comes out as wanted, and that audit."""
    for new_auditor in accounts:
        with new_auditor() as auditor:
            found = auditor.audit(**asked)
            if wanted(found):
                yield auditor, found
                return
    pytest.fail("no account's audit comes out so")


def decided_later(found: AuditResult) -> bool:
    """Whether the first look left open what is true."""
    return found.look != 1 and found.verdict is Verdict.MEETS


def still_open(found: AuditResult) -> bool:
    """Whether no look decided."""
    return found.open


def spent(auditor: Auditor, dataset: str = "loans") -> str:
    loss = auditor.budget(dataset).spent.document()
    return loss.get("rho", loss["epsilon"])


@pytest.mark.slow
def test_looks_end_when_the_verdict_is_decided_and_cost_what_the_last_loses(
    accounts: Iterator[NewAuditor], tmp_path: Path
) -> None:
    with audited(accounts, decided_later, LONG) as (auditor, found):
        looks, number = found.reading.looks, found.look

        assert found.verdict is Verdict.MEETS
        assert looks is not None
        assert number is not None
        assert 1 < number < len(looks.amounts) == 9
        assert found.release.loss == looks.losses[number - 1]
        assert auditor.budget("loans").spent == looks.losses[number - 1]
        assert [len(found.stored.answers), found.release.charge] == [1, looks.steps[number - 1]]
        assert found.ratio.level == pytest.approx(1 - 0.05 / 9)

        again = auditor.audit(**LONG)

        assert again.ratio == found.ratio
        assert auditor.budget("loans").spent == looks.losses[number - 1]
        kept = auditor.history()
        assert [(one.look, one.open) for one in kept] == [(n, n < number) for n in range(1, number + 1)]
        assert auditor.verify().ok
        assert check_bundle(write_bundle(tmp_path / "bundle.zip", list(kept), auditor.receipts)).ok


@pytest.mark.slow
def test_a_plan_says_what_each_look_would_cost_and_show_at_its_own_level(auditor: Auditor, tmp_path: Path) -> None:
    """The planted fault reads every look at the level of all together, whose intervals are narrower."""
    asked = {**LONG, "people": 400, "ratio": 0.9, "first_look": "0.01"}
    planned = auditor.plan(**asked)
    looks, found = planned.forecast.reading.looks, planned.forecast.looks
    assert looks is not None

    alone = expectation(planned.question, reading=Reading(threshold=0.5, level=looks.each))
    document = planned.to_document()["looks"]

    assert [one.asked for one in found] == list(looks.losses)
    assert (planned.expectation, found[-1].width) == (found[-1], alone.width)
    assert [one.width for one in found] == sorted((one.width for one in found), reverse=True)
    rows = planned.view.data.looks
    assert [int(rows[0].decided) < 10, int(rows[-1].decided) > 90] == [True, True]
    assert [int(row.decided) for row in rows] == sorted(int(row.decided) for row in rows)
    assert [one["costs"] for one in document["looks"]] == [step.document() for step in looks.steps]
    assert (document["level"], document["each"]) == (0.95, looks.each)
    for shown in (planned.summary(), planned.to_html()):
        assert shown.count(f" = {rows[1].together.rpartition(' ')[2]}") >= 1
        assert "so that all hold together at 95" in shown
    assert (spent(auditor), list((tmp_path / "receipts").glob("looks/*"))) == ("0", [])
    with pytest.raises(QuestionRefused, match="needs a single answer"):
        auditor.plan(**ASKED, target_width=0.1, until_decided=True)
    with pytest.raises(QuestionRefused, match="until_decided` asks a question of its own"):
        auditor.plan(**asked, join=True)


@pytest.mark.slow
def test_reports_say_which_look_it_was_and_that_all_hold_together(accounts: Iterator[NewAuditor]) -> None:
    with audited(accounts, still_open, HOPELESS) as (auditor, found):
        assert (found.look, found.open, spent(auditor)) == (3, True, "0.008")
        said = (
            "Still undecided at interim look 3 of at most 3. The looks so far cost ε = 0.008 together. All losses, "
            "ε = 0.002; 0.004; 0.008, were fixed before the first answer."
        )
        assert said in found.summary()
        assert said in found.to_html()
        assert "have a level of 98.33 %" in found.to_html().replace("\N{NARROW NO-BREAK SPACE}", " ")
        assert found.to_document()["look"] == 3
        assert "look 2 of at most 3" in auditor.history().summary()


def test_whoever_is_interrupted_goes_on_and_pays_nothing_twice(accounts: Iterator[NewAuditor]) -> None:
    def interrupt(step: str) -> None:
        if step.startswith("Look 2"):
            raise KeyboardInterrupt

    def interrupted(new_auditor: NewAuditor) -> bool:
        """Whether there was a second look to be interrupted at."""
        with new_auditor(on_step=interrupt) as first, suppress(KeyboardInterrupt):
            first.audit(**HOPELESS)
            return False
        return True

    said: list[list[str]] = []

    def second(new_auditor: NewAuditor) -> Auditor:
        said.append([])
        made = new_auditor(on_step=said[-1].append)
        assert spent(made) == "0.002"
        return made

    going_on = (partial(second, new_auditor) for new_auditor in accounts if interrupted(new_auditor))
    with audited(going_on, still_open, HOPELESS) as (auditor, found):
        assert (found.look, spent(auditor)) == (3, "0.008")
        assert auditor.verify().ok
    steps = said[-1]
    [shown] = [step for step in steps[: steps.index("Asking for the price")] if step.startswith("Looking up to 3")]
    assert "ε = 0.002; 0.004; 0.008, which is the most that they cost together; each at 98.33" in shown


def test_looks_that_are_chosen_after_an_answer_are_refused(auditor: Auditor) -> None:
    auditor.audit(**HOPELESS)
    auditor.audit(**ASKED, epsilon="0.01")
    before = spent(auditor)

    with pytest.raises(QuestionRefused, match=r"They were settled at ε = 0\.002; 0\.004; 0\.008"):
        auditor.audit(**{**HOPELESS, "epsilon": "0.064"})
    with pytest.raises(QuestionRefused, match="answered before these looks were settled"):
        auditor.audit(**{**HOPELESS, "epsilon": "0.04", "first_look": "0.01"})

    assert spent(auditor) == before
    assert 3 in (auditor.audit(**{**HOPELESS, "draw": draw}).look for draw in range(2, 2 + TRIES))


def test_in_an_account_of_rho_looks_are_further_draws_read_together(
    accounts: Iterator[NewAuditor], tmp_path: Path
) -> None:
    asked = {**ASKED, "dataset": "monthly", "rho": "0.05", "until_decided": True, "first_look": "0.00002"}

    with audited(accounts, decided_later, asked) as (auditor, found):
        looks, number = found.reading.looks, found.look

        assert found.verdict is Verdict.MEETS
        assert looks is not None
        assert number is not None
        assert number > 1
        assert [answer.release.plan.draw for answer in found.stored.answers] == [number, *range(1, number)]
        assert auditor.budget("monthly").spent.rho_nano == looks.amounts[number - 1]
        assert auditor.audit(**asked).ratio == found.ratio
        assert auditor.budget("monthly").spent.rho_nano == looks.amounts[number - 1]
        assert "use the answers of this look and of all earlier ones" in found.to_html()
        assert check_bundle(write_bundle(tmp_path / "bundle.zip", [found], auditor.receipts)).ok


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an answer to refine": ({"refines": "sha256:" + "0" * 64}, "leave `refines` out"),
    "answers to join": ({"join": True}, "leave `join` out"),
    "noise that is not refined": ({"mechanism": "gaussian"}, "cannot be refined"),
    "ε where ρ is added up": ({"dataset": "monthly"}, "as `rho`"),
    "what is free": ({"dataset": "survey", "epsilon": None}, "costs nothing"),
    "no verdict": ({"metrics": "equal-opportunity", "threshold": None}, "no verdict"),
    "no intervals": ({"estimator": "plug-in"}, "gives no verdict"),
    "more than is left": ({"epsilon": "2.5"}, "may cost ε = 2.5, and ε = 2 is left"),
    "a first look below the least": ({"first_look": "0.0001"}, "epsilon must lie between"),
}


def test_what_cannot_be_looked_at_repeatedly_is_refused_before_anything_is_spent(auditor: Auditor) -> None:
    for changes, message in REFUSED.values():
        with pytest.raises(QuestionRefused, match=message):
            auditor.audit(**{**HOPELESS, **changes})

    assert (spent(auditor), spent(auditor, "monthly")) == ("0", "0")
    assert not (auditor.receipts.directory / "looks").exists()


def test_the_command_looks_until_it_is_decided(
    holder: TestedHolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = invented_people().dropna()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(people[["age", "hours"]], people["repaid"])
    skops.io.dump(model, tmp_path / "model.skops")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUDITOR_HOLDER_URL", str(holder.client.base_url))
    command = "audit model.skops --dataset loans --sensitive sex --epsilon 0.008 "
    command += "--until-decided --first-look 0.002 --favourable true"

    for number in range(TRIES):
        key = holder.open_auditor(f"until-decided-command-{number}", epsilon="1", dataset="loans")
        monkeypatch.setenv("AUDITOR_API_KEY", key)
        ran = CliRunner().invoke(app, command.split())
        assert ran.exit_code == 0, ran.output
        if "Still undecided" in ran.stdout:
            break

    assert "Still undecided at interim look 3 of at most 3." in ran.stdout
    assert "Look 3 of at most 3, for ε = 0.004" in ran.stderr
