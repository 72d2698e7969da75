"""Plain English: constructions that readers stumble over do not come back."""

from collections import Counter

import pytest

from checks.plain_english import accepted, counts, excess, hits_of_docs, hits_of_source


def test_no_file_or_room_has_more_hits_than_are_accepted() -> None:
    assert list(excess(counts(), accepted())) == []


@pytest.mark.parametrize(
    ("planted", "kind"),
    [
        ('raise ValueError("The body is no admissible JSON")', "text"),
        ('raise ValueError(f"{x}: whoever asks says what for")', "text"),
        ('def f():\n    """What a plan costs."""', "docstring"),
        ('def f():\n    """Return it.\n\n    Raises:\n        NotFound: There is none.\n    """', "docstring"),
        ("for one in groups: ...", "name"),
        ("def f(asked): ...", "name"),
    ],
)
def test_a_planted_construction_is_found(planted: str, kind: str) -> None:
    assert [name for name, hits in hits_of_source(planted).items() if hits] == [kind]


def test_plain_source_has_no_hits() -> None:
    source = (
        'def cost(plan):\n    """Return the cost."""\n    raise ValueError("The body is not valid JSON. Resend it.")'
    )

    assert not any(hits_of_source(source).values())


def test_prose_is_read_and_code_is_not() -> None:
    assert hits_of_docs("Undecided is no pass.\n`auditor mend` and <!-- held by is no -->\n```\nis no\n```\n") == [
        "is no"
    ]


def test_a_new_hit_is_a_fault_and_a_removed_one_is_not() -> None:
    limits = Counter({"docs docs/limits.md": 2})

    assert list(excess(Counter({"docs docs/limits.md": 2}), limits)) == []
    assert [line.split(":")[0] for line in excess(Counter({"docs docs/limits.md": 3}), limits)] == [
        "docs docs/limits.md"
    ]
    assert [line.split(":")[0] for line in excess(Counter({"text shared/new.py": 1}), limits)] == ["text shared/new.py"]
