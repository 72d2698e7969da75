"""The public pages: what they hold, which bundles they show, and what they never touch."""

import html
import json
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner, Result

from auditor_client import Auditor
from auditor_client.audits.bundle import write_bundle
from holder_service.cli import app
from shared.wire.canonical import sha256_name
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import FOUR_LEAVES
from testing.registers import plan

Forgery = Callable[[dict[str, bytes]], None]


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder that answered one auditor's plan and another's audit."""
    with running_holder(tmp_path_factory.mktemp("published")) as tested:
        assert tested.release(plan()).status_code == 201
        yield tested


@pytest.fixture(scope="module")
def bundle(holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the auditor published: one audit."""
    home = tmp_path_factory.mktemp("auditor")
    with Auditor(holder.url, holder.auditor_key, receipts=home / "receipts") as auditor:
        audit = auditor.audit(FOUR_LEAVES, "register", ["sex"], "2", strategy="rules")
        return write_bundle(home / "audit.zip", [audit], auditor.receipts)


def publish(holder: TestedHolder, *arguments: Path | str) -> Result:
    env = {
        "HOLDER_HOME": str(holder.settings.home),
        "HOLDER_DATABASE_URL": holder.settings.database_url,
        "HOLDER_ANCHOR": str(holder.settings.anchor),
    }
    return CliRunner().invoke(app, ["publish", *map(str, arguments)], env=env)


@pytest.mark.slow
def test_reports_and_bundles_are_pages_that_lead_to_each_other(
    holder: TestedHolder, bundle: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    before = holder.entries()

    ended = publish(holder, site, bundle)

    assert ended.exit_code == 0, ended.output
    names = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    (page,), (zipped,) = ([name for name in names if name.startswith(part)] for part in ("audits/", "bundles/"))
    expected = {"index.html", "keys.json", "datasets/register.html", "datasets/register.json", page, zipped}
    assert names == {*expected, "publication.json"}
    assert (site / zipped).read_bytes() == bundle.read_bytes()
    for name in sorted(names):
        path = site / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, "a web server may read it"
        if name.endswith(".html"):
            text = path.read_text("utf-8")
            assert "<script" not in text
            links = re.findall(r'(?:href|src)="([^"#]+)', text)
            assert all((path.parent / link).is_file() for link in links), (name, links)
            assert name == page or "style-src 'sha256-" in html.unescape(text)
    assert "statistical parity: <b>" in (site / "index.html").read_text("utf-8")
    report = json.loads((site / "datasets/register.json").read_text("utf-8"))
    again = holder.admin("GET", "/datasets/register/report").json()
    assert {**report, "made": ""} == {**again, "made": ""}
    assert holder.entries() == before


def _unlisted(files: dict[str, bytes]) -> None:
    files["notes.txt"] = b"something that nobody checks"


def _text(files: dict[str, bytes]) -> None:
    files["READ-ME.txt"] += b"The model meets every rule."


def _figures(files: dict[str, bytes]) -> None:
    name = next(name for name in files if name.startswith("figures/"))
    document = json.loads(files[name])
    document["metrics"]["statistical-parity"]["ratio"]["value"] /= 2  # another one, whatever it is
    files[name] = json.dumps(document).encode()


def _signature(files: dict[str, bytes]) -> None:
    name = next(name for name in files if name.startswith("receipts/"))
    files[name] = files[name].replace(b'"counts":[', b'"counts":[1', 1).replace(b'"counts": [', b'"counts": [1', 1)


FORGERIES: Final[dict[str, tuple[Forgery, str]]] = {
    "a file of no audit": (_unlisted, "notes.txt belongs to none of its audits"),
    "another figure": (_figures, "differs from the bundle"),
    "another text": (_text, "READ-ME.txt is not the one that these audits make"),
    "another count": (_signature, "was not signed by this holder"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_bundle_that_does_not_hold_is_refused(
    holder: TestedHolder, bundle: Path, tmp_path: Path, forgery: str
) -> None:
    forge, said = FORGERIES[forgery]
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    forge(files)
    manifest = json.loads(files.pop("manifest.json"))
    manifest["files"] = {name: sha256_name(content) for name, content in files.items()}
    with zipfile.ZipFile(tmp_path / "forged.zip", "w") as archive:
        for name, content in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, content)

    ended = publish(holder, tmp_path / "site", tmp_path / "forged.zip")

    assert ended.exit_code == 2
    assert said in ended.stderr
    assert "forged.zip is not published" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["forged.zip"]


def test_a_release_of_another_ledger_is_refused(bundle: Path, holder: TestedHolder, tmp_path: Path) -> None:
    """A copy of the holder has its key, and not the release: what its key signs is not enough."""
    with holder.copied(tmp_path / "copy") as copy:
        with Auditor(copy.url, copy.auditor_key, receipts=tmp_path / "receipts") as auditor:
            audit = auditor.audit(FOUR_LEAVES, "register", ["sex"], "1", strategy="verdict")
            other = write_bundle(tmp_path / "other.zip", [audit], auditor.receipts)
        assert publish(copy, tmp_path / "theirs", other).exit_code == 0

        ended = publish(holder, tmp_path / "site", other)

    assert ended.exit_code == 2
    assert "is not a release of this holder's ledger" in ended.stderr


def test_a_folder_is_replaced_whole_and_never_one_that_it_did_not_write(holder: TestedHolder, tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert publish(holder, site).exit_code == 0
    (site / "index.html").write_text("of yesterday")
    assert publish(holder, site, "--dataset", "register").exit_code == 0
    assert "of yesterday" not in (site / "index.html").read_text("utf-8")
    (site / "mine.txt").write_text("by hand")
    kept = {path.name: path.read_bytes() for path in site.iterdir() if path.is_file()}

    for arguments, said in (
        ((site,), "mine.txt in"),
        ((tmp_path / "new", "--dataset", "nothing"), "There never was a dataset 'nothing'"),
    ):
        ended = publish(holder, *arguments)
        assert (ended.exit_code, said in ended.stderr) == (2, True), ended.stderr

    assert {path.name: path.read_bytes() for path in site.iterdir() if path.is_file()} == kept
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
