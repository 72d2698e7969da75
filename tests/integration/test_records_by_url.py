"""Files of records that the holder reads by itself: under a root that its operator allows, all or nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holder_service.services.holder import initialise
from testing.holders import TestedHolder, opened, settings_in
from testing.registers import DECLARATION, register_csv

WHERE = "/datasets/register/records"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (folder := tmp_path / "lake").mkdir()
    (folder / "register.csv").write_bytes(register_csv())
    (tmp_path / "secret.csv").write_bytes(register_csv())
    return folder


@pytest.fixture
def holder(tmp_path: Path, lake: Path) -> Iterator[TestedHolder]:
    settings = replace(settings_in(tmp_path), records_roots=(lake.as_uri(),))
    issued = initialise(settings)
    assert issued is not None
    with opened(settings, issued.text) as serving:
        assert serving.admin("PUT", "/datasets/register", json=DECLARATION).status_code == 200
        yield serving


def test_a_file_under_a_root_is_loaded_as_one_that_is_sent(holder: TestedHolder, lake: Path) -> None:
    checked = holder.admin("POST", WHERE, json={"url": lake.as_uri(), "check": True})
    loaded = holder.admin("POST", WHERE, json={"url": (lake / "register.csv").as_uri()})

    assert (checked.status_code, checked.json()["version"]) == (200, None)
    assert (loaded.status_code, loaded.json()["version"]) == (200, 1)
    assert holder.load(register_csv()).json()["version"] == 2


@pytest.mark.parametrize("url", ["secret.csv", "lake/../secret.csv", "lake-2/register.csv"])
def test_what_is_under_no_root_is_refused_whether_it_is_there_or_not(
    url: str, holder: TestedHolder, tmp_path: Path
) -> None:
    refused = holder.admin("POST", WHERE, json={"url": f"{tmp_path.as_uri()}/{url}"})

    assert refused.status_code == 422
    assert "loads from these folders" in refused.json()["detail"]


def test_a_fault_is_named_and_the_version_before_stays(holder: TestedHolder, lake: Path) -> None:
    assert holder.load(register_csv()).status_code == 200
    (lake / "register.csv").write_bytes(register_csv().replace(b"\n", b"\nZebedee,", 1))

    refused = holder.admin("POST", WHERE, json={"url": lake.as_uri()})

    assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (422, "invalid-records")
    assert "line 2" in refused.json()["detail"]
    assert "Zebedee" not in refused.text
    assert holder.auditor("GET", "/datasets/register", key=holder.admin_key).json()["version"] == 1


def test_an_auditor_loads_nothing(holder: TestedHolder, lake: Path) -> None:
    key = holder.open_auditor("ADR")

    refused = holder.client.post(
        f"/v1/admin{WHERE}", headers={"Authorization": f"Bearer {key}"}, json={"url": lake.as_uri()}
    )

    assert refused.status_code == 403
