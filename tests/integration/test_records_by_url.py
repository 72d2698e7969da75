"""Files of records that the holder reads by itself: under a root that its operator allows, all or nothing."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holder_service.services.holder import initialise
from testing.console_visitors import Page, visitor
from testing.holders import TestedHolder, opened, running_holder, settings_in
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


# The console's form

PAGE = "/console/datasets/register"
WRITTEN = {"delimiter": ",", "decimal": ".", "encoding": "utf-8", "missing": "", "true": "", "false": "", "dates": ""}


def test_the_console_loads_by_url_as_the_interface_does(holder: TestedHolder, lake: Path) -> None:
    file = {**WRITTEN, "url": (lake / "register.csv").as_uri()}
    with visitor(holder) as administrator:
        checked = administrator.send(PAGE, {**file, "check": "on"}, to="records/url")
        loaded = administrator.send(PAGE, file, to="records/url")
        (lake / "register.csv").write_bytes(register_csv().replace(b",", b";"))
        other = administrator.send(PAGE, {**file, "delimiter": ";"}, to="records/url")

    assert (checked.path, loaded.path, other.path) == (PAGE, PAGE, PAGE)
    assert "The files fit the declaration of register; nothing was kept." in checked.text
    assert "Version 1 of register is loaded." in loaded.text
    assert "Version 2 of register is loaded." in other.text
    assert [entry["kind"] for entry in holder.entries()].count("records") == 2


def test_the_console_says_why_it_loads_nothing_and_keeps_what_was_typed(
    holder: TestedHolder, lake: Path, tmp_path: Path
) -> None:
    (lake / "broken.csv").write_bytes(register_csv().replace(b"\n", b"\nZebedee,", 1))
    (lake / "folder").mkdir()
    with visitor(holder) as administrator:

        def load(url: str, **written: str) -> Page:
            return administrator.send(PAGE, {**WRITTEN, "url": url, **written}, to="records/url")

        outside = load((tmp_path / "secret.csv").as_uri())
        broken = load((lake / "broken.csv").as_uri())
        none = load((lake / "folder").as_uri())
        senseless = load(lake.as_uri(), encoding="utf-16")

    pages = (outside, broken, none, senseless)
    assert [page.status for page in pages] == [422] * 4
    assert f"The holder loads from these folders: {lake.as_uri()}" in outside.text
    assert "line 2" in broken.text
    assert "Zebedee" not in broken.answer.text
    assert broken.values["url"] == (lake / "broken.csv").as_uri()
    for page in pages:
        opened_parts = re.findall(r"<details open>\s*<summary>([^<]+)<", page.answer.text)
        assert "Load records by URL" in opened_parts
        assert "Load records" not in opened_parts
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(set(ids)) == len(ids)
    assert "records" not in {entry["kind"] for entry in holder.entries()}


def test_without_a_root_the_console_has_no_such_form(tmp_path: Path, lake: Path) -> None:
    with running_holder(tmp_path) as other, visitor(other) as administrator:
        other.admin("PUT", "/datasets/register", json=DECLARATION)
        page = administrator.get(PAGE)
        token = page.values["form_token"]
        sent = administrator.post(f"{PAGE}/records/url", {**WRITTEN, "form_token": token, "url": lake.as_uri()})

    assert f"{PAGE}/records/url" not in page.actions
    assert sent.status == 422
    assert "HOLDER_RECORDS_ROOTS names none" in sent.text
