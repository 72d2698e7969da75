"""One answer, every table, as data: the figures of an audit by fewer of its sensitive columns."""

from dataclasses import dataclass
from typing import Final

from auditor_client.findings.finding import Finding
from auditor_client.report import headlines
from auditor_client.report.chain_data import chain_data
from auditor_client.report.figures import MetricSection, metric_section
from auditor_client.report.formats import sensitive_words
from auditor_client.report.prose import level_of
from auditor_client.report.rehearsal import charge_words
from auditor_client.report.strata_data import strata_data
from shared.wire.wording import joined, listed, said, sentence

_ONE_CHARGE: Final = sentence(
    "The same answer has these figures too. All figures of this report together cost {charge}."
)
_SUMS: Final = sentence(
    "They add up the estimates by {columns}, so the tables do not contradict each other. A figure that is read in this "
    "way is as good evidence as one that was asked for alone."
)
_JOINT: Final = sentence("The joint intervals hold together within each table, not over all tables.")


@dataclass(frozen=True, slots=True)
class TableData:
    """The figures by some of the columns: the verdict, the sentences, and a section for each metric.

    `within` are sentences about strata and stages; `level` is that of the intervals.
    """

    title: str
    verdict: str
    heading: str
    outcomes: tuple[str, ...]
    level: str
    sections: tuple[MetricSection, ...]
    within: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TablesData:
    """The tables by fewer columns, and what all figures cost together."""

    words: tuple[str, ...]
    tables: tuple[TableData, ...]


def tables_data(finding: Finding) -> TablesData | None:
    """The tables of an audit by fewer columns; None without any."""
    if not finding.tables:
        return None
    charge = joined([charge_words(answer.release) for answer in finding.stored.answers], "; ")
    words = [said(_ONE_CHARGE, charge=charge), said(_SUMS, columns=listed(sensitive_words(finding.question)))]
    if finding.reading.joint:
        words.append(said(_JOINT))
    return TablesData(tuple(words), tuple(map(_table, finding.tables.values())))


def _table(table: Finding) -> TableData:

    strata, chain = strata_data(table), chain_data(table)
    of_strata = () if strata is None else tuple(section.conclusion for section in strata.sections if section.conclusion)
    of_chain = () if chain is None else tuple(comparison.sentence for comparison in chain.comparisons)
    return TableData(
        title=said("By {columns}", columns=listed(sensitive_words(table.question))),
        verdict=table.verdict.value if table.first.ratio.defined else "undefined",
        heading=headlines.heading(table),
        outcomes=headlines.outcomes(table),
        level=level_of(table),
        sections=tuple(metric_section(table, metric) for metric in table.metrics),
        within=(*of_strata, *of_chain),
    )
