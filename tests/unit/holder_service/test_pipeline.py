"""Files are loaded on several cores: what comes of them, and what is said of them, is the same on one."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.loading import MEDIA_TYPES, SCHEMA, make
from holder_service.domain.errors import InvalidRecords
from holder_service.records.csv_records import PIECE_BYTES
from holder_service.records.encoded import load_records
from holder_service.records.person_keys import PersonSecret
from holder_service.records.pipeline import PARTS_AHEAD, cores_for_work, in_order

SECRET = PersonSecret.of(bytes(range(32)))
ROWS = 120_000
CORES = (1, 2, 4)


@pytest.fixture(autouse=True)
def _as_many_cores_as_before() -> Iterator[None]:
    before = pa.cpu_count()
    yield
    pa.set_cpu_count(before)


@pytest.fixture(scope="module")
def registers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("registers")
    for form in MEDIA_TYPES:
        make(folder / form, form, ROWS)
    return folder


def encoded(source: Path, form: str, cores: int, records_max: int = ROWS) -> bytes:
    pa.set_cpu_count(cores)
    destination = source.with_name("encoded")
    load_records(source, MEDIA_TYPES[form], SCHEMA, records_max, destination, secret=SECRET)
    content = destination.read_bytes()
    destination.unlink()
    return content


@pytest.mark.slow
@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_the_encoded_file_is_the_same_whoever_works_on_it(registers: Path, form: str) -> None:
    files = {hashlib.sha256(encoded(registers / form, form, cores)).hexdigest() for cores in CORES}

    assert len(files) == 1


def test_csv_and_parquet_are_encoded_alike(registers: Path) -> None:
    assert encoded(registers / "csv", "csv", 2) == encoded(registers / "parquet", "parquet", 2)


def refusals(source: Path, content: list[bytes], records_max: int = ROWS) -> list[tuple[str, str]]:
    """What is said of a file, by any number of cores."""
    source.write_bytes(b"".join(content))
    said = []
    for cores in CORES:
        with pytest.raises(InvalidRecords) as refused:
            encoded(source, "csv", cores, records_max)
        said.append([(error["field"], error["detail"]) for error in refused.value.fields["errors"]])
    assert said == said[:1] * len(CORES)
    return said[0]


@pytest.mark.slow
def test_faults_of_all_parts_are_named_in_the_order_of_the_file(registers: Path, tmp_path: Path) -> None:
    """A value, an empty line and a line without an end, each in another part; then one that nobody can read beyond."""
    content = (registers / "csv").read_bytes().splitlines(keepends=True)
    line_bytes = sum(map(len, content)) // len(content)
    first, second, third = (part * PIECE_BYTES // line_bytes + 20 for part in range(3))
    header = content[0].replace(b'"', b"").split(b",")
    fields = content[first].split(b",")
    fields[header.index(b"age")] = b"1000"
    content[first] = b",".join(fields)
    content[second] = b"\n"
    content[third] = b"x,y\n"
    expected = [
        (f"line {first + 1}, column 'age'", "expected a whole number from 0 to 110; the column is not nullable."),
        (f"line {second + 1}", "is empty."),
        (f"line {third + 1}", "does not have 13 fields."),
    ]

    assert refusals(tmp_path / "three", content) == expected
    assert refusals(tmp_path / "long", [*content, b"x" * (PIECE_BYTES + 2)]) == [
        *expected, (f"line {len(content) + 1}", f"longer than {PIECE_BYTES} bytes.")
    ]  # fmt: skip
    too_many = refusals(tmp_path / "three", content, records_max=second)
    assert [where for where, _ in too_many] == [*(where for where, _ in expected[:2]), "file"]
    assert len(refusals(tmp_path / "three", [*content[:second], *[b"\n"] * 40, *content[second:]])) == 20


@pytest.mark.parametrize("cores", CORES)
def test_an_error_comes_after_what_was_made_of_the_parts_before_it(cores: int) -> None:
    def parts() -> Iterator[int]:
        yield from (4, 2, 1)
        raise LookupError("no more parts")

    def inverse(part: int) -> float:
        return 4 / (part - 3)

    pa.set_cpu_count(cores)
    made: list[float] = []
    with pytest.raises(LookupError, match="no more"):
        made.extend(in_order(inverse, parts()))
    with pytest.raises(ZeroDivisionError):
        made.extend(in_order(inverse, (4, 2, 3, 1)))

    assert made == [4, -4, -2, 4, -4]


def test_few_parts_are_taken_before_the_first_result_is() -> None:
    """So memory is bounded; once nobody takes results, nothing is worked on, and no thread is left."""
    pa.set_cpu_count(2)
    taken: list[int] = []
    threads = threading.active_count()

    def parts() -> Iterator[int]:
        for part in range(1000):
            taken.append(part)
            yield part

    with closing(in_order(str, parts())) as results:
        assert [next(results) for _ in range(10)] == [str(part) for part in range(10)]
        assert len(taken) <= 10 + PARTS_AHEAD * cores_for_work()

    assert threading.active_count() == threads


def test_hashes_are_those_of_all_homes_so_far() -> None:
    """Keyed BLAKE2b of 128 bits of the key after NFC, whatever way it is computed in."""
    keys = ["", "p1", "x" * 300, "Zoë", "Zoe\u0308"]

    hashed = [hashlib.blake2b(key.encode(), digest_size=16, key=SECRET.key).digest() for key in keys[:4]]

    assert SECRET.digests(keys) == b"".join([*hashed, hashed[3]])
