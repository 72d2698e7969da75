"""Which engine a holder has, and that nothing of a cluster's is there without it."""

import subprocess
import sys
from pathlib import Path

import pytest

from holder_service.files.set_up_errors import InvalidSettings
from holder_service.records.local_engine import LocalEngine
from holder_service.records.person_keys import PersonSecret
from holder_service.services.running.holder import NotInitialised, open_engine
from holder_service.settings.holder import Settings
from testing.encoded_records import record_files
from testing.holders import settings_in


@pytest.mark.slow
def test_without_the_cluster_nothing_of_it_is_imported() -> None:
    code = (
        "import sys; import holder_service.app, holder_service.cli, holder_service.records.local_engine\n"
        "sys.exit(any(name.startswith(('pyspark', 'py4j', 'holder_service.records.spark')) for name in sys.modules))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_cluster_without_its_library_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.startswith("holder_service.records.spark.engine")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    files = record_files(tmp_path / "files", PersonSecret.forgotten())
    settings = settings_in(tmp_path)

    assert isinstance(open_engine(settings, files), LocalEngine)
    with pytest.raises(NotInitialised, match="spark"):
        open_engine(Settings(settings.home, settings.database_url, settings.anchor, engine="spark"), files)


def test_the_environment_names_engine_cluster_and_roots() -> None:
    environment = {
        "HOLDER_ENGINE": "spark", "HOLDER_SPARK_REMOTE": "sc://cluster:15002", "HOLDER_SPARK_STORE": "s3a://bucket/x",
        "HOLDER_RECORDS_ROOTS": "file:///srv/records register=s3a://bucket/in=a",
    }  # fmt: skip

    settings = Settings.from_environment(environment)

    assert settings.spark is not None
    assert (settings.spark.remote, settings.spark.store, settings.spark.ui) == (
        "sc://cluster:15002", "s3a://bucket/x", False,
    )  # fmt: skip
    assert settings.records_roots == ("file:///srv/records", "register=s3a://bucket/in=a")
    assert settings.roots_of_records == (("file:///srv/records", None), ("s3a://bucket/in=a", "register"))
    assert Settings.from_environment({}).spark is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOLDER_ENGINE", "duckdb"), ("HOLDER_SPARK_UI", "yes"), ("HOLDER_SPARK_STORE", "/srv/x"),
        ("HOLDER_RECORDS_ROOTS", "relative"), ("HOLDER_RECORDS_ROOTS", "a b=file:///x"),
        ("HOLDER_RECORDS_ROOTS", "=file:///x"), ("HOLDER_RECORDS_ROOTS", "s3://key:secret@bucket/in"),
        ("HOLDER_RECORDS_ROOTS", "file:///" + "x" * 200), ("HOLDER_RECORDS_READS_PER_DAY", "0"),
        ("HOLDER_SPARK_STORE", "file:///a file:///b"),
    ],
)  # fmt: skip
def test_an_unusable_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(InvalidSettings, match=name):
        Settings.from_environment({name: value})
