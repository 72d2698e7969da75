"""A holder that a whole file of tests shares: for tests that leave it as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor_client import Auditor
from testing.holders import TestedHolder


@pytest.fixture(scope="module")
def lasting_holder(set_up_holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """One holder with the small register for all tests of a file, on SQLite."""
    with set_up_holder.copied(tmp_path_factory.mktemp("lasting")) as tested:
        yield tested


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def lasting_holders(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """The same, once on SQLite and once on PostgreSQL: for what the database might take amiss."""
    if request.param == "sqlite":
        yield request.getfixturevalue("lasting_holder")
        return
    with request.getfixturevalue("copy_on_postgres")(tmp_path_factory.mktemp("lasting")) as tested:
        yield tested


@pytest.fixture
def unmoved_holder(lasting_holder: TestedHolder) -> Iterator[TestedHolder]:
    """The shared holder, for tests that may change nothing: neither the ledger's head nor what was spent."""
    before = lasting_holder.auditor("GET", "/ledger/head").json(), lasting_holder.spent()

    yield lasting_holder

    assert (lasting_holder.auditor("GET", "/ledger/head").json(), lasting_holder.spent()) == before


@pytest.fixture
def auditor(holder: TestedHolder, tmp_path: Path) -> Iterator[Auditor]:
    """The auditor of a file's own holder."""
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as asking:
        yield asking
