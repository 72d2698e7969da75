"""What a language makes of texts: its catalogue's templates, and the figures, dates and lists of its place."""

from datetime import UTC, datetime

import pytest
from babel import Locale
from markupsafe import Markup

from auditor_client.errors import QuestionRefused
from auditor_client.report.languages import Language
from auditor_client.text import loss_words
from shared.privacy.amounts import Loss
from shared.wire.wording import date, figure, joined, listed, said, said_of, signed

GERMAN = Language(
    "de",
    Locale("de"),
    {
        "{name} meets {rule}.": ("{name} erfüllt {rule}.",),
        "the four-fifths rule": ("die Vier-Fünftel-Regel",),
        "{number} rule": ("{number} Regel", "{number} Regeln"),
    },
)
WHEN = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            said("{name} meets {rule}.", name="X", rule=said("the four-fifths rule")),
            "X erfüllt die Vier-Fünftel-Regel.",
        ),
        (said("{name} has no words here.", name=figure(0.5, 1, "percent")), "50,0\u00a0% has no words here."),
        (said_of(1, "{number} rule", "{number} rules"), "1 Regel"),
        (said_of(1234, "{number} rule", "{number} rules"), "1.234 Regeln"),
        (figure(0.8123, 1, "percent"), "81,2\u00a0%"),
        (figure(-0.25, 3, "decimal"), "-0,250"),
        # As in English: 0.7995 is a little less than half way from 0.799 to 0.800, and 2.675 % than from 2.67 to 2.68.
        (figure(0.7995, 3, "decimal"), "0,799"),
        (figure(0.02675, 2, "percent"), "2,67\u00a0%"),
        (signed(figure(0.25, 2, "decimal")), "+0,25"),
        (signed(figure(-0.001, 2, "decimal")), "0,00"),
        (loss_words(Loss(epsilon_nano=500_000_000, delta_nano=1000)), "ε = 0,5, δ = 0,000001"),
        (date(WHEN), "4. März 2026"),
        (date(WHEN, time=True), "4. März 2026, 05:06 UTC"),
        (listed(["a", "b", figure(1234)]), "a, b und 1.234"),
        (listed(["a", "b"], "or"), "a oder b"),
        (joined([figure(0.5, 0, "percent"), "b"], "; "), "50\u00a0%; b"),
        ("a name", "a name"),
        (17, 17),
    ],
)
def test_what_is_said_in_german(text: object, words: object) -> None:
    assert GERMAN.say(text) == words


def test_english_is_said_as_it_is_written() -> None:
    text = said(
        "{share} of {people}, {when}: {names}",
        share=figure(0.5, 1, "percent"),
        people=figure(1234),
        when=date(WHEN),
        names=listed(["a", "b", "c"]),
    )

    assert Language.of("en").say(text) == text


def test_markup_within_a_sentence_stays_and_names_are_escaped() -> None:
    text = said("{name} meets {rule}.", name=Markup("<bdi>f</bdi>"), rule="<script>")

    assert GERMAN.say(text) == Markup("<bdi>f</bdi> erfüllt &lt;script&gt;.")


def test_there_is_no_other_language() -> None:
    with pytest.raises(QuestionRefused, match="'tlh' is no language"):
        Language.of("tlh")
