"""Both ways to match rules agree with the reference evaluator, record by record."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holder_service.records.encoded import Records, load_records
from holder_service.records.matching import WORD_BITS, RuleWords
from holder_service.records.walking import TreeWalk
from tests import invented_plans

ARROW_TYPES = {"boolean": pa.bool_(), "category": pa.string(), "integer": pa.int64(), "number": pa.float64()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_words_and_walks_match_as_the_rules_do(data: st.DataObject, tmp_path: Path) -> None:
    """For rules of every kind, some more than once, so that they fill one word or several."""
    schema = data.draw(invented_plans.schemas())
    people = data.draw(st.lists(invented_plans.records(schema), min_size=1, max_size=30))
    rules = data.draw(st.lists(invented_plans.rules(schema), min_size=1, max_size=8))
    rules *= data.draw(st.sampled_from((1, 2, 9, 20)))
    columns = {
        column.name: pa.array([person[column.name] for person in people], ARROW_TYPES[column.type])
        for column in schema.columns
    }
    pa.parquet.write_table(pa.table({"person": range(len(people)), **columns}), tmp_path / "upload")
    load_records(tmp_path / "upload", "application/vnd.apache.parquet", schema, 100, tmp_path / "encoded")
    records = Records.open(tmp_path / "encoded", schema)
    [chunk] = records.chunks

    words = list(RuleWords.compiled(rules, records).matching(chunk))
    walk = TreeWalk.compiled(rules, records)

    matching = [[rule.matches(person) for rule in rules] for person in people]
    assert [
        [bool(int(words[n // WORD_BITS][row]) >> n % WORD_BITS & 1) for n in range(len(rules))]
        for row in range(len(people))
    ] == matching
    # Many rules that overlap pass more nodes than a diagram may have: then words alone match them.
    assert walk is not None or len(rules) > 1
    assert walk is None or walk.first_matching(chunk).tolist() == [[*row, True].index(True) for row in matching]
