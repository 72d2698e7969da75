"""The auditor: from a decision model to a fairness figure, through one holder (4-interface).

Orchestrates and computes nothing itself. The order of an audit: read the model as rules, make the
plan and pin it to a version of the records, have it priced and the price compared with what was
meant, pin the holder's key, ask, verify, keep the receipt, and only then estimate. A failure
after the question was sent loses nothing: the same plan is answered again at no cost.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Self, Unpack

from auditor_client.asking.mechanisms import mechanism_of
from auditor_client.asking.request import AuditRequest, PrivacyAmount
from auditor_client.asking.training import FollowingAudit, TrainingRequest
from auditor_client.audits.answering import Answering
from auditor_client.audits.asking import Asking, LinkRequest, TrainingAsking, made
from auditor_client.audits.comparing import (
    CORRECTS_ONE,
    ModelComparison,
    compare_models,
    counting_nothing_else,
    require_comparable,
)
from auditor_client.audits.deciding import Deciding, settled_looks
from auditor_client.audits.history import History, kept_audit, stored_history
from auditor_client.audits.mending import Mending, mend
from auditor_client.audits.planned import PlannedAudit
from auditor_client.audits.planned_training import PlannedTraining
from auditor_client.audits.questioning import NOT_COUNTED, Questioning, Step, supposing_public_number
from auditor_client.audits.result import AuditResult
from auditor_client.audits.training import Trainer, TrainingResult
from auditor_client.audits.watching import WatchedVerdict, WatchKeeper, watch_of
from auditor_client.errors import HolderLied, NotFound, QuestionRefused
from auditor_client.exchange.calls import HttpClient
from auditor_client.exchange.charged import Exchange
from auditor_client.exchange.columns import LinkedColumn, LinkedColumns, send_values
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.ledger_log import RequiredWitnesses
from auditor_client.exchange.receipts import Receipts, ReceiptsReport, check_receipts
from auditor_client.exchange.sessions import shown_by
from auditor_client.exchange.two_holders import TwoHolders, second_receipts
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.notes import Note, Notes
from auditor_client.findings.reading import FOUR_FIFTHS, Reading
from auditor_client.findings.rehearsals import require_alike
from auditor_client.settings import AuditorSettings, Given, load_settings
from shared.contract.approvals import OPEN, Approval
from shared.contract.datasets import Budget, DatasetDescription
from shared.contract.rehearsals import rehearsal_name
from shared.scores.columns import ColumnDescription


class Auditor:
    """Audits models against one holder.

    Example:
        ``Auditor().audit(model, "adult", "sex", 0.5)`` asks the holder that the environment names
        and shows its finding in a notebook.
    """

    def __init__(
        self,
        holder_url: str | None = None,
        api_key: str | None = None,
        *,
        about: About = NOTHING,
        http: HttpClient | None = None,
        on_step: Step = lambda _: None,
        holders: Sequence[str | tuple[str, str]] = (),
        **given: Unpack[Given],
    ) -> None:
        """Prepare; nothing is sent yet. What is left out comes from the environment (`settings`).

        Args:
            holder_url: Where the holder is; by default AUDITOR_HOLDER_URL.
            api_key: The auditor's key; by default AUDITOR_API_KEY.
            about: Who audits and who writes reports; by default AUDITOR_ORGANISATION and AUDITOR_AUTHOR.
            http: For a certificate authority or a proxy of your own.
            on_step: Called with a few words before each step of the work.
            holders: Instead of `holder_url`, the addresses of two holders that have one half of a register each; or
                pairs of address and key. Keys that are left out come from AUDITOR_API_KEY and AUDITOR_SECOND_API_KEY.
            given: Further settings, by name (`settings.Given`).

        Raises:
            SettingsMissing, SettingsRefused: The address or the key is set nowhere, or a setting cannot be used.
        """
        unknown = given.keys() - Given.__annotations__.keys()
        if unknown:
            raise TypeError(f"Auditor takes no {min(unknown)!r}.")
        flags = {"holder_url": holder_url, "api_key": api_key, **given, **_of_holders(holders)}
        settings = load_settings(flags, os.environ)
        reached: dict[str, Any] = {
            "allow_plain_http": settings.allow_plain_http,
            "purpose": settings.asked_for,
            "wait_approval_s": settings.wait_approval,
        }
        self._holder = HolderClient(http, url=settings.holder_url, key=shown_by(settings), **reached)
        self._second = None
        if settings.second_holder_url is not None and settings.second_api_key is not None:
            key = settings.second_api_key.get_secret_value()
            second = HolderClient(http, url=settings.second_holder_url, key=key, **reached)
            self._second = Exchange(second, second_receipts(Receipts(settings.receipts)), on_step)
        self._receipts = Receipts(settings.receipts)
        self._witnesses = RequiredWitnesses(*settings.trusted_witnesses)
        self._linked = LinkedColumns(settings.receipts)
        self._on_step = on_step
        about = about.over(made(About, {"organisation": settings.organisation, "author": settings.author}))
        self._questioning = Questioning(self._linked, on_step)
        self._exchange = Exchange(self._holder, self._receipts, on_step)
        self._answering = Answering(self._exchange, Notes(settings.receipts, Note), about, self._second)

    @classmethod
    def from_settings(cls, settings: AuditorSettings, *, on_step: Step = lambda _: None) -> Self:
        """An auditor with settings that `load_settings` returned."""
        by = {"organisation": settings.organisation, "author": settings.author}
        given = {name: value for name, value in settings if name in {"holder_url", *Given.__annotations__}}
        for name, key in (("api_key", settings.api_key), ("second_api_key", settings.second_api_key)):
            given[name] = None if key is None else key.get_secret_value()
        return cls(**given, about=made(About, by), on_step=on_step)

    @property
    def receipts(self) -> Receipts:
        """The receipts directory."""
        return self._receipts

    def close(self) -> None:
        """Close the connections to the holder, or to both."""
        for holder in self._holders:
            holder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Auditor at {self._holder.url}, receipts in {self._receipts.directory}>"

    def datasets(self) -> tuple[DatasetDescription, ...]:
        """List the datasets of the holder."""
        return self._holder.datasets()

    def dataset(self, name: str) -> DatasetDescription:
        """Return what one dataset declares: its columns with their values, its groups, mechanisms and limits.

        Raises:
            NotFound: The holder has no dataset of that name for this auditor.
        """
        return self._holder.dataset(name)

    def budget(self, dataset: str) -> Budget:
        """Return what was granted, spent and is left, of the people that a dataset is about."""
        return self._holder.budget(dataset)

    def budgets(self) -> tuple[Budget, ...]:
        """The same of every population that the holder has a dataset about; rehearsals cost nothing, and need none."""
        real = [dataset for dataset in self._holder.datasets() if dataset.rehearsal is None]
        names = {dataset.population: dataset.name for dataset in real}
        return tuple(self._holder.budget(name) for name in names.values())

    def plan(
        self,
        model: Any = None,
        dataset: str | None = None,
        request: AuditRequest | str | Sequence[str] = (),
        epsilon: PrivacyAmount | None = None,
        *,
        reading: Reading | None = None,
        target_width: float | None = None,
        **keywords: Any,
    ) -> PlannedAudit:
        """Return what an audit would cost and how wide its interval would be, for each strategy; spends nothing.

        Takes and refuses what `audit` does, and instead of ε the `target_width` of the first figure's interval: the
        smallest ε that is expected to reach it is planned. With `until_decided`, what each look would cost and show.

        Raises:
            QuestionRefused: No ε in the public range is expected to reach the target.
        """
        asking = Asking.of(request, epsilon, reading, keywords)
        if target_width is not None or not asking.looking.until_decided:
            asking.require_one_answer()
        description = self._description(dataset)
        free = mechanism_of(asking.request, description) == "randomised_response"
        if (target_width is None) == asking.request.loss.is_nothing and not free:
            raise QuestionRefused("Give either `epsilon` or the width that the interval is to have (`target_width`).")
        budget = self._holder.budget(description.name)
        if target_width is not None and asking.own.misreported is not None:
            raise QuestionRefused(
                "`target_width` is the width for the groups as they are recorded, and `misreported` corrects them: "
                "leave one of them out. A plan at an `epsilon` forecasts the corrected width."
            )
        initial_request = asking.request if target_width is None else asking.request.changed(epsilon="1")
        posed = self._questioning.posed(model, description, replace(asking, request=initial_request), budget.auditor)
        question, data = supposing_public_number(posed.question), posed.data
        if asking.looking.until_decided:
            asking = replace(asking, reading=asking.reading.of_look(settled_looks(question, asking)))
        from auditor_client.planning.forecasting import forecast, smallest_epsilon  # noqa: PLC0415 - see Reading

        people = None if data is None or not question.supportable else data.count
        if target_width is not None:
            if question.request.assumption.people is None:
                other = (
                    " or your own data about them (`supports_from`)." if question.supportable else f". {NOT_COUNTED}"
                )
                raise QuestionRefused(
                    "The epsilon that a width needs follows from how many people there are: give their number "
                    f"(`people`){other}"
                )
            self._on_step("Looking for the smallest epsilon")
            question = smallest_epsilon(question, target_width, supports=people, reading=asking.reading)
        saved_plans = self._answering.kept_plans(replace(posed, question=question), asking)
        quote = self._answering.priced(question, budget.auditor).quote
        self._on_step("Simulating the audit")
        return PlannedAudit(
            question=question,
            quote=quote,
            forecast=forecast(question, supports=people, reading=asking.reading, kept=saved_plans),
            budget=budget.about(quote.blocks, description.table.block_domain),
            target_width=target_width,
            about=asking.about,
        )

    def audit(
        self,
        model: Any = None,
        dataset: str | None = None,
        request: AuditRequest | str | Sequence[str] = (),
        epsilon: PrivacyAmount | None = None,
        *,
        reading: Reading | None = None,
        about: About | None = None,
        **keywords: Any,
    ) -> AuditResult:
        """Measure how a model treats the groups of a dataset. Spends ε, once for the same question.

        Args:
            model: A fitted model, the path of a model's file, a `Tree`, or a `ReadModel`; None if `decision` names a
                column that holds the decisions.
            dataset: The dataset's name at the holder.
            request: What to ask; or the sensitive column, or several, which make a group of every combination of their
                values, with the request's other fields as keywords.
            epsilon: The privacy loss to spend, from 0.001 to 10 with at most nine decimals: 0.5, "0.5" or a Decimal;
                None for randomised response alone.
            reading: How to read the answer; or its fields as keywords.
            about: Which model it is and whose, and who audits, for the report's head; or its fields as keywords:
                model_name, model_owner, purpose, favourable_word, organisation, author. Nothing of it is sent.
            keywords: The fields of `AuditRequest`, `Reading` and `About`, and
                until_decided: Whether to look at little loss first and on, for the difference, until the verdict is
                decided; ε (or ρ) is then the most that all looks cost. The verdict holds at the level over all looks.
                first_look: The ε (or ρ) of the first look; by default 1/32 of the most.
                supports: How many people of the auditor's own data each cell applies to, by the cell's id.
                supports_from: Those data instead: a DataFrame or a CSV or Parquet file with the people's features,
                without sensitive attributes. They do not leave this side.
                group_totals: How many people each group has, where that is public: a mapping of groups to a number or a
                pair, or a table, a DataFrame or a CSV or Parquet file, with a row for each group (`people`, or
                `people_min` and `people_max`). The figures rest on them; they do not leave this side.
                totals_source: Where they are from, for the report.
                misreported: A public study of how groups are recorded wrongly, by which the figures are corrected: a
                mapping of true groups to recorded groups to numbers of people, its JSON file, or a table (`true`,
                `recorded`, `people`). It does not leave this side.
                misreported_source: Where the study is from, for the report.
                bands: Into how many bands those data cut a score.
                reuse: Whether to read the answer from a kept receipt, at no cost, if one has it at least as exactly.
                join: Whether the figures rest on every kept answer that counts the same people, this one among them.

        Returns:
            The finding, with its receipt kept.

        Raises:
            ModelRefused: The model cannot be read exactly.
            QuestionRefused: What is asked does not fit the dataset, or a keyword is unknown; nothing is spent.
            BudgetExhausted, CapExhausted: It costs more than is left; nothing is spent.
            ApprovalAwaited: A budget officer has to approve it first; ask the same again then. Nothing is spent.
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        asking = Asking.of(request, epsilon, reading, keywords, about).of_model(model)
        description = self._description(dataset)
        budget = self._holder.budget(description.name)
        posed = self._questioning.posed(model, description, asking, budget.auditor)
        if asking.looking.until_decided:
            return Deciding(self._answering, self._receipts, self._on_step).decided(posed, asking, budget.left)
        saved = self._answering.kept(posed, asking)
        return self._answering.answered(self._answering.prepared(posed, asking, saved), asking)

    def decisions(self, model: Any, dataset: str | None = None, *, decision: str | None = None) -> tuple[str, ...]:
        """Return what a model or a column of decisions can decide, if the good outcome has to be named; spends nothing.

        Empty for what decides by a number, and for a `Tree`: those say it themselves.

        Raises:
            ModelRefused: The model cannot be read exactly.
            QuestionRefused: The column does not exist, or there is no model.
        """
        return self._questioning.decisions(model, self._description(dataset), decision)

    def rehearse(self, model: Any = None, dataset: str | None = None, *asked: Any, **keywords: Any) -> AuditResult:
        """Audit the rehearsal of a dataset: the same about invented people, at no charge. It says nothing of anybody.

        Takes and refuses what `audit` does. Everything that comes of it is marked: page, text, document, receipt.

        Raises:
            QuestionRefused: The holder publishes no rehearsal of the dataset as it is declared now.
        """
        real = self._description(dataset)
        return self.audit(model, real.name if real.rehearsal else self._rehearsal(real).name, *asked, **keywords)

    def link(self, data: Any, dataset: str, request: LinkRequest | None = None, **keywords: Any) -> LinkedColumn:
        """Send values of the auditor's own, one for each person key; charges nothing, and shows the auditor nothing.

        They become a column that later questions name: decisions (`decision`), labels (`label`), or parts of the
        population (`where`). How many of the keys the holder knows is not said: only a charged release shows it. The
        holder keeps the values with a keyed hash of each key. Sending the same values again changes nothing.

        Args:
            data: A DataFrame, or the path of a CSV or Parquet file, with a row for each person.
            dataset: The dataset's name at the holder.
            request: What the values are; or its fields (`LinkRequest`) as keywords: name, key, value, type, categories,
                label.

        Returns:
            The column with its id. Its record is kept with the receipts, so that it can be named.

        Raises:
            QuestionRefused: The data do not fit; nothing was sent.
            ColumnRefused: The holder does not take them, or has no room for another column.
        """
        from auditor_client.audits.linking import linked_file  # noqa: PLC0415 - pandas takes a second

        description = self._description(dataset)
        self._on_step("Reading the values")
        file = linked_file(data, description, made(LinkRequest, keywords) if request is None else request)
        self._on_step(f"Sending {file.people} values")
        column = file.column
        if self._second is not None:
            TwoHolders(self._exchange, self._second).require_one_account(description.name)
            column = column.model_copy(update={"blinding": self._linked.blinding()})
        linked = send_values(self._holder, description.name, column, file.content)
        if self._second is not None:
            second = send_values(self._second.holder, description.name, column, file.content)
            if second.id != linked.id:
                raise HolderLied("The two holders name the same linked column differently. Report it to both.")
        self._linked.keep(description.name, linked)
        return linked

    def columns(self, dataset: str) -> tuple[ColumnDescription, ...]:
        """The derived columns that the holder has of this auditor about a dataset, oldest first."""
        return self._holder.columns(dataset)

    def delete_column(self, dataset: str, column: str) -> None:
        """Have a derived column deleted, by its id, of two holders at both; what was released about it stays."""
        missing = []
        for holder in self._holders:
            try:
                holder.delete_column(dataset, column)
            except NotFound as error:
                missing.append(error)
        if len(missing) == len(self._holders):
            raise missing[0]
        self._linked.forget(dataset, column)

    def compare(
        self,
        first: Any,
        second: Any,
        dataset: str,
        request: AuditRequest | str | Sequence[str] = (),
        epsilon: PrivacyAmount | None = None,
        *,
        reading: Reading | None = None,
        **keywords: Any,
    ) -> ModelComparison:
        """Audit two models in the same way, for example before and after a mitigation, and compare. Spends ε once.

        One question asks whom both models accept, only one of them, or neither. Where that is no plan, each model is
        asked about by itself at half of ε, and the comparison says so; or at all of it, where the first answer has what
        the second model needs, or where kept answers have both. Takes and refuses what `audit` does, but for the
        models.

        Raises:
            QuestionRefused: The figure cannot be compared, or one name or the supports of one model's cells are given
                for both models; nothing is spent.
        """
        asking = Asking.of(request, epsilon, reading, keywords).require_one_answer()
        require_comparable(asking.request, asking.reading)
        if asking.own.misreported is not None:
            raise QuestionRefused(CORRECTS_ONE)
        if asking.own.join:
            raise QuestionRefused("Two models are compared from one answer each: leave `join` out.")
        if asking.about.model_name is not None:
            raise QuestionRefused(
                "Two models are compared, and `model_name` names one: leave it out. Each is called by its file's name."
            )
        if asking.own.supports is not None:
            raise QuestionRefused("`supports` are of one model's cells: give your own data (`supports_from`).")
        asking = counting_nothing_else(asking)
        description = self._description(dataset)
        auditor = self._holder.budget(description.name).auditor
        first_question, second_question = self._questioning.posed_both((first, second), description, asking, auditor)
        askings = asking.of_model(first), asking.of_model(second)
        return compare_models(first_question, second_question, self._answering, askings)

    def approvals(self, dataset: str) -> tuple[Approval, ...]:
        """Return what you asked about a dataset that a budget officer has to approve first, the oldest first.

        Of two holders, the first's requests and then the second's.
        """
        return tuple(chain.from_iterable(self.approvals_by_holder(dataset).values()))

    def approvals_by_holder(self, dataset: str) -> dict[str, tuple[Approval, ...]]:
        """Return the same by the holder's address: one officer of each holder decides."""
        return {holder.url: holder.approvals(dataset) for holder in self._holders}

    def approval(self, dataset: str, approval: str) -> Approval:
        """Return one of these requests, by its id; of two holders that have it, one that has not approved it yet.

        Raises:
            NotFound: No request of yours has that id, or it expired long ago.
        """
        approvals = [request for _, request in self._approval_at_each(dataset, approval)]
        return next((request for request in approvals if request.state not in ("approved", "answered")), approvals[0])

    def withdraw(self, dataset: str, approval: str) -> Approval:
        """Withdraw a request that waits or is approved, by its id, at each holder that has not charged it.

        Raises:
            NotFound: As of `approval`.
            HolderRefused: It is not open at any holder.
        """
        at_each = self._approval_at_each(dataset, approval)
        for holder in [holder for holder, request in at_each if request.state in OPEN] or [at_each[0][0]]:
            holder.withdraw(dataset, approval)
        return self.approval(dataset, approval)

    def _approval_at_each(self, dataset: str, approval: str) -> list[tuple[HolderClient, Approval]]:
        at_each = []
        for holder in self._holders:
            with suppress(NotFound):
                at_each.append((holder, holder.approval(dataset, approval)))
        return at_each or [(self._holder, self._holder.approval(dataset, approval))]

    def history(self, dataset: str | None = None, *, model: str | None = None) -> History:
        """The kept audits in the order of their answers, every figure computed again from its receipt.

        Of one dataset alone; of one model alone, by the beginning of the digest of its rules or of its file.
        """
        self._on_step("Reading the receipts")
        return stored_history(self._receipts, dataset=dataset, model=model)

    def mend(self, audit: AuditResult | Path | str, ratio: float = 0.8) -> Mending:
        """Change an audited tree's leaves until the groups' rates are alike enough; see `audits.mending.mend`.

        Asks nobody and spends nothing. Of a file: the receipt, or its note in the receipts' "questions".
        """
        self._on_step("Looking for changes")
        return mend(audit, ratio)

    def train(
        self,
        dataset: str,
        request: TrainingRequest | None = None,
        epsilon: PrivacyAmount | None = None,
        *,
        ratio: float = 0.8,
        reading: Reading | None = None,
        following: FollowingAudit | None = None,
        **keywords: Any,
    ) -> TrainingResult:
        """Have the holder train a model, decided so that the groups' rates are alike enough. Spends ε, once.

        The same training again is read from its receipt: another `ratio` costs nothing.

        Args:
            dataset: The dataset's name at the holder.
            request: What to learn; or its fields (`TrainingRequest`) as keywords: algorithm, label, sensitive,
                features, version, draw, and what is the algorithm's own. What is left out follows from the declaration.
                Of the learners of publications nothing is promised about `ratio`.
            epsilon: The privacy loss to spend, from 0.001 to 10.
            ratio: The wanted ratio of statistical parity, within (0, 1].
            reading: The level of what is said, and which groups it is about; or `level` and `judged` as keywords.
            following: Where to audit the model in the same run, at what ε; or `audit_on`, `audit_epsilon` and
                `audit_version` as keywords. Of a model that is decided for the ratio, only one that is shown or
                estimated to meet it is audited.

        Returns:
            The model with what is known of it, its receipt kept.

        Raises:
            QuestionRefused: What is asked does not fit the dataset; nothing is spent.
            BudgetExhausted, CapExhausted: It costs more than is left; nothing is spent.
            ApprovalAwaited: A budget officer has to approve it first; ask the same again then. Nothing is spent.
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        asked = TrainingAsking.of(request, epsilon, reading, following, keywords)
        planned, audited = self._planned_training(dataset, asked, ratio)
        result = self._trainer.trained(asked, planned, ratio=ratio)
        if audited is None or not result.usable:
            return result
        self._on_step("Auditing the model")
        request_of_audit = asked.following.request(result.release.training.sensitive)
        judged_by = asked.reading.model_copy(update={} if ratio == FOUR_FIFTHS else {"threshold": ratio})
        return replace(result, audit=self.audit(result.model, audited.name, request_of_audit, reading=judged_by))

    def plan_training(
        self,
        dataset: str,
        request: TrainingRequest | None = None,
        epsilon: PrivacyAmount | None = None,
        *,
        ratio: float = 0.8,
        reading: Reading | None = None,
        following: FollowingAudit | None = None,
        **keywords: Any,
    ) -> PlannedTraining:
        """What a training costs, and what each part of ε buys; spends nothing. Takes and refuses what `train` does."""
        asked = TrainingAsking.of(request, epsilon, reading, following, keywords)
        return self._planned_training(dataset, asked, ratio)[0]

    def watch(
        self, audit: AuditResult | Path | str, epsilon: PrivacyAmount, *, margin: int = 0, draw: int = 1
    ) -> WatchedVerdict:
        """Have the holder watch the verdict of an audit in every version from its own on. Spends ε, once.

        Args:
            audit: What found the verdict; or its receipt, or its note in the receipts' "questions".
            epsilon: The privacy loss of all answers together, from 0.001 to 10.
            margin: Report a change when this many people are left before it. A negative number: when this many people
                are beyond it.
            draw: Another number sets another watch, with its own charge.

        Raises:
            QuestionRefused: The audit has no verdict that can be watched; nothing is spent.
            BudgetExhausted, CapExhausted: It costs more than is left; nothing is spent.
            ApprovalAwaited: A budget officer has to approve it first; ask the same again then. Nothing is spent.
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        result = audit if isinstance(audit, AuditResult) else kept_audit(Path(audit))
        watched = watch_of(result, epsilon, margin=margin, draw=draw)
        dataset = self._description(result.release.dataset)
        return self._watches.set(watched, dataset, self._holder.budget(dataset.name).auditor)

    def watches(self, dataset: str) -> tuple[WatchedVerdict, ...]:
        """Your watches about a dataset with their answers, the oldest first; spends nothing.

        Raises:
            HolderLied: An answer cannot be trusted.
        """
        return self._watches.every(self._description(dataset))

    def _planned_training(
        self, dataset: str, asked: TrainingAsking, ratio: float
    ) -> tuple[PlannedTraining, DatasetDescription | None]:
        """A training with its price, and the dataset that its model is to be audited on; None if it is not."""
        description, other = self._description(dataset), asked.following.audit_on
        audited = None if other is None else self._description(other)
        if audited is not None:
            require_alike(description, audited, "A model is trained and audited")
        return self._trainer.planned(asked, description, ratio=ratio, audited=audited), audited

    @property
    def _holders(self) -> tuple[HolderClient, ...]:
        return (self._holder,) if self._second is None else (self._holder, self._second.holder)

    @property
    def _trainer(self) -> Trainer:
        return Trainer(self._exchange)

    @property
    def _watches(self) -> WatchKeeper:
        return WatchKeeper(self._exchange)

    def verify(self) -> ReceiptsReport:
        """Check all receipts: signatures, identities, and that the holder's ledger still has their entries.

        If the holder publishes its ledger as a log, the log and its witnesses are checked too.

        Raises:
            HolderLied: The holder's keys are not the pinned ones.
        """
        self._on_step("Checking the receipts")
        report = check_receipts(self._receipts, self._holder, self._witnesses)
        if self._second is None or not self._second.receipts.directory.is_dir():
            return report
        other = check_receipts(self._second.receipts, self._second.holder)
        return replace(report, checks=(*report.checks, *other.checks), fault=report.fault or other.fault)

    def _rehearsal(self, real: DatasetDescription) -> DatasetDescription:
        """The rehearsal of a dataset."""
        name = rehearsal_name(real.name)
        try:
            rehearsal = self._holder.dataset(name)
        except NotFound:
            rehearsal = None
        if rehearsal is None or rehearsal.rehearsal is None or rehearsal.rehearsal.of != real.name:
            raise QuestionRefused(
                f"The holder publishes no rehearsal of {real.name!r}. Ask its administrator for one, who "
                f"publishes it by `holder admin rehearsal {real.name}`."
            )
        declared = (rehearsal.columns, rehearsal.relation, rehearsal.records_max)
        if declared != (real.columns, real.relation, real.records_max):
            raise QuestionRefused(
                f"The rehearsal {name!r} is of an earlier declaration of {real.name!r}: ask the holder's administrator "
                "to publish it again."
            )
        return rehearsal

    def _description(self, dataset: str | None) -> DatasetDescription:
        if dataset is None:
            raise QuestionRefused("Name the `dataset`; `Auditor.datasets` lists them.")
        return self._holder.dataset(dataset)


def _of_holders(holders: Sequence[str | tuple[str, str]]) -> dict[str, str | None]:
    """The settings of one or two holders that are named by address, or by address and key.

    Raises:
        QuestionRefused: More than two are named.
    """
    if len(holders) > 2:
        raise QuestionRefused("A register is shared by two holders: name two.")
    settings: dict[str, str | None] = {}
    names = (("holder_url", "api_key"), ("second_holder_url", "second_api_key"))
    for (url_name, key_name), holder in zip(names, holders, strict=False):
        url, key = (holder, None) if isinstance(holder, str) else holder
        settings[url_name] = url
        if key is not None:
            settings[key_name] = key
    return settings
