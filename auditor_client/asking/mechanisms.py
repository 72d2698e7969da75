"""What a plan spends, and by which mechanism: the auditor's choice, completed from public facts (2-privacy §4)."""

from collections.abc import Sequence
from typing import Any, Final

from auditor_client.asking.interventions import of_intervention
from auditor_client.asking.request import MECHANISMS, AuditRequest
from auditor_client.errors import QuestionRefused
from auditor_client.text import no_such
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Cell
from shared.kinds.plans import Batch
from shared.privacy.amounts import (
    DELTA_NANO_MAX,
    DELTA_NANO_MIN,
    EPSILON_NANO_MAX,
    EPSILON_NANO_MIN,
    NANO_PER_UNIT,
    RHO_NANO_MAX,
    RHO_NANO_MIN,
    InvalidAmount,
    format_nano,
    parse_nano,
)

DEFAULT_DELTA: Final = "0.000001"


def settled(request: AuditRequest, dataset: DatasetDescription) -> AuditRequest:
    """The same request with what it left open: version, mechanism and its parameters, amounts in one spelling.

    Where all sensitive columns were perturbed at their source, randomised response is its mechanism. The declared
    number of records is the exponential mechanism's default `upper`. Strategy "auto" waits for the rules.

    Raises:
        QuestionRefused: The dataset has no records, no sensitive column is named, or the mechanism is unknown here or
            at the holder, or takes other parameters.
    """
    version = dataset.version if request.version is None else request.version
    if version is None:
        raise QuestionRefused(
            f"The records of dataset {dataset.name!r} are not loaded yet. Ask the holder's administrator."
        )
    if not request.sensitive:
        raise QuestionRefused(f"Name the `sensitive` columns, of {', '.join(dataset.sensitive)}.")
    return of_intervention(request, dataset).changed(version=version, **_spending(request, dataset))


def halves(request: AuditRequest) -> tuple[AuditRequest, AuditRequest]:
    """The loss in two halves, an odd nano in the second.

    Raises:
        QuestionRefused: Half of it is less than the holder takes.
    """
    if request.mechanism == "randomised_response":
        return request, request
    if request.loss.rho_nano is not None:
        return _halves_of_rho(request, request.loss.rho_nano)
    epsilon, delta = request.epsilon_nano // 2, request.delta_nano // 2
    if epsilon < EPSILON_NANO_MIN or (request.delta_nano and delta < DELTA_NANO_MIN):
        raise QuestionRefused(
            "The loss is halved here (strategy pafer, or two models that are asked one by one), so epsilon is at least "
            f"{format_nano(2 * EPSILON_NANO_MIN)} and a delta at least {format_nano(2 * DELTA_NANO_MIN)}."
        )
    deltas = (None, None) if request.delta is None else (format_nano(delta), format_nano(request.delta_nano - delta))
    epsilons = format_nano(epsilon), format_nano(request.epsilon_nano - epsilon)
    first, second = (request.changed(epsilon=one, delta=other) for one, other in zip(epsilons, deltas, strict=True))
    return first, second


def _halves_of_rho(request: AuditRequest, rho_nano: int) -> tuple[AuditRequest, AuditRequest]:
    half = rho_nano // 2
    if half < RHO_NANO_MIN:
        raise QuestionRefused(
            "The loss is halved here (strategy pafer, or two models that are asked one by one), so rho is at least "
            f"{format_nano(2 * RHO_NANO_MIN)}."
        )
    return request.changed(rho=format_nano(half)), request.changed(rho=format_nano(rho_nano - half))


def batch(request: AuditRequest, name: str, cells: Sequence[Cell]) -> Batch:
    """Some cells asked at a settled request's whole loss."""
    mechanism: dict[str, Any] = {"name": request.mechanism, "delta": request.delta, "upper": request.upper}
    return Batch.model_validate(
        {
            "name": name,
            "mechanism": {field: value for field, value in mechanism.items() if value is not None},
            "epsilon": request.epsilon,
            "rho": request.rho,
            "cells": tuple(cells),
        },
        strict=False,
    )


def _spending(request: AuditRequest, dataset: DatasetDescription) -> dict[str, Any]:
    """The mechanism, ε, δ and upper of a request, completed."""
    mechanism = mechanism_of(request, dataset)
    if (request.delta is not None and mechanism != "gaussian") or (
        request.upper is not None and mechanism != "exponential"
    ):
        raise QuestionRefused(
            "`delta` applies only to the mechanism gaussian, and `upper` only to exponential. Leave the other one out."
        )
    if request.rho is not None:
        return _spending_rho(request, dataset)
    if mechanism == "randomised_response":
        if request.epsilon is not None:
            raise QuestionRefused("Randomised response does not cost a privacy loss. Leave `epsilon` out.")
        return {"mechanism": mechanism}
    if request.epsilon is None:
        raise QuestionRefused(f"Mechanism {mechanism!r} needs `epsilon`, such as 0.1.")
    epsilon_nano = _amount("epsilon", request.epsilon, EPSILON_NANO_MIN, EPSILON_NANO_MAX)
    spending: dict[str, Any] = {"mechanism": mechanism, "epsilon": format_nano(epsilon_nano)}
    if mechanism == "gaussian":
        spending["delta"] = format_nano(
            _amount("delta", request.delta or DEFAULT_DELTA, DELTA_NANO_MIN, DELTA_NANO_MAX)
        )
    if mechanism == "exponential" and request.upper is None:
        spending["upper"] = max(dataset.records_max, -(-NANO_PER_UNIT // epsilon_nano))
    return spending


def _spending_rho(request: AuditRequest, dataset: DatasetDescription) -> dict[str, Any]:
    """Gaussian noise by ρ instead of ε and δ."""
    if dataset.terms.kind == "sum":
        raise QuestionRefused(
            f"The account of dataset {dataset.name!r} adds up epsilon and delta: ask with `epsilon` instead of `rho`."
        )
    if request.epsilon is not None or request.delta is not None or request.mechanism not in (None, "gaussian"):
        raise QuestionRefused(
            "`rho` replaces `epsilon` and `delta`, and applies only to the mechanism gaussian. Leave the others out."
        )
    rho_nano = _amount("rho", request.rho or "", RHO_NANO_MIN, RHO_NANO_MAX)
    return {"mechanism": "gaussian", "rho": format_nano(rho_nano)}


def mechanism_of(request: AuditRequest, dataset: DatasetDescription) -> str:
    """The mechanism that a request names, or that its columns need.

    Raises:
        QuestionRefused: It is unknown here or at the holder, or does not suit the columns.
    """
    perturbed = [name for name in request.sensitive if _is_perturbed(dataset, name)]
    usual = "laplace" if request.rho is None else "gaussian"
    mechanism = request.mechanism or ("randomised_response" if perturbed else usual)
    if perturbed and mechanism != "randomised_response":
        raise QuestionRefused(
            f"Column {perturbed[0]!r} was perturbed at its source: ask with `mechanism` randomised_response, or the "
            "figures would be about reported groups."
        )
    if mechanism not in MECHANISMS or mechanism not in dataset.mechanisms:
        raise QuestionRefused(no_such(f"mechanism at dataset {dataset.name!r}", mechanism, dataset.mechanisms))
    return mechanism


def _is_perturbed(dataset: DatasetDescription, name: str) -> bool:
    column = dataset.table.by_name.get(name)
    return column is not None and column.randomised_response is not None


def _amount(name: str, text: str, low: int, high: int) -> int:
    try:
        nano = parse_nano(text)
    except InvalidAmount as error:
        raise QuestionRefused(f"`{name}`: {error}") from error
    if low <= nano <= high:
        return nano
    raise QuestionRefused(
        f"`{name}` is {text}, but must lie between {format_nano(low)} and {format_nano(high)}. Change it."
    )
