"""Two holders with a half of a register each: their prices have to agree, and their answers are added up (12-trust §1).

Each holder is asked, verified and kept by itself, with its own keys and its own folder of receipts. One half alone says
nothing. So nothing here is read from an answer before both are verified and found to belong together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from auditor_client.errors import AuditorError, HolderLied, NotFound, QuestionRefused
from auditor_client.exchange.charged import Exchange
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS, PricedPlan
from auditor_client.exchange.receipts import KeptAnswer, Receipts
from auditor_client.exchange.verification import require
from auditor_client.text import loss_words, readable
from shared.contract.datasets import DatasetDescription
from shared.contract.shares import joined_count
from shared.kinds.releases import Release, ReleasedBatch, ReleasedCell, SigningKeys
from shared.privacy.noise import AdditiveNoise, of_two_holders

FOLDER: Final = "second-holder"
"""The folder of the second holder's receipts and keys, within that of the first, and within a bundle."""

LEAST_SCALES: Final = 40
"""A joined count of nobody is below so many scales with a probability under 10⁻¹⁵, by either noise."""

_OF_THE_HOLDER: Final = {"shares", "population", "release_quantum_ms", "metadata", "organisation", "approval"}
"""What may differ between the two descriptions: whose half it is, and what each holder decides for itself."""


def second_receipts(receipts: Receipts) -> Receipts:
    """The receipts of the second holder."""
    return Receipts(receipts.directory / FOLDER)


def joined_release(first: Release, second: Release) -> Release:
    """The noisy counts that two verified halves add up to, as a release like the first.

    Its noise is that of both holders together. It says whose half the first was, and no signature is over its counts:
    receipts and bundles hold both halves as they came.

    Raises:
        HolderLied: The two halves do not belong together.
    """
    shares = first.shares, second.shares
    belong = shares[0] is not None and shares[1] is not None and shares[0].completes(shares[1])
    require(belong, "the two holders answered with halves that are not the two of one split")
    same = (first.dataset, first.version, first.relation, first.plan.document()) == (
        second.dataset, second.version, second.relation, second.plan.document(),
    )  # fmt: skip
    require(same, "the two holders answered different requests")
    require(len(first.batches) == len(second.batches), "the two holders answered different batches")
    batches = tuple(_joined_batch(*both) for both in zip(first.batches, second.batches, strict=True))
    return first.model_copy(update={"batches": batches})


def _joined_batch(first: ReleasedBatch, second: ReleasedBatch) -> ReleasedBatch:
    alike = first.model_dump(exclude={"cells"}) == second.model_dump(exclude={"cells"})
    require(alike and isinstance(first.noise, AdditiveNoise), "the two holders describe different noise or groups")
    shapes = [[(cell.id, len(cell.shares or ())) for cell in half.cells] for half in (first, second)]
    require(shapes[0] == shapes[1], "the two holders' cells differ")
    cells = tuple(
        ReleasedCell(
            id=cell.id,
            counts=tuple(joined_count(*words) for words in zip(cell.shares or (), other.shares or (), strict=True)),
        )
        for cell, other in zip(first.cells, second.cells, strict=True)
    )
    least = -LEAST_SCALES * first.noise.scale  # type: ignore[union-attr]
    possible = all(count >= least for cell in cells for count in cell.counts)
    require(possible, "a count is further below zero than the noise of both allows, so one of the two holders lies")
    return first.model_copy(update={"noise": of_two_holders(first.noise), "cells": cells})  # type: ignore[arg-type]


def other_half(first: Release, candidates: Iterable[KeptAnswer[Release]]) -> KeptAnswer[Release] | None:
    """The kept answer that completes a half, of the other holder to the same plan; None without one."""
    for candidate in candidates:
        second = candidate.release
        same = (second.dataset, second.version, second.plan) == (first.dataset, first.version, first.plan)
        if same and first.shares is not None and second.shares is not None and first.shares.completes(second.shares):
            return candidate
    return None


@dataclass(frozen=True, slots=True)
class TwoHolders:
    """Has two holders answer, each with its half.

    Attributes:
        first: The exchange with the first holder, whose account is shown.
        second: That with the other.
    """

    first: Exchange
    second: Exchange

    def require_one_account(self, dataset: str) -> None:
        """Refuse accounts of two names, where the account's name is a part of a derived column's id.

        Raises:
            QuestionRefused: The holders call the auditor's account differently. Nothing was spent.
        """
        first, second = (exchange.holder.budget(dataset).auditor for exchange in (self.first, self.second))
        if first != second:
            raise QuestionRefused(
                f"The first holder calls your account {first!r} and the second {second!r}. Scores and linked decisions "
                "need one name at both. Ask an administrator to open an account of that name. Nothing was spent."
            )

    def priced(self, priced: PricedPlan) -> PricedPlan:
        """The second holder's price of a plan that the first priced, if both say the same of everything.

        Raises:
            QuestionRefused: The holders do not have the two halves of one register. Nothing was spent.
            HolderLied: A price cannot be trusted, or they differ.
        """
        dataset = priced.context.dataset
        other = self.second.holder.dataset(dataset.name)
        require_halves(dataset, other)
        _require_two_signers(self.first.holder.keys(), self.second.holder.keys())
        auditor = self.second.holder.budget(dataset.name).auditor
        second = self.second.priced(PLANS, priced.request, RequestContext(other, auditor, priced.context.schema))
        same = priced.quote.model_dump(exclude={"shares"}) == second.quote.model_dump(exclude={"shares"})
        require(same, "the two holders do not quote the same price and noise")
        return second

    def answered(self, priced: PricedPlan) -> tuple[KeptAnswer[Release], KeptAnswer[Release]]:
        """Have both answer, and keep both receipts. What one was charged before is not charged again.

        Raises:
            QuestionRefused: The second holder's budget does not suffice. Nothing was spent.
            ApprovalAwaited: A budget officer of one holder has to approve it first.
            HolderUnavailable: One did not answer; asking again costs nothing where it was charged.
            HolderLied: An answer cannot be trusted, or the halves do not belong together.
        """
        other = self.priced(priced)
        left = self.second.holder.budget(other.context.dataset.name).left
        if not (self.second.receipts.path(other.identity).exists() or other.quote.charge.fits_in(left)):
            raise QuestionRefused(
                f"The second holder has {loss_words(left)} left for you, and the question costs "
                f"{loss_words(other.quote.charge)} at each holder. Nothing was spent. Ask it for more."
            )
        first, second = self._halves(priced, other)
        try:
            joined_release(first.release, second.release)
        except HolderLied as error:
            raise HolderLied(
                f"{error} Both answers are kept as evidence: {first.receipt} and {second.receipt}."
            ) from error
        return first, second

    def _halves(self, priced: PricedPlan, other: PricedPlan) -> tuple[KeptAnswer[Release], KeptAnswer[Release]]:
        """Ask one holder after the other; last the first, where the second may still have to approve.

        Raises:
            AuditorError: As one of them refused, with the holder's name, and with what the other charged before.
        """
        sides = [("first", self.first, priced), ("second", self.second, other)]
        if self._is_unapproved(other):
            sides.reverse()
        halves: dict[str, KeptAnswer[Release]] = {}
        for name, exchange, plan in sides:
            try:
                halves[name] = exchange.charged(plan)
            except AuditorError as error:
                error.args = (f"The {name} holder: {error}{_charged_before(*halves)}",)
                raise
        return halves["first"], halves["second"]

    def _is_unapproved(self, other: PricedPlan) -> bool:
        """Whether the second holder has to approve a request, and has not: then the first is not charged before."""
        dataset = other.context.dataset
        if dataset.approval is None or not dataset.approval.required:
            return False
        if self.second.receipts.path(other.identity).exists():
            return False
        try:
            return self.second.holder.approval(dataset.name, other.identity).state not in ("approved", "answered")
        except NotFound:
            return True


def _require_two_signers(first: SigningKeys, second: SigningKeys) -> None:
    """Refuse two holders that sign with one key: its owner may have both halves, so everybody's values.

    Raises:
        QuestionRefused: They publish the same key.
    """
    public_keys = {key.public_key for key in first.keys}
    for key in second.keys:
        if key.public_key in public_keys:
            raise QuestionRefused(
                f"Both holders sign with the same key {key.id!r}, so one organisation may have both halves. Name two "
                "holders that were set up separately (`holder init`). Nothing was spent."
            )


def _charged_before(name: str = "") -> str:
    if not name:
        return ""
    return (
        f" But the {name} holder answered before and charged it; its half is kept, and alone it says nothing. Send the "
        "same request again: that half is answered again at no cost."
    )


def require_halves(first: DatasetDescription, second: DatasetDescription) -> None:
    """Refuse two datasets that are not the two halves of one register.

    Raises:
        QuestionRefused: Naming what differs.
    """
    name = readable(first.name)
    if first.shares is None or second.shares is None:
        raise QuestionRefused(f"Dataset {name!r} is not shared at both holders. Name one holder that has the values.")
    if first.shares.party == second.shares.party:
        raise QuestionRefused(
            f"Both holders have the half of party {first.shares.party} of dataset {name!r}, which says nothing. Name "
            "the two holders of the two halves."
        )
    if not first.shares.completes(second.shares) or first.version != second.version:
        raise QuestionRefused(
            f"The holders have halves of different splits of dataset {name!r}, or versions {first.version} and "
            f"{second.version}. Ask their administrators to load the two halves of one split, under one version number."
        )
    declared, other = (dataset.model_dump(exclude=_OF_THE_HOLDER) for dataset in (first, second))
    different = sorted(member for member in declared if declared[member] != other[member])
    if different:
        raise QuestionRefused(
            f"The holders declare dataset {name!r} differently: {', '.join(different)}. Ask their administrators to "
            "declare it alike."
        )
