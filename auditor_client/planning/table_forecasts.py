"""The noise in every table that one answer has, compared with an audit for each table (spec 10, section 1)."""

import math

from auditor_client.asking.question import Question
from auditor_client.exchange.expected_noise import expected_noise
from auditor_client.findings.coarser import coarser_tables
from auditor_client.planning.forecasts import TableForecast
from shared.privacy.amounts import NANO_PER_UNIT
from shared.privacy.noise import AdditiveNoise, DiscreteGaussianNoise, of_two_holders


def forecast_tables(question: Question) -> tuple[TableForecast, ...]:
    """The noise on a group's count in each table, those by one column first; empty of one table, or without noise.

    A count by fewer columns adds up those of its finer groups. Separate audits share the loss equally.
    """
    coarser = [table.question.request.sensitive for table in coarser_tables(question)]
    schema, relation, batch = question.schema, question.dataset.neighbouring, question.plan.batches[0]
    noise = expected_noise(batch, relation, schema, question.plan.sensitive)
    if not coarser or not isinstance(noise, AdditiveNoise):
        return ()
    deviation = math.sqrt((of_two_holders(noise) if question.dataset.shares is not None else noise).variance)
    tables, gaussian = [*coarser, question.plan.sensitive], isinstance(noise, DiscreteGaussianNoise)
    larger = _larger_noise(question, len(tables), gaussian=gaussian)
    groups = [schema.group_count(columns) for columns in tables]
    changed = [relation.counts_that_change(number, moved=batch.names_sensitive(schema)) for number in groups]
    return tuple(
        TableForecast(
            columns,
            together=deviation * math.sqrt(groups[-1] / of_table),
            separate=deviation * larger * (changes / changed[-1]) ** (0.5 if gaussian else 1),
        )
        for columns, of_table, changes in zip(tables, groups, changed, strict=True)
    )


def _larger_noise(question: Question, audits: int, *, gaussian: bool) -> float:
    """Return by what factor the noise is larger in each of several audits that share a loss."""
    if question.dataset.terms.kind == "zcdp":
        return math.sqrt(audits)
    if not gaussian:
        return audits
    delta = question.request.loss.delta_nano / NANO_PER_UNIT
    return audits * math.sqrt(math.log(1.25 * audits / delta) / math.log(1.25 / delta))
