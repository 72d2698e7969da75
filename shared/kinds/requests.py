"""The base of whatever an auditor asks of one version of the records: a plan, a training or a watch."""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from shared.kinds.summaries import RequestSummary
from shared.wire.canonical import canonical_bytes
from shared.wire.identities import RequestKind, identity_of_document
from shared.wire.request_model import RequestModel
from shared.wire.text import ColumnId, Name

_NONE: Final[Mapping[Name, ColumnId]] = MappingProxyType({})


class ReleaseRequest(RequestModel):
    """The base of every request that is priced, charged once and answered by a release.

    Its identity is that of its canonical document, once it is pinned to a version.
    """

    if TYPE_CHECKING:
        kind: ClassVar[RequestKind]
        version: int | None
        draw: int

    def pinned(self, version: int) -> Self:
        """The same for one version of the records."""
        return self.model_copy(update={"version": version})

    @property
    def pinned_version(self) -> int:
        """The version of the records that it is pinned to.

        Raises:
            ValueError: It is not pinned.
        """
        if self.version is None:
            raise ValueError(f"Pin the {self.kind} to a version before its identity is taken.")
        return self.version

    def document(self) -> dict[str, Any]:
        """The canonical document: defaults filled in, absent values left out."""
        return self.model_dump(mode="json", exclude_none=True)

    def identity(self, *, auditor: str, dataset: str) -> str:
        """Return the id of the one release that answers this request: "sha256:" and 64 hexadecimal digits.

        Args:
            auditor: The account that asks.
            dataset: The dataset that the request is about.

        Raises:
            ValueError: The request is not pinned to a version.
        """
        return identity_of_document(
            canonical_bytes(self.document()),
            auditor=auditor, dataset=dataset, version=self.pinned_version, kind=self.kind,
        )  # fmt: skip

    @property
    def derived_columns(self) -> Mapping[Name, ColumnId]:
        """The derived columns that its rules name: the id of each by its name."""
        return _NONE

    @abstractmethod
    def require_small(self) -> None:
        """Refuse what is too large to look at.

        Raises:
            TooLarge: Naming the limit.
        """

    @abstractmethod
    def summary(self) -> RequestSummary:
        """Return what it asks, in words."""
