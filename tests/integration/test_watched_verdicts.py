"""A verdict watched from the auditor's side: set from an audit, looked at again for nothing, kept, verified, shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditor_client import Auditor, AuditorError
from auditor_client.audits.result import AuditResult
from auditor_client.cli import app
from auditor_client.models.tree import Branch, Leaf, Split, Tree
from shared.contract.rules import Predicate
from testing.holders import TestedHolder, running_holder
from testing.registers import register_csv
from testing.waits import wait_until

MODEL = Tree(
    Split(
        "root",
        (
            Branch((Predicate(column="age", op="le", value=60),), Leaf("young", "yes", favourable=True)),
            Branch((Predicate(column="age", op="gt", value=60),), Leaf("old", "no", favourable=False)),
        ),
    )
)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder with enough people for a verdict."""
    with running_holder(tmp_path_factory.mktemp("watched"), epsilon="50", people=6000) as holder:
        yield holder


@pytest.fixture
def audit(watched: TestedHolder, tmp_path: Path) -> Iterator[tuple[Auditor, AuditResult]]:
    with Auditor(watched.url, watched.auditor_key, receipts=tmp_path / "receipts") as auditor:
        yield auditor, auditor.audit(MODEL, "register", ["sex"], "5", draw=2, intervention="assistive")


def test_a_verdict_is_watched_until_it_changes(
    watched: TestedHolder, audit: tuple[Auditor, AuditResult], tmp_path: Path
) -> None:
    auditor, result = audit
    assert result.estimates["statistical-parity"].verdict.value == "meets"
    spent = watched.spent()

    made = auditor.watch(result, "2")
    wait_until(lambda: len(auditor.watches("register")[-1].answers) == 1)
    first = auditor.watches("register")[-1]
    watched.load(register_csv(people=6000, seed=2)).raise_for_status()
    wait_until(lambda: len(auditor.watches("register")[-1].answers) == 2)
    women_of_age = b"".join(b"f%d,90,,low,true,Female,here\n" % number for number in range(3000))
    watched.load(register_csv(people=3000) + women_of_age).raise_for_status()
    wait_until(lambda: len(auditor.watches("register")[-1].answers) == 3)
    last = auditor.watches("register")[-1]

    assert float(watched.spent()) == float(spent) + 2
    assert first.changed_at is None
    assert [one.watch_answer.changed for one in last.answers] == [False, False, True]
    assert last.changed_at == last.answers[-1].version
    assert "this check cost nothing" in first.summary()
    assert "audit again" in last.summary()
    assert last.to_document()["changed_at"] == last.changed_at
    assert made.release == last.release
    for language, words in (("en", "A watched verdict"), ("de", "beobachtetes Urteil"), ("fr", "surveillé")):
        assert words in last.to_html(language=language)
    checked = auditor.verify()
    assert checked.ok, checked
    assert len(checked.checks) == 5, "audit, watch and three answers"
    history = auditor.history("register")
    assert [(one.release.id, len(one.answers)) for one in history.watches] == [(made.release.id, 3)]
    assert "The verdict changed at version" in history.summary()
    assert history.to_document()["watches"][0]["watch"] == made.release.id
    history.write_report(tmp_path / "history.html")
    assert "The verdict changed at version" in (tmp_path / "history.html").read_text()


def test_the_command_line_sets_a_watch_from_a_receipt_and_shows_it(
    watched: TestedHolder, audit: tuple[Auditor, AuditResult], tmp_path: Path
) -> None:
    _, result = audit
    env = {
        "AUDITOR_HOLDER_URL": watched.url, "AUDITOR_API_KEY": watched.auditor_key,
        "AUDITOR_RECEIPTS": str(tmp_path / "receipts"),
    }  # fmt: skip
    page = tmp_path / "watch.html"
    arguments = ["watch", "set", str(result.receipt), "--epsilon", "1", "--margin", "-9000", "--draw", "7"]

    made = CliRunner().invoke(app, [*arguments, "--json", "--report", str(page)], env=env)
    again = CliRunner().invoke(app, [*arguments, "--json"], env=env)
    assert made.exit_code == 0, made.output
    identity = json.loads(made.stdout)["watch"]

    def shown() -> dict[str, list[object]]:
        found = CliRunner().invoke(app, ["watch", "show", "register", "--json"], env=env)
        return next(one for one in json.loads(found.stdout)["watches"] if one["watch"] == identity)

    wait_until(lambda: len(shown()["answers"]) > 0)
    text = CliRunner().invoke(app, ["watch", "show", "register"], env=env)
    assert json.loads(again.stdout)["watch"] == identity
    assert "Unchanged since" in text.stdout
    assert "<title>A watched verdict" in page.read_text()


def test_what_has_no_verdict_cannot_be_watched(audit: tuple[Auditor, AuditResult]) -> None:
    """Undecided for certain: the same answer, read for a ratio that is in the middle of its interval."""
    auditor, result = audit
    noisy = auditor.audit(MODEL, "register", ["sex"], "0.1", draw=3, intervention="assistive").ratio
    assert noisy.low < noisy.high
    undecided = auditor.audit(
        MODEL, "register", ["sex"], "0.1", draw=3, intervention="assistive", threshold=(noisy.low + noisy.high) / 2
    )

    with pytest.raises(AuditorError, match="Audit with a larger epsilon first"):
        auditor.watch(undecided, "1")
    with pytest.raises(AuditorError):
        auditor.watch(result, "0.0000001")
