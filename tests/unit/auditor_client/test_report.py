"""The report: it says what the result says, to people and to machines, and nothing in it can run or load."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor_client.asking.request import ADVERSE, PARITY
from auditor_client.audits.comparing import compare_results
from auditor_client.audits.history import History
from auditor_client.audits.result import AuditResult
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.findings.answers import Rate
from auditor_client.findings.reading import Reading
from auditor_client.models.read_model import Provenance
from auditor_client.report import view
from auditor_client.report.audit_data import audit_data
from auditor_client.report.axes import LinearAxis, Mark, interval_text
from auditor_client.report.formats import known, percent, points, ratio, whole
from auditor_client.report.prose import noise_words
from shared.contract.meaning import meaning, statements
from shared.contract.relations import Relation
from shared.kinds.releases import SigningKeys, verify_signature
from shared.privacy.amounts import Loss
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.wire.text import normalise
from shared.wire.wording import NARROW_SPACE, signed
from testing.invented.audits import People, Rates, decision_rules, invented_audit, with_figures

NAN = math.nan
UNKNOWN = (NAN, NAN, NAN)
HOSTILE = "<script>alert('1')</script>\"><img src=x onerror=alert(2)>{{ 7*7 }}&amp;"
VOID = {"meta", "br", "link", "img", "input", "hr"}
PROSE = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=200).map(normalise)


@dataclass
class Page(HTMLParser):
    """A page taken apart: its tags with their attributes, and its visible text."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        """The text, each run of blanks as one."""
        return " ".join("".join(self.words).split())


def page_of(result: AuditResult) -> Page:
    page = Page()
    page.feed(result.to_html())
    page.close()
    assert page.open == []
    return page


UNDECIDED = with_figures(
    invented_audit({("Female",): (24, 76), ("Male",): (31, 69)}),
    {("Female",): (0.24, 0.20, 0.28), ("Male",): (0.31, 0.28, 0.335)},
    ratio=(0.77, 0.66, 0.91),
    difference=(0.07, 0.02, 0.12),
    warnings=("The group “Female” is small.",),
)
UNDEFINED = with_figures(
    invented_audit({("Female",): (0, 0), ("Male",): (0, 8000)}),
    {("Female",): UNKNOWN, ("Male",): (0.0, 0.0, 0.001)},
    ratio=UNKNOWN,
    difference=UNKNOWN,
    warnings=("Nobody.",),
)
TWELVE = invented_audit(
    {
        (sex, origin): (160 * k + 400, 7600 - 160 * k)
        for k, (sex, origin) in enumerate((s, o) for s in ("Female", "Male") for o in ("a", "b", "c", "d", "e", None))
    },
    sensitive=("sex", "origin"),
)
PLUG_IN = with_figures(
    invented_audit({("Female",): (240, 760), ("Male",): (310, 690)}),
    {("Female",): (0.24, NAN, NAN), ("Male",): (0.31, NAN, NAN)},
    ratio=(0.77, NAN, NAN),
    difference=(0.07, NAN, NAN),
    estimator="plug-in",
)
NEARLY_ALIKE: People = {("Female",): (1886, 6114), ("Male",): (2096, 5904)}
"""A ratio of 0.9."""
EVERY_KIND = {
    "fails": invented_audit(),
    "meets": invented_audit(NEARLY_ALIKE),
    "undecided": UNDECIDED,
    "undefined": UNDEFINED,
    "twelve": TWELVE,
    "plug-in": PLUG_IN,
    "a rule without conditions": invented_audit(
        rules=decision_rules(((True, []), (False, [{"column": "age", "op": "le", "value": 20}])))
    ),
}


@pytest.mark.parametrize("kind", sorted(EVERY_KIND))
def test_the_page_is_whole_and_needs_nothing_else(kind: str) -> None:
    page = page_of(EVERY_KIND[kind])

    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "embed", "base", "form"}
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href", "data", "action"):
            assert (attributes.get(name) or "#").startswith("#"), tag
    assert "url(" not in EVERY_KIND[kind].to_html()
    assert "@import" not in EVERY_KIND[kind].to_html()
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in str(policy)


@pytest.mark.parametrize("kind", sorted(EVERY_KIND))
def test_the_page_can_be_read_by_everybody(kind: str) -> None:
    page = page_of(EVERY_KIND[kind])

    assert ("html", {"lang": "en-GB"}) in page.tags
    assert [tag for tag, _ in page.tags].count("h1") == 1
    assert [tag for tag, _ in page.tags].count("table") == [tag for tag, _ in page.tags].count("caption")
    assert all(attributes.get("aria-label") for tag, attributes in page.tags if tag == "svg")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {a["aria-labelledby"] for _, a in page.tags if "aria-labelledby" in a} <= set(ids)


def test_the_verdict_is_a_sentence_and_its_figures_another() -> None:
    finding = audit_data(EVERY_KIND["fails"]).headline.replace("\N{NARROW NO-BREAK SPACE}", " ")

    assert finding == (
        "Among the people in the register, the tree fails the four-fifths rule for favourable rates for sex. The "
        "share with the decision “> 50K” is 8.1 % in the group “Female” and 26.2 % in the group “Male”: a ratio of "
        "30.9 % (95 % interval 30.7 % to 31.2 %)."
    )


@pytest.mark.parametrize(
    ("kind", "word", "sentence"),
    [
        ("meets", "meets", "the tree meets the four-fifths rule for favourable rates"),
        ("undecided", "undecided", "it is undecided whether"),
        ("undefined", "undefined", "the statistical parity ratio of the tree cannot be computed"),
        ("undefined", "undefined", "The answer does not show a rate above zero in any group"),
        ("plug-in", "undecided", "does not give an interval"),
    ],
)
def test_each_verdict_says_so(kind: str, word: str, sentence: str) -> None:
    page = page_of(EVERY_KIND[kind])

    assert sentence in page.text
    assert ("div", {"class": f"verdict {word}"}) in page.tags


def test_the_figures_of_the_page_are_those_of_the_result() -> None:
    text = page_of(TWELVE).text.replace("\N{NARROW NO-BREAK SPACE}", " ")

    for group in TWELVE.parity.groups:
        interval = f"{100 * group.rate.low:.1f} % to {100 * group.rate.high:.1f} %"
        assert f"{100 * group.rate.value:.1f} % {interval}" in text
    parity = TWELVE.parity
    for figure, words in ((parity.ratio, ratio), (parity.difference, points)):
        assert f"{words(figure.value)}{interval_text(figure, words)}" in text, "two cells of one row"


def test_groups_stand_from_the_highest_rate_to_the_lowest_and_those_without_at_the_end() -> None:
    rates = audit_data(TWELVE).sections[0].rates[0]

    assert rates.rows[0].values == ("Male", "missing")
    assert [(row.note, row.values) for row in rates.rows if row.note == "lowest"] == [("lowest", ("Female", "a"))]
    assert audit_data(UNDEFINED).sections[0].rates[0].rows[-1].rate == "undefined"


def test_positions_follow_the_figures() -> None:
    rates = audit_data(UNDECIDED).sections[0].rates[0]

    assert rates.ticks[-1].label == "40"
    assert [row.mark.value for row in rates.rows] == [pytest.approx(77.5), pytest.approx(60.0)]
    assert rates.reference == pytest.approx(100 * 0.8 * 0.31 / 0.4)


def test_a_bar_goes_from_zero_to_its_value_and_its_text_stands_beyond_everything_drawn() -> None:
    axis, interval = LinearAxis.around_zero([-40.0]), Estimate(-37.3, -38.0, -36.7, 0.95, "posterior")

    mark = axis.mark(interval, replace(interval, low=-39.0, high=-20.0))

    assert mark == Mark(3.375, 2.5, 4.125, 1.25, 25.0, zero=50.0)
    assert mark.falls
    assert mark.outer == 1.25
    assert not (rising := LinearAxis(0.0, 1.0, 5).mark(replace(interval, value=0.3, low=0.2, high=0.5))).falls
    assert (rising.zero, rising.outer) == (0.0, 50.0)


def test_every_part_of_a_picture_is_explained_where_it_is_drawn() -> None:
    page = EVERY_KIND["fails"].to_html()

    assert "95\N{NARROW NO-BREAK SPACE}% interval for the people in the data" in page
    assert page.count('class="label') == 1, "the threshold is labelled where it is drawn"
    assert "interval for the population that they stand for" in page
    assert "interval for the population that they stand for" not in PLUG_IN.to_html(), "none is drawn here"
    assert page.count('class="interval"') == 1 + 2 + 1, "of the key, of two groups and of the ratio"


def test_where_nothing_is_defined_nothing_is_drawn() -> None:
    section = audit_data(UNDEFINED).sections[0]

    assert section.ratio.mark.value is None
    assert section.rates[0].reference is None
    assert "undefined %" not in page_of(UNDEFINED).text


def test_a_figure_that_may_be_anything_is_shown_as_unknown() -> None:
    rates: Rates = {("Female",): (0.0, 0.0, 0.3), ("Male",): (0.2, 0.1, 0.3)}
    open_ratio = with_figures(invented_audit(), rates, ratio=(0.0, 0.0, 1.0), difference=(0.2, 0.1, 0.3))
    figures = {figure.name: figure.value for figure in audit_data(open_ratio).sections[0].figures}

    assert figures["Statistical parity ratio"] == "unknown"
    assert figures["Statistical parity difference"] == "20.0"
    assert History((open_ratio,)).view.data.rows[0].ratio == "unknown"


def test_the_cost_and_what_is_left_are_shown() -> None:
    text = page_of(UNDECIDED).text

    assert "This audit cost" in text
    assert "ε = 1.5 of ε = 2, for the population adult" in text
    assert "add_remove" in text


def test_without_the_account_the_releases_own_balance_is_shown() -> None:
    text = page_of(replace(UNDECIDED, budget=None)).text

    assert "ε = 1.5 when the answer was made" in text


@pytest.mark.parametrize("relation", get_args(Relation))
def test_each_relation_says_what_is_protected(relation: Relation) -> None:
    text = page_of(invented_audit(relation=relation)).text

    assert relation in text
    for statement in statements(meaning(relation, Loss(5 * 10**8))).all:
        assert " ".join(statement.split()) in text
    assert ("e^(2ε) = 2.72" in text) == (relation == "add_remove"), "another value is two steps away"


def test_the_receipt_can_be_checked_from_the_page() -> None:
    result = EVERY_KIND["fails"]
    text = page_of(result).text

    for exact in (result.release.id, result.release.ledger.hash, result.release.signature, result.key.public_key):
        assert exact in text
    assert "auditor verify receipts" in text


def test_warnings_are_shown_and_pointed_to() -> None:
    page = page_of(UNDECIDED)

    assert "The group “Female” is small." in page.text
    assert ("a", {"class": "whole", "href": "#warnings"}) in page.tags
    assert "warnings" not in {a.get("id") for _, a in page_of(TWELVE).tags}


@pytest.mark.parametrize(
    ("people", "named"),
    [
        ({("Female",): (5, 7995), ("Male",): (2400, 5600)}, "“Female”"),
        ({("Female",): (7993, 7), ("Male",): (7999, 1)}, "“Female” and “Male”"),
        ({("Female",): (24, 7976), ("Male",): (7960, 40)}, None),  # rare, and not nobody
    ],
)
def test_a_model_that_decides_alike_for_a_whole_group_is_warned_of(people: People, named: str | None) -> None:
    text = page_of(invented_audit(people)).text

    assert ("makes the same decision for nearly everybody" in text) == (named is not None)
    assert named is None or f"nearly everybody in {named}. Check that" in text


def test_splits_at_fractions_of_whole_numbers_are_warned_of() -> None:
    audit = invented_audit()
    read = Provenance("a model", "xgboost", inputs=(("years of education", "f0"),), fractional=("years of education",))
    question = replace(audit.question, source=audit.question.source.model_copy(update={"provenance": read}))
    page = page_of(replace(audit, question=question))

    assert "The model splits years of education at fractions" in page.text
    assert "The auditor named its inputs: years of education ← f0." in page.text
    assert "at fractions" not in page_of(audit).text


def hostile_audit(text: str) -> AuditResult:
    """An audit in which every name that comes from outside is the same text."""
    predicates: list[dict[str, Any]] = [
        {"column": f"{text}x", "op": "eq", "value": text},
        {"column": f"{text}x", "op": "in", "values": [text, "b"]},
    ]
    rates: Rates = {(text,): (0.1, 0.0, 0.2), (None,): (0.5, 0.4, 0.6)}
    result = with_figures(
        invented_audit(
            {(text,): (10, 90), (None,): (50, 50)},
            sensitive=(text,),
            rules=decision_rules(((True, predicates), (False, predicates))),
        ),
        rates,
        ratio=(0.2, 0.0, 0.5),
        difference=(0.4, 0.2, 0.6),
        warnings=(text,),
    )
    release = result.release.model_copy(update={"dataset": text, "auditor": text, "key": text})
    stored = replace(result.stored, release=release, receipt=Path(text))
    return replace(result, stored=stored, holder_url=text, versions={text: text})


def test_a_view_is_made_once_and_shown_in_every_form() -> None:
    result = invented_audit()

    assert result.view.data is result.view.data
    assert result.report.data.headline == result.view.data.headline
    assert (result.summary(), result.to_html(), result.to_document()) == (
        result.view.text,
        result.view.page,
        result.view.document,
    )


def test_history_and_comparison_write_their_pages_too(tmp_path: Path) -> None:
    result = invented_audit()

    for name, shown in (("history", History((result,))), ("comparison", compare_results(result, result))):
        path = shown.write_report(tmp_path / f"{name}.html")
        assert path.read_text(encoding="utf-8") == shown.to_html()
        assert json.loads(shown.to_json()) == shown.to_document()


def test_a_comparison_says_of_which_figure_whom_and_what_it_compares() -> None:
    result = invented_audit()
    other = invented_audit(NEARLY_ALIKE)
    release = other.release.model_copy(update={"id": f"sha256:{'2' * 64}"})
    comparison = compare_results(result, replace(other, stored=replace(other.stored, release=release)))
    said = comparison.summary()

    assert comparison.view.data.headline.startswith(
        "Among the people in the register, the second model is closer to statistical parity for sex. Its ratio is"
    )
    assert "Its difference is 2.6 instead of 18.1 percentage points, a change of −15.5" in comparison.view.data.headline
    assert "Only statistical parity was compared: accuracy and other figures may have changed either way." in said
    for fact in (
        "Dataset: ",
        "Compared by: sex",
        "Holder: https://holder.example",
        "First: receipt: ",
        "Second: Model: ",
    ):
        assert fact in said
    assert result.receipt.name in comparison.to_html()
    assert f"model {'1' * 12}," in comparison.view.data.first
    assert f"of {'1' * 12} " in History((result,)).summary(), "the same digest in every report"
    assert f"Model: {'1' * 12}," in "\n".join(f"{fact.term}: {fact.text}" for fact in result.view.data.question)


def test_what_an_answer_cost_stands_once_and_the_sum_is_of_answers() -> None:
    result = invented_audit(epsilon="0.5")
    history = History((result, replace(result, stored=replace(result.stored, reused=True)))).view.data
    costs = [row.cost for row in history.rows]

    assert costs == ["ε = 0.5", "the same answer"]
    assert [fact.text for fact in history.facts[:2]] == ["1", "ε = 0.5"]


def test_hostile_names_are_shown_as_they_are() -> None:
    page = page_of(hostile_audit(HOSTILE))

    assert {tag for tag, _ in page.tags} == {tag for tag, _ in page_of(hostile_audit("harmless")).tags}
    assert HOSTILE in page.text


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(PROSE)
def test_no_name_can_change_the_page(text: str) -> None:
    """The tags and attributes are the same whatever the names say, but for the labels that repeat them."""
    shape = [(tag, sorted(attributes)) for tag, attributes in page_of(hostile_audit(text)).tags]

    assert shape == [(tag, sorted(attributes)) for tag, attributes in page_of(hostile_audit("harmless")).tags]


def test_no_name_can_turn_the_direction_of_the_text() -> None:
    turned = hostile_audit("a\N{RIGHT-TO-LEFT OVERRIDE}b\N{POP DIRECTIONAL ISOLATE}c")

    assert not re.search("[\u202a-\u202e\u2066-\u2069]", turned.to_html())
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", turned.summary())


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(PROSE)
def test_no_name_can_control_a_terminal(text: str) -> None:
    summary = hostile_audit(text).summary()

    assert len(summary.splitlines()) >= 9
    assert "\x1b" not in summary


@pytest.mark.parametrize("kind", sorted(EVERY_KIND))
def test_the_document_is_json_and_holds_the_figures_unrounded(kind: str) -> None:
    result = EVERY_KIND[kind]

    document = json.loads(result.to_json())

    value = document["metrics"]["statistical-parity"]["ratio"]["value"]
    assert value is None if math.isnan(result.parity.ratio.value) else value == result.parity.ratio.value
    assert [tuple(group["group"]) for group in document["metrics"]["statistical-parity"]["groups"]] == [
        group.group for group in result.parity.groups
    ]
    assert document["verdict"] == result.parity.verdict.value
    assert len(document["rules"]) == len(result.rules)


def test_the_signature_can_be_checked_from_the_document_alone() -> None:
    document = json.loads(EVERY_KIND["fails"].to_json())

    verify_signature(document["release"], SigningKeys.model_validate({"keys": [document["key"]]}))


def test_a_notebook_shows_the_page_in_a_frame_that_cannot_run() -> None:
    frame = Page()
    frame.feed(EVERY_KIND["fails"]._repr_html_())

    [(tag, attributes)] = frame.tags
    assert (tag, attributes["sandbox"]) == ("iframe", "")
    assert attributes["srcdoc"] == EVERY_KIND["fails"].to_html()


def test_a_report_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    path = EVERY_KIND["fails"].write_report(tmp_path / "report.html")

    assert path.read_text(encoding="utf-8") == EVERY_KIND["fails"].to_html(outlook=True)


@given(st.floats(min_value=0, max_value=1), st.sampled_from([0.8, 0.5, 0.9]))
def test_no_rounding_moves_a_figure_across_its_threshold(value: float, threshold: float) -> None:
    shown = float(ratio(value, apart_from=threshold))

    assert (shown >= threshold) == (value >= threshold) or abs(value - threshold) < 1e-8


@pytest.mark.parametrize(
    ("low", "high", "words", "ends", "value"),
    [
        (0.8567, 0.8573, ratio, "0.8567 to 0.8573", "0.8570"),
        (0.85671, 0.85674, ratio, "0.85671 to 0.85674", "0.85672"),
        (0.72, 0.7204, percent, "72.00 % to 72.04 %", "72.02 %"),
        (0.00001, 0.0002, percent, "0.00 % to 0.02 %", "0.01 %"),
        (0.5, 0.6, ratio, "0.500 to 0.600", "0.550"),
        (0.5, 0.5, ratio, "0.500 to 0.500", "0.500"),
        (0.5, 0.5 + 1e-12, ratio, "0.500 to 0.500", "0.500"),
        (-0.00004, 0.00001, lambda share: signed(points(share)), "−0.004 to 0.001", "−0.002"),
        (999.8, 1000.3, whole, "1 000 to 1 000", "1 000"),
        (math.nan, math.nan, ratio, "", "0.500"),
    ],
)
def test_ends_of_a_narrow_interval_do_not_look_alike(
    low: float, high: float, words: Callable[[float], str], ends: str, value: str
) -> None:
    """The value between them has as many decimals."""
    middle = 0.5 if math.isnan(low) else (low + high) / 2
    one = Estimate(middle, low, high, 0.95, "test")

    assert interval_text(one, words).replace(NARROW_SPACE, " ") == ends
    assert known(one, words).replace(NARROW_SPACE, " ") == value


def test_a_figure_close_to_the_threshold_keeps_its_side() -> None:
    assert percent(0.79996, apart_from=0.8) == "79.996\N{NARROW NO-BREAK SPACE}%"
    assert percent(0.8, apart_from=0.8) == "80.0\N{NARROW NO-BREAK SPACE}%"


@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0, 20.0])
def test_the_reach_of_the_noise_is_the_smallest_that_95_in_100_counts_keep(scale: float) -> None:
    noise = DiscreteLaplaceNoise(scale=scale)
    reach = int(re.findall(r"at most (\d+)", noise_words(noise))[0])

    def within(limit: int) -> float:
        return sum(math.exp(noise.log_mass(k)) for k in range(-limit, limit + 1))

    assert within(reach) >= 0.95
    assert reach == 0 or within(reach - 1) < 0.95


THREE: People = {("a",): (500, 500), ("b",): (1, 1), ("c",): (480, 520)}


def test_every_part_of_an_audit_of_invented_counts_says_the_same() -> None:
    audit = invented_audit()
    answered = {cell.id: cell.counts for cell in audit.release.batches[0].cells}
    (impact,) = audit.impact_ratios().values()

    assert answered == {"favourable": (648, 2096), "unfavourable": (7352, 5904)}
    assert [group.accepted.value for group in audit.parity.groups] == pytest.approx([648, 2096], abs=3)
    assert [group.rate for group in impact] == [group.rate for group in audit.parity.groups]
    assert impact[0].ratio.value == pytest.approx(audit.ratio.value, abs=0.001)


def with_a_small_group(judged: str | None, accepted: int = 480) -> AuditResult:
    """An audit of two groups of a thousand people and one of two, read by the estimators themselves."""
    audit = invented_audit(THREE)
    noise = audit.counts[Rate.ACCEPTANCE].measurement.favourable.noise
    measured = Measurement(
        tuple(THREE),
        NoisyCounts.of([[500, 1, accepted]], noise),
        NoisyCounts.of([[500, 1, 1_000 - accepted]], noise),
        "unfavourable",
    )
    counts = {Rate.ACCEPTANCE: replace(audit.counts[Rate.ACCEPTANCE], measurement=measured)}
    reading = Reading(threshold=0.8, judged=judged)
    return replace(audit, counts=counts, reading=reading, estimates={PARITY: reading.estimate(PARITY, counts, None)})


def test_a_sentence_about_two_groups_has_the_interval_of_that_pair() -> None:
    """Two groups nearly tie for the lowest, so that the ratio over all groups is another figure than the pair's."""
    audit = with_a_small_group(None)
    (noise,) = {audit.counts[Rate.ACCEPTANCE].measurement.favourable.noise}
    accepted, refused = (NoisyCounts.of([people], noise) for people in ([500, 300, 310], [500, 700, 690]))
    measured = Measurement(tuple(THREE), accepted, refused, "unfavourable")
    counts = {Rate.ACCEPTANCE: replace(audit.counts[Rate.ACCEPTANCE], measurement=measured)}
    estimates = {PARITY: audit.reading.estimate(PARITY, counts, None)}

    text = audit_data(replace(audit, counts=counts, estimates=estimates)).headline

    assert text.replace("\N{NARROW NO-BREAK SPACE}", " ").endswith(
        "is 30.0 % in the group “b” and 50.0 % in the group “a”: a ratio of 60.0 % (95 % interval 58.8 % to 61.2 %). "
        "Over all groups, the lowest share is 60.0 % of the highest (95 % interval 59.0 % to 61.0 %)."
    )


def test_by_default_the_groups_that_are_large_enough_stand_below_the_figures() -> None:
    result = with_a_small_group(None)
    page = page_of(result).text

    assert result.view.data.headline.startswith("Among the people in the register, it is undecided whether the tree")
    assert "For the 2 of 3 groups that are shown to have at least 2 % of the people the ratio lies between" in page
    assert "it meets the four-fifths rule for favourable rates. Not shown to be large enough: b (" in page
    assert "Which groups are judged" in page
    assert "For the 2 of 3 groups" in result.summary()


def test_a_verdict_by_a_rule_says_which_groups_it_is_about_and_names_who_is_left_out() -> None:
    result = with_a_small_group("30")
    page = page_of(result).text

    assert result.view.data.headline.startswith(
        "Among the people in the register, in groups of at least 30 people, the tree meets the four-fifths rule for "
        "favourable rates for sex. The share with the decision “> 50K” is 48.0"
    )
    assert "The verdict and the figures are about the 2 of 3 groups that are shown to have at least 30 people." in page
    assert "For all 3 groups the ratio lies between" in page
    assert "not judged" in page
    assert "Judged: those that are shown to have at least 30 people" in [
        f"{fact.term}: {fact.text}" for fact in result.view.data.question
    ]
    document = result.to_document()["metrics"][PARITY]
    assert (document["rule"], document["left_out"], document["other"]["rule"]) == ("30", [["b"]], None)
    assert History((result,)).view.data.rows[0].metric == "Statistical parity, 2 of 3 groups"


def test_where_all_groups_are_large_enough_nothing_is_said_of_it() -> None:
    result = invented_audit()

    assert result.view.data.sections[0].judged == ()
    assert "Which groups are judged" not in page_of(result).text


def test_where_no_two_groups_are_large_enough_the_page_says_why_there_is_no_ratio() -> None:
    result = with_a_small_group("5000")

    assert result.view.data.verdict == "undefined"
    assert (
        result.view.data.explanation
        == "Fewer than two groups are shown to have at least 5\N{NARROW NO-BREAK SPACE}000 people."
    )
    assert page_of(result).text


def test_a_comparison_is_of_the_groups_that_both_audits_judge() -> None:
    few = with_a_small_group("30", accepted=9)
    first = with_a_small_group("30")
    measured = few.counts[Rate.ACCEPTANCE].measurement
    smaller = replace(measured, complement=NoisyCounts.of([[500, 500, 9]], measured.complement.noise))
    counts = {Rate.ACCEPTANCE: replace(few.counts[Rate.ACCEPTANCE], measurement=smaller)}
    second = replace(few, counts=counts, estimates={PARITY: few.reading.estimate(PARITY, counts, None)})

    assert (first.first.left_out, second.first.left_out) == ((("b",),), (("c",),))
    compared = compare_results(first, second)

    assert compared.change.second.left_out == (("b",), ("c",))
    assert not compared.change.ratio.defined
    assert "Not shown to be large enough: b and c" in compared.summary()


def test_audits_by_different_least_sizes_are_not_compared() -> None:
    with pytest.raises(QuestionRefused, match="least size"):
        compare_results(with_a_small_group("30"), with_a_small_group("2%"))


def test_what_is_not_known_is_no_number_anywhere() -> None:
    """Of ratio, difference and rates; the document and the frame keep the value, and say that it is not known."""
    rates: Rates = {("Female",): (0.61, 0.1, 0.9), ("Male",): (0.72, 0.2, 0.95)}
    figures = partial(with_figures, rates=rates, ratio=(0.857, 0.2, 1.0), difference=(0.123, 0.0, 0.7))
    result = figures(invented_audit())

    for text in (page_of(result).text, result.summary(), repr(result), str(result.ratio), History((result,)).summary()):
        assert "unknown" in text or text == repr(result)
        assert not any(number in text for number in ("85.7", "0.857", "12.3", "61.0", "72.0"))
    assert "The lowest share with the decision “> 50K” lies between 20.0\N{NARROW NO-BREAK SPACE}% and 100.0" in repr(
        result
    )
    assert audit_data(result).sections[0].ratio.mark == Mark(None, 20.0, 100.0)
    ratio_document = result.to_document()["metrics"][PARITY]["ratio"]
    assert (ratio_document["value"], ratio_document["known"]) == (0.857, False)
    assert result.by_group["known"].tolist() == [False, False]
    other = figures(invented_audit(epsilon="0.4"))
    changed = compare_results(result, other)
    assert "The ratio changed by" in changed.view.data.headline
    assert changed.view.data.figures[0].change == "unknown"


@pytest.mark.parametrize("template", sorted(path.name for path in Path(view.__file__).parent.glob("*.j2")))
def test_every_page_has_the_formats_that_it_names(template: str) -> None:
    """A template is compiled when its page is first made: a filter that it does not have is found here."""
    assert view._template(template, "en").name == template


def both_outcomes_audit() -> AuditResult:
    """Nobody said which kind of decision it is, and hardly anybody gets the adverse one: of one group twice as many."""
    audit = invented_audit({("Female",): (9400, 600), ("Male",): (9700, 300)})
    (noise,) = {audit.counts[Rate.ACCEPTANCE].measurement.favourable.noise}
    counts = [NoisyCounts.of([people], noise) for people in ([9400, 9700], [600, 300])]
    measured = Measurement((("Female",), ("Male",)), counts[0], counts[1], "unfavourable")
    answered = {
        rate: replace(audit.counts[Rate.ACCEPTANCE], measurement=replace(measured, ratio_kind=rate.ratio_kind))
        for rate in (Rate.ACCEPTANCE, Rate.ADVERSE)
    }
    estimates = {metric: audit.reading.estimate(metric, answered, None) for metric in (PARITY, ADVERSE)}
    return replace(audit, counts=answered, estimates=estimates)


def test_the_first_screen_has_the_finding_its_limits_and_five_facts_before_the_chart() -> None:
    page = EVERY_KIND["fails"].to_html()
    order = ["<h1>", "This report does not say:", '<dl class="facts">', '<td class="picture">', 'id="receipt"']
    positions = [page.index(mark) for mark in order]
    header = page[: page.index("</header>")]

    assert positions == sorted(positions)
    assert header.count("<dt>") == 5
    assert header.count("<li>") == 3
    for term in ("Privacy loss", "Estimator", "Strategy", "Version"):
        assert f"<dt>{term}</dt>" not in page[: page.index('id="receipt"')]
    assert "<dt>Estimator</dt>" in page[page.index('id="receipt"') :]


def test_both_outcomes_stand_beside_each_other_with_equal_weight() -> None:
    result = both_outcomes_audit()
    page = page_of(result)

    assert result.verdict is Verdict.DEPENDS
    assert [tag for tag, attributes in page.tags if attributes.get("class") == "outcomes"] == ["ul"]
    assert ("div", {"class": "verdict depends"}) in page.tags, "no further class, such as that of a rule's decision"
    burden, good = result.view.data.outcomes
    assert burden.startswith("If being selected is a burden, the tree fails the limit of 1.25 for the adverse ratio.")
    assert good.startswith("If being selected is good, the tree meets the four-fifths rule for favourable rates.")
    assert result.view.data.headline == f"{result.view.data.heading} {burden} {good}"
    for text in (burden, good):
        assert " ".join(text.split()) in page.text
        assert text.replace("\N{NARROW NO-BREAK SPACE}", " ") in result.summary().replace(NARROW_SPACE, " ")


def test_a_repeated_question_says_that_nothing_was_charged_now() -> None:
    audit = invented_audit(epsilon="0.5")
    again = replace(audit, stored=replace(audit.stored, repeated=True))

    assert "nothing was charged now" not in page_of(audit).text
    assert "This audit cost: ε = 0.5" in audit.summary()
    assert "nothing was charged now" in page_of(again).text
    assert "This audit cost: nothing; the saved answer cost ε = 0.5 when it was made" in again.summary()
