"""Commands about approvals: which requests wait, what they ask, the decision, and where one is required."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer
from pydantic import TypeAdapter

from holder_service.cli.calls import AdminKey, Url, call, clear_errors, download, new_file, path_of, require_yes
from holder_service.cli.ids import DIGEST, DIGEST_CHARACTERS, short, whole_id
from holder_service.cli.output import AsJson, notify, show, when
from shared.contract.approvals import ApprovalState
from shared.kinds.summaries import SummaryFact
from shared.privacy.amounts import Loss
from shared.wire import limits

commands = typer.Typer()
Id = Annotated[str, typer.Argument(help="The request's id, or its first characters, as `approvals` lists it.")]
Entry = Annotated[
    int | None,
    typer.Option(
        help="The ledger entry that `approval` showed. Skips the display and the question; a newer "
        "state of the request is not decided."
    ),
]
PAGE = 1000
_LOSS: Final = TypeAdapter(Loss)


@commands.command("approvals")
def list_approvals(
    state: Annotated[
        str, typer.Option(help=f"Only requests in this state: {', '.join(get_args(ApprovalState))}; or all.")
    ] = "waiting",
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """List requests that need an approval. By default only waiting ones."""
    found = _every(url, key, None if state == "all" else state)
    rows = [
        (short(one["id"]), one["auditor"], one["kind"], f"{one['dataset']} v{one['version']}",
         _loss(one["charge"]), one["state"], when(one["requested"]), when(one["expires"]),
         one.get("purpose", "not said"))
        for one in found
    ]  # fmt: skip
    columns = ("id begins with", "auditor", "asks a", "about", "price", "state", "asked (UTC)", "ends (UTC)", "for")
    show({"approvals": found}, columns, rows, as_json)


@commands.command("approval")
def show_approval(request: Id, url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """Show one request: auditor, purpose, price, remaining budget and everything that is requested."""
    one = call("GET", path_of("approvals", _whole(request, url, key)), url, key)
    if as_json:
        print(json.dumps(one))
        return
    _print(one)


@commands.command("approval-column")
def save_column(
    request: Id,
    column: Annotated[str, typer.Argument(
        help="The derived column's id, or its first characters, as `approval` shows it.",
    )],
    file: Annotated[Path, typer.Argument(help="A new file, for the document as JSON.")],
    url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Save the whole document of a derived column that a request names. `approval` shows a shortened description."""
    path = path_of("approvals", _whole(request, url, key))
    ids = [one["id"] for one in call("GET", path, url, key).get("columns", ())]
    identity = whole_id(column, ids, "derived columns have an id that begins so; `holder admin approval` shows them")
    with clear_errors(), new_file(file) as written:
        download(f"{path}/columns/{identity}", url, key, written)
    notify(f"The document of the derived column is in {file}.")


@commands.command("approve")
def approve(
    request: Id,
    reason: Annotated[str | None, typer.Option(help="The reason, which the auditor can read.")] = None,
    entry: Entry = None, url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Approve a request. When its auditor sends the same request again, it is answered and charged."""
    _decide(request, {"approved": True, "reason": reason, "entry": entry}, url, key)


@commands.command("decline")
def decline(
    request: Id,
    reason: Annotated[str, typer.Argument(help="The reason, which the auditor can read.")],
    entry: Entry = None, url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Decline a request. It stays declined until it expires, unless you approve it later."""
    _decide(request, {"approved": False, "reason": reason, "entry": entry}, url, key)


@commands.command("require-approval")
def require_approval(
    population: str,
    days: Annotated[int, typer.Option(help="After how many days a request expires.")] = limits.APPROVAL_DAYS_DEFAULT,
    off: Annotated[bool, typer.Option("--off", help="Answer without approvals again. Open requests end.")] = False,
    in_full: Annotated[
        bool | None,
        typer.Option("--in-full/--not-in-full", help="Refuse requests that officers cannot read in full, in words."),
    ] = None,
    second_officer: Annotated[
        bool | None,
        typer.Option(
            "--second-officer/--no-second-officer",
            help="Require that a second officer makes the same change before approvals are switched off or "
        "the cap is raised.",
        ),
    ] = None,
    url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Require approval of every request about a population."""
    body = {
        "required": not off,
        "days": days,
        **{name: flag for name, flag in (("in_full", in_full), ("second_officer", second_officer)) if flag is not None},
    }
    call("PUT", path_of("populations", population, "approval"), url, key, json=body)
    if off:
        notify(f"Approvals are not required for population {population}.")
    else:
        notify(f"Requests about population {population} need an approval; a request expires after {days} days.")


def _print(one: dict[str, Any]) -> None:
    """All that there is to a request."""
    shown = {
        "id": one["id"],
        "auditor": f"{one['display_name']} ({one['auditor']})" if one["display_name"] else one["auditor"],
        "for": one.get("purpose", "not said"),
        "asks": f"a {one['kind']} about {one['dataset']}, version {one['version']}",
        "price": _loss(one["charge"]),
        "budget left": _loss(one["budget"]["remaining"]),
        "cap left": _loss(one["cap"]["remaining"]),
        "state": one["state"],
        "asked (UTC)": when(one["requested"]),
        "ends (UTC)": when(one["expires"]),
        "decided by": one.get("decided_by", ""),
        "reason": one.get("reason", ""),
        "entry": str(one["entry"]),
    }
    width = max(map(len, shown))
    print("\n".join(f"{name:{width}}  {text}" for name, text in shown.items() if text))
    print()
    for line in asked_lines(one):
        print(visible(line))


def _decide(request: str, decision: dict[str, Any], url: str, key: str) -> None:
    """Decide about a request as it was seen: here, unless the entry says when."""
    path = path_of("approvals", _whole(request, url, key))
    if decision["entry"] is None:
        one = call("GET", path, url, key)
        _print(one)
        require_yes(
            "Approve it?" if decision["approved"] else "Decline it?",
            "Nothing was decided. Where nobody can be asked, give the entry that `approval` shows (`--entry`).",
        )
        decision["entry"] = one["entry"]
    one = call("PUT", f"{path}/decision", url, key, json=decision)
    asks = f"{one['auditor']} asks a {one['kind']} about {one['dataset']}, for {_loss(one['charge'])}"
    purpose = f", to this end: {one['purpose']}" if "purpose" in one else ""
    notify(f"{one['state'].capitalize()}, until {when(one['expires'])} UTC: {asks}{purpose}.")


def _whole(request: str, url: str, key: str) -> str:
    """The id that begins so; a whole one is taken as it is."""
    if len(request.removeprefix(DIGEST)) == DIGEST_CHARACTERS:
        return DIGEST + request.removeprefix(DIGEST)
    ids = [one["id"] for one in _every(url, key, None)]
    return whole_id(request, ids, "requests have an id that begins so; holder admin approvals --state all lists them")


def _every(url: str, key: str, state: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        params = {"after": after, "limit": PAGE, **({} if state is None else {"state": state})}
        page = call("GET", path_of("approvals"), url, key, params=params)
        found += page["approvals"]
        after = page["next"]
    return found


def _loss(document: dict[str, str]) -> str:
    """An amount as the interface says it, in words."""
    return _LOSS.validate_python(document).symbols


def asked_lines(one: dict[str, Any]) -> list[str]:
    """Return what is asked, in lines."""
    from shared.kinds.registry import KINDS

    if one["kind"] not in one:
        return ["The request ended without an answer: what it asked was deleted then."]
    summary = KINDS[one["kind"]].requested(one[one["kind"]]).summary()
    lines = [f"{summary.question}.", *_facts(summary.facts)]
    for part in summary.parts:
        lines += [f"{part.title}:", *_facts(part.facts), f"  {part.rules_title}:"]
        lines += [f"    {name}: {text}" for name, texts in part.rules for text in texts]
    for column in one.get("columns", ()):
        lines += _column(one["id"], column)
    return lines


def _facts(facts: Iterable[SummaryFact]) -> list[str]:
    return [f"  {name}: {text}" for name, text in facts]


def _column(request: str, column: dict[str, Any]) -> list[str]:
    """Return what a derived column computes, what of it is not readable here, and how to get the rest."""
    lines = [f"Derived column {column['name']}: {column['id']}", *(f"  {line}" for line in column["says"])]
    if "not_shown" in column:
        lines.append(f"  NOT READABLE HERE: {', '.join(column['not_shown'])}")
    if "digest" in column:
        command = f"holder admin approval-column {short(request)} {short(column['id'])} FILE"
        lines.append(f"  whole: {command} (SHA-256 {column['digest']})")
    return lines


def visible(text: str) -> str:
    """A text whose unseen characters are seen: an auditor's names may hold some that turn what follows them."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
