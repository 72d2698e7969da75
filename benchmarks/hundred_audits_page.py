"""What `benchmarks.hundred_audits` shows: a table, and a picture of one register's hundred months."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from auditor_client.estimation.estimates import Estimate
from auditor_client.text import loss_words
from shared.privacy.amounts import Loss

PAGE: Final = Path("docs/time.md")
PICTURE: Final = PAGE.with_suffix(".svg")
BEGIN: Final = "<!-- Written by python -m benchmarks.hundred_audits --write: begin -->"
END: Final = "<!-- end -->"
COLUMNS: Final = (
    "way", "months answered", "intervals, median width", "decided", "wrong", "noticed after, months", "spent"
)  # fmt: skip

WIDTH: Final = 900
PANEL: Final = 128
PLOT: Final = 88
LEFT: Final = 60
TOP: Final = 62
MONTH: Final = 8
LOWEST: Final = 0.5
STYLE: Final = """
svg{font:14px system-ui,sans-serif}.card{fill:#fff}text{fill:#1b2b3a}.soft{fill:#52616f}.grid{stroke:#8794a1;fill:none}
.true{stroke:#1b2b3a;fill:none;stroke-width:1.5}.meets{stroke:#0072b2}.fails{stroke:#d55e00}.undecided{stroke:#9aa4ae}
.bars{stroke-width:4;fill:none}.said{stroke-width:7;fill:none}
@media (prefers-color-scheme:dark){.card{fill:#1a222c}text{fill:#e8edf2}.soft{fill:#b3bfca}.true{stroke:#e8edf2}
.meets{stroke:#56b4e9}.fails{stroke:#f0883e}.undecided{stroke:#6b7783}}
"""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one way gives, on average over some registers.

    Attributes:
        answered: In how many months something was said of the ratio.
        width: Of the intervals, the median.
        decided, wrong: In how many months it was said to meet or to fail the threshold; and in how many of them the
            people in the records then were on the other side.
        noticed: Months after the ratio failed for good, until that was first said: the median and the latest.
        spent: In the register where it was most.
    """

    way: str
    answered: float
    width: float
    decided: float
    wrong: float
    noticed: tuple[float, int] | None
    spent: Loss


class Month(Protocol):
    """What is known of one month."""

    @property
    def month(self) -> int: ...
    @property
    def verdict(self) -> str: ...
    @property
    def interval(self) -> Estimate | None: ...


def table(summaries: Sequence[Summary]) -> str:
    """The figures, as Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(_row, summaries)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(summaries: Sequence[Summary], drawn: str) -> None:
    """Put both into the documentation."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(summaries)}\n\n{END}{after}", "utf-8")
    PICTURE.write_text(drawn, "utf-8")


def picture(ways: Mapping[str, tuple[Sequence[float], Sequence[Month]]], threshold: float) -> str:
    """An SVG of what each way says of one register, whose true ratios come with it."""
    panels = "".join(
        _panel(index, way, ratios, said, threshold) for index, (way, (ratios, said)) in enumerate(ways.items())
    )
    height = TOP + PANEL * len(ways) + 26
    legend = "".join(
        f'<path class="bars {verdict}" d="M{x} 40h22"/><text x="{x + 30}" y="45">{words}</text>'
        for x, verdict, words in (
            (LEFT, "meets", "meets 0.8"),
            (180, "undecided", "undecided"),
            (300, "fails", "fails"),
        )
    )
    years = "".join(
        f'<text class="soft" x="{_x(12 * year) - 4}" y="{height - 12}">{year}</text>' for year in range(1, 9)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t">'
        '<title id="t">A hundred monthly audits of one register in four ways: intervals of the ratio by month, with '
        f"the true ratio, which falls below 0.8 in the sixth year. The table has the figures.</title><style>{STYLE}"
        f'</style><rect class="card" width="{WIDTH}" height="{height}" rx="10"/>'
        f'<text x="{LEFT}" y="24">Each bar: the interval of one audit. Line: the true ratio, which nobody sees. '
        f"Dashes: 0.8. Strip: what a watch says.</text>{legend}{panels}"
        f'<text class="soft" x="14" y="{height - 12}">year</text>{years}'
        "</svg>\n"
    )


def _row(summary: Summary) -> tuple[str, ...]:
    median, latest = summary.noticed or (None, None)
    return (
        summary.way,
        f"{summary.answered:.0f}",
        f"{summary.width:.3f}",
        f"{summary.decided:.0f}",
        f"{summary.wrong:.1f}",
        "never" if median is None else f"{median:.0f}, at most {latest}",
        loss_words(summary.spent),
    )


def _panel(index: int, way: str, ratios: Sequence[float], said: Sequence[Month], threshold: float) -> str:
    top = TOP + PANEL * index + 24

    def y(ratio: float) -> float:
        return round(top + PLOT * (1 - (max(ratio, LOWEST) - LOWEST) / (1 - LOWEST)), 1)

    drawn: defaultdict[str, str] = defaultdict(str)
    for one in said:
        if one.interval is None:
            drawn[f"said {one.verdict}"] += f"M{_x(one.month) - 4} {top + PLOT}h{MONTH}"
        else:
            drawn[f"bars {one.verdict}"] += f"M{_x(one.month)} {y(one.interval.low)}V{y(one.interval.high)}"
    paths = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in drawn.items())
    true = " ".join(f"{_x(month)},{y(ratio)}" for month, ratio in enumerate(ratios, start=1))
    ticks = "".join(f'<text class="soft" x="22" y="{y(ratio) + 5}">{ratio}</text>' for ratio in (0.6, 0.8, 1.0))
    return (
        f'<text x="{LEFT}" y="{top - 8}" font-weight="600">{way}</text>{ticks}{paths}'
        f'<polyline class="true" points="{true}"/>'
        f'<path class="grid" stroke-dasharray="5 4" d="M{LEFT} {y(threshold)}H{_x(len(ratios)) + 4}"/>'
    )


def _x(month: int) -> int:
    return LEFT + MONTH * month
