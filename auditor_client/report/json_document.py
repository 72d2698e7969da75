"""Findings as JSON documents, for machines and archives: the same facts, exact and unrounded."""

import math
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final

from auditor_client.asking.question import Question
from auditor_client.errors import AuditorError
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import Attribution, Comparison, JudgedFigures, OddsEstimate, ParityEstimate
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.estimation.unknown_figures import UnknownFigures
from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.findings import insight
from auditor_client.findings.direct_use import direct_use
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.findings.mending import Mended
from auditor_client.findings.training_notes import TrainingNote
from auditor_client.models.read_model import Provenance
from auditor_client.report import headlines, prose
from auditor_client.report.first_screen import limits
from auditor_client.report.outcome import outcome_of
from auditor_client.report.subject import subject
from auditor_client.report.watch_data import watch_document
from auditor_client.report.watch_gaps import KeptWatch
from shared.kinds.trainings import TrainingRelease

FORMATS: Final = ("pafer-audit/2", "pafer-audit/3", "pafer-audit/4", "pafer-audit/5", "pafer-audit/6")
"""Of documents of audits. The third has the reading, and for each metric its threshold and both verdicts: before it
every metric had the verdict and the threshold of the first. The fourth says of every estimate whether it is known, and
of every metric which groups it is about, with the figures about other groups. The fifth says which outcome the figures
count. The sixth has the tables by fewer sensitive columns."""
FORMAT: Final = FORMATS[-1]
_FIGURES: Final = ("ratio", "difference", "population_ratio", "population_difference")
_OF_WHOM: Final = ("rule", "left_out")
_SINCE_FOURTH: Final = {"known", "other", *_OF_WHOM}
"""Members that earlier documents do not have."""


def audit_document(finding: Finding, form: str = FORMAT) -> dict[str, Any]:
    """An audit as JSON values, in one of `FORMATS`.

    `release` is the holder's answer as it came, and `joined` are the others that the figures rest on, so signatures can
    be checked from this document alone. A figure or an end of an interval that does not exist is null.
    """
    release, question = finding.release, finding.question
    attribution, refused = _attribution(finding, form)
    return {
        "format": form,
        "verdict": finding.verdict.value,
        "finding": headlines.headline(finding),
        "explanation": headlines.explanation(finding),
        "threshold": finding.threshold,
        **({"outcome": _outcome(finding)} if form in FORMATS[3:] else {}),
        **({} if finding.intervention is None else {"intervention": finding.intervention}),
        **({} if form == FORMATS[0] else {"reading": finding.reading.model_dump(mode="json")}),
        "metrics": {metric: estimate_document(estimate, form) for metric, estimate in finding.estimates.items()},
        **_parts(finding, form),
        **_tables(finding, form),
        "attribution": attribution,
        "attribution_refused": refused,
        "dataset": release.dataset,
        "version": release.version,
        "sensitive": list(finding.plan.sensitive),
        "scope": [predicate.model_dump(mode="json", exclude_none=True) for predicate in question.scope],
        "reference": None if question.reference is None else list(question.reference),
        "strategy": finding.strategy,
        "estimator": finding.estimator,
        "rules": [
            {
                "rule": rule.rule.model_dump(mode="json", exclude_none=True),
                "decision": rule.leaf.decision,
                "favourable": rule.favourable,
            }
            for rule in finding.rules
        ],
        "model": {"rules_digest": finding.model.rules, "file_digest": finding.model.file},
        **_source(question),
        **_direct_use(finding, form),
        **_known_totals(question),
        **_study(question),
        **({"about": finding.about.written} if finding.about.written else {}),
        "reused": finding.reused,
        **({} if finding.look is None else {"look": finding.look}),
        "charge": release.charge.document(),
        "budget": None if finding.budget is None else finding.budget.model_dump(mode="json"),
        "relation": release.relation,
        "meaning": {
            "This report does not say": "; ".join(limits(question)),
            "What was audited": subject(question).sentence,
            **{paragraph.term: paragraph.text for paragraph in prose.paragraphs(finding)},
        },
        "holder": finding.holder_url,
        "key": finding.key.model_dump(mode="json"),
        "receipt": str(finding.receipt),
        "release": dict(finding.answer),
        **({} if finding.stored.second is None else {"second_release": dict(finding.stored.second.document)}),
        **({"joined": [dict(other.document) for other in finding.stored.others]} if finding.stored.others else {}),
        "versions": dict(finding.versions),
    }


def _outcome(finding: Finding) -> dict[str, Any]:
    """Return the decision that the figures count: the model's or column's own, the auditor's word, and a sentence."""
    counted = outcome_of(finding)
    return {"decision": counted.decision, "word": counted.word, "means": counted.means}


def _source(question: Question) -> dict[str, Any]:
    """Return the model or column behind the rules; empty for plain rules, as in earlier documents."""
    source = question.source
    if not source.columns and source.provenance is None:
        return {}
    return {
        "columns": {derived.column.name: derived.id for derived in source.columns},
        "provenance": None if source.provenance is None else _provenance(source.provenance),
    }


_OF_SOME_MODELS: Final = ("rehearsal_of", "inputs", "fractional")


def _provenance(read: Provenance) -> dict[str, Any]:
    """Return how a model was read; what is said of some models only is left out of the others."""
    fields = asdict(read)
    return {name: value for name, value in fields.items() if name not in _OF_SOME_MODELS or value not in (None, ())}


def _direct_use(finding: Finding, form: str) -> dict[str, Any]:
    """Return what the model looks at of what is sensitive; left out where that is nothing, as in earlier documents."""
    use = direct_use(finding)
    return {} if use is None else {"direct_use": _json(use, form)}


def _known_totals(question: Question) -> dict[str, Any]:
    """Return how many people each group was known to have; left out where it was not, as in earlier documents."""
    totals = question.request.known_totals
    if totals is None:
        return {}
    people = [
        {"group": list(group), "least": low, "most": high}
        for group, (low, high) in zip(question.groups, totals.people, strict=True)
    ]
    return {"group_totals": {"source": totals.source, "groups": people}}


def _study(question: Question) -> dict[str, Any]:
    """Return the study of misreported groups; left out without one, as in earlier documents."""
    study = question.request.group_study
    if study is None:
        return {}
    people = [
        {"true": list(true), "recorded": list(recorded), "people": number}
        for true, row in zip(question.groups, study.people, strict=True)
        for recorded, number in zip(question.groups, row, strict=True)
    ]
    return {"misreported": {"source": study.source, "groups": people}}


def _parts(finding: Finding, form: str) -> dict[str, Any]:
    """Return the figures of a score's bands, of strata and of a chain; left out of audits without them."""
    chain = {} if finding.chain is None else {"chain": _json(finding.chain, form)}
    return {**_scores(finding, form), **_strata(finding, form), **chain}


def _tables(finding: Finding, form: str) -> dict[str, Any]:
    """Return the figures by fewer sensitive columns; left out by one column, as in earlier documents."""
    if form in FORMATS[:4] or not finding.tables:
        return {}
    return {"tables": [_table(table, form) for table in finding.tables.values()]}


def _table(table: Finding, form: str) -> dict[str, Any]:
    return {
        "sensitive": list(table.plan.sensitive),
        "verdict": table.verdict.value,
        "finding": headlines.headline(table),
        "metrics": {metric: estimate_document(estimate, form) for metric, estimate in table.estimates.items()},
        **_parts(table, form),
    }


def _scores(finding: Finding, form: str) -> dict[str, Any]:
    """Return what bands of a score say; without bands nothing, as in documents of earlier versions."""
    if finding.scores is None:
        return {}
    ratios = insight.impact_ratios(finding)
    return {
        "scores": _json(finding.scores, form),
        "impact_ratios": {", ".join(columns): _json(of_columns, form) for columns, of_columns in ratios.items()},
    }


def _strata(finding: Finding, form: str) -> dict[str, Any]:
    """Return what was found within each stratum and over them; without strata nothing, as in earlier documents."""
    if not finding.by_stratum:
        return {}
    return {
        "by": finding.question.request.by,
        "strata": {
            metric: {
                "strata": [
                    {
                        "value": figures.stratum.value,
                        "all_of": [
                            predicate.model_dump(mode="json", exclude_none=True) for predicate in figures.stratum.all_of
                        ],
                        "verdict": figures.verdict.value,
                        "estimate": estimate_document(figures.estimate, form),
                        "together": None
                        if figures.together is None
                        else _members(figures.together, form, *_FIGURES, "threshold"),
                    }
                    for figures in parity.strata
                ],
                "every": None
                if parity.every is None
                else {"verdict": parity.every.verdict.value, **_members(parity.every, form, *_FIGURES, "threshold")},
                "standardised": [
                    {
                        "verdict": figures.verdict.value,
                        **_members(
                            figures, form, "ratio", "difference", "groups", "weights", "strata_left_out", "comparisons"
                        ),
                    }
                    for figures in parity.standardised
                ],
            }
            for metric, parity in finding.by_stratum.items()
        },
    }


def estimate_document(estimate: MetricEstimate, form: str = FORMAT) -> dict[str, Any]:
    """The figures of one metric as JSON values."""
    document = _figures_document(estimate, form)
    if isinstance(estimate, OddsEstimate):
        return {
            **document,
            "true_positive": estimate_document(estimate.true_positive, form),
            "false_positive": estimate_document(estimate.false_positive, form),
        }
    pair = () if estimate.pair is None else ("pair",)
    return {**document, **_members(estimate, form, "overall", "groups", "comparisons", *pair)}


def _figures_document(figures: JudgedFigures, form: str) -> dict[str, Any]:
    """Ratio and difference with their verdicts, and of which groups they are."""
    document = {"verdict": figures.verdict.value, **_members(figures, form, *_FIGURES, "warnings")}
    if form != FORMATS[0]:
        document |= {"threshold": figures.threshold, "population_verdict": figures.population_verdict.value}
    if form not in FORMATS[:2]:
        other = None if figures.other is None else _figures_document(figures.other, form)
        document |= {**_members(figures, form, *_OF_WHOM), "other": other}
    if figures.unknown is not None:
        document |= {"unknown": _unknown_document(figures.unknown, form)}
    if isinstance(figures.as_recorded, ParityEstimate | OddsEstimate):
        document |= {"as_recorded": estimate_document(figures.as_recorded, form)}
    return document | ({"ratio_kind": figures.ratio_kind.value} if figures.ratio_kind.adverse else {})


def _unknown_document(unknown: UnknownFigures, form: str) -> dict[str, Any]:
    """Return the figures over all that the people of unknown group may be; an infinite factor becomes null."""
    return {
        "verdict": unknown.verdict.value,
        "undecided_because_of": None if unknown.because is None else unknown.because.value,
        **_members(unknown, form, "groups", "share", "people", "ratio", "difference", "factor", "sized"),
        "curve": [
            {"factor": _json(point.factor), "verdict": point.verdict.value, "ratio": _json(point.ratio)}
            for point in unknown.curve
        ],
        "tipping": None
        if unknown.tipping is None
        else {
            "verdict": unknown.tipping.verdict.value,
            "factor": _json(unknown.tipping.factor),
            "changes": unknown.tipping.factor is not None,
            "share": _json(unknown.tipping.share),
        },
    }


def comparison_document(
    first: Finding,
    second: Finding,
    metric: str,
    change: Comparison,
    tables: Sequence[tuple[Finding, Finding, Comparison]] = (),
) -> dict[str, Any]:
    """A comparison as JSON values, with both audits whole; `tables` are the same by fewer sensitive columns."""
    of_tables = [
        {
            "sensitive": list(table.plan.sensitive),
            "change": changed.change.value,
            **_members(changed, FORMAT, *_FIGURES, "notes"),
        }
        for table, _, changed in tables
    ]
    return {
        "metric": metric,
        "change": change.change.value,
        **_members(change, FORMAT, *_FIGURES, "notes"),
        **({"tables": of_tables} if of_tables else {}),
        "first": audit_document(first),
        "second": audit_document(second),
    }


def mending_document(mended: Mended) -> dict[str, Any]:
    """A relabelled tree as JSON values, with the audit that it was made from by its release and model."""
    names = ("ratio_before", "ratio", "accuracy_before", "accuracy", "accuracy_of_none", "epsilon_needed")
    return {
        "wanted": mended.wanted,
        "met": mended.met,
        "release": mended.finding.release.id,
        "model": mended.finding.model.rules,
        "mended": mended.digest,
        **_members(mended, FORMAT, *names),
        "groups": _json(mended.finding.question.groups),
        "changes": [
            {
                "rules": [rule.model_dump(mode="json", exclude_none=True) for rule in change.rules],
                **_members(change, FORMAT, "leaf", "before", "after", "favourable", "people", "cost"),
            }
            for change in mended.changes
        ],
    }


def history_document(
    findings: Sequence[Finding],
    unreadable: int,
    trainings: Sequence[tuple[TrainingNote, KeptAnswer[TrainingRelease]]] = (),
    watches: Sequence[KeptWatch] = (),
) -> dict[str, Any]:
    """Audits over time as JSON values, and trainings as they were decided; and watches, where some are kept."""
    return {
        "audits": [
            {
                "created": finding.release.created.isoformat(),
                "release": finding.release.id,
                **({} if finding.release.plan.refines is None else {"refines": finding.release.plan.refines}),
                **({"joined": [other.release.id for other in finding.stored.others]} if finding.stored.others else {}),
                "dataset": finding.release.dataset,
                "version": finding.release.version,
                "sensitive": list(finding.plan.sensitive),
                "model": finding.model.rules,
                "model_file": finding.model.file,
                "receipt": finding.receipt.name,
                "key": finding.release.key,
                "strategy": finding.strategy,
                "reused": finding.reused,
                "charge": finding.release.charge.document(),
                **({} if finding.look is None else {"look": finding.look}),
                "metrics": {name: estimate_document(estimate) for name, estimate in finding.estimates.items()},
                **_tables(finding, FORMAT),
            }
            for finding in findings
        ],
        "trainings": [
            {
                "created": answer.release.created.isoformat(),
                "release": answer.release.id,
                "dataset": answer.release.dataset,
                "version": answer.release.version,
                "algorithm": answer.release.training.algorithm.name,
                "label": answer.release.training.label,
                "sensitive": list(answer.release.training.sensitive),
                "ratio": note.ratio,
                "model_file": note.model,
                "receipt": answer.receipt.name,
                "key": answer.release.key,
                "charge": answer.release.charge.document(),
            }
            for note, answer in trainings
        ],
        "unreadable": unreadable,
        **(
            {"watches": [watch_document(watch, current=None, pending=None, due=None) for watch in watches]}
            if watches
            else {}
        ),
    }


def _attribution(finding: Finding, form: str) -> tuple[dict[str, Any] | None, str | None]:
    """The rules' shares; where an answer rule by rule allows none, why."""
    if not insight.has_rules(finding):
        return None, None
    try:
        return _shares(finding, insight.attribution(finding), form), None
    except AuditorError as refusal:
        return None, str(refusal)


def _shares(finding: Finding, shares: Attribution, form: str) -> dict[str, Any]:
    names = next(iter(finding.counts.values())).favourable
    return {
        **_members(shares, form, "first", "second", "difference", "ratio"),
        "shares": [
            {
                "rule": names[share.rule],
                "percentage_points": _json(share.share, form),
                "ratio_share": _json(share.ratio_share, form),
            }
            for share in shares.ranking
        ],
    }


def figures_document(value: Any, *names: str) -> dict[str, Any]:
    """Some members of a value, by their names, as JSON values in the latest format."""
    return _members(value, FORMAT, *names)


def _members(value: Any, form: str, *names: str) -> dict[str, Any]:
    """Some members of a value, by their names, as JSON values."""
    return {name: _json(getattr(value, name), form) for name in names}


def _json(value: Any, form: str = FORMAT) -> Any:
    """A value as JSON has it: of a dataclass its fields, of a number that is not finite null."""
    if isinstance(value, SizeRule):
        return str(value)
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.name not in ("unit", "ratio_kind")]
        names += ["known"] if isinstance(value, Estimate) else []
        if isinstance(value, ParityEstimate) and value.pair is None:
            names.remove("pair")  # as in documents of before there was one
        if isinstance(value, JudgedFigures):
            names = [
                name for name in names if name not in ("unknown", "as_recorded") or getattr(value, name) is not None
            ]
        earlier = form in FORMATS[:2]
        return _members(value, form, *(name for name in names if not (earlier and name in _SINCE_FOURTH)))
    if isinstance(value, tuple):
        return [_json(item, form) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
