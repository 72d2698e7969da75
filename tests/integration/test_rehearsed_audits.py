"""`auditor rehearse` and all that comes of a rehearsal: each page, file, text and receipt says that it is one."""

import json
import socket
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx
import matplotlib as mpl
import pytest
import uvicorn
from pydantic import SecretStr
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.comparing import compare_results
from auditor_client.audits.history import kept_audit, stored_history
from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import finding
from auditor_client.cli import app
from auditor_client.desk.app import create_desk
from auditor_client.desk.audits import show_audit
from auditor_client.desk.desk import Desk
from auditor_client.desk.trainings import TrainingDraft
from auditor_client.errors import HolderLied, QuestionRefused
from auditor_client.exchange.receipts import check_receipts
from auditor_client.exchange.verification import require_marked
from auditor_client.report.view import Shown
from auditor_client.settings import AuditorSettings
from auditor_client.tables import budget_table, dataset_table
from shared.kinds.plans import Quote
from testing.holders import TestedHolder, listening, running_holder
from testing.registers import LEARNABLE, learnable_csv
from testing.waits import wait_until

pytestmark = pytest.mark.usefixtures("coarse_chances")

MARKS: Final = {"en": "REHEARSAL", "de": "PROBELAUF", "fr": "RÉPÉTITION", "nl": "OEFENING"}
COLUMNS: Final = {"columns": LEARNABLE["columns"]}


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("rehearsed")) as served:
        served.offer("loans", learnable_csv(), epsilon="20", **COLUMNS)
        marginals = {"sex": [{"value": "Male", "weight": 1}, {"value": "Female", "weight": 2}]}
        invented = {"people": 2000, "seed": "00" * 16, "marginals": marginals}
        assert served.admin("POST", "/datasets/loans/rehearsal", json=invented).status_code == 201
        yield served


@pytest.fixture(scope="module")
def auditor(holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Auditor]:
    receipts = tmp_path_factory.mktemp("auditor") / "receipts"
    with Auditor(holder.url, holder.auditor_key, receipts=receipts) as made:
        yield made


@pytest.fixture(scope="module")
def model() -> DecisionTreeClassifier:
    ages = [[age] for age in range(20, 100)]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(ages, [age > 40 for [age] in ages])
    tree.feature_names_in_ = ["age"]
    return tree


@pytest.fixture(scope="module")
def rehearsed(auditor: Auditor, model: DecisionTreeClassifier) -> AuditResult:
    metrics = ["statistical-parity", "equal-opportunity"]
    return auditor.rehearse(model, "loans", "sex", 2, metrics=metrics, strategy="rules", favourable=[1])


@pytest.fixture(scope="module")
def real(auditor: Auditor, model: DecisionTreeClassifier) -> AuditResult:
    return auditor.audit(model, "loans", "sex", 2, favourable=[1])


def assert_marked(shown: Shown, *, folder: Path) -> None:
    """Text, document, notebook and the page in each language say that it is a rehearsal, before all else."""
    assert shown.summary().startswith("REHEARSAL: All people in this report are invented from the declaration of loans")
    assert "REHEARSAL of loans" in repr(shown)
    assert "REHEARSAL of loans" in shown._repr_html_()
    document = shown.to_document()
    assert next(iter(document)) == "rehearsal"
    assert (document["rehearsal"]["of"], document["rehearsal"]["people"]) == ("loans", 2000)
    for language, mark in MARKS.items():
        page = shown.write_report(folder / f"{language}.html", language=language).read_text()
        assert f"<title>{mark} – " in page, language
        assert page.index(f"<strong>{mark}</strong>") < page.index("<main>")
        assert f'@top-center {{ content: "{mark}"' in page


def test_an_audit_is_marked_and_charges_nothing(holder: TestedHolder, rehearsed: AuditResult, tmp_path: Path) -> None:
    assert_marked(rehearsed, folder=tmp_path)
    text = rehearsed.summary()
    assert "This audit cost: nothing, as a rehearsal; about real people it would cost" in text
    assert "Left of the budget: no limit: it is a rehearsal" in text
    assert "invented from marginals that an administrator published: those of sex" in text
    assert rehearsed.to_document()["charge"] == {"epsilon": "0", "delta": "0"}
    assert rehearsed.release.price.document() == {"epsilon": "2", "delta": "0"}
    assert rehearsed.to_frame().attrs == rehearsed.by_group.attrs == {"rehearsal_of": "loans"}
    mpl.use("agg")
    assert rehearsed.plot().axes[0].get_title(loc="left").startswith("REHEARSAL of loans: ")


def test_an_audit_of_real_people_says_nothing_of_rehearsals(real: AuditResult) -> None:
    texts = real.summary(), real.to_json(), repr(real), real.receipt.read_text()

    assert not any("rehears" in text.lower() for text in texts)
    for page in (real.to_html(), real._repr_html_()):
        assert "REHEARSAL" not in page
        assert "<aside" not in page
    assert real.release.charge.document()["epsilon"] == "2"


def test_a_plan_a_comparison_and_a_mending_are_marked(
    auditor: Auditor, model: DecisionTreeClassifier, rehearsed: AuditResult, tmp_path: Path
) -> None:
    planned = auditor.plan(model, "loans-rehearsal", "sex", 1, people=2000, favourable=[1])
    assert_marked(planned, folder=tmp_path)
    assert "Cost: nothing, as a rehearsal" in planned.summary()
    assert_marked(compare_results(rehearsed, rehearsed), folder=tmp_path)
    mending = auditor.mend(rehearsed, 0.5)
    assert_marked(mending, folder=tmp_path)
    made = json.loads(mending.write_model(tmp_path / "mended.json").read_text())
    assert made["mended"]["rehearsal_of"] == "loans"
    assert "REHEARSAL of loans" in json.dumps(made, ensure_ascii=False)


def test_a_training_its_model_and_a_watch_are_marked(auditor: Auditor, rehearsed: AuditResult, tmp_path: Path) -> None:
    trained = auditor.train("loans-rehearsal", epsilon=1, features=["age=30,50,70", "education"])
    assert_marked(trained, folder=tmp_path)
    assert "Spent: nothing, as a rehearsal" in json.dumps(trained.summary()) + trained.to_html()
    made = json.loads(trained.write_model(tmp_path / "model.json").read_text())
    assert made["trained"]["rehearsal_of"] == "loans"
    assert "REHEARSAL of loans" in json.dumps(made, ensure_ascii=False)
    with pytest.raises(QuestionRefused, match="'loans-rehearsal' is a rehearsal, and the people of 'loans' are real"):
        auditor.train("loans-rehearsal", epsilon=2, features=["education"], audit_on="loans", audit_epsilon=1)

    watched = auditor.watch(rehearsed, 1)
    assert_marked(watched, folder=tmp_path)
    assert "nothing, as a rehearsal" in watched.summary()


def test_a_model_of_a_rehearsal_is_marked_where_real_people_are_audited(holder: TestedHolder, tmp_path: Path) -> None:
    metrics = ["statistical-parity", "equal-opportunity"]
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        trained = auditor.train("loans-rehearsal", epsilon=10, sensitive="sex", features=["age=50"], depth=1)
        file = trained.write_model(tmp_path / "model.json")
        audit = auditor.audit(file, "loans", "sex", 1, metrics=metrics, strategy="rules")
        mended = auditor.mend(audit, 0.1)

    assert audit.question.dataset.rehearsal is None
    assert audit.summary().splitlines()[1].startswith("REHEARSAL: The model was made in a rehearsal of loans")
    assert audit.to_document()["provenance"]["rehearsal_of"] == "loans"
    for language, mark in MARKS.items():
        assert f'<p class="rehearsed" role="note">{mark}: ' in audit.to_html(language=language), language
    again = auditor.history("loans").audits[-1]
    assert again.summary().splitlines()[:3] == audit.summary().splitlines()[:3]
    assert mended.to_model()["mended"]["rehearsal_of"] == "loans"
    settings = AuditorSettings(
        holder_url=holder.url, api_key=SecretStr(holder.auditor_key), receipts=auditor.receipts.directory
    )
    desk = Desk(settings, 1)
    page = show_audit(desk, audit.note.name.removeprefix("sha256:"))
    desk.close()
    assert "REHEARSAL: The model was made in a rehearsal of loans" in bytes(page.body).decode()
    assert "<title>REHEARSAL" not in bytes(page.body).decode(), "the people are real"


def test_receipts_history_and_bundle_keep_them_apart(
    auditor: Auditor, rehearsed: AuditResult, real: AuditResult, tmp_path: Path
) -> None:
    receipt = json.loads(rehearsed.receipt.read_text())
    assert (receipt["rehearsal"]["of"], receipt["dataset"]) == ("loans", "loans-rehearsal")
    checked = auditor.verify()
    assert checked.ok
    assert {row[1] for row in checked.table.rows} == {"loans", "loans-rehearsal (REHEARSAL)"}
    assert check_receipts(auditor.receipts, None).ok

    assert {one.release.dataset for one in auditor.history()} == {"loans"}
    assert not auditor.history().trainings
    assert_marked(auditor.history("loans-rehearsal"), folder=tmp_path)
    assert "REHEARSAL" not in auditor.history().to_html()

    bundle = write_bundle(tmp_path / "bundle.zip", [rehearsed], auditor.receipts)
    report = check_bundle(bundle)
    assert report.ok, report
    assert [one.dataset for one in report.checks] == ["loans-rehearsal (REHEARSAL)"]
    with zipfile.ZipFile(bundle) as files:
        named = [name for name in files.namelist() if name.startswith(("reports/", "figures/", "receipts/"))]
        assert len(named) == 3
        assert all("rehearsal" in files.read(name).decode().lower() for name in named)
    with pytest.raises(QuestionRefused, match="One bundle is written: 'loans-rehearsal' is a rehearsal"):
        write_bundle(tmp_path / "both.zip", [rehearsed, real], auditor.receipts)
    assert_marked(kept_audit(rehearsed.receipt), folder=tmp_path)
    assert len(stored_history(auditor.receipts)) == 1


def test_no_answer_is_read_for_what_it_is_not_about(rehearsed: AuditResult, real: AuditResult) -> None:
    """The planted fault is a note from which the mark was taken, beside a receipt that has it; and the reverse."""
    question = rehearsed.question
    unmarked = replace(question, dataset=question.dataset.model_copy(update={"rehearsal": None}))
    marked = replace(
        real.question, dataset=real.question.dataset.model_copy(update={"rehearsal": question.dataset.rehearsal})
    )
    for asked, stored in ((unmarked, rehearsed.stored), (marked, real.stored)):
        with pytest.raises(QuestionRefused, match="Use an answer about the same people"):
            finding(asked, stored, rehearsed.reading)
    with pytest.raises(QuestionRefused, match="Use an answer about the same people"):
        finding(question, replace(rehearsed.stored, others=(real.stored,)), rehearsed.reading)
    with pytest.raises(QuestionRefused, match="Rehearse both, or neither"):
        compare_results(rehearsed, real)


def test_a_holder_that_leaves_the_mark_out_or_charges_is_not_believed(auditor: Auditor, rehearsed: AuditResult) -> None:
    invented, people = auditor.dataset("loans-rehearsal"), auditor.dataset("loans")
    quote = auditor._holder.quote("loans-rehearsal", rehearsed.plan, Quote)
    require_marked(quote, invented)

    lies: list[tuple[dict[str, Any], Any, str]] = [
        ({"rehearsal": None}, invented, "does not say that it is of a rehearsal"),
        ({"charge": quote.price}, invented, "was charged"),
        ({}, people, "the request was about real people"),
        ({"rehearsal": quote.rehearsal and quote.rehearsal.model_copy(update={"of": "b"})}, invented, "does not say"),
    ]
    for change, dataset, why in lies:
        with pytest.raises(HolderLied, match=why):
            require_marked(Quote.model_validate(quote.model_copy(update=change)), dataset)


def test_a_dataset_without_a_rehearsal_or_with_one_of_before_is_refused(holder: TestedHolder, auditor: Auditor) -> None:
    holder.offer("other", learnable_csv(), **COLUMNS)
    with pytest.raises(QuestionRefused, match=r"publishes no rehearsal of 'other'.*holder admin rehearsal other"):
        auditor.rehearse(None, "other", "sex", 1, decision="citizen", favourable="true")
    holder.admin("POST", "/datasets/other/rehearsal", json={"people": 50}).raise_for_status()
    changed = holder.declare("other", columns=[*COLUMNS["columns"], {"name": "more", "type": "boolean"}])

    assert "Publish it again" in " ".join(changed.json()["warnings"])
    with pytest.raises(QuestionRefused, match="is of an earlier declaration"):
        auditor.rehearse(None, "other", "sex", 1, decision="citizen", favourable="true")


def test_every_page_of_the_desk_about_it_says_so(
    holder: TestedHolder, auditor: Auditor, rehearsed: AuditResult, real: AuditResult
) -> None:
    receipts = auditor.receipts.directory
    settings = AuditorSettings(holder_url=holder.url, api_key=SecretStr(holder.auditor_key), receipts=receipts)
    listener = socket.create_server(("127.0.0.1", 0))
    desk = Desk(settings, listener.getsockname()[1])
    config = uvicorn.Config(create_desk(desk), log_level="warning", access_log=False)
    named = {"rehearsal": rehearsed.note.name[7:], "real": real.note.name[7:]}
    asked = {
        "dataset": "loans-rehearsal",
        "decision": "citizen",
        "favourable": "true",
        "form_token": desk.door.form_token,
    }
    cookies = {"desk": str(desk.door._session)}
    with (
        listener,
        listening(config, listener=listener) as url,
        httpx.Client(base_url=url, cookies=cookies, timeout=60, follow_redirects=True) as browser,
    ):

        def text(path: str) -> str:
            answer = browser.get(f"{desk.door.root}{path}")
            assert answer.status_code == 200, (path, answer.text)
            return answer.text

        draft = browser.post(f"{desk.door.root}/new", data=asked)
        browser.post(str(draft.url), data={"sensitive": "sex", "epsilon": "1", "people": "2000", **asked})
        wait_until(lambda: "Rehearse at " in browser.get(draft.url).text)
        planned = browser.get(draft.url)
        pages = [text(f"/audits/{named['rehearsal']}"), text("/watches/loans-rehearsal"), draft.text, planned.text,
                 text("/datasets/loans-rehearsal"), text(f"/audits/{named['rehearsal']}/report")]  # fmt: skip
        wait_until(lambda: "more audit" not in text("?dataset=loans-rehearsal"))
        pages.append(text("?dataset=loans-rehearsal"))
        pages.append(text(f"/trainings/new/{desk.draft(TrainingDraft, 'loans-rehearsal').id}"))
        assert "invented people, nothing is charged" in text("/trainings")
        assert [page for page in pages if "<title>REHEARSAL – " not in page] == []
        assert "and spend" not in planned.text
        assert "loans-rehearsal (REHEARSAL)" in text("/receipts")
        assert "Rehearsal</b> of <bdi>loans</bdi>" in text("/new")
        for path in ("", f"/audits/{named['real']}", "/watches/loans", "/datasets/loans", "/budgets"):
            assert "REHEARSAL" not in text(path), path


def test_the_commands_say_so(holder: TestedHolder, auditor: Auditor, tmp_path: Path) -> None:
    env = {"AUDITOR_HOLDER_URL": holder.url, "AUDITOR_API_KEY": holder.auditor_key, "COLUMNS": "200"}

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, [*arguments], env={**env, "AUDITOR_RECEIPTS": str(tmp_path / "receipts")})
        assert result.exit_code == 0, result.output
        return result.stdout

    asked = (
        "--decision",
        "citizen",
        "--favourable",
        "true",
        "--dataset",
        "loans",
        "--sensitive",
        "sex",
        "--epsilon",
        "1",
    )
    spent = holder.spent(dataset="loans")
    page = tmp_path / "page.html"
    assert run("rehearse", *asked, "--report", str(page)).startswith("REHEARSAL: ")
    assert "<strong>REHEARSAL</strong>" in page.read_text()
    assert json.loads(run("rehearse", *asked, "--json"))["rehearsal"]["of"] == "loans"
    assert "loans-rehearsal (REHEARSAL)" in run("datasets")
    assert "REHEARSAL of loans: 2\N{NARROW NO-BREAK SPACE}000 invented people" in run("dataset", "loans-rehearsal")
    assert "REHEARSAL, never charged" in run("budget", "--dataset", "loans-rehearsal")
    assert "REHEARSAL" not in run("budget")
    assert holder.spent(dataset="loans") == spent
    assert "marginals of sex" in " ".join(dataset_table(auditor.dataset("loans-rehearsal")).sentences)
    assert "REHEARSAL" in budget_table([auditor.budget("loans-rehearsal")]).rows[0][1]
