"""A quote of a refinement is believed at the difference alone, and only beside the release that is refined."""

import json
from pathlib import Path
from typing import Final

import pytest

from auditor_client.errors import HolderLied
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS
from shared.contract.datasets import DatasetDescription
from shared.kinds.plans import Plan, Quote
from shared.kinds.releases import Release
from shared.privacy.amounts import Loss

RECORDED: Final = Path(__file__).parents[2] / "contract" / "v1-refining"


def lines(name: str) -> list[bytes]:
    return (RECORDED / name).read_bytes().splitlines()


@pytest.fixture
def chain() -> list[tuple[Quote, Release]]:
    """A recorded chain of three, each with its quote; two batches, of which the second keeps its ε."""
    asked = zip(lines("quotes.jsonl"), lines("releases.jsonl"), strict=True)
    found = [(Quote.model_validate_json(quote), Release.model_validate_json(release)) for quote, release in asked]
    return [(quote, release) for quote, release in found if release.batches[0].name == "loose"]


@pytest.fixture
def dataset() -> DatasetDescription:
    [described] = (one for one in json.loads((RECORDED / "datasets.json").read_text()) if one["name"] == "fixed-size")
    return DatasetDescription.model_validate(described)


def check(quote: Quote, plan: Plan, dataset: DatasetDescription, refined: Release | None) -> None:
    PLANS.priced(plan, quote, RequestContext.of(dataset, "ADR", refined))


def test_each_link_is_charged_the_difference(chain: list[tuple[Quote, Release]], dataset: DatasetDescription) -> None:
    (_, first), (second_quote, second), (third_quote, third) = chain

    check(second_quote, second.plan, dataset, first)
    check(third_quote, third.plan, dataset, second)

    assert [release.charge.epsilon_nano for _, release in chain] == [150_000_000, 50_000_000, 150_000_000]
    assert third.loss == Loss(350_000_000)
    assert third.batches[1].cells == first.batches[1].cells


def test_a_quote_that_charges_the_whole_is_refused(
    chain: list[tuple[Quote, Release]], dataset: DatasetDescription
) -> None:
    (_, first), (quote, second), _ = chain

    with pytest.raises(HolderLied, match="come to"):
        check(quote.model_copy(update={"charge": second.loss}), second.plan, dataset, first)


def test_another_release_than_the_one_that_is_refined_says_nothing(
    chain: list[tuple[Quote, Release]], dataset: DatasetDescription
) -> None:
    (_, first), (_, second), (quote, third) = chain

    for other in (first, third, None):
        with pytest.raises(ValueError, match="with that release"):
            check(quote, third.plan, dataset, other)
    assert second.id == third.plan.refines
