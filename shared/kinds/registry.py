"""Every kind of signed release, as one value each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.kinds.plans import Plan, Quote
from shared.kinds.quotes import QuoteBase
from shared.kinds.releases import Release, Signed
from shared.kinds.requests import ReleaseRequest
from shared.kinds.trainings import Training, TrainingQuote, TrainingRelease
from shared.kinds.watches import Watch, WatchAnswerRelease, WatchQuote, WatchRelease, WatchSkipRelease
from shared.wire.identities import KindName


@dataclass(frozen=True, slots=True)
class ReleaseKind:
    """The shared knowledge about one kind of release.

    Attributes:
        release: The signed release; its member `name` holds what was asked.
        title: What people read of it.
        request: What an auditor sends; `None` for what the holder states by itself, which charges nothing.
        quote: The price of a request; `None` where there is no request.
        path: Below a dataset's address, where it is asked and listed.
        quotes_path: Likewise, where it is priced.
        charged_for: What the sentence about its charge says that it was for; nothing of a plan.
    """

    release: type[Signed]
    title: str
    request: type[ReleaseRequest] | None = None
    quote: type[QuoteBase] | None = None
    path: str = ""
    quotes_path: str = ""
    charged_for: str = ""

    @property
    def name(self) -> KindName:
        """The member of a release that says what was asked."""
        return self.release.kind

    def requested(self, document: object) -> ReleaseRequest:
        """The request of this kind in a document, which was checked before.

        Raises:
            ValidationError: It is not one.
            ValueError: Nobody requests this kind.
        """
        if self.request is None:
            raise ValueError(f"A release of kind {self.name!r} answers no request.")
        return self.request.model_validate(document)


PLAN: Final = ReleaseKind(Release, "Plan", Plan, Quote, "releases", "quotes")
"""The kind of releases and ledger entries that name none."""
KINDS: Final[Mapping[KindName, ReleaseKind]] = {
    kind.name: kind
    for kind in (
        PLAN,
        ReleaseKind(
            TrainingRelease,
            "Training",
            Training,
            TrainingQuote,
            "trainings",
            "trainings/quotes",
            "a model learned from it",
        ),
        ReleaseKind(WatchRelease, "Watch", Watch, WatchQuote, "watches", "watches/quotes", "a verdict that is watched"),
        ReleaseKind(WatchAnswerRelease, "Answer of a watch"),
        ReleaseKind(WatchSkipRelease, "Skipped by a watch"),
    )
}
"""Every kind by its name."""


def kind_of(release: Mapping[str, Any]) -> ReleaseKind:
    """Return the kind of a parsed release. A document that names no kind is read as the answer to a plan."""
    return next((kind for name, kind in KINDS.items() if name in release), PLAN)


def kind_of_entry(detail: Mapping[str, Any]) -> ReleaseKind:
    """Return the kind of the release that a ledger entry is about, by its detail: a plan where it names no other."""
    return next((kind for name, kind in KINDS.items() if name == detail.get("asked")), PLAN)
