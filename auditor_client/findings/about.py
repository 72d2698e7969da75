"""The auditor's texts about an audit, for readers of its report; nothing is asked or computed by it."""

from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.wire.text import Words


def _unset(words: str | None) -> bool:
    """Whether nothing was written; it is then left out of notes."""
    return words is None


class About(BaseModel):
    """The model, its owner and purpose, and the auditor; kept in the note, and part of no identity.

    The descriptions of the fields are the help of the flags that `auditor_client.cli` makes of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_name: Words | None = Field(default=None, exclude_if=_unset, description="The model's name [its file's name].")
    model_owner: Words | None = Field(default=None, exclude_if=_unset, description="The owner of the model.")
    purpose: Words | None = Field(
        default=None, exclude_if=_unset, description="What the model decides, and for what purpose."
    )
    favourable_word: Words | None = Field(
        default=None, exclude_if=_unset, description="The word for a favourable decision, such as granted."
    )
    organisation: Words | None = Field(
        default=None, exclude_if=_unset, description="The organisation that audits [AUDITOR_ORGANISATION]."
    )
    author: Words | None = Field(
        default=None, exclude_if=_unset, description="The author of the report [AUDITOR_AUTHOR]."
    )

    def over(self, others: "About") -> Self:
        """The same, with what others say where this says nothing."""
        return self.model_copy(update={name: words for name, words in others if getattr(self, name) is None})

    @classmethod
    def of_file(cls, model: Any) -> "About":
        """Return what a model's file says of it by default: the name of the file, where it is words; else nothing."""
        if not isinstance(model, str | Path):
            return NOTHING
        try:
            return cls(model_name=Path(model).name)
        except ValidationError:  # a file may have a name that no page should show
            return NOTHING

    @property
    def written(self) -> dict[str, str]:
        """The written texts, by their members."""
        return {name: words for name, words in self if words is not None}


NOTHING = About()
