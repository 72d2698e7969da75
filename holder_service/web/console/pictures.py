"""The console's pictures as numbers: bars of balances, and spending over time. Templates draw them as SVG.

Floats are for drawing; every amount next to a picture is written from the ledger's integers.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from holder_service.domain.ledger import Balance
from shared.privacy.amounts import NANO_PER_UNIT, Loss, format_nano

UNITS: Final = 1000.0
"""Pictures are drawn in a square of so many units, which the page stretches."""
CAP_IN_PICTURE: Final = 4
"""A cap of more than so many times what was spent stays outside the picture, or the spending could not be seen."""
TIME_STEPS: Final = (
    *(timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30)),
    *(timedelta(hours=hours) for hours in (1, 2, 3, 6, 12)),
    *(timedelta(days=days) for days in (1, 2, 7, 14, 28, 91, 182, 364, 1820)),
)
TICKS_MAX: Final = 6
AMOUNT_STEPS: Final = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit as a bar: what was spent within it, and what beyond it because it was lowered; in units of 1000."""

    spent: float
    beyond: float
    text: str


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A mark on an axis: where, in per cent of its length, and the text there."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Spending over time, of ε or ρ: paths in a square of 1000 units, ticks in per cent.

    `cap` is None where it is not drawn.
    """

    symbol: str
    spent: str
    area: str
    cap: str | None
    times: tuple[AxisTick, ...]
    amounts: tuple[AxisTick, ...]


def balance_bar(balance: Balance) -> Bar:
    """The ε of a balance as a bar, or its ρ. A limit of zero that nothing was spent of is an empty bar."""
    limit, spent = _amount(balance.limit), _amount(balance.spent)
    longest = max(limit, spent, 1)
    text = f"{format_nano(spent)} of {format_nano(limit)} spent"
    return Bar(UNITS * min(spent, limit) / longest, UNITS * max(spent - limit, 0) / longest, text)


def spending_chart(points: Sequence[tuple[datetime, Balance]], now: datetime, *, cap: bool = True) -> Chart | None:
    """A population's spending over time; None if nothing was spent yet.

    Args:
        points: The balance after each step of time that changed it, oldest first.
        cap: Whether the cap is drawn too; not where it is published.
    """
    if not points or _amount(points[-1][1].spent) == 0:
        return None
    begin = points[0][0]
    highest = max(_amount(balance.spent) for _, balance in points)
    cap_now = _amount(points[-1][1].limit)
    shows_cap = cap and cap_now <= CAP_IN_PICTURE * highest
    if shows_cap:
        highest = max(highest, cap_now)
    step = _round_step(highest / NANO_PER_UNIT / AMOUNT_STEPS)
    top = step * math.ceil(highest / NANO_PER_UNIT / step - 1e-9)
    length_s = max((now - begin).total_seconds(), 1.0)

    def point(at: datetime, nano: int) -> tuple[float, float]:
        # A clock may have been set back, and a cap lowered since: the picture stays in its frame.
        x = UNITS * min(max((at - begin).total_seconds() / length_s, 0.0), 1.0)
        return x, UNITS * max(1 - nano / NANO_PER_UNIT / top, 0.0)

    spent = _steps([point(at, _amount(balance.spent)) for at, balance in points])
    limit = _steps([point(at, _amount(balance.limit)) for at, balance in points])
    return Chart(
        symbol="ε" if points[-1][1].limit.kind == "sum" else "ρ",
        spent=spent,
        area=f"{spent}V{UNITS:g}H0Z",
        cap=limit if shows_cap else None,
        times=tuple(_time_ticks(begin, now)),
        amounts=tuple(
            AxisTick(100 - 100 * count * step / top, f"{count * step:.9g}") for count in range(round(top / step) + 1)
        ),
    )


def _amount(loss: Loss) -> int:
    """Return what is added up, in units of 10⁻⁹: never the ε that ρ is read as."""
    return loss.epsilon_nano if loss.rho_nano is None else loss.rho_nano


def _steps(points: Sequence[tuple[float, float]]) -> str:
    """A line that stays where it is until the next point, then jumps; to the right edge at last."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    path += [f"H{x:.1f}V{y:.1f}" for x, y in points[1:]]
    return "".join([*path, f"H{UNITS:g}"])


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below a number."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)


def _time_ticks(begin: datetime, end: datetime) -> Iterator[AxisTick]:
    """Round times between two, at most six of them."""
    length = max(end - begin, timedelta(seconds=1))
    step = next((step for step in TIME_STEPS if length / step <= TICKS_MAX), TIME_STEPS[-1])
    shape = "%H:%M" if step < timedelta(days=1) else "%-d %b" if step < timedelta(days=91) else "%b %Y"
    epoch = datetime(2000, 1, 3, tzinfo=UTC)
    first = epoch + math.ceil((begin - epoch) / step) * step
    for at in itertools.takewhile(lambda at: at <= end, (first + count * step for count in itertools.count())):
        yield AxisTick(100 * ((at - begin) / length), f"{at.astimezone(UTC):{shape}}")
