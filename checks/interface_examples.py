"""Record the examples of the OpenAPI document anew: what a new holder is asked and answers, each call once.

`python -m checks.interface_examples`

Nobody writes an example by hand. After a change of the interface this is run, and what changed in the examples is read.
"""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any, Final

import httpx

from holder_service.web.rest.contract import EXAMPLES, REFINING
from testing.interface_walk import DocumentCaller, new_holder, walk

LINES_SHOWN: Final = 4
ITEMS_SHOWN: Final = 3


def main() -> None:
    """Walk, and write the file."""
    examples: dict[str, dict[str, Any]] = {}

    def note(operation: str, body: Any, answer: httpx.Response) -> None:
        assert answer.is_success, f"{operation}: {answer.status_code} {answer.text}"
        example = {}
        if body is not None:
            example["request"] = _shown(body.decode() if isinstance(body, bytes) else body)
            if operation == "load_records_from":
                example["request"] = {**body, "url": "s3a://registers/2026/"}
        if answer.content:
            example["answer"] = _answer(answer)
        if answer.status_code == 202:
            example = {"waiting": example["answer"]}
        refines = isinstance(body, dict) and "refines" in body
        name = f"{operation}{REFINING}" if refines else operation
        examples[name] = {**example, **examples.get(name, {})}

    with tempfile.TemporaryDirectory() as home, new_holder(Path(home)) as holder:
        walk(holder, DocumentCaller(holder, note))
    EXAMPLES.write_text(json.dumps(dict(sorted(examples.items())), ensure_ascii=False, indent=1) + "\n", "utf-8")


def _answer(answer: httpx.Response) -> Any:
    """A JSON document, a text, or base64 of bytes."""
    match answer.headers["content-type"]:
        case "application/json":
            return _shown(answer.json())
        case "application/octet-stream":
            return base64.b64encode(answer.content).decode()
        case _:
            return _shown(answer.text)


def _shown(value: Any) -> Any:
    """A text's first lines; and of lists of problems the first items, and no key that was ever valid."""
    if isinstance(value, str):
        return "".join(value.splitlines(keepends=True)[:LINES_SHOWN])
    if "problems" in value:
        return {"problems": value["problems"][:ITEMS_SHOWN]}
    return {**value, "key": f"pafer_{value['key_id']}_{'x' * 43}"} if "key_id" in value and "key" in value else value


if __name__ == "__main__":
    main()
