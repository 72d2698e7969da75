"""What the values of one column of a file have in common, and the column that could be declared for them."""

from collections import Counter
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from holder_service.records.csv_records import DATE, with_point
from holder_service.records.formats import RecordFormat
from holder_service.records.person_keys import PersonKeys
from holder_service.records.values import NOT_A_NUMBER, NUMBER, WHOLE_NUMBER, over_marked
from shared.contract.schema import Column
from shared.wire.limits import TEXT_CHARACTERS_MAX
from shared.wire.text import normalise

CODES_MAX: Final = 10
"""A column of no more different whole numbers may be one of codes."""
MISSING_WORDS: Final = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "none", ".", "-", "\\N", "?")
"""What other tools write for a missing value; nobody's value, so a note may name it."""
_WITH_COMMA: Final = r"^-?[0-9]*,[0-9]+$"
_KINDS: Final = ("boolean", "integer", "number", "date", "other numbers")
BOOLEANS: Final = (
    ("yes", "no"), ("y", "n"), ("t", "f"), ("ja", "nee"), ("ja", "nein"), ("j", "n"), ("waar", "onwaar"),
    ("wahr", "falsch"), ("oui", "non"), ("vrai", "faux"),
)  # fmt: skip
"""What other tools write for true and false."""


class DraftedColumn(NamedTuple):
    """A column for a draft, or none; and what somebody has to know about it."""

    column: Column | None
    note: str | None


class Profile:
    """What is known of a column so far, piece by piece.

    Attributes:
        name: The column's.
        extremes: The smallest and the largest of its values, if all are numbers.
    """

    def __init__(self, name: str, written: str, form: RecordFormat, categories_max: int, keys: PersonKeys) -> None:
        self.name = name
        self.extremes: tuple[float, float] | None = None
        self._form = form
        self._in_csv = written == "csv"
        self._kinds = set(_KINDS) if self._in_csv else {"boolean": {"boolean"}, "number": {"integer", "number"}}.get(
            written, set()
        )  # fmt: skip
        self._categories_max = categories_max
        self._nullable = self._not_a_number = False
        self._people_of: Counter[str] | None = Counter()
        self._keys: PersonKeys | None = keys
        self._with_comma = False
        self._missing_words: set[str] = set()

    def add(self, texts: pa.Array, people: pa.Array | None = None) -> None:
        """Take some more values, null for missing, and of how many people each is where that is not one."""
        if self._keys is not None:
            if texts.null_count or pc.count_distinct(texts).as_py() < len(texts):
                self._keys = None
            else:
                self._keys.add(texts.to_pylist())
        self._nullable |= texts.null_count > 0
        words, people_of = _counted(texts, people)
        for kind in tuple(self._kinds):
            if not pc.all(self._of_kind(kind, words), min_count=0).as_py():
                self._kinds.discard(kind)
        if self._kinds & {"integer", "number"}:
            self._take_numbers(words)
        if "other numbers" in self._kinds:
            self._with_comma |= pc.any(pc.match_substring_regex(words, _WITH_COMMA), min_count=0).as_py()
        if self._kinds & {"other numbers", "date"}:
            self._missing_words |= {*pc.filter(words, self._missing(words)).to_pylist()}
        if self._people_of is not None:
            marked = pc.if_else(over_marked(words), "", words)
            for word, count in zip(marked.to_pylist(), people_of.to_pylist(), strict=True):
                self._people_of[word] += count
            if len(self._people_of) > self._categories_max:
                self._people_of = None

    def is_unique(self) -> bool:
        """Whether everybody has another value, and one that can be a key."""
        kept = "number" not in self._kinds or "integer" in self._kinds
        return kept and self._keys is not None and bool(len(self._keys.hashes)) and not self._keys.repeated(1)

    def drafted(self, people_min: int) -> DraftedColumn:
        """The column that could be declared."""
        if self._people_of is not None and not self._people_of:
            return self._left_out("it is empty")
        if self.name in self._form.dates and "date" in self._kinds and not self._missing_words:
            return DraftedColumn(self._column("integer"), None)
        for kind in ("boolean", "integer", "number"):
            if kind in self._kinds:
                return DraftedColumn(self._column(kind), self._note_on_codes() if kind == "integer" else None)
        return self._category(people_min)

    def _of_kind(self, kind: str, words: pa.Array) -> pa.Array:
        match kind:
            case "boolean":
                meant = [word.lower() for word in (*self._form.true, *self._form.false)]
                return pc.is_in(pc.utf8_lower(words), value_set=pa.array(meant))
            case "date":
                return pc.or_(pc.match_substring_regex(words, DATE), self._missing(words))
            case "other numbers":
                with_comma = pc.match_substring_regex(words, _WITH_COMMA)
                return pc.or_(pc.or_(with_comma, self._missing(words)), pc.match_substring_regex(words, NUMBER))
            case _:
                pattern = WHOLE_NUMBER if kind == "integer" else NUMBER
                fit = pc.match_substring_regex(self._numbers(words), pattern)
                return pc.or_(fit, pc.is_in(words, value_set=pa.array(NOT_A_NUMBER)))

    def _missing(self, words: pa.Array) -> pa.Array:
        """Return which words are what other tools write for missing."""
        return pc.is_in(words, value_set=pa.array(MISSING_WORDS))

    def _numbers(self, words: pa.Array) -> pa.Array:
        return with_point(words) if self._in_csv and self._form.decimal == "," else words

    def _take_numbers(self, words: pa.Array) -> None:
        numbers = self._numbers(words)
        proper = pc.match_substring_regex(numbers, NUMBER)
        self._not_a_number |= not pc.all(proper, min_count=0).as_py()  # which is missing too
        found: Any = pc.min_max(pc.filter(numbers, proper).cast(pa.float64())).as_py()
        if found["min"] is not None:
            low, high = self.extremes or (found["min"], found["max"])
            self.extremes = min(low, found["min"]), max(high, found["max"])

    def _column(self, kind: str, **more: Any) -> Column:
        nullable = self._nullable or (kind in ("integer", "number") and self._not_a_number)
        return Column.model_validate({"name": self.name, "type": kind, "nullable": nullable, **more})

    def _note_on_codes(self) -> str | None:
        if self._people_of is None or len(self._people_of) > CODES_MAX or not self._in_csv:
            return None
        if self._people_of.keys() == {"0", "1"}:
            meant = "if they mean false and true, draft and load with --true 1 --false 0"
            return f"Column {self.name!r} has 0 and 1 alone: {meant}."
        meant = "if they are codes, declare a category with the codes as texts"
        return f"Column {self.name!r} has few different whole numbers: {meant}."

    def _category(self, people_min: int) -> DraftedColumn:
        missing = [f"--missing '{word}'" for word in sorted(self._missing_words)]
        if "other numbers" in self._kinds:
            options = " ".join([*(["--decimal ,"] if self._with_comma else []), *missing])
            return self._left_out(f"it would be one of numbers with {options}; draft again with that")
        if "date" in self._kinds:
            options = " ".join([*missing, f"--dates {self.name!r}"])
            return self._left_out(f"it has dates; with {options} they become days since 1970-01-01")
        if self._people_of is None:
            return self._left_out(
                f"it has more than {self._categories_max} different words (--categories-max); a load passes over it "
                "with --only-declared"
            )
        words = sorted(_declarable(word for word, people in self._people_of.items() if people >= people_min))
        if not words:
            return self._left_out(f"no word of it is of {people_min} people or more (--people-min)")
        note = None
        if "" in self._people_of:
            note = (
                f"Column {self.name!r} has empty texts: write missing values as nulls, or records with them are "
                "refused."
            )
        elif len(words) < len(self._people_of):
            note = (
                f"Column {self.name!r} has words of fewer than {people_min} people, which are left out: add what your "
                "code book lists, or records with them are refused."
            )
        elif self._in_csv and (pair := next((one for one in BOOLEANS if {*one} == {*map(str.lower, words)}), None)):
            meant = f"draft and load with --true {pair[0]} --false {pair[1]}"
            note = f"Column {self.name!r} could be a boolean one: {meant}."
        return DraftedColumn(self._column("category", categories=words), note)

    def _left_out(self, why: str) -> DraftedColumn:
        return DraftedColumn(None, f"Column {self.name!r} is left out: {why}.")


def _counted(texts: pa.Array, people: pa.Array | None) -> tuple[pa.Array, pa.Array]:
    """The different values but missing, and of how many people each is."""
    if people is None:
        counted = texts.drop_null().value_counts()
        return counted.field("values"), counted.field("counts")
    table = pa.table({"word": texts, "people": people}).drop_null().group_by("word").aggregate([("people", "sum")])
    return table.column("word").combine_chunks(), table.column("people_sum").combine_chunks()


def _declarable(words: Any) -> set[str]:
    found = set()
    for word in words:
        try:
            normal = normalise(word)
        except ValueError:
            continue
        if 0 < len(normal) <= TEXT_CHARACTERS_MAX:
            found.add(normal)
    return found
