"""A derived column as it is asked for, checked and named. Done apart: what is imported here, a child imports anew."""

import hashlib
from dataclasses import dataclass
from typing import Final

from holder_service.domain.column_definitions import Definition
from holder_service.domain.column_times import ColumnSize, steps_of
from holder_service.records.person_keys import PersonSecret
from shared.contract.schema import Schema
from shared.scores.columns import DerivedColumn, ScoreOrigin, column_id
from shared.wire.canonical import canonical_bytes

_VALUES: Final = b"linked values"


@dataclass(frozen=True, slots=True)
class AskedColumn:
    """A derived column as an auditor asks for it, valid for a dataset as it was declared.

    Attributes:
        id: The name that plans will use.
        schema: The declaration that it was checked against.
        document: What is kept of the request: the SHA-256 of linked values stands in it as the holder's keyed hash.
    """

    id: str
    schema: Schema
    definition: Definition
    document: str
    size: ColumnSize

    @classmethod
    def of(
        cls, asked: DerivedColumn, *, auditor: str, dataset: str, schema: Schema, secret: PersonSecret
    ) -> "AskedColumn":
        """Check a request, and name it; large documents take seconds.

        Raises:
            PlanRefused: It does not fit the declared columns.
        """
        asked.check(schema)
        document = asked.document()
        reads: tuple[str, ...] = (schema.row_column,)
        values, steps, origin = None, 0, "linked"
        if isinstance(asked.origin, ScoreOrigin):
            steps, reads, origin = steps_of(asked.origin.score), asked.reads, "score"
        else:
            document["values"] = keyed_digest(str(asked.values), secret)
            values = document["values"] if document.pop("blinding", None) is None else None
        text = canonical_bytes(document).decode()
        return cls(
            id=column_id(asked, auditor=auditor, dataset=dataset, values=values),
            schema=schema,
            definition=Definition.model_validate({"column": asked.column, "origin": origin, "reads": reads}),
            document=text,
            size=ColumnSize(bytes=len(text.encode()), steps=steps),
        )


def keyed_digest(digest: str, secret: PersonSecret) -> str:
    """A digest of linked values that nobody but the holder can compute: a column's id confirms no guess of them."""
    hashed = hashlib.blake2b(digest.encode(), key=secret.key, digest_size=32, person=_VALUES)
    return f"sha256:{hashed.hexdigest()}"
