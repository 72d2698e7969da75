"""What conditional parity gives for the demonstration's tree and register, against asking each stratum alone.

`python -m benchmarks.conditional_parity [--by hours_per_week=15,30,36] [--epsilon 0.5] [--runs 200]`

First what is true of the register: the groups' rates over all, within each stratum, and with the same mix of strata.
Then, over as many releases by the holder's own mechanism, the mean absolute error of the ratio within the strata and
the mean width of its interval: all of them asked at once at ε, and each alone at ε/S, which spends the same ε in all.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from auditor_client.asking.question import Question, make_question
from auditor_client.asking.request import AuditRequest
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.strata import estimate_strata
from holder_service.mechanisms.laplace import LaplaceMechanism
from pafer_demo.model import trained_tree
from pafer_demo.open_data import OpenData
from pafer_demo.register import register
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Cell
from shared.privacy.amounts import parse_nano
from testing.invented.strata import StratifiedRegister
from testing.many_releases import released_strata
from testing.registers import REGISTER
from testing.truths import true_parity


def asked(data: OpenData, sensitive: str, by: str, epsilon: str) -> Question:
    """The demonstration's tree as a question by strata."""
    dataset: DatasetDescription = REGISTER.model_copy(
        update={
            "columns": data.declaration.columns, "sensitive": data.declaration.table.sensitive,
            "person_key": data.declaration.person_key, "mechanisms": ("laplace",),
        }
    )  # fmt: skip
    request = AuditRequest(sensitive=(sensitive,), epsilon=epsilon, by=by, strategy="verdict")
    return make_question(trained_tree(data), dataset, request)


def true_counts(question: Question, data: OpenData) -> StratifiedRegister:
    """Accepted and refused people of every stratum and group of the register."""
    people = data.test.to_pylist()
    (batch,) = question.plan.batches

    def counted(cells: Sequence[Cell]) -> IntArray:
        table = question.dataset.table
        groups = {group: index for index, group in enumerate(question.groups)}
        counts = np.zeros((len(cells), len(groups)), dtype=np.int64)
        for person in people:
            for row, cell in enumerate(cells):
                if cell.matches(person):
                    counts[row, groups[table.group_of(person, question.request.sensitive)]] += 1
                    break
        return counts

    strata = len(question.strata)
    return StratifiedRegister(
        counted(batch.cells[:strata]), counted(batch.cells[strata:]), str(question.request.epsilon)
    )


def main() -> None:
    """Print what is true, and a line for each way of asking."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sensitive", default="sex")
    parser.add_argument("--by", default="hours_per_week=15,30,36")
    parser.add_argument("--epsilon", default="0.5")
    parser.add_argument("--people", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    data = register(people=options.people)
    question = asked(data, options.sensitive, options.by, options.epsilon)
    true = true_counts(question, data)
    names = [str(stratum.value) for stratum in question.strata]
    over = true.accepted.sum(axis=0) / true.sizes.sum(axis=0)
    print(f"{'':<16}{''.join(f'{group!s:>16}' for group in question.groups)}           ratio  people")
    for name, rates, sizes in (
        ("over all", over, true.sizes.sum(axis=0)),
        *zip(names, true.rates, true.sizes, strict=True),
        ("same mix", true.standardised(()), true.sizes.sum(axis=0)),
    ):
        print(f"{name:<16}{''.join(f'{rate:16.3f}' for rate in rates)}{true_parity(rates)[0]:16.3f}  {sizes}")
    ratios = np.array([true_parity(rates)[0] for rates in true.rates])
    same_mix, _ = true_parity(true.standardised(()))
    nano = parse_nano(options.epsilon)
    for words, of_each in (("all strata at once", nano), ("each alone at ε/S", nano // len(names))):
        mechanism = LaplaceMechanism.calibrated(epsilon_nano=of_each, sensitivity=1)
        releases = list(released_strata(true, mechanism, options.runs))
        found = [[estimate_parity(one).ratio for one in strata] for strata in releases]
        error = np.array([[one.value for one in strata] for strata in found]) - ratios
        width = np.array([[one.width for one in strata] for strata in found])
        print(f"{words}: mean error {np.abs(error).mean():.4f}, mean width {width.mean():.4f}")
        figures = [estimate_strata([[one] for one in strata]) for strata in releases[: options.runs // 4]]
        miss = [abs(one.standardised[0].ratio.value - same_mix) for one in figures]
        wide = [one.standardised[0].ratio.width for one in figures]
        print(f"  standardised ratio: mean error {np.mean(miss):.4f}, mean width {np.mean(wide):.4f}")


if __name__ == "__main__":
    main()
