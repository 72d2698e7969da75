"""A holder that lies: whatever it says, no figure comes of it, and the auditor learns what is wrong.

The simulated holder signs with a real key and answers over a real socket; each test has it misbehave
in one way. After every lie: no result, no receipt among the good ones, and the answer kept as evidence.
"""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest

from auditor_client.auditor import Auditor
from auditor_client.errors import AuditorError, HolderLied, HolderUnavailable, QuestionRefused, VersionGone
from auditor_client.models.tree import Tree
from shared.kinds.handovers import handover_bytes
from shared.kinds.releases import SigningKey, signature_of
from testing.invented.questions import leaf, split
from testing.simulated_holder import KEY, Document, SimulatedHolder, problem, send, simulated_holder

TREE = Tree(split("age", 40, leaf("young", True), leaf("old", False)))


@pytest.fixture
def holder() -> Iterator[SimulatedHolder]:
    with simulated_holder() as server:
        yield server


@pytest.fixture
def auditor(holder: SimulatedHolder, http: httpx.Client, tmp_path: Path) -> Auditor:
    return Auditor(holder.url, KEY, receipts=tmp_path, http=http)


def receipts_in(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.json") if path.name != "keys.json")


def evidence_in(directory: Path) -> list[Path]:
    return sorted((directory / "refused").glob("*.json"))


def test_an_honest_holder_is_believed(auditor: Auditor, holder: SimulatedHolder, tmp_path: Path) -> None:
    result = auditor.audit(TREE, "register", ["sex"], "0.5")

    [receipt] = receipts_in(tmp_path)
    assert receipt.read_bytes() == holder.answered[result.release.id]
    assert result.receipt == receipt
    assert evidence_in(tmp_path) == []
    assert auditor.verify().ok


def counts_raised(document: Document) -> None:
    document["batches"][0]["cells"][0]["counts"][0] += 500


def noise_halved(document: Document) -> None:
    document["batches"][0]["noise"]["scale"] /= 2


def groups_swapped(document: Document) -> None:
    document["batches"][0]["groups"].reverse()


def cells_swapped(document: Document) -> None:
    document["batches"][0]["cells"].reverse()


def plan_changed(document: Document) -> None:
    document["plan"]["batches"][0]["cells"][0]["any_of"][0]["all_of"][0]["value"] = 39


def charge_raised(document: Document) -> None:
    document["charge"]["epsilon"] = "0.9"


def sensitive_changed(document: Document) -> None:
    document["plan"]["sensitive"] = ["origin"]


def other_auditor(document: Document) -> None:
    document["auditor"] = "EVE"


@pytest.mark.parametrize(
    "case",
    [
        (counts_raised, False, "signature"),
        (noise_halved, False, "signature"),
        (noise_halved, True, "noise"),
        (groups_swapped, True, "groups"),
        (cells_swapped, True, "cells"),
        (plan_changed, True, "identity"),
        (sensitive_changed, True, "identity"),
        (charge_raised, True, "charged"),
        (other_auditor, True, "identity"),
    ],
)
def test_a_false_release_gives_no_figure_and_is_kept_as_evidence(
    auditor: Auditor,
    holder: SimulatedHolder,
    tmp_path: Path,
    case: tuple[Callable[[Document], None], bool, str],
) -> None:
    lie, signed, refusal = case
    if signed:
        holder.before_signing = lie
    else:
        holder.after_signing = lie

    with pytest.raises(HolderLied, match=refusal):
        auditor.audit(TREE, "register", ["sex"], "0.5")

    assert receipts_in(tmp_path) == []
    [evidence] = evidence_in(tmp_path)
    assert evidence.read_bytes() in holder.answered.values()


def test_an_earlier_release_is_no_answer_to_another_question(
    auditor: Auditor, holder: SimulatedHolder, tmp_path: Path
) -> None:
    auditor.audit(TREE, "register", ["sex"], "0.5")
    [earlier] = holder.answered.values()

    holder.reply(200, earlier, to="/releases")
    for sensitive, epsilon, draw in ((["origin"], "0.5", 1), (["sex"], "0.4", 1), (["sex"], "0.5", 2)):
        with pytest.raises(HolderLied, match="another plan"):
            auditor.audit(TREE, "register", sensitive, epsilon, draw=draw, reuse=False)

    assert len(receipts_in(tmp_path)) == 1


def test_a_second_answer_to_the_same_question_is_found_out(
    auditor: Auditor, holder: SimulatedHolder, tmp_path: Path
) -> None:
    """Averaging two answers would undo the noise, so a holder gives one; a client that got two reports it."""
    first = auditor.audit(TREE, "register", ["sex"], "0.5")
    holder.answered.clear()

    with pytest.raises(HolderLied, match="same request"):
        auditor.audit(TREE, "register", ["sex"], "0.5")

    assert json.loads(first.receipt.read_bytes()) == first.answer
    assert len(evidence_in(tmp_path)) == 1


def test_a_changed_key_is_noticed_before_anything_is_asked(auditor: Auditor, holder: SimulatedHolder) -> None:
    auditor.audit(TREE, "register", ["sex"], "0.5")
    asked = holder.count("POST", "/releases")
    holder.signing = SimulatedHolder().signing

    with pytest.raises(HolderLied, match="signing key"):
        auditor.audit(TREE, "register", ["sex"], "0.4")

    assert holder.count("POST", "/releases") == asked


def test_a_key_that_was_made_while_the_question_was_under_way_is_no_lie(
    auditor: Auditor, holder: SimulatedHolder
) -> None:
    """The holder publishes a second key just before it answers; the first is still there, and handed over to it."""

    def hand_over(keys: Document) -> None:
        successor = SigningKey.model_validate({**keys["keys"][0], "id": "k2"})
        handover = {"by": "k1", "signature": signature_of(handover_bytes(successor, by="k1"), holder.signing)}
        keys["keys"].append({**successor.model_dump(mode="json"), "handover": handover})

    def rotate(document: Document) -> None:
        document["key"] = "k2"
        holder.change_keys = hand_over

    holder.before_signing = rotate

    assert auditor.audit(TREE, "register", ["sex"], "0.5").key.id == "k2"


def test_a_key_that_no_pinned_one_handed_over_to_is_not_believed(auditor: Auditor, holder: SimulatedHolder) -> None:
    """The pinned key is public: whoever takes the holder's address over can show it together with one of their own."""
    auditor.audit(TREE, "register", ["sex"], "0.5")
    asked = holder.count("POST", "/releases")
    holder.change_keys = lambda keys: keys["keys"].append({**keys["keys"][0], "id": "k2"})

    with pytest.raises(HolderLied, match="vouches"):
        auditor.audit(TREE, "register", ["origin"], "0.5")

    assert holder.count("POST", "/releases") == asked


def test_a_price_that_was_not_meant_is_not_charged(auditor: Auditor, holder: SimulatedHolder) -> None:
    def as_if_overlapping(document: Document) -> None:
        document["batches"][0]["composition"]["classes"] = 2
        document["charge"]["epsilon"] = "1"

    holder.change_quote = as_if_overlapping

    with pytest.raises(QuestionRefused, match="Nothing was spent"):
        auditor.audit(TREE, "register", ["sex"], "0.5")

    assert holder.count("POST", "/releases") == 0


def test_a_quote_of_too_little_noise_is_not_taken_up(auditor: Auditor, holder: SimulatedHolder) -> None:
    holder.change_quote = noise_halved

    with pytest.raises(HolderLied, match="noise"):
        auditor.audit(TREE, "register", ["sex"], "0.5")

    assert holder.count("POST", "/releases") == 0


def test_a_lost_answer_is_asked_for_again_and_charged_once(auditor: Auditor, holder: SimulatedHolder) -> None:
    """The holder commits and then the connection breaks: the retry gets the stored release."""
    holder.answers_lost = 2

    result = auditor.audit(TREE, "register", ["sex"], "0.5")

    assert len(holder.ledger) == 1
    assert result.release.ledger.sequence == 1


def test_records_that_change_in_between_are_not_asked_by_mistake(auditor: Auditor, holder: SimulatedHolder) -> None:
    """The plan is pinned to the version that was described, so a new one is refused, not charged."""
    holder.reply(*problem(409, "version-gone", "Version 1 is neither current nor answered."), to="/releases")

    with pytest.raises(VersionGone, match="Version 1"):
        auditor.audit(TREE, "register", ["sex"], "0.5")

    assert holder.ledger == []


@pytest.mark.parametrize(
    ("status", "body"),
    [(502, b"<html>Bad gateway</html>"), (302, b""), (200, b"<html>Welcome to the hotel</html>"), (200, b'{"id": 1')],
)
def test_what_is_no_release_is_reported_and_nothing_is_lost(
    auditor: Auditor, holder: SimulatedHolder, status: int, body: bytes
) -> None:
    holder.reply(status, body, to="/releases", headers={"Location": "http://127.0.0.1:9/"})
    with pytest.raises(HolderUnavailable, match="version 1"):
        auditor.audit(TREE, "register", ["sex"], "0.5")
    holder.take_over = lambda _: False

    assert auditor.audit(TREE, "register", ["sex"], "0.5").release.version == 1


def test_a_holder_that_no_longer_shows_the_budget_does_not_cost_the_finding(
    auditor: Auditor, holder: SimulatedHolder
) -> None:
    def forbid_afterwards(handler: BaseHTTPRequestHandler) -> bool:
        if not (handler.path.endswith("/budget") and holder.ledger):
            return False
        send(handler, *problem(403, "forbidden", "No more."))
        return True

    holder.take_over = forbid_afterwards

    result = auditor.audit(TREE, "register", ["sex"], "0.5")

    assert result.budget is None
    assert "0.5" in result.summary()


@pytest.mark.parametrize(
    "text", ["\x1b]0;owned\x07", "a" * 10_000, "\N{RIGHT-TO-LEFT OVERRIDE}", "<script>", "[bold]x[/bold]", "{{ 1 }}"]
)
def test_no_hostile_detail_gets_through_raw(auditor: Auditor, holder: SimulatedHolder, text: str) -> None:
    holder.reply(*problem(403, "forbidden", text))

    with pytest.raises(AuditorError) as refused:
        auditor.audit(TREE, "register", ["sex"], "0.5")

    assert len(str(refused.value)) < 1100
    assert "\x1b" not in str(refused.value)
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in str(refused.value)
