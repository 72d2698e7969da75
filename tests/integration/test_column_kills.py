"""A holder killed at any step of making or linking a column: it is there as a whole, or it is not there."""

from pathlib import Path
from typing import Final

import pytest

from checks.kills import Step, killed_at
from holder_service.storage import columns
from testing.holders import TestedHolder, stopped_holder
from testing.registers import linked_column, linked_values, plan, register_csv

_SERVICE: Final = "holder_service.services"
_STORAGE: Final = "holder_service.storage"
_COMMIT: Final = "sqlalchemy.engine.default.DefaultDialect.do_commit"
VALUES: Final = linked_values(register_csv())
STEPS: Final = (
    Step("read", f"{_SERVICE}.work.apart.Apart.run_for"),
    Step("column written", f"{_STORAGE}.columns.add"),
    Step("entry written", f"{_STORAGE}.ledger.append"),
    Step("commit begins", _COMMIT, "call"),
    Step("committed", _COMMIT),
    Step("anchored", f"{_STORAGE}.anchor.Anchor.advance"),
    Step("values received", f"{_SERVICE}.columns.columns.link", "call"),
    Step("values read", f"{_SERVICE}.work.apart.Apart.run_for", which=2),
    Step("values named", f"{_STORAGE}.columns.change"),
    Step("commit of values begins", _COMMIT, "call", which=2),
    Step("values committed", _COMMIT, which=2),
    Step("making begins", f"{_SERVICE}.columns.preparation.Preparation._make", "call"),
    Step("made", f"{_SERVICE}.columns.preparation.Preparation._make"),
)
SOME: Final = tuple(step for step in STEPS if step.name in ("committed", "values read", "making begins"))
"""After each nothing has answered yet, and something is there that nobody names, or is named and not there."""


def linked_until_killed(stopped: TestedHolder, step: Step) -> None:
    """Make and link a column at a holder that dies at a step."""
    with killed_at(stopped, step) as holder:
        column = holder.derive(linked_column(VALUES)).json()["id"]
        holder.link(VALUES, column)
        holder.await_columns(timeout_s=120)


def require_whole(stopped: TestedHolder) -> None:
    """What is there is whole, no file is there that nothing names, and what is asked again is complete."""
    with stopped.reopened() as holder:
        assert holder.is_intact()
        named = holder.holder.store.look_up(columns.files)
        for folder in (holder.settings.linked, holder.settings.incoming):
            assert {path.name for path in folder.glob("*")} <= named
        made = holder.derive(linked_column(VALUES))
        assert made.status_code in (200, 201)
        assert holder.link(VALUES, made.json()["id"]).status_code == 200
        holder.await_columns()
        kinds = [entry["kind"] for entry in holder.entries()]
        assert kinds.count("column") == 1
        cell = {"id": "sent", "all_of": [{"column": "decision", "op": "not_missing"}]}
        asked = plan(cells=[cell], columns={"decision": made.json()["id"]}, epsilon="10")
        [counts] = [cell["counts"] for cell in holder.release(asked).json()["batches"][0]["cells"]]
        assert abs(sum(counts) - 300) <= 20
        assert holder.is_intact()


@pytest.mark.slow
@pytest.mark.parametrize("step", SOME, ids=lambda step: step.name)
def test_killed_at_some_steps_a_column_is_whole_or_not_there(tmp_path: Path, step: Step) -> None:
    stopped = stopped_holder(tmp_path)

    linked_until_killed(stopped, step)

    require_whole(stopped)


@pytest.mark.slow
@pytest.mark.postgres
def test_killed_behind_a_commit_of_postgresql_a_column_is_whole(tmp_path: Path, postgres_url: str) -> None:
    stopped = stopped_holder(tmp_path, postgres_url)
    (committed,) = (step for step in STEPS if step.name == "values committed")

    linked_until_killed(stopped, committed)

    require_whole(stopped)


@pytest.mark.statistical
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_killed_at_every_step_a_column_is_whole_or_not_there(tmp_path: Path, database_url: str, step: Step) -> None:
    stopped = stopped_holder(tmp_path, database_url)

    linked_until_killed(stopped, step)

    require_whole(stopped)
