"""Each sentence of the guarantee and the limits names what holds it, and that exists: `python -m checks.promises`."""

import pytest

from checks.promises import all_blocks, blocks_of, exists, faults_of, sentences_of

HELD = "tests/unit/test_promises.py::test_each_sentence_names_what_holds_it"
PAGE = f"""# A title

**Short.** The first one holds. The second, by `x`,
goes on.
<!-- held by
The first one: {HELD}; python -m checks.kills
The second: - advice
-->

| a | b |
|---|---|
| 1 | 2 |
<!-- held by
a: ./run test
-->
"""


def faults(text: str) -> list[str]:
    """All faults of a page's text."""
    return [fault for block in blocks_of("page.md", text) for fault in faults_of(block)]


def test_each_sentence_names_what_holds_it() -> None:
    blocks = all_blocks()

    assert [fault for block in blocks for fault in faults_of(block)] == []
    assert sum(len(block.sentences) for block in blocks) > 200


@pytest.mark.parametrize(
    ("text", "planted", "fault"),
    [
        ("goes on.\n", "goes on. A third is held by nothing.\n", "3 sentences, and 2 lines"),
        ("The second: - advice\n", "", "2 sentences, and 1 lines"),
        ("<!-- held by\na: ./run test\n-->\n", "", "no `<!-- held by` comment"),
        ("<!-- held by\nThe first", "<!--\nThe first", "no `<!-- held by` comment"),
        ("test_each_sentence_names_what_holds_it", "test_each", "does not exist"),
        ("test_promises.py", "test_no_promises.py", "does not exist"),
        ("checks.kills", "checks.kisses", "does not exist"),
        ("./run test", "./run tests", "does not exist"),
        ("- advice", "- hope", "does not exist"),
        ("The second: - advice", "The second:", "nothing is said to hold"),
        ("The second: - advice", "The third: - advice", "is not about"),
    ],
)
def test_a_sentence_that_nothing_holds_is_found(text: str, planted: str, fault: str) -> None:
    assert faults(PAGE) == []

    found = faults(PAGE.replace(text, planted))

    assert len(found) >= 1
    assert fault in " ".join(found)


def test_a_text_is_split_at_the_ends_of_its_sentences() -> None:
    text = '**Title.** One [link](a.b) is 1.5, e.g. this. "Two" ends? δ is\nthree. **Four** goes to et al. Five'

    assert sentences_of(text) == (
        "One link is 1.5, e.g. this.", '"Two" ends?', "δ is three.", "**Four** goes to et al. Five",
    )  # fmt: skip


def test_a_reason_is_no_test() -> None:
    assert exists("- advice")
    assert not exists("advice")
    assert not exists("- open")
    assert not exists("a test of ours")
    assert not exists("rm")
