"""Caveats of an estimate, in sentences (3-estimation §2)."""

from collections.abc import Iterator, Sequence
from typing import Final

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import GroupEstimate, JudgedFigures
from auditor_client.estimation.size_rule import SizeRule
from shared.contract.schema import Group
from shared.wire.wording import figure, joined, listed, said, said_of, signed

SUMMED_MAX: Final = 50
"""Sums of more answers of the exponential mechanism may lean further than their intervals reach (docs/estimates.md)."""

NO_SHARES: Final = said(
    "This report does not estimate the shares of single rules, or the effect of reversing one. The exponential "
    "mechanism's answers are too large on average for a rule that applies to hardly anybody. Ask for each rule "
    "with the mechanism laplace or gaussian."
)
"""Why there is no attribution (docs/adr/0018-no-exponential-shares.md)."""


def too_many_shares(most: int) -> str:
    """Why there is no attribution in a joint report of many rules."""
    return said(
        "With more than {most} rules, their shares cannot be shown to hold together with the other figures. Read "
        "the saved answer with separate intervals instead; that costs nothing.",
        most=most,
    )


def of_parity(groups: Sequence[GroupEstimate], figures: JudgedFigures) -> Iterator[str]:
    """Return the caveats of the groups' rates and of the figures from them."""
    ratio = figures.ratio
    if figures.rule is not None and len(groups) < 2:
        yield said(
            "Fewer than two groups are shown to have at least {least}, so there is nothing to compare. A larger "
            "epsilon may show more.",
            least=least_size(figures.rule),
        )
        return
    empty = [group for group in groups if not group.rate.defined]
    if empty:
        yield said(
            "{groups}: the answers show nobody in this group, so it does not have a rate to compare.",
            groups=_names(empty),
        )
    if not ratio.defined and figures.ratio_kind.adverse:
        yield said(
            "The answers do not show an adverse rate above zero in any group, so the ratio is undefined. A larger "
            "epsilon may show one."
        )
    elif not ratio.defined:
        yield said(
            "The answers do not show a rate above zero in any group, so the ratio is undefined. A larger epsilon "
            "may show one."
        )
    if len(groups) - len(empty) < 2:
        yield said("Fewer than two groups have people, so there is nothing to compare.")
    wide = [group for group in groups if group.rate.defined and not group.rate.known]
    if wide:
        sizes = [
            said(
                "{group} has {low} to {high} people",
                group=name(group.group), low=figure(group.size.low), high=figure(group.size.high),
            )
            for group in wide
        ]  # fmt: skip
        yield said(
            "Too small for this epsilon: {sizes}. The noise is as large as the group, so the data do not show its "
            "rate. Use a larger epsilon or coarser groups.",
            sizes=joined(sizes, ", "),
        )
    elif ratio.defined and not ratio.known and figures.ratio_kind.adverse:
        yield said(
            "The data do not show how many times as often one group gets the adverse outcome as another. So few "
            "people have it that the noise is as large as their number. A larger epsilon would show it."
        )
    elif ratio.defined and not ratio.known:
        yield said(
            "The data do not show the ratio: it lies between {low} and {high}, because the noise is as large as the "
            "numbers of people behind the rates. The difference is more exact; a larger epsilon would show the ratio.",
            low=figure(ratio.low, 2, "decimal"),
            high=figure(ratio.high, 2, "decimal"),
        )


def of_attribution(first: Group, second: Group, *, unclear: bool) -> Iterator[str]:
    """Return the caveats of the rules' shares."""
    if unclear:
        yield said(
            "No rule's share in the disparity of {first} and {second} differs clearly from zero: the noise is as large "
            "as the shares. A larger epsilon would show more.",
            first=name(first),
            second=name(second),
        )


def of_sums(summed: int) -> Iterator[str]:
    """Return the caveats of totals that add up so many answers of the exponential mechanism."""
    if summed > SUMMED_MAX:
        yield said(
            "These figures add up {summed} answers of the exponential mechanism. Such an answer is too large where "
            "a rule applies to hardly anybody. If most rules are of this kind, groups may be smaller than their "
            "intervals say. Ask with the mechanism laplace, or with the strategy verdict, which does not add up "
            "answers.",
            summed=summed,
        )


def of_comparison(ratio: Estimate, *, same_answer: bool, apart: str | None = None) -> Iterator[str]:
    """Return the caveats of the change between two audits."""
    if apart is not None:
        yield said("Each model was counted in a request of its own, with half of epsilon, because {why}.", why=apart)
    yield said("The intervals of the ratio and the difference are about the people in the data of either audit.")
    if same_answer:
        yield said(
            "Both audits read the same noisy counts, so their errors depend on each other. The intervals allow for "
            "the worst case of that. They are wider than for two separate answers of the same precision."
        )
    yield said(
        "The intervals about the population treat the people of the two audits as independent samples. If they are "
        "the same people, as before and after a change of the model, these intervals are wider than necessary."
    )
    yield from _of_change(ratio)


def of_crossed(ratio: Estimate, *, more_known: bool) -> Iterator[str]:
    """Return the caveats of the change between two models of one request.

    `more_known`: whether their own figures rest on known totals or supports too.
    """
    yield said(
        "One request counted the decisions of both models: the people whom both accept, only the first accepts, "
        "only the second accepts, and neither accepts. The change is estimated from these counts together, so it "
        "may differ from the difference of the two figures."
    )
    yield said(
        "The intervals of the ratio and the difference are about the people in the data, those of the population about "
        "the people whom they stand for."
    )
    if more_known:
        yield said(
            "The interval of the change does not use the known sizes of the groups or the known numbers of people "
            "of the rules."
        )
    yield from _of_change(ratio)


def of_no_change() -> Iterator[str]:
    """Return the caveats of a model that was compared with itself."""
    yield said("By their rules, both models decide alike about everybody. It is certain that nothing changed.")


def _of_change(ratio: Estimate) -> Iterator[str]:
    if ratio.defined and ratio.low <= 0 <= ratio.high and ratio.width:
        yield said(
            "The data do not show whether the ratio rose or fell: its change lies between {low} and {high}. A larger "
            "epsilon in either audit would make that narrower.",
            low=signed(figure(ratio.low, 3, "decimal")),
            high=signed(figure(ratio.high, 3, "decimal")),
        )


def least_size(rule: SizeRule) -> str:
    """Return how large a group is by a rule, in words: "30 people", "2 % of the people"."""
    if rule.of_all:
        decimals = str(rule).rstrip("%").partition(".")[2]
        return said("{share} of the people", share=figure(float(rule.least), len(decimals), "percent"))
    return said_of(int(rule.least), "one person", "{number} people")


def name(group: Group) -> str:
    """A group's values in words."""
    return listed(said("missing") if value is None else str(value) for value in group)


def _names(groups: Sequence[GroupEstimate]) -> str:
    return joined((name(group.group) for group in groups), ", ")
