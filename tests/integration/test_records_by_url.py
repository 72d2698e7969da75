"""Files of records that the holder reads by itself: under a root that its operator allows, all or nothing."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from holder_service.cli import app
from holder_service.services.datasets.url_reads import wait_for_coarse_time
from holder_service.services.running.holder import initialise
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
    assert "loads only from these folders" in refused.json()["detail"]


def probe(holder: TestedHolder, url: str, *, dataset: str = "probe", **columns: dict[str, object]) -> httpx.Response:
    """A check by URL of a dataset of its own, which declares some columns otherwise than the register."""
    own = [{**column, **columns.get(str(column["name"]), {})} for column in DECLARATION["columns"]]
    declaration = {"person_key": "id", "records_max": 10_000, "cap": {"epsilon": "1"}, "columns": own}
    declared = holder.admin("PUT", f"/datasets/{dataset}", json=declaration)
    assert declared.status_code == 200, declared.text
    return holder.admin("POST", f"/datasets/{dataset}/records", json={"url": url, "check": True})


def load_errors(holder: TestedHolder, entry: int) -> Result:
    return CliRunner().invoke(app, ["load-errors", str(entry)], env={"HOLDER_HOME": str(holder.settings.home)})


@pytest.mark.parametrize("check", [False, True])
def test_errors_stay_on_the_holders_machine_and_the_version_before_stays(
    check: bool, holder: TestedHolder, lake: Path
) -> None:
    assert holder.load(register_csv()).status_code == 200
    (lake / "register.csv").write_bytes(register_csv().replace(b"\n", b"\nZebedee,", 1))

    refused = holder.admin("POST", WHERE, json={"url": lake.as_uri(), "check": check})
    shown = load_errors(holder, refused.json()["entry"])

    assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (422, "invalid-records")
    assert refused.json()["kinds"] == 1
    assert "errors" not in refused.json()
    assert not re.search(r"line 2|column|Zebedee", refused.json()["detail"].replace("lines and columns", ""))
    assert "line 2" in shown.stdout
    assert "Zebedee" not in shown.stdout
    assert holder.auditor("GET", "/datasets/register", key=holder.admin_key).json()["version"] == 1


def test_the_answer_is_the_same_whichever_lines_do_not_fit(holder: TestedHolder, lake: Path) -> None:
    """A declaration asks about everybody's sex, key and age: each answer says of all lines that some differ."""
    url = (lake / "register.csv").as_uri()

    answers = [
        probe(holder, url, sex={"categories": ["Male", "x"]}),
        probe(holder, url, sex={"categories": ["Female", "x"]}),
        probe(holder, url, age={"maximum": 30}),
        probe(holder, f"{url}.csv"),
    ]

    numbers = [str(answer.json()["entry"]) for answer in answers]
    texts = [answer.text.replace(number, "N") for answer, number in zip(answers, numbers, strict=True)]
    without_times = {re.sub('"(instance|request_id)":"[^"]*"', "", text) for text in texts}
    assert len(without_times) == 1


def test_each_read_is_an_entry_before_it_and_few_are_made_of_one_root(holder: TestedHolder, lake: Path) -> None:
    url = (lake / "register.csv").as_uri()

    answers = [probe(holder, url, dataset=f"probe-{number}", age={"maximum": 30 + number}) for number in range(7)]
    reads = [entry for entry in holder.entries() if entry["kind"] == "records-read"]

    assert [answer.status_code for answer in answers] == [422] * 5 + [409] * 2
    assert "5 times within a day" in answers[-1].json()["detail"]
    assert [entry["dataset"] for entry in reads] == [f"probe-{number}" for number in range(5)]
    schemas = {entry["dataset"]: entry["detail"]["schema"] for entry in holder.entries() if entry["kind"] == "dataset"}
    for entry in reads:
        assert entry["subject"] == lake.as_uri()
        assert (entry["detail"]["url"], entry["detail"]["check"]) == (url, True)
        assert entry["detail"]["schema"] == schemas[entry["dataset"]]
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def test_a_root_of_one_dataset_is_no_other_datasets(tmp_path: Path, lake: Path) -> None:
    settings = replace(settings_in(tmp_path), records_roots=(f"register={lake.as_uri()}",))
    issued = initialise(settings)
    assert issued is not None
    with opened(settings, issued.text) as holder:
        holder.admin("PUT", "/datasets/register", json=DECLARATION)
        own = holder.admin("POST", WHERE, json={"url": lake.as_uri()})
        other = probe(holder, lake.as_uri())

    assert own.status_code == 200
    assert other.status_code == 422
    assert lake.as_uri() not in other.text
    assert "is empty" in other.json()["detail"]


@pytest.mark.parametrize("end", ["%00", "\x00", "%0a", "%ed%a0%80"])
def test_a_text_that_cannot_be_a_path_is_refused(end: str, holder: TestedHolder, lake: Path) -> None:
    refused = holder.admin("POST", WHERE, json={"url": f"{lake.as_uri()}/register.csv{end}"})

    assert refused.status_code == 422


def test_a_host_that_is_none_is_refused(holder: TestedHolder) -> None:
    assert holder.admin("POST", WHERE, json={"url": "file://[x/register.csv"}).status_code == 422


def test_what_cannot_be_read_is_refused_as_what_does_not_fit(holder: TestedHolder, lake: Path) -> None:
    (lake / "notes.txt").write_bytes(b"a patient's name may be in a file's name")

    refused = holder.admin("POST", WHERE, json={"url": lake.as_uri()})

    assert (refused.status_code, refused.json()["kinds"]) == (422, 1)
    assert "notes.txt" not in refused.text
    assert "notes.txt" in load_errors(holder, refused.json()["entry"]).stdout


def test_the_time_of_a_check_shows_a_size_roughly_at_most() -> None:
    waited: list[float] = []

    for passed in (0.2, 0.9, 1.1, 3.0, 4.5):
        times = iter((0.0, passed))
        wait_for_coarse_time(next(times), clock=times.__next__, sleep=waited.append)

    assert waited == pytest.approx([0.8, 0.1, 0.9, 1.0, 3.5])


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
    assert "The files fit the declaration of register. Nothing was stored." in checked.text
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
    assert f"The holder loads only from these folders: {lake.as_uri()}" in outside.text
    assert "do not fit the declaration: there is 1 kind of error" in broken.text
    assert "line 2" not in broken.text
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
    assert "HOLDER_RECORDS_ROOTS is empty" in sent.text
