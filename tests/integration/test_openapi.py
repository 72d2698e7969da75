"""The OpenAPI document is right: whatever it admits or forbids, the holder answers as it says.

Schemathesis makes up requests from the document, good and bad ones, and checks each answer's status, content type and
body against it. At a desk the requests are the same every time, in continuous integration (`CI` is set) fresh ones.
"""

import os
from contextlib import suppress
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from checks.fuzz import with_short_lists
from shared.problems import PROBLEM_MEDIA_TYPE
from testing.holders import TestedHolder

EXAMPLES: Final = 12
KNOWN: Final = {"dataset": "register", "auditor": "ADR", "population": "register", "code": "not-found"}
"""Names that exist, put into every other request: made up ones are all unknown."""


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_call_answers_otherwise_than_documented(lasting_holder: TestedHolder, mode: GenerationMode) -> None:
    document = lasting_holder.client.get("/openapi.json").json()
    for name in ("Plan", "Batch", "Cell", "Rule", "Predicate"):
        document["components"]["schemas"][name] = with_short_lists(document["components"]["schemas"][name])
    contract = schemathesis.openapi.from_dict(document)
    operations = [found.ok() for found in contract.get_all_operations() if isinstance(found, Ok)]

    asked = [ask(lasting_holder, operation, mode) for operation in operations]

    assert len(asked) >= 28
    assert sum(asked) >= 4 * len(asked)
    assert lasting_holder.admin("POST", "/ledger/verify").json()["intact"]


def ask(holder: TestedHolder, operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode) -> int:
    """Make requests of one operation and check each answer; gives how many there were."""
    key = holder.admin_key if "administrator" in (operation.tags or ()) else holder.auditor_key
    asked = 0

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize="CI" not in os.environ,
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
            headers={"Authorization": f"Bearer {key}"},
            # A plan of the right form may still not fit the dataset, which no JSON Schema says; and a parameter that
            # nobody knows, which the tool counts as a mistake, changes nothing here.
            excluded_checks=[positive_data_acceptance, negative_data_rejection],
        )

    with suppress(Unsatisfiable):  # what takes nothing cannot be asked wrongly
        answers_as_documented()
    return asked


def test_every_operation_documents_its_problems(lasting_holder: TestedHolder) -> None:
    document = lasting_holder.client.get("/openapi.json").json()

    assert document["openapi"] == "3.1.0"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path.startswith("/v1/"):
                for status in ("401", "403", "404", "422", "503"):
                    content = operation["responses"][status]["content"]
                    assert list(content) == [PROBLEM_MEDIA_TYPE], (method, path, status)
            assert operation["description"], (method, path)


def test_the_contract_is_a_page_that_loads_and_runs_nothing(lasting_holder: TestedHolder) -> None:
    page = lasting_holder.client.get("/docs")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<script" not in page.text
    assert "://" not in page.text
    for path in lasting_holder.client.get("/openapi.json").json()["paths"]:
        assert path in page.text
