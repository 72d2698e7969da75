"""Watches: a verdict that is asked again of every new version of the records, for one charge (8-time §3).

A *watch* names a decision, a threshold of its statistical parity ratio, and the verdict that an auditor has: "meets" or
"fails". The holder answers it about every version of the records from one on: "unchanged", as often as that is so, and
once "changed", which is its last answer. It is charged whole when it is set. What is compared, under noise, is the
distance: how many people have to come or go until the verdict is the other one.

Setting a watch is a release, and so is each of its answers, which costs nothing further; both are signed, entered and
kept like releases of plans. A watch grows as a plan does (`shared.kinds.plans`).
"""

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from shared.contract.rules import Cell
from shared.contract.schema import Group, Schema
from shared.kinds.plans import Batch, Laplace, Plan
from shared.kinds.quotes import QuoteBase
from shared.kinds.releases import AnswerToRequest, Signed
from shared.kinds.requests import ReleaseRequest
from shared.kinds.summaries import RequestSummary, SummaryPart, draw_facts
from shared.privacy.amounts import Epsilon, Loss, Probability, format_nano
from shared.privacy.noise import DiscreteLaplaceNoise, OneSidedGeometricNoise
from shared.wire import canonical, limits
from shared.wire.identities import KindName, identity_of_document
from shared.wire.problems import InvalidPlan, UnknownColumn
from shared.wire.request_model import ContractModel
from shared.wire.text import ColumnId, Text

Verdict = Literal["meets", "fails"]
ANSWER_KIND: Final = "watch_answer"
"""What an answer is filed as, and its member that says it."""
SKIP_KIND: Final = "watch_skip"
"""What is said of versions that are not answered is filed as, and its member that says it."""
SkipReason = Literal[
    "replaced", "removed", "no-budget", "cap-closed", "account-disabled", "declaration", "restored", "state"
]
"""Why versions are not answered. A later version of the holder may name others."""


class Watch(ReleaseRequest):
    """A verdict that an auditor has watched: charged whole or refused whole."""

    kind: ClassVar[Literal["watch"]] = "watch"
    sensitive: tuple[Text, ...] = Field(min_length=1, max_length=limits.SENSITIVE_COLUMNS_PER_PLAN_MAX, fail_fast=True)
    """The sensitive columns whose values together make the groups."""
    favourable: Cell
    """Whom the decision accepts."""
    unfavourable: Cell
    """Whom it refuses; its rules exclude those of `favourable`, provably."""
    threshold: Probability
    """Of the smallest acceptance rate of a group divided by the largest, below 1, as a decimal string."""
    verdict: Verdict
    """Whether the decision meets the threshold, as far as the auditor knows: what is watched."""
    margin: Annotated[StrictInt, Field(ge=-limits.MARGIN_MAX, le=limits.MARGIN_MAX)] = 0
    """How many people may be left between the records and the other verdict when a change is said; below 0, how many
    have to be beyond it."""
    epsilon: Epsilon
    """ε of all answers together, from 0.001 to 10, as a decimal string."""
    version: Annotated[StrictInt, Field(ge=1, le=limits.INTEGER_MAX)] | None = None
    """The first version of the records that is answered; without it the current one."""
    draw: Annotated[StrictInt, Field(ge=1, le=limits.DRAW_MAX)] = 1
    """Another number sets another watch, and is charged again; the same number is the same watch, at no cost."""

    @property
    def charge(self) -> Loss:
        """The price of setting it, unless it is set already. All of its answers are paid for by that."""
        return Loss(self.epsilon)

    def counted(self) -> Plan:
        """The plan whose counts it rests on; nobody is answered it."""
        batch = Batch.model_construct(
            name=self.kind, mechanism=Laplace(name="laplace"), epsilon=self.epsilon,
            cells=(self.favourable, self.unfavourable),
        )  # fmt: skip
        return Plan(sensitive=self.sensitive, version=self.version, batches=(batch,))

    def require_small(self) -> None:
        """Refuse a watch whose counts are more than a plan may ask."""
        self.counted().require_small()

    def summary(self) -> RequestSummary:
        """Return which verdict is watched, and whom the decision is about."""
        facts = (
            ("Mechanism", "Sparse vector; the loss is charged once for all answers"),
            ("Privacy loss", self.charge.symbols),
            ("Threshold", f"{format_nano(self.threshold)} of the largest acceptance rate"),
            ("Verdict that is watched", self.verdict),
            ("Margin", f"{self.margin} people"),
        )
        sides = (("accepted", self.favourable.texts), ("refused", self.unfavourable.texts))
        part = SummaryPart("A verdict that is watched", facts, "Whom the decision is about", sides)
        question = f"Watches a verdict by {', '.join(self.sensitive)}"
        return RequestSummary(question, self.sensitive, draw_facts(self.draw), (part,))

    def check(self, schema: Schema) -> None:
        """Refuse a watch whose columns do not fit a schema; looks at nothing else.

        Raises:
            PlanRefused: With the path of the fault and what would fit.
        """
        for name in self.sensitive:
            column = schema.by_name.get(name)
            if column is None:
                raise UnknownColumn(column=name, path="sensitive")
            if column.randomised_response is not None:
                raise InvalidPlan(
                    f"Column {name!r} was perturbed at its source, so its reports do not give a distance between "
                    "people. Name another column.",
                    "sensitive",
                )
        for path, cell in (("favourable", self.favourable), ("unfavourable", self.unfavourable)):
            for rule in cell.any_of:
                for predicate in rule.all_of:
                    predicate.check(schema, path)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.sensitive)) != len(self.sensitive):
            raise ValueError("A sensitive column is named twice.")
        if self.favourable.id == self.unfavourable.id:
            raise ValueError("Give the two cells different ids.")
        return self


WatchedNoise = Annotated[OneSidedGeometricNoise | DiscreteLaplaceNoise, Field(discriminator="distribution")]
"""The noise of a watch: one-sided; discrete Laplace in watches that were set before, for as long as they answer."""


class WatchNoise(ContractModel):
    """The two noises of a watch, in people: the answer is "changed" if distance + number noise is at most margin +
    shift + threshold noise.
    """

    threshold: WatchedNoise
    """On the margin: drawn once, when the watch is set, and kept secret."""
    number: WatchedNoise
    """On each version's distance: drawn anew, and kept secret."""
    shift: Annotated[StrictInt, Field(exclude_if=lambda shift: shift == 0)] = 0
    """How many people are added to the margin, because one-sided noise does not have its mean at 0: the difference of
    the two means, in whole people; left out where it is 0."""

    @property
    def is_one_sided(self) -> bool:
        """Whether neither noise is ever above 0."""
        return isinstance(self.threshold, OneSidedGeometricNoise) and isinstance(self.number, OneSidedGeometricNoise)


class WatchQuote(QuoteBase):
    """A watch's price: the same whatever the records are, and it touches neither records nor budget."""

    groups: tuple[Group, ...]
    """The groups that are compared, in order."""
    sensitivity: int
    """By how many people one person moves the distance at most."""
    noise: WatchNoise
    """Of its answers."""


class WatchSet(AnswerToRequest):
    """The release of a watch before its charge is entered: it is set."""

    kind: ClassVar[KindName] = Watch.kind

    watch: Watch
    """The watch in canonical form, pinned to the first version."""
    groups: tuple[Group, ...]
    """The groups that are compared, in order."""
    sensitivity: int
    """By how many people one person moves the distance at most."""
    noise: WatchNoise
    """Of its answers."""


class WatchRelease(WatchSet, Signed):
    """A watch as it was set. Fields that this version does not know are ignored."""


class WatchStatement(ContractModel):
    """The statement about one version of the records."""

    watch: ColumnId
    """The id of the watch."""
    changed: StrictBool
    """Whether the verdict is the other one now, as far as the noise lets it be known: then this is the last answer."""


class WatchAnswer(AnswerToRequest):
    """An answer of a watch before it is entered; it is charged nothing."""

    kind: ClassVar[KindName] = ANSWER_KIND

    watch_answer: WatchStatement
    """What it says."""

    @property
    def expected_id(self) -> str:
        """The id of the one answer of its watch about this version."""
        return statement_identity(
            self.kind, self.watch_answer.watch, auditor=self.auditor, dataset=self.dataset, version=self.version
        )

    @property
    def is_change(self) -> bool:
        """Whether it says that the verdict has changed: then nothing follows it."""
        return self.watch_answer.changed

    @property
    def said(self) -> tuple[str, str]:
        """Of which version it says what, in words."""
        return f"version {self.version}", "changed" if self.is_change else "unchanged"

    @property
    def fault(self) -> str | None:
        """What in the answer contradicts the rest of it, for people; `None` if nothing does."""
        return None if self.price.is_nothing else "an answer of a watch was charged, which setting it has paid for"


class WatchAnswerRelease(WatchAnswer, Signed):
    """An answer of a watch about one version of the records. Fields that this version does not know are ignored."""


class WatchSkip(ContractModel):
    """The statement that versions of the records were not answered and will not be."""

    watch: ColumnId
    """The id of the watch."""
    first: Annotated[StrictInt, Field(ge=1, le=limits.INTEGER_MAX)]
    """The first of them."""
    last: Annotated[StrictInt, Field(ge=1, le=limits.INTEGER_MAX)]
    """The last of them: all between are among them."""
    reason: Text
    """Why, by facts that the ledger shows. `replaced`: another version was loaded before the answer was entered.
    `removed`: the records were removed. `no-budget`: the auditor had no budget in force. `cap-closed`: the population's
    cap was closed. `account-disabled`: the auditor's account was disabled. `declaration`: the watch does not fit the
    dataset's declaration any more. `restored`: the ledger was restored, and the watch has no further answers. `state`:
    what the holder keeps of the watch cannot be read."""


class WatchSkipped(AnswerToRequest):
    """What is said of versions that are not answered, before it is entered; it is charged nothing."""

    kind: ClassVar[KindName] = SKIP_KIND

    watch_skip: WatchSkip
    """What it says; the release's `version` is the last of them."""

    @property
    def expected_id(self) -> str:
        """The id of the one statement of its watch about versions up to the last one."""
        skip = self.watch_skip
        return statement_identity(self.kind, skip.watch, auditor=self.auditor, dataset=self.dataset, version=skip.last)

    @property
    def is_change(self) -> bool:
        """False: it says nothing of the verdict."""
        return False

    @property
    def said(self) -> tuple[str, str]:
        """Of which versions it says that they were not answered, and why, in words."""
        skip = self.watch_skip
        versions = f"version {skip.last}" if skip.first == skip.last else f"versions {skip.first} to {skip.last}"
        return versions, f"not answered ({skip.reason})"

    @property
    def fault(self) -> str | None:
        """What in the statement contradicts the rest of it, for people; `None` if nothing does."""
        if not (self.version == self.watch_skip.last and self.watch_skip.first <= self.watch_skip.last):
            return "it skips other versions than it names"
        return None if self.price.is_nothing else "a version that is not answered was charged"


class WatchSkipRelease(WatchSkipped, Signed):
    """A signed statement that versions were not answered. Fields that this version does not know are ignored."""


class WatchReport(ContractModel):
    """A watch with all of its answers, each signed by itself."""

    watch: WatchRelease
    """As it was set."""
    answers: tuple[WatchAnswerRelease, ...]
    """In the order of versions: the last one alone may say that the verdict has changed."""
    skipped: tuple[WatchSkipRelease, ...] = ()
    """Versions that were not answered, and why, in order."""
    pending: int | None
    """The version that is to be answered; null where none is."""
    due: str | None
    """When its answer is there at the earliest, in UTC; null where none is to be."""


def statement_identity(kind: KindName, watch: str, *, auditor: str, dataset: str, version: int) -> str:
    """Return the id of the one statement of a kind that a watch makes about a version of the records.

    Args:
        kind: `ANSWER_KIND` or `SKIP_KIND`.
        watch: The id of the watch.
        auditor: The account that set the watch.
        dataset: The dataset that it is about.
        version: The version of the records; the last one of several.
    """
    document = canonical.canonical_bytes({"watch": watch})
    return identity_of_document(document, auditor=auditor, dataset=dataset, version=version, kind=kind)
