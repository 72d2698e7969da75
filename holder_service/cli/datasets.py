"""Commands about datasets, their populations and the budgets on them."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from holder_service.cli.calls import (
    AdminKey,
    Url,
    call,
    chunks,
    clear_errors,
    download,
    fail,
    new_file,
    path_of,
    report_format,
    require_yes,
)
from holder_service.cli.formats import media_type_of, with_format
from holder_service.cli.ids import short, whole_id
from holder_service.cli.load_bar import WORDS, followed
from holder_service.cli.output import AsJson, notify, show, show_fields, show_overlaps, when
from holder_service.cli.times import Expires, end_of_day
from holder_service.records.formats import RecordFormat

commands = typer.Typer()
_CHECKED = "{} fits the declaration of {}; nothing was kept. Earlier loads were not compared."
records_commands = typer.Typer(
    no_args_is_help=True, help="Let the holder read files of records itself, and list running loads."
)


@commands.command("datasets")
def list_datasets(url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """List the datasets that are not retired, as auditors see them."""
    found = call("GET", "/v1/datasets", url, key)
    rows = [
        (
            f"{one['name']} (rehearsal)" if "rehearsal" in one else one["name"],
            one["population"], one["relation"], str(one["version"] or "none loaded"), ", ".join(one["sensitive"]),
        )
        for one in found["datasets"]
    ]  # fmt: skip
    show(found, ("dataset", "population", "relation", "version", "sensitive"), rows, as_json)


@commands.command("declare")
def declare(
    dataset: Annotated[str, typer.Argument(help="The dataset's name. --example and --schema do not need it.")] = "",
    declaration: Annotated[
        Path | None,
        typer.Argument(help="JSON with person_key or people, columns, population, relation, cap, metadata."),
    ] = None,
    example: Annotated[bool, typer.Option("--example", help="Print an example declaration and exit.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of declarations and exit.")] = False,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Declare a dataset, or change the parts of a declaration that may change. Prints every error of the declaration.

    docs/declaration.md describes every field. `holder draft` drafts a declaration from a file of records.
    """
    if example or schema:
        from holder_service.domain.declarations import EXAMPLE, declared_text
        from shared.contract.datasets import DatasetDeclaration

        form = json.dumps(DatasetDeclaration.model_json_schema(), indent=2) + "\n"
        print(declared_text(EXAMPLE) if example else form, end="")
        return
    if declaration is None:
        fail(
            "Name the dataset and the file of its declaration: holder admin declare NAME FILE (or --example, --schema)."
        )
    answer = _put_document(path_of("datasets", dataset), declaration, url, key)
    for warning in answer["warnings"]:
        notify(f"Warning: {warning}")
    show_fields(answer if as_json else {name: answer[name] for name in answer if name != "warnings"}, as_json)


@commands.command("metadata")
def write_metadata(
    dataset: str,
    metadata: Annotated[Path, typer.Argument(help="JSON with title, source, reference_date, columns and others.")],
    url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Replace the metadata of a dataset: titles, units, source. Nothing else changes."""
    _put_document(path_of("datasets", dataset, "metadata"), metadata, url, key)
    notify(f"The metadata of {dataset} are saved.")


@commands.command("rehearsal")
def publish_rehearsal(
    dataset: Annotated[str, typer.Argument(help="The dataset of real people to rehearse.")],
    people: Annotated[int | None, typer.Option(
        help="How many people to invent. Choose a number; do not use a true count.",
    )] = None,
    seed: Annotated[str | None, typer.Option(help="32 hexadecimal digits as the seed \\[random].")] = None,
    marginals: Annotated[
        Path | None,
        typer.Option(help="JSON: for each column, parts with a weight. This publishes them to all auditors."),
    ] = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Publish a rehearsal of a dataset, or replace it. Its people are invented, and every auditor may send requests at
    no charge.

    The people are drawn from the declaration and from the marginals that you publish, never from records. See
    docs/rehearsals.md.
    """
    published: Any = {}
    with clear_errors():
        text = "{}" if marginals is None else marginals.read_text()
    try:
        published = json.loads(text)
    except ValueError as error:
        fail(f"{marginals} is not valid JSON: {error}.")
    asked = {"people": people, "seed": seed, "marginals": published}
    answer = call("POST", path_of("datasets", dataset, "rehearsal"), url, key, json=asked)
    if as_json:
        print(json.dumps(answer))
        return
    rehearsal = answer["rehearsal"]
    print(
        f"{answer['dataset']}, version {answer['version']}, is a rehearsal of {dataset}: {rehearsal['people']} "
        f"invented people, seed {rehearsal['seed']}. Auditors ask about it with `auditor rehearse --dataset {dataset}`."
    )


@commands.command("load")
@with_format
def load(
    dataset: str,
    records: Annotated[Path, typer.Argument(help="A .csv or .parquet file.")],
    *,
    how: RecordFormat,
    check: Annotated[bool, typer.Option(
        "--check", help="Validate only: report every error and store nothing. Earlier loads are not compared.",
    )] = False,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Load records as a new version, all or none. State how a CSV file is written; it is never guessed.

    Excel in German writes: --delimiter ';' --decimal , --encoding cp1252 --true WAHR --false FALSCH
    R writes: --missing NA --only-declared
    """
    with clear_errors():
        file = records.open("rb")
        size = records.stat().st_size if records.is_file() else None
    loads = path_of("datasets", dataset, "records", "loads")
    with file:
        if url:  # for the same roles: a proxy may lose a refusal that comes while the file is being sent
            call("GET", loads, url, key)
        with followed(loads) as bar:
            answer = call(
                "PUT", path_of("datasets", dataset, "records"), url, key, media=media_type_of(records),
                content=bar.sending(file, size) if bar else chunks(file), size=size, follow=bar.follow if bar else None,
                params={**how.model_dump(mode="json", exclude_defaults=True), **({"check": "true"} if check else {})},
            )  # fmt: skip
    if as_json:
        print(json.dumps(answer))
    elif check:
        print(_CHECKED.format(records, dataset))
    else:
        print(f"Version {answer['version']} of {dataset} is loaded.")


@records_commands.command("load")
@with_format
def load_from(
    dataset: str,
    source: Annotated[str, typer.Argument(help="The URL of a file or a folder under HOLDER_RECORDS_ROOTS.")],
    *,
    how: RecordFormat,
    check: Annotated[bool, typer.Option(
        "--check", help="Validate only: report every error and store nothing. Earlier loads are not compared.",
    )] = False,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Let the holder read files of records itself and load them as a new version, all or none."""
    asked = {**how.model_dump(mode="json", exclude_defaults=True), "url": source, **({"check": True} if check else {})}
    if not as_json:
        notify("The holder reads the files; this takes as long as they are large.")
    with followed(path_of("datasets", dataset, "records", "loads")) as bar:
        answer = call(
            "POST", path_of("datasets", dataset, "records"), url, key, json=asked, follow=bar.follow if bar else None
        )
    if as_json:
        print(json.dumps(answer))
    elif check:
        print(_CHECKED.format(source, dataset))
    else:
        print(f"Version {answer['version']} of {dataset} is loaded.")


@records_commands.command("loads")
def list_loads(dataset: str, url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """List the running loads of a dataset, started by anyone, and the progress of each."""
    found = call("GET", path_of("datasets", dataset, "records", "loads"), url, key)
    rows = [
        (one["actor"], when(one["began"]), WORDS[one["phase"]],
         "" if one["percent"] is None else f"{one['percent']} %")
        for one in found["loads"]
    ]  # fmt: skip
    show(found, ("administrator", "began", "phase", "done"), rows, as_json)


@commands.command("retire")
def retire(
    dataset: str,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Remove a dataset, its records and its rehearsal. Spent budget is not returned."""
    if not yes:
        require_yes(
            f"Remove {dataset} with its records, derived columns and rehearsal, for good?",
            "Nothing was removed. Where nobody can be asked, give --yes.",
        )
    call("DELETE", path_of("datasets", dataset), url, key)
    notify(f"{dataset} is retired, and its records are gone. What was spent stays spent.")


@commands.command("columns")
def list_columns(dataset: str, url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """List the derived columns that auditors made for a dataset."""
    found = call("GET", path_of("datasets", dataset, "columns"), url, key)
    rows = [
        (one["auditor"], one["column"]["name"], one["origin"], str(one["bytes"]), one["state"],
         short(one["id"]))
        for one in found["columns"]
    ]  # fmt: skip
    show(found, ("auditor", "column", "from", "bytes", "state", "id begins with"), rows, as_json)


@commands.command("delete-column")
def delete_column(
    dataset: str,
    column: Annotated[str, typer.Argument(help="The column's id, or its first characters, as `columns` lists it.")],
    url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Delete an auditor's derived column. Its releases remain."""
    path = path_of("datasets", dataset, "columns")
    ids = [one["id"] for one in call("GET", path, url, key)["columns"]]
    named = whole_id(
        column, ids, f"derived columns have an id that begins so; holder admin columns {dataset} lists them"
    )
    call("DELETE", f"{path}/{named}", url, key)


@commands.command("merge")
def merge(into: str, source: str, url: Url = "", key: AdminKey = "") -> None:
    """Merge population SOURCE into population INTO. Their spending is added."""
    call("POST", path_of("populations", into, "merge"), url, key, json={"population": source})
    notify(f"{source} has joined {into}; their spending is added.")


@commands.command("overlaps")
def look_at_overlap(population: str, other: str, url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """Estimate whether two populations share people. Charged to both caps; `holder overlaps` is exact."""
    found = call("POST", path_of("populations", "overlaps"), url, key, json={"population": population, "other": other})
    show_overlaps(found, [found], as_json)


@commands.command("report")
def report(
    dataset: str,
    file: Annotated[Path, typer.Argument(help="A new file: .html, or .json for machines.")],
    url: Url = "", key: AdminKey = "",
) -> None:  # fmt: skip
    """Write the transparency report of a dataset: what was released, to whom, when and at what loss."""
    as_format = report_format(file)
    with clear_errors(), new_file(file) as written:
        download(path_of("datasets", dataset, "report"), url, key, written, params={"format": as_format})
    notify(f"The transparency report of {dataset} is in {file}.")


@commands.command("grant")
def grant(
    dataset: str,
    auditor: str,
    epsilon: Annotated[str | None, typer.Argument(
        help='The new limit of ε, such as "1"; "0" revokes the budget.',
    )] = None,
    rho: Annotated[
        str | None, typer.Option(help="Instead of ε, if the population's cap is in ρ: the new limit of ρ.")
    ] = None,
    delta: Annotated[str, typer.Option(help="The new limit of delta.")] = "0",
    expires: Expires = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Set an auditor's budget for a dataset's population."""
    limit = {"epsilon": epsilon, "delta": delta} if rho is None else {"epsilon": epsilon, "rho": rho}
    body = {**{name: text for name, text in limit.items() if text is not None}, "expires": end_of_day(expires)}
    granted = call("PUT", path_of("datasets", dataset, "budgets", auditor), url, key, json=body)
    if granted["spendable"] != granted["remaining"]:
        left = _amounts(granted["spendable"], "ε {epsilon} and δ {delta}")
        notify(
            f"Warning: of this only {left} can be spent, for the cap of population "
            f"{granted['population']} admits no more: grant less, or raise the cap."
        )
    _show_budgets([granted], as_json)


@commands.command("cap")
def set_cap(
    population: str,
    epsilon: Annotated[str | None, typer.Argument(help='The new cap of ε, such as "10".')] = None,
    rho: Annotated[str | None, typer.Option(help="Instead of ε, for an account that adds up ρ: the new cap.")] = None,
    delta: Annotated[str, typer.Option(help="The cap of δ. For a cap in ρ: the δ at which ρ is converted.")] = "0",
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Set the maximum that all auditors together may be charged for a population."""
    amounts = {"epsilon": epsilon, "rho": rho, "delta": delta}
    body = {"cap": {name: text for name, text in amounts.items() if text is not None}}
    found = call("PUT", path_of("populations", population, "cap"), url, key, json=body)
    row = (found["population"], *(_amounts(found[name]) for name in ("cap", "spent", "remaining")))
    show(found, ("population", "cap ε, δ", "spent ε, δ", "left ε, δ"), [row], as_json)


@commands.command("budgets")
def list_budgets(
    population: Annotated[str | None, typer.Option(help="Only this population.")] = None,
    auditor: Annotated[str | None, typer.Option(help="Only this auditor.")] = None,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """List every auditor's budget with every population."""
    asked = {"population": population, "auditor": auditor}
    named = {name: value for name, value in asked.items() if value is not None}
    _show_budgets(call("GET", "/v1/admin/budgets", url, key, params=named)["budgets"], as_json)


@commands.command("notices")
def list_notices(url: Url = "", key: AdminKey = "", as_json: AsJson = False) -> None:
    """List what needs action now: caps that are missing or nearly spent, budgets that are nearly spent, and budgets,
    keys and requests that expire soon.

    Use --json in scripts. The list is empty if nothing needs action.
    """
    found = call("GET", "/v1/admin/notices", url, key)["notices"]
    columns = ("kind", "what", "left ε, δ", "since", "until", "what to do")
    rows = [
        (one["kind"], one["what"], _amounts(one["left"]) if "left" in one else "", one["since"][:10],
         one.get("until", "")[:10], one["advice"])
        for one in found
    ]  # fmt: skip
    show({"notices": found}, columns, rows, as_json)


def _put_document(path: str, file: Path, url: str, key: str) -> Any:
    """Send the JSON document in a file; a refusal names the line of each fault."""
    from holder_service.domain.declarations import located

    with clear_errors():
        content = file.read_bytes()

    def locate(field: str, detail: str) -> str:
        return located(content.decode(), field, detail)

    return call("PUT", path, url, key, content=content, media="application/json", locate=locate)


def _show_budgets(found: list[dict[str, Any]], as_json: bool) -> None:
    rows = [
        (one["auditor"], one["population"], *(_amounts(one[name]) for name in ("limit", "spent", "spendable")),
         (one["expires"] or "never")[:10])
        for one in found
    ]  # fmt: skip
    columns = ("auditor", "population", "limit ε, δ", "spent ε, δ", "left ε, δ", "expires")
    show({"budgets": found}, columns, rows, as_json)


def _amounts(loss: dict[str, str], otherwise: str = "{epsilon}, {delta}") -> str:
    """A loss in ρ with its reading; one in ε and δ in the form that is given."""
    form = "ρ {rho} (ε {epsilon} at δ {delta})" if "rho" in loss else otherwise
    return form.format(**loss)
