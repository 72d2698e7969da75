"""The command that reads auditors' receipts after a restore: what they show to be missing from the ledger."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holder_service.cli.calls import AdminKey, Url, call, clear_errors
from holder_service.cli.ledger import LEDGER
from holder_service.cli.output import AsJson, notify, show

if TYPE_CHECKING:
    from shared.kinds.releases import Signed, SigningKeys

commands = typer.Typer()


@commands.command("missing")
def show_missing(
    receipts: Annotated[list[Path], typer.Argument(help="Receipts that auditors sent, or folders of receipts.")],
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Add up the charges that receipts show and the ledger lacks, by population and auditor. Use it after a restore.

    Every receipt is signed by the holder, so it is evidence of its charge. Lower the population's cap and the auditor's
    budget by the sums. Exits with code 1 if a file is not a receipt of this holder.
    """
    from holder_service.domain.spending import Spending
    from shared.kinds.releases import SigningKeys

    keys = SigningKeys.model_validate(call("GET", "/v1/keys", url, key))
    populations = {one["name"]: one["population"] for one in call("GET", "/v1/datasets", url, key)["datasets"]}
    entered = set(_hashes_of_charges(url, key))
    sums: dict[tuple[str, str], Spending] = {}
    unread = 0
    for file in _files(receipts):
        try:
            release = _release(file, keys)
        except (OSError, ValueError) as error:
            notify(f"{file} is not a receipt of this holder: {error}")
            unread += 1
            continue
        if release.rehearsal is None and release.ledger.hash not in entered:
            entered.add(release.ledger.hash)  # the same receipt may be in two files
            population = populations.get(release.dataset, f"of dataset {release.dataset}, which is retired")
            sums.setdefault((population, release.auditor), Spending()).add(release.charge)
    documents = [
        {"population": of[0], "auditor": of[1], "charges": one.charges, **one.document()}
        for of, one in sorted(sums.items())
    ]
    rows = [(*of, str(one.charges), one.text) for of, one in sorted(sums.items())]
    show({"missing": documents, "unread": unread}, ("population", "auditor", "charges", "missing"), rows, as_json)
    if rows and not as_json:
        notify("Lower each cap and budget by what is missing: `holder admin cap` and `holder admin grant`.")
    if unread:
        raise typer.Exit(1)


def _files(receipts: Sequence[Path]) -> Iterator[Path]:
    for given in receipts:
        if given.is_dir():
            yield from (file for file in sorted(given.glob("*.json")) if file.name != "keys.json")
        else:
            yield given


def _release(file: Path, keys: "SigningKeys") -> "Signed":
    """Read a receipt.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a release, or no key of the holder signed it.
    """
    from pydantic import ValidationError

    from shared.kinds.releases import BadSignature, Signed, verify_signature

    try:
        document = json.loads(file.read_bytes())
        verify_signature(document, keys)
        return Signed.model_validate(document)
    except BadSignature as error:
        raise ValueError(f"{error} If its key was lost by the restore, put the key's file back first.") from None
    except (AttributeError, ValidationError, RecursionError):
        raise ValueError("it does not have the form of a release.") from None


def _hashes_of_charges(url: str, key: str) -> Iterator[str]:
    after: int | None = 0
    with clear_errors():
        while after is not None:
            page = call("GET", LEDGER, url, key, params={"kind": "charge", "limit": 1000, "after": after})
            yield from (entry["hash"] for entry in page["entries"])
            after = page["next"]
