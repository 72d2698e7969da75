"""A load by Spark tells how many parts of the source are done, and then what follows."""

from collections.abc import Sequence
from typing import Final

from checks.spark.compared import SMALL
from checks.spark.sessions import pair
from holder_service.records.formats import RecordsUrl
from holder_service.records.progress import Phase
from holder_service.records.spark import session

PARTS: Final = 12
PEOPLE: Final = 100_000
"""In each part: so many that a part is not done before the next look."""
LOOKED_EVERY_S: Final = 0.05


def main(_: int) -> str:
    """Load a source of some parts, and note what is reported.

    Raises:
        AssertionError: The parts are others, no report was made in the middle, or the order is wrong.
    """
    reports: list[tuple[Phase, int, int]] = []

    def report(phase: Phase, done: int = 0, of: int = 0) -> None:
        reports.append((phase, done, of))

    session.FOLLOWED_EVERY_S = LOOKED_EVERY_S
    with pair() as both:
        (folder := both.folder / "files").mkdir()
        for part in range(PARTS):
            lines = (f"p{part}-{person},{person % 100},F\n" for person in range(PEOPLE))
            (folder / f"{part}.csv").write_text(f"id,age,sex\n{''.join(lines)}")
        source = RecordsUrl(folder.as_uri())
        both.spark.load(source, SMALL, records_max=PARTS * PEOPLE, name="a" * 32, report=report)
    return _judged(reports)


def _judged(reports: Sequence[tuple[Phase, int, int]]) -> str:
    phases = list(dict.fromkeys(phase for phase, _, _ in reports))
    assert phases == ["reading", "comparing-keys"], phases
    assert {of for _, _, of in reports} == {0, PARTS}, reports
    read = [done for phase, done, _ in reports if phase == "reading"]
    assert read == sorted(read), read
    middle = {done for done in read if 0 < done < PARTS}
    assert middle, reports
    return f"{len(middle)} states of {PARTS} parts were seen between none and all"
