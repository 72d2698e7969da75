"""Every call of the holder's interface once, in an order in which each is answered; whoever walks decides how to call.

`checks.interface_examples` records the walk as the examples of the OpenAPI document, `checks.generated_client` takes it
with a client that was generated from that document, and a test takes it with the document alone.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

import httpx

from holder_service.records.progress import followed
from holder_service.services.running.holder import initialise
from holder_service.settings.oidc import OidcSettings
from holder_service.storage.anchor import Anchor
from shared.kinds.releases import LedgerPosition
from testing.holders import TestedHolder, opened, settings_in
from testing.registers import DECLARATION, LEARNABLE, learnable_csv, plan, register_csv, training, watch
from testing.waits import wait_until

LINKED: Final = b"id,value\np1,true\np2,false\n"
LINKED_COLUMN: Final[dict[str, Any]] = {
    "name": "decision", "type": "boolean", "nullable": True, "from": "linked",
    "values": "sha256:" + hashlib.sha256(LINKED).hexdigest(),
}  # fmt: skip
SCORE_COLUMN: Final[dict[str, Any]] = {
    "name": "score", "type": "number",
    "from": {
        "score": {
            "kind": "terms", "precision": "float64", "base": 0.5, "terms": [{"columns": ["age"], "slope": 0.01}],
        },
    },
}  # fmt: skip


LAKE: Final = "lake"
OIDC: Final = OidcSettings(
    "https://login.example/realms/audits", "https://holder.example/api", auditor_client_id="pafer-auditors"
)
"""A provider that nobody asks."""
METADATA: Final[dict[str, Any]] = {
    "title": "The register of residents", "reference_date": "2026-01-01", "contact": "register@example.org",
    "columns": {"hours": {"title": "Working hours", "unit": "hours a week"}},
}  # fmt: skip


class Call(Protocol):
    """How an operation is called: with parameters by name, and a body as JSON values or the bytes of a file."""

    def __call__(self, operation: str, body: Any = None, **parameters: Any) -> Any:
        """Call an operation, and give its answer as JSON values or text."""


@contextmanager
def new_holder(home: Path) -> Iterator[TestedHolder]:
    """A holder of which nothing is known but its administrator's key."""
    settings = replace(
        settings_in(home), records_roots=((home / LAKE).as_uri(),), oidc=OIDC, log_origin="holder.example/ledger"
    )
    issued = initialise(settings)
    assert issued is not None
    with opened(settings, issued.text) as holder:
        yield holder


def walk(holder: TestedHolder, call: Call) -> None:
    """Call every operation of a new holder at least once."""
    for operation in ("check_health", "check_readiness", "signing_keys", "sign_in_offer", "list_problems"):
        call(operation)
    call("explain_problem", code="budget-exhausted")
    wait_until(lambda: holder.client.get("/v1/log/checkpoint").status_code == 200)
    call("log_checkpoint")
    call("log_tile", tile="0/000.p/1")
    _administer(holder, call)
    _approve(holder, call, _ask(call))
    _look_back(holder, call)


def _administer(holder: TestedHolder, call: Call) -> None:
    holder.auditor_key = call("open_account", {"name": "ADR"})["key"]
    further = call("issue_key", {"expires": "2099-01-31T12:00:00Z"}, auditor="ADR")
    call("withdraw_key", auditor="ADR", key=further["key_id"])
    call("change_account", {"disabled": False}, auditor="ADR")
    call("list_accounts")
    call("show_account", auditor="ADR")
    call("declare_dataset", DECLARATION, dataset="register")
    call("write_metadata", METADATA, dataset="register")
    call("load_records", register_csv(), dataset="register")
    now = datetime.now(UTC)
    with followed(holder.settings.incoming, dataset="register", actor="administrator", began=now) as report:
        report("reading", done=42, of=100)
        call("list_loads", dataset="register")
    call("load_records_from", {"url": _lake(holder).as_uri()}, dataset="register")
    call("set_budget", {"epsilon": "2"}, dataset="register", auditor="ADR")
    call("set_cap", {"cap": {"epsilon": "20", "delta": "0.01"}}, population="register")
    call("list_budgets", population="register")
    call("declare_dataset", LEARNABLE, dataset="loans")
    call("load_records", learnable_csv(), dataset="loans")
    call("set_budget", {"epsilon": "2"}, dataset="loans", auditor="ADR")


def _lake(holder: TestedHolder) -> Path:
    """A file of records that the holder may read by itself."""
    path = holder.settings.home.parent / LAKE / "register.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(register_csv())
    return path


def _ask(call: Call) -> str:
    """Ask everything; gives the id of a derived column that is left."""
    call("list_datasets")
    call("describe_dataset", dataset="register")
    call("show_budget", dataset="register")
    call("quote_plan", plan(), dataset="register")
    release = call("release_plan", plan(), dataset="register", purpose="Yearly audit of the loan model, § 12")
    finer = {**release["plan"], "refines": release["id"]}
    finer["batches"] = [{**batch, "epsilon": "0.2"} for batch in finer["batches"]]
    call("quote_plan", finer, dataset="register")
    call("release_plan", finer, dataset="register")
    call("list_releases", dataset="register", limit=10)
    call("show_release", dataset="register", release_id=release["id"])
    call("ledger_head")
    call("ledger_entry", sequence=release["ledger"]["sequence"])
    call("quote_training", training(), dataset="loans")
    trained = call("release_training", training(), dataset="loans")
    call("list_trainings", dataset="loans", limit=10)
    call("show_training", dataset="loans", training_id=trained["id"])
    call("quote_watch", watch(epsilon="0.5", margin=-1000), dataset="register")
    watched = call("set_watch", watch(epsilon="0.5", margin=-1000), dataset="register")
    call("list_watches", dataset="register")
    wait_until(lambda: call("show_watch", dataset="register", watch_id=watched["id"])["answers"])
    linked = call("make_column", LINKED_COLUMN, dataset="register")["id"]
    call("link_values", LINKED, dataset="register", column=linked)
    call("show_column", dataset="register", column=linked)
    call("list_columns", dataset="register")
    call("delete_column", dataset="register", column=linked)
    scored = call("make_column", SCORE_COLUMN, dataset="register")["id"]
    call("list_columns_of_auditors", dataset="register")
    return str(scored)


def _approve(holder: TestedHolder, call: Call, scored: str) -> None:
    for population in ("register", "loans"):
        call("require_approval", {"required": True, "days": 14}, population=population)
    waiting = call("release_plan", plan(draw=2), dataset="register", purpose="Yearly audit of the loan model")["id"]
    call("release_training", training(draw=2), dataset="loans")
    call("set_watch", watch(epsilon="0.5", draw=2), dataset="register")
    call("list_approvals", state="waiting", limit=10)
    seen = call("show_approval", approval_id=waiting)["entry"]
    call("show_own_approval", dataset="register", approval_id=waiting)
    call("decide_approval", {"approved": True, "reason": "As agreed in October", "entry": seen}, approval_id=waiting)
    call("list_own_approvals", dataset="register", limit=10)
    call("withdraw_approval", dataset="register", approval_id=waiting)
    holder.await_columns()
    high = {"id": "high", "all_of": [{"column": "score", "op": "gt", "value": 0.9}]}
    derived = call("release_plan", plan(cells=[high], columns={"score": scored}), dataset="register")["id"]
    call("show_approval", approval_id=derived)
    call("show_approval_column", approval_id=derived, column=scored)
    call("delete_column_of_auditor", dataset="register", column=scored)
    call("require_approval", {"required": False}, population="register")
    call("require_approval", {"required": False}, population="loans")


def _look_back(holder: TestedHolder, call: Call) -> None:
    call("declare_dataset", DECLARATION, dataset="census")
    call("load_records", register_csv(), dataset="census")
    call("look_at_populations", {"population": "register", "other": "census"})
    call("merge_populations", {"population": "census"}, population="register")
    call("retire_dataset", dataset="census")
    marginals = {"sex": [{"value": "Female", "weight": 52}, {"value": "Male", "weight": 48}]}
    invented = {"people": 500, "seed": "0123456789abcdef" * 2, "marginals": marginals}
    call("publish_rehearsal", invented, dataset="register")
    charge = call("read_ledger", kind="charge", limit=2)["entries"][0]["sequence"]
    call("show_question", sequence=charge)
    call("report_on_dataset", dataset="register")
    call("verify_ledger")
    call("rotate_signing_key")
    call("show_metrics")
    # As if the database had been put back from a copy: the anchor knows of a later entry.
    Anchor(holder.settings.anchor).create(LedgerPosition(sequence=999, hash="sha256:" + "f" * 64))
    call("record_restore", {"reason": "The disk failed; the copy of last night was put back."})
    call("list_notices")


def operations_of(document: dict[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each operation of an OpenAPI document, by its id."""
    return {
        operation["operationId"]: (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


class DocumentCaller:
    """Calls operations as the holder's OpenAPI document says, and nothing else; every answer is noted.

    Attributes:
        keys: By role, those that are used instead of the administrator's, for what the role may call.
    """

    def __init__(self, holder: TestedHolder, note: Callable[[str, Any, httpx.Response], None]) -> None:
        self.keys: dict[str, str] = {}
        self.document: dict[str, Any] = holder.client.get("/openapi.json").json()
        self.operations = operations_of(self.document)
        self._holder = holder
        self._note = note

    def __call__(self, operation: str, body: Any = None, **parameters: Any) -> Any:
        """Call an operation."""
        method, path, described = self.operations[operation]
        in_path = {one["name"] for one in described.get("parameters", ()) if one["in"] == "path"}
        query = {name: value for name, value in parameters.items() if name not in in_path}
        headers = {}
        if "security" in described:
            headers["Authorization"] = f"Bearer {self._key_for(described['x-roles'])}"
        if body is not None:
            headers["Content-Type"] = next(iter(described["requestBody"]["content"]))
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        answer = self._holder.client.request(
            method, path.format(**parameters), params=query, headers=headers, content=content
        )
        self._note(operation, body, answer)
        is_json = answer.headers.get("content-type") == "application/json"
        return answer.json() if is_json and answer.content else answer.text

    def _key_for(self, roles: list[str]) -> str:
        if "auditor" in roles:
            return self._holder.auditor_key
        return next((self.keys[role] for role in roles if role in self.keys), self._holder.admin_key)
