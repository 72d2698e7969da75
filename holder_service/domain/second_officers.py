"""Changes that a second officer has to confirm, and whether the ledger's entries show that one did.

A population can require a second officer (`second_officer` of an `approval-required` entry). An officer who raises its
cap, ends its approvals or loosens this setting then only makes an entry `change-proposed`. The change takes effect when
another account makes the same change within a week; the entry of the change names the proposal.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from holder_service.domain.ledger import BrokenLedger, Entry, Kind, loss_columns
from shared.privacy.amounts import NO_LOSS, Loss

STANDS: Final = timedelta(days=7)
"""How long a proposal stands."""
ENDS_PROPOSALS: Final[tuple[Kind, ...]] = ("cap", "population", "approval-required", "merge")
"""The kinds of entries about a population after which no earlier proposal about it stands."""
Setting = Mapping[str, Any]
"""What a population requires: `approval_days`, and `in_full` and `second_officer` where they are true."""


def setting_of(detail: Mapping[str, Any]) -> Setting:
    """Return what an entry `approval-required` says of a population."""
    flags = {name: True for name in ("in_full", "second_officer") if detail.get(name)}
    return {"approval_days": detail.get("approval_days"), **flags}


def setting_change(after: Setting) -> dict[str, Any]:
    """The change that sets it."""
    return {"approval": dict(after)}


def cap_change(limit: Loss) -> dict[str, Any]:
    """The change that sets a cap."""
    return {"cap": {name: nano for name, nano in loss_columns(limit).items() if nano is not None}}


def is_looser(before: Setting, after: Setting) -> bool:
    """Whether less is required than before."""
    ended = before.get("approval_days") is not None and after.get("approval_days") is None
    return ended or any(before.get(name) and not after.get(name) for name in ("in_full", "second_officer"))


def change_words(change: Mapping[str, Any]) -> str:
    """A proposed change as a phrase, such as "set the cap to epsilon 20"."""
    if "cap" in change:
        nano = change["cap"]
        rho = nano.get("rho_nano")
        limit = Loss(nano["epsilon_nano"], nano["delta_nano"]) if rho is None else Loss.of_rho(rho, nano["delta_nano"])
        return f"set the cap to {limit}"
    setting = change["approval"]
    days = setting["approval_days"]
    flags = [words for name, words in _FLAG_WORDS.items() if setting.get(name)]
    required = "end approvals" if days is None else f"require approvals within {days} days"
    return f"{required}, {' and '.join(flags) if flags else 'without further conditions'}"


_FLAG_WORDS: Final = {
    "in_full": "refusing requests that cannot be shown in full",
    "second_officer": "requiring a second officer",
}


class SecondOfficerReplay:
    """A replay that raises at the first entry that needed a second officer and has none."""

    def __init__(self) -> None:
        self._settings: dict[str | None, Setting] = {}
        self._limits: dict[str | None, Loss] = {}
        self._proposals: dict[int, Entry] = {}

    def apply(self, entry: Entry) -> None:
        """Take the next entry.

        Raises:
            BrokenLedger: It allows more than before, and nobody else proposed it.
        """
        event, name = entry.event, entry.event.population
        limit = event.cap.limit if event.cap is not None else NO_LOSS
        match event.kind:
            case "change-proposed":
                self._proposals[entry.sequence] = entry
            case "approval-required":
                after = setting_of(event.detail)
                if is_looser(self._settings.get(name, {}), after):
                    self._require_second(entry, setting_change(after))
                self._settings[name] = after
            case "cap" | "population":
                if not limit.fits_in(self._limits.get(name, NO_LOSS)):
                    self._require_second(entry, cap_change(limit))
            case "merge" if event.auditor is None:
                self._merge(entry, str(event.detail["from"]))
        if event.cap is not None:
            self._limits[name] = event.cap.limit
        if event.kind in ENDS_PROPOSALS:
            self._proposals = {
                number: proposal for number, proposal in self._proposals.items() if proposal.event.population != name
            }  # fmt: skip

    def _require_second(self, entry: Entry, change: Mapping[str, Any]) -> None:
        event = entry.event
        if not self._settings.get(event.population, {}).get("second_officer"):
            return
        proposal = self._proposals.get(event.detail.get("proposed", 0))
        if (
            proposal is None
            or (proposal.event.population, proposal.event.detail["change"]) != (event.population, change)
            or proposal.event.actor == event.actor
            or not datetime.fromisoformat(entry.at) < datetime.fromisoformat(proposal.at) + STANDS
        ):
            raise BrokenLedger(entry.sequence, "allows more than before, and no second officer agreed to it")

    def _merge(self, entry: Entry, source: str) -> None:
        into = entry.event.population
        joined, other = self._settings.get(into, {}), self._settings.get(source, {})
        limit = self._limits.get(into, NO_LOSS)
        if other.get("second_officer") and not limit.fits_in(self._limits.get(source, NO_LOSS)):
            raise BrokenLedger(entry.sequence, "gives people a higher cap, and no second officer agreed to it")
        days = [found for setting in (joined, other) if (found := setting.get("approval_days")) is not None]
        self._settings[into] = setting_of({**other, **joined, "approval_days": min(days, default=None)})
