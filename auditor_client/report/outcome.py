"""The outcome whose rates are compared, in words: which decision the figures count, and what it means.

Every headline, table, axis and fact names it, because a rate means nothing without it: "accepted" turns round with the
class that counts as favourable. Its name is a noun phrase with a word in quotes, so that sentences survive any word in
every language.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.inquiry import Inquiry
from auditor_client.asking.request import STABILITY
from auditor_client.asking.stages import ends_well
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.finding import Finding
from auditor_client.models.tree import DecisionRule
from auditor_client.report.subject import stage_titles
from shared.wire.wording import joined, listed, plain, said

_DECISIONS_MAX: Final = 8
_BETWEEN: Final = " or "
"""What stands between the decisions of leaves that were merged (`models.tree`)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The decision whose rates are compared.

    Attributes:
        name: A noun phrase for any sentence: "the decision “repaid”", "the prediction “1”", "a score above 0.5".
        means: What that is, as a clause: "the model predicts 1".
        decision: As the model or the column has it: "1", "above 0.5".
        other: All other decisions, likewise: "0".
        adverse: The outcome of everybody else, as a noun phrase like the name: "the decision “selected”".
        word: The auditor's name for it (`favourable_word`); None without one.
        label: The title of the label's column; empty if no figure needs a label.
    """

    name: str
    means: str
    decision: str
    other: str
    adverse: str
    word: str | None = None
    label: str = ""

    @property
    def full(self) -> str:
        """The name, and what it means where the auditor’s word does not say it: "… “repaid” (the model predicts 1)"."""
        return said("{outcome} ({means})", outcome=self.name, means=self.means) if self.word is not None else self.name


def outcome_of(finding: Finding) -> Outcome:
    """The outcome of an audit."""
    return outcome(finding.question, finding.about)


def outcome(question: Inquiry, about: About = NOTHING) -> Outcome:
    """The outcome that a question asks about, by the word that the auditor gave it."""
    decision, other = (_decisions(question, favourable=favourable) for favourable in (True, False))
    name, means = _words(question, decision)
    word = about.favourable_word
    text = name if word is None else said("the decision “{decision}”", decision=word)
    label = "" if question.label is None or not question.labelled else question.words.column(question.label.name)
    return Outcome(text, means, decision, other, _adverse(question, other, text), word, label)


def _words(question: Inquiry, decision: str) -> tuple[str, str]:
    """The outcome's own name, and what it means."""
    request, score = question.request, question.source.score
    if request.metrics == (STABILITY,):
        return said("a stable decision"), said("the decision stays the same within the stated distance")
    if request.chain is not None:
        return _of_chain(question)
    limit = None if request.above is None else plain(request.above)
    if request.decision is not None:
        column = question.words.column(request.decision)
        if limit is None:
            of_column = said("“{column}” is {decision}", column=column, decision=decision)
            return said("the decision “{decision}”", decision=decision), of_column
        above = said("“{column}” is above {limit}", column=column, limit=limit)
        return said("a value above {limit}", limit=limit), above
    if limit is not None and request.favourable is None:
        return said("a score above {limit}", limit=limit), said("the model’s score is above {limit}", limit=limit)
    if limit is not None:
        return (
            said("a probability of “{decision}” above {limit}", decision=decision, limit=limit),
            said("the model gives {decision} a probability above {limit}", decision=decision, limit=limit),
        )
    if score is None and question.source.provenance is None:
        decides = said("the tree decides {decision}", decision=decision)
        return said("the decision “{decision}”", decision=decision), decides
    predicts = said("the model predicts {decision}", decision=decision)
    return said("the prediction “{decision}”", decision=decision), predicts


def _adverse(question: Inquiry, other: str, name: str) -> str:
    """The name of the outcome of those without the outcome compared; `name` is that one's."""
    request = question.request
    if request.metrics == (STABILITY,):
        return said("a decision that changes")
    if request.chain is not None:
        return _end(stage_titles(question)[-1], reached=not ends_well(request))
    if request.above is not None or not other:
        return said("another result than {outcome}", outcome=name)
    if request.decision is None and (question.source.score is not None or question.source.provenance is not None):
        return said("the prediction “{decision}”", decision=other)
    return said("the decision “{decision}”", decision=other)


def _of_chain(question: Inquiry) -> tuple[str, str]:
    """Whether a person reaches the end of a chain or not, whichever of both is favourable."""
    stage, well = stage_titles(question)[-1], ends_well(question.request)
    if well:
        return _end(stage, reached=True), said("the person reaches “{stage}”", stage=stage)
    return _end(stage, reached=False), said("the person does not reach “{stage}”", stage=stage)


def _end(stage: str, *, reached: bool) -> str:
    """The name of having reached the last stage of a chain, or of not having reached it."""
    if reached:
        return said("the outcome “{stage}”", stage=stage)
    return said("the outcome “not {stage}”", stage=stage)


def _decisions(question: Inquiry, *, favourable: bool) -> str:
    """The decisions of the rules of one side, each once, in the words of their column."""
    rules = [rule for rule in question.rules if rule.favourable == favourable]
    names = list(dict.fromkeys(_parts(rules)))
    column = question.request.decision
    if column is not None and question.request.above is None:
        declared = {str(value).lower() if isinstance(value, bool) else str(value): value for value in _values(question)}
        names = [question.words.value(column, declared[name]) if name in declared else name for name in names]
    if len(names) > _DECISIONS_MAX:
        return joined([*names[:_DECISIONS_MAX], "…"], ", ")
    return listed(names, "or") if len(names) > 1 else next(iter(names), "")


def _values(question: Inquiry) -> tuple[str | bool | int | float, ...]:
    column = question.schema.by_name.get(str(question.request.decision))
    return () if column is None else tuple(column.values)


def _parts(rules: Iterable[DecisionRule]) -> Iterable[str]:
    for rule in rules:
        yield from rule.leaf.decision.split(_BETWEEN)
