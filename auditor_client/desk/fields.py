"""The fields of the desk's forms: those of the values that the commands make flags of, with the same help.

So what a command can be asked, the desk can be asked, and what is typed is checked by the same types.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.request import AuditRequest
from auditor_client.asking.training import ALGORITHMS, FollowingAudit, TrainingRequest
from auditor_client.audits.asking import LinkRequest, OnHand, UntilDecided
from auditor_client.audits.fields import CHOICES, FILES, HOLD_COMMAS
from auditor_client.errors import QuestionRefused
from auditor_client.findings.about import About
from auditor_client.findings.reading import UNREAD_BY_TRAININGS, Reading
from shared.contract.datasets import DatasetDescription
from shared.wire.field_types import choices_of, described_fields, is_list, listed

LABELS: Final[Mapping[str, str]] = {
    "sensitive": "Groups", "epsilon": "Privacy loss ε", "metrics": "Figures", "where": "Only people with",
    "by": "Within each value of", "reference": "Compare with the group", "delta": "δ", "rho": "ρ instead of ε",
    "upper": "Largest answer, people", "favourable": "Good outcome", "columns": "Columns of the model’s inputs",
    "intervention": "Kind of decision",
    "decision": "Column of decisions", "above": "Favourable above a score of", "label": "Label column",
    "chain": "Stages of a chain of decisions", "contradictions": "ε to count contradictions",
    "outcome_test": "Last step is an outcome test", "passing": "Shares who go on",
    "edges": "Edges of a score’s bands", "within": "Stability within", "free": "Stability: free columns",
    "version": "Version of the records", "refines": "Refines the release", "people": "How many people",
    "accepted": "Share accepted", "positive": "Share with a true label", "ratio": "Ratio",
    "shares": "Shares of the groups", "rates": "Rates of the groups", "threshold": "Threshold of the ratio",
    "level": "Level of the intervals", "joint": "All intervals together", "judged": "Least size of a judged group",
    "unknown": "People of unknown group", "unknown_odds": "Largest factor in odds of the unknown",
    "edition": "Edition of the estimator", "supports_from": "Your own data about the same people",
    "block": "Block of people",
    "bands": "Bands of a score", "group_totals": "Public totals of the groups", "totals_source": "Where they are from",
    "misreported": "Study of misreported groups", "misreported_source": "Where the study is from",
    "reuse": "Use kept answers", "join": "Join kept answers", "model_name": "Name of the model",
    "model_owner": "Whose model it is", "purpose": "What it decides", "favourable_word": "The good outcome is called",
    "organisation": "Who audits", "author": "Who writes the report", "target_width": "Width of the interval",
    "until_decided": "Interim looks until decided", "first_look": "First look",
    "asked_for": "Purpose of the request",
    "margin": "People before",
    "name": "Name of the column", "key": "Column with the person keys", "value": "Column with the values",
    "type": "What the values are", "too_large": "Counts above the number of people", "negative": "Negative counts",
    "algorithm": "Learner", "features": "What it may use", "groups": "Part of ε that finds the best-off group",
    "splits": "Part of ε that chooses splits", "tables": "Part of ε that learns scores",
    "fairness": "Part of ε for the covariance", "points": "Points for a unit of log odds",
    "lowered": "Group whose scores are lowered", "audit_on": "Audit it on", "audit_epsilon": "ε of that audit",
    "audit_version": "Version of the records there",
    "dataset": "Dataset", "model": "A model’s file", "decisions": "CSV or Parquet file", "bundle": "The zip file",
    "keys": "The holder’s keys", "other": "Second model file",
}  # fmt: skip
"""What a field is called on a page; others by their names."""
_HINTS: Final[Mapping[str, str]] = {
    "where": "Restrict the audit to some people: age >= 18, or region in (North, South). One condition "
    "per line; all must hold.",
    "rates": "Assumption, instead of the ratio: each group's rate, separated by commas.",
    "name": "A name for the column: letters, digits, dots, hyphens and underscores.",
    "value": "The data's column with the values. If empty: the one of that name, or the only other one.",
    "organisation": "The organisation that audits. If empty: from the settings.",
    "author": "The author of the report. If empty: from the settings.",
}
"""What people read of a field of whose flag another text is right."""
_APART: Final = ("sensitive", "epsilon", "metrics", "decision", "chain", "assumption", "features")
"""Fields that the page shows in its own way."""
_FIRST: Final = ("favourable", "intervention", "people", "block", "where", "by", "strategy", "mechanism")
"""Fields that are asked first; the others stand in sections that are folded."""
_OF_LEARNERS: Final[Mapping[str, Sequence[str]]] = {
    "A tree": ("depth", "splits", "groups"),
    "Scores (fair_linear)": ("points", "tables", "label_quantiles", "group_quantiles"),
    "Learners of publications": ("similarity", "penalty", "free_covariance", "fairness", "lowered"),
}
"""The fields of a training that are some learners' own."""
_OTHERWISE: Final = re.compile(r"\s*\[([^][]+)\]")
"""What a flag's text says of a value that is left out."""
_SYMBOLS: Final = {"epsilon": "ε", "rho": "ρ"}
_NAMED: Final = re.compile(r"`(?:Auditor\.[a-z_]+|([a-z_]+))`")
_FLAG: Final = re.compile(r"--(intervention|people)\b")
"""The flags that sentences of reports and plans name."""
_CHECKED: Final = re.compile(r"^([a-z_]+): (?:Value error, )?")
"""How a text begins that a value's own check wrote: with the field's name, not in backquotes."""


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form.

    Attributes:
        name: Of the field of the value, and of the form.
        label, hint: What people read.
        kind: "text", "lines", "switch", "choice" or "file".
        default: What it has if nothing is typed.
        options: Of a choice.
    """

    name: str
    label: str
    hint: str
    kind: str
    default: str = ""
    options: tuple[str, ...] = ()


def label_of(name: str) -> str:
    """What a field is called on a page."""
    return LABELS.get(name, name.replace("_", " ").capitalize())


def first_fields(dataset: DatasetDescription) -> tuple[FormField, ...]:
    """The fields of a question that are asked first; a block where the dataset declares blocks of people."""
    described = {name: info for kind in (AuditRequest, Assumption, OnHand) for name, info in kind.model_fields.items()}
    names = _FIRST if dataset.blocks is not None else tuple(name for name in _FIRST if name != "block")
    return tuple(_field(name, described[name], dataset) for name in names)


def sections(dataset: DatasetDescription) -> Mapping[str, tuple[FormField, ...]]:
    """All further fields of a question, by the titles of their sections."""
    kinds: Mapping[str, type[BaseModel]] = {
        "More of the question": AuditRequest, "How the answer is read": Reading,
        "Until the verdict is decided": UntilDecided, "Assumptions about the people": Assumption,
        "What you have already": OnHand, "For the report": About,
    }  # fmt: skip
    return {title: tuple(_fields(kind, dataset, (*_APART, *_FIRST))) for title, kind in kinds.items()}


def first_training_fields(dataset: DatasetDescription) -> tuple[FormField, ...]:
    """The fields of a training that are asked first."""
    learners = [name for name in ALGORITHMS if name in (dataset.trainings or ())]
    labels = tuple(column.name for column in dataset.columns if column.label)
    made = {name: _field(name, info, dataset) for name, info in TrainingRequest.model_fields.items()}
    return (
        replace(made["algorithm"], kind="choice", options=tuple(learners)),
        replace(made["label"], kind="choice", default=labels[0], options=labels) if labels else made["label"],
    )


def training_sections(dataset: DatasetDescription, datasets: Sequence[str]) -> Mapping[str, tuple[FormField, ...]]:
    """All further fields of a training, by the titles of their sections; `datasets` are those to audit the model on."""
    of_learners = [name for names in _OF_LEARNERS.values() for name in names]
    without = (*_APART, *of_learners, "algorithm", "label")
    following = [
        replace(one, kind="choice", options=("", *datasets)) if one.name == "audit_on" else one
        for one in _fields(FollowingAudit, dataset, ())
    ]
    return {
        **{
            title: tuple(_field(name, TrainingRequest.model_fields[name], dataset) for name in names)
            for title, names in _OF_LEARNERS.items()
        },
        "More of the training": tuple(_fields(TrainingRequest, dataset, without)),
        "How the answer is read": tuple(_fields(Reading, dataset, UNREAD_BY_TRAININGS)),
        "An audit in the same run": tuple(following),
    }


def link_fields(dataset: DatasetDescription) -> tuple[FormField, ...]:
    """The fields of values that are linked."""
    fields = _fields(LinkRequest, dataset, ())
    return tuple(replace(one, label="They are labels") if one.name == "label" else one for one in fields)


def values_of(form: Mapping[str, str], kinds: Iterable[type[BaseModel]]) -> dict[str, Any]:
    """What was typed, as the arguments of a call; a field that is empty is left out."""
    values: dict[str, Any] = {}
    for kind in kinds:
        for name, info in described_fields(kind, FILES).items():
            text = form.get(name, "").strip()
            if info.annotation is bool:
                values[name] = name in form
            elif text and is_list(info.annotation):
                values[name] = listed([text], "\n" if name in HOLD_COMMAS else ",")
            elif text:
                values[name] = text
    return values


def ratio_of(text: str) -> float:
    """A ratio as it was typed.

    Raises:
        QuestionRefused: It is no number.
    """
    try:
        return float(text)
    except ValueError:
        raise QuestionRefused(
            f"`ratio`: {text!r} is not a number. Write one above 0 and at most 1, such as 0.8."
        ) from None


def require_purpose(dataset: DatasetDescription, asked_for: str) -> None:
    """Refuse what is asked without a word about what for, where the holder wants one.

    Raises:
        QuestionRefused: So it is; nothing was asked.
    """
    if dataset.purpose_required and not asked_for.strip():
        raise QuestionRefused(
            f"Dataset {dataset.name!r} requires a purpose. Enter one (`asked_for`); nothing was sent."
        )


def in_labels(text: str) -> str:
    """A text that names arguments in backquotes, or flags as reports do, with the labels of their fields."""
    text = _FLAG.sub(lambda match: f"`{match[1].replace('-', '_')}`", _in_backquotes(text))
    return _NAMED.sub(lambda match: f"“{label_of(match[1])}”" if match[1] in _every_name() else match[0], text)


def field_of(text: str, names: Iterable[str]) -> str | None:
    """The field of a form that a text is about: the first that it names; None if it names none."""
    known = set(names)
    return next((match[1] for match in _NAMED.finditer(_in_backquotes(text)) if match[1] in known), None)


def _in_backquotes(text: str) -> str:
    """A text, with the field in backquotes that it begins with."""
    return _CHECKED.sub(lambda match: f"`{match[1]}`: " if match[1] in _every_name() else match[0], text)


def _every_name() -> set[str]:
    kinds = (
        AuditRequest,
        Reading,
        Assumption,
        OnHand,
        UntilDecided,
        About,
        LinkRequest,
        TrainingRequest,
        FollowingAudit,
    )
    return {*LABELS, *(name for kind in kinds for name in kind.model_fields)}


def _fields(kind: type[BaseModel], dataset: DatasetDescription, without: Sequence[str]) -> Iterable[FormField]:
    return (_field(name, info, dataset) for name, info in described_fields(kind, without).items())


def _field(name: str, info: FieldInfo, dataset: DatasetDescription) -> FormField:
    options = dataset.mechanisms if name == "mechanism" else choices_of(info.annotation) or CHOICES.get(name, ())
    if options and info.default is None:
        options = ("", *options)
    hint = _hint(name, info, "As usual" if options else "If empty")
    if name in FILES:
        return FormField(name, label_of(name), hint, "file")
    if info.annotation is bool:
        return FormField(name, label_of(name), hint, "switch", "on" if info.default else "")
    default = "" if info.default is None or isinstance(info.default, tuple) or info.is_required() else str(info.default)
    kind = "choice" if options else "lines" if name in HOLD_COMMAS else "text"
    return FormField(name, label_of(name), hint, kind, default, tuple(options))


def _hint(name: str, info: FieldInfo, left_out: str) -> str:
    """A flag's text as people read it beside a field, with the words for what is left out in one."""
    text = in_labels(_HINTS.get(name, info.description or ""))
    text = re.sub(r"\b(epsilon|rho)\b", lambda match: _SYMBOLS[match[0]], text)
    otherwise = _OTHERWISE.search(text)
    return text if otherwise is None else f"{_OTHERWISE.sub('', text)} {left_out}: {otherwise[1]}."
