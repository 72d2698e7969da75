"""One block of people as the scope of an audit: only that block is charged (spec 10 §4)."""

from auditor_client.asking.request import AuditRequest
from auditor_client.errors import QuestionRefused
from auditor_client.text import no_such
from shared.contract.blocks import BlockDomain
from shared.contract.datasets import DatasetDescription
from shared.wire.text import normalise


def within_block(request: AuditRequest, block: str | None, dataset: DatasetDescription) -> AuditRequest:
    """Restrict a request to the people of one block, by a condition that every cell then has.

    Args:
        request: What is asked.
        block: A value of the dataset's block column; None for everybody.
        dataset: Whom to ask about.

    Raises:
        QuestionRefused: The dataset does not declare blocks, or not this one.
    """
    if block is None:
        return request
    domain = dataset.table.block_domain
    if domain is None:
        raise QuestionRefused(
            f"`block` names {block!r}, but dataset {dataset.name!r} does not declare blocks of people. Leave `block` "
            "out, or restrict the audit by a column (`where`)."
        )
    return request.changed(where=(*request.where, f"{_quoted(domain.column)} = {_quoted(_value(domain, block))}"))


def _value(domain: BlockDomain, block: str) -> str:
    """A declared block as conditions write it."""
    if domain.values:
        if normalise(block) in domain.values:
            return normalise(block)
        raise QuestionRefused(f"`block`: {no_such(f'block of column {domain.column!r}', block, domain.values)}")
    number = block.strip().removeprefix("-")
    if number.isdecimal() and number.isascii() and domain.first <= int(block) <= domain.last:
        return str(int(block))
    raise QuestionRefused(
        f"`block`: column {domain.column!r} does not declare the block {block!r}, only {domain.first} to "
        f"{domain.last}. Name one of these."
    )


def _quoted(text: str) -> str:
    sign = "'" if '"' in text else '"'
    if sign in text:
        raise QuestionRefused(
            f"`block`: {text!r} contains both kinds of quotes. Restrict the audit by a rule in JSON (`where`)."
        )
    return f"{sign}{text}{sign}"
