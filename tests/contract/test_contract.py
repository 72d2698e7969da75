"""Plans, quotes, releases, entries and keys that were recorded once read, hash and verify the same for ever."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from sqlalchemy import insert

from auditor_client.errors import HolderLied
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS, TRAININGS
from holder_service.domain.approvals import ApprovalReplay
from holder_service.domain.ledger import BrokenLedger, Kind, Replay
from holder_service.domain.second_officers import SecondOfficerReplay
from holder_service.services.ledger.export import is_whole
from holder_service.storage import ledger
from holder_service.storage.database import Database
from holder_service.storage.tables import entries
from shared.contract.datasets import DatasetDescription
from shared.kinds.handovers import require_vouched
from shared.kinds.plans import Plan, Quote
from shared.kinds.releases import (
    Answer,
    AnswerToRequest,
    Entered,
    Release,
    SerialisedAnswer,
    SigningKeys,
    answer_digest,
    verify_signature,
)
from shared.kinds.trainings import Training, TrainingAnswer, TrainingQuote
from shared.kinds.watches import (
    ANSWER_KIND,
    Watch,
    WatchAnswer,
    WatchQuote,
    WatchRelease,
    WatchSet,
    statement_identity,
)
from shared.wire.canonical import canonical_bytes
from tests.contract.__main__ import main

SETS: Final = tuple(sorted(path.parent for path in Path(__file__).parent.glob("*/entries.jsonl")))

Document = dict[str, Any]
WATCH_FILES: Final = ("watches", "watch-quotes", "watch-reports")


@dataclass(frozen=True)
class Recorded:
    """A set as it was recorded, each line parsed; releases as they were sent, too.

    Sets from before there were trainings, or watches, have none.
    """

    plans: list[Document]
    quotes: list[Document]
    releases: list[bytes]
    entries: list[Document]
    datasets: dict[str, DatasetDescription]
    keys: SigningKeys
    trainings: list[Document]
    training_quotes: list[Document]
    training_releases: list[bytes]
    watches: list[Document]
    watch_quotes: list[Document]
    watch_reports: list[Document]

    @classmethod
    def read(cls, folder: Path) -> "Recorded":
        def lines(name: str) -> list[bytes]:
            path = folder / name
            return path.read_bytes().splitlines() if path.exists() or not name.startswith(("training", "watch")) else []

        described = [
            DatasetDescription.model_validate(one) for one in json.loads((folder / "datasets.json").read_text())
        ]
        return cls(
            [json.loads(line) for line in lines("plans.jsonl")],
            [json.loads(line) for line in lines("quotes.jsonl")],
            lines("releases.jsonl"),
            [json.loads(line) for line in lines("entries.jsonl")[:-1]],
            {dataset.name: dataset for dataset in described},
            SigningKeys.model_validate_json((folder / "keys.json").read_bytes()),
            [json.loads(line) for line in lines("trainings.jsonl")],
            [json.loads(line) for line in lines("training-quotes.jsonl")],
            lines("training-releases.jsonl"),
            *([json.loads(line) for line in lines(f"{name}.jsonl")] for name in WATCH_FILES),
        )


@pytest.fixture(scope="module", params=SETS, ids=lambda folder: folder.name)
def recorded(request: pytest.FixtureRequest) -> Recorded:
    return Recorded.read(request.param)


def replayed(folder: Path, documents: list[Document]) -> list[Document]:
    """Put entries into a new holder's database, row by row, and replay them; gives what the ledger shows of each."""
    database = Database(f"sqlite:///{folder / 'holder.sqlite'}")
    database.migrate()
    rows = [{column.name: document.get(column.name) for column in entries.columns} for document in documents]
    for row in rows:
        row.update({name: json.dumps(row[name]) for name in ("cap", "account", "detail") if row[name] is not None})
    database.write(lambda connection: connection.execute(insert(entries), rows))
    replays, shown = (Replay(), ApprovalReplay(), SecondOfficerReplay()), []
    with database.read() as connection:
        for entry in ledger.read_entries(connection):
            for replay in replays:
                replay.apply(entry)
            shown.append(entry.document())
    database.close()
    return shown


def test_a_plan_as_it_was_sent_has_the_identity_that_it_had(recorded: Recorded) -> None:
    for line, release in zip(recorded.plans, recorded.releases, strict=True):
        plan = Plan.model_validate(line["sent"]).pinned(line["version"])
        assert plan.identity(auditor=line["auditor"], dataset=line["dataset"]) == line["identity"]
        assert plan.document() == json.loads(release)["plan"]
        assert Plan.model_validate(plan.document()) == plan


def test_an_auditor_believes_every_release_at_the_price_of_its_quote(recorded: Recorded) -> None:
    verified: dict[str | None, Release] = {}
    for line, quoted, sent in zip(recorded.plans, recorded.quotes, recorded.releases, strict=True):
        plan = Plan.model_validate(line["sent"]).pinned(line["version"])
        quote, dataset = Quote.model_validate(quoted), recorded.datasets[line["dataset"]]
        refined = verified.get(plan.refines)
        priced = PLANS.priced(plan, quote, RequestContext.of(dataset, line["auditor"], refined))
        release = priced.verified(json.loads(sent), recorded.keys)
        assert release.id == line["identity"]
        verified[release.id] = release


def test_a_release_is_written_in_the_bytes_that_it_had(recorded: Recorded) -> None:
    for sent in recorded.releases:
        document = json.loads(sent)
        answer = SerialisedAnswer.of(Answer.model_validate(document, extra="ignore"))
        entered = Entered.model_validate(document, extra="ignore")
        assert answer.signed(entered, lambda _, document=document: document["signature"]) == sent  # type: ignore[misc]
        assert answer.digest == answer_digest(document)
        assert canonical_bytes(document) == sent


def test_a_training_has_the_identity_the_price_and_the_bytes_that_it_had(recorded: Recorded) -> None:
    messages = zip(recorded.trainings, recorded.training_quotes, recorded.training_releases, strict=True)
    for line, quoted, sent in messages:
        training = Training.model_validate(line["sent"]).pinned(line["version"])
        assert training.identity(auditor=line["auditor"], dataset=line["dataset"]) == line["identity"]
        document = json.loads(sent)
        assert training.document() == document["training"]
        quote, dataset = TrainingQuote.model_validate(quoted), recorded.datasets[line["dataset"]]
        priced = TRAININGS.priced(training, quote, RequestContext.of(dataset, line["auditor"]))
        release = priced.verified(document, recorded.keys)
        assert release.id == line["identity"]
        answer = SerialisedAnswer.of(TrainingAnswer.model_validate(document, extra="ignore"))
        entered = Entered.model_validate(document, extra="ignore")
        assert answer.signed(entered, lambda _, document=document: document["signature"]) == sent  # type: ignore[misc]
        assert answer.digest == answer_digest(document)


def test_there_is_a_set_with_refined_releases() -> None:
    """A chain of three, of which the second and the third each name the one before."""
    chains = [line["sent"]["refines"] for one in SETS for line in Recorded.read(one).plans if "refines" in line["sent"]]

    assert len(set(chains)) == 2


def test_a_watch_and_its_answers_have_the_identity_and_the_bytes_that_they_had(recorded: Recorded) -> None:
    for line, quoted, report in zip(recorded.watches, recorded.watch_quotes, recorded.watch_reports, strict=True):
        watch, made = Watch.model_validate(line["sent"]).pinned(line["version"]), report["watch"]
        assert watch.identity(auditor=line["auditor"], dataset=line["dataset"]) == line["identity"] == made["id"]
        assert watch.document() == made["watch"]
        assert WatchQuote.model_validate(quoted).noise == WatchRelease.model_validate(made).noise
        kinds: list[type[AnswerToRequest]] = [WatchSet, *[WatchAnswer] * len(report["answers"])]
        for document, kind in zip((made, *report["answers"]), kinds, strict=True):
            verify_signature(document, recorded.keys)
            answer = SerialisedAnswer.of(kind.model_validate(document, extra="ignore"))
            assert answer.digest == answer_digest(document)
        for answered in report["answers"]:
            assert answered["watch_answer"]["watch"] == made["id"]
            assert answered["id"] == statement_identity(
                ANSWER_KIND, made["id"], auditor=line["auditor"], dataset=line["dataset"], version=answered["version"]
            )


def test_there_is_a_set_with_trainings_and_one_with_watches() -> None:
    for name in ("training-releases.jsonl", "watch-reports.jsonl"):
        assert any((folder / name).exists() for folder in SETS)


def test_every_entry_has_the_hash_that_it_had_and_every_balance_follows(recorded: Recorded, tmp_path: Path) -> None:
    assert replayed(tmp_path, recorded.entries) == recorded.entries


def test_the_ledger_charges_the_releases_that_it_names(recorded: Recorded) -> None:
    answered = ("charge", "rehearsal")
    charges = {entry["subject"]: entry for entry in recorded.entries if entry["kind"] in answered}

    sent_ones = [json.loads(sent) for sent in (*recorded.releases, *recorded.training_releases)]
    for document in [
        *sent_ones,
        *(one for report in recorded.watch_reports for one in (report["watch"], *report["answers"])),
    ]:
        entry = charges.pop(document["id"])
        assert entry["answer"] == answer_digest(document)
        assert document["ledger"] == {"sequence": entry["sequence"], "hash": entry["hash"]}
        assert document["created"] == entry["at"]
    assert not charges


def test_keys_are_vouched_for_and_each_signed_something(recorded: Recorded) -> None:
    require_vouched(recorded.keys.keys, recorded.keys.keys[:1])

    signed = {Release.model_validate_json(sent).key for sent in recorded.releases}

    assert signed == {key.id for key in recorded.keys.keys}
    assert len(signed) > 1


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_a_description_has_the_members_that_it_had(folder: Path) -> None:
    for document in json.loads((folder / "datasets.json").read_text()):
        described = DatasetDescription.model_validate(document)
        assert described.model_dump(mode="json", exclude_unset=True) == document
        assert described.model_dump(mode="json").keys() == document.keys()


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_the_export_ends_as_it_did(folder: Path) -> None:
    assert is_whole(io.BytesIO((folder / "entries.jsonl").read_bytes()))


def test_every_kind_of_entry_mechanism_and_relation_was_recorded() -> None:
    """Whoever adds one records a set with it."""
    everything = [Recorded.read(folder) for folder in SETS]
    noises = {
        batch["noise"]["distribution"] for one in everything for quote in one.quotes for batch in quote["batches"]
    }
    used = json.dumps([line["sent"] for one in everything for line in one.plans])

    assert {entry["kind"] for one in everything for entry in one.entries} == set(get_args(Kind))
    assert {quote["relation"] for one in everything for quote in one.quotes} == {
        "add_remove", "replace", "sensitive_attribute",
    }  # fmt: skip
    assert noises == {"discrete_laplace", "discrete_gaussian", "exponential", "randomised_response"}
    operators = ("lt", "le", "gt", "ge", "eq", "ne", "in", "not_in", "is_missing", "not_missing")
    assert not [operator for operator in operators if f'"op": "{operator}"' not in used]


RELEASE_CHANGES: dict[str, Callable[[Document], Any]] = {
    "a count": lambda document: document["batches"][0]["cells"][0]["counts"].__setitem__(0, 7_777),
    "the nonce": lambda document: document.update(nonce="0" * 32),
    "the plan": lambda document: document["plan"].update(draw=9),
    "the time": lambda document: document.update(created="2026-01-01T00:00:00+00:00"),
    "a member more": lambda document: document.update(more=None),
}


@pytest.mark.parametrize("change", RELEASE_CHANGES)
def test_a_changed_release_would_be_noticed(recorded: Recorded, change: str) -> None:
    line, document = recorded.plans[0], json.loads(recorded.releases[0])
    dataset = recorded.datasets[line["dataset"]]
    RELEASE_CHANGES[change](document)
    plan, quote = Plan.model_validate(line["sent"]).pinned(line["version"]), Quote.model_validate(recorded.quotes[0])
    priced = PLANS.priced(plan, quote, RequestContext.of(dataset, line["auditor"]))

    with pytest.raises(HolderLied):
        priced.verified(document, recorded.keys)


@pytest.mark.parametrize("change", [{"nonce": "0" * 32}, {"actor": "someone"}, {"detail": {}}, {"at": "2026-01-01"}])
def test_a_changed_entry_would_be_noticed(recorded: Recorded, change: Document, tmp_path: Path) -> None:
    documents = [{**recorded.entries[0], **change}, *recorded.entries[1:]]

    with pytest.raises(BrokenLedger):
        replayed(tmp_path, documents)


def test_what_was_recorded_is_not_recorded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in SETS[0].iterdir()}
    monkeypatch.setattr("sys.argv", ["contract", SETS[0].name])

    with pytest.raises(FileExistsError):
        main()

    assert {path: path.read_bytes() for path in SETS[0].iterdir()} == before
