"""Commands about the ledger, a recorded restore and the signing keys."""

import io
import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import BaseModel, Field

from holder_service.cli.approvals import asked_lines, visible
from holder_service.cli.calls import AdminKey, Url, call, clear_errors, download, fail, new_file
from holder_service.cli.output import AsJson, notify, show, show_fields, show_verification, when
from holder_service.cli.times import TIME, start_of_day
from shared.wire.flags import Flags

commands = typer.Typer()
LEDGER: Final = "/v1/admin/ledger"


class Entries(BaseModel, frozen=True):
    """Which entries of the ledger."""

    after: int = Field(default=0, description="Only entries after this sequence number.")
    upto: int | None = Field(default=None, description="Only entries up to this sequence number.")
    kind: str | None = Field(default=None, description='Only entries of a kind, such as "charge".')
    population: str | None = Field(default=None, description="Only entries about a population.")
    dataset: str | None = Field(default=None, description="Only entries about a dataset.")
    auditor: str | None = Field(default=None, description="Only entries about an auditor's budget or charges.")
    account: str | None = Field(default=None, description="Only actions of an account, or actions about it.")
    since: str | None = Field(
        default=None, description="Only entries from this time on: a date, or ISO 8601 with a time zone."
    )
    until: str | None = Field(
        default=None, description="Only entries before this time: a date, or ISO 8601 with a time zone."
    )


with_flags: Final = Flags(
    lambda kind, values: kind(
        **{name: start_of_day(one) if name in ("since", "until") else one for name, one in values.items()}
    ),
    {},
)


@commands.command("ledger")
@with_flags
def show_ledger(
    *,
    which: Entries,
    limit: Annotated[int, typer.Option(help="Number of entries, at most 1000.")] = 100,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show the ledger entries that match all filters."""
    found = call("GET", LEDGER, url, key, params={**which.model_dump(exclude_none=True), "limit": limit})
    show(found, ("#", "at (UTC)", "by", "what", "left"), list(map(_row, found["entries"])), as_json)
    if found["next"] is not None and not as_json:
        notify(f"There are more: --after {found['next']}")


@commands.command("question")
def show_question(
    entry: Annotated[int, typer.Argument(help="The number of the ledger's entry that charged it.")],
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show what was asked for a charge: all of its rules, as officers see a request before they approve it."""
    found = call("GET", f"{LEDGER}/{entry}/question", url, key)
    if as_json:
        print(json.dumps(found))
        return
    print(
        f"Entry {entry}, {when(found['at'])} UTC: {found['auditor']} asked a {found['kind']} about {found['dataset']},"
    )
    print(f"version {found['version']}; for: {found.get('purpose', 'not said')}.")
    print("\n".join(map(visible, asked_lines(found))))


@commands.command("spent")
def show_spent(
    population: Annotated[str | None, typer.Option(help="Only charges about a population.")] = None,
    since: Annotated[str | None, typer.Option(help=f"Only charges from this time on: {TIME}.")] = None,
    until: Annotated[str | None, typer.Option(help=f"Only charges before this time: {TIME}.")] = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Add up what was charged, by population, auditor and purpose."""
    from holder_service.domain.ledger import event_of_document
    from holder_service.domain.spending import Spending

    asked = {"population": population, "since": start_of_day(since), "until": start_of_day(until)}
    params: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    sums: dict[tuple[str, str, str], Spending] = {}
    after: int | None = 0
    while after is not None:
        page = call("GET", LEDGER, url, key, params={**params, "kind": "charge", "limit": 1000, "after": after})
        for entry in page["entries"]:
            event = event_of_document(entry)
            of = (event.population or "", event.auditor or "", event.detail.get("purpose", ""))
            sums.setdefault(of, Spending()).add(event.loss)
        after = page["next"]
    rows = [(*of[:2], of[2] or "not said", str(one.charges), one.text) for of, one in sorted(sums.items())]
    documents = [
        {"population": of[0], "auditor": of[1], "purpose": of[2] or None, "charges": one.charges, **one.document()}
        for of, one in sorted(sums.items())
    ]
    show({"spent": documents}, ("population", "auditor", "for", "charges", "spent"), rows, as_json)


@commands.command("export-ledger")
@with_flags
def export_ledger(
    file: Annotated[Path, typer.Argument(help="A new file: .csv, or .jsonl with one JSON document per line.")],
    *,
    which: Entries,
    url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Write all ledger entries that match all filters into a file. The file appears once it is complete."""
    from holder_service.services.ledger.export import is_whole

    if file.suffix not in (".csv", ".jsonl"):
        fail(f"Name an export's file .csv or .jsonl, not {file.suffix or file.name}.")
    with clear_errors(), new_file(file) as written:
        as_format = {"format": file.suffix.removeprefix(".")}
        download(LEDGER, url, key, written, params={**which.model_dump(exclude_none=True), **as_format})
        if not is_whole(written):
            fail("The export broke off: its last line is missing. Nothing was kept; try again.")
    notify(f"The entries are in {file}, and the export is whole.")


@commands.command("verify-ledger")
def verify_ledger(url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """Let a running holder recompute its ledger, as `holder ledger verify` does on its machine."""
    show_verification(call("POST", f"{LEDGER}/verify", url, key), as_json)


@commands.command("record-restore")
def record_restore(reason: str, url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """Record that the database was restored from a copy. Closes every cap until it is declared again."""
    found = call("POST", f"{LEDGER}/restore", url, key, json={"reason": reason})
    show_fields({**found, "closed": ", ".join(found["closed"])} if not as_json else found, as_json)
    if not as_json:
        notify(
            "Set the cap of each population again, lowered by what the auditors' receipts show to be missing: "
            "`holder admin missing RECEIPTS` adds it up, and `holder admin cap POPULATION EPSILON` sets it."
        )


@commands.command("signing-keys")
def list_signing_keys(url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """List the public keys that releases are or were signed with."""
    found = call("GET", "/v1/keys", url, key)
    rows = [
        (one["id"], when(one["valid_from"]), when(one["valid_to"]) if one["valid_to"] else "in force",
         one["handover"]["by"] if one["handover"] else "")
        for one in found["keys"]
    ]  # fmt: skip
    show(found, ("key", "from (UTC)", "to", "handed over by"), rows, as_json)


@commands.command("rotate-signing-key")
def rotate_signing_key(url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """Replace the signing key. The previous key signs the handover."""
    found = call("POST", "/v1/admin/signing-keys", url, key)
    shown = {name: found[name] for name in ("id", "valid_from")}
    show(found, tuple(shown), [tuple(shown.values())], as_json)


@commands.command("metrics")
def show_metrics(url: Url = "", key: AdminKey = "") -> None:
    """Print the metrics for Prometheus: requests, releases, balances. They contain no count of people."""
    with io.BytesIO() as into:
        download("/metrics", url, key, into)
        print(into.getvalue().decode(), end="")


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    """An entry in a sentence, and of a charge what it left."""
    from holder_service.domain.ledger import event_of_document
    from holder_service.web.console.words import loss, what_happened

    event = event_of_document(entry)
    left = event.account.limit.left_after(event.account.spent) if event.account and event.kind == "charge" else None
    return str(entry["sequence"]), when(entry["at"]), event.actor, what_happened(event), loss(left) if left else ""
