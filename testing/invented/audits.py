"""Audits made by hand, to look at and to test what the report makes of them: the figures are invented."""

import base64
import hashlib
import json
from collections.abc import Sequence
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
from auditor_client.estimation.results import GroupEstimate, ParityEstimate
from auditor_client.findings.answers import Rate, RateCounts
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.reading import Reading
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

Rates = dict[Group, tuple[float, float, float]]
"""For each group: rate, low, high."""

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

SEX: Rates = {("Female",): (0.081, 0.078, 0.085), ("Male",): (0.262, 0.258, 0.266)}


def decision_rules(rules: Sequence[tuple[bool, list[dict[str, Any]]]] = ADULT_RULES) -> tuple[DecisionRule, ...]:
    """Rules as a tree would give them."""
    made = []
    for index, (favourable, predicates) in enumerate(rules):
        leaf = Leaf(id=f"leaf-{index}", decision="> 50K" if favourable else "≤ 50K", favourable=favourable)
        made.append(DecisionRule(Rule.model_validate({"id": leaf.id, "all_of": predicates}), leaf))
    return tuple(made)


def invented_audit(
    rates: Rates | None = None,
    *,
    sensitive: tuple[str, ...] = ("sex",),
    ratio: tuple[float, float, float] = (0.309, 0.294, 0.325),
    difference: tuple[float, float, float] = (0.181, 0.175, 0.187),
    threshold: float = 0.8,
    epsilon: str = "0.5",
    rules: tuple[DecisionRule, ...] | None = None,
    warnings: tuple[str, ...] = (),
    relation: str = "add_remove",
    estimator: str = "posterior",
) -> AuditResult:
    """An audit result with these figures; (value, low, high) each, NaN for what does not exist."""
    rates = SEX if rates is None else rates
    rules = decision_rules() if rules is None else rules
    parity = ParityEstimate(
        groups=tuple(
            GroupEstimate(
                group=group,
                rate=_estimate(rate, estimator),
                population_rate=None,
                size=_estimate((8000.0, 7990.0, 8010.0), estimator),
                accepted=_estimate(tuple(8000 * part for part in rate), estimator),
            )
            for group, rate in rates.items()
        ),
        ratio=_estimate(ratio, estimator),
        difference=_estimate(difference, estimator),
        threshold=threshold,
        warnings=warnings,
    )
    dataset = _dataset(tuple(rates), sensitive, rules, relation)
    answer = _answer(dataset, epsilon, rules)
    release = Release.model_validate(answer)
    request = AuditRequest(sensitive=sensitive, epsilon=epsilon, strategy="verdict", mechanism="laplace", version=3)
    receipt = Path("receipts") / f"{release.id.removeprefix('sha256:')}.json"
    return AuditResult(
        question=Question(dataset, request, rules, ModelDigest(rules="sha256:" + "1" * 64, file="sha256:" + "2" * 64)),
        stored=StoredAnswer(release, answer, receipt, _signing_key()),
        reading=Reading(estimator=estimator, threshold=threshold),
        holder_url="https://holder.example",
        counts={
            Rate.ACCEPTANCE: RateCounts(
                Measurement(
                    groups=tuple(rates),
                    favourable=NoisyCounts.of([[100] * len(rates)], release.batches[0].noise),
                    complement=NoisyCounts.of([[100] * len(rates)], release.batches[0].noise),
                    complement_is="unfavourable",
                ),
                ("favourable",),
                ("unfavourable",),
            )
        },
        estimates={PARITY: parity},
        budget=Budget(
            auditor="ADR",
            population="adult",
            limit=Loss(2 * 10**9),
            spent=Loss(parse_nano(epsilon)),
            remaining=Loss(2 * 10**9 - parse_nano(epsilon)),
        ),
        versions={"pafer": "0.2.0.dev0", "Python": "3.11.2", "numpy": "2.4.6"},
    )


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


def _estimate(figure: tuple[float, ...], method: str) -> Estimate:
    value, low, high = figure
    return Estimate(value=value, low=low, high=high, level=0.95, method=method)


def _signing_key() -> SigningKey:
    public = base64.b64encode(_KEY.public_key().public_bytes_raw()).decode()
    return SigningKey(id="k1", algorithm="ed25519", public_key=public, valid_from=datetime(2026, 11, 1, tzinfo=UTC))


def _answer(dataset: DatasetDescription, epsilon: str, rules: tuple[DecisionRule, ...]) -> dict[str, Any]:
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
    holder = SimulatedHolder(dataset=dataset, signing=_KEY, before_signing=lambda document: document.update(always))
    document: dict[str, Any] = json.loads(holder.release(Plan.model_validate(asked))[1])
    return document
