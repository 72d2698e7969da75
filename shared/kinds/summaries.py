"""A request in words: the one value that officers read before they decide, and that the ledger shows afterwards.

Each kind of request says itself what people have to know of it (`ReleaseRequest.summary`). Console, command line and
report render these texts and know no kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

SummaryFact = tuple[str, str]
"""The name of something to be known, and its text."""


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """A part of a request that is answered with one noise.

    Attributes:
        title: Its name, often the auditor's.
        facts: What is to be known of it.
        rules_title: What the rules are.
        rules: Whom it is about: by the auditor's name of each, the rules of which one has to match.
    """

    title: str
    facts: tuple[SummaryFact, ...]
    rules_title: str
    rules: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """A request in words.

    Attributes:
        question: In one line.
        sensitive: The sensitive columns that the answer is about.
        facts: What holds for all parts.
        parts: In the order of the request.
    """

    question: str
    sensitive: tuple[str, ...]
    facts: tuple[SummaryFact, ...]
    parts: tuple[SummaryPart, ...]

    def quoted(self, facts: Mapping[str, tuple[SummaryFact, ...]]) -> "RequestSummary":
        """The same with what a quote says of parts, by their titles."""
        return replace(
            self, parts=tuple(replace(part, facts=part.facts + facts.get(part.title, ())) for part in self.parts)
        )


def draw_facts(draw: int) -> tuple[SummaryFact, ...]:
    """Return which draw it is, where it is not the first."""
    return (("Draw", f"{draw}, with noise of its own"),) if draw > 1 else ()
