"""The OpenAPI document is right: whatever it admits or forbids, the holder answers as it says.

Schemathesis makes up requests from the document, good and bad ones, and checks each answer's status, content type and
body against it. At a desk the requests are the same every time, in continuous integration (`CI` is set) fresh ones.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from jsonschema_rs import Draft202012Validator
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS
from checks.fuzz import with_short_lists
from holder_service.web.rest import contract
from shared.contract.datasets import DatasetDescription
from shared.kinds.plans import Plan, Quote
from shared.kinds.releases import SigningKeys
from shared.wire.problems import PROBLEM_MEDIA_TYPE
from testing.holders import TestedHolder
from testing.interface_walk import DocumentCaller, new_holder, operations_of, walk
from tests import contract as contract_messages

EXAMPLES: Final = 4
EXAMPLES_AT_LENGTH: Final = 24
KNOWN: Final = {"dataset": "register", "auditor": "ADR", "population": "register", "code": "not-found"}
"""Names that exist, put into every other request: made up ones are all unknown."""


both_modes = pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


@pytest.mark.slow
@both_modes
def test_no_call_answers_otherwise_than_documented(lasting_holder: TestedHolder, mode: GenerationMode) -> None:
    require_as_documented(lasting_holder, mode, examples=EXAMPLES)


@both_modes
@pytest.mark.statistical
def test_none_of_many_calls_answers_otherwise_than_documented(
    lasting_holder: TestedHolder, mode: GenerationMode
) -> None:
    require_as_documented(lasting_holder, mode, examples=EXAMPLES_AT_LENGTH)


def require_as_documented(holder: TestedHolder, mode: GenerationMode, *, examples: int) -> None:
    """Ask every operation so many times; a third of the requests is the least that can be made up."""
    document = holder.client.get("/openapi.json").json()
    for name in ("Plan", "Batch", "Cell", "Rule", "Predicate"):
        document["components"]["schemas"][name] = with_short_lists(document["components"]["schemas"][name])
    contract = schemathesis.openapi.from_dict(document)
    operations = [found.ok() for found in contract.get_all_operations() if isinstance(found, Ok)]

    asked = [ask(holder, operation, mode, examples=examples) for operation in operations]

    assert len(asked) >= 28
    assert 3 * sum(asked) >= examples * len(asked)
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def ask(
    holder: TestedHolder, operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, *, examples: int
) -> int:
    """Make requests of one operation and check each answer; gives how many there were."""
    key = holder.admin_key if "administrator" in (operation.tags or ()) else holder.auditor_key
    asked = 0

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize="CI" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def answers_as_documented(case: Case[Any]) -> None:
        nonlocal asked
        asked += 1
        if mode is GenerationMode.POSITIVE and asked % 2 and case.method not in ("DELETE", "PATCH"):
            parameters = case.path_parameters or {}
            case.path_parameters = {name: KNOWN.get(name, value) for name, value in parameters.items()}
        for name in ("Content-Length", "Transfer-Encoding"):  # HTTP's own: wrong ones never reach the application
            case.headers.pop(name, None)
        case.call_and_validate(
            base_url=holder.url,
            timeout=60,
            headers={"Authorization": f"Bearer {key}"},
            # A plan of the right form may still not fit the dataset, which no JSON Schema says; and a parameter that
            # nobody knows, which the tool counts as a mistake, changes nothing here.
            excluded_checks=[positive_data_acceptance, negative_data_rejection],
        )

    with suppress(Unsatisfiable):  # what takes nothing cannot be asked wrongly
        answers_as_documented()
    return asked


def operations(holder: TestedHolder) -> dict[str, tuple[str, str, dict[str, Any]]]:
    return operations_of(contract_of(holder))


def contract_of(holder: TestedHolder) -> dict[str, Any]:
    document: dict[str, Any] = holder.client.get("/openapi.json").json()
    return document


def fits(document: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    """Check a value against a schema of the document."""
    Draft202012Validator({**schema, "components": document["components"]}).validate(value)


def bodies(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What an operation takes, and what it answers that is no refusal: media type and content."""
    yield from operation.get("requestBody", {"content": {}})["content"].items()
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield from answer.get("content", {}).items()


def test_the_document_says_what_it_is(lasting_holder: TestedHolder) -> None:
    document = contract_of(lasting_holder)

    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == version("pafer")
    assert document["info"]["license"]["identifier"] == "Apache-2.0"
    assert document["servers"][0]["url"] == "/"
    assert "Bearer" in document["components"]["securitySchemes"]["key"]["description"]
    assert {tag["name"] for tag in document["tags"]} == {"auditor", "everybody", "administrator", "public"}


def test_every_operation_is_described_typed_and_named_in_short(lasting_holder: TestedHolder) -> None:
    for name, (method, path, operation) in operations(lasting_holder).items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+){1,4}", name)
        assert operation["description"], name
        assert ("security" in operation) == (operation["tags"] != ["public"]), name
        assert [one["name"] for one in operation.get("parameters", ()) if not one.get("description")] == [], name
        assert all(content["schema"] for _, content in bodies(operation)), name
        assert "401" not in operation["responses"] or path.startswith(("/v1/", "/metrics")), name
        assert ("415" in operation["responses"]) == ("requestBody" in operation), name
        assert method != "get" or not {"408", "413", "415"} & operation["responses"].keys(), name
        for status, answer in operation["responses"].items():
            if not status.startswith("2"):
                assert list(answer["content"]) == [PROBLEM_MEDIA_TYPE], (name, status)


def test_there_is_one_schema_for_each_type_and_every_field_is_described(lasting_holder: TestedHolder) -> None:
    document = contract_of(lasting_holder)
    schemas = document["components"]["schemas"]

    undescribed = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, form in schema.get("properties", {}).items()
        if not form.get("description")
    ]

    for schema in schemas.values():
        for form in schema.get("properties", {}).values():
            if form.get("default") is not None:
                fits(document, form, form["default"])
    assert undescribed == [], "the text below a field is its description"
    assert [name for name, schema in schemas.items() if not schema.get("description")] == []
    assert [name for name in schemas if not name.isalnum()] == [], "one type has two schemas"
    assert "HTTPValidationError" not in schemas


@pytest.mark.slow
def test_every_operation_has_an_example_that_fits(lasting_holder: TestedHolder) -> None:
    document = contract_of(lasting_holder)

    for name, (_, _, operation) in operations_of(document).items():
        answers = [answer["content"] for answer in operation["responses"].values() if answer.get("content")]
        for content in (*answers, *([operation["requestBody"]["content"]] if "requestBody" in operation else [])):
            form = next(iter(content.values()))
            shown = [one["value"] for one in form.get("examples", {}).values()] or [form.get("example")]
            for example in shown:
                assert example is not None, f"{name}: python -m checks.interface_examples"
                fits(document, form["schema"], example)


def test_the_examples_have_a_plan_that_refines_and_a_purpose() -> None:
    examples = json.loads(contract.EXAMPLES.read_bytes())
    first, finer = examples["release_plan"]["answer"], examples[f"release_plan{contract.REFINING}"]

    assert finer["request"]["refines"] == first["id"]
    assert (
        finer["answer"]["charge"] == examples[f"quote_plan{contract.REFINING}"]["answer"]["charge"] == first["charge"]
    )
    assert "purpose" in examples["read_ledger"]["answer"]["entries"][0]["detail"]


def test_the_release_of_the_examples_is_one_that_an_auditor_believes() -> None:
    examples = json.loads(contract.EXAMPLES.read_bytes())
    asked, sent = Plan.model_validate(examples["release_plan"]["request"]), examples["release_plan"]["answer"]
    dataset = DatasetDescription.model_validate(examples["describe_dataset"]["answer"])

    quote = Quote.model_validate(examples["quote_plan"]["answer"])
    priced = PLANS.priced(asked.pinned(sent["version"]), quote, RequestContext.of(dataset, "ADR"))
    release = priced.verified(sent, SigningKeys.model_validate(examples["signing_keys"]["answer"]))

    assert release.ledger.model_dump() == examples["ledger_entry"]["answer"]


RECORDED: Final = sorted(path.parent for path in Path(contract_messages.__file__).parent.glob("*/entries.jsonl"))


@pytest.mark.parametrize("folder", RECORDED, ids=lambda folder: folder.name)
def test_every_message_that_was_ever_recorded_fits(lasting_holder: TestedHolder, folder: Path) -> None:
    document = contract_of(lasting_holder)

    def fit(name: str, values: Iterable[Any]) -> None:
        for value in values:
            fits(document, {"$ref": f"#/components/schemas/{name}"}, value)

    def lines(name: str) -> list[Any]:
        path = folder / name  # sets from before there were trainings or watches have none
        found = path.read_bytes().splitlines() if path.exists() or not name.startswith(("training", "watch")) else []
        return [json.loads(line) for line in found]

    fit("Plan", (line["sent"] for line in lines("plans.jsonl")))
    fit("Quote", lines("quotes.jsonl"))
    fit("Release", lines("releases.jsonl"))
    fit("Training", (line["sent"] for line in lines("trainings.jsonl")))
    fit("TrainingQuote", lines("training-quotes.jsonl"))
    fit("TrainingRelease", lines("training-releases.jsonl"))
    fit("Watch", (line["sent"] for line in lines("watches.jsonl")))
    fit("WatchQuote", lines("watch-quotes.jsonl"))
    fit("WatchReport", lines("watch-reports.jsonl"))
    fit("LedgerEntry", lines("entries.jsonl")[:-1])
    fit("DatasetDescription", json.loads((folder / "datasets.json").read_bytes()))
    fit("SigningKeys", [json.loads((folder / "keys.json").read_bytes())])


def test_every_operation_answers_as_documented_when_it_is_called_once(tmp_path: Path) -> None:
    """The walk takes each operation; here with nothing but the document, and as the role that has the least rights."""
    answered: dict[str, httpx.Response] = {}

    def note(operation: str, _: Any, answer: httpx.Response) -> None:
        answered[operation] = answer
        described = caller.operations[operation][2]["responses"][str(answer.status_code)]
        assert answer.is_success, f"{operation}: {answer.text}"
        assert ("location" in answer.headers) == (answer.status_code == 201), operation
        if answer.content:
            media_type = answer.headers["content-type"].partition(";")[0]
            is_json = media_type == "application/json"
            fits(caller.document, described["content"][media_type]["schema"], answer.json() if is_json else answer.text)

    with new_holder(tmp_path) as holder:
        caller = DocumentCaller(holder, note)
        for role in ("viewer", "data-steward", "budget-officer"):
            opened = holder.admin("POST", "/auditors", json={"name": f"a-{role}", "role": role})
            caller.keys[role] = opened.json()["key"]
        # The walk declares a cap too, which a steward sets for nobody.
        caller.operations["declare_dataset"][2]["x-roles"] = ["administrator"]
        walk(holder, caller)
        made = [answer.headers["location"] for answer in answered.values() if "location" in answer.headers]
        shown = [holder.admin("HEAD", path.removeprefix("/v1/admin")).status_code for path in made if "admin" in path]

    assert answered.keys() == caller.operations.keys()
    assert sorted(shown) == [200, 405], "an account is shown, and a key is withdrawn by its path"


def test_head_is_answered_wherever_get_is(sqlite_holder: TestedHolder) -> None:
    got = sqlite_holder.auditor("GET", "/datasets")

    head = sqlite_holder.auditor("HEAD", "/datasets")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert sqlite_holder.auditor("HEAD", "/datasets/register/quotes").status_code == 405
    assert sqlite_holder.client.head("/v1/datasets").status_code == 401


def test_the_contract_is_a_page_that_can_reach_nothing(lasting_holder: TestedHolder) -> None:
    """What it shows in a browser is in tests/deployment."""
    page = lasting_holder.client.get("/docs")

    policy = page.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts ")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    for source in re.findall(r'(?:src|href)="([^"]+)"', page.text.partition('id="contract"')[0]):
        assert lasting_holder.client.get(source).status_code in (200, 303), source
    assert lasting_holder.client.get("/docs/..%2f..%2fsettings").status_code == 404
    assert lasting_holder.client.get("/").headers["location"] == "/docs"
