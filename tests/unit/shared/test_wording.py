"""Texts that know how they were made: English as they are, and by their parts."""

import copy
import pickle
from datetime import UTC, datetime

import pytest

from shared.wire.wording import date, decimal, figure, joined, listed, plain, said, said_of, signed


def test_a_sentence_is_its_english_text() -> None:
    sentence = said("{name} meets {rule}.", name="The tree", rule=said("the four-fifths rule"))

    assert sentence == "The tree meets the four-fifths rule."
    assert sentence.template == "{name} meets {rule}."
    assert sentence.values["rule"] == "the four-fifths rule"


def test_braces_of_a_value_are_no_names() -> None:
    assert said("column {name}", name="{rule}") == "column {rule}"


@pytest.mark.parametrize("again", [copy.deepcopy, lambda text: pickle.loads(pickle.dumps(text))])  # noqa: S301 - its own
def test_a_copy_knows_its_parts(again: object) -> None:
    sentence = again(said("{share} of {people}", share=figure(0.5, 1, "percent"), people="all"))  # type: ignore[operator]

    assert sentence.template == "{share} of {people}"
    assert sentence.values["share"].value == 0.5


@pytest.mark.parametrize(("number", "words"), [(0, "0 rules"), (1, "1 rule"), (1234, "1\u202f234 rules")])
def test_one_thing_and_several(number: int, words: str) -> None:
    assert said_of(number, "{number} rule", "{number} rules") == words


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (figure(-1234567.4), "\N{MINUS SIGN}1\u202f234\u202f567"),
        (figure(0.8123, 1, "percent"), "81.2\u202f%"),
        (figure(-0.25, 3, "decimal"), "\N{MINUS SIGN}0.250"),
        (figure(-0.0004, 3, "decimal"), "0.000"),
        (plain(0.075), "0.075"),
        (plain(-2.0), "\N{MINUS SIGN}2"),
        (plain(1234.5678, 3), "1.23e+03"),
        (plain(-1e-7), "\N{MINUS SIGN}1e\N{MINUS SIGN}07"),
        (decimal("0.000000001"), "0.000000001"),
        (decimal("999.999999999"), "999.999999999"),
        (signed(figure(0.12, 2, "decimal")), "+0.12"),
        (signed(figure(-0.12, 2, "decimal")), "\N{MINUS SIGN}0.12"),
        (signed(figure(0.0001, 2, "decimal")), "0.00"),
        (signed(figure(0.0, 0, "percent")), "0\u202f%"),
        (signed(figure(0.1, 0, "percent")), "+10\u202f%"),
        (signed(plain(1e-7)), "1e\N{MINUS SIGN}07"),
        (signed(said("undefined")), "undefined"),
        (date(datetime(2026, 3, 4, 5, 6, tzinfo=UTC)), "4 March 2026"),
        (date(datetime(2026, 3, 4, 5, 6, tzinfo=UTC), time=True), "4 March 2026, 05:06 UTC"),
        (listed([]), ""),
        (listed(["a"]), "a"),
        (listed(["a", "b", "c"]), "a, b and c"),
        (listed(["a", "b"], "or"), "a or b"),
        (joined(["a.", "b."]), "a. b."),
    ],
)
def test_figures_dates_and_lists_in_english(made: str, words: str) -> None:
    assert made == words
