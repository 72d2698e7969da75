"""The holder's command line: set up, serve, administer, verify (4-interface).

`holder admin …` calls the same endpoints as everybody: of a running holder if HOLDER_URL or `--url`
names one, else of this machine's own, within this process.
"""

import asyncio
import json
import re
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn
from urllib.parse import quote

import httpx
import typer
import uvicorn
from rich.console import Console
from rich.table import Table

from holder_service.app import create_app
from holder_service.domain.errors import HolderError
from holder_service.services import ledger
from holder_service.services.holder import Holder, NotInitialised, initialise
from holder_service.settings import InvalidSettings, Settings
from holder_service.signing import UnusableSigningKey
from holder_service.web import logs, metrics
from holder_service.web.logs import Level

# Typer's own pages for exceptions show local variables, and so keys and passwords.
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="The holder: keeps sensitive attributes, answers with noise, keeps the ledger.",
)
admin = typer.Typer(no_args_is_help=True, help="Everything that the administrator's endpoints do.")
ledger_app = typer.Typer(no_args_is_help=True, help="The ledger of this machine's holder.")
app.add_typer(admin, name="admin")
app.add_typer(ledger_app, name="ledger")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Url = Annotated[str, typer.Option(envvar="HOLDER_URL", help="A running holder; without it, this machine's own.")]
AdminKey = Annotated[
    str, typer.Option("--key", envvar="HOLDER_ADMIN_KEY", help="An administrator's key; better from the environment.")
]
UPLOAD_TIMEOUT_S = 3600.0
CALL_TIMEOUT_S = 60.0
UPLOAD_CHUNK_BYTES = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_errors = Console(stderr=True)


@app.command()
def init(as_json: AsJson = False) -> None:
    """Make database, signing key and the first administrator's key, which is printed once."""
    with _clear_errors():
        issued = initialise(Settings.from_environment())
    if as_json:
        print(json.dumps({"admin_key": issued.text if issued else None}))
    elif issued:
        print(f"The administrator's key, shown this once:\n{issued.text}")
    else:
        print("This holder was added to a database that has an administrator already.")


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes; all share one database.")] = 1,
    access_log: Annotated[bool, typer.Option(help="Log each request: caller, route and status.")] = True,
    log_level: Annotated[Level, typer.Option(envvar="HOLDER_LOG_LEVEL", help="From which level on to log.")] = (
        Level.INFO
    ),
) -> None:
    """Serve the REST interface and the console; the log goes to standard error, as lines of JSON."""
    with _clear_errors():
        settings = Settings.from_environment()
        Holder.open(settings).close()
        _try_address(host, port)
        if workers > 1:
            metrics.share_among_workers(settings.home / f"metrics-{port}")
    uvicorn.run(
        "holder_service.app:create_app", factory=True, host=host, port=port, workers=workers, server_header=False,
        log_config=logs.configuration(log_level, requests=access_log), access_log=False,
        timeout_graceful_shutdown=30, timeout_worker_healthcheck=60,
    )  # fmt: skip


@app.command()
def demo(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8080,
) -> None:
    """Set up a holder with a demonstration register and an auditor's account, and serve it."""
    from pafer_demo import holder_side  # noqa: PLC0415 - the only command that needs the demonstration

    with _clear_errors():
        holder_side.main(host=host, port=port)


@ledger_app.command("verify")
def verify(as_json: AsJson = False) -> None:
    """Recompute the chain, every balance and every stored release of this machine's holder."""
    with _clear_errors():
        holder = Holder.open(Settings.from_environment())
        try:
            found = ledger.verify(holder.books)
        finally:
            holder.close()
    if as_json:
        print(json.dumps({"intact": found.intact, "entries": found.entries, "head": found.head,
                          "broken_at": found.broken_at, "reason": found.reason}))  # fmt: skip
    elif found.intact:
        print(f"Intact: {found.entries} entries, head {found.head}.")
    else:
        _errors.print(f"Broken at entry {found.broken_at}: {found.reason}.", markup=False)
    if not found.intact:
        raise typer.Exit(1)


@admin.command("auditors")
def list_auditors(url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """List accounts and their keys."""
    found = _call("GET", "/v1/admin/auditors", url, key)
    rows = [
        (one["auditor"], one["role"], "disabled" if one["disabled"] else "active",
         ", ".join(_key_text(each) for each in one["keys"]))
        for one in found["auditors"]
    ]  # fmt: skip
    _show(found, ("account", "role", "state", "keys"), rows, as_json)


@admin.command("add-auditor")
def add_auditor(
    name: str,
    role: Annotated[str, typer.Option(help="auditor or administrator.")] = "auditor",
    expires: Annotated[str | None, typer.Option(help="When its first key expires, ISO 8601 with a zone.")] = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Open an account; its key is printed once."""
    body = {"name": name, "role": role, "expires": expires}
    _show_key(_call("POST", "/v1/admin/auditors", url, key, json=body), as_json)


@admin.command("disable-auditor")
def disable_auditor(name: str, url: Url = "", key: AdminKey = "") -> None:
    """Stop an account from calling."""
    _call("PATCH", _path("auditors", name), url, key, json={"disabled": True})


@admin.command("enable-auditor")
def enable_auditor(name: str, url: Url = "", key: AdminKey = "") -> None:
    """Let an account call again."""
    _call("PATCH", _path("auditors", name), url, key, json={"disabled": False})


@admin.command("add-key")
def add_key(
    name: str,
    expires: Annotated[str | None, typer.Option(help="When it expires, ISO 8601 with a zone.")] = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Give an account a further key, printed once."""
    _show_key(_call("POST", _path("auditors", name, "keys"), url, key, json={"expires": expires}), as_json)


@admin.command("withdraw-key")
def withdraw_key(name: str, key_id: str, url: Url = "", key: AdminKey = "") -> None:
    """Make a key invalid at once."""
    _call("DELETE", _path("auditors", name, "keys", key_id), url, key)


@admin.command("declare")
def declare(
    dataset: str,
    declaration: Annotated[Path, typer.Argument(help="A JSON file: schema, population, relation, cap.")],
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Declare a dataset, or change of it what may change."""
    with _clear_errors():
        content = declaration.read_bytes()
    answer = _call("PUT", _path("datasets", dataset), url, key, content=content, media="application/json")
    _show(answer, tuple(answer), [tuple(str(value) for value in answer.values())], as_json)


@admin.command("load")
def load(
    dataset: str,
    records: Annotated[Path, typer.Argument(help="A .csv or .parquet file.")],
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Load records as a new version: all of them or none."""
    media = "application/vnd.apache.parquet" if records.suffix == ".parquet" else "text/csv"
    with _clear_errors():
        file = records.open("rb")
    with file:
        answer = _call("PUT", _path("datasets", dataset, "records"), url, key, content=_chunks(file), media=media)
    _show(answer, tuple(answer), [tuple(str(value) for value in answer.values())], as_json)


@admin.command("retire")
def retire(dataset: str, url: Url = "", key: AdminKey = "") -> None:
    """Take a dataset and its records away; nothing that was spent comes back."""
    _call("DELETE", _path("datasets", dataset), url, key)


@admin.command("merge")
def merge(into: str, source: str, url: Url = "", key: AdminKey = "") -> None:
    """Join population SOURCE to population INTO; their spending is added."""
    _call("POST", _path("populations", into, "merge"), url, key, json={"population": source})


@admin.command("grant")
def grant(
    dataset: str,
    auditor: str,
    epsilon: Annotated[str, typer.Argument(help='The new limit, such as "1"; "0" revokes.')],
    delta: Annotated[str, typer.Option(help="The new limit of delta.")] = "0",
    expires: Annotated[str | None, typer.Option(help="When it expires, ISO 8601 with a zone.")] = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Put an auditor's limit on a dataset's population."""
    body = {"epsilon": epsilon, "delta": delta, "expires": expires}
    _show_budgets([_call("PUT", _path("datasets", dataset, "budgets", auditor), url, key, json=body)], as_json)


@admin.command("budgets")
def list_budgets(url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """List every auditor's budget with every population."""
    _show_budgets(_call("GET", "/v1/admin/budgets", url, key)["budgets"], as_json)


@admin.command("ledger")
def show_ledger(
    after: Annotated[int, typer.Option(help="Show entries after this sequence number.")] = 0,
    limit: Annotated[int, typer.Option(help="How many, at most 1000.")] = 100,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show entries of the ledger."""
    found = _call("GET", f"/v1/admin/ledger?after={after}&limit={limit}", url, key)
    rows = [
        (str(one["sequence"]), one["at"][:19], one["kind"], one["actor"], one.get("population", ""),
         one.get("auditor", ""), str(one.get("subject", ""))[:20], one["hash"][:20])
        for one in found["entries"]
    ]  # fmt: skip
    _show(found, ("#", "at", "kind", "actor", "population", "auditor", "subject", "hash"), rows, as_json)


@admin.command("verify-ledger")
def verify_ledger(url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """Have the holder recompute its ledger."""
    found = _call("POST", "/v1/admin/ledger/verify", url, key)
    _show(found, tuple(found), [tuple(str(value) for value in found.values())], as_json)
    if not found["intact"]:
        raise typer.Exit(1)


@admin.command("record-restore")
def record_restore(reason: str, url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """Record that the database was restored from a copy, so that the holder may release again."""
    found = _call("POST", "/v1/admin/ledger/restore", url, key, json={"reason": reason})
    _show(found, tuple(found), [tuple(str(value) for value in found.values())], as_json)


def _call(method: str, path: str, url: str, key: str, *, media: str | None = None, **request: Any) -> Any:
    """Make one call, of a running holder or of this machine's own; a refusal ends the command with its text."""
    if not re.fullmatch("[!-~]+", key):
        _fail("Give an administrator's key in HOLDER_ADMIN_KEY (holder init prints the first one).")
    headers = {"Authorization": f"Bearer {key}", **({"Content-Type": media} if media else {})}
    with _clear_errors():
        if httpx.URL(url).scheme == "http" and httpx.URL(url).host not in LOOPBACK:
            _fail(f"{url} would send the administrator's key unencrypted to another machine: use https.")
        answer = asyncio.run(_request(url, method, path, headers=headers, **request))
    try:
        document = answer.json() if answer.content else {}
        refusal = None if answer.is_success else str(document["detail"])
    except (KeyError, TypeError, ValueError):
        refusal = f"What answers at {url} is no holder."
    if refusal is not None:
        _fail(refusal)
    return document


def _path(*segments: str) -> str:
    return "/v1/admin/" + "/".join(quote(segment, safe="") for segment in segments)


def _try_address(host: str, port: int) -> None:
    """Whether the server will be able to listen: it would say so amid its log, and end with 1."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        _fail(f"Cannot listen: {error.strerror}.")


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := file.read(UPLOAD_CHUNK_BYTES):
        yield chunk


async def _request(url: str, method: str, path: str, **request: Any) -> httpx.Response:
    timeout = httpx.Timeout(CALL_TIMEOUT_S, read=UPLOAD_TIMEOUT_S)
    if url:
        async with httpx.AsyncClient(base_url=url, timeout=timeout) as client:
            return await client.request(method, path, **request)
    app = create_app()
    try:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://holder", timeout=timeout) as client:
            return await client.request(method, path, **request)
    finally:
        app.state.holder.close()


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except HolderError as error:
        _fail(error.detail)
    except (InvalidSettings, NotInitialised, UnusableSigningKey) as error:
        _fail(str(error))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        _fail(f"The holder does not answer: {type(error).__name__}.")
    except OSError as error:
        _fail(f"{error.strerror or error}: {error.filename or ''}")


def _fail(text: str) -> NoReturn:
    _errors.print(text, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(2)


def _show(document: Any, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(document))
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _show_key(document: dict[str, str], as_json: bool) -> None:
    print(json.dumps(document) if as_json else f"The key of {document['auditor']}, shown this once:\n{document['key']}")


def _show_budgets(found: list[dict[str, Any]], as_json: bool) -> None:
    rows = [
        (one["auditor"], one["population"], *(f"{one[name]['epsilon']}, {one[name]['delta']}"
         for name in ("limit", "spent", "remaining")))
        for one in found
    ]  # fmt: skip
    _show({"budgets": found}, ("auditor", "population", "limit ε, δ", "spent ε, δ", "remaining ε, δ"), rows, as_json)


def _key_text(key: dict[str, Any]) -> str:
    state = "withdrawn" if key["withdrawn"] else f"until {key['expires'][:10]}" if key["expires"] else "in force"
    return f"{key['key_id']} ({state})"


if __name__ == "__main__":
    sys.exit(app())
