"""Commands about accounts and their keys."""

import json
from typing import Annotated, Any, get_args

import typer

from holder_service.cli.calls import AdminKey, Url, call, path_of
from holder_service.cli.output import AsJson, notify, show
from holder_service.cli.times import Expires, end_of_day
from shared.contract.datasets import Role

commands = typer.Typer()


@commands.command("auditors")
def list_auditors(
    name: Annotated[str | None, typer.Argument(help="Only this account.")] = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """List accounts and their keys."""
    found = call("GET", "/v1/admin/auditors" if name is None else path_of("auditors", name), url, key)
    rows = [
        (one["auditor"], one["display_name"] or "", one["role"], "disabled" if one["disabled"] else "active",
         ", ".join(_key_text(each) for each in one["keys"]))
        for one in (found["auditors"] if name is None else [found])
    ]  # fmt: skip
    show(found, ("account", "shown as", "role", "state", "keys"), rows, as_json)


@commands.command("add-auditor")
def add_auditor(
    name: str,
    role: Annotated[str, typer.Option(help=f"One of {', '.join(get_args(Role))}.")] = "auditor",
    expires: Expires = None,
    display_name: Annotated[str | None, typer.Option(
        help="The name that people read, in any script: 'Frau Müller'.",
    )] = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Open an account. Its key is printed once."""
    body = {"name": name, "role": role, "expires": end_of_day(expires), "display_name": display_name}
    _show_key(call("POST", "/v1/admin/auditors", url, key, json=body), as_json)


@commands.command("disable-auditor")
def disable_auditor(name: str, url: Url = "", key: AdminKey = "") -> None:
    """Disable an account: its calls are refused."""
    call("PATCH", path_of("auditors", name), url, key, json={"disabled": True})
    notify(f"{name} is disabled, and none of its keys calls any more.")


@commands.command("enable-auditor")
def enable_auditor(name: str, url: Url = "", key: AdminKey = "") -> None:
    """Enable a disabled account."""
    call("PATCH", path_of("auditors", name), url, key, json={"disabled": False})
    notify(f"{name} may call again.")


@commands.command("show-as")
def show_as(
    name: str,
    display_name: Annotated[str, typer.Argument(help="The name that people read, in any script; '' removes it.")],
    url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Give an account a display name. Its name and everything recorded under its name remain."""
    call("PATCH", path_of("auditors", name), url, key, json={"display_name": display_name or None})
    notify(f"{name} is shown as {display_name or name}.")


@commands.command("add-key")
def add_key(
    name: str,
    expires: Expires = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Give an account another key, which is printed once."""
    _show_key(call("POST", path_of("auditors", name, "keys"), url, key, json={"expires": end_of_day(expires)}), as_json)


@commands.command("withdraw-key")
def withdraw_key(name: str, key_id: str, url: Url = "", key: AdminKey = "") -> None:
    """Make a key invalid immediately."""
    call("DELETE", path_of("auditors", name, "keys", key_id), url, key)
    notify(f"Key {key_id} of {name} is withdrawn.")


def _show_key(document: dict[str, str], as_json: bool) -> None:
    print(json.dumps(document) if as_json else f"The key of {document['auditor']}, shown this once:\n{document['key']}")


def _key_text(key: dict[str, Any]) -> str:
    state = "withdrawn" if key["withdrawn"] else f"until {key['expires'][:10]}" if key["expires"] else "in force"
    return f"{key['key_id']} ({state})"
