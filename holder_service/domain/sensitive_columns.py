"""Which columns are sensitive belongs to the population, as its neighbouring relation does (2-privacy §2).

Under `sensitive_attribute` neighbours differ by all sensitive values of one person, in every dataset of the
population. If another dataset called one of them ordinary, its rules could compare it, and a change of the person
would move them between cells, which no sensitivity allows for. So a name that is sensitive in one dataset is
sensitive in all that have it, perturbed alike, and once a loss was charged no name joins the set or leaves it: what an
earlier release compared stays ordinary. Retired datasets count, because their releases do.

Rules may compare sensitive columns where a dataset's declaration lets them, at the price of moving a person between
cells. Like the set itself that is the population's word: once a loss was charged, no dataset begins to allow it unless
one did already. To stop allowing it is always possible.

Names are all there is to go by. Whether two names are one attribute is the administrator's word.
"""

from collections.abc import Mapping, Sequence

from holder_service.domain.errors import AlreadyCharged, Conflict
from shared.contract.relations import Relation
from shared.contract.schema import Column, Schema

Schemas = Mapping[str, Schema]
"""The declared columns of every dataset of a population, retired ones included, by the dataset's name."""

_Perturbation = tuple[int, frozenset[str | bool]] | None


def require_one_set(relation: Relation, schemas: Schemas, *, charged: Sequence[Schemas] = ()) -> None:
    """Refuse datasets that one population cannot have together.

    Args:
        schemas: Its datasets as they would be.
        charged: The datasets as they are, of this population if it was charged, and of any charged one that joins it.

    Raises:
        Conflict: A name is sensitive in one dataset and ordinary in another, or perturbed otherwise.
        AlreadyCharged: The set would differ from one that losses were charged in terms of, or rules might compare what
            none might.
    """
    if relation != "sensitive_attribute":
        return
    owners = {column.name: (dataset, column) for dataset, schema in schemas.items() for column in _sensitive(schema)}
    for dataset, schema in schemas.items():
        for name in owners.keys() & schema.by_name.keys():
            _require_alike(dataset, schema.by_name[name], *owners[name])
    after = _columns(schemas)
    for before in map(_columns, charged):
        if changed := sorted(name for name, _ in before.items() ^ after.items()):
            raise AlreadyCharged(
                f"Under sensitive_attribute the population's sensitive columns, and how they were perturbed, can no "
                f"longer change, because losses were charged in their terms, or may have been before a restore: column "
                f"{changed[0]!r} would."
            )
    if _allowed(schemas) and not all(map(_allowed, charged)):
        raise AlreadyCharged(
            "Under sensitive_attribute a population whose rules may not name sensitive columns keeps that once losses "
            "were charged, or may have been before a restore: leave `sensitive_in_rules` out."
        )


def _allowed(schemas: Schemas) -> bool:
    """Whether some dataset lets rules name sensitive columns."""
    return any(schema.sensitive_in_rules for schema in schemas.values())


def _require_alike(dataset: str, column: Column, owner: str, sensitive: Column) -> None:
    if not column.sensitive:
        raise Conflict(
            f"Column {column.name!r} is sensitive in dataset {owner!r} and not in dataset {dataset!r} of the same "
            "population. Under sensitive_attribute a column that is sensitive in one dataset is sensitive in all that "
            "have it, retired ones included."
        )
    if _perturbation(column) != _perturbation(sensitive):
        raise Conflict(
            f"Column {column.name!r} is declared as perturbed otherwise in dataset {owner!r} than in dataset "
            f"{dataset!r} of the same population: declare one probability and the same values in both."
        )


def _columns(schemas: Schemas) -> dict[str, _Perturbation]:
    """The names of the sensitive columns, and how each was perturbed."""
    return {column.name: _perturbation(column) for schema in schemas.values() for column in _sensitive(schema)}


def _sensitive(schema: Schema) -> tuple[Column, ...]:
    return tuple(schema.by_name[name] for name in schema.sensitive)


def _perturbation(column: Column) -> _Perturbation:
    """With which probability a value was kept, and of which values; `None` if it was not perturbed."""
    response = column.randomised_response
    return None if response is None else (response.kept, frozenset(column.values))
