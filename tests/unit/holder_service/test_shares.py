"""Halves of a register: they add up to its counts, one alone is uniform, and files that are no halves are refused.

Each chi-squared test has a false alarm once in a million runs or less, and fails on the planted bias beside it.
"""

import json
import stat
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from pydantic import ValidationError
from scipy.stats import chisquare

from holder_service.domain.errors import InvalidRecords
from holder_service.mechanisms.base import noisy_words
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.records.counting import count_cells
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Records, encode_records
from holder_service.records.formats import Upload
from holder_service.records.shares import HEADER, PARQUET, SeededWords, ShareFile, ShareHeader, complement
from shared.contract.datasets import DatasetDeclaration
from shared.contract.rules import Cell
from shared.contract.schema import Schema
from shared.contract.shares import COLUMN, MODULUS, Shares, joined_count, noisy_word
from testing.registers import DECLARATION, register_csv
from testing.two_holders import RELATION, halves_of, shared_declaration

FALSE_ALARM = 1e-6
SENSITIVE = ("sex", "origin")
EVERY_CHOICE = [*chain.from_iterable(combinations(order, n) for order in (SENSITIVE, SENSITIVE[::-1]) for n in (1, 2))]


def cells() -> list[Cell]:
    """Cells by age, by a number that may be missing, and one of two rules; they are in three classes."""
    rules: list[tuple[str, list[list[dict[str, Any]]]]] = [
        ("young", [[{"column": "age", "op": "le", "value": 40}]]),
        ("old", [[{"column": "age", "op": "gt", "value": 40}]]),
        ("idle", [[{"column": "hours", "op": "is_missing"}], [{"column": "hours", "op": "lt", "value": 5.5}]]),
        ("nobody", [[{"column": "age", "op": "gt", "value": 60}, {"column": "age", "op": "lt", "value": 50}]]),
        ("everybody", [[]]),
    ]
    return [
        Cell.model_validate({"id": name, "any_of": [{"all_of": rule} for rule in any_of]}) for name, any_of in rules
    ]


CLASSES = [[0, 1], [2], [3, 4]]


def encoded(path: Path, media_type: str, schema: Schema) -> Records:
    destination = path.with_suffix(".encoded")
    encode_records(Upload(path, media_type), schema, 10**6, destination)
    return Records.open(destination, schema)


def loaded(folder: Path, content: bytes, **changes: Any) -> tuple[Records, Records, Records]:
    """The register as it is, and its halves."""
    half_of = dict(enumerate(halves_of(content, folder, **changes), start=1))
    plain = DatasetDeclaration.model_validate({**DECLARATION, **changes, "relation": RELATION}).table
    first, second = (
        encoded(half, PARQUET, shared_declaration(party, **changes).table) for party, half in half_of.items()
    )
    return encoded(folder / "register.csv", "text/csv", plain), first, second


def words(records: Records, sensitive: tuple[str, ...]) -> npt.NDArray[np.uint64]:
    return count_cells(records, cells(), CLASSES, sensitive).reveal_to_mechanism().view(np.uint64)


@pytest.mark.parametrize("people", [0, 1, 300, 2 * CHUNK_RECORDS_MAX + 5])
def test_halves_add_up_to_the_counts(people: int, tmp_path: Path) -> None:
    whole, first, second = loaded(tmp_path, register_csv(people=people), records_max=10**6)

    for sensitive in EVERY_CHOICE:
        assert (words(first, sensitive) + words(second, sensitive) == words(whole, sensitive)).all()
    if people > 1:
        assert words(whole, SENSITIVE).max() < words(first, SENSITIVE)[[0, 1, 4]].min(), "a half is no count"


def test_bands_and_missing_numbers_are_groups_of_halves(tmp_path: Path) -> None:
    age = {"name": "age", "type": "integer", "minimum": 0, "maximum": 120}
    hours = {"name": "hours", "type": "number", "nullable": True, "sensitive": True, "bands_from": [10, 30.5]}
    others = [column for column in DECLARATION["columns"] if column["name"] not in ("age", "hours")]
    whole, first, second = loaded(tmp_path, register_csv(), columns=[age, *others, hours])
    young = [cell for cell in cells() if cell.id in ("young", "old")]

    for sensitive in (("hours",), ("hours", "sex")):
        counts = [
            count_cells(one, young, [[0, 1]], sensitive).reveal_to_mechanism().view(np.uint64)
            for one in (whole, first, second)
        ]
        assert (counts[1] + counts[2] == counts[0]).all()
        assert counts[0].sum() == 300


def test_words_are_the_key_stream_wherever_one_begins() -> None:
    seeded = SeededWords(bytes(range(32)), 6)
    stream = Cipher(algorithms.AES(bytes(range(32))), modes.CTR(bytes(16))).encryptor().update(bytes(1000 * 48))

    assert (seeded.of(0, 1000) == np.frombuffer(stream, "<u8").reshape(1000, 6)).all()
    assert (seeded.of(333, 7) == seeded.of(0, 1000)[333:340]).all()


def bytes_are_uniform(halves: npt.NDArray[np.uint64]) -> bool:
    counts = np.bincount(np.frombuffer(halves.astype("<u8").tobytes(), np.uint8), minlength=256)
    return bool(chisquare(counts).pvalue >= FALSE_ALARM)


def biased(halves: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The same with one bit in a hundred words that is always zero."""
    changed = halves.copy()
    changed[::100] &= np.uint64(MODULUS - 1 - 1)
    changed[1::100] &= np.uint64(0xFF00_FFFF_FFFF_FFFF)
    return changed


def test_each_half_alone_is_uniform_and_the_test_finds_a_bias() -> None:
    first = SeededWords(bytes(range(32)), 8).of(0, 50_000)
    second = complement(first, np.zeros(50_000, dtype=np.intp))  # everybody in one group

    for half in (first, second):
        assert bytes_are_uniform(half)
        assert not bytes_are_uniform(biased(half))


def test_two_splits_have_nothing_in_common(tmp_path: Path) -> None:
    one, other = (halves_of(register_csv(), tmp_path / name) for name in ("one", "other"))

    headers = [ShareFile.open(Upload(half[0], PARQUET), shared_declaration(1).table).header for half in (one, other)]
    assert headers[0].split_id != headers[1].split_id
    assert headers[0].seed != headers[1].seed
    difference = [pa.parquet.read_table(half[1]).column(COLUMN).to_pylist() for half in (one, other)]
    assert all(first != second for first, second in zip(*difference, strict=True))


def test_order_and_sizes_follow_from_no_sensitive_value(tmp_path: Path) -> None:
    """A register may be sorted by sex, and the length of its texts decides where 4 MiB of it end."""
    header, *lines = register_csv(people=120_000).decode().splitlines()
    women = [line.replace(",Male,", ",Female,").replace("e,here", "e,").replace("e,there", "e,") for line in lines]
    by_sex = sorted(lines, key=lambda line: line.split(",")[5])
    known = []
    for name, content in {"as it is": lines, "women": women, "sorted": by_sex}.items():
        halves = halves_of("\n".join([header, *content]).encode(), tmp_path / name, records_max=10**6)
        layout = []
        for half in halves:
            metadata, table = pa.parquet.read_metadata(half), pa.parquet.read_table(half)
            groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
            sizes = [
                (one.num_rows, *(one.column(at).total_compressed_size for at in range(one.num_columns)))
                for one in groups
            ]
            public = table.select([column for column in table.column_names if column != COLUMN])
            layout.append((half.stat().st_size, sizes, public.replace_schema_metadata()))
        known.append(layout)

    assert known[0] == known[1] == known[2]


def test_a_key_that_is_there_twice_is_not_split(tmp_path: Path) -> None:
    header, *lines = register_csv(people=3).decode().splitlines()

    with pytest.raises(InvalidRecords, match="more than once") as refusal:
        halves_of("\n".join([header, *lines, lines[1]]).encode(), tmp_path)

    assert "p1" not in str(refusal.value)
    assert [path.name for path in tmp_path.iterdir()] == ["register.csv"]


def test_a_seed_is_in_no_text() -> None:
    seed = "ab" * 32
    header = ShareHeader(format="pafer-shares/1", split_id="0" * 32, party=1, groups="sha256:0", seed=seed)

    assert seed not in f"{header!r} {header}"
    assert "abababab" not in repr(SeededWords(bytes.fromhex(seed), 2))


def test_files_are_private_and_a_file_that_is_there_stays(tmp_path: Path) -> None:
    halves = halves_of(register_csv(), tmp_path)
    assert [stat.S_IMODE(half.stat().st_mode) for half in halves] == [0o600, 0o600]
    before = halves[1].read_bytes()
    halves[0].unlink()

    with pytest.raises(FileExistsError):
        halves_of(register_csv(), tmp_path)

    assert halves[1].read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.parquet", "register.csv"]


def test_a_register_with_a_fault_leaves_no_file(tmp_path: Path) -> None:
    content = register_csv().replace(b",Female,", b",Robot,", 1)

    with pytest.raises(InvalidRecords) as refusal:
        halves_of(content, tmp_path)

    assert "column 'sex'" in str(refusal.value)
    assert "Robot" not in str(refusal.value)
    assert [path.name for path in tmp_path.iterdir()] == ["register.csv"]


def rewritten(half: Path, **changes: Any) -> Path:
    """A half whose header says something else."""
    table = pa.parquet.read_table(half)
    header = {**json.loads(table.schema.metadata[HEADER]), **changes}
    path = half.with_name("rewritten.parquet")
    pa.parquet.write_table(table.replace_schema_metadata({HEADER: json.dumps(header)}), path)
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "pafer-shares/2"}, {"split_id": "x"}, {"party": 2}, {"party": 3}, {"seed": None}, {"seed": "ab"},
        {"seed": "AB" * 32}, {"groups": "sha256:0"}, {"more": 1},
    ],
)  # fmt: skip
def test_a_header_that_says_something_else_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    half, _ = halves_of(register_csv(), tmp_path)

    with pytest.raises(InvalidRecords):
        ShareFile.open(Upload(rewritten(half, **changes), PARQUET), shared_declaration(1).table)


def test_a_half_of_the_other_party_or_no_half_is_refused(tmp_path: Path) -> None:
    first, second = halves_of(register_csv(), tmp_path)
    schemas = [shared_declaration(party).table for party in (1, 2)]

    for half, schema in ((second, schemas[0]), (first, schemas[1])):
        with pytest.raises(InvalidRecords, match="No holder may have both halves"):
            encoded(half, PARQUET, schema)
    for path, kind in ((tmp_path / "register.csv", "text/csv"), (tmp_path / "register.csv", PARQUET)):
        with pytest.raises(InvalidRecords, match="holder split"):
            encoded(path, kind, schemas[0])


def test_columns_that_no_half_has_are_refused(tmp_path: Path) -> None:
    half, _ = halves_of(register_csv(), tmp_path)
    table = pa.parquet.read_table(half)
    path = tmp_path / "more.parquet"
    pa.parquet.write_table(table.append_column("sex", pa.array(["Female"] * len(table))), path)

    with pytest.raises(InvalidRecords, match="nothing else"):
        encoded(path, PARQUET, shared_declaration(1).table)


def test_words_of_another_size_or_missing_ones_are_refused(tmp_path: Path) -> None:
    _, half = halves_of(register_csv(), tmp_path)
    table = pa.parquet.read_table(half)
    for words_now in (
        pa.array([b"0" * 8] * 300, pa.binary(8)),
        pa.array([None] + [b"0" * 48] * 299, pa.binary(48)),
    ):
        path = tmp_path / "changed.parquet"
        pa.parquet.write_table(table.set_column(table.schema.names.index(COLUMN), COLUMN, words_now), path)
        with pytest.raises(InvalidRecords, match="split the register again"):
            encoded(path, PARQUET, shared_declaration(2).table)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"relation": "add_remove"}, "declare the relation sensitive_attribute"),
        ({"relation": "replace"}, "declare the relation sensitive_attribute"),
        ({"sensitive_in_rules": True}, "leave out sensitive_in_rules"),
        ({"person_key": None, "people": "people"}, "name person_key"),
        ({"shares": {"party": 3}}, "1 or 2"),
        ({"columns": [{"name": "age", "type": "integer", "sensitive": True}]}, "Declare bands_from"),
        ({"columns": [{"name": COLUMN, "type": "boolean"}, DECLARATION["columns"][4]]}, "rename it"),
        ({"columns": [{**DECLARATION["columns"][4], "randomised_response": {"kept": "0.9"}}]}, "without noise"),
        ({"columns": [{"name": "many", "type": "category", "categories": [str(one) for one in range(64)],
                       "sensitive": True, "nullable": True}]}, "65 groups"),
    ],
)  # fmt: skip
def test_what_cannot_be_shared_is_not_declared(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        shared_declaration(1, **changes)


def test_as_many_groups_as_may_be_are_shared(tmp_path: Path) -> None:
    many = {"name": "sex", "type": "category", "categories": [f"g{one}" for one in range(64)], "sensitive": True}
    lines = ["id,sex", *(f"p{one},g{one % 64}" for one in range(640))]
    whole, first, second = (
        count_cells(one, [cells()[4]], [[0]], ["sex"]).reveal_to_mechanism().view(np.uint64)
        for one in loaded(tmp_path, "\n".join(lines).encode(), columns=[many])
    )

    assert whole.tolist() == [[10] * 64]
    assert (first + second == whole).all()


def test_noise_is_added_modulo_two_to_the_64() -> None:
    assert noisy_word(-1, 3) == "2"
    assert noisy_word(MODULUS - 1, -MODULUS) == str(MODULUS - 1)
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=10**8, sensitivity=1)

    for start in (2**63 - 1, -(2**63), -1, 0):
        drawn = noisy_words(mechanism, [start] * 200)
        differences = {joined_count(word, noisy_word(-start, 0)) for word in drawn}
        assert len(differences) > 5
        assert max(map(abs, differences)) < 500, "no addition stopped at the largest integer"


def test_a_count_is_the_centred_sum_of_two_words() -> None:
    assert joined_count("18446744073709551615", "0") == -1
    assert joined_count("9223372036854775807", "0") == 2**63 - 1
    assert joined_count("9223372036854775808", "0") == -(2**63)
    assert joined_count("18446744073709551610", "16") == 10


def test_a_half_is_completed_by_the_other_of_its_split_alone() -> None:
    first, second = (Shares(split_id="0" * 32, party=party) for party in (1, 2))

    assert first.completes(second)
    assert second.completes(first)
    for other in (first, Shares(split_id="1" * 32, party=2), Shares(split_id=None, party=2)):
        assert not first.completes(other)
    assert not Shares(split_id=None, party=1).completes(Shares(split_id=None, party=2))
