"""One auditor guesses what another asked and was answered, out of hashes and the published report (2-privacy §6).

The guesser is given more than it could find out: of every entry and of the other's answer everything but the nonces, so
that the true values are among its guesses. It looks for the digest of a guess in all that it may see. With a holder
whose nonces are all the same it finds every one of them.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from shared.kinds.plans import Plan
from shared.kinds.releases import answer_digest
from shared.wire import canonical
from testing.holders import TestedHolder, running_holder
from testing.registers import plan

CONSTANT: Final = "0" * 32
CAP: Final = {"epsilon": "87.125", "delta": "0"}
LIMIT: Final = "6.375"
OTHERS: Final = "5.875"
OFF_MOST: Final = 3

Document = dict[str, Any]


@pytest.fixture
def constant_nonces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault planted: every nonce is the same."""
    monkeypatch.setattr("shared.wire.nonces.draw_nonce", lambda: CONSTANT)


class Guesser:
    """An auditor that asked the same plan as another one, and what it may see of the other."""

    def __init__(self, holder: TestedHolder) -> None:
        self.key = holder.open_auditor("guesser", epsilon=OTHERS)
        self.own: Document = holder.release(plan(epsilon="1"), key=self.key).json()
        self.answer: Document = holder.release(plan(epsilon="1")).json()
        self.entries = holder.entries()
        self.seen = "\n".join(self._sights(holder))

    def _sights(self, holder: TestedHolder) -> Iterator[str]:
        """All that auditors see, but for the other's own answer; and what is published."""
        paths = ("/ledger/head", "/keys", "/datasets", "/datasets/register/budget", "/datasets/register/releases")
        entries = (f"/ledger/entries/{entry['sequence']}" for entry in self.entries)
        for path in itertools.chain(paths, entries):
            answer = holder.auditor("GET", path, key=self.key)
            assert answer.status_code == 200
            yield answer.text
        yield json.dumps(self.own)
        for form in ("json", "html"):
            yield holder.admin("GET", f"/datasets/register/report?format={form}").text

    def nonces(self) -> Iterator[Document]:
        """What it may take the other's nonce for: none, and those that it knows or that a careless holder would use."""
        yield {}
        for nonce in ("", CONSTANT, self.own["nonce"]):
            yield {"nonce": nonce}

    def plans(self) -> Iterator[str]:
        """Digests of the other's plan: alone, and its identity."""
        asked = Plan.model_validate(self.answer["plan"])
        yield asked.identity(auditor="ADR", dataset="register")
        yield canonical.digest(asked.document())

    def answers(self) -> Iterator[str]:
        """Digests of answers with all counts near the true ones; made of its own answer, so they hold no secret."""
        guess = {**self.own, "auditor": "ADR", "id": self.answer["id"]}
        cells = [cell["counts"] for batch in self.answer["batches"] for cell in batch["cells"]]
        for offs in itertools.product(range(-OFF_MOST, OFF_MOST + 1), repeat=2):
            shifted = [{**cell, "counts": list(map(sum, zip(true, offs, strict=True)))}
                       for cell, true in zip(guess["batches"][0]["cells"], cells, strict=True)]  # fmt: skip
            batches = [{**guess["batches"][0], "cells": shifted}]
            for nonce in self.nonces():
                yield answer_digest({**_without(guess, "nonce"), "batches": batches, **nonce})

    def entry_hashes(self) -> Iterator[str]:
        """Digests of every entry of the ledger, time, limits and balances included; charges with every answer."""
        for entry in self.entries:
            bare = _without(entry, "nonce", "hash")
            answers = self.answers() if entry["kind"] == "charge" and entry["auditor"] == "ADR" else [None]
            for answer, nonce in itertools.product(answers, self.nonces()):
                yield canonical.digest({**bare, **nonce, **({} if answer is None else {"answer": answer})})

    def found(self, digests: Iterator[str]) -> set[str]:
        """Those digests that stand in what it sees, whole or shortened."""
        return {digest for digest in digests if digest.removeprefix("sha256:")[:12] in self.seen}


def _without(document: Document, *names: str) -> Document:
    return {name: value for name, value in document.items() if name not in names}


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[TestedHolder]:
    with running_holder(tmp_path, epsilon=LIMIT) as running:
        running.declare(cap=CAP)
        yield running


def test_no_hash_and_no_report_confirms_a_guess(holder: TestedHolder) -> None:
    guesser = Guesser(holder)

    assert not guesser.found(guesser.plans())
    assert not guesser.found(guesser.answers())
    assert not guesser.found(guesser.entry_hashes())


@pytest.mark.usefixtures("constant_nonces")
def test_with_constant_nonces_every_entry_is_opened(holder: TestedHolder) -> None:
    guesser = Guesser(holder)

    found = guesser.found(guesser.entry_hashes())

    assert found == {entry["hash"] for entry in guesser.entries}
    (charge,) = (entry for entry in guesser.entries if entry["kind"] == "charge" and entry["auditor"] == "ADR")
    assert charge["answer"] in set(guesser.answers()), "the answer itself is read from the entry that was opened"


def test_every_release_and_every_entry_has_a_nonce_of_its_own(holder: TestedHolder) -> None:
    guesser = Guesser(holder)

    nonces = [guesser.own["nonce"], guesser.answer["nonce"], *(entry["nonce"] for entry in guesser.entries)]

    assert len(set(nonces)) == len(nonces)
    assert all(len(bytes.fromhex(nonce)) == 16 and nonce == nonce.lower() for nonce in nonces)
    assert not any(entry["nonce"] in guesser.seen for entry in guesser.entries)
    assert guesser.answer["nonce"] not in guesser.seen


def test_the_report_names_no_limit_and_no_balance(holder: TestedHolder) -> None:
    Guesser(holder)

    for form in ("json", "html"):
        report = holder.admin("GET", f"/datasets/register/report?format={form}").text
        spent, left = "2", ("85.125", "5.375", "4.875")
        assert not [amount for amount in (CAP["epsilon"], LIMIT, OTHERS, *left) if amount in report]
        assert f"ε {spent}" in report or f'"epsilon":"{spent}"' in report


def test_plans_of_one_loss_are_alike_in_the_report(holder: TestedHolder) -> None:
    """How many cells, what rules, which draw and what batches there were is for the auditor alone."""
    by_level = [
        {"id": level, "all_of": [{"column": "education", "op": "eq", "value": level}]}
        for level in ("low", "middle", "high")
    ]
    three = plan(epsilon="1", cells=by_level)
    two = plan(epsilon="0.5")
    two["batches"].append({**two["batches"][0], "name": "again"})
    for body in (plan(epsilon="1"), plan(epsilon="1", draw=2), three, two):
        assert holder.release(body).status_code == 201

    releases = holder.admin("GET", "/datasets/register/report").json()["releases"]

    shown = [_without(one, "sequence", "hash", "at") for one in releases]
    assert len(shown) == 4
    assert all(one == shown[0] for one in shown)
