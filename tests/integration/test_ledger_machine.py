"""The ledger under any order of events: entries sum to balances, both are what exact fractions say (2-privacy §9).

Plans and trainings are asked alike. The services and the store are the real ones; so are restarts, which close
everything and open it again.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Final

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from holder_service.domain.errors import BudgetExhausted, CapExhausted, Conflict, HolderError, NoRecords, NotFound
from holder_service.domain.ledger import Balance, Replay
from holder_service.records.formats import Upload
from holder_service.services import access, budgets, datasets, ledger_reading, loads, releases
from holder_service.services.asked import Asked
from holder_service.services.holder import Holder, initialise
from holder_service.services.ledger_store import LedgerStore
from holder_service.storage import ledger as stored_ledger
from holder_service.storage.releases import StoredRelease
from shared.amounts import NANO_PER_UNIT, format_nano
from shared.datasets import BudgetGrant, DatasetDeclaration, NewAuditor
from shared.plans import Plan
from shared.releases import LedgerPosition
from shared.trainings import Training
from testing.holders import settings_in
from testing.ledger_model import Loss, Model, Purse, Question
from testing.registers import LEARNABLE, learnable_csv
from testing.registers import plan as plan_document
from testing.registers import training as training_document

BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
AUDITORS: Final = ("ADR", "BDR")
RECORDS: Final = learnable_csv(people=20)
REFUSALS: Final[dict[str, type[HolderError]]] = {
    "not-found": NotFound, "no-records": NoRecords, "budget-exhausted": BudgetExhausted, "cap-exhausted": CapExhausted,
}  # fmt: skip

auditor_names = st.sampled_from(AUDITORS)
dataset_names = st.sampled_from(("first", "second", "third"))
population_names = st.sampled_from(("people", "others"))
epsilons = st.sampled_from(("0.1", "0.25", "0.333333333", "0.001"))
limits = st.tuples(
    st.sampled_from(("0", "0.3", "0.7", "1.000000001", "2")), st.sampled_from(("0", "0.000000001", "0.00001"))
)


def fractions(epsilon: str, delta: str = "0") -> Loss:
    return Fraction(epsilon), Fraction(delta)


def in_fractions(balance: Balance) -> Purse:
    """A balance of the ledger as the model has it."""
    return Purse(
        (Fraction(balance.limit.epsilon_nano, NANO_PER_UNIT), Fraction(balance.limit.delta_nano, NANO_PER_UNIT)),
        (Fraction(balance.spent.epsilon_nano, NANO_PER_UNIT), Fraction(balance.spent.delta_nano, NANO_PER_UNIT)),
        None if balance.expires is None else datetime.fromisoformat(balance.expires),
    )


def plan_of(epsilon: str, *, delta: str | None, overlapping: bool, draw: int) -> tuple[Plan, Loss]:
    """A plan, and what it has to cost: overlapping cells are two classes and cost twice."""
    document: dict[str, Any] = plan_document(epsilon=epsilon, draw=draw)
    [batch] = document["batches"]
    if delta is not None:
        batch["mechanism"] = {"name": "gaussian", "delta": delta}
    if overlapping:
        batch["cells"][1]["all_of"] = []
    classes = 1 + overlapping
    return Plan.model_validate(document), (Fraction(epsilon) * classes, Fraction(delta or "0") * classes)


def training_of(epsilon: str, *, algorithm: dict[str, Any], draw: int) -> tuple[Training, Loss]:
    """A training by one feature, and what it has to cost: its ε, whole."""
    document = training_document(epsilon=epsilon, draw=draw, algorithm=algorithm, features=[{"column": "citizen"}])
    return Training.model_validate(document), fractions(epsilon)


def asked_of(content: str) -> Asked:
    """What was asked, of its JSON."""
    document = json.loads(content)
    return (Training if "algorithm" in document else Plan).model_validate(document)


plans = st.builds(
    plan_of, epsilons, delta=st.sampled_from((None, None, "0.000001")), overlapping=st.booleans(),
    draw=st.integers(1, 3),
)  # fmt: skip
trainings = st.builds(
    training_of, epsilons,
    algorithm=st.sampled_from(({"name": "fair_tree", "depth": 1}, {"name": "pflr"}, {"name": "fair_linear"})),
    draw=st.integers(1, 2),
)  # fmt: skip
questions = plans | trainings


class LedgerMachine(RuleBasedStateMachine):
    """A holder and its model side by side."""

    template: ClassVar[Path]
    key_ids: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="pafer-machine-", dir=self.template.parent))
        self.home = self.folder / "holder"
        shutil.copytree(self.template, self.home)
        self.now = BEGIN
        self.model = Model()
        self.replay = Replay()
        self.open()

    def open(self) -> None:
        self.holder = Holder.open(settings_in(self.home))
        self.store = LedgerStore(self.holder.store.database, self.holder.store.anchor, clock=lambda: self.now)

    def teardown(self) -> None:
        found = ledger_reading.verify(self.store)
        self.holder.close()
        shutil.rmtree(self.folder)
        assert found.intact, found.reason

    @initialize(relation=st.sampled_from(("add_remove", "replace")))
    def begin_with_budgets(self, relation: str) -> None:
        """Three datasets of two populations, two auditors with limits; without them most questions would be moot."""
        self.relation = relation
        for name, population in (("first", "people"), ("second", "people"), ("third", "others")):
            self.declare(name, population, ("2", "0.00001"))
            self.load(name)
        for name, auditor, limit in (("first", "ADR", "1.000000001"), ("first", "BDR", "2"), ("third", "ADR", "0.7")):
            self.grant(name, auditor, (limit, "0.00001"), None)

    @rule(name=dataset_names, population=population_names, cap=limits)
    def declare(self, name: str, population: str, cap: tuple[str, str]) -> None:
        declaration = DatasetDeclaration.model_validate(
            {
                **LEARNABLE,
                "relation": self.relation,
                "population": population,
                "cap": {"epsilon": cap[0], "delta": cap[1]},
            }
        )
        allowed = self.model.declare(name, population, fractions(*cap))

        self.expect(
            None if allowed else Conflict,
            lambda: datasets.declare(
                self.store,
                actor="administrator",
                name=name,
                declaration=declaration,
                files=self.holder.files,
            ),
        )

    @rule(name=dataset_names)
    def load(self, name: str) -> None:
        offered = self.model.is_offered(name)

        def call() -> int:
            with self.holder.files.in_use():
                self.holder.files.incoming.mkdir(exist_ok=True)
                source = self.holder.files.incoming / "records.csv"
                source.write_bytes(RECORDS)
                return loads.load(
                    self.store, actor="administrator", name=name, upload=Upload(source, "text/csv"),
                    engine=self.holder.engine, files=self.holder.files, pace=self.holder.pace,
                )  # fmt: skip

        loaded = self.expect(None if offered else NotFound, call)

        if offered:
            dataset = self.model.datasets[name]
            dataset.version_last += 1
            dataset.version = dataset.version_last
            assert loaded == dataset.version

    @rule(name=dataset_names)
    def retire(self, name: str) -> None:
        offered = self.model.is_offered(name)

        self.expect(
            None if offered else NotFound,
            lambda: datasets.retire(self.store, actor="administrator", name=name, files=self.holder.files),
        )

        if offered:
            self.model.datasets[name].version = None
            self.model.datasets[name].retired = True

    @rule(name=dataset_names, auditor=auditor_names, limit=limits, hours=st.sampled_from((None, None, -1, 2)))
    def grant(self, name: str, auditor: str, limit: tuple[str, str], hours: int | None) -> None:
        """Grant, raise, lower (also below what was spent), revoke; some expire, some have expired."""
        expires = None if hours is None else self.now + timedelta(hours=hours)
        grant = BudgetGrant.model_validate({"epsilon": limit[0], "delta": limit[1], "expires": expires})
        allowed = self.model.grant(name, auditor, fractions(*limit), expires)

        self.expect(
            None if allowed else NotFound,
            lambda: budgets.set_limit(self.store, actor="administrator", dataset=name, auditor=auditor, grant=grant),
        )

    @rule(name=dataset_names, auditor=auditor_names, asked=questions)
    def ask(self, name: str, auditor: str, asked: tuple[Asked, Loss]) -> None:
        self.check_answer(name, auditor, asked, limit_meanwhile=None)

    @precondition(lambda self: self.model.datasets)
    @rule(name=dataset_names, auditor=auditor_names, asked=questions, limit=limits)
    def ask_while_the_limit_changes(
        self, name: str, auditor: str, asked: tuple[Asked, Loss], limit: tuple[str, str]
    ) -> None:
        """A raise, a lowering or a revocation arrives after it was priced and before it is charged."""
        self.check_answer(name, auditor, asked, limit_meanwhile=limit)

    @rule(name=dataset_names, auditor=auditor_names, asked=questions)
    def quote(self, name: str, auditor: str, asked: tuple[Asked, Loss]) -> None:
        """A price is that of the model whatever was answered; the invariants see that it moves nothing."""
        dataset = self.model.datasets.get(name)
        if dataset is None or dataset.version is None:
            return

        quoted = releases.quote(self.store, auditor=auditor, dataset=name, asked=asked[0])

        charge = quoted.charge
        assert fractions(format_nano(charge.epsilon_nano), format_nano(charge.delta_nano)) == asked[1]

    @precondition(lambda self: self.model.answered)
    @rule(choice=st.randoms(use_true_random=False))
    def ask_again(self, choice: Any) -> None:
        """Any plan or training that was ever answered, pinned to its version, whatever became of records and budget."""
        question, body = choice.choice(list(self.model.answered.items()))
        asked = asked_of(question.content).pinned(question.version)

        stored = releases.prepare(
            self.store, self.holder.files, auditor=question.auditor, dataset=question.dataset, asked=asked
        )

        assert isinstance(stored, StoredRelease)
        assert stored.body == body

    @rule(into=population_names, source=population_names)
    def merge(self, into: str, source: str) -> None:
        known = into in self.model.caps and source in self.model.caps
        allowed = self.model.merge(into, source)

        self.expect(
            None if allowed else (Conflict if known else NotFound),
            lambda: datasets.merge(self.store, actor="administrator", into=into, source=source),
        )

    @rule(hours=st.sampled_from((1, 3)))
    def time_passes(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @rule()
    def restart(self) -> None:
        self.holder.close()
        self.open()

    @invariant()
    def balances_are_what_fractions_say(self) -> None:
        with self.store.database.read() as connection:
            for name, purse in self.model.caps.items():
                assert in_fractions(stored_ledger.population_balance(connection, name)) == purse
            for (name, auditor), purse in self.model.purses.items():
                balance = stored_ledger.account_balance(connection, name, auditor)
                assert in_fractions(balance) == purse
                left = balance.remaining(self.now)
                assert min(left.epsilon_nano, left.delta_nano) >= 0

    @invariant()
    def entries_sum_to_balances(self) -> None:
        with self.store.database.read() as connection:
            for entry in stored_ledger.read_entries(connection, after=self.replay.sequence):
                self.replay.apply(entry)
            assert stored_ledger.head(connection) == LedgerPosition(
                sequence=self.replay.sequence, hash=self.replay.hash
            )
        unmerged = [cap for name, cap in self.replay.caps.items() if name not in self.model.merged]
        assert Fraction(sum(cap.spent.epsilon_nano for cap in unmerged), NANO_PER_UNIT) == self.model.charged[0]
        assert Fraction(sum(cap.spent.delta_nano for cap in unmerged), NANO_PER_UNIT) == self.model.charged[1]
        assert self.store.is_anchored()

    def expect(self, refusal: type[HolderError] | None, call: Any) -> Any:
        """Call, and be refused if that is expected."""
        if refusal is None:
            return call()
        with pytest.raises(refusal):
            call()
        return None

    def check_answer(
        self, name: str, auditor: str, priced: tuple[Asked, Loss], *, limit_meanwhile: tuple[str, str] | None
    ) -> None:
        asked, loss = priced
        dataset = self.model.datasets.get(name)
        question = None
        if dataset is not None and dataset.version is not None:
            question = Question(auditor, name, dataset.version, asked.model_dump_json())
        outcome = self.model.outcome(question, name, auditor, loss, self.now)
        event(f"{asked.kind}: {outcome}")
        if outcome in REFUSALS:
            with pytest.raises(REFUSALS[outcome]):
                releases.prepare(self.store, self.holder.files, auditor=auditor, dataset=name, asked=asked)
            return
        assert question is not None

        prepared = releases.prepare(self.store, self.holder.files, auditor=auditor, dataset=name, asked=asked)
        if isinstance(prepared, StoredRelease):
            assert outcome == "again"
            assert prepared.body == self.model.answered[question]
            return
        assert outcome == "released"
        if limit_meanwhile is not None:
            self.grant(name, auditor, limit_meanwhile, None)
            outcome = self.model.outcome(question, name, auditor, loss, self.now)
            event(f"while the limit changed: {outcome}")
        answered = self.expect(
            REFUSALS.get(outcome),
            lambda: releases.enter(
                self.store,
                drawn=releases.draw(prepared, engine=self.holder.engine),
                key_id=self.key_ids[auditor],
                signing=self.holder.signing,
                pace=self.holder.pace,
            ).result(),
        )
        if answered is not None:
            assert answered.new
            self.model.charge(question, loss, answered.release.body)


@pytest.fixture(scope="module", autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A holder that was set up with two auditors' accounts, to be copied for every example."""
    memory = Path("/dev/shm")  # noqa: S108 - only a folder of our own in it
    home = Path(tempfile.mkdtemp(prefix="pafer-template-", dir=memory if memory.is_dir() else None))
    settings_there = settings_in(home / "holder", f"sqlite:///{home / 'holder' / 'holder.sqlite'}")
    (home / "holder").mkdir()
    initialise(settings_there)
    holder = Holder.open(settings_there)
    for name in AUDITORS:
        issued = access.open_account(holder.store, actor="administrator", new=NewAuditor(name=name))
        LedgerMachine.key_ids[name] = issued.key_id
    holder.close()
    LedgerMachine.template = home / "holder"
    yield
    shutil.rmtree(home)


def run(examples: int, steps: int) -> None:
    """Try some orders of so many events; no false alarm is possible."""
    profile = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(LedgerMachine, settings=profile)


def test_the_ledger_is_what_fractions_say_under_some_orders_of_events() -> None:
    """Six: twelve take half a minute in one piece. The statistical run tries 500."""
    run(examples=6, steps=40)


@pytest.mark.statistical
def test_the_ledger_is_what_fractions_say_under_many_orders_of_events() -> None:
    run(examples=500, steps=50)
