"""A watch that was set when both noises were discrete Laplace goes on with that noise, until it says "changed".

The home was recorded by the code of that time (tests/contract/homes.py).
"""

import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from auditor_client import Auditor
from holder_service.cli import app
from holder_service.keys.watch_seals import SealedState
from holder_service.services.accounts.populations import relation_of
from holder_service.services.releases import watching
from holder_service.services.releases.priced_watch import PricedWatch
from holder_service.settings.holder import Settings
from holder_service.storage import datasets, ledger, watches
from shared.kinds.watches import WatchRelease
from testing.holders import TestedHolder, opened
from testing.waits import wait_until

ARCHIVE: Final = Path(__file__).parents[1] / "contract" / "home-two-sided-watch.tar.gz"


@pytest.fixture
def before(tmp_path: Path) -> Iterator[TestedHolder]:
    """The recorded home, upgraded and served."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="tar")
    clean = {name: None for name in os.environ if name.startswith("HOLDER_")}
    given = {"HOLDER_HOME": str(tmp_path / "home"), "HOLDER_RELEASE_QUANTUM_MS": "0"}
    CliRunner().invoke(app, ["init"], env={**clean, **given})  # adds what later releases need; refused if nothing is
    keys = json.loads((tmp_path / "keys.json").read_text())
    with opened(Settings.from_environment(given), keys["administrator"], keys["auditor"]) as holder:
        yield holder


def test_it_is_read_and_verified_and_goes_on_with_the_noise_that_it_was_set_with(
    before: TestedHolder, tmp_path: Path
) -> None:
    recorded = json.loads((tmp_path / "watch.json").read_text())
    path = f"/datasets/loans/watches/{recorded['watch']['id']}"

    def now() -> dict[str, Any]:
        document: dict[str, Any] = before.auditor("GET", path).json()
        return document

    before.load((tmp_path / "people.csv").read_bytes(), "loans").raise_for_status()
    wait_until(lambda: len(now()["answers"]) == 2)

    assert now()["watch"] == recorded["watch"]
    assert now()["answers"][0] == recorded["answers"][0]
    assert now()["skipped"] == []
    assert before.spent(dataset="loans") == "1"
    assert before.is_intact()
    with Auditor(before.url, before.auditor_key, receipts=tmp_path / "receipts") as auditor:
        [watched] = auditor.watches("loans")
        assert auditor.verify().ok
    assert [answer.watch_answer.changed for answer in watched.answers] == [False, False]
    assert {recorded["watch"]["noise"][name]["distribution"] for name in ("threshold", "number")} == {
        "discrete_laplace"
    }
    again = before.auditor("POST", "/datasets/loans/watches", json=recorded["watch"]["watch"])
    assert (again.status_code, again.json()) == (200, recorded["watch"])


def test_an_answer_is_drawn_with_its_own_noise(before: TestedHolder, tmp_path: Path) -> None:
    """The margin is set to the true distance: one-sided noise says "changed" always, and discrete Laplace noise of
    this scale in 57 of 100 draws. Forty draws agree by chance less than once in 10⁹.
    """
    holder, identity = before.holder, json.loads((tmp_path / "watch.json").read_text())["watch"]["id"]
    stored = holder.store.look_up(watches.find, identity)
    assert stored is not None
    priced = priced_again(
        before, WatchRelease.model_validate(json.loads((tmp_path / "watch.json").read_text())["watch"])
    )
    sealed = holder.seals.seal(identity, SealedState(priced.distance(holder.engine), changed=False))

    drawn = [
        watching.draw(holder.store, replace(stored, version=1, sealed=sealed), engine=holder.engine, seals=holder.seals)
        for _ in range(40)
    ]

    assert {one.changed for one in drawn if isinstance(one, watching.DrawnAnswer)} == {True, False}
    assert all(isinstance(one, watching.DrawnAnswer) for one in drawn)


def test_its_noise_is_as_signed_and_a_new_watch_has_one_sided_noise(before: TestedHolder, tmp_path: Path) -> None:
    signed = WatchRelease.model_validate(json.loads((tmp_path / "watch.json").read_text())["watch"])

    old, new = priced_again(before, signed), priced_again(before, signed, is_new=True)

    assert old.mechanism.noise == signed.noise
    assert new.mechanism.noise.is_one_sided
    assert old.charge == new.charge


def priced_again(holder: TestedHolder, signed: WatchRelease, *, is_new: bool = False) -> PricedWatch:
    """The watch that was signed; with the noise of its time, or as it would be set now."""
    with holder.holder.store.database.read() as connection:
        dataset = datasets.find_dataset(connection, signed.dataset)
        assert dataset is not None
        relation = relation_of(connection, dataset)
        terms = ledger.population_balance(connection, dataset.population).terms
    set_with = None if is_new else signed.noise
    return PricedWatch.of(signed.watch, dataset, relation, terms=terms, set_with=set_with)
