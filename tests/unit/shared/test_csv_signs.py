"""How a CSV file is written is found from its beginning."""

import pytest

from shared.wire.csv_signs import CsvSigns, csv_signs

USUAL = {"delimiter": ",", "decimal": ".", "encoding": "utf-8"}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"Person;Entscheid;Punkte\nP1;ja;0,5\nP2;nein;1,25\n", CsvSigns("utf-8", ";", ",", 3)),
        ("\ufeffPerson;bewilligt\nP1;ja, gewiss\n".encode(), CsvSigns("utf-8", ";", ".", 2)),
        ("Person;Größe\nMüller;3,5\n".encode("cp1252"), CsvSigns("cp1252", ";", ",", 2)),
        (b"id\tname\n1\t\x81x\n", CsvSigns("latin-1", "tab", ".", 2)),
        (b'id,score\n1,"0,5"\n', CsvSigns("utf-8", ",", ",", 2)),
        (b"id,score\n1,0.5\n", CsvSigns("utf-8", ",", ".", 2)),
        (b"id|score\n1|0.5\n", CsvSigns("utf-8", "|", ".", 2)),
        (b"value\n1\n", CsvSigns("utf-8", ",", ".", 1)),
        (b"", CsvSigns("utf-8", ",", ".", 0)),
        ("a,b\n1,2\n".encode("utf-16"), CsvSigns("utf-16")),
    ],
)
def test_signs(content: bytes, found: CsvSigns) -> None:
    assert csv_signs(content) == found


def test_the_flags_are_as_they_are_typed() -> None:
    signs = CsvSigns("cp1252", ";", ",", 3)

    assert signs.flags(but=USUAL) == "--delimiter ';' --encoding cp1252 --decimal ,"
    assert signs.flags(but={**USUAL, "encoding": None}) == "--delimiter ';' --decimal ,"
    assert CsvSigns().flags(but=USUAL) == ""


def test_a_letter_that_is_cut_is_still_utf_8() -> None:
    assert csv_signs("a,b\nü".encode()[:-1]).encoding == "utf-8"
