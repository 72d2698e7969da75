"""What people read of a request: one value for each kind, whoever renders it."""

from shared.kinds.plans import BatchQuote, Plan, Quote
from shared.kinds.summaries import RequestSummary, SummaryPart
from shared.kinds.trainings import Training
from shared.kinds.watches import Watch
from shared.privacy.amounts import Loss
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.registers import plan, training, watch

SIDES = (("young", ("age ≤ 40",)), ("old", ("age > 40",)))


def test_a_plan_says_of_each_batch_how_it_is_counted_at_what_loss() -> None:
    refined = "sha256:" + "0" * 64

    summary = Plan.model_validate(plan(draw=3, refines=refined)).summary()

    facts = (("Mechanism", "Laplace"), ("Privacy loss", "ε 0.1 for each class of disjoint cells"))
    assert summary == RequestSummary(
        "Counts by sex", ("sex",), (("Refines the release", refined), ("Draw", "3, with noise of its own")),
        (SummaryPart("verdict", facts, "2 cells are counted", SIDES),),
    )  # fmt: skip


def test_a_quote_adds_what_it_says_of_each_batch() -> None:
    batch = BatchQuote(
        name="verdict", epsilon="0.1", delta="0", composition={"classes": 1}, groups=(("Female",), ("Male",)),
        noise=DiscreteLaplaceNoise(distribution="discrete_laplace", scale=10),
    )  # fmt: skip
    quote = Quote(dataset="register", version=1, relation="add_remove", charge=Loss(100_000_000), batches=(batch,))

    [part] = Plan.model_validate(plan()).summary().quoted(quote.part_facts).parts

    assert part.facts[2:] == (
        ("Classes of disjoint cells", "1"),
        ("Groups", "2"),
        ("Noise on each count", "standard deviation 14.1 people"),
    )


def test_a_watch_says_threshold_verdict_and_margin() -> None:
    asked = Watch.model_validate(watch(margin=-5))

    [part] = asked.summary().parts

    assert dict(part.facts) == {
        "Mechanism": "Sparse vector; the loss is charged once for all answers",
        "Privacy loss": "ε 1",
        "Threshold": "0.8 of the largest acceptance rate",
        "Verdict that is watched": asked.verdict,
        "Margin": "-5 people",
    }
    assert part.rules == (("accepted", asked.favourable.texts), ("refused", asked.unfavourable.texts))


def test_a_training_says_what_it_learns_from_which_bins() -> None:
    asked = Training.model_validate(training())

    summary = asked.summary()

    assert summary.sensitive == asked.sensitive
    assert [name for name, _ in summary.parts[0].rules] == [feature.column for feature in asked.features]
    assert dict(summary.parts[0].facts)["Predicts"] == asked.label
    for feature, (_, texts) in zip(asked.features, summary.parts[0].rules, strict=True):
        assert texts == (
            "each of its values" if feature.cuts is None else f"bins from {', '.join(map(str, feature.cuts))}",
        )
