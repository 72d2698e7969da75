"""What is checked of every answer as it came, whatever was asked, before anything in it is used.

The holder is trusted with the records, not with the auditor's figures: a changed count, another plan's
answer, a wrong group order or noise of another size than its epsilon says would give a wrong figure with
a confident interval. Everything that follows from public facts is computed here again and compared.
Whether the counts are true cannot be checked from outside.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from auditor_client.errors import HolderLied
from auditor_client.text import first_fault, readable
from shared.contract.datasets import DatasetDescription
from shared.kinds.quotes import QuoteBase
from shared.kinds.registry import kind_of
from shared.kinds.releases import (
    AnswerToRequest,
    BadSignature,
    Signed,
    SigningKeys,
    verify_signature,
)

ReleaseT = TypeVar("ReleaseT", bound=Signed)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


def require_marked(answer: QuoteBase | AnswerToRequest, dataset: DatasetDescription) -> None:
    """Check that an answer about invented people says so and was not charged, and that no other says so.

    Raises:
        HolderLied: Naming the fault.
    """
    declared, said = dataset.rehearsal, answer.rehearsal
    if declared is None:
        require(said is None, "it is of a rehearsal, but the request was about real people")
        return
    require(said is not None and said.of == declared.of, f"it does not say that it is of a rehearsal of {declared.of}")
    require(answer.charge.is_nothing, "it is of a rehearsal, but it was charged")


def signed(document: Mapping[str, Any], keys: SigningKeys) -> Signed:
    """Check what a release of any kind says about itself: its signature, form, entry, key and identity.

    Raises:
        HolderLied: Naming the fault.
    """
    return signed_as(kind_of(document).release, document, keys)


def signed_as(kind: type[ReleaseT], document: Mapping[str, Any], keys: SigningKeys) -> ReleaseT:
    """Check the same of a release of one kind.

    Raises:
        HolderLied: Naming the fault.
    """
    try:
        verify_signature(document, keys)
        release = kind.model_validate(document, extra="ignore")
    except BadSignature as error:
        raise HolderLied(f"{error} Do not use it, and report it to the holder's administrator.") from error
    except ValidationError as error:
        path, why = map(readable, first_fault(error))
        raise _lie(f"it does not fit the contract at {path}: {why}") from error
    except RecursionError as error:
        raise _lie("it is nested more deeply than the contract allows") from error
    require(
        release.ledger.sequence >= 1 and _DIGEST.fullmatch(release.ledger.hash) is not None,
        "it does not name a ledger entry",
    )
    key = next(key for key in keys.keys if key.id == release.key)
    require(key.valid_to is None or release.created <= key.valid_to, "its key had expired when it was made")
    if release.fault is not None:
        raise _lie(release.fault)
    identified = release.id == release.expected_id
    require(identified, f"its id is not the identity of its auditor, dataset, version and {release.kind}")
    return release


def require(condition: bool, what: str) -> None:
    """Refuse an answer of which something does not hold.

    Raises:
        HolderLied: With what is wrong, a part of a sentence.
    """
    if not condition:
        raise _lie(what)


def _lie(what: str) -> HolderLied:
    return HolderLied(
        f"The holder's answer cannot be trusted: {what}. Do not use it; report it to the holder's administrator."
    )
