"""Hostile score documents are refused; what is admitted is computed as the reference says."""

import pytest

from checks.score_documents import by_hand, fuzz, refused

HOSTILE = dict(by_hand())


@pytest.mark.slow
def test_documents_changed_at_random_are_refused_or_computed_right() -> None:
    tried = fuzz(300, seed=11)

    assert not tried.failures
    assert tried.ends["computed"] > 20
    assert tried.ends["refused as it is read"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_document_that_would_hurt_is_refused(name: str) -> None:
    assert refused(HOSTILE[name]())
