"""A dataset's declared names as people read them: the one place that turns a technical name into words."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from auditor_client.rule_words import Condition, measured, rule_words, value_words
from shared.contract.metadata import ColumnWords, DatasetMetadata
from shared.contract.rules import Rule
from shared.contract.schema import Group, Schema, Value
from shared.wire.wording import said

_NOTHING = ColumnWords()


@dataclass(frozen=True, slots=True)
class DatasetWords:
    """What a holder wrote of a dataset, and the declared names where it wrote nothing.

    Attributes:
        name: The dataset's.
        schema: Its columns, with the derived ones that a question adds: nobody writes of those.
    """

    name: str
    schema: Schema
    metadata: DatasetMetadata = field(default_factory=DatasetMetadata)

    @property
    def title(self) -> str:
        """The dataset's."""
        return self.metadata.title or self.name

    def column(self, name: str) -> str:
        """A column's title."""
        return self._of(name).title or name

    def measured(self, name: str) -> str:
        """A column's title with its unit: "income (CHF per month)"."""
        return measured(name, self._of(name))

    def columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """Titles of columns."""
        return tuple(map(self.column, names))

    def value(self, column: str, value: Value | None) -> str:
        """A value of a column, or the name of a band of it; one that is missing says so."""
        if value is None:
            return said("missing")
        declared, words = self.schema.by_name.get(column), value_words(value, written=self._of(column))
        bands = () if declared is None else declared.band_words
        return next((band for band in bands if band == words), words)

    def group(self, sensitive: Sequence[str], group: Group) -> tuple[str, ...]:
        """A group's values, one for each sensitive column."""
        return tuple(map(self.value, sensitive, group))

    def rule(self, rule: Rule) -> tuple[Condition, ...]:
        """A rule as conditions, each column once; none for everybody."""
        return rule_words(rule, self.schema.by_name, self.metadata.columns)

    def _of(self, column: str) -> ColumnWords:
        return self.metadata.columns.get(column, _NOTHING)
