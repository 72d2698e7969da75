"""How far a load is: what the work reports, and what others see of it while it goes on, and when it broke off."""

import multiprocessing
import os
import signal
import stat
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

import pytest

from benchmarks.loading import MEDIA_TYPES, SCHEMA, make
from holder_service.domain.errors import InvalidRecords
from holder_service.records.csv_records import PIECE_BYTES
from holder_service.records.encoded import CHUNK_RECORDS_MAX, encode_records
from holder_service.records.formats import Upload
from holder_service.records.progress import PHASES, LoadState, Phase, followed, under_way
from shared.contract.schema import Column, Schema

ROWS: Final = 120_000
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
APART: Final = multiprocessing.get_context("spawn")

Reported = tuple[Phase, int, int]


class Listener:
    """Notes what is reported."""

    def __init__(self) -> None:
        self.notes: list[Reported] = []

    def __call__(self, phase: Phase, done: int = 0, of: int = 0) -> None:
        self.notes.append((phase, done, of))


def reported(source: Path, media_type: str, schema: Schema = SCHEMA) -> Sequence[Reported]:
    listener = Listener()
    encode_records(
        Upload(source, media_type), schema, ROWS, source.with_name("encoded"), hashes=source.with_name("hashes"),
        report=listener,
    )  # fmt: skip
    return listener.notes


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_a_load_reports_what_it_read_of_the_file_and_then_each_further_phase(tmp_path: Path, form: str) -> None:
    source = tmp_path / f"register.{form}"
    make(source, form, ROWS)
    size = source.stat().st_size if form == "csv" else ROWS

    notes = reported(source, MEDIA_TYPES[form])

    assert [phase for phase, _ in groupby(notes, key=lambda one: one[0])] == ["reading", "comparing-keys", "encoding"]
    read = [(done, of) for phase, done, of in notes if phase == "reading"]
    encoded = [(done, of) for phase, done, of in notes if phase == "encoding"]
    chunks = -(-ROWS // CHUNK_RECORDS_MAX)
    assert {of for _, of in read} == {size}
    assert read == sorted(set(read)), "each report is of more than the one before"
    assert read[-1] == (size, size)
    assert read[0][0] < size, "the first piece is reported before the last one is read"
    assert encoded == [(done, chunks) for done in range(1, chunks + 1)]


def test_an_aggregate_table_has_no_keys_to_compare(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("people,sex\n3,a\n4,b\n")
    schema = Schema(people="people", columns=(Column(name="sex", type="category", categories=("a", "b")),))

    notes = reported(tmp_path / "table.csv", "text/csv", schema)

    assert {phase for phase, _, _ in notes} == {"reading", "encoding"}


def test_a_file_that_is_refused_is_reported_as_far_as_it_was_read(tmp_path: Path) -> None:
    make(tmp_path / "register.csv", "csv", ROWS)
    with (tmp_path / "register.csv").open("ab") as file:
        file.write(b"no record\n")
    listener = Listener()

    with pytest.raises(InvalidRecords):
        encode_records(
            Upload(tmp_path / "register.csv", "text/csv"), SCHEMA, ROWS, tmp_path / "encoded", report=listener
        )

    assert {phase for phase, _, _ in listener.notes} == {"reading", "comparing-keys"}, "repeated keys are faults too"
    assert listener.notes[0][1] <= PIECE_BYTES


# What others see


def test_what_is_under_way_is_seen_with_its_phase_and_share_until_it_ends(tmp_path: Path) -> None:
    with followed(tmp_path, dataset="register", actor="ann", began=NOW) as report:
        began = under_way(tmp_path, "register")
        report("reading", done=2_999, of=10_000)
        read = under_way(tmp_path, "register")
        report("comparing-keys")
        compared = under_way(tmp_path, "register")
        other = under_way(tmp_path, "census")

    assert began == (LoadState("register", "ann", NOW.isoformat(), "receiving", None),)
    assert [(one.phase, one.percent) for one in (*read, *compared)] == [("reading", 29), ("comparing-keys", None)]
    assert other == under_way(tmp_path, "register") == ()
    assert not list(tmp_path.iterdir())


def test_several_loads_stand_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    with (
        followed(tmp_path, dataset="register", actor="second", began=NOW + timedelta(seconds=1)),
        followed(tmp_path, dataset="register", actor="first", began=NOW),
        followed(tmp_path, dataset="census", actor="other", began=NOW),
    ):
        assert [one.actor for one in under_way(tmp_path, "register")] == ["first", "second"]


def test_no_size_or_mode_of_a_file_says_how_far_a_load_is(tmp_path: Path) -> None:
    sizes, modes, texts = set(), set(), []
    with followed(tmp_path, dataset="register", actor="ann", began=NOW) as report:
        (path,) = tmp_path.iterdir()
        for phase in PHASES:
            for done in (0, 12_345, 9_999_999):
                report(phase, done, 9_999_999)
                sizes.add(path.stat().st_size)
                modes.add(stat.S_IMODE(path.stat().st_mode))
                texts.append(path.read_text())

    assert (len(sizes), modes) == (1, {0o600})
    assert not any(number in text for text in texts for number in ("12345", "9999999")), "shares alone are kept"


def test_a_share_is_written_once_for_each_whole_per_cent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = os.pwrite

    def noted(file: int, text: bytes, at: int) -> int:
        written.append(text)
        return write(file, text, at)

    monkeypatch.setattr(os, "pwrite", noted)

    with followed(tmp_path, dataset="register", actor="ann", began=NOW) as report:
        for done in range(100_001):
            report("reading", done, 100_000)

    assert len(written) == 1 + 101


def test_a_file_that_is_longer_than_it_said_is_done_and_no_more(tmp_path: Path) -> None:
    with followed(tmp_path, dataset="register", actor="ann", began=NOW) as report:
        report("reading", done=7, of=5)

        assert [one.percent for one in under_way(tmp_path, "register")] == [100]


def _load_for_ever(folder: Path, begun: Event) -> None:
    with followed(folder, dataset="register", actor="ann", began=NOW) as report:
        report("reading", done=1, of=2)
        begun.set()
        signal.pause()


def test_a_load_whose_process_was_killed_is_not_under_way_although_its_file_is_there(tmp_path: Path) -> None:
    begun = APART.Event()
    process = APART.Process(target=_load_for_ever, args=(tmp_path, begun))
    process.start()
    assert begun.wait(60)
    seen = under_way(tmp_path, "register")

    process.kill()
    process.join()

    assert [(one.phase, one.percent) for one in seen] == [("reading", 50)]
    assert len(list(tmp_path.iterdir())) == 1
    assert under_way(tmp_path, "register") == ()
