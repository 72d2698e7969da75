"""The page of a watch says how far the change has to be for few false alarms and few misses, and that is so."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from auditor_client.estimation.watch_rates import WatchRates
from auditor_client.report.watch_data import watch_data, watch_document
from auditor_client.report.watch_gaps import KeptWatch
from holder_service.mechanisms.sparse_vector import SparseVectorMechanism
from shared.contract.datasets import DatasetDescription
from shared.kinds.watches import WatchNoise, WatchRelease

RECORDED: Final = Path(__file__).parents[2] / "contract" / "v1-watches"
NOISES: Final = {
    "as recorded": None,
    "one-sided": SparseVectorMechanism.calibrated(epsilon_nano=250_000_000, sensitivity=1).noise,
}


def shown(noise: WatchNoise | None, margin: int) -> tuple[dict[str, str], dict[str, Any], WatchRates]:
    """A recorded watch of another margin: the facts of its page, its document, and its chances."""
    report = json.loads((RECORDED / "watch-reports.jsonl").read_text().splitlines()[0])
    release = WatchRelease.model_validate(report["watch"])
    datasets = map(DatasetDescription.model_validate, json.loads((RECORDED / "datasets.json").read_text()))
    dataset = next(one for one in datasets if one.name == release.dataset)
    watch = release.watch.model_copy(update={"margin": margin})
    kept = KeptWatch(release.model_copy(update={"watch": watch, "noise": noise or release.noise}), ())
    facts = {fact.term: fact.text for fact in watch_data(dataset, kept, pending=None, due=None).facts}
    document = watch_document(kept, current=1, pending=None, due=None)
    return facts, document, WatchRates(kept.release.noise, margin)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("margin", [-500, -30, 0, 30, 500])
def test_the_sentences_are_what_the_noise_gives(name: str, margin: int) -> None:
    facts, document, rates = shown(NOISES[name], margin)

    alarms = re.fullmatch(
        r"At most 5\s% in 12 versions(?:, where the other verdict is at least (\d+) people away"
        r"| while the verdict holds)",
        facts["False alarms"],
    )
    missed = re.fullmatch(
        r"At most 5\s% for one answer, where (?:the records are at least (\d+) people beyond the change|the other "
        r"verdict is at most (\d+) people away)",
        facts["Missed changes"],
    )
    assert alarms is not None
    assert missed is not None
    safe = int(alarms[1] or 1)
    sure = -int(missed[1]) if missed[1] else int(missed[2])
    assert rates.false_alarm(safe, 12) <= 0.05
    assert safe == 1 or rates.false_alarm(safe - 1, 12) > 0.05
    assert rates.miss(sure) <= 0.05 < rates.miss(sure + 1)
    assert document["misses"] == {"chance": 0.05, "versions": 1, "distance": sure}
    assert max(document["false_alarms"]["distance"], 1) == safe


def test_noise_on_both_sides_needs_more_people() -> None:
    (_, before, _), (_, now, _) = (shown(noise, 0) for noise in NOISES.values())

    assert now["false_alarms"]["distance"] < 0.85 * before["false_alarms"]["distance"]
    assert now["misses"]["distance"] > 0.85 * before["misses"]["distance"]
