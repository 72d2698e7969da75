"""The sentences of the report: the finding, and what the figures mean and do not mean."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.request import ADVERSE, PARITY
from auditor_client.estimation.cell_shares import noise_reach
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import RatioKind
from auditor_client.findings.finding import Finding
from auditor_client.findings.reading import Reading
from auditor_client.report.formats import scope_words, threshold_percent, whole
from auditor_client.report.known_totals import trusted_totals
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.report.misreported_study import trusted_study
from auditor_client.report.outcome import outcome_of
from auditor_client.report.subject import subject
from shared.contract.meaning import meaning, statements
from shared.privacy.noise import (
    AdditiveNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialNoise,
    Noise,
    RandomisedResponseNoise,
)
from shared.wire.wording import decimal, joined, listed, plain, said, sentence

_PROTECTED: Final = {
    "add_remove": said("whether any one person’s record is in the data, and what it says"),
    "replace": said("what any one person’s record says"),
    "sensitive_attribute": said("the sensitive values of any one person"),
}


_UNDESERVED: Final = said("Statistical parity does not ask who qualified for the decision.")
_TOGETHER: Final = sentence(
    "Standardised rates give every group the same spread. Intervals “together” hold for all values at once, in {level} "
    "of audits."
)


_KINDS: Final = sentence(
    "The auditor did not state the kind of decision. If being selected is good (a job, a loan, a grant), the ratio "
    "of the rates of favourable decisions counts. If it is a burden (a control, a stop, a fine), the adverse ratio "
    "counts. If the adverse decision is rare, the first ratio is near 1, whichever group gets it. If the "
    "favourable decision is rare, the second ratio is near 1. State the kind in the request (--intervention); the "
    "report then has one verdict."
)
_CORRECTED: Final = sentence(
    "The holder adds random noise to every count, to protect each person, and the groups of some people are recorded "
    "wrongly. A {level} interval contains the true figure of the people in the data in {level} of audits like this "
    "one. It covers the noise, the wrongly recorded groups, and the limited size of the study. Each interval is for "
    "one figure. A larger ε narrows the noise alone; a larger study tells more about the records."
)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A term and what the reader has to know about it."""

    term: str
    text: str


def threshold_name(threshold: float, metric: str) -> str:
    """Return what a threshold of a metric's ratio is called; the four-fifths rule is about selection rates alone."""
    if metric == ADVERSE:
        return said("the limit of {limit} for the adverse ratio", limit=plain(float(f"{1 / threshold:.4g}")))
    if metric == PARITY and threshold == 0.8:
        return said("the four-fifths rule for favourable rates")
    if metric == PARITY:
        return said("the threshold of {threshold}", threshold=threshold_percent(threshold))
    return said(
        "the {metric} threshold of {threshold}",
        threshold=threshold_percent(threshold),
        metric=METRIC_WORDS[metric].within,
    )


def relation_words(relation: str) -> str:
    """Return what a neighbouring relation protects of one person."""
    return _PROTECTED.get(relation) or said("the records, as the relation {relation} says", relation=relation)


def level_words(estimate: Estimate) -> str:
    """The level of an interval, with as many decimals as keep levels of joint readings below 100 %: "95 %"."""
    return threshold_percent(float(f"{estimate.level:.4f}"))


def level_of(finding: Finding) -> str:
    """The level of a finding's intervals: "95 %", or "joint 95 %" where they hold together."""
    return level_of_reading(finding.reading) if finding.reading.joint else level_words(finding.ratio)


def level_of_reading(reading: Reading) -> str:
    """The level of the intervals that a reading makes, likewise."""
    level = threshold_percent(reading.level)
    return said("joint {level}", level=level) if reading.joint else level


def level_by_itself(finding: Finding) -> str:
    """The level of intervals that hold each by itself, whatever the others do."""
    return threshold_percent(finding.reading.level) if finding.reading.joint else level_words(finding.ratio)


def noise_words(noise: Noise) -> str:
    """Return how large the noise of a count is: a bound for 95 % of the counts."""
    if isinstance(noise, AdditiveNoise) and noise.terms == 2:
        off = _off_by(noise_reach(noise, 0.95) or 0)
        kind = "discrete Laplace" if isinstance(noise, DiscreteLaplaceNoise) else "discrete Gaussian"
        return said(
            "of two holders together, each {kind} of scale {scale}: {off}",
            kind=kind,
            scale=plain(noise.scale, 4),
            off=off,
        )
    if isinstance(noise, DiscreteLaplaceNoise):
        # The chance of noise beyond ±t is 2·q^(t+1)/(1 + q), with q = exp(−1/scale); see `shared.privacy.noise`.
        q = math.exp(-1 / noise.scale)
        reach = max(math.ceil(noise.scale * math.log(2 / (0.05 * (1 + q)))) - 1, 0)
        return said("discrete Laplace of scale {scale}: {off}", scale=plain(noise.scale, 4), off=_off_by(reach))
    if isinstance(noise, DiscreteGaussianNoise):
        off = _off_by(math.ceil(1.96 * noise.scale))
        return said("discrete Gaussian of σ = {scale}: {off}", scale=plain(noise.scale, 4), off=off)
    if isinstance(noise, ExponentialNoise):
        # Away from the ends it is discrete Laplace; an end only makes answers nearer.
        reach = math.ceil(noise.scale * math.log(20))
        return said(
            "exponential of scale {scale} within 0 to {upper}: {off}",
            scale=plain(noise.scale, 4), upper=whole(noise.upper), off=_off_by(reach),
        )  # fmt: skip
    probabilities = [
        said("{column} with {chance}", column=value.column, chance=decimal(value.probability)) for value in noise.kept
    ]
    return said(
        "none: everybody’s own value was kept ({kept}) or replaced by another before the holder got it",
        kept=listed(probabilities),
    )


def _off_by(reach: int) -> str:
    return said("95 in 100 counts are off by at most {people} people", people=whole(reach))


def paragraphs(result: Finding) -> tuple[Paragraph, ...]:
    """Return what the figures mean and do not mean, for this audit."""
    audited, level = subject(result.question), level_of(result)
    return (
        Paragraph(
            said("The ratio"),
            _adverse_ratio_words(result.first.ratio_kind)
            if result.first.ratio_kind.adverse
            else said(
                "The share with {outcome} in the group with the lowest share, divided by the share in the group "
                "with the highest. 1 means that all groups have the same share. 0.5 means that the lowest share is "
                "half of the highest.",
                outcome=outcome_of(result).full,
            )
            if result.metrics[0] == PARITY
            else said(
                "The rate of the group with the lowest rate, divided by the rate of the group with the highest. 1 "
                "means that all groups have the same rate. 0.5 means that the lowest rate is half of the highest. "
                "The same ratio can mean a small difference of low rates or a large difference of high rates: read "
                "the difference first."
            ),
        ),
        _interval_paragraph(result, level),
        *_population_paragraph(result, level),
        *_joined_paragraph(result),
        *_looks_paragraph(result),
        *_judged_paragraph(result),
        *_verdict_paragraphs(result, level),
        *_strata_paragraph(result, level),
        Paragraph(
            said("Whom the figures are about"),
            joined(
                [
                    said(
                        "The people in version {version} of the holder’s records, each counted once: survey weights "
                        "are not supported.",
                        version=result.release.version,
                    ),
                    *_scope_sentences(result),
                    said(
                        "The intervals about the people in the data do not cover how well these people represent "
                        "others. The figures are about the decisions {about}.",
                        about=audited.about,
                    ),
                ]
            ),
        ),
        Paragraph(
            said("What the figures do not say"),
            joined(
                [
                    said(
                        "They do not say why the groups differ. A difference is not a cause and does not prove "
                        "discrimination. Equal rates do not prove that decisions are fair."
                    ),
                    *([_UNDESERVED] if PARITY in result.metrics else []),
                ]
            ),
        ),
        _privacy_paragraph(result),
        Paragraph(
            said("What is taken on trust"),
            joined(
                [
                    said(
                        "This report trusts that the holder’s records are correct and that the holder counted them "
                        "truthfully. The signature shows who answered, not that the answer is true."
                    ),
                    *trusted_totals(result.question),
                    *trusted_study(result.question),
                ]
            ),
        ),
    )


def _interval_paragraph(result: Finding, level: str) -> Paragraph:
    if math.isnan(result.ratio.low):
        return Paragraph(
            said("No intervals"),
            said(
                "The estimator {estimator} follows the published method, which does not give intervals. Its "
                "figures may be far off where groups are small, and do not show it. The estimator posterior gives "
                "intervals from the same answer.",
                estimator=result.estimator,
            ),
        )
    if result.reading.joint:
        return _joint_paragraph(result)
    if result.first.as_recorded is not None:
        return Paragraph(said("The intervals"), said(_CORRECTED, level=level))
    return Paragraph(
        said("The intervals"),
        said(
            "The holder adds random noise to every count, to protect each person. A {level} interval contains the "
            "true figure of the people in the data in {level} of audits like this one. It covers that noise and "
            "nothing else. Each interval is for one figure. It is less certain that all of them hold at once.",
            level=level,
        ),
    )


def _joint_paragraph(result: Finding) -> Paragraph:
    return Paragraph(
        said("The intervals"),
        joined(
            [
                said(
                    "The holder adds random noise to every count, to protect each person. In {level} of audits "
                    "like this one, all joint intervals contain the true figures at once, so all verdicts hold "
                    "together. Each joint interval is therefore wider than an interval for a single figure: it "
                    "contains its figure in {each} of audits. The intervals cover that noise and nothing else.",
                    level=level_by_itself(result),
                    each=level_words(result.ratio),
                ),
                said(
                    "These intervals are joint: of the groups’ rates, of ratios and differences, of comparisons "
                    "with a reference group, of the rules’ shares, and of the statements about a score, including "
                    "those about the population. These are separate: of impact ratios, of a ratio with one rule "
                    "reversed, of the shares at the leaves of a tree, and of numbers of people."
                ),
            ]
        ),
    )


def _population_paragraph(result: Finding, level: str) -> tuple[Paragraph, ...]:
    if result.first.population_ratio is None:
        return ()
    return (
        Paragraph(
            said("The population"),
            said(
                "The {level} intervals of the population contain the true figure of all the people whom the people "
                "in the data represent. This holds if the people in the data are a random sample of them. These "
                "intervals cover the privacy noise and the chance of sampling, so they are wider for every ε. If "
                "the register contains everybody, they do not apply.",
                level=level,
            ),
        ),
    )


def _joined_paragraph(result: Finding) -> tuple[Paragraph, ...]:
    """Return what several answers together mean."""
    if not result.stored.others or result.reading.looks is not None:
        return ()
    return (
        Paragraph(
            said("Several answers"),
            said(
                "The figures rest on {number} answers about the same version of the records. More exact answers "
                "weigh more. The intervals hold at their level only if the number of answers was fixed before they "
                "were seen. Asking until a verdict comes gives a wrong verdict more often.",
                number=len(result.stored.answers),
            ),
        ),
    )


def _looks_paragraph(result: Finding) -> tuple[Paragraph, ...]:
    """Return what it means that the question was asked until its verdict was decided."""
    looks = result.reading.looks
    if looks is None:
        return ()
    return (
        Paragraph(
            said("Interim looks until the verdict is decided"),
            joined(
                [
                    said(
                        "The request was repeated with less noise each time, until its verdict was decided. The "
                        "losses of all looks were fixed before the first answer. The intervals of each look have a "
                        "level of {each}, so that those of all {number} looks hold together in {level} of audits "
                        "like this one, whichever look is the last. The verdict is therefore as reliable as the "
                        "verdict of one answer at {level}.",
                        each=threshold_percent(round(looks.each, 4)),
                        number=len(looks.amounts),
                        level=threshold_percent(looks.level),
                    ),
                    said("This look’s answer contains everything that the earlier ones say.")
                    if looks.kind == "sum"
                    else said("This look’s figures use the answers of this look and of all earlier ones."),
                ]
            ),
        ),
    )


def _judged_paragraph(result: Finding) -> tuple[Paragraph, ...]:
    """Why figures of other groups stand there too."""
    if all(estimate.rule is None and estimate.other is None for estimate in result.estimates.values()):
        return ()
    return (
        Paragraph(
            said("Which groups are judged"),
            said(
                "A ratio over all groups depends on the smallest group, however few people it has. The report "
                "therefore also shows the ratio of the groups whose noisy counts show that they are large enough. "
                "A smaller group that noise alone might make look large enough is left out. New York City’s Local "
                "Law 144 lets bias audits leave out groups of less than 2 % of the people (6 RCNY § 5-301 (d)). "
                "The report names the groups that are left out, with the bounds of their number of people. Leaving "
                "a group out does not say how it is treated."
            ),
        ),
    )


def _strata_paragraph(result: Finding, level: str) -> tuple[Paragraph, ...]:
    """Return what figures within strata say; nothing where there are none."""
    strata = result.question.strata
    if not strata:
        return ()
    column = said("“{column}”", column=result.question.words.column(strata[0].column))
    return (
        Paragraph(
            said("Within each value"),
            joined(
                [
                    said(
                        "Groups may differ overall because they are spread differently over the values of "
                        "{column}, although they are treated alike within each value. The reverse is possible too. "
                        "This is Simpson’s paradox.",
                        column=column,
                    ),
                    *([said(_TOGETHER, level=level)] if result.reading.has_intervals else []),
                    said(
                        "The figures cannot say whether {column} is a fair reason for a difference. Overall, the "
                        "noise of the values adds up: the same request without {column} would give the figures of "
                        "everybody more exactly.",
                        column=column,
                    ),
                ]
            ),
        ),
    )


def _scope_sentences(result: Finding) -> Iterator[str]:
    if scope := scope_words(result.question):
        yield said("Only people within the scope are counted: {scope}.", scope=listed(scope))
    if undecided := [
        said("“{column}”", column=result.question.words.column(predicate.column))
        for predicate in result.question.source.decided
    ]:
        yield said("People without a value in {columns} are not counted.", columns=listed(undecided))


def _verdict_paragraphs(result: Finding, level: str) -> tuple[Paragraph, ...]:
    """Return what a verdict is and what its threshold is; or why there is none."""
    threshold = result.threshold
    if result.both_outcomes:
        kinds = Paragraph(said("Two figures, and the kind of decision"), said(_KINDS))
        return (kinds, *_threshold_paragraphs(result, level))
    if threshold is None:
        return (
            Paragraph(
                said("No verdict"),
                said(
                    "The four-fifths rule compares selection rates. No rule of that kind is established for this "
                    "figure, so the report states how far the groups are apart and no verdict, unless the auditor "
                    "names a threshold."
                ),
            ),
        )
    return _threshold_paragraphs(result, level)


def _threshold_paragraphs(result: Finding, level: str) -> tuple[Paragraph, ...]:
    """Return what verdicts are, and what each threshold is."""
    thresholds = {metric: estimate.threshold for metric, estimate in result.both_outcomes} or {
        result.metrics[0]: result.threshold
    }
    defined = {metric: threshold for metric, threshold in thresholds.items() if threshold is not None}
    return (
        Paragraph(
            said("Meets, fails, undecided"),
            said(
                "A verdict about {rule} says “meets” or “fails” only if the whole {level} interval of the people "
                "in the register lies on one side of the threshold. Otherwise the audit says “undecided”: the "
                "privacy noise is too large for a verdict. “Undecided” does not clear anybody and does not accuse "
                "anybody. The same request returns the same answer. Only a larger ε, or a second draw, which is "
                "charged, adds information.",
                rule=listed((threshold_name(threshold, metric) for metric, threshold in defined.items()), "or"),
                level=level,
            ),
        ),
        *(_threshold_paragraph(threshold, metric) for metric, threshold in defined.items()),
    )


def _adverse_ratio_words(kind: RatioKind) -> str:
    """Return what a ratio of adverse rates is."""
    if kind is RatioKind.ODDS:
        return said(
            "The odds of an adverse decision in the group with the highest ones, divided by those in the group with "
            "the lowest. 1 means that the rates of all groups are the same. Odds are not rates: odds of 2 to 1 are a "
            "rate of two thirds, so an odds ratio of 3 does not mean “three times as often”, unless the outcome is "
            "rare."
        )
    return said(
        "The rate of the group with the highest rate, divided by the rate of the group with the lowest: how many "
        "times as often one group gets the outcome as another. 1 means that all groups have the same rate. If the "
        "lowest rate may be zero, the ratio does not have an upper bound. A large ratio of low rates may be a "
        "small difference: read the number of people per 1 000 as well."
    )


def _threshold_paragraph(threshold: float, metric: str) -> Paragraph:
    if metric == ADVERSE:
        return Paragraph(
            said("The limit of the adverse ratio"),
            said(
                "Under this limit, a group may get the adverse decision at most {limit} times as often as another "
                "group: that is 1 divided by {threshold}. The four-fifths rule of employment law is about rates of "
                "favourable decisions. To use its {threshold} for adverse decisions too is a choice, not a rule of "
                "law.",
                limit=plain(float(f"{1 / threshold:.4g}")),
                threshold=plain(threshold),
            ),
        )
    if threshold != 0.8 or metric != PARITY:
        return Paragraph(
            said("The threshold"),
            said("The auditor chose {threshold}. It is not a rule of law.", threshold=threshold_percent(threshold)),
        )
    return Paragraph(
        said("The four-fifths rule"),
        said(
            "A rule of thumb of the agencies that enforce equal employment law in the United States (Uniform "
            "Guidelines on Employee Selection Procedures, 1978, 29 CFR 1607.4 D): a ratio below {threshold} is "
            "generally regarded as evidence of adverse impact. It is not a definition of discrimination, smaller "
            "differences may matter too, and the law of other countries asks other questions.",
            threshold=threshold_percent(threshold),
        ),
    )


def _privacy_paragraph(result: Finding) -> Paragraph:
    release, dataset = result.release, result.question.dataset
    as_they_are = any(isinstance(batch.noise, RandomisedResponseNoise) for batch in release.batches)
    reported = {name: dataset.table.by_name[name] for name in result.plan.sensitive} if as_they_are else {}
    sentences = meaning(dataset.relation, release.loss, reported)
    return Paragraph(
        said("Privacy"),
        joined(
            [
                said(
                    "This says how much the holder’s answer can change what anybody concludes about one person, "
                    "even somebody who knows the records of all others."
                ),
                *statements(sentences).all,
                said(
                    "The losses of several audits of the same people add up. The holder’s ledger records the sum "
                    "of the charges."
                ),
            ]
        ),
    )
