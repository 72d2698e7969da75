"""What all tests share: the public data, a fresh database of either kind, and a real holder on it.

The holder's stack is imported by the fixtures that need it: a unit test of the client starts without it.
"""

import signal
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, settings

from pafer_demo.open_data import data_directory
from testing.http_clients import AUTHORITIES
from testing.postgres import PostgresServer, running_server
from testing.shares import Share
from testing.simulated_holder import SimulatedHolder, simulated_holder

if TYPE_CHECKING:
    from testing.holders import TestedHolder


SHARE = pytest.StashKey[Share]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run take a share of the tests: `--share 2/4` is every fourth, from the second on."""
    parser.addoption("--share", default="1/1", help="K/N: every Nth test, from the Kth on")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Whatever drives a browser is slow."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)  # of the tests that the other options leave
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of the share alone."""
    chosen = config.stash[SHARE].of(items)
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def pytest_configure(config: pytest.Config) -> None:
    """Let no test fail because the machine is busy, and undo what a shell does to a job in the background.

    Such a job ignores SIGINT, and so would the programs under test.
    """
    try:
        config.stash[SHARE] = Share.read(config.getoption("--share"))
    except ArgumentTypeError as error:
        raise pytest.UsageError(str(error)) from error
    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def open_data() -> Path:
    """The folder of the public data; a test that needs it is skipped where it is not."""
    directory = data_directory()
    if directory is None:
        pytest.skip("the public data are not here: set PAFER_DATA")
    return directory


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL server for the test run (for each worker of it)."""
    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database: a test that takes it runs once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holder.sqlite'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture(scope="session")
def set_up_holder(tmp_path_factory: pytest.TempPathFactory) -> "TestedHolder":
    """A stopped holder with a small register and an auditor, on SQLite: tests get copies of it."""
    from testing.holders import stopped_holder

    return stopped_holder(tmp_path_factory.mktemp("set-up"))


@pytest.fixture(scope="session")
def copy_on_postgres(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Callable[[Path], AbstractContextManager[TestedHolder]]]":
    """What makes a copy of the same on PostgreSQL, in a folder."""
    from testing.holders import stopped_holder

    with postgres_server.database() as set_up_url:
        set_up = stopped_holder(tmp_path_factory.mktemp("set-up"), set_up_url)

        @contextmanager
        def copy(home: Path) -> "Iterator[TestedHolder]":
            with (
                postgres_server.database(template=urlsplit(set_up_url).path.removeprefix("/")) as url,
                set_up.copied(home, url) as copied,
            ):
                yield copied

        yield copy


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def holder(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[TestedHolder]":
    """A real holder with a small register and an auditor; once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_holder")
        return
    with request.getfixturevalue("copy_on_postgres")(tmp_path) as tested:
        yield tested


@pytest.fixture
def sqlite_holder(set_up_holder: "TestedHolder", tmp_path: Path) -> "Iterator[TestedHolder]":
    """The same on SQLite alone, where the database makes no difference to what is tested."""
    with set_up_holder.copied(tmp_path) as copy:
        yield copy


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """One for all tests of a module."""
    with httpx.Client(verify=AUTHORITIES) as client:
        yield client


@pytest.fixture
def simulated() -> Iterator[SimulatedHolder]:
    with simulated_holder() as server:
        yield server


@pytest.fixture
def coarse_chances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few simulated audits say how likely a verdict is, in plans that are made for another reason."""
    monkeypatch.setattr("auditor_client.planning.forecasting.CHANCE_AUDITS_AT_ONCE", 10)
    monkeypatch.setattr("auditor_client.planning.forecasting.CHANCE_AUDITS_MAX", 10)
