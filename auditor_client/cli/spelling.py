"""How the commands spell what Python calls by a name: flags for arguments, commands for methods, also in errors.

Errors name an argument or a method in backquotes, as Python has it: `where`, `Auditor.link`. So one text serves both.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.request import AuditRequest
from auditor_client.asking.training import FollowingAudit, TrainingRequest
from auditor_client.audits.asking import LinkRequest, OnHand, OnHandAndLooks, PlannedOnHand
from auditor_client.audits.fields import CHOICES, FILES, HOLD_COMMAS
from auditor_client.cli.completion import datasets, sensitive_columns
from auditor_client.cli.options import (
    AUDITED,
    CONNECTION,
    OUTPUT,
    PRIVACY,
    AuditOutput,
    Connection,
    Output,
    TrainingOutput,
)
from auditor_client.findings.about import About
from auditor_client.findings.reading import Reading
from shared.wire.flags import Flag

PANELS: Final[Mapping[type[BaseModel], str]] = {
    AuditRequest: "The question",
    Reading: "How the answer is read",
    Assumption: "Assumptions about the people",
    OnHand: "What you have already",
    OnHandAndLooks: "What you have already",
    PlannedOnHand: "What you have already",
    About: "Who and what, for the report",
    LinkRequest: "The values",
    TrainingRequest: "The training",
    FollowingAudit: "An audit in the same run",
    Output: OUTPUT,
    AuditOutput: OUTPUT,
    TrainingOutput: OUTPUT,
    Connection: CONNECTION,
}
"""Where the flags of each value stand in the help, unless they have a panel of their own."""

SPELLED: Final[Mapping[str, Flag]] = {
    **{name: Flag(completed=values) for name, values in CHOICES.items()},
    **dict.fromkeys(HOLD_COMMAS, Flag(split=False)),
    **dict.fromkeys(FILES, Flag(kind=Path)),
    "sensitive": Flag(completed=sensitive_columns),
    "metrics": Flag("--metric", completed=CHOICES["metrics"]),
    **dict.fromkeys(("where", "block"), Flag(split=False, panel=AUDITED)),
    "version": Flag("--records-version", panel=AUDITED),
    **dict.fromkeys(
        ("decision", "chain", "favourable", "above", "label", "columns", "intervention"), Flag(panel=AUDITED)
    ),
    **dict.fromkeys(("epsilon", "delta", "rho", "upper", "contradictions", "draw", "refines"), Flag(panel=PRIVACY)),
    "mechanism": Flag(panel=PRIVACY, completed=CHOICES["mechanism"]),
    "features": Flag("--feature", split=False),
    "holder": Flag(split=False),
    "audit_on": Flag(completed=datasets),
    **dict.fromkeys(("delimiter", "decimal", "encoding"), Flag(kind=str)),
    "as_json": Flag("--json"),
    "joint": Flag("--joint"),
    "outcome_test": Flag("--outcome-test"),
    "join": Flag("--join"),
    "until_decided": Flag("--until-decided", panel=PRIVACY),
    "first_look": Flag(panel=PRIVACY),
    "target_width": Flag(panel=PRIVACY),
    "offline": Flag("--offline"),
    "price": Flag("--price"),
}
"""The flags that are not as their fields' names and types say."""

_UNLIKE: Final = {"ratio": "--ratio", "api_key": "--key-file", "dataset": "--dataset", "target_width": "--target-width"}
_FIELDS: Final = frozenset(name for kind in PANELS for name in kind.model_fields)
_NAMED: Final = re.compile(r"`(?:Auditor\.(?P<method>[a-z_]+)|(?P<argument>[a-z_]+))`")


def in_flags(text: str) -> str:
    """A text that names arguments and methods in backquotes, with the flags and commands for them."""
    return _NAMED.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    if match["method"]:
        return f"`auditor {match['method'].replace('_', '-')}`"
    name = match["argument"]
    if name in _UNLIKE:
        return _UNLIKE[name]
    if name in _FIELDS:
        return SPELLED.get(name, Flag()).name or f"--{name.replace('_', '-')}"
    return match[0]
