"""The name of what an auditor asked: the digest of who asked what about which version of the records."""

from typing import Literal

from shared.wire import canonical

RequestKind = Literal["plan", "training", "watch"]
"""The name of what an auditor requests."""
KindName = Literal[RequestKind, "watch_answer", "watch_skip"]
"""The member of a release that says what it answers; the identity has the document under the same name."""


def identity_of_document(document: bytes, *, auditor: str, dataset: str, version: int, kind: KindName) -> str:
    """Return the identity of a canonical document: "sha256:" and 64 hexadecimal digits (2-privacy §3, *Identity*)."""
    names = {"auditor": auditor, "dataset": dataset, "version": version}
    members = {name: canonical.canonical_bytes(value) for name, value in names.items()}
    return canonical.sha256_name(canonical.object_bytes({**members, kind: document}))
