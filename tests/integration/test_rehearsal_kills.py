"""A holder killed at any step of publishing a rehearsal: published again it is whole, and nothing is charged."""

from pathlib import Path
from typing import Final

import pytest

from checks.kills import Step, killed_at
from holder_service.storage import datasets
from testing.holders import TestedHolder, stopped_holder
from testing.registers import plan

_STORAGE: Final = "holder_service.storage"
_COMMIT: Final = "sqlalchemy.engine.default.DefaultDialect.do_commit"
NAME: Final = "register-rehearsal"
STEPS: Final = (
    Step("population entered", f"{_STORAGE}.ledger.append"),
    Step("commit of the declaration begins", _COMMIT, "call"),
    Step("declaration committed", _COMMIT),
    Step("declaration anchored", f"{_STORAGE}.anchor.Anchor.advance"),
    Step("people invented", "holder_service.records.invented.write_invented"),
    Step("people encoded", "holder_service.records.local_engine.LocalEngine.load"),
    Step("commit of the version begins", _COMMIT, "call", which=2),
    Step("version committed", _COMMIT, which=2),
    Step("version anchored", f"{_STORAGE}.anchor.Anchor.advance", which=2),
)
SOME: Final = tuple(STEPS[index] for index in (2, 7))


def published_until_killed(stopped: TestedHolder, step: Step) -> None:
    """Have a holder publish a rehearsal that dies at a step of it."""
    with killed_at(stopped, step) as holder:
        holder.admin("POST", "/datasets/register/rehearsal", json={"people": 400})


def require_whole(stopped: TestedHolder) -> None:
    """What is there says that it is a rehearsal, no file is there that nothing names, and it is published again."""
    with stopped.reopened() as holder:
        assert holder.is_intact()
        before = [one["name"] for one in holder.auditor("GET", "/datasets").json()["datasets"]]
        if NAME in before:
            assert holder.auditor("GET", f"/datasets/{NAME}").json()["rehearsal"]["of"] == "register"
        named = holder.holder.store.look_up(datasets.files)
        files = holder.holder.files
        assert {path.name for folder in (files.records, files.people) for path in folder.iterdir()} <= named
        assert not [*files.incoming.iterdir()]

        again = holder.admin("POST", "/datasets/register/rehearsal", json={"people": 400})

        assert again.status_code == 201, again.text
        release = holder.release(plan(epsilon="10"), dataset=NAME).json()
        assert (release["version"], release["charge"]["epsilon"]) == (again.json()["version"], "0")
        counted = [count for cell in release["batches"][0]["cells"] for count in cell["counts"]]
        assert abs(sum(counted) - 400) < 20
        about = [entry for entry in holder.entries() if entry.get("population") == NAME]
        assert {entry["detail"]["rehearsal_of"] for entry in about} == {"register"}
        assert holder.spent() == "0"
        assert holder.is_intact()


@pytest.mark.slow
@pytest.mark.parametrize("step", SOME, ids=lambda step: step.name)
def test_killed_at_some_steps_a_rehearsal_is_published_again(tmp_path: Path, postgres_url: str, step: Step) -> None:
    stopped = stopped_holder(tmp_path, postgres_url)

    published_until_killed(stopped, step)

    require_whole(stopped)


@pytest.mark.statistical
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_killed_at_every_step_a_rehearsal_is_published_again(tmp_path: Path, database_url: str, step: Step) -> None:
    stopped = stopped_holder(tmp_path, database_url)

    published_until_killed(stopped, step)

    require_whole(stopped)
