"""Scores that a count works out for itself: a learner's own, for one count and no file (7-training §2).

A derived column is made once, apart, and read many times. A learner's scores are counted once and never again, so
each chunk gets them as one more column of codes just before it is counted: nothing is written, so nothing is left after
a crash. Which operations are done follows from the documents and the number of records alone (`records.scoring`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from holder_service.records.column_codes import encoded_values, fitting
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Chunk, Records
from holder_service.records.scoring import Scores
from shared.contract.schema import Column, Schema
from shared.scores.columns import extended
from shared.scores.documents import Document


class ScoredColumn(NamedTuple):
    """A score of whole numbers that a count works out for itself, chunk by chunk, and keeps nowhere.

    Attributes:
        column: An integer column that is never missing, whose range holds every value and fits into 65 536 codes.
        document: What it is worth; it reads declared columns.
    """

    column: Column
    document: Document


@dataclass(frozen=True, slots=True)
class ScoredChunks:
    """Puts scores beside the columns of chunks.

    Attributes:
        schema: The records' columns, and the scores behind them.
        scores: Of each score its column, and its tables.
    """

    schema: Schema
    scores: tuple[tuple[Column, Scores], ...]

    @classmethod
    def compiled(cls, records: Records, scored: Sequence[ScoredColumn]) -> "ScoredChunks":
        """Those of some records.

        Raises:
            ValueError: The records have a column of that name.
        """
        if not scored:
            return cls(records.schema, ())
        schema = extended(records.schema, {one.column.name: one.column for one in scored}, reads={})
        return cls(schema, tuple((one.column, Scores.compiled(one.document, records)) for one in scored))

    def of(self, chunk: Chunk) -> Chunk:
        """The same chunk with its scores as codes.

        Raises:
            ValueError: A score is none of its column's values. No value is in the text.
        """
        if not self.scores:
            return chunk
        codes = dict(chunk.codes)
        for column, scores in self.scores:
            found = scores.of(chunk)
            values = fitting(column, np.where(found.missing, np.inf, found.values), CHUNK_RECORDS_MAX)
            (codes[column.name],) = encoded_values(column, values)
        return replace(chunk, codes=codes)
