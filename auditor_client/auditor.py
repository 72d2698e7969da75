"""The auditor: from a decision model to a fairness figure, through one holder (4-interface).

Orchestrates and computes nothing itself. The order of an audit: read the model as rules, make the
plan and pin it to a version of the records, have it priced and the price compared with what was
meant, pin the holder's key, ask, verify, keep the receipt, and only then estimate. Whatever breaks
after the question was sent loses nothing: the same plan is answered again at no cost.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from auditor_client import strategies
from auditor_client.calls import HttpClient
from auditor_client.errors import HolderLied, HolderRefused, HolderUnavailable, QuestionRefused, ReceiptsDamaged
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.results import ParityEstimate
from auditor_client.holder import HolderClient
from auditor_client.question import Question, make_question
from auditor_client.receipts import Receipts, ReceiptsReport, check_receipts
from auditor_client.result import AuditResult, PlannedAudit, program_versions
from auditor_client.settings import Settings, load_settings
from auditor_client.verification import check_quote, verified_release
from shared.amounts import PrivacyLoss
from shared.datasets import Budget, DatasetDescription
from shared.plans import Quote
from shared.releases import Release, SigningKey

if TYPE_CHECKING:  # importing the estimators takes a second, so it waits until they are needed
    from auditor_client.planning import Assumption

ESTIMATORS: Final = ("posterior", "plug-in")
Step = Callable[[str], None]
"""Told what is being done, in a few words: for progress on long work."""


class Auditor:
    """Audits models against one holder.

    Example:
        ``Auditor().audit(model, "adult", ["sex"], "0.5")`` asks the holder that the environment names
        and shows its finding in a notebook.
    """

    def __init__(
        self,
        holder_url: str | None = None,
        api_key: str | None = None,
        *,
        receipts: Path | str | None = None,
        allow_plain_http: bool | None = None,
        http: HttpClient | None = None,
        on_step: Step = lambda _: None,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            holder_url: Where the holder is; by default AUDITOR_HOLDER_URL.
            api_key: The auditor's key; by default AUDITOR_API_KEY.
            receipts: Directory of the receipts; by default AUDITOR_RECEIPTS, or "receipts" here.
            allow_plain_http: Let the key travel unencrypted to another machine.
            http: For a certificate authority or a proxy of your own.
            on_step: Told what is being done.

        Raises:
            SettingsMissing: Address or key are set nowhere.
            InvalidSettings: One of them cannot be used.
        """
        given = {
            "holder_url": holder_url,
            "api_key": api_key,
            "receipts": receipts,
            "allow_plain_http": allow_plain_http,
        }
        settings = load_settings(given, os.environ)
        self._holder = HolderClient(
            http,
            url=settings.holder_url,
            key=settings.api_key.get_secret_value(),
            allow_plain_http=settings.allow_plain_http,
        )
        self._receipts = Receipts(settings.receipts)
        self._on_step = on_step

    @classmethod
    def from_settings(cls, settings: Settings, *, on_step: Step = lambda _: None) -> Self:
        """An auditor with settings that were gathered before."""
        return cls(
            settings.holder_url,
            settings.api_key.get_secret_value(),
            receipts=settings.receipts,
            allow_plain_http=settings.allow_plain_http,
            on_step=on_step,
        )

    def close(self) -> None:
        """Close the connections to the holder."""
        self._holder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def datasets(self) -> tuple[DatasetDescription, ...]:
        """What the holder offers."""
        return self._holder.datasets()

    def budget(self, dataset: str) -> Budget:
        """What was granted, spent and is left, of the people that a dataset is about."""
        return self._holder.budget(dataset)

    def plan(
        self,
        model: Any,
        dataset: str,
        sensitive: Sequence[str],
        epsilon: str,
        *,
        strategy: str = "verdict",
        favourable: Collection[Any] | None = None,
        columns: Sequence[str] | None = None,
        version: int | None = None,
        draw: int = 1,
        assumption: "Assumption | None" = None,
    ) -> PlannedAudit:
        """What an audit would cost and how wide its interval would be; spends nothing.

        Takes and refuses what `audit` does. `assumption` says what is supposed of the people.
        """
        question = self._question(
            model,
            dataset,
            sensitive=sensitive,
            epsilon=epsilon,
            strategy=strategy,
            favourable=favourable,
            columns=columns,
            version=version,
            draw=draw,
        )
        quote = self._quote(question)
        from auditor_client.planning import expected_width  # noqa: PLC0415 - see _estimator

        return PlannedAudit(
            plan=question.plan,
            quote=quote,
            rules=question.rules,
            model=question.model,
            strategy=strategy,
            expectation=expected_width(question.rules, quote, strategy=strategy, assumption=assumption),
            budget=self._holder.budget(dataset),
        )

    def audit(
        self,
        model: Any,
        dataset: str,
        sensitive: Sequence[str],
        epsilon: str,
        *,
        strategy: str = "verdict",
        estimator: str = "posterior",
        negative: str = "uniform",
        too_large: str = "uniform",
        favourable: Collection[Any] | None = None,
        columns: Sequence[str] | None = None,
        threshold: float = 0.8,
        version: int | None = None,
        draw: int = 1,
    ) -> AuditResult:
        """Measure how a model treats the groups of a dataset. Spends ε, once for the same question.

        Args:
            model: A fitted scikit-learn classifier, the path of a skops file, or a `Tree`.
            dataset: The dataset's name at the holder.
            sensitive: The sensitive columns; several make a group of every combination of their values.
            epsilon: The privacy loss to spend, as a decimal string: "0.5".
            strategy: "verdict" (the best accuracy) or "pafer" (as published).
            estimator: "posterior" (with intervals) or "plug-in" (as published).
            negative: What the plug-in estimator makes of negative counts.
            too_large: What it makes of counts above the number of people.
            favourable: The model's classes that favour a person; by default the larger of two.
            columns: The dataset's column for each input of a model that was fitted on an array.
            threshold: What the verdict on the ratio is about: 0.8 for the four-fifths rule.
            version: The version of the records to ask about, to repeat an earlier question; by default the current one.
            draw: A number from 2 on asks for another, independent and charged draw of the same.

        Returns:
            The finding, with its receipt kept.

        Raises:
            ModelRefused: The model cannot be read exactly.
            QuestionRefused: What is asked does not fit the dataset; nothing is spent.
            BudgetExhausted, CapExhausted: It costs more than is left; nothing is spent.
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        estimate = _estimator(estimator, threshold, negative, too_large)
        question = self._question(
            model,
            dataset,
            sensitive=sensitive,
            epsilon=epsilon,
            strategy=strategy,
            favourable=favourable,
            columns=columns,
            version=version,
            draw=draw,
        )
        quote = self._quote(question)
        budget = self._holder.budget(dataset)
        release, answer, receipt, key = self._release(question, quote, budget.auditor)
        self._on_step("Estimating")
        measurement = strategies.measurement(release, question.rules, strategy)
        return AuditResult(
            plan=question.plan,
            release=release,
            answer=answer,
            receipt=receipt,
            key=key,
            holder_url=self._holder.url,
            strategy=strategy,
            estimator=estimator if estimator == "posterior" else f"{estimator} ({negative}, {too_large})",
            measurement=measurement,
            parity=estimate(measurement),
            rules=question.rules,
            model=question.model,
            budget=self._budget_now(dataset),
            versions=program_versions(),
        )

    def verify(self) -> ReceiptsReport:
        """Check all receipts: signatures, identities, and that the holder's ledger still has their entries.

        Raises:
            HolderLied: The holder's keys are not the pinned ones.
        """
        self._on_step("Checking the receipts")
        return check_receipts(self._receipts, self._holder)

    def _question(self, model: Any, dataset: str, **asked: Any) -> Question:
        """A model as a plan that fits the dataset as it is declared now; `asked` as `make_question` takes it."""
        description = self._holder.dataset(dataset)
        self._on_step("Reading the model")
        return make_question(model, description, **asked)

    def _quote(self, question: Question) -> Quote:
        """The price of a question, if it is the one that was meant."""
        self._on_step("Asking for the price")
        quote = self._holder.quote(question.dataset.name, question.plan)
        check_quote(quote, plan=question.plan, dataset=question.dataset)
        meant = PrivacyLoss.of_nano(sum(batch.epsilon for batch in question.plan.batches))
        if quote.charge == meant:
            return quote
        raise QuestionRefused(
            f"The holder would charge {quote.charge} for a plan that was meant to cost {meant}: it does not find the "
            "model's rules disjoint. Nothing was spent. Lower epsilon, or tell the holder's administrator."
        )

    def _release(
        self, question: Question, quote: Quote, auditor: str
    ) -> tuple[Release, Mapping[str, Any], Path, SigningKey]:
        """Ask, verify, keep the receipt: in this order, and nothing is used before."""
        plan = question.plan
        keys = self._receipts.pin(self._holder.keys())
        self._on_step("Waiting for the answer")
        try:
            unverified = self._holder.release(question.dataset.name, plan)
        except HolderUnavailable as error:
            raise HolderUnavailable(
                f"{error} The plan was made for version {plan.version} of the records: pin it if you ask again later."
            ) from error
        if all(key.id != unverified.document.get("key") for key in keys.keys):
            keys = self._receipts.pin(self._holder.keys())  # signed with a key that was made in between
        try:
            release = verified_release(
                unverified.document, keys=keys, plan=plan, quote=quote, dataset=question.dataset, auditor=auditor
            )
            receipt = self._receipts.keep(release.id, unverified.body)
        except HolderLied as error:
            raise HolderLied(f"{error} {self._evidence(unverified.body)}") from error
        return release, unverified.document, receipt, next(key for key in keys.keys if key.id == release.key)

    def _evidence(self, body: bytes) -> str:
        """Keep a false answer, and say where; that it cannot be kept must not hide that it is false."""
        try:
            return f"The answer is kept as evidence in {self._receipts.keep_refused(body)}."
        except ReceiptsDamaged as error:
            return f"The answer could not be kept as evidence: {error}"

    def _budget_now(self, dataset: str) -> Budget | None:
        """The account after an audit; to show it is no reason to lose the finding."""
        try:
            return self._holder.budget(dataset)
        except (HolderUnavailable, HolderRefused):
            return None


def _estimator(name: str, threshold: float, negative: str, too_large: str) -> Callable[[Measurement], ParityEstimate]:
    """The estimator of a name, refused before anything is spent if it does not exist or take these."""
    # Importing the estimators takes a second, and only estimating needs them.
    from auditor_client.estimation import plug_in, posterior  # noqa: PLC0415

    if not 0 < threshold <= 1:
        raise QuestionRefused(f"The threshold of the ratio lies above 0 and at most at 1; not at {threshold}.")
    if name == "posterior":
        return partial(posterior.estimate_parity, threshold=threshold)
    if name == "plug-in":
        plug_in.Policy(negative, too_large)
        return partial(plug_in.estimate_parity, negative=negative, too_large=too_large, threshold=threshold)
    raise QuestionRefused(f"There is no estimator {name!r}: use one of {', '.join(ESTIMATORS)}.")
