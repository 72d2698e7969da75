"""The sentences of the report: the finding, and what the figures mean and do not mean."""

import math
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.request import PARITY
from auditor_client.estimation.results import Estimate, GroupEstimate, OddsEstimate, ParityEstimate, Verdict
from auditor_client.findings.answers import RATES, Rate
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.report.formats import group_words, percent, scope_words, threshold_percent, whole
from auditor_client.report.metric_names import METRIC_WORDS, RATE_WORDS
from auditor_client.report.subject import subject
from auditor_client.rule_words import listed
from auditor_client.text import loss_words
from shared.meaning import meaning, statements
from shared.noise import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialNoise,
    Noise,
    RandomisedResponseNoise,
)

_RELATIONS: Final = {
    "add_remove": "any one person’s record were absent, or one more were present",
    "replace": "any one person’s record were another",
    "sensitive_attribute": "any one person belonged to another group",
}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A term and what the reader has to know about it."""

    term: str
    text: str


def threshold_name(threshold: float) -> str:
    """What a threshold of the ratio is called."""
    return "the four-fifths rule" if threshold == 0.8 else f"the threshold of {threshold_percent(threshold)}"


def relation_words(relation: str) -> str:
    """A neighbouring relation as the change of the records that it is about."""
    return _RELATIONS.get(relation, f"the records changed as the relation {relation} has it")


def extremes(parity: ParityEstimate) -> tuple[GroupEstimate, GroupEstimate] | None:
    """The groups of the lowest and of the highest estimated rate; None if no group has a rate."""
    rated = [group for group in parity.groups if group.rate.defined]
    if not rated:
        return None
    # Of equal rates the first is the lowest and the last the highest, so that two groups are named.
    return min(rated, key=_rate), max(reversed(rated), key=_rate)


def headline(finding: Finding) -> str:
    """The first metric's verdict in one sentence."""
    metric, estimate, name = finding.metrics[0], finding.first, subject(finding.question).name
    start = f"At {loss_words(finding.release.charge)}"
    by = listed(finding.plan.sensitive)
    worse, rate = _worse(estimate, RATES[metric][0])
    ends = extremes(worse)
    if ends is None or not estimate.ratio.defined:
        title = METRIC_WORDS[metric].title.lower()
        return f"{start}, {name} has no {title} ratio for {by}: there is no verdict."
    lowest, highest = (f"“{', '.join(group_words(group.group))}”" for group in ends)
    share = percent(estimate.ratio.value, apart_from=estimate.threshold)
    done = RATE_WORDS[rate].predicate
    compared = f"the group {lowest} is {done} at {share} of the rate of the group {highest}"
    interval = f" ({interval_words(estimate)})" if interval_words(estimate) else ""
    rule = f"{threshold_name(estimate.threshold)} for {by}"
    if metric != PARITY:
        rule = f"{METRIC_WORDS[metric].title.lower()} by {rule}"
    if estimate.verdict is Verdict.UNDECIDED:
        return f"{start}, it is undecided whether {name} meets {rule}: {compared}{interval}."
    return f"{start}, {name} {estimate.verdict.value} {rule}: {compared}{interval}."


def explanation(estimate: MetricEstimate) -> str:
    """Why the verdict is what it is."""
    bar = threshold_percent(estimate.threshold)
    if not estimate.ratio.defined:
        return "The answer shows no accepted people in any group, so there is no ratio."
    if not interval_words(estimate):
        return "This estimator gives no interval, so the figure may be noise, and there is no verdict."
    if estimate.verdict is Verdict.MEETS:
        return f"The whole interval lies at or above {bar}."
    if estimate.verdict is Verdict.FAILS:
        return f"The whole interval lies below {bar}."
    return f"The interval reaches across {bar}: the noise is too large for a verdict. A larger ε would narrow it."


def _worse(estimate: MetricEstimate, rate: Rate) -> tuple[ParityEstimate, Rate]:
    """The comparison that a metric's ratio comes from: of equalized odds, the one of the smaller ratio."""
    if not isinstance(estimate, OddsEstimate):
        return estimate, rate
    positive, negative = estimate.true_positive, estimate.false_positive
    # A ratio that is undefined is the smaller one only if both are.
    if negative.ratio.defined and not negative.ratio.value >= positive.ratio.value:
        return negative, Rate.FALSE_POSITIVE
    return positive, Rate.TRUE_POSITIVE


def interval_words(estimate: MetricEstimate) -> str:
    """The ratio's interval in words; empty if there is none."""
    figure = estimate.ratio
    if math.isnan(figure.low):
        return ""
    low, high = (percent(end, apart_from=estimate.threshold) for end in (figure.low, figure.high))
    return f"{level_words(figure)} interval {low} to {high}"


def level_words(estimate: Estimate) -> str:
    """The level of an interval: "95 %"."""
    return f"{100 * estimate.level:.3g}\N{NARROW NO-BREAK SPACE}%"


def noise_words(noise: Noise) -> str:
    """How large the noise of a count is: a bound for 95 % of the counts."""
    if isinstance(noise, DiscreteLaplaceNoise):
        # The chance of noise beyond ±t is 2·q^(t+1)/(1 + q), with q = exp(−1/scale); see `shared.noise`.
        q = math.exp(-1 / noise.scale)
        reach = max(math.ceil(noise.scale * math.log(2 / (0.05 * (1 + q)))) - 1, 0)
        return f"discrete Laplace of scale {noise.scale:.4g}: {_off_by(reach)}"
    if isinstance(noise, DiscreteGaussianNoise):
        return f"discrete Gaussian of σ = {noise.scale:.4g}: {_off_by(math.ceil(1.96 * noise.scale))}"
    if isinstance(noise, ExponentialNoise):
        # Away from the ends it is discrete Laplace; an end only makes answers nearer.
        reach = math.ceil(noise.scale * math.log(20))
        return f"exponential of scale {noise.scale:.4g} within 0 to {whole(noise.upper)}: {_off_by(reach)}"
    kept = listed([f"{value.column} with {value.probability}" for value in noise.kept])
    return f"none: everybody’s own value was kept ({kept}) or replaced by another before the holder got it"


def _off_by(reach: int) -> str:
    return f"95 in 100 counts are off by at most {whole(reach)} people"


def paragraphs(result: Finding) -> tuple[Paragraph, ...]:
    """What the figures mean and do not mean, for this audit."""
    estimate, audited = result.first, subject(result.question)
    level = level_words(estimate.ratio)
    return (
        Paragraph(
            "The ratio",
            "The acceptance rate of the group with the lowest rate, divided by that of the group with the highest. 1 "
            "means that all groups are accepted at the same rate; 0.5, that one is accepted half as often as another."
            if result.metrics[0] == PARITY
            else "The rate of the group with the lowest one, divided by that of the group with the highest. 1 means "
            "that the rates of all groups are the same; 0.5, that one group’s is half of another’s.",
        ),
        _interval_paragraph(result, level),
        *_population_paragraph(result, level),
        Paragraph(
            "Meets, fails, undecided",
            f"{audited.capital} meets or fails {threshold_name(estimate.threshold)} only if the whole {level} interval "
            "is on one side of it. Otherwise the audit says undecided: the privacy noise is too large for a verdict. "
            "That is neither a pass nor a suspicion. The same question returns the same answer; only a larger ε, or a "
            "second draw, which is charged, adds information.",
        ),
        _threshold_paragraph(estimate.threshold),
        Paragraph(
            "Whom the figures are about",
            f"The people in version {result.release.version} of the holder’s records, each counted once: "
            "survey weights are not supported."
            f"{_scope_sentence(result)} The intervals about the people in the data do not cover how well these people "
            "represent others. "
            f"And the figures are about the decisions {audited.about}.",
        ),
        Paragraph(
            "What they do not say",
            "Why the groups differ. A difference is not a cause, and no proof of discrimination; equal rates do not "
            "prove that decisions are fair."
            f"{' Statistical parity does not ask who deserved to be accepted.' if PARITY in result.metrics else ''}",
        ),
        _privacy_paragraph(result),
        Paragraph(
            "What is taken on trust",
            "That the holder’s records are right and that it counted them truly: its signature shows who answered, "
            "not that the answer is true.",
        ),
    )


def _interval_paragraph(result: Finding, level: str) -> Paragraph:
    if math.isnan(result.ratio.low):
        return Paragraph(
            "No intervals",
            f"The estimator {result.estimator} follows the published method and gives none: its figures may be far off "
            "where groups are small, and do not show it. The posterior estimator gives intervals from the same answer.",
        )
    return Paragraph(
        "The intervals",
        f"The holder adds random noise to every count, to protect each person. A {level} interval is made so that in "
        f"{level} of audits like this one it holds the true figure of the people in the data. It covers that noise and "
        "nothing else. Each interval is for one figure: that all of them hold at once is less certain.",
    )


def _population_paragraph(result: Finding, level: str) -> tuple[Paragraph, ...]:
    if result.first.population_ratio is None:
        return ()
    return (
        Paragraph(
            "The population",
            f"The {level} intervals of the population hold the true figure of all the people whom the people in the "
            "data represent, if these are a random sample of them: they cover the privacy noise and the chance of "
            "sampling. They are wider, however large ε is. Where the register holds everybody, they have no meaning.",
        ),
    )


def _scope_sentence(result: Finding) -> str:
    scope = scope_words(result.question)
    words = f" Only those within the scope are counted: {' and '.join(scope)}." if scope else ""
    undecided = [f"“{predicate.column}”" for predicate in result.question.source.decided]
    return f"{words} Whoever has no value in {listed(undecided)} is outside." if undecided else words


def _threshold_paragraph(threshold: float) -> Paragraph:
    if threshold != 0.8:
        return Paragraph(
            "The threshold", f"{threshold_percent(threshold)} was chosen by the auditor; it is no rule of law."
        )
    return Paragraph(
        "The four-fifths rule",
        "A rule of thumb of the agencies that enforce equal employment law in the United States (Uniform Guidelines on "
        "Employee Selection Procedures, 1978, 29 CFR 1607.4 D): a ratio below 80\N{NARROW NO-BREAK SPACE}% is "
        "generally regarded as evidence of adverse impact. It is not a definition of discrimination, smaller "
        "differences may matter too, and the law of other countries asks other questions.",
    )


def _privacy_paragraph(result: Finding) -> Paragraph:
    release, dataset = result.release, result.question.dataset
    as_they_are = any(isinstance(batch.noise, RandomisedResponseNoise) for batch in release.batches)
    reported = {name: dataset.table.by_name[name] for name in result.plan.sensitive} if as_they_are else {}
    meant = meaning(dataset.relation, release.charge, reported)
    return Paragraph(
        "Privacy",
        "How much the holder’s answer can change what anybody thinks about one person, even somebody who knows all "
        f"others’ records. {' '.join(statements(meant).all)} Several audits of the same people add up; the holder’s "
        "ledger keeps the sum of what is charged.",
    )


def _rate(group: GroupEstimate) -> float:
    return group.rate.value
