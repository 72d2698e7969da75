"""Sentences of a report about a model that uses sensitive columns, whatever the page."""

from auditor_client.findings.direct_use import DirectUse, direct_use
from auditor_client.findings.finding import Finding
from auditor_client.report.axes import interval_text
from auditor_client.report.formats import group_words, known, percent
from auditor_client.report.prose import level_words
from auditor_client.report.subject import subject
from shared.wire.wording import joined, listed, said, said_of


def direct_use_words(finding: Finding) -> str:
    """Return which sensitive columns the model looks at, in which rules, and how often by group; empty if at none."""
    use = direct_use(finding)
    if use is None:
        return ""
    sentences = [_where(finding, use)]
    if use.compared:
        sentences.append(
            said(
                "People who differ only in {columns} may therefore get different decisions (direct use).",
                columns=_quoted(finding, use.compared),
            )
        )
    if use.shares:
        shares = [
            said(
                "{share} of “{group}” ({level}: {interval})",
                share=known(group.rate, percent),
                group=joined(group_words(finding.question, group.group), ", "),
                level=level_words(group.rate),
                interval=interval_text(group.rate, percent),
            )
            for group in use.shares
        ]
        sentences.append(said("These rules decide about {shares}.", shares=listed(shares)))
    return joined(sentences)


def _where(finding: Finding, use: DirectUse) -> str:
    audited, columns = subject(finding.question).name, _quoted(finding, use.columns)
    if use.score:
        return said(
            "A sensitive column is an input of {name}: its score is computed from {columns}.",
            name=audited,
            columns=columns,
        )
    return said_of(
        use.rules,
        "A sensitive column is an input of {name}: {number} of its {of} rules uses {columns}.",
        "A sensitive column is an input of {name}: {number} of its {of} rules use {columns}.",
        name=audited,
        columns=columns,
        of=str(use.of),
    )


def _quoted(finding: Finding, columns: tuple[str, ...]) -> str:
    return listed([said("“{column}”", column=title) for title in finding.question.words.columns(columns)])
