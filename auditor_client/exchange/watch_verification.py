"""Is a watch set as was asked, and are its answers its own? Decided from the answers as they came, before their use.

As `verification` for plans: identity, signature, price and noise are computed here again. Of answers: each is about
another version, none before the first, each costs nothing, and none follows the one that says that the verdict has
changed. A skipped version was not answered, and that is signed too. A version that was neither answered nor skipped is
a gap, which a history names. Whether an answer is true cannot be checked from outside.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.expected_noise import is_expected, not_below
from auditor_client.exchange.verification import require, signed_as
from auditor_client.text import loss_words
from shared.contract.datasets import DatasetDescription
from shared.contract.schema import Group
from shared.kinds.releases import SigningKeys
from shared.kinds.watches import (
    Watch,
    WatchAnswerRelease,
    WatchNoise,
    WatchQuote,
    WatchRelease,
    WatchSkipRelease,
)
from shared.privacy.amounts import NANO_PER_UNIT
from shared.privacy.charges import Charge
from shared.privacy.noise import DiscreteLaplaceNoise, OneSidedGeometricNoise


def check_watch_quote(quote: WatchQuote, watch: Watch, context: RequestContext) -> None:
    """Check that a quote prices the watch that was sent, and has the noise that its price buys.

    Raises:
        HolderLied: Naming the fault.
    """
    dataset = context.dataset
    charge = Charge.pure(watch.charge.epsilon_nano).entered(dataset.terms)
    require(
        quote.price == charge,
        f"the quote charges {loss_words(quote.price)}, and the watch is to cost {loss_words(charge)}",
    )
    _check_noise(quote.groups, quote.sensitivity, quote.noise, watch, dataset)


def check_watch_release(release: WatchRelease, watch: Watch, _: WatchQuote, context: RequestContext) -> None:
    """Check that a watch compares the groups that were asked for, with the noise that its price buys.

    Raises:
        HolderLied: Naming the fault.
    """
    _check_noise(release.groups, release.sensitivity, release.noise, watch, context.dataset)


def verified_answers(
    documents: Sequence[Mapping[str, Any]], *, keys: SigningKeys, watch: WatchRelease
) -> tuple[WatchAnswerRelease, ...]:
    """Check that answers are a watch's own, in order, and that the change is the last.

    Raises:
        HolderLied: Naming the fault.
    """
    answers = tuple(signed_as(WatchAnswerRelease, document, keys) for document in documents)
    require_own_answers(answers, watch)
    return answers


def require_own_answers(answers: Sequence[WatchAnswerRelease], watch: WatchRelease) -> None:
    """Check that answers, in the order in which they were entered, are a watch's own, and that the change is the last.

    Raises:
        HolderLied: Naming the fault.
    """
    for answer in answers:
        require(answer.watch_answer.watch == watch.id, "it answers another watch")
        require((answer.dataset, answer.auditor) == (watch.dataset, watch.auditor), "it was made for somebody else")
        require(
            (answer.rehearsal and answer.rehearsal.of) == (watch.rehearsal and watch.rehearsal.of),
            "only one of the watch and its answer is of a rehearsal",
        )
    versions = [answer.version for answer in answers]
    ascending = versions == sorted(set(versions)) and all(version >= watch.version for version in versions)
    require(ascending, "its answers are not one for each version, in order")
    require(
        not any(answer.watch_answer.changed for answer in answers[:-1]),
        "it continues to answer after the verdict has changed",
    )
    sequences = [watch.ledger.sequence, *(answer.ledger.sequence for answer in answers)]
    require(sequences == sorted(set(sequences)), "its answers were not entered in order after it")


def verified_skips(
    documents: Sequence[Mapping[str, Any]],
    *,
    keys: SigningKeys,
    watch: WatchRelease,
    answers: Sequence[WatchAnswerRelease],
) -> tuple[WatchSkipRelease, ...]:
    """Check that what a watch is said to have skipped is its own, in order, and was not answered.

    Raises:
        HolderLied: Naming the fault.
    """
    skips = tuple(signed_as(WatchSkipRelease, document, keys) for document in documents)
    require_own_skips(skips, watch, answers)
    return skips


def require_own_skips(
    skips: Sequence[WatchSkipRelease], watch: WatchRelease, answers: Sequence[WatchAnswerRelease]
) -> None:
    """Check that a watch's skips, in the order in which they were entered, are its own, and fit its answers.

    Raises:
        HolderLied: Naming the fault.
    """
    changed = [answer.version for answer in answers if answer.watch_answer.changed]
    spoken = [(answer.ledger.sequence, answer.version, answer.version) for answer in answers]
    for one in skips:
        require(one.watch_skip.watch == watch.id, "it skips for another watch")
        require((one.dataset, one.auditor) == (watch.dataset, watch.auditor), "it was made for somebody else")
        spoken.append((one.ledger.sequence, one.watch_skip.first, one.watch_skip.last))
    last = watch.version - 1
    for _, first, end in sorted(spoken):
        require(last < first, "it mentions a version twice, or out of order")
        last = end
    require(not changed or last == changed[0], "it skips a version after the verdict has changed")


def _check_noise(
    groups: tuple[Group, ...], sensitivity: int, noise: WatchNoise, watch: Watch, dataset: DatasetDescription
) -> None:
    require(groups == dataset.table.groups(watch.sensitive), "it compares other groups than the watch names")
    people = dataset.neighbouring.counts_that_change(len(groups), moved=True)
    require(sensitivity == people, "its distance for one person differs from that of the relation")
    kind = OneSidedGeometricNoise if noise.is_one_sided else DiscreteLaplaceNoise
    of_threshold = watch.charge.epsilon_nano * 3 // 10 if noise.is_one_sided else watch.charge.epsilon_nano * 2 // 5
    scales = (
        Fraction(people * NANO_PER_UNIT, of_threshold),
        Fraction(2 * people * NANO_PER_UNIT, watch.charge.epsilon_nano - of_threshold),
    )
    for described, scale in zip((noise.threshold, noise.number), scales, strict=True):
        require(is_expected(described, kind(scale=not_below(scale))), "its noise is not that of its epsilon")
    shift = round(scales[0] - scales[1]) if noise.is_one_sided else 0
    require(noise.shift == shift, "its margin is shifted by something else than the means of its noise")
