"""What of a derived column everything but its making needs."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from shared.contract.schema import Column


class Definition(BaseModel):
    """What of a derived column plans need: its document is not read for them.

    Attributes:
        column: As rules see it.
        origin: Where its values come from.
        reads: The declared columns that they follow from; the person key of linked ones.
    """

    model_config = ConfigDict(frozen=True)

    column: Column
    origin: Literal["score", "linked"]
    reads: tuple[str, ...]
