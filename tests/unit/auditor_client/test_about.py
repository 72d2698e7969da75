"""What the auditor writes of model and audit: in note, document and page, and in no plan."""

import re
from dataclasses import replace
from typing import Any

import pytest

from auditor_client.audits.asking import Asking
from auditor_client.errors import QuestionRefused
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.notes import Note
from auditor_client.report.history_data import history_data
from auditor_client.report.languages import LANGUAGES
from shared.contract.metadata import DatasetMetadata
from testing.exact_audits import audited

HOSTILE = "</title><script>alert(1)</script> 👩‍👧 قرض"
WRITTEN = About(
    model_name="Loan model 3", model_owner="Bank", purpose="Who gets a loan", favourable_word="granted",
    organisation="Office", author="Frau Müller",
)  # fmt: skip


def test_nothing_written_leaves_note_and_document_as_they_were() -> None:
    plain = audited()

    assert "about" not in plain.note.model_dump(mode="json")
    assert "about" not in plain.to_document()


def test_what_is_written_is_kept_and_the_plan_is_the_same() -> None:
    plain, written = audited(), replace(audited(), about=WRITTEN)
    again = Note.model_validate_json(written.note.model_dump_json())

    assert again.about == WRITTEN
    assert again.question().plan == plain.plan
    document, named = plain.to_document(), written.to_document()
    sentences = {"finding", "meaning", "outcome"}
    assert {name: value for name, value in named.items() if name not in sentences | {"about"}} == {
        name: value for name, value in document.items() if name not in sentences
    }
    assert named["about"] == WRITTEN.written
    assert document["outcome"] == {"decision": "yes", "word": None, "means": "the tree decides yes"}
    assert named["outcome"] == {**document["outcome"], "word": "granted"}


def test_the_head_of_the_page_says_who_and_what() -> None:
    """The model, its decision and the auditor; what else was written stands among the facts below the results."""
    page = replace(audited(), about=WRITTEN).to_html()

    head = page.partition("<section")[0]
    assert "Loan model 3" in page.partition("</title>")[0]
    for words in (WRITTEN.model_name, WRITTEN.favourable_word, WRITTEN.organisation):
        assert words is not None
        assert words in head
    for words in WRITTEN.written.values():
        assert words in page


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_auditors_word_is_used_throughout(language: str) -> None:
    """Headline, chart, table, axis, facts and text; "accepted" is not said of what is called otherwise."""
    refused = replace(audited(), about=About(favourable_word="zurückgewiesen"))
    page = refused.to_html(language=language)

    assert "zurückgewiesen" in refused.view.data.headline
    assert "zurückgewiesen" in refused.summary().partition("\n\n")[2]
    for part in (r"<caption>.*?</caption>", r"<th .*?</th>", r"<h2 .*?</h2>", r"<dd>.*?</dd>"):
        assert any("zurückgewiesen" in found for found in re.findall(part, page, re.DOTALL)), part
    for text in (page, refused.summary()):
        assert not re.search(
            r"\b(accepted|acceptée?s?\b|angenommen|geaccepteerd|aangenomen)", re.sub("<style.*?</style>", "", text)
        )


@pytest.mark.parametrize("language", LANGUAGES)
def test_rules_are_named_by_the_outcome_that_they_give(language: str) -> None:
    """The rules of the adverse outcome are not rules "without" the other one: of a control that reads as a pardon."""
    page = replace(audited(intervention="punitive"), about=About(favourable_word="left alone")).to_html(
        language=language
    )

    headings = [heading for heading in re.findall(r"<summary>(.*?)</summary>", page) if "2" in heading]
    assert [next(word for word in ("left alone", "no") if word in heading) for heading in headings] == [
        "left alone", "no",
    ]  # fmt: skip


def test_a_punitive_audit_says_that_the_burden_is_counted() -> None:
    punitive = replace(audited(intervention="punitive"), about=About(favourable_word="left alone"))

    [counted] = [fact.text for fact in punitive.view.data.facts if fact.term == "Decision counted"]
    assert counted == "the decision “no”; the good outcome is the decision “left alone” (the tree decides yes)"
    assert [row.outcome for row in history_data([punitive, audited()]).rows] == [
        "the decision “no”", "the decision “yes”", "the decision “no”",
    ]  # fmt: skip


def test_an_adverse_ratio_is_drawn_as_failing_above_its_limit() -> None:
    page = audited().to_html()

    favourable, adverse = re.findall(
        r'<div class="line( adverse)?">\s*<div class="below"[^>]*>(.*?)</div>\s*<div class="above">(.*?)</div>', page
    )
    assert favourable == ("", "fails below 0.8", "meets")
    assert adverse == (" adverse", "meets", "fails above 1.25")


def test_hostile_words_stay_text() -> None:
    words = {"columns": {"sex": {"title": HOSTILE, "values": {"Female": HOSTILE}}}, "title": HOSTILE}
    made = replace(audited(), about=About(model_name=HOSTILE, purpose=HOSTILE))
    dataset = made.question.dataset.model_copy(
        update={"metadata": DatasetMetadata.model_validate(words), "organisation": HOSTILE}
    )
    page = replace(made, question=replace(made.question, dataset=dataset)).to_html()

    assert "<script" not in page
    assert page.count("</title>") == 1
    assert "&lt;script&gt;" in page
    assert len(re.findall("قرض", page)) > 5


@pytest.mark.parametrize("words", ["", "a\u202eb", "a\nb", "x" * 201, 7])
def test_what_is_written_is_bounded_words(words: Any) -> None:
    with pytest.raises(QuestionRefused, match="model_name"):
        Asking.of("sex", "1", None, {"model_name": words})


def test_it_is_given_whole_or_as_keywords_and_not_both() -> None:
    assert Asking.of("sex", "1", None, {"model_name": "Loan model 3"}).about == About(model_name="Loan model 3")
    assert Asking.of("sex", "1", None, {}).about == NOTHING
    assert Asking.of("sex", "1", None, {}, WRITTEN).about == WRITTEN
    with pytest.raises(QuestionRefused, match="purpose"):
        Asking.of("sex", "1", None, {"purpose": "Loans"}, WRITTEN)


def test_an_audit_says_more_than_the_settings() -> None:
    by = About(organisation="Office", author="Frau Müller")

    assert About(author="edöb").over(by) == About(organisation="Office", author="edöb")
