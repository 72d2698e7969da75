"""Canonical bytes: the fast way and the reference library agree on every document."""

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from shared.wire.canonical import canonical_bytes, digest, object_bytes

numbers = st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False))
texts = st.text(st.characters(exclude_categories=["Cs"]))
documents = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.text(st.characters(max_codepoint=127), max_size=8), inner, max_size=5),
    ),
    max_leaves=20,
)


@given(documents)
@example(1e21)
@example(1e-7)
@example(0.0001)
@example(-0.0)
@example(37.0)
@example({"text": "3.0 and 1e5", "number": 9007199254740991})
@example(5e-324)
@example({"a": 'x",1e-07\\', "b": 1e-07, "c": [1e-07, "y:2e-07", 3.0], 'd"\\': ['\\"[4.0', 1e30]})
def test_the_bytes_are_those_of_rfc_8785(document: object) -> None:
    assert canonical_bytes(document) == rfc8785.dumps(document)  # type: ignore[arg-type]


@pytest.mark.slow
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), documents, max_size=5))
def test_an_object_put_together_from_its_values_has_the_same_bytes(document: dict[str, object]) -> None:
    members = {name: canonical_bytes(value) for name, value in document.items()}

    assert object_bytes(members) == canonical_bytes(document)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_cannot_hold_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_bytes({"number": number})


def test_a_digest_names_its_function() -> None:
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
