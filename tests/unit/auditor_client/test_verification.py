"""Whether a release is what was asked for: every lie that can be known without the records is found out."""

import copy
import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor_client.errors import HolderLied
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS
from shared.contract.datasets import DatasetDescription
from shared.kinds.plans import Plan, Quote
from shared.kinds.releases import Release, SigningKeys
from shared.privacy.amounts import format_nano
from testing.documents import change_at
from testing.registers import REGISTER, plan
from testing.simulated_holder import Document, SimulatedHolder


def plan_of(epsilon: str = "0.3", sensitive: tuple[str, ...] = ("sex", "origin")) -> Plan:
    return Plan.model_validate(plan(epsilon=epsilon, age=37.5, version=1, sensitive=sensitive))


def answer(holder: SimulatedHolder, plan: Plan) -> Document:
    document: Document = json.loads(holder.release(plan)[1])
    return document


def verify(holder: SimulatedHolder, document: Document, plan: Plan, quote: Quote | None = None) -> Release:
    believed = quote or Quote.model_validate(SimulatedHolder(dataset=holder.dataset).quote(plan))
    priced = PLANS.priced(plan, believed, RequestContext.of(holder.dataset, "ADR"))
    return priced.verified(document, SigningKeys.model_validate(holder.keys()))


def test_an_honest_release_passes() -> None:
    holder, plan = SimulatedHolder(), plan_of()

    release = verify(holder, answer(holder, plan), plan)

    assert len(release.batches[0].groups) == 6


@given(st.integers(min_value=10**6, max_value=10**10))
def test_every_honest_scale_passes(epsilon_nano: int) -> None:
    """The holder raises the scale by ulps until it is large enough; a tolerance must not find that a lie."""
    plan = plan_of(format_nano(epsilon_nano))

    PLANS.priced(plan, Quote.model_validate(SimulatedHolder().quote(plan)), RequestContext.of(REGISTER, "ADR"))


def batch(document: Document) -> Document:
    first: Document = document["batches"][0]
    return first


SIGNED_LIES: dict[str, tuple[Callable[[Document], None], str]] = {
    "another plan": (change_at("plan.batches.0.cells.0.any_of.0.all_of.0.value", 38), "another plan|identity"),
    "another dataset": (change_at("dataset", "other"), "identity"),
    "another auditor": (change_at("auditor", "EVE"), "identity"),
    "another version": (change_at("version", 2), "version"),
    "another identity": (change_at("id", "sha256:" + "0" * 64), "identity"),
    "another relation": (change_at("relation", "replace"), "relation"),
    "a higher charge": (change_at("charge.epsilon", "0.6"), "charged"),
    "less noise": (lambda d: batch(d)["noise"].update(scale=batch(d)["noise"]["scale"] / 2), "noise"),
    "an ulp too little": (lambda d: batch(d)["noise"].update(scale=math.nextafter(10 / 3, 0)), "noise"),
    "more noise": (lambda d: batch(d)["noise"].update(scale=batch(d)["noise"]["scale"] * 1.01), "noise"),
    "no noise": (change_at("batches.0.noise.scale", 5e-324), "noise"),
    "another batch": (change_at("batches.0.name", "other"), "batches"),
    "no batch": (change_at("batches", []), "batches"),
    "another epsilon": (change_at("batches.0.epsilon", "0.2"), "epsilon"),
    "an epsilon that is none": (change_at("batches.0.epsilon", "1e400"), "epsilon"),
    "some delta": (change_at("batches.0.delta", "0.001"), "delta"),
    "more classes": (change_at("batches.0.composition", {"classes": 2}), "composition"),
    "groups in another order": (lambda d: batch(d)["groups"].reverse(), "groups"),
    "a group less": (lambda d: batch(d)["groups"].pop(), "groups"),
    "a group half counted": (change_at("batches.0.counted_groups", [["Female", "here"]]), "other groups"),
    "a cell less": (lambda d: batch(d)["cells"].pop(), "cells"),
    "cells in another order": (lambda d: batch(d)["cells"].reverse(), "cells"),
    "a count less": (lambda d: batch(d)["cells"][0]["counts"].pop(), "counts"),
    "no ledger entry": (change_at("ledger.sequence", 0), "ledger"),
    "no ledger hash": (change_at("ledger.hash", "sha256:short"), "ledger"),
    "a short nonce": (change_at("nonce", "0" * 31), "nonce"),
    "a nonce that is none": (change_at("nonce", "G" * 32), "nonce"),
    "no nonce": (lambda d: d.pop("nonce"), "nonce"),
    "a key that is not published": (change_at("key", "k2"), "publish"),
    "a count that is a text": (change_at("batches.0.cells.0.counts.0", "many"), "contract"),
    "noise of another kind": (change_at("batches.0.noise.distribution", "none"), "contract"),
}


@pytest.mark.parametrize("lie", sorted(SIGNED_LIES))
def test_a_lie_under_a_good_signature_is_found_out(lie: str) -> None:
    change, refusal = SIGNED_LIES[lie]
    holder, plan = SimulatedHolder(before_signing=change), plan_of()

    with pytest.raises(HolderLied, match=refusal):
        verify(holder, answer(holder, plan), plan)


@pytest.mark.parametrize(
    "change",
    [
        change_at("batches.0.cells.0.counts.0", 999),
        change_at("created", "2020-01-01T00:00:00Z"),
        change_at("ledger.sequence", 2),
        change_at("remaining.epsilon", "0.6"),
        change_at("nonce", "0" * 32),
        change_at("signature", "ed25519:" + "A" * 86 + "=="),
        change_at("signature", "none"),
        change_at("signature", None),
        change_at("a field of the future", 1),
        lambda document: document.pop("signature"),
        lambda document: document.pop("auditor"),
    ],
)
def test_whatever_is_changed_behind_the_signature_is_found_out(change: Callable[[Document], None]) -> None:
    holder, plan = SimulatedHolder(after_signing=change), plan_of()

    with pytest.raises(HolderLied, match=r"signature|signed"):
        verify(holder, answer(holder, plan), plan)


def test_a_field_that_this_client_does_not_know_is_ignored_where_it_is_signed() -> None:
    holder, plan = SimulatedHolder(before_signing=change_at("a field of the future", {"x": [1.5]})), plan_of()

    assert verify(holder, answer(holder, plan), plan).auditor == "ADR"


def test_another_plans_release_is_no_answer() -> None:
    holder = SimulatedHolder()
    earlier = answer(holder, plan_of("0.2"))

    with pytest.raises(HolderLied, match="another plan"):
        verify(holder, earlier, plan_of("0.3"))


@pytest.mark.parametrize("whose", [{"auditor": "EVE"}, {"dataset": "other"}])
def test_a_release_that_is_good_for_another_is_no_answer(whose: dict[str, str]) -> None:
    """The same plan, rightly signed and named, but of another auditor or about other people."""
    plan = plan_of()
    names = {"auditor": "ADR", "dataset": "register", **whose}
    holder = SimulatedHolder(before_signing=lambda d: d.update({**whose, "id": plan.identity(**names)}))

    with pytest.raises(HolderLied, match="another"):
        verify(holder, answer(holder, plan), plan)


def test_a_second_draw_is_not_answered_by_the_first() -> None:
    holder, first = SimulatedHolder(), plan_of()
    second = first.model_copy(update={"draw": 2})

    with pytest.raises(HolderLied, match="another plan"):
        verify(holder, answer(holder, first), second)


def test_a_release_made_after_its_key_ended_is_not_believed() -> None:
    def end_key(document: Document) -> None:
        document["keys"][0]["valid_to"] = "2020-01-01T00:00:00Z"

    holder, plan = SimulatedHolder(change_keys=end_key), plan_of()

    with pytest.raises(HolderLied, match="had expired"):
        verify(holder, answer(holder, plan), plan)


@pytest.mark.parametrize(
    ("relation", "sensitive", "factor", "counted"),
    [
        ("replace", ("sex",), 2, None),
        ("sensitive_attribute", ("sex", "origin"), 2, None),
        ("sensitive_attribute", ("sex",), 1, [["Female"]]),
    ],
)
def test_each_relation_needs_its_own_noise(
    relation: str, sensitive: tuple[str, ...], factor: int, counted: list[list[str]] | None
) -> None:
    dataset = DatasetDescription.model_validate({**REGISTER.model_dump(), "relation": relation})
    plan = plan_of("0.5", sensitive)

    def honest(document: Document) -> None:
        batch(document)["noise"]["scale"] = 2.0 * factor
        if counted is not None:
            batch(document)["counted_groups"] = counted
            for cell in batch(document).get("cells", []):
                cell["counts"] = cell["counts"][:1]

    def too_little(document: Document) -> None:
        honest(document)
        batch(document)["noise"]["scale"] = 1.0

    holder = SimulatedHolder(dataset=dataset, before_signing=honest, change_quote=honest)
    liar = SimulatedHolder(dataset=dataset, before_signing=too_little, change_quote=honest)
    quote = Quote.model_validate(holder.quote(plan))

    PLANS.priced(plan, quote, RequestContext.of(dataset, "ADR"))
    verify(holder, answer(holder, plan), plan, quote)
    with pytest.raises(HolderLied, match="noise"):
        verify(liar, answer(liar, plan), plan, quote)


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (change_at("dataset", "other"), "dataset"),
        (change_at("relation", "replace"), "another dataset"),
        (change_at("version", 2), "version"),
        (change_at("charge.epsilon", "0.2"), "charges"),
        (change_at("charge.delta", "0.001"), "charges"),
        (change_at("batches.0.composition", {"classes": 3}), "classes"),
        (change_at("batches.0.composition", {}), "classes"),
        (change_at("batches.0.noise.scale", 1.0), "noise"),
        (change_at("batches", []), "batches"),
    ],
)
def test_a_quote_that_contradicts_itself_is_found_out(change: Callable[[Document], None], refusal: str) -> None:
    plan = plan_of()
    document = copy.deepcopy(SimulatedHolder().quote(plan))
    change(document)

    with pytest.raises(HolderLied, match=refusal):
        PLANS.priced(plan, Quote.model_validate(document), RequestContext.of(REGISTER, "ADR"))
