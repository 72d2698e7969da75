"""The declared columns of a dataset: the domain of each, and the groups they make (2-privacy §8).

A column's domain is public and fixed when the dataset is declared. The disjointness proof, the
reference evaluator and the count all read it, so a comparison means one thing.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictFloat, StrictInt, ValidationInfo, model_validator

from shared.contract.bands import band_of, band_words, check_bands, plain_starts
from shared.contract.blocks import BlockDomain, Blocks
from shared.contract.shares import COLUMN, GROUPS_MAX, ShareParty
from shared.privacy.amounts import EPSILON_NANO_MAX, NANO_PER_UNIT, Probability, format_nano
from shared.wire import limits
from shared.wire.request_model import RequestModel
from shared.wire.text import Text

ColumnType = Literal["boolean", "category", "integer", "number"]
Value = bool | int | float | str
"""One admitted value of a column. Missing is `None`."""
Group = tuple[str | bool | None, ...]
"""One value for each sensitive column of a plan; `None` is the group of people whose value is missing."""


class Perturbation(RequestModel):
    """The perturbation of a sensitive column at its source, before the holder got it.

    Each person's value was kept with this probability, and otherwise replaced by one of the column's other values,
    each as likely. Source: Warner (1965); Kairouz, Bonawitz, Ramage (2016).
    """

    kept: Probability
    """The probability that a person's value was kept, as a decimal string."""

    def epsilon(self, values: int) -> float:
        """ε of one person's report of a column of K values: ln(p·(K − 1)/(1 − p)).

        A report is at most that many times likelier, as a logarithm, from one true value than from another.
        """
        return math.log(self.kept * (values - 1) / (NANO_PER_UNIT - self.kept))


class Column(RequestModel):
    """One declared column: its type, its domain, whether values may be missing, and its role."""

    name: Text
    """As rules use it."""
    type: ColumnType
    """Boolean; one of some categories; whole numbers; or any numbers."""
    minimum: StrictInt | StrictFloat | None = None
    """The smallest admitted value of an integer or number."""
    maximum: StrictInt | StrictFloat | None = None
    """The largest admitted value of an integer or number."""
    categories: tuple[Text, ...] | None = Field(
        default=None, max_length=limits.CATEGORIES_PER_COLUMN_MAX, fail_fast=True
    )
    """All admitted values of a category, in the order that groups have."""
    nullable: StrictBool = False
    """Whether a value may be missing."""
    sensitive: StrictBool = False
    """Whether people are counted by it."""
    label: StrictBool = False
    """Whether it says what people turned out to be, for equal opportunity and the like: one column at most."""
    randomised_response: Perturbation | None = None
    """How reports were perturbed at their source, where they were."""
    bands_from: tuple[StrictInt | StrictFloat, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=limits.BANDS_PER_COLUMN_MAX - 1,
        fail_fast=True,
        exclude_if=lambda bands: bands is None,  # a column without bands is written as before there were any
    )
    """Where bands begin that people are counted by, ascending: of a sensitive number. Below the first is a band too."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.type == "category":
            if not self.categories:
                raise ValueError(f"Column {self.name!r} is a category: list its categories.")
            if len(set(self.categories)) != len(self.categories):
                raise ValueError(f"Column {self.name!r} lists a category twice (categories are compared after NFC).")
        elif self.categories is not None:
            raise ValueError(f"Column {self.name!r} is not a category. Leave out its categories.")
        if self.type in ("integer", "number"):
            self._check_range()
        elif self.minimum is not None or self.maximum is not None:
            raise ValueError(f"Column {self.name!r} is not ordered: leave out minimum and maximum.")
        if self.label and (self.type != "boolean" or self.sensitive):
            raise ValueError(f"Column {self.name!r} is the label: it must be boolean and not sensitive.")
        if self.randomised_response is not None:
            self._check_response(self.randomised_response)
        if self.bands_from is not None:
            self._check_bands(self.bands_from)
        return self

    def _check_bands(self, starts: tuple[float, ...]) -> None:
        if not (self.ordered and self.sensitive):
            raise ValueError(
                f"Column {self.name!r}: bands are groups of a sensitive column of numbers; leave them out."
            )
        try:
            check_bands(starts, integers=self.type == "integer", low=self.low, high=self.high)
        except ValueError as error:
            raise ValueError(f"Column {self.name!r}: {error}") from None
        object.__setattr__(self, "bands_from", plain_starts(starts))

    def _check_response(self, response: Perturbation) -> None:
        if not (self.sensitive and len(self.values) >= 2 and not self.nullable):
            raise ValueError(
                f"Column {self.name!r}: randomised response is for sensitive columns with at least two values, none "
                "missing."
            )
        # At 1/K a report says nothing of the value, and below it the inverse would turn the groups round.
        if not response.kept * len(self.values) > NANO_PER_UNIT:
            raise ValueError(f"Column {self.name!r}: a value must be kept with more than 1/{len(self.values)}.")
        if not (epsilon := response.epsilon(len(self.values))) * NANO_PER_UNIT <= EPSILON_NANO_MAX:
            raise ValueError(
                f"Column {self.name!r}: a report whose value is kept so often has an epsilon of {epsilon:.1f}, and "
                f"{format_nano(EPSILON_NANO_MAX)} is the largest that is public; it hides nothing."
            )

    def _check_range(self) -> None:
        for bound in (self.minimum, self.maximum):
            if bound is None:
                continue
            if isinstance(bound, int):
                if abs(bound) > limits.INTEGER_MAX:
                    raise ValueError(f"Column {self.name!r}: a range's whole numbers lie within ±2^53.")
            elif not math.isfinite(bound):
                raise ValueError(f"Column {self.name!r}: minimum and maximum must be finite.")
            elif self.type == "integer" and not (bound == int(bound) and abs(bound) <= limits.INTEGER_MAX):
                raise ValueError(f"Column {self.name!r}: an integer's range is of whole numbers within ±2^53.")
        if not self.low <= self.high:
            raise ValueError(f"Column {self.name!r}: minimum is above maximum.")

    @property
    def ordered(self) -> bool:
        """Whether values of the column have an order that rules may use."""
        return self.type in ("integer", "number")

    @property
    def low(self) -> float:
        """The smallest admitted value of an ordered column."""
        if self.minimum is not None:
            return self.minimum
        return -limits.INTEGER_MAX if self.type == "integer" else -math.inf

    @property
    def high(self) -> float:
        """The largest admitted value of an ordered column."""
        if self.maximum is not None:
            return self.maximum
        return limits.INTEGER_MAX if self.type == "integer" else math.inf

    @property
    def values(self) -> tuple[str | bool, ...]:
        """The values of a boolean (false, true) or category column in declared order; empty for an ordered one."""
        return (False, True) if self.type == "boolean" else (self.categories or ())

    @cached_property
    def group_values(self) -> tuple[str | bool, ...]:
        """The values that people are grouped by, in order: values, or names of bands; empty where there are neither."""
        return self.values if self.bands_from is None else tuple(map(str, self.band_words))

    @cached_property
    def band_words(self) -> tuple[str, ...]:
        """The names of bands as texts that can be translated; empty without any."""
        if self.bands_from is None:
            return ()
        return band_words(self.bands_from, integers=self.type == "integer")

    def group_value(self, value: Value | None) -> str | bool | None:
        """What one person's value groups them by: the value, or the name of its band; `None` if it is missing."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if self.bands_from is not None and isinstance(value, int | float):
            return self.group_values[band_of(value, self.bands_from)]
        if isinstance(value, str | bool):
            return value
        raise ValueError(f"Column {self.name!r} does not have bands, so people are not grouped by its numbers.")

    @cached_property
    def category_indices(self) -> Mapping[str, int]:
        """The index of each category in declared order, from 0."""
        return {category: index for index, category in enumerate(self.categories or ())}


def _instead_of_key(people: str | None, info: ValidationInfo) -> str | None:
    if "person_key" in info.data and (info.data["person_key"] is None) == (people is None):
        raise ValueError(
            "Name either the column that identifies a person (person_key) or, of an aggregate table, the one that "
            "says how many people each of its rows stands for (people). Such a row does not have a person's key."
        )
    return people


PeopleColumn = Annotated[Text | None, AfterValidator(_instead_of_key), Field(validate_default=True)]
"""The name of the column that says how many people a row stands for; either it or `person_key`, before it, is given."""


class Schema(RequestModel):
    """The columns of a dataset, in declared order, and the name of the one that says who a row of its files is."""

    person_key: Text | None = Field(default=None, exclude_if=lambda name: name is None)
    """The name of the column that identifies a person; none in an aggregate table."""
    people: PeopleColumn = Field(default=None, exclude_if=lambda name: name is None)
    """In an aggregate table, the name of the column that says how many people a row stands for."""
    columns: tuple[Column, ...] = Field(min_length=1, max_length=limits.COLUMNS_PER_SCHEMA_MAX, fail_fast=True)
    """The other columns: declared ones, and behind them the derived ones of a plan."""
    sensitive_in_rules: StrictBool = Field(default=False, exclude_if=lambda allowed: not allowed)
    """Whether rules may compare sensitive columns."""
    purpose_required: StrictBool = Field(default=False, exclude_if=lambda required: not required)
    """Whether whoever asks about the people has to say what for."""
    shares: ShareParty | None = Field(default=None, exclude_if=lambda shares: shares is None)
    """Which half of the sensitive values the records have, where another holder has the other half."""
    blocks: Blocks | None = Field(default=None, exclude_if=lambda blocks: blocks is None)
    """The blocks of people by which losses are added up; left out where they are added up about everybody."""
    following: tuple[Text, ...] = Field(default=(), exclude_if=lambda names: not names)
    """The derived columns whose values follow from sensitive ones."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [self.row_column, *(column.name for column in self.columns)]
        if len(set(names)) != len(names):
            raise ValueError(
                f"Two columns share a name (the {self.row_words} counts, and names are compared after NFC)."
            )
        if sum(column.label for column in self.columns) > 1:
            raise ValueError("At most one column can be the label.")
        if self.shares is not None:
            self._check_shares(names)
        if self.blocks is not None:
            if self.is_aggregate and self.blocks.per_person_max > 1:
                raise ValueError(
                    "blocks: an aggregate table does not have person keys to count a person's blocks by. Set "
                    "per_person_max to 1, if each person is in one block for ever."
                )
            if self.shares is not None:
                raise ValueError("blocks: a dataset with shares cannot have blocks; leave out `blocks` or `shares`.")
            self._check_blocks(self.blocks)
        return self

    def _check_shares(self, names: Sequence[str]) -> None:
        """Refuse what no half can say: only sums over people of whole combinations of values are linear."""
        if self.is_aggregate:
            raise ValueError("Shares are of one person a row: name person_key, and leave people out.")
        if COLUMN in names:
            raise ValueError(f"No column of a dataset with shares is called {COLUMN!r}: rename it.")
        if self.sensitive_in_rules:
            raise ValueError("No holder of shares has anybody's sensitive values: leave out sensitive_in_rules.")
        for name in self.sensitive:
            column = self.by_name[name]
            if column.randomised_response is not None:
                raise ValueError(f"Column {name!r}: its reports would be shared without noise. Leave out shares.")
            if not column.group_values:
                raise ValueError(f"Column {name!r} does not have a finite list of values to share. Declare bands_from.")
        if (groups := self.group_count(self.sensitive)) > GROUPS_MAX:
            raise ValueError(
                f"The sensitive columns make {groups} groups, missing values included, and at most {GROUPS_MAX} are "
                "shared: declare fewer columns, categories or bands."
            )

    @property
    def public_columns(self) -> tuple[Column, ...]:
        """The columns whose values are in the records: all, or those that are not sensitive where these are shared."""
        return tuple(column for column in self.columns if self.shares is None or not column.sensitive)

    def _check_blocks(self, blocks: Blocks) -> None:
        column = self.by_name.get(blocks.column)
        if column is None:
            raise ValueError(f"blocks: column {blocks.column!r} is not declared. Name a declared column.")
        bounded = column.type == "category" or (
            column.type == "integer" and None not in (column.minimum, column.maximum)
        )
        if not bounded or column.nullable or column.sensitive or column.label:
            raise ValueError(
                f"blocks: column {blocks.column!r} cannot be the column of blocks. It must be a category, or an "
                "integer with minimum and maximum, without missing values, and neither sensitive nor the label."
            )
        count = len(column.values) if column.type == "category" else int(column.high) - int(column.low) + 1
        if count > limits.BLOCKS_MAX:
            raise ValueError(
                f"blocks: column {blocks.column!r} declares {count} blocks; the maximum is {limits.BLOCKS_MAX}. Narrow "
                "its range."
            )

    @cached_property
    def block_domain(self) -> BlockDomain | None:
        """The declared blocks of people; `None` where losses are added up about everybody together."""
        if self.blocks is None:
            return None
        column = self.by_name[self.blocks.column]
        first, last = (int(column.low), int(column.high)) if column.ordered else (0, len(column.values) - 1)
        return BlockDomain(column.name, column.categories or (), first, last, self.blocks.per_person_max)

    @property
    def is_aggregate(self) -> bool:
        """Whether a row stands for several people, of whom nobody has a key."""
        return self.people is not None

    @property
    def row_column(self) -> str:
        """The column of a file that is none of `columns`: it says whose a row is, or of how many people."""
        return str(self.person_key if self.people is None else self.people)

    @property
    def row_words(self) -> str:
        """Return the name of that column for people."""
        return "person key" if self.people is None else "column of people"

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """Each column under its name."""
        return {column.name: column for column in self.columns}

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the sensitive columns, in declared order."""
        return tuple(column.name for column in self.columns if column.sensitive)

    def follows_sensitive(self, name: str) -> bool:
        """Whether a change of a person's sensitive values may change their value in a column that rules may name."""
        column = self.by_name.get(name)
        return name in self.following or (column is not None and column.sensitive)

    def may_be_named(self, name: str) -> bool:
        """Whether rules may compare a column, as far as it is sensitive, follows from that, or was perturbed."""
        return name in self._nameable

    @cached_property
    def _nameable(self) -> frozenset[str]:
        return frozenset(
            name
            for name, column in self.by_name.items()
            if column.randomised_response is None and (self.sensitive_in_rules or not self.follows_sensitive(name))
        )

    def groups(self, sensitive: Sequence[str]) -> tuple[Group, ...]:
        """The K groups of some sensitive columns.

        Args:
            sensitive: Names of columns that are declared sensitive: boolean, category, or with bands.

        Returns:
            Every combination of their values or bands, in the order of `sensitive`, each column in declared
            order, the last fastest; a nullable column has the further value `None`, last.
            Groups follow from the declaration alone: an empty group stands in it like any other.
        """
        return tuple(itertools.product(*(self._group_values(name) for name in sensitive)))

    def group_count(self, sensitive: Sequence[str]) -> int:
        """K, without making the groups: their number grows with the product of the columns' values."""
        return math.prod(len(self._group_values(name)) for name in sensitive)

    def group_of(self, record: Mapping[str, Value | None], sensitive: Sequence[str]) -> Group:
        """The group that one person belongs to: the reference evaluator, slow and obvious."""
        return tuple(self.by_name[name].group_value(record.get(name)) for name in sensitive)

    def _group_values(self, name: str) -> Group:
        column = self.by_name[name]
        return (*column.group_values, None) if column.nullable else column.group_values
