"""The client takes a watch's noise only as its price buys it: of new watches, and of those recorded before."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from auditor_client.errors import HolderLied
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.watch_verification import check_watch_quote
from holder_service.mechanisms.sparse_vector import SparseVectorMechanism
from shared.contract.datasets import DatasetDescription
from shared.kinds.watches import Watch, WatchNoise, WatchQuote

RECORDED: Final = Path(__file__).parents[2] / "contract" / "v1-watches"


def quoted(
    noise: Callable[[int], WatchNoise] | None = None, **changes: Any
) -> tuple[WatchQuote, Watch, RequestContext]:
    """A recorded watch with its quote; or with other noise, by its ε in units of 10⁻⁹, of which some is changed."""
    sent = json.loads((RECORDED / "watches.jsonl").read_text().splitlines()[0])
    quote = WatchQuote.model_validate_json((RECORDED / "watch-quotes.jsonl").read_text().splitlines()[0])
    datasets = map(DatasetDescription.model_validate, json.loads((RECORDED / "datasets.json").read_text()))
    dataset = next(one for one in datasets if one.name == quote.dataset)
    watch = Watch.model_validate(sent["sent"])
    named = quote.noise if noise is None else noise(watch.charge.epsilon_nano)
    said = WatchNoise.model_validate({**named.model_dump(), **changes})
    return quote.model_copy(update={"noise": said}), watch, RequestContext.of(dataset, "ADR")


def one_sided(epsilon_nano: int) -> WatchNoise:
    return SparseVectorMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1).noise


def two_sided(epsilon_nano: int) -> WatchNoise:
    return SparseVectorMechanism.two_sided(epsilon_nano=epsilon_nano, sensitivity=1).noise


@pytest.mark.parametrize("noise", [None, one_sided, two_sided])
def test_noise_that_epsilon_buys_is_taken(noise: Callable[[int], WatchNoise] | None) -> None:
    check_watch_quote(*quoted(noise))


@pytest.mark.parametrize(
    ("noise", "changes"),
    [
        (one_sided, {"shift": 0}),
        (one_sided, {"threshold": {"distribution": "one_sided_geometric", "scale": 10}}),
        (one_sided, {"number": {"distribution": "one_sided_geometric", "scale": 8}}),
        (one_sided, {"number": {"distribution": "discrete_laplace", "scale": 2 / 0.175}}),
        (two_sided, {"shift": 2}),
        (two_sided, {"threshold": {"distribution": "one_sided_geometric", "scale": 10}}),
        (two_sided, {"number": {"distribution": "discrete_laplace", "scale": 2 / 0.15, "terms": 2}}),
        (lambda epsilon_nano: one_sided(2 * epsilon_nano), {}),
        (lambda epsilon_nano: two_sided(2 * epsilon_nano), {}),
    ],
)
def test_other_noise_is_not(noise: Callable[[int], WatchNoise], changes: dict[str, Any]) -> None:
    with pytest.raises(HolderLied, match=r"noise|margin is shifted"):
        check_watch_quote(*quoted(noise, **changes))
