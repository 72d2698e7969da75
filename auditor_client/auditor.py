"""The auditor: from a decision model to a fairness figure, through one holder (4-interface).

Orchestrates and computes nothing itself. The order of an audit: read the model as rules, make the
plan and pin it to a version of the records, have it priced and the price compared with what was
meant, pin the holder's key, ask, verify, keep the receipt, and only then estimate. A failure
after the question was sent loses nothing: the same plan is answered again at no cost.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from auditor_client.asking.bands import score_of
from auditor_client.asking.choice import choose_strategy, counted, rules_from
from auditor_client.asking.mechanisms import mechanism_of
from auditor_client.asking.question import Question, make_question
from auditor_client.asking.request import AUTO, AuditRequest, PrivacyAmount
from auditor_client.asking.totals_table import read_group_totals
from auditor_client.audits.asking import Asking, LinkRequest, made
from auditor_client.audits.comparing import (
    ModelComparison,
    compare_results,
    counting_nothing_else,
    half_of,
    require_comparable,
    together,
)
from auditor_client.audits.history import History, stored_history
from auditor_client.audits.planned import PlannedAudit
from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import (
    asked_before,
    cell_supports,
    finding,
    reusable_answer,
    shares_cells,
    stored_supports,
)
from auditor_client.errors import HolderLied, HolderRefused, HolderUnavailable, QuestionRefused, ReceiptsDamaged
from auditor_client.exchange.calls import HttpClient
from auditor_client.exchange.columns import (
    HeldColumn,
    LinkedColumn,
    LinkedColumns,
    OwnColumns,
    require_ready,
    send_values,
)
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts, ReceiptsReport, check_receipts
from auditor_client.exchange.verification import check_quote, verified_release
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.notes import Note, Notes
from auditor_client.findings.reading import Reading
from auditor_client.settings import AuditorSettings, load_settings
from auditor_client.text import loss_words
from shared.amounts import NO_LOSS
from shared.columns import ColumnDescription
from shared.datasets import Budget, DatasetDescription
from shared.plans import Quote

if TYPE_CHECKING:
    from auditor_client.asking.own_data import OwnData

Step = Callable[[str], None]
"""Takes a few words about what is being done, to show progress."""

_NOT_COUNTED: Final = "Rules that name a sensitive column cannot be counted in your own data."


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
        receipts: Path | str | None = None,
        allow_plain_http: bool | None = None,
        about: About = NOTHING,
        http: HttpClient | None = None,
        on_step: Step = lambda _: None,
    ) -> None:
        """Prepare; nothing is sent yet. What is left out comes from the environment (`settings`).

        Args:
            holder_url: Where the holder is; by default AUDITOR_HOLDER_URL.
            api_key: The auditor's key; by default AUDITOR_API_KEY.
            receipts: Directory of the receipts; by default AUDITOR_RECEIPTS, or "receipts" here.
            allow_plain_http: Let the key travel unencrypted to another machine.
            about: Who audits and who writes reports; by default AUDITOR_ORGANISATION and AUDITOR_AUTHOR.
            http: For a certificate authority or a proxy of your own.
            on_step: Called with a few words before each step of the work.

        Raises:
            SettingsMissing, SettingsRefused: The address or the key is set nowhere, or a setting cannot be used.
        """
        settings = load_settings(
            {
                "holder_url": holder_url,
                "api_key": api_key,
                "receipts": receipts,
                "allow_plain_http": allow_plain_http,
            },
            os.environ,
        )
        self._holder = HolderClient(
            http,
            url=settings.holder_url,
            key=settings.api_key.get_secret_value(),
            allow_plain_http=settings.allow_plain_http,
        )
        self._receipts = Receipts(settings.receipts)
        self._notes = Notes(settings.receipts)
        self._linked = LinkedColumns(settings.receipts)
        self._about = about.over(made(About, {"organisation": settings.organisation, "author": settings.author}))
        self._on_step = on_step

    @classmethod
    def from_settings(cls, settings: AuditorSettings, *, on_step: Step = lambda _: None) -> Self:
        """An auditor with settings that `load_settings` returned."""
        by = {"organisation": settings.organisation, "author": settings.author}
        given = {name: value for name, value in settings if name not in by}
        given["api_key"] = settings.api_key.get_secret_value()
        return cls(**given, about=made(About, by), on_step=on_step)

    @property
    def receipts(self) -> Receipts:
        """The receipts directory."""
        return self._receipts

    def close(self) -> None:
        """Close the connections to the holder."""
        self._holder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Auditor at {self._holder.url}, receipts in {self._receipts.directory}>"

    def datasets(self) -> tuple[DatasetDescription, ...]:
        """What the holder offers."""
        return self._holder.datasets()

    def dataset(self, name: str) -> DatasetDescription:
        """What one dataset declares: its columns with their values, its groups, mechanisms and limits.

        Raises:
            NotFound: The holder has no dataset of that name for this auditor.
        """
        return self._holder.dataset(name)

    def budget(self, dataset: str) -> Budget:
        """What was granted, spent and is left, of the people that a dataset is about."""
        return self._holder.budget(dataset)

    def budgets(self) -> tuple[Budget, ...]:
        """The same of every population that the holder has a dataset about."""
        datasets = {dataset.population: dataset.name for dataset in self._holder.datasets()}
        return tuple(self._holder.budget(name) for name in datasets.values())

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
        """What an audit would cost and how wide its interval would be, for each strategy; spends nothing.

        Takes and refuses what `audit` does, and instead of ε the `target_width` of the first figure's interval: the
        smallest ε that is expected to reach it is planned.

        Raises:
            QuestionRefused: No ε in the public range is expected to reach the target.
        """
        asking = Asking.of(request, epsilon, reading, keywords)
        description = self._description(dataset)
        free = mechanism_of(asking.request, description) == "randomised_response"
        if (target_width is None) == (asking.request.epsilon is None) and not free:
            raise QuestionRefused("Give either `epsilon` or the width that the interval is to have (`target_width`).")
        budget = self._holder.budget(description.name)
        asked = asking.request if target_width is None else asking.request.changed(epsilon="1")
        question, data = self._question(model, description, replace(asking, request=asked), budget.auditor)
        from auditor_client.planning.forecasting import forecast, smallest_epsilon  # noqa: PLC0415 - see Reading

        people = None if data is None or not question.supportable else data.count
        if target_width is not None:
            if question.request.assumption.people is None:
                other = (
                    " or your own data about them (`supports_from`)." if question.supportable else f". {_NOT_COUNTED}"
                )
                raise QuestionRefused(
                    "The epsilon that a width needs follows from how many people there are: give their number "
                    f"(`people`){other}"
                )
            self._on_step("Looking for the smallest epsilon")
            question = smallest_epsilon(question, target_width, supports=people, reading=asking.reading)
        quote = self._quote(question)
        self._on_step("Simulating the audit")
        return PlannedAudit(
            question=question,
            quote=quote,
            forecast=forecast(question, supports=people, reading=asking.reading),
            budget=budget,
            target_width=target_width,
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
                supports: How many people of the auditor's own data each cell applies to, by the cell's id.
                supports_from: Those data instead: a DataFrame or a CSV or Parquet file with the people's features,
                without sensitive attributes. They do not leave this side.
                group_totals: How many people each group has, where that is public: a mapping of groups to a number or a
                pair, or a table, a DataFrame or a CSV or Parquet file, with a row for each group (`people`, or
                `people_min` and `people_max`). The figures rest on them; they do not leave this side.
                totals_source: Where they are from, for the report.
                bands: Into how many bands those data cut a score.
                reuse: Whether to read the answer from a kept receipt, at no cost, if one has it at least as exactly.

        Returns:
            The finding, with its receipt kept.

        Raises:
            ModelRefused: The model cannot be read exactly.
            QuestionRefused: What is asked does not fit the dataset, or a keyword is unknown; nothing is spent.
            BudgetExhausted, CapExhausted: It costs more than is left; nothing is spent.
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        return self._audit(model, dataset, Asking.of(request, epsilon, reading, keywords, about))

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
        linked = send_values(self._holder, description.name, file.column, file.content)
        self._linked.keep(description.name, linked)
        return linked

    def columns(self, dataset: str) -> tuple[ColumnDescription, ...]:
        """The derived columns that the holder has of this auditor about a dataset, oldest first."""
        return self._holder.columns(dataset)

    def delete_column(self, dataset: str, column: str) -> None:
        """Have a derived column deleted, by its id; what was released about it stays."""
        self._holder.delete_column(dataset, column)
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
            QuestionRefused: The figure cannot be compared, or one name is given for both models; nothing is spent.
        """
        asking = Asking.of(request, epsilon, reading, keywords)
        require_comparable(asking.request, asking.reading)
        if asking.about.model_name is not None:
            raise QuestionRefused(
                "Two models are compared, and `model_name` is one's: audit each by itself to name it."
            )
        asking = counting_nothing_else(asking)
        description = self._description(dataset)
        auditor = self._holder.budget(description.name).auditor
        one, data = self._question(first, description, asking, auditor)
        other, _ = self._question(second, description, asking, auditor, beside=one.source.columns)
        if all(self._is_kept(question, data, asking, auditor) for question in (one, other)):
            return compare_results(*(self._answered(question, data, asking, auditor) for question in (one, other)))
        pair = together(one, other)
        if isinstance(pair, str):
            if not shares_cells(one, other):
                halved = (question.changed(**half_of(question.request)) for question in (one, other))
                apart = None if one.request.epsilon is None else pair
                return compare_results(*(self._answered(each, data, asking, auditor) for each in halved), apart=apart)
            pair = one, other
        data = _own_data(asking.own.supports_from, pair[0])
        before = self._answered(pair[0], data, asking, auditor)
        return compare_results(before, self._found(pair[1], replace(before.stored, reused=True), asking))

    def history(self, dataset: str | None = None, *, model: str | None = None) -> History:
        """The kept audits in the order of their answers, every figure computed again from its receipt.

        Of one dataset alone; of one model alone, by the beginning of the digest of its rules or of its file.
        """
        self._on_step("Reading the receipts")
        return stored_history(self._receipts, dataset=dataset, model=model)

    def verify(self) -> ReceiptsReport:
        """Check all receipts: signatures, identities, and that the holder's ledger still has their entries.

        Raises:
            HolderLied: The holder's keys are not the pinned ones.
        """
        self._on_step("Checking the receipts")
        return check_receipts(self._receipts, self._holder)

    def _audit(self, model: Any, dataset: str | None, asking: Asking) -> AuditResult:
        """Read the model, ask, and estimate."""
        description = self._description(dataset)
        auditor = self._holder.budget(description.name).auditor
        question, data = self._question(model, description, asking, auditor)
        return self._answered(question, data, asking, auditor)

    def _answered(self, question: Question, data: "OwnData | None", asking: Asking, auditor: str) -> AuditResult:
        """Ask or find the answer, keep what it was about, and only then estimate."""
        known = cell_supports(question, asking.own.supports, data)
        count = None if data is None else data.count
        # Supports that were given by cell are of the question's own cells, not of a kept answer's.
        wanted = asking.own.reuse and asking.own.supports is None
        stored = reusable_answer(self._receipts, question, auditor, count) if wanted else None
        if stored is None:
            stored = self._release(question, self._quote(question), auditor)
        else:
            self._receipts.pin(self._holder.keys())  # a holder whose key changed is noticed here too
            known = None if data is None else stored_supports(stored, question, data)
        return self._found(question, replace(stored, supports=known), asking)

    def _found(self, question: Question, stored: StoredAnswer, asking: Asking) -> AuditResult:
        """What an answer says, once it is kept what it was about."""
        self._on_step("Estimating")
        reading, about = asking.reading.settled(question.metrics), asking.about.over(self._about)
        self._notes.keep(Note.of(question, stored, reading, about))
        budget_now = self._budget_now(question.dataset.name)
        return finding(question, stored, reading, holder_url=self._holder.url, budget=budget_now, about=about)

    def _is_kept(self, question: Question, data: "OwnData | None", asking: Asking, auditor: str) -> bool:
        """Whether a question has an answer already, so that nothing would be spent on it."""
        count = None if data is None else data.count
        return asking.own.reuse and (
            asked_before(self._receipts, question, auditor)
            or reusable_answer(self._receipts, question, auditor, count) is not None
        )

    def _description(self, dataset: str | None) -> DatasetDescription:
        if dataset is None:
            raise QuestionRefused("Name the `dataset`; `Auditor.datasets` lists them.")
        return self._holder.dataset(dataset)

    def _question(
        self,
        model: Any,
        description: DatasetDescription,
        asking: Asking,
        auditor: str,
        *,
        beside: Sequence[HeldColumn] = (),
    ) -> "tuple[Question, OwnData | None]":
        """A model or decisions, made into a plan; and the auditor's own data about the same people.

        Columns of another model, `beside` which it is asked about, keep their names.
        """
        request, own = asking.request, asking.own
        self._on_step("Reading the model" if request.decision is None else "Making the plan")
        columns = OwnColumns(auditor, self._linked.of(description.name))
        question = make_question(model, description, request, columns)
        taken = {held.column.name: held for held in beside}
        if any(taken.get(held.column.name, held).id != held.id for held in question.source.columns):
            columns = OwnColumns(auditor, {**columns.linked, **taken})
            question = make_question(model, description, request, columns)
        if own.group_totals is not None:
            known = _known_totals(asking, question)
            request, question = request.changed(**known), question.changed(**known)
        data = _own_data(own.supports_from, question)
        if data is not None and not question.supportable:
            self._on_step(_NOT_COUNTED)
        elif data is not None:
            question = question.changed(assumption=counted(question, data.count))
            if request.strategy == AUTO and request.edges is None:
                question = question.changed(strategy=choose_strategy(question))
        if own.bands is not None:
            if data is None or request.edges is not None:
                raise QuestionRefused("Bands are cut by your own data (`supports_from`), or at `edges` that you name.")
            edges = data.edges(score_of(question.rules, question.schema), own.bands)
            request = request.changed(edges=edges, assumption=question.request.assumption)
            question = make_question(model, description, request, columns)
        if request.strategy == AUTO and question.request.edges is None:
            self._say_choice(question)
        return question, data

    def _say_choice(self, question: Question) -> None:
        """Say it where strategy auto would ask otherwise if it knew how many people there are."""
        people = rules_from(question)
        if people is not None:
            self._on_step(
                "Asking by strategy verdict, as it is not known how many people there are (`people`): from "
                f"{people} on it would be rule by rule"
            )

    def _quote(self, question: Question) -> Quote:
        """The price of a question, if it is the one that was meant; what it needs is made first."""
        for held in question.source.columns:
            require_ready(self._holder, question.dataset.name, held, self._on_step)
        self._on_step("Asking for the price")
        quote = self._holder.quote(question.dataset.name, question.plan)
        check_quote(quote, plan=question.plan, dataset=question.dataset, schema=question.schema)
        meant = sum((batch.loss for batch in question.plan.batches), NO_LOSS)
        if quote.charge == meant:
            return quote
        raise QuestionRefused(
            f"The holder would charge {loss_words(quote.charge)} for a plan that was meant to cost "
            f"{loss_words(meant)}: it does not find the model's rules disjoint. Nothing was spent. Lower epsilon, or "
            "report it to the holder's administrator."
        )

    def _release(self, question: Question, quote: Quote, auditor: str) -> StoredAnswer:
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
        try:
            if all(key.id != unverified.document.get("key") for key in keys.keys):
                keys = self._receipts.pin(self._holder.keys())  # signed with a key that was made in between
            release = verified_release(
                unverified.document,
                keys=keys,
                plan=plan,
                quote=quote,
                dataset=question.dataset,
                auditor=auditor,
                schema=question.schema,
            )
            receipt = self._receipts.keep(release.id, unverified.body)
        except HolderLied as error:
            raise HolderLied(f"{error} {self._evidence(unverified.body)}") from error
        key = next(key for key in keys.keys if key.id == release.key)
        return StoredAnswer(release, unverified.document, receipt, key)

    def _evidence(self, body: bytes) -> str:
        """Keep a false answer, and say where; a failure to keep it must not hide that it is false."""
        try:
            return f"The answer is kept as evidence in {self._receipts.keep_refused(body)}."
        except ReceiptsDamaged as error:
            return f"The answer could not be kept as evidence: {error}"

    def _budget_now(self, dataset: str) -> Budget | None:
        """The account after an audit; None if the holder does not answer: the finding does not depend on it."""
        try:
            return self._holder.budget(dataset)
        except (HolderUnavailable, HolderRefused):
            return None


def _known_totals(asking: Asking, question: Question) -> dict[str, Any]:
    """What is known of the groups' sizes, as changes of the request: the assumption follows it too."""
    if not asking.reading.has_intervals:
        raise QuestionRefused("The plug-in estimator takes no group totals (`group_totals`): use posterior.")
    own, request = asking.own, question.request
    totals = read_group_totals(own.group_totals, own.totals_source, question.groups, request.sensitive)
    return {"known_totals": totals, "assumption": totals.assumed(request.assumption)}


def _own_data(table: Any, question: Question) -> "OwnData | None":
    if table is None:
        return None
    # pandas takes a second to import, and only counting needs it.
    from auditor_client.asking.own_data import OwnData  # noqa: PLC0415

    scores = {one.column.name: one.score for one in question.source.columns if one.score is not None}
    return OwnData(table, question.schema, scores)
