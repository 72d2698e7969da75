"""The picture of the student grants: how many times as often each group was selected as students of Dutch origin."""

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.estimation.estimates import Estimate

_STYLE: Final = (
    "svg{font:14px system-ui,sans-serif}.card{fill:#fff}text{fill:#1b2b3a}.soft{fill:#52616f}"
    ".grid{stroke:#8794a1;stroke-width:.5}.limit{stroke:#8794a1;stroke-dasharray:4 4}"
    ".fails{stroke:#d55e00;fill:#d55e00}.open{stroke:#9aa4ae;fill:#9aa4ae}.true{fill:#1b2b3a}"
    "@media (prefers-color-scheme:dark){.card{fill:#1a222c}text{fill:#e8edf2}.soft{fill:#b3bfca}"
    ".fails{stroke:#f0883e;fill:#f0883e}.open{stroke:#6b7783;fill:#6b7783}.true{fill:#e8edf2}}"
)
_LEFT, _RIGHT, _TOP, _ROW, _WIDTH = 300, 730, 78, 30, 900
_TIMES_MAX: Final = 11
_LIMIT: Final = 1.25
_HEADING: Final = "Selected for a control: times as often as students of Dutch origin"


@dataclass(frozen=True, slots=True)
class Bar:
    """A group's adverse ratio: what an audit says, and what was published."""

    name: str
    ratio: Estimate
    published: float


def picture(bars: Sequence[Bar], *, epsilon: str) -> str:
    """Return an SVG in which every interval, figure and published ratio is drawn and written."""
    bottom = _TOP + _ROW * len(bars)
    title = (
        f"How many times as often each group was selected for a control as students of Dutch origin: an audit at ε = "
        f"{epsilon} beside the published ratios. The tables have the figures."
    )
    key = f"Bar: 95 % interval of one audit at ε = {epsilon}. Grey: not known. Diamond: published. Dashes: 1.25."
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 56}" ',
            f'role="img" aria-labelledby="t"><title id="t">{html.escape(title)}</title><style>{_STYLE}</style>',
            f'<rect class="card" width="{_WIDTH}" height="{bottom + 56}" rx="10"/>',
            f'<text x="24" y="28" font-weight="600">{_HEADING}</text>',
            f'<text class="soft" x="24" y="50">{html.escape(key)}</text>',
            *_axis(bottom),
            *(part for number, bar in enumerate(bars) for part in _row(bar, _TOP + _ROW * number + _ROW / 2)),
            "</svg>\n",
        ]
    )


def _axis(bottom: int) -> Iterator[str]:
    for times in range(_TIMES_MAX + 1):
        yield f'<path class="grid" d="M{_at(times)} {_TOP}V{bottom}"/>'
        yield f'<text class="soft" x="{_at(times)}" y="{bottom + 20}" text-anchor="middle">{times}</text>'
    yield f'<path class="limit" d="M{_at(_LIMIT)} {_TOP}V{bottom}"/>'
    source = "Counts: Statistics Netherlands, May 2024, CC BY 4.0, rounded to ten."
    yield f'<text class="soft" x="24" y="{bottom + 44}" font-size="12">{source}</text>'


def _row(bar: Bar, y: float) -> Iterator[str]:
    ratio, kind = bar.ratio, "fails" if bar.ratio.known and bar.ratio.low > _LIMIT else "open"
    yield f'<text x="24" y="{y + 5}">{html.escape(bar.name)}</text>'
    yield f'<path class="{kind}" stroke-width="6" d="M{_at(ratio.low)} {y}H{_at(ratio.high)}"/>'
    if ratio.known:
        yield f'<circle class="{kind}" cx="{_at(ratio.value)}" cy="{y}" r="6"/>'
    x = _at(bar.published)
    yield f'<path class="true" d="M{x} {y - 6}l5 6l-5 6l-5 -6z"/>'
    figure = f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})" if ratio.known else "not known"
    yield f'<text x="{_RIGHT + 16}" y="{y + 5}">{figure}</text>'


def _at(times: float) -> float:
    """Where a ratio lies across the picture; what is beyond the axis ends with it."""
    shown = min(times, _TIMES_MAX) if math.isfinite(times) else _TIMES_MAX
    return round(_LEFT + (_RIGHT - _LEFT) * shown / _TIMES_MAX, 1)
