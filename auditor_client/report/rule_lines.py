"""A model's rules as lines of a report: the conditions in words, and what is decided."""

from dataclasses import dataclass

from auditor_client.asking.inquiry import Inquiry
from auditor_client.rule_words import Condition


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule; no conditions for everybody."""

    conditions: tuple[Condition, ...]
    decision: str


def rule_lines(question: Inquiry, *, favourable: bool) -> tuple[RuleLine, ...]:
    """The rules that decide in favour of people, or against them, in the model's order."""
    return tuple(
        RuleLine(question.words.rule(rule.rule), rule.leaf.decision)
        for rule in question.rules
        if rule.favourable == favourable
    )
