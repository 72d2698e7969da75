"""The Dutch student grants, audited for real: `PAFER_DATA=… ./run reproduce student-grants`.

A register is made of the published counts (`duo-2014.csv`, Statistics Netherlands, CC BY 4.0): a student for each, with
origin, risk category and whether the risk profile or an official selected the student for a control. The source rounds
every count to ten, so the register is not the real one, and sums of categories differ from published totals by tens. A
holder is set up, the register is loaded, and an auditor asks it at ε: by three origins, by five, the risk profile by
itself, the choice within every risk category, and once without saying what kind of decision it is. Every figure stands
beside the published one. Then `student_grants_draws` and `student_grants_chain` draw the noise many times: what one
audit shows of the ratio, and of the steps from the selection to the finding. `--picture FILE` writes what the audits of
this run show of each group, as SVG.
"""

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from auditor_client import Auditor, AuditResult
from auditor_client.asking.request import ADVERSE
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.results import ParityEstimate
from benchmarks import student_grants_chain
from benchmarks.student_grants_draws import faults_of_draws
from benchmarks.student_grants_picture import Bar, picture
from pafer_demo.open_data import data_directory, is_published
from testing.holders import running_holder

FILE: Final = "duo-2014.csv"
SHA256: Final = "6868e94fa8b2565da91d0cba2486fa06fa7c74c4cf5f7b26998cc6d20a7b58b3"
CATEGORIES: Final = tuple("123456")
"""Of risk: from very high to very low; 6 is unknown."""
ORIGINS: Final = ("dutch", "european", "outside Europe")
FIVE: Final = {
    "dutch": ("dutch", "origin_nl"),
    "european, born here": ("european", "born_nl_origin_europe"),
    "outside Europe, born here": ("outside Europe", "born_nl_origin_outside_europe"),
    "european, born abroad": ("european", "born_outside_origin_europe"),
    "outside Europe, born abroad": ("outside Europe", "born_outside_origin_outside_europe"),
}
"""Of each of the five groups the origin, and the column of the published table."""
COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "risk", "type": "category", "categories": list(CATEGORIES)},
    {"name": "selected", "type": "boolean"},
    {"name": "origin", "type": "category", "categories": list(ORIGINS), "sensitive": True},
    {"name": "background", "type": "category", "categories": list(FIVE), "sensitive": True},
]


@dataclass(frozen=True, slots=True)
class Students:
    """So many students of one background and risk category, who were selected or not."""

    background: str
    risk: str
    selected: bool
    number: int

    @property
    def origin(self) -> str:
        """Dutch, European, or outside Europe."""
        return FIVE[self.background][0]


def published(path: Path) -> list[Students]:
    """The published counts by background, risk category and selection."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["category"]: row for row in csv.DictReader(file)}
    return [
        Students(
            background,
            risk,
            selected,
            int(rows[f"Risk category {risk} & Selected for control: {'yes' if selected else 'no'}"][column]),
        )
        for background, (_, column) in FIVE.items()
        for risk in CATEGORIES
        for selected in (True, False)
    ]


def records(students: Sequence[Students]) -> bytes:
    """A register with a row for each student, as CSV."""
    lines = ["id,risk,selected,origin,background"]
    for part in students:
        row = f'{part.risk},{str(part.selected).lower()},{part.origin},"{part.background}"'
        lines += [f"s{len(lines) + number},{row}" for number in range(part.number)]
    return "\n".join([*lines, ""]).encode()


def rate(students: Sequence[Students]) -> float:
    """The share that was selected."""
    return sum(part.number for part in students if part.selected) / sum(part.number for part in students)


def main() -> int:
    """Make the register, audit it, and compare; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--epsilon", default="0.05", help="of each audit [0.05]")
    parser.add_argument("--picture", type=Path, help="write an SVG of this run's ratios to this file")
    given = parser.parse_args()
    epsilon = given.epsilon
    directory = data_directory()
    path = None if directory is None else directory / FILE
    if path is None or not is_published(path, SHA256):
        print(f"There is no {FILE} as it was published: name its directory in PAFER_DATA.", file=sys.stderr)
        return 2
    students = published(path)
    number = sum(part.number for part in students)
    print(f"A register of {number} students from published counts, which are rounded to ten.")
    with tempfile.TemporaryDirectory() as home, running_holder(Path(home)) as holder:
        holder.offer("grants", records(students), epsilon="10", columns=COLUMNS, records_max=1_000_000, person_key="id")
        with Auditor(holder.url, holder.auditor_key, receipts=Path(home) / "receipts") as auditor:
            bars: list[Bar] = []
            faults = list(_audits(auditor, students, epsilon, bars))
    if given.picture is not None:
        given.picture.write_text(picture(bars, epsilon=epsilon), encoding="utf-8")
    faults += [*_draws(students, epsilon), *student_grants_chain.faults(path, epsilon)]
    print("\n".join(faults) or "\nEvery figure agrees with the published counts, and no verdict is “meets” by itself.")
    return 1 if faults else 0


def _draws(students: Sequence[Students], epsilon: str) -> Iterator[str]:
    """What many draws show of the ratio by origin; gives what does not agree."""
    left_alone, selected = (
        np.array([[sum(part.number for part in students if (part.origin, part.selected) == (origin, selected))
                   for origin in ORIGINS]])
        for selected in (False, True)
    )  # fmt: skip
    yield from faults_of_draws(tuple((origin,) for origin in ORIGINS), left_alone, selected, epsilon)


def _audits(auditor: Auditor, students: Sequence[Students], epsilon: str, bars: list[Bar]) -> Iterator[str]:
    """Audit by every question, print what is found, and add it to the picture's bars; gives what does not agree."""
    asked: dict[str, Any] = {"decision": "selected", "favourable": (False,), "reference": "dutch"}
    for column in ("origin", "background"):
        punitive = auditor.audit(None, "grants", [column], epsilon, intervention="punitive", **asked)
        yield from _compared(f"by {column}, punitive", punitive, students, column)
        bars += _bars(punitive.first, students, column)
        if punitive.verdict is not Verdict.FAILS:
            yield f"by {column}: the verdict is {punitive.verdict.value}"
    profile = {**asked, "decision": "risk", "favourable": CATEGORIES[1:]}
    step = auditor.audit(None, "grants", ["origin"], epsilon, intervention="punitive", **profile)
    first = [replace(part, selected=part.risk == "1") for part in students]
    yield from _compared("the profile, risk category 1", step, first, "origin")
    bars += _bars(step.first, first, "origin", "Step 1, profile: outside Europe")
    unsaid = auditor.audit(None, "grants", ["origin"], epsilon, **asked)
    print(f"\nThe kind of decision is not said: {unsaid.verdict.value}\n  {unsaid.view.data.headline}")
    if unsaid.verdict is Verdict.MEETS:
        yield "without a kind of decision the verdict is meets"
    within = auditor.audit(None, "grants", ["origin"], epsilon, intervention="punitive", by="risk", **asked)
    for one in within.by_stratum[ADVERSE].strata:
        people = [part for part in students if part.risk == one.stratum.value]
        if one.stratum.value == "1":
            bars += _bars(one.estimate, people, "origin", "Step 2, choice in category 1")
        if isinstance(one.estimate, ParityEstimate):
            yield from _lines(f"risk category {one.stratum.value}", one.estimate, people, "origin")


def _bars(estimate: object, students: Sequence[Students], column: str, name: str = "{group}") -> Iterator[Bar]:
    """Each group's adverse ratio to students of Dutch origin, and the published one."""
    if not isinstance(estimate, ParityEstimate):
        return
    dutch = rate([part for part in students if getattr(part, column) == "dutch"])
    for one in estimate.comparisons:
        people = [part for part in students if getattr(part, column) == one.group[0]]
        if "{group}" in name or one.group[0] == ORIGINS[-1]:
            yield Bar(name.format(group=_titled(str(one.group[0]))), one.ratio, rate(people) / dutch)


def _titled(name: str) -> str:
    return name[:1].upper() + name[1:]


def _compared(title: str, result: AuditResult, students: Sequence[Students], column: str) -> Iterator[str]:
    print(f"\n{title}: {result.verdict.value}\n  {result.view.data.headline}")
    if isinstance(result.first, ParityEstimate):
        yield from _lines(title, result.first, students, column)


def _lines(title: str, estimate: ParityEstimate, students: Sequence[Students], column: str) -> Iterator[str]:
    """Every group's rate, and its adverse ratio to students of Dutch origin."""
    print(f"  {title}")
    of_group = {group: [part for part in students if getattr(part, column) == group[0]] for group in estimate.by_group}
    dutch = rate(next(part for group, part in of_group.items() if group[0] == "dutch"))
    for group, figure in estimate.by_group.items():
        yield from _line(f"{group[0]}, selected", figure, rate(of_group[group]), percent=True)
    for one in estimate.comparisons:
        if one.ratio.defined and dutch > 0:
            yield from _line(f"{one.group[0]}, times Dutch", one.ratio, rate(of_group[one.group]) / dutch)


def _line(name: str, figure: Estimate, truth: float, *, percent: bool = False) -> Iterator[str]:
    """A figure beside the published one; what lies far beyond its interval is a fault, as chance hardly has it."""
    times, unit = (100, " %") if percent else (1, "")
    print(
        f"    {name:<42} published {truth * times:7.3f}{unit}   audit {figure.value * times:7.3f}{unit} "
        f"[{figure.low * times:.3f}, {figure.high * times:.3f}]{'' if figure.known else '  not known'}"
    )
    below, above = figure.value - figure.low, figure.high - figure.value
    if not figure.value - 3 * below <= truth <= figure.value + 3 * above:
        yield f"{name}: published {truth:.5f}, audit {figure}"


if __name__ == "__main__":
    sys.exit(main())
