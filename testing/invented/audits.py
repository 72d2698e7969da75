"""Audits of invented counts, to look at and to test what the report makes of them."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auditor_client.asking.inquiry import ModelDigest
from auditor_client.asking.question import Question
from auditor_client.asking.request import PARITY, AuditRequest
from auditor_client.audits.result import AuditResult
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.results import ParityEstimate
from auditor_client.findings.answers import Rate, RateCounts
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.reading import FOUR_FIFTHS, Reading
from auditor_client.models.tree import DecisionRule, Leaf
from shared.contract.datasets import Budget, DatasetDescription
from shared.contract.rules import Rule
from shared.contract.schema import Column, Group
from shared.kinds.plans import Plan
from shared.kinds.releases import (
    Release,
    SigningKey,
)
from shared.privacy.amounts import Loss, parse_nano
from testing.registers import REGISTER, plan
from testing.simulated_holder import SimulatedHolder

People = Mapping[Group, tuple[int, int]]
"""For each group: how many people have the favourable decision, and how many have the other."""
Figure = tuple[float, float, float]
"""Value, low, high."""
Rates = Mapping[Group, Figure]

_KEY = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"an invented holder").digest())

ADULT_RULES: tuple[tuple[bool, list[dict[str, Any]]], ...] = (
    (True, [{"column": "marital status", "op": "ne", "value": "Married-civ-spouse"},
            {"column": "capital gain", "op": "gt", "value": 7073.5}]),
    (True, [{"column": "marital status", "op": "eq", "value": "Married-civ-spouse"},
            {"column": "years of education", "op": "le", "value": 12.5},
            {"column": "capital gain", "op": "gt", "value": 5095.5}]),
    (True, [{"column": "marital status", "op": "eq", "value": "Married-civ-spouse"},
            {"column": "years of education", "op": "gt", "value": 12.5}]),
    (False, [{"column": "marital status", "op": "ne", "value": "Married-civ-spouse"},
             {"column": "capital gain", "op": "le", "value": 7073.5}]),
    (False, [{"column": "marital status", "op": "eq", "value": "Married-civ-spouse"},
             {"column": "years of education", "op": "le", "value": 12.5},
             {"column": "capital gain", "op": "le", "value": 5095.5}]),
)  # fmt: skip

SEX: People = {("Female",): (648, 7352), ("Male",): (2096, 5904)}


def decision_rules(rules: Sequence[tuple[bool, list[dict[str, Any]]]] = ADULT_RULES) -> tuple[DecisionRule, ...]:
    """Rules as a tree would give them."""
    made = []
    for index, (favourable, predicates) in enumerate(rules):
        leaf = Leaf(id=f"leaf-{index}", decision="> 50K" if favourable else "≤ 50K", favourable=favourable)
        made.append(DecisionRule(Rule.model_validate({"id": leaf.id, "all_of": predicates}), leaf))
    return tuple(made)


def invented_audit(
    people: People | None = None,
    *,
    sensitive: tuple[str, ...] = ("sex",),
    epsilon: str = "0.5",
    rules: tuple[DecisionRule, ...] | None = None,
    relation: str = "add_remove",
) -> AuditResult:
    """An audit whose holder answered with these counts, as if the noise were zero; its figures are estimated from them.

    Args:
        people: By default those of `SEX`.
        sensitive: The columns that the groups are values of.
        epsilon: What the audit cost.
        rules: By default `ADULT_RULES`.
        relation: The population's.
    """
    people = SEX if people is None else people
    rules = decision_rules() if rules is None else rules
    dataset = _dataset(tuple(people), sensitive, rules, relation)
    answer = _answer(dataset, epsilon, rules, people)
    release = Release.model_validate(answer)
    request = AuditRequest(sensitive=sensitive, epsilon=epsilon, strategy="verdict", mechanism="laplace", version=3)
    receipt = Path("receipts") / f"{release.id.removeprefix('sha256:')}.json"
    accepted, refused = (
        NoisyCounts.of([counts], release.batches[0].noise) for counts in zip(*people.values(), strict=True)
    )
    measurement = Measurement(tuple(people), accepted, refused, "unfavourable")
    counts = {Rate.ACCEPTANCE: RateCounts(measurement, ("favourable",), ("unfavourable",))}
    reading = Reading(threshold=FOUR_FIFTHS)
    return AuditResult(
        question=Question(dataset, request, rules, ModelDigest(rules="sha256:" + "1" * 64, file="sha256:" + "2" * 64)),
        stored=StoredAnswer(release, answer, receipt, signing_key()),
        reading=reading,
        holder_url="https://holder.example",
        counts=counts,
        estimates={PARITY: reading.estimate(PARITY, counts, None)},
        budget=Budget(
            auditor="ADR",
            population="adult",
            limit=Loss(2 * 10**9),
            spent=Loss(parse_nano(epsilon)),
            remaining=Loss(2 * 10**9 - parse_nano(epsilon)),
        ),
        versions={"pafer": "0.2.0.dev0", "Python": "3.11.2", "numpy": "2.4.6"},
    )


def with_figures(
    audit: AuditResult,
    rates: Rates,
    *,
    ratio: Figure,
    difference: Figure,
    warnings: tuple[str, ...] = (),
    estimator: str = "posterior",
) -> AuditResult:
    """An audit with figures that a test chooses, for texts about what counts seldom lead to; NaN for what is undefined.

    The counts and the numbers of people stay those of the answer: a page of it may contradict itself.
    """
    figures = audit.parity
    chosen = ParityEstimate(
        groups=tuple(
            replace(group, rate=_estimate(rates[group.group], estimator), population_rate=None)
            for group in figures.groups
        ),
        ratio=_estimate(ratio, estimator),
        difference=_estimate(difference, estimator),
        threshold=figures.threshold,
        warnings=warnings,
    )
    return replace(audit, estimates={PARITY: chosen}, reading=Reading(estimator=estimator, threshold=FOUR_FIFTHS))


def _dataset(
    groups: tuple[Group, ...], names: tuple[str, ...], rules: tuple[DecisionRule, ...], relation: str
) -> DatasetDescription:
    """One of these groups, and of columns that the rules' predicates fit."""
    sensitive = tuple(
        Column(
            name=name,
            type="category",
            categories=tuple(dict.fromkeys(str(value) for value in values if value)),
            nullable=None in values,
            sensitive=True,
        )
        for name, values in zip(names, zip(*groups, strict=True), strict=True)
    )
    return REGISTER.model_copy(
        update={
            "name": "adult", "population": "adult", "relation": relation, "version": 3, "sensitive": names,
            "columns": (*sensitive, *_feature_columns(rules, names)), "mechanisms": ("laplace",),
        }
    )  # fmt: skip


def _feature_columns(rules: tuple[DecisionRule, ...], sensitive: tuple[str, ...]) -> list[Column]:
    """Columns that the rules' predicates fit."""
    values: dict[str, list[str]] = {}
    for predicate in (predicate for rule in rules for predicate in rule.rule.all_of):
        texts = [value for value in predicate.operands if isinstance(value, str)]
        values.setdefault(predicate.column, []).extend(texts)
    return [
        Column(name=name, type="category", categories=tuple(dict.fromkeys(texts)))
        if texts
        else Column(name=name, type="number")
        for name, texts in values.items()
        if name not in sensitive
    ]


def _estimate(figure: Figure, method: str) -> Estimate:
    value, low, high = figure
    return Estimate(value=value, low=low, high=high, level=0.95, method=method)


def signing_key() -> SigningKey:
    """The invented holder's public key."""
    public = base64.b64encode(_KEY.public_key().public_bytes_raw()).decode()
    return SigningKey(id="k1", algorithm="ed25519", public_key=public, valid_from=datetime(2026, 11, 1, tzinfo=UTC))


def _answer(
    dataset: DatasetDescription, epsilon: str, rules: tuple[DecisionRule, ...], people: People
) -> dict[str, Any]:
    cells = [
        {"id": name, "any_of": [rule.rule.model_dump(mode="json") for rule in rules if rule.favourable == favourable]}
        for name, favourable in (("favourable", True), ("unfavourable", False))
    ]
    asked = plan(
        epsilon=epsilon, cells=[cell for cell in cells if cell["any_of"]], sensitive=dataset.sensitive, version=3
    )
    always = {
        "created": "2026-11-20T21:30:00Z", "nonce": "0123456789abcdef" * 2,
        "ledger": {"sequence": 17, "hash": "sha256:" + "a" * 64}, "remaining": {"epsilon": "1.5", "delta": "0"},
    }  # fmt: skip
    counts = dict(zip(("favourable", "unfavourable"), zip(*people.values(), strict=True), strict=True))

    def answered(document: dict[str, Any]) -> None:
        document.update(always)
        for batch in document["batches"]:
            batch["cells"] = [{"id": cell["id"], "counts": list(counts[cell["id"]])} for cell in batch["cells"]]

    holder = SimulatedHolder(dataset=dataset, signing=_KEY, before_signing=answered)
    document: dict[str, Any] = json.loads(holder.release(Plan.model_validate(asked))[1])
    return document
