"""The ledger under any order of events: entries sum to balances, both are what exact fractions say (2-privacy §9).

Plans, trainings and watches are asked alike; answers are refined in chains, and watches answered at loads; accounts add
up ε and δ, or ρ. The services and the store are the real ones; so are restarts, which close everything and open it
again, and also come between an answer that was drawn and its entry.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial, reduce
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

from holder_service.domain.errors import (
    AlreadyCharged,
    BudgetExhausted,
    CapExhausted,
    Conflict,
    HolderError,
    InvalidRequest,
    NoRecords,
    NotFound,
    VersionGone,
)
from holder_service.domain.ledger import Balance, Replay
from holder_service.records.formats import Upload
from holder_service.services.accounts import access, populations
from holder_service.services.datasets import budgets, datasets
from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases import releases, watching
from holder_service.services.releases.asked import AskedRelease
from holder_service.services.running import loads
from holder_service.services.running.holder import Holder, initialise
from holder_service.storage import ledger as stored_ledger
from holder_service.storage import watches as stored_watches
from holder_service.storage.releases import StoredRelease
from holder_service.storage.watches import Statement
from shared.contract.datasets import BudgetGrant, DatasetDeclaration, NewAuditor
from shared.kinds.plans import Plan
from shared.kinds.releases import LedgerPosition
from shared.kinds.requests import ReleaseRequest
from shared.kinds.trainings import Training
from shared.kinds.watches import Watch
from shared.privacy.amounts import NANO_PER_UNIT, AccountKind
from shared.privacy.amounts import Loss as HolderLoss
from shared.wire.problems import InvalidPlan, PlanRefused
from testing.holders import settings_in
from testing.ledger_model import (
    NOTHING,
    Loss,
    Model,
    ModelWatch,
    Purse,
    Question,
    added,
    in_rho,
    in_sum,
    pure_rho,
)
from testing.registers import LEARNABLE, learnable_csv
from testing.registers import plan as plan_document
from testing.registers import training as training_document
from testing.registers import watch as watch_document

Refusal = type[HolderError] | type[PlanRefused]
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
AUDITORS: Final = ("ADR", "BDR")
RECORDS: Final = learnable_csv(people=20)
REFUSALS: Final[dict[str, Refusal]] = {
    "not-found": NotFound, "no-records": NoRecords, "budget-exhausted": BudgetExhausted, "cap-exhausted": CapExhausted,
    "version-gone": VersionGone, "conflict": Conflict, "invalid-plan": InvalidPlan, "invalid-request": InvalidRequest,
}  # fmt: skip
OTHER_KIND: Final[dict[AccountKind, AccountKind]] = {"sum": "zcdp", "zcdp": "sum"}

auditor_names = st.sampled_from(AUDITORS)
dataset_names = st.sampled_from(("first", "second", "third", "fourth"))
population_names = st.sampled_from(("people", "others", "monthly"))
epsilons = st.sampled_from(("0.1", "0.25", "0.333333333", "0.001"))


@dataclass(frozen=True)
class Limit:
    """A limit of either kind: what it is in an account of one, and whether it is stated in the wrong one."""

    epsilon: str
    delta: str
    rho: str
    amiss: bool = False

    def of(self, kind: AccountKind) -> tuple[AccountKind, Loss, dict[str, str]]:
        """Its kind, as the model has it, and as it is sent; for an account of some kind."""
        kind = OTHER_KIND[kind] if self.amiss else kind
        if kind == "zcdp":
            return kind, in_rho(self.rho), {"rho": self.rho}
        return kind, in_sum(self.epsilon, self.delta), {"epsilon": self.epsilon, "delta": self.delta}


limits = st.builds(
    Limit, st.sampled_from(("0", "0.3", "0.7", "1.000000001", "2")), st.sampled_from(("0", "0.000000001", "0.00001")),
    st.sampled_from(("0", "0.02", "0.070000001", "0.3")), st.sampled_from((False,) * 5 + (True,)),
)  # fmt: skip


@dataclass(frozen=True)
class Priced:
    """A question, and what it has to cost in either kind of account.

    Attributes:
        stated: In ε and δ; none if it is asked in ρ.
        rho: In ρ; none where that is the holder's to say, by its noise or its steps.
    """

    asked: ReleaseRequest
    stated: Loss | None
    rho: Loss | None


def in_fractions(balance: Balance) -> Purse:
    """A balance of the ledger as the model has it."""
    expires = None if balance.expires is None else datetime.fromisoformat(balance.expires)
    return Purse(loss_of(balance.limit), loss_of(balance.spent), expires)


def loss_of(loss: HolderLoss) -> Loss:
    """A loss of the ledger as the model has it."""
    if loss.rho_nano is not None:
        return in_rho(Fraction(loss.rho_nano, NANO_PER_UNIT))
    return in_sum(Fraction(loss.epsilon_nano, NANO_PER_UNIT), Fraction(loss.delta_nano, NANO_PER_UNIT))


def plan_of(epsilon: str, *, noise: str, overlapping: bool, draw: int) -> Priced:
    """A plan, and what it has to cost: overlapping cells are two classes and cost twice."""
    document: dict[str, Any] = plan_document(epsilon=epsilon, draw=draw)
    [batch] = document["batches"]
    if overlapping:
        batch["cells"][1]["all_of"] = []
    classes = 1 + overlapping
    if noise == "rho":
        document["batches"] = [{**batch, "mechanism": {"name": "gaussian"}, "epsilon": None, "rho": "0.01"}]
        return Priced(Plan.model_validate(document), None, in_rho(classes * Fraction("0.01")))
    delta = "0" if noise == "laplace" else "0.000001"
    if noise == "gaussian":
        batch["mechanism"] = {"name": "gaussian", "delta": delta}
    stated = in_sum(Fraction(epsilon) * classes, Fraction(delta) * classes)
    rho = None if noise == "gaussian" else in_rho(classes * pure_rho(Fraction(epsilon)))
    return Priced(Plan.model_validate(document), stated, rho)


def training_of(epsilon: str, *, algorithm: dict[str, Any], draw: int) -> Priced:
    """A training by one feature, and what it has to cost: its ε, whole."""
    document = training_document(epsilon=epsilon, draw=draw, algorithm=algorithm, features=[{"column": "citizen"}])
    return Priced(Training.model_validate(document), in_sum(epsilon), None)


def watch_of(epsilon: str, *, margin: int, draw: int) -> Priced:
    """A watch, and what it has to cost: its ε. By its margin it says "changed" at once, or never; noise of 5000 people
    comes less than once in 10¹⁵ times.
    """
    watch = Watch.model_validate(watch_document(epsilon=epsilon, margin=margin, draw=draw))
    return Priced(watch, in_sum(epsilon), in_rho(pure_rho(Fraction(epsilon))))


def classes_of(plan: Plan) -> int:
    """Two, where the second cell is everybody."""
    return 1 + (not plan.batches[0].cells[1].any_of[0].all_of)


def finer(plan: Plan, identity: str, epsilon: str) -> Priced:
    """A plan that refines a release, and what it has to cost: the difference; in ρ none is."""
    document = plan.model_dump(mode="json", exclude_none=True, exclude={"version"})
    [batch] = plan.batches
    more = Fraction(epsilon) - Fraction(batch.loss.epsilon_nano, NANO_PER_UNIT)
    document["batches"][0]["epsilon"] = epsilon
    asked = Plan.model_validate({**document, "refines": identity})
    return Priced(asked, in_sum(more * classes_of(plan)) if more > 0 else None, None)


def refined_by(request: ReleaseRequest) -> str | None:
    """The release that a plan refines, if it refines one."""
    return request.refines if isinstance(request, Plan) else None


def asked_of(content: str) -> ReleaseRequest:
    """What was asked, of its JSON."""
    document = json.loads(content)
    kind = Training if "algorithm" in document else Watch if "threshold" in document else Plan
    return kind.model_validate(document)


plans = st.builds(
    plan_of, epsilons, noise=st.sampled_from(("laplace", "laplace", "gaussian", "rho")), overlapping=st.booleans(),
    draw=st.integers(1, 3),
)  # fmt: skip
trainings = st.builds(
    training_of, epsilons,
    algorithm=st.sampled_from(({"name": "fair_tree", "depth": 1}, {"name": "pflr"}, {"name": "fair_linear"})),
    draw=st.integers(1, 2),
)  # fmt: skip
watches = st.builds(
    watch_of, st.sampled_from(("0.1", "0.25")), margin=st.sampled_from((-5000, 5000)), draw=st.integers(1, 2)
)
questions = plans | plans | trainings | watches


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
        self.said: dict[str, tuple[Statement, ...]] = {}
        self.open()

    def open(self) -> None:
        self.holder = Holder.open(settings_in(self.home))
        self.store = LedgerStore(self.holder.store.database, self.holder.store.anchor, clock=lambda: self.now)

    def teardown(self) -> None:
        found = ledger_reading.verify(self.store, seals=self.holder.seals)
        self.holder.close()
        shutil.rmtree(self.folder)
        assert found.intact, found.reason
        for plan, charges in self.chains():
            assert sum(charges) == Fraction(plan.batches[0].loss.epsilon_nano, NANO_PER_UNIT) * classes_of(plan)

    def chains(self) -> Iterator[tuple[Plan, list[Fraction]]]:
        """Of each chain its last plan, and what every link was charged."""
        bodies = {identity: json.loads(body) for identity, body in self.model.answered.values()}
        refined = {question.refines for question in self.model.answered}
        for question, (identity, _) in self.model.answered.items():
            if question.refines is not None and identity not in refined:
                charges, link = [], identity
                while link is not None:
                    charges.append(Fraction(bodies[link]["charge"]["epsilon"]))
                    link = bodies[link]["plan"].get("refines")
                yield Plan.model_validate_json(question.content), charges

    @initialize(relation=st.sampled_from(("add_remove", "replace")))
    def begin_with_budgets(self, relation: str) -> None:
        """Four datasets of three populations, two auditors with limits; without them most questions would be moot."""
        self.relation = relation
        for name, population in (("first", "people"), ("second", "people"), ("third", "others"), ("fourth", "monthly")):
            self.model.kinds.setdefault(population, "zcdp" if population == "monthly" else "sum")
            self.declare(name, population, Limit("2", "0.00001", "0.3"))
            self.load(name)
        for name, auditor, limit in (
            ("first", "ADR", "1.000000001"), ("first", "BDR", "2"), ("third", "ADR", "0.7"), ("fourth", "BDR", ""),
        ):  # fmt: skip
            self.grant(name, auditor, Limit(limit, "0.00001", "0.070000001"), None)

    @rule(name=dataset_names, population=population_names, cap=limits)
    def declare(self, name: str, population: str, cap: Limit) -> None:
        kind, limit, stated = cap.of(self.model.kinds.get(self.model.resolved(population), "sum"))
        stated = stated if kind == "sum" else {**stated, "delta": "0.000001"}
        declaration = DatasetDeclaration.model_validate(
            {**LEARNABLE, "relation": self.relation, "population": population, "cap": stated}
        )
        allowed = self.model.declare(name, population, limit, kind)

        self.expect(
            None if allowed else (Conflict, AlreadyCharged),
            lambda: datasets.declare(
                self.store,
                actor="administrator",
                name=name,
                declaration=declaration,
                files=self.holder.files,
                sets_cap=True,
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
            self.model.load(name)
            assert loaded == self.model.datasets[name].version

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
    def grant(self, name: str, auditor: str, limit: Limit, hours: int | None) -> None:
        """Grant, raise, lower (also below what was spent), revoke; some expire, some are to have ended before."""
        expires = None if hours is None else self.now + timedelta(hours=hours)
        kind, amounts, stated = limit.of(self.model.kind_of(name) if name in self.model.datasets else "sum")
        grant = BudgetGrant.model_validate({**stated, "expires": expires})
        refused = self.model.grant(name, auditor, amounts, kind, expires, now=self.now)

        self.expect(
            None if refused is None else REFUSALS[refused],
            lambda: budgets.set_limit(self.store, actor="administrator", dataset=name, auditor=auditor, grant=grant),
        )

    @rule(name=dataset_names, auditor=auditor_names, asked=questions)
    def ask(self, name: str, auditor: str, asked: Priced) -> None:
        self.check_answer(name, auditor, asked, limit_meanwhile=None)

    @precondition(lambda self: self.model.datasets)
    @rule(name=dataset_names, auditor=auditor_names, asked=questions, limit=limits)
    def ask_while_the_limit_changes(self, name: str, auditor: str, asked: Priced, limit: Limit) -> None:
        """A raise, a lowering or a revocation comes between draw and charge; or the process ends."""
        self.check_answer(name, auditor, asked, limit_meanwhile=limit)

    @rule(name=dataset_names, auditor=auditor_names, asked=questions)
    def quote(self, name: str, auditor: str, asked: Priced) -> None:
        """A price is that of the model whatever was answered; the invariants see that it moves nothing."""
        dataset = self.model.datasets.get(name)
        if dataset is None or dataset.version is None:
            return

        loss = self.loss_of_question(name, auditor, asked)
        quoted = self.expect(
            InvalidPlan if loss is None else None,
            lambda: releases.quote(self.store, auditor=auditor, dataset=name, asked=asked.asked),
        )

        assert loss is None or loss_of(quoted.charge) == loss

    @precondition(lambda self: self.model.answered)
    @rule(choice=st.randoms(use_true_random=False), epsilon=st.sampled_from(("0.15", "0.3", "0.5", "0.8")))
    def refine(self, choice: Any, epsilon: str) -> None:
        """Any answer with Laplace noise that was given, for its auditor, at another ε; of the newest three."""
        answered = [
            (question, identity, plan)
            for question, (identity, _) in self.model.answered.items()
            if isinstance(plan := asked_of(question.content), Plan) and plan.batches[0].mechanism.name == "laplace"
        ]
        if not answered:
            return
        question, identity, plan = choice.choice(answered[-3:])
        self.check_answer(question.dataset, question.auditor, finer(plan, identity, epsilon), limit_meanwhile=None)

    @rule(killed=st.booleans())
    def answer_watches(self, killed: bool) -> None:
        """What waits is drawn and entered, as the holder's own round does; or drawn, and the process is killed."""
        for waiting in self.store.look_up(partial(stored_watches.pending, rehearsed=False)):
            drawn = watching.draw(self.store, waiting, engine=self.holder.engine, seals=self.holder.seals)
            if killed:
                self.restart()
                return
            self.model.answer(self.model.watches[waiting.id], self.now)
            work = partial(watching.enter, watch=waiting, drawn=drawn, signing=self.holder.signing)
            self.store.commit(work)
            self.store.commit(work)

    @precondition(lambda self: self.model.answered)
    @rule(choice=st.randoms(use_true_random=False))
    def ask_again(self, choice: Any) -> None:
        """Any plan or training that was ever answered, pinned to its version, whatever became of records and budget."""
        question, (_, body) = choice.choice(list(self.model.answered.items()))
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
            lambda: populations.merge(self.store, actor="administrator", into=into, source=source),
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
                assert min(loss_of(left)) >= 0

    @invariant()
    def entries_sum_to_balances(self) -> None:
        with self.store.database.read() as connection:
            for entry in stored_ledger.read_entries(connection, after=self.replay.sequence):
                self.replay.apply(entry)
            assert stored_ledger.head(connection) == LedgerPosition(
                sequence=self.replay.sequence, hash=self.replay.hash
            )
        unmerged = [loss_of(cap.spent) for name, cap in self.replay.caps.items() if name not in self.model.merged]
        assert reduce(added, unmerged, NOTHING) == self.model.charged
        assert self.store.is_anchored()

    @invariant()
    def a_watch_says_what_it_said_and_changed_once(self) -> None:
        found = {one.release.id: one for auditor in AUDITORS for one in watching.of_auditor(self.store, auditor)}
        assert found.keys() == self.model.watches.keys()
        for identity, one in found.items():
            watch = self.model.watches[identity]
            said = [json.loads(body) for body in one.bodies("watch_answer")]
            assert {each["version"]: each["watch_answer"]["changed"] for each in said} == watch.answers
            assert (len(said), one.pending) == (len(watch.answers), watch.pending)
            before = self.said.get(identity, ())
            assert one.signed[: len(before)] == before
            self.said[identity] = one.signed

    def expect(self, refusal: Refusal | tuple[Refusal, ...] | None, call: Any) -> Any:
        """Call, and be refused if that is expected."""
        if refusal is None:
            return call()
        with pytest.raises(refusal):
            call()
        return None

    def loss_of_question(self, name: str, auditor: str, priced: Priced) -> Loss | None:
        """What a question about loaded records has to cost; none where the account has no such loss."""
        if self.model.kind_of(name) == "sum":
            return priced.stated
        if priced.rho is not None or refined_by(priced.asked) is not None:
            return priced.rho
        return loss_of(releases.quote(self.store, auditor=auditor, dataset=name, asked=priced.asked).charge)

    def check_answer(self, name: str, auditor: str, priced: Priced, *, limit_meanwhile: Limit | None) -> None:
        asked, dataset = priced.asked, self.model.datasets.get(name)
        question, loss = None, None
        if dataset is not None and dataset.version is not None:
            question = Question(auditor, name, dataset.version, asked.model_dump_json(), refined_by(asked))
            loss = self.loss_of_question(name, auditor, priced)
        outcome = self.model.outcome(question, name, auditor, loss, self.now)
        event(f"{'refined' if refined_by(asked) else asked.kind}: {outcome}")
        if outcome in REFUSALS:
            with pytest.raises(REFUSALS[outcome]):
                releases.prepare(self.store, self.holder.files, auditor=auditor, dataset=name, asked=asked)
            return
        assert question is not None

        prepared = releases.prepare(self.store, self.holder.files, auditor=auditor, dataset=name, asked=asked)
        if isinstance(prepared, StoredRelease):
            assert outcome == "again"
            assert (prepared.id, prepared.body) == self.model.answered[question]
            return
        assert outcome == "released"
        assert loss is not None
        assert isinstance(prepared, AskedRelease)
        drawn = releases.draw(prepared, engine=self.holder.engine, seals=self.holder.seals)
        if limit_meanwhile is not None:
            self.grant(name, auditor, limit_meanwhile, None)
            if limit_meanwhile.amiss:
                self.restart()  # it was drawn, and its process dies: it is as if it had not been asked
                return
            outcome = self.model.outcome(question, name, auditor, loss, self.now)
            event(f"while the limit changed: {outcome}")
        answered = self.expect(
            REFUSALS.get(outcome),
            lambda: releases.enter(
                self.store,
                drawn=drawn,
                proof=self.key_ids[auditor],
                signing=self.holder.signing,
                pace=self.holder.pace,
            ).result(),
        )
        if answered is not None:
            assert answered.new
            self.model.charge(question, loss, answered.release.id, answered.release.body)
            if isinstance(asked, Watch):
                self.model.watches[answered.release.id] = ModelWatch(
                    auditor, name, changes=asked.margin > 0, pending=question.version
                )


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


@pytest.mark.slow
def test_the_ledger_is_what_fractions_say_under_some_orders_of_events() -> None:
    """Six: twelve take half a minute in one piece. The statistical run tries 500."""
    run(examples=6, steps=40)


@pytest.mark.statistical
def test_the_ledger_is_what_fractions_say_under_many_orders_of_events() -> None:
    run(examples=500, steps=50)
