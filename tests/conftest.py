"""What all tests share: the public data, and a fresh database of either kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pafer_demo.open_data import data_directory
from tests.postgres import PostgresServer, running_server


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
