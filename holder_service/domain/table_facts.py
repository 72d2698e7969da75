"""What the entries say about the other tables of the database: accounts, keys, populations, datasets, metadata, derived
columns, requests that need an approval.

The holder decides by those rows. One that was changed behind the ledger's back (a withdrawn key revived,
a dataset moved to another population) is found by comparing them with what follows from the entries.
"""

from collections.abc import Callable, Mapping
from typing import Any

from holder_service.domain.ledger import BrokenLedger, Entry

Rows = Mapping[tuple[str, str], Mapping[str, Any]]
"""By table and key: what a row has in its columns."""


class TableFacts:
    """Takes entry by entry, and then names the first row that does not follow from them."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        self._said_by: dict[tuple[str, str], int] = {}

    def apply(self, entry: Entry) -> None:
        """Take the next entry of a chain that follows."""
        event = entry.event
        detail = dict(event.detail)
        for name in ("rehearsal_of", "in_full", "second_officer", "proposed"):
            detail.pop(name, None)  # entries alone say it, and no row
        match event.kind:
            case "account" if "role" in detail:
                first = {"created": entry.at, "disabled": False, "display_name": None}
                self._say(entry, "accounts", event.subject, **first | detail)
            case "account":
                self._say(entry, "accounts", event.subject, **detail)
            case "key":
                self._say(entry, "api_keys", event.subject, created=entry.at, withdrawn=None, **detail)
            case "key-withdrawn":
                self._say(entry, "api_keys", event.subject, withdrawn=entry.at)
            case "signing-key":
                self._apply_signing_key(entry, detail)
            case "cap" if "closed_by" in detail:
                pass  # a restore closed it, and nothing of the row changed
            case "population" | "cap":
                self._say(entry, "populations", event.population, merged_into=None, **detail)
                self._rows["populations", str(event.population)].setdefault("approval_days", None)
            case "approval-required" | "approval-requested" | "approval-decided" | "approval-withdrawn":
                self._apply_approval(entry, detail)
            case "charge" if self._rows.get(("approvals", str(event.subject)), {}).get("state") == "approved":
                self._say(entry, "approvals", event.subject, state="answered")
            case "restore":
                self._end_approvals(entry, lambda _: True)
            case "dataset":
                known = {name: detail.get(name) for name in ("schema", "records_max", "version", "rehearsal")}
                self._say(entry, "datasets", event.dataset, population=event.population, retired=False, **known)
            case "metadata":
                self._say(entry, "dataset_metadata", event.dataset, **detail)
            case "records":
                version = int(event.subject or "")
                self._say(entry, "datasets", event.dataset, version=version, version_last=version, **detail)
            case "retirement":
                self._say(entry, "datasets", event.dataset, version=None, records_file=None, retired=True)
                self._forget("derived_columns", lambda row: row["dataset"] == event.dataset)
            case "column":
                whose = {"auditor": event.actor, "dataset": event.dataset, "created": entry.at}
                self._say(entry, "derived_columns", event.subject, id=event.subject, **whose, **detail)
            case "column-deletion":
                self._forget("derived_columns", lambda row: row["id"] == event.subject)
            case "merge" if event.auditor is None:
                self._apply_merge(entry, str(detail["from"]))
            case _:
                pass

    def require(self, found: Rows) -> None:
        """Compare the tables with what the entries say.

        Raises:
            BrokenLedger: Naming the entry that spoke last of a row that is missing, changed, or that none speaks of.
        """
        for (table, key), row in found.items():
            if (table, key) not in self._rows:
                raise BrokenLedger(max(self._said_by.values(), default=0), f"no entry speaks of {key!r} in {table}")
            for column, value in self._rows[table, key].items():
                if row[column] != value:
                    raise BrokenLedger(self._said_by[table, key], f"says another {column} of {key!r} than {table} has")
        for table, key in self._rows:
            if (table, key) not in found:
                raise BrokenLedger(self._said_by[table, key], f"speaks of {key!r}, which {table} lacks")

    def _say(self, entry: Entry, table: str, key: str | None, **columns: Any) -> None:
        self._rows.setdefault((table, str(key)), {}).update(columns)
        self._said_by[table, str(key)] = entry.sequence

    def _forget(self, table: str, which: Callable[[dict[str, Any]], bool]) -> None:
        """What no row speaks of any more."""
        for key in [key for key, row in self._rows.items() if key[0] == table and which(row)]:
            del self._rows[key]

    def _apply_approval(self, entry: Entry, detail: dict[str, Any]) -> None:
        event = entry.event
        match event.kind:
            case "approval-required":
                self._say(entry, "populations", event.population, **detail)
                if detail["approval_days"] is None:
                    self._end_approvals(entry, lambda dataset: self._population_of(dataset) == event.population)
            case "approval-requested":
                self._require_own_columns(entry, detail.pop("columns", {}))
                charge = {"rho_nano": None, **detail.pop("charge")}
                of = {"auditor": event.auditor, "dataset": event.dataset, "purpose": None, **detail, **charge}
                asked = {"id": event.subject, "sequence": entry.sequence, "requested": entry.at, "state": "waiting"}
                undecided = dict.fromkeys(("decision", "decided", "decided_by", "reason"))
                self._say(entry, "approvals", event.subject, **of, **asked, **undecided)
            case "approval-decided":
                state = "approved" if detail["approved"] else "declined"
                decided = {"decision": entry.sequence, "decided": entry.at, "decided_by": event.actor}
                self._say(entry, "approvals", event.subject, state=state, reason=detail.get("reason"), **decided)
            case _:
                self._say(entry, "approvals", event.subject, state="withdrawn")

    def _require_own_columns(self, entry: Entry, digests: Mapping[str, str]) -> None:
        """Refuse a request that names other documents of derived columns than were declared."""
        for identity, digest in digests.items():
            row = self._rows.get(("derived_columns", identity), {})
            if (row.get("document"), row.get("auditor")) != (digest, entry.event.auditor):
                raise BrokenLedger(entry.sequence, "names another document of a derived column than was declared")

    def _end_approvals(self, entry: Entry, about: Callable[[str], bool]) -> None:
        """What was asked about some datasets and is not over has ended."""
        for (table, key), row in self._rows.items():
            if table == "approvals" and row["state"] in ("waiting", "approved", "declined") and about(row["dataset"]):
                self._say(entry, table, key, state="outdated")

    def _population_of(self, dataset: str) -> str | None:
        population: str | None = self._rows.get(("datasets", dataset), {}).get("population")
        return population

    def _apply_signing_key(self, entry: Entry, detail: dict[str, Any]) -> None:
        detail.pop("reason", None)
        for (table, key), row in self._rows.items():
            if table == "signing_keys" and row["valid_to"] is None:
                self._say(entry, table, key, valid_to=detail["valid_from"])
        self._say(entry, "signing_keys", entry.event.subject, **{"valid_to": None, "handover": None, **detail})

    def _apply_merge(self, entry: Entry, source: str) -> None:
        into = entry.event.population
        rows = [self._rows.get(("populations", str(name)), {}) for name in (into, source)]
        keys = [row.get("person_key") for row in rows]
        if keys[0] != (keys[0] or keys[1]):
            self._say(entry, "populations", into, person_key=keys[1])
        days = [row["approval_days"] for row in rows if row.get("approval_days") is not None]
        self._say(entry, "populations", into, approval_days=min(days, default=None))
        self._say(entry, "populations", source, merged_into=into)
        for (table, key), row in self._rows.items():
            if table == "datasets" and row["population"] == source:
                self._say(entry, table, key, population=into)
