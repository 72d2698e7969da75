"""A home of release 0.1.0, upgraded as docs/operations.md says: everything in it verifies, and nothing costs again."""

import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.errors import QuestionRefused
from auditor_client.exchange.receipts import Receipts
from holder_service.cli import app
from holder_service.services.running.holder import Holder, NotInitialised
from holder_service.services.running.publication import publication
from holder_service.settings.holder import Settings
from testing.holders import TestedHolder, opened
from testing.invented.questions import FOUR_LEAVES
from testing.refusals import refused
from testing.registers import plan

ARCHIVE: Final = Path(__file__).parents[1] / "contract" / "home-0.1.0.tar.gz"
RESERVED: Final = "loans-rehearsal"
"""What 0.1.0 let a dataset be called, and now only a rehearsal is."""


@dataclass(frozen=True)
class Upgraded:
    """What 0.1.0 left, and the holder that serves it now."""

    folder: Path
    holder: TestedHolder

    @property
    def before(self) -> dict[str, Any]:
        """What every reader saw at the end of 0.1.0."""
        seen: dict[str, Any] = json.loads((self.folder / "seen.json").read_text())
        return seen

    @property
    def receipts(self) -> Path:
        return self.folder / "receipts"

    @property
    def releases(self) -> list[dict[str, Any]]:
        """The releases that the auditor kept, as they were signed."""
        return [json.loads(path.read_bytes()) for path in self.receipts.glob("*.json") if path.name != "keys.json"]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    with upgrade(ARCHIVE, tmp_path_factory.mktemp("upgrade")) as home:
        yield home


@contextmanager
def upgrade(recorded: Path, folder: Path) -> Iterator[Upgraded]:
    """A recorded home, upgraded and served."""
    with tarfile.open(recorded) as archive:
        archive.extractall(folder, filter="tar")
    clean = {name: None for name in os.environ if name.startswith("HOLDER_")}
    given = {"HOLDER_HOME": str(folder / "home"), "HOLDER_RELEASE_QUANTUM_MS": "0"}
    settings = Settings.from_environment(given)
    with pytest.raises(NotInitialised, match="holder init"):
        Holder.open(settings)
    records = {path.name: path.read_bytes() for path in settings.records.iterdir()}

    made = CliRunner().invoke(app, ["init"], env={**clean, **given})

    assert made.exit_code == 0, made.output
    assert "keys go on" in made.stdout
    assert {path.name: path.read_bytes() for path in settings.records.iterdir()} == records
    keys = json.loads((folder / "keys.json").read_text())
    with opened(settings, keys["administrator"], keys["auditor"]) as holder:
        yield Upgraded(folder, holder)


def test_the_ledger_and_what_everybody_may_spend_are_as_they_were(upgraded: Upgraded) -> None:
    holder, before = upgraded.holder, upgraded.before

    verified = holder.admin("POST", "/ledger/verify").json()

    assert verified["reason"] is None
    assert (verified["entries"], verified["head"]) == (before["verified"]["entries"], before["verified"]["head"])
    _said_again(before["budgets"], holder.admin("GET", "/budgets").json())
    _said_again(before["keys"], holder.client.get("/v1/keys").json())
    for dataset, budget in before["budget"].items():
        _said_again(budget, holder.auditor("GET", f"/datasets/{dataset}/budget").json())


def test_releases_are_given_again_for_nothing(upgraded: Upgraded) -> None:
    releases = upgraded.releases
    before = upgraded.holder.entries()

    for kept in releases:
        again = upgraded.holder.release(kept["plan"], dataset=kept["dataset"])
        assert (again.status_code, again.json()) == (200, kept)

    assert {kept["version"] for kept in releases} == {1, 2}
    assert len({kept["key"] for kept in releases}) == 2
    assert upgraded.holder.entries() == before


def test_receipts_and_bundles_are_believed_and_computed_again(upgraded: Upgraded) -> None:
    with Auditor(upgraded.holder.url, upgraded.holder.auditor_key, receipts=upgraded.receipts) as auditor:
        checked = auditor.verify()
    bundles = sorted(upgraded.folder.glob("bundle-*.zip"))
    found = [check_bundle(bundle) for bundle in bundles]

    assert len(checked.checks) == len(upgraded.releases) == 5
    assert checked.ok
    assert [one.ok for one in found] == [True] * 4
    assert len(stored_history(Receipts(upgraded.receipts)).audits) == 5


@pytest.mark.parametrize("dataset", ["loans", "survey"])
def test_a_transparency_report_says_what_it_said(upgraded: Upgraded, dataset: str) -> None:
    published = json.loads((upgraded.folder / f"transparency-{dataset}.json").read_text())

    now = upgraded.holder.admin("GET", f"/datasets/{dataset}/report").json()

    assert published["releases"]
    for decision in published["decisions"]:
        decision.pop("what")  # in words, which are better now
    _said_again({name: value for name, value in published.items() if name not in ("made", "ledger", "meaning")}, now)


def test_once_its_records_are_loaded_again_a_new_audit_is_charged_on_top(upgraded: Upgraded, tmp_path: Path) -> None:
    """0.1.0 encoded records otherwise: until they are loaded again a new plan is refused, and nothing is charged."""
    holder = upgraded.holder
    spent = Decimal(holder.spent(dataset="loans"))
    refused(holder.release(plan(), dataset="loans"), "unavailable", holder=holder)

    loaded = holder.load((upgraded.folder / "people.csv").read_bytes(), "loans")
    with Auditor(holder.url, holder.auditor_key, receipts=upgraded.receipts) as auditor:
        audit = auditor.audit(FOUR_LEAVES, "loans", ["sex"], "0.125")
        bundle = write_bundle(tmp_path / "bundle.zip", [audit], auditor.receipts)
        checked = auditor.verify()

    assert loaded.json()["version"] == 3
    assert Decimal(holder.spent(dataset="loans")) == spent + Decimal("0.125")
    assert len(checked.checks) == 6
    assert checked.ok
    assert check_bundle(bundle).ok
    assert holder.is_intact()


def test_real_people_whose_dataset_is_named_like_a_rehearsal_stay_real_people(tmp_path: Path) -> None:
    """They are loaded, declared anew, asked at their price and retired; the planted fault refuses the declaration."""
    with upgrade(ARCHIVE.with_name("home-0.1.0-reserved-name.tar.gz"), tmp_path) as home:
        holder, people = home.holder, (tmp_path / "people.csv").read_bytes()
        [kept] = home.releases
        assert holder.release(kept["plan"], dataset=RESERVED).json() == kept

        assert holder.load(people, RESERVED).json()["version"] == 2
        declared = json.loads((tmp_path / "declared.json").read_text()) | {"records_max": 2000}
        again = holder.admin("PUT", f"/datasets/{RESERVED}", json=declared)
        other = holder.admin("PUT", "/datasets/other", json={**declared, "population": RESERVED})
        spent = Decimal(holder.spent(dataset=RESERVED))
        released = holder.release(plan(), dataset=RESERVED)
        rehearsals = [holder.admin("POST", f"/datasets/{name}/rehearsal", json={}) for name in ("loans", "other")]
        with Auditor(holder.url, holder.auditor_key, receipts=home.receipts) as auditor:
            with pytest.raises(QuestionRefused, match="publishes no rehearsal of 'loans'"):
                auditor.rehearse(FOUR_LEAVES, "loans", ["sex"], "0.125")
            described = auditor.dataset(RESERVED)
            verified = auditor.verify()

        assert (again.status_code, again.json()["version"], other.status_code) == (200, 2, 200)
        assert "its people are real" in again.json()["warnings"][0]
        assert released.json()["charge"]["epsilon"] == "0.1"
        assert Decimal(holder.spent(dataset=RESERVED)) == spent + Decimal("0.1")
        assert [one.status_code for one in rehearsals] == [409, 201]
        assert "under another name in the population 'loans'" in rehearsals[0].json()["detail"]
        assert described.rehearsal is None
        assert verified.ok
        assert publication(holder.holder.store, organisation=None, bundles=(), only=(RESERVED,), room=tmp_path).reports
        assert holder.admin("DELETE", "/datasets/loans").status_code == 204
        assert holder.release({**plan(), "draw": 2}, dataset=RESERVED).status_code == 201
        assert holder.admin("DELETE", f"/datasets/{RESERVED}").status_code == 204
        assert {one["population"] for one in holder.entries() if "rehearsal_of" in one["detail"]} == {"other-rehearsal"}
        assert holder.is_intact()


def _said_again(before: Any, now: Any) -> None:
    """Whether all that was said is said again; later releases say more."""
    if isinstance(before, dict):
        for name, value in before.items():
            _said_again(value, now[name])
    elif isinstance(before, list):
        assert len(now) == len(before)
        for one, other in zip(before, now, strict=True):
            _said_again(one, other)
    else:
        assert now == before
