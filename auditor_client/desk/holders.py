"""What the holder offers and what is left of budgets; receipts and their check; evidence bundles."""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import APIRouter, Response

from auditor_client.audits.bundle import BundleReport, check_bundle, write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.desk.audits import attachment, index
from auditor_client.desk.desk import Desk
from auditor_client.desk.pages import Sent, TheDesk, fault_text, page
from auditor_client.desk.words import spent_share
from auditor_client.errors import AuditorError
from auditor_client.exchange.receipts import ReceiptsReport, check_receipts
from auditor_client.tables import budget_notices, dataset_table, has_ended

router = APIRouter()


@router.get("/budgets")
def show_budgets(desk: TheDesk) -> Response:
    """What was granted, spent and is left, and the datasets that it is about."""
    with desk.auditor() as auditor:
        budgets, datasets = auditor.budgets(), auditor.datasets()
    now = datetime.now(UTC)
    shown = [(one, spent_share(one), budget_notices(one, now), has_ended(one, now)) for one in budgets]
    return page(desk, "budgets.html.j2", section="Budgets", budgets=shown, datasets=datasets)


@router.get("/datasets/{name}")
def show_dataset(desk: TheDesk, name: str) -> Response:
    """What a dataset declares."""
    with desk.auditor() as auditor:
        dataset = auditor.dataset(name)
    return page(
        desk, "dataset.html.j2", section="Budgets", about=dataset, dataset=dataset, table=dataset_table(dataset)
    )


@router.get("/receipts")
def show_receipts(desk: TheDesk) -> Response:
    """Every release that was kept, with its signature checked by the pinned keys."""
    return _receipts(desk, check_receipts(desk.kept.receipts, None) if desk.kept.receipts.directory.is_dir() else None)


@router.post("/receipts")
def check_with_holder(desk: TheDesk, _: Sent) -> Response:
    """The same, and whether the holder's ledger still has their entries."""
    with desk.auditor() as auditor:
        return _receipts(desk, auditor.verify())


def _receipts(desk: TheDesk, found: ReceiptsReport | None) -> Response:
    checks = [] if found is None else found.checks
    in_order = sorted(checks, key=lambda one: -1 if one.release is None else one.release.ledger.sequence, reverse=True)
    return page(desk, "receipts.html.j2", section="Receipts", found=found, checks=in_order)


@router.get("/bundles")
def show_bundles(desk: TheDesk) -> Response:
    """Where bundles are written and checked."""
    return _bundles(desk)


def _bundles(
    desk: Desk, found: BundleReport | None = None, *, trusted: bool = False, fault: str = "", named: str = "bundle"
) -> Response:
    return page(
        desk, "bundles.html.j2", section="Bundles", found=found, trusted=trusted, fault=fault, named=named,
        status=422 if fault else 200,
    )  # fmt: skip


@router.post("/bundle")
def send_bundle(desk: TheDesk, sent: Sent) -> Response:
    """An evidence bundle of the chosen audits, or of everything that is kept, as a file to keep."""
    chosen = sent.chosen.get("audit", ())
    receipts = desk.kept.receipts
    everything = stored_history(receipts) if "everything" in sent.typed else None
    if everything is None and not chosen:
        return index(desk, fault="Choose audits to write them into a bundle.")
    audits = everything.audits if everything else tuple(map(desk.kept.audit, chosen))
    with TemporaryDirectory() as folder:
        file = write_bundle(Path(folder) / "b.zip", audits, receipts, everything.trainings if everything else ())
        return attachment(file.read_bytes(), "application/zip", "bundle.zip")


@router.post("/bundles")
def check_sent_bundle(desk: TheDesk, sent: Sent) -> Response:
    """Check a bundle: its signatures, and every figure computed again."""
    if "bundle" not in sent.files:
        return _bundles(desk, fault="Choose the bundle’s zip file.")
    with TemporaryDirectory() as folder:
        kept = {name: desk.keep_file(Path(folder), one.filename or name, one.file) for name, one in sent.files.items()}
        try:
            found = check_bundle(kept["bundle"], keys=kept.get("keys"))
        except AuditorError as error:
            text = fault_text(error)
            named = next((name for name, path in kept.items() if str(path) in text), "bundle")
            return _bundles(desk, fault=text.replace(str(kept[named]), kept[named].name), named=named)
        return _bundles(desk, found, trusted="keys" in kept)
