"""Every kind of signed release, as one value each."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from shared.kinds.plans import Plan, Quote
from shared.kinds.quotes import QuoteBase
from shared.kinds.releases import Release, Signed
from shared.kinds.trainings import Training, TrainingQuote, TrainingRelease
from shared.kinds.watches import Watch, WatchAnswerRelease, WatchQuote, WatchRelease, WatchSkipRelease
from shared.wire.identities import KindName
from shared.wire.request_model import PinnedModel


@dataclass(frozen=True, slots=True)
class ReleaseKind:
    """What is common knowledge about one kind of release.

    Attributes:
        release: The signed release; its member `name` holds what was asked.
        request: What an auditor sends; `None` for what the holder states by itself.
        quote: The price of a request; `None` where there is no request.
    """

    release: type[Signed]
    request: type[PinnedModel] | None = None
    quote: type[QuoteBase] | None = None

    @property
    def name(self) -> KindName:
        """The member of a release that says what was asked."""
        return self.release.kind


KINDS: Final[Mapping[KindName, ReleaseKind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            ReleaseKind(Release, Plan, Quote),
            ReleaseKind(TrainingRelease, Training, TrainingQuote),
            ReleaseKind(WatchRelease, Watch, WatchQuote),
            ReleaseKind(WatchAnswerRelease),
            ReleaseKind(WatchSkipRelease),
        )
    }
)
"""Every kind by its name."""


def kind_of(release: Mapping[str, Any]) -> ReleaseKind:
    """Return the kind of a parsed release. A document that names no kind is read as the answer to a plan."""
    return next((kind for name, kind in KINDS.items() if name in release), KINDS["plan"])
