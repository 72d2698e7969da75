"""The command that reads a model and asks nothing: what was understood, or all that does not fit."""

from typing import Annotated, Any

import typer

from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import Dataset, JsonOnly, ModelFile, Reaching
from auditor_client.cli.output import an_auditor, print_json
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import read_model
from shared.scores.documents import columns_of

RULES_SHOWN_MAX = 50


@with_flags
def check_model(
    model: ModelFile,
    *,
    dataset: Dataset,
    favourable: Annotated[
        list[str] | None, typer.Option(help="A favourable class of the model; give it again for more.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="The dataset's column for an input of the model, in the model's order; give one for each."),
    ] = None,
    above: Annotated[float | None, typer.Option(help="For a score: scores above this value are favourable.")] = None,
    output: JsonOnly,
    connection: Reaching,
) -> None:
    """Read a model over a dataset's columns and print what was understood, or what does not fit. Costs nothing."""
    with an_auditor(connection) as auditor:
        schema = auditor.dataset(dataset).table
        read, digest = read_model(model, ModelRequest(schema, favourable or None, columns or None, above))
        document = _understood(read)
        if output.as_json:
            print_json({"file": model.name, "digest": digest, **document})
            return
        typer.echo(f"{model.name} can be audited over {dataset}: {document['description']}.")
        typer.echo(f"Reads: {', '.join(document['reads'])}")
        for decision, kind in document["decisions"].items():
            typer.echo(f"Decision: {decision} ({kind})")
        typer.echo(f"Checked: {document['checked']}")
        for rule in document["rules"][:RULES_SHOWN_MAX]:
            typer.echo(f"  {rule}")
        if document["rules"][RULES_SHOWN_MAX:]:
            typer.echo(f"  … and {len(document['rules']) - RULES_SHOWN_MAX} more rules")
        typer.echo("No request was sent, and nothing was spent.")


def _understood(read: ReadModel) -> dict[str, Any]:
    provenance, rules = read.provenance, read.tree.rules()
    derived = {column.name: column for column in read.columns}
    reads: dict[str, None] = {}
    for rule in rules:
        for predicate in rule.rule.all_of:
            column = derived.get(predicate.column)
            score = None if column is None or isinstance(column.origin, str) else column.origin.score
            reads |= dict.fromkeys([predicate.column] if score is None else columns_of(score))
    checked = "the file does not have examples, so the reading could not be compared with the model's own decisions"
    if provenance is not None and provenance.compared_with is not None:
        checked = (
            f"{provenance.differing} of {provenance.probes} invented records are decided differently by "
            f"{provenance.compared_with}"
        )
    return {
        "description": "a tree" if provenance is None else provenance.description,
        "reads": list(reads),
        "decisions": {rule.leaf.decision: "favourable" if rule.favourable else "not favourable" for rule in rules},
        "rules": [f"{rule.rule}: {rule.leaf.decision}" for rule in rules],
        "checked": checked,
    }
