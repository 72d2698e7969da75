"""Words: one concept has one name, and the glossary's words to avoid are in no identifier."""

import pytest

from checks.words import (
    PRODUCT,
    avoided_entries,
    avoided_identifiers,
    classes_named_twice,
    glossary_rows,
    identifiers,
    names_in_code,
    public_classes,
    sources_of,
)


@pytest.mark.slow
def test_no_word_to_avoid_is_an_identifier() -> None:
    assert avoided_identifiers(sources_of(), avoided_entries()) == []


@pytest.mark.slow
def test_no_class_name_has_two_meanings() -> None:
    twice = classes_named_twice(sources_of([f"{package}/" for package in PRODUCT]))

    assert twice == {}


def test_every_row_of_the_glossary_has_term_meaning_code_and_words_to_avoid() -> None:
    rows = glossary_rows()

    assert 40 < len(rows) <= 60
    assert {len(row) for row in rows} == {4}
    assert {"place", "told", "moment", "twin"} <= set(avoided_entries())


@pytest.mark.slow
def test_every_name_of_the_glossary_is_in_the_code() -> None:
    defined = {
        name for text in sources_of([f"{package}/" for package in PRODUCT]).values() for name, _ in identifiers(text)
    }

    assert names_in_code() - defined == set()


def test_the_index_of_classes_has_each_public_class_with_its_sentence() -> None:
    source = 'class Plan:\n    """What an auditor\n    asks.\n\n    More."""\nclass _Part: ...'

    assert public_classes({"shared/sample.py": source}) == [("Plan", "What an auditor asks.", "shared/sample.py")]


@pytest.mark.parametrize(
    "planted",
    [
        "def read_places(): ...",
        "class PlaceOf: ...",
        "def read(*, place): ...",
        "for place, x in []: ...",
        "x.place = 1",
        "import json as places",
        "lambda _place: 0",
        "if (told := 1): ...",
        "with x as told: ...",
        "try: ...\nexcept ValueError as told: ...",
    ],
)
def test_a_planted_word_is_found_wherever_a_name_is_defined(planted: str) -> None:
    """The negative control."""
    found = avoided_identifiers({"shared/sample.py": planted}, avoided_entries())

    assert [one.word for one in found] in (["place"], ["places"], ["told"])


def test_words_are_whole_and_a_backticked_entry_is_a_whole_identifier() -> None:
    source = "replaced = placeholder = message = Message = on_message = 1"

    found = avoided_identifiers({"shared/place.py": source}, ["place", "`Message`"])

    assert [one.identifier for one in found] == ["place", "Message"]


def test_a_class_name_with_two_meanings_is_found_and_a_problem_of_both_parties_is_none() -> None:
    """The negative control."""
    both = {
        "auditor_client/errors.py": "class Forbidden: ...",
        "holder_service/domain/errors.py": "class Forbidden: ...",
    }

    found = classes_named_twice({**both, "shared/a.py": "class Line: ...", "shared/b.py": "class Line: ..."})

    assert found == {"Line": ["shared/a.py", "shared/b.py"]}
