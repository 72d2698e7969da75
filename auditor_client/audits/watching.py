"""A verdict that the holder watches: set from a kept audit, and looked at again for nothing (8-time §3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from auditor_client.asking.request import PARITY, VERDICT, PrivacyAmount
from auditor_client.audits.result import AuditResult
from auditor_client.errors import AuditorError, HolderLied, QuestionRefused
from auditor_client.estimation.estimates import Verdict
from auditor_client.exchange.calls import parsed
from auditor_client.exchange.charged import Exchange
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import WATCHES
from auditor_client.exchange.kept_chains import statements_of_watches
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.verification import require_marked, signed, signed_as
from auditor_client.exchange.watch_verification import verified_answers, verified_skips
from auditor_client.findings.finding import MetricEstimate
from auditor_client.report.view import Shown, View
from auditor_client.report.watch_data import WatchData, watch_data, watch_document, watch_lines
from auditor_client.report.watch_gaps import KeptWatch
from auditor_client.text import first_fault, loss_words
from shared.contract.datasets import DatasetDescription
from shared.kinds.releases import Signed
from shared.kinds.watches import Watch, WatchAnswerRelease, WatchRelease, WatchSkipRelease
from shared.wire.canonical import canonical_bytes

_VERDICTS: Final = ("meets", "fails")


@dataclass(frozen=True, repr=False)
class WatchedVerdict(Shown):
    """A watch with its answers so far, all verified.

    Attributes:
        dataset: As the holder describes it.
        release: The watch as it was set.
        answers: One for each version that was answered, in order.
        pending: The version that is to be answered; None where none is.
        due: When that is there at the earliest, in UTC.
        receipt: The file that keeps the watch; each answer has one of its own.
        skips: What the holder has signed of versions that it did not answer, in order.
    """

    dataset: DatasetDescription
    release: WatchRelease
    answers: tuple[WatchAnswerRelease, ...]
    pending: int | None
    due: str | None
    receipt: Path
    skips: tuple[WatchSkipRelease, ...] = ()

    @property
    def changed_at(self) -> int | None:
        """The version at which the verdict had changed, as far as the noise lets it be known; None if it has not."""
        return self.answers[-1].version if self.answers and self.answers[-1].watch_answer.changed else None

    @cached_property
    def view(self) -> View[WatchData]:
        """What was watched, and what was answered."""
        kept = KeptWatch(self.release, self.answers, self.skips)
        data = partial(watch_data, self.dataset, kept, pending=self.pending, due=self.due)
        document = partial(watch_document, kept, current=self.dataset.version, pending=self.pending, due=self.due)
        return View((self.dataset,), "A watched verdict", "30rem", "watch.html.j2", data, watch_lines, document)

    def __repr__(self) -> str:
        return f"<WatchedVerdict: {self.view.marked(self.view.data.headline)}>"


@dataclass(frozen=True, slots=True)
class WatchKeeper:
    """Has one holder watch, and keeps what it answers."""

    exchange: Exchange

    def set(self, watch: Watch, dataset: DatasetDescription, auditor: str) -> WatchedVerdict:
        """Have a verdict watched: charged once, and the same watch again is answered from the holder's store.

        Raises:
            BudgetExhausted, CapExhausted: It costs more than is left; nothing is spent.
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        priced = self.exchange.priced(WATCHES, watch, RequestContext.of(dataset, auditor))
        self.exchange.on_step(f"Setting the watch, {loss_words(priced.quote.charge)} for all of its answers")
        kept = self.exchange.charged(priced)
        return self.shown(kept.release.id, dataset)

    def every(self, dataset: DatasetDescription) -> tuple[WatchedVerdict, ...]:
        """All watches that this auditor has set about a dataset, the oldest first; spends nothing."""
        self.exchange.on_step("Reading the watches")
        return tuple(self.shown(name, dataset) for name in self.exchange.holder.watches(dataset.name))

    def shown(self, identity: str, dataset: DatasetDescription) -> WatchedVerdict:
        """One of them, with the answers that it has now, each kept as a receipt."""
        holder, receipts = self.exchange.holder, self.exchange.receipts
        keys = receipts.pin(holder.keys())
        report = holder.watch_report(dataset.name, identity)
        made = _member(report, "watch", dict)
        release = signed_as(WatchRelease, made, keys)
        if release.id != identity:
            raise HolderLied("The holder shows another watch than the requested one. Report it to its administrator.")
        require_marked(release, dataset)
        documents = _member(report, "answers", list)
        answers = verified_answers(documents, keys=keys, watch=release)
        skipped = _member(report, "skipped", list) if "skipped" in report else []
        skips = verified_skips(skipped, keys=keys, watch=release, answers=answers)
        receipt = receipts.keep(release.id, canonical_bytes(made))
        for statement, document in zip((*answers, *skips), (*documents, *skipped), strict=True):
            receipts.keep(statement.id, canonical_bytes(document))
        due, pending = report.get("due"), report.get("pending")
        return WatchedVerdict(
            dataset, release, answers, pending if isinstance(pending, int) else None,
            due if isinstance(due, str) else None, receipt, skips,
        )  # fmt: skip


def kept_watches(receipts: Receipts, dataset: str | None = None) -> tuple[KeptWatch, ...]:
    """The watches of a receipts directory, the oldest first, with the answers that are kept; about one dataset alone.

    Those of rehearsals are among them if the rehearsal is named.
    Receipts that cannot be trusted are left out, as those of audits are; `verify` reports them.
    """
    if not receipts.directory.is_dir():
        return ()
    keys, releases = receipts.pinned(), list[Signed]()
    for file in receipts.files():
        try:
            releases.append(signed(parsed(file.read_bytes(), file.name), keys))
        except (OSError, AuditorError):
            continue
    return tuple(
        KeptWatch(
            watch,
            tuple(sorted(answers, key=lambda answer: answer.version)),
            tuple(sorted(skips, key=lambda skip: skip.version)),
        )
        for watch, answers, skips in sorted(statements_of_watches(releases), key=lambda one: one.watch.created)
        if (watch.rehearsal is None if dataset is None else dataset == watch.dataset)
    )


def watchable_parity(audit: AuditResult) -> MetricEstimate:
    """The statistical parity that an audit found, whose verdict can be watched.

    Raises:
        QuestionRefused: The audit has no such verdict, or it is about what no watch can compare.
    """
    question, estimate = audit.question, audit.estimates.get(PARITY)
    if question.source.columns or question.strata or question.against or question.request.edges is not None:
        raise QuestionRefused(
            "A watch compares whom rules over declared columns accept: not scores, linked decisions, strata or two "
            "models."
        )
    if question.request.intervention == "punitive":
        raise QuestionRefused(
            "This audit is about a punitive decision, so its verdict is about the adverse ratio. A watch is over the "
            "ratio of favourable rates alone, and cannot watch adverse ratios yet. Instead of a watch, audit new "
            "versions of the records again."
        )
    if estimate is None or estimate.threshold is None or estimate.verdict.value not in _VERDICTS:
        raise QuestionRefused(
            "A watch needs a verdict of statistical parity, meets or fails, but this audit does not have one. "
            "Audit with a larger epsilon first."
        )
    if audit.verdict is Verdict.DEPENDS:
        raise QuestionRefused(
            "This verdict depends on the kind of decision, and a watch is over the ratio of favourable rates: audit "
            "with `intervention` assistive if being selected is good. Adverse ratios cannot be watched yet."
        )
    if estimate.unknown is not None:
        raise QuestionRefused(
            "This verdict holds over all that the people of unknown group may be, and a watch takes them as a group of "
            "their own: audit with `unknown` group, if that is what you want to watch."
        )
    if estimate.as_recorded is not None:
        raise QuestionRefused(
            "This verdict is corrected for misreported groups, and a watch compares groups as they are recorded: audit "
            "without `misreported`, if that is what you want to watch."
        )
    if estimate.left_out:
        raise QuestionRefused(
            "This verdict leaves out groups that are small, and a watch compares all: audit by fewer columns, or "
            "without `judged`."
        )
    return estimate


def watch_of(audit: AuditResult, epsilon: PrivacyAmount, *, margin: int = 0, draw: int = 1) -> Watch:
    """The watch over the verdict that an audit came to, from its version of the records on.

    Raises:
        QuestionRefused: The audit has no such verdict, or it is about what no watch can compare.
    """
    question, estimate = audit.question, watchable_parity(audit)
    plan = question.changed(metrics=(PARITY,), strategy=VERDICT).plan
    favourable, unfavourable = plan.batches[0].cells
    try:
        return Watch.model_validate(
            {
                "sensitive": list(plan.sensitive), "threshold": f"{estimate.threshold:.9f}".rstrip("0").rstrip("."),
                "verdict": estimate.verdict.value, "margin": margin, "epsilon": str(epsilon), "version": plan.version,
                "draw": draw,
                "favourable": favourable.model_dump(mode="json", exclude_none=True),
                "unfavourable": unfavourable.model_dump(mode="json", exclude_none=True),
            }
        )  # fmt: skip
    except ValidationError as error:
        raise QuestionRefused(": ".join(first_fault(error)).lstrip(": ")) from error


def _member(report: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    found = report.get(name)
    if not isinstance(found, kind):
        raise HolderLied(f"The holder shows a watch without {name!r}. Report it to its administrator.")
    return found
