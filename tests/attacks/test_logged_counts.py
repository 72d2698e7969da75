"""What the holder's own code gives to a logger holds no true count, whatever the log is configured to show of it.

`holder serve` shows admitted fields alone, so a count in a message would not reach its log. Whoever runs the
application under a logging configuration of their own has no such filter.
"""

import csv
import logging
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from testing.holders import running_holder
from testing.registers import plan, register_csv

PEOPLE = 7_919


class Kept(logging.Handler):
    """Keeps all that a record carries: text, arguments and extra fields."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        # Process, thread and line numbers, times and drawn names may have a count's digits.
        fields = {
            name: value for name, value in vars(record).items() if name in ("msg", "args") or name not in _VARYING
        }
        self.records.append(f"{record.getMessage()} {fields}")


_VARYING = frozenset(vars(logging.makeLogRecord({}))) | {"request_id"}


@pytest.fixture
def kept() -> Iterator[Kept]:
    """Everything that loggers of the holder's own packages get, at DEBUG."""
    handler = Kept()
    loggers = [logging.getLogger(name) for name in ("holder_service", "shared")]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


def true_counts() -> set[int]:
    """How many people there are in all, and of each sex."""
    people = csv.DictReader(StringIO(register_csv(people=PEOPLE).decode()))
    return {PEOPLE, *Counter(person["sex"] for person in people).values()}


def counts_in(records: list[str]) -> set[int]:
    """The true counts that stand in some texts, as whole words."""
    return {count for count in true_counts() for text in records if re.search(rf"(?<![0-9.]){count}(?![0-9])", text)}


def test_no_logger_of_ours_is_given_a_true_count(tmp_path: Path, kept: Kept) -> None:
    with running_holder(tmp_path, people=PEOPLE) as holder:
        statuses = [holder.release(plan(age=120, draw=draw)).status_code for draw in (1, 2, 2)]
        refused = holder.release(plan(epsilon="10", draw=3)).status_code

    assert (statuses, refused) == ([201, 201, 200], 403)
    assert kept.records, "requests are logged, so there is something to look through"
    assert counts_in(kept.records) == set()


def test_a_count_would_be_seen(kept: Kept) -> None:
    logger = logging.getLogger("holder_service.services.releases.releases")
    in_text, in_arguments, in_a_field = sorted(true_counts())

    logger.debug(f"counted {in_text}")
    logger.debug("counted %s", [in_arguments])
    logger.debug("counted", extra={"counts": in_a_field})

    assert counts_in(kept.records) == true_counts()
