"""A hundred monthly audits of one register at equal total loss, in four ways (docs/time.md).

`python -m benchmarks.hundred_audits [--runs 12] [--people 20000] [--write]`

Every month one in twenty people leaves, and somewhat more come. Newcomers of the two groups are accepted at rates whose
ratio is 0.86 for five years, and 0.7 from then on, so that the ratio of all drifts across 0.8 within a year. Whoever
asks every month whether it is at least 0.8 may cost the people ε 1 at δ 10⁻⁶ in all:

- *sums of ε*: a hundredth of ε each month, Laplace noise;
- *sums of ρ*: a hundredth of the ρ that is read as that ε, Gaussian noise;
- *refining*: a hundredth of ε is put by each month, and whenever 0.08 is there an audit begins at 0.005 and is refined,
  twice the ε each time, until it is decided; what it does not need stays put by. The looks hold together, as those of
  `auditor audit --until-decided` do;
- *a watch*: an audit at ε 0.1 and a watch of its verdict at ε 0.4; after a change audits at ε 0.1 until one is decided,
  and a watch with what is left.

Prices, noise, watches and intervals are the holder's and the client's own; the counts alone are given, not counted.
Each run is another register. `--write` writes the figures and the picture into docs/.
"""

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.findings.looks import Looks
from benchmarks.hundred_audits_page import Summary, picture, table, write
from holder_service.mechanisms.sparse_vector import SparseVectorState
from holder_service.records.counting import TrueCounts
from holder_service.services.releases.priced import PricedPlan
from holder_service.services.releases.priced_watch import PricedWatch
from holder_service.services.releases.refining import Refined
from holder_service.storage.datasets import Dataset
from shared.contract.relations import NeighbouringRelation
from shared.kinds.plans import Plan
from shared.kinds.releases import AnswerToRequest, ReleasedBatch
from shared.kinds.watches import Watch
from shared.privacy.amounts import EPSILON_NANO_MIN, NANO_PER_UNIT, NO_LOSS, Loss, format_nano
from shared.privacy.capacity import rho_nano_read_as
from shared.privacy.charges import SUM, AccountTerms
from testing.registers import LOANS

MONTHS: Final = 100
CHANGED: Final = 60
SHARES: Final = (0.4, 0.6)
STAY: Final = 0.95
GROWTH: Final = 1.002
RATE: Final = 0.4
RATIOS: Final = (0.86, 0.7)
THRESHOLD: Final = 0.8
LEVEL: Final = 0.95
CAP: Final = Loss(NANO_PER_UNIT, 1000)
IN_RHO: Final = AccountTerms("zcdp", CAP.delta_nano)
CAP_RHO: Final = IN_RHO.of(rho_nano_read_as(CAP.epsilon_nano, CAP.delta_nano))
EACH_NANO: Final = CAP.epsilon_nano // MONTHS
LOOKS: Final = Looks.of(EACH_NANO // 2, Loss(8 * EACH_NANO), LEVEL)
AUDIT_NANO: Final = CAP.epsilon_nano // 10
WATCH_NANO: Final = 4 * AUDIT_NANO
RELATION: Final = NeighbouringRelation("add_remove")
CELLS: Final = (
    {"id": "accepted", "all_of": [{"column": "age", "op": "le", "value": 40}]},
    {"id": "refused", "all_of": [{"column": "age", "op": "gt", "value": 40}]},
)
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Version:
    """The register in one month.

    Attributes:
        counts: True numbers of accepted and of refused people, shape (2, groups).
    """

    month: int
    counts: Counts

    def count(self, *_: object) -> TrueCounts:
        """As an engine counts the two cells."""
        return TrueCounts(self.counts.copy())

    @property
    def ratio(self) -> float:
        """The smaller rate divided by the larger."""
        rates = self.counts[0] / self.counts.sum(axis=0)
        return float(rates.min() / rates.max())

    @property
    def truth(self) -> str:
        """What an exact audit would decide."""
        return "meets" if self.ratio >= THRESHOLD else "fails"


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of one month: an audit's interval, or what a watch said; and what was spent by then."""

    month: int
    verdict: str
    interval: Estimate | None
    spent: Loss


@dataclass(slots=True)
class Account:
    """What is charged, and that the cap admits it."""

    dataset: Dataset
    cap: Loss = CAP
    terms: AccountTerms = SUM
    spent: Loss = field(default=NO_LOSS)

    def charge(self, loss: Loss) -> None:
        """Enter a loss.

        Raises:
            ValueError: The cap does not admit it.
        """
        if not (self.spent + loss).fits_in(self.cap):
            raise ValueError("More would be spent than there is.")
        self.spent += loss

    def answered(self, plan: dict[str, Any], version: Version, refined: Refined | None = None) -> Refined:
        """The answer to a plan about a version, charged as the holder charges it."""
        asked = Plan.model_validate(plan).pinned(version.month)
        priced = PricedPlan.of(asked, self.dataset, RELATION, refined=refined, terms=self.terms)
        self.charge(priced.charge)
        name = f"sha256:{version.month:032x}{0 if refined is None else refined.sequence:032x}"
        head = AnswerToRequest(
            id=name, dataset=self.dataset.name, version=version.month, auditor="ADR", relation=RELATION.name,
            nonce="0" * 32, charge=priced.charge,
        )  # fmt: skip
        batches = priced.answer(head, version).batches
        return Refined(name, 1 if refined is None else refined.sequence + 1, asked, batches)


def month_by_month(people: int, source: np.random.Generator) -> list[Version]:
    """A register that lives."""
    found: list[Version] = []
    stay = np.zeros((2, len(SHARES)), dtype=np.int64)
    for month in range(1, MONTHS + 1):
        rates = RATE * np.array([RATIOS[month > CHANGED], 1])
        members = (people * GROWTH**month * np.array(SHARES)).astype(np.int64)
        coming = members - stay.sum(axis=0)
        accepted = source.binomial(coming, rates)
        counts = stay + np.array([accepted, coming - accepted])
        found.append(Version(month, counts))
        stay = source.binomial(counts, STAY)
    return found


def plan(epsilon_nano: int, **fields: Any) -> dict[str, Any]:
    """Both cells by sex, with Laplace noise."""
    batch = {"name": "all", "mechanism": {"name": "laplace"}, "epsilon": format_nano(epsilon_nano), "cells": CELLS}
    return {"sensitive": ["sex"], "batches": [batch], **fields}


def plan_in_rho(rho_nano: int) -> dict[str, Any]:
    """The same with Gaussian noise, asked in ρ."""
    batch = {"name": "all", "mechanism": {"name": "gaussian"}, "rho": format_nano(rho_nano), "cells": CELLS}
    return {"sensitive": ["sex"], "batches": [batch]}


def read(batches: Sequence[ReleasedBatch], level: float = LEVEL) -> Estimate:
    """The interval of the ratio that the client reads out of an answer."""
    [batch] = batches
    accepted, refused = (NoisyCounts.of([cell.counts], batch.noise) for cell in batch.cells)
    measured = Measurement(batch.groups, accepted, refused, "unfavourable")
    return estimate_parity(measured, threshold=THRESHOLD, level=level).ratio


def audited(account: Account, version: Version, asked: dict[str, Any]) -> Said:
    """One audit."""
    interval = read(account.answered(asked, version).batches)
    return Said(version.month, interval.against(THRESHOLD).value, interval, account.spent)


def by_sums(register: Sequence[Version], dataset: Dataset) -> Iterator[Said]:
    """An equal part of ε each month."""
    account = Account(dataset)
    for version in register:
        yield audited(account, version, plan(EACH_NANO))


def by_rho(register: Sequence[Version], dataset: Dataset) -> Iterator[Said]:
    """An equal part of ρ each month."""
    account = Account(dataset, CAP_RHO, IN_RHO)
    for version in register:
        yield audited(account, version, plan_in_rho((CAP_RHO.rho_nano or 0) // MONTHS))


def until_decided(account: Account, version: Version) -> Said:
    """An audit that is refined until it is decided."""
    answer: Refined | None = None
    for epsilon_nano in LOOKS.amounts:
        asked = plan(epsilon_nano) if answer is None else plan(epsilon_nano, refines=answer.id)
        answer = account.answered(asked, version, answer)
        interval = read(answer.batches, LOOKS.each)
        verdict = interval.against(THRESHOLD)
        if verdict is not Verdict.UNDECIDED:
            break
    return Said(version.month, verdict.value, interval, account.spent)


def by_refining(register: Sequence[Version], dataset: Dataset) -> Iterator[Said]:
    """As much as each audit takes, whenever there is enough for what it may take."""
    account = Account(dataset)
    for version in register:
        if EACH_NANO * version.month - account.spent.epsilon_nano >= LOOKS.amounts[-1]:
            yield until_decided(account, version)


def by_watch(register: Sequence[Version], dataset: Dataset) -> Iterator[Said]:
    """An audit, a watch of what it decided, and both again after a change."""
    account = Account(dataset)
    watched: tuple[PricedWatch, SparseVectorState] | None = None
    for version in register:
        left_nano = account.cap.epsilon_nano - account.spent.epsilon_nano
        if watched is not None:
            priced, state = watched
            state = priced.mechanism.answered(state, priced.distance(version))
            watched = None if state.is_changed else (priced, state)
            holds = priced.asked.verdict
            changed = "fails" if holds == "meets" else "meets"
            yield Said(version.month, changed if state.is_changed else holds, None, account.spent)
        elif left_nano >= AUDIT_NANO:
            said = audited(account, version, plan(AUDIT_NANO))
            epsilon_nano = min(WATCH_NANO, left_nano - AUDIT_NANO)
            if said.verdict != "undecided" and epsilon_nano >= EPSILON_NANO_MIN:
                asked = Watch.model_validate({
                    "sensitive": ["sex"], "favourable": CELLS[0], "unfavourable": CELLS[1], "verdict": said.verdict,
                    "threshold": str(THRESHOLD), "epsilon": format_nano(epsilon_nano), "version": version.month,
                })  # fmt: skip
                priced = PricedWatch.of(asked, dataset, RELATION, terms=account.terms)
                account.charge(priced.charge)
                watched = priced, priced.mechanism.begun(asked.margin)
            yield replace(said, spent=account.spent)


WAYS: Final = {"sums of ε": by_sums, "sums of ρ": by_rho, "refining": by_refining, "a watch": by_watch}


def noticed(register: Sequence[Version], said: Sequence[Said]) -> int | None:
    """How many months after the ratio failed for good that was first said; None if it never was.

    Negative where it was said before: of a month in which it failed too, or wrongly.
    """
    since = 1 + max(version.month for version in register if version.truth == "meets")
    return next((one.month - since for one in said if one.verdict == "fails" and one.month > CHANGED), None)


def summary(way: str, runs: Sequence[tuple[list[Version], list[Said]]]) -> Summary:
    """What one way gives in several registers."""
    every = [(one, register[one.month - 1].truth) for register, said in runs for one in said]
    decided = [one.verdict == truth for one, truth in every if one.verdict != "undecided"]
    first = [months for months in (noticed(*run) for run in runs) if months is not None]
    return Summary(
        way=way,
        answered=len(every) / len(runs),
        width=statistics.median(one.interval.width for one, _ in every if one.interval is not None),
        decided=len(decided) / len(runs),
        wrong=decided.count(False) / len(runs),
        noticed=(statistics.median(first), max(first)) if len(first) == len(runs) else None,
        spent=max((said[-1].spent for _, said in runs), key=lambda loss: loss.epsilon_nano),
    )


def main() -> None:
    """Print the table, and write it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=12, help="registers")
    options.add_argument("--people", type=int, default=20_000)
    options.add_argument("--write", action="store_true", help="write figures and picture into docs/")
    given = options.parse_args()
    dataset = Dataset(
        name="register", population="register", records_max=2 * given.people, schema=LOANS.table, retired=False,
        version=1, version_last=1, records_file=None, people_file=None,
    )  # fmt: skip
    registers = [month_by_month(given.people, np.random.default_rng(run)) for run in range(given.runs)]
    found = {way: [(one, list(asking(one, dataset))) for one in registers] for way, asking in WAYS.items()}
    summaries = [summary(way, runs) for way, runs in found.items()]
    print(table(summaries))
    if given.write:
        first = {way: ([one.ratio for one in runs[0][0]], runs[0][1]) for way, runs in found.items()}
        write(summaries, picture(first, THRESHOLD))


if __name__ == "__main__":
    main()
