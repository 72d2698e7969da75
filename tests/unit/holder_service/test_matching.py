"""Both ways to match rules agree with the reference evaluator, record by record."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holder_service.records.matching import WORD_BITS, RuleWords
from holder_service.records.walking import TreeWalk
from shared.contract.schema import Schema, Value
from testing.encoded_records import encoded_people
from testing.invented import plans as invented_plans


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_words_and_walks_match_as_the_rules_do(data: st.DataObject, tmp_path: Path) -> None:
    """For rules of every kind, some more than once, so that they fill one word or several."""
    schema = data.draw(invented_plans.schemas())
    rules = data.draw(st.lists(invented_plans.rules(schema), min_size=1, max_size=8))
    rules *= data.draw(st.sampled_from((1, 2, 9, 20)))
    people = data.draw(people_of(schema))
    records = encoded_people(tmp_path, schema, people)
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


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_tree_is_walked_as_its_rules_match(data: st.DataObject, tmp_path: Path) -> None:
    schema = data.draw(invented_plans.schemas())
    rules = data.draw(invented_plans.trees(schema))
    people = data.draw(people_of(schema))
    records = encoded_people(tmp_path, schema, people)
    [chunk] = records.chunks

    walk = TreeWalk.compiled(rules, records)

    assert walk is not None
    matching = [[rule.matches(person) for rule in rules] for person in people]
    assert [sum(row) for row in matching] == [1] * len(people), "a tree has one rule for everybody"
    assert walk.first_matching(chunk).tolist() == [row.index(True) for row in matching]


def people_of(schema: Schema) -> st.SearchStrategy[list[dict[str, Value | None]]]:
    """Some people whose values lie where rules could distinguish them."""
    return st.lists(invented_plans.records(schema), min_size=1, max_size=30)
