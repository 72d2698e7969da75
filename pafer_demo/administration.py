"""What the holder's administrator does before an audit, over the same interface as any administrator."""

import tempfile
from pathlib import Path
from typing import Any, Final

import httpx

from pafer_demo.holder_process import DemoFailed
from pafer_demo.open_data import OpenData

AUDITOR: Final = "demo-auditor"
CAP: Final = {"epsilon": "20", "delta": "0"}
RECORDS_MAX: Final = 100_000


def prepare(url: str, admin_key: str, data: OpenData, *, budget: str) -> str:
    """Declare a dataset, load its records, open an auditor's account and grant it a budget.

    Args:
        url: The holder's address.
        admin_key: An administrator's key.
        data: Its test part becomes the holder's records.
        budget: The auditor's ε, such as "2".

    Returns:
        The auditor's key.

    Raises:
        DemoFailed: The holder refused, in its own words.
    """
    headers = {"Authorization": f"Bearer {admin_key}"}
    declaration = data.declaration.model_dump(mode="json", exclude_none=True)
    with httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False) as http:
        path = f"/v1/admin/datasets/{data.name}"
        _call(http, "PUT", path, json={**declaration, "cap": CAP, "records_max": RECORDS_MAX})
        _load(http, f"{path}/records", data)
        account = _call(http, "POST", "/v1/admin/auditors", json={"name": AUDITOR})
        _call(http, "PUT", f"{path}/budgets/{AUDITOR}", json={"epsilon": budget, "delta": "0"})
    key: str = account["key"]
    return key


def prepare_half(url: str, admin_key: str, data: OpenData, half: Path, *, party: int, budget: str) -> str:
    """Declare a dataset that two holders share, load one half, open an auditor's account and grant it a budget.

    Args:
        url, admin_key, data: As for `prepare`; of the records nothing is read.
        half: The file of this party, which `holder split` wrote.
        party: 1 or 2.
        budget: The auditor's ε.

    Raises:
        DemoFailed: The holder refused, in its own words.
    """
    headers = {"Authorization": f"Bearer {admin_key}"}
    declaration = data.declaration.model_dump(mode="json", exclude_none=True)
    shared = {"relation": "sensitive_attribute", "shares": {"party": party}, "cap": CAP, "records_max": RECORDS_MAX}
    with httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False) as http, half.open("rb") as file:
        path = f"/v1/admin/datasets/{data.name}"
        _call(http, "PUT", path, json={**declaration, **shared})
        _call(http, "PUT", f"{path}/records", content=file, headers={"Content-Type": "application/vnd.apache.parquet"})
        account = _call(http, "POST", "/v1/admin/auditors", json={"name": AUDITOR})
        _call(http, "PUT", f"{path}/budgets/{AUDITOR}", json={"epsilon": budget, "delta": "0"})
    key: str = account["key"]
    return key


def _load(http: httpx.Client, path: str, data: OpenData) -> None:
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.csv"
        data.write_csv(records)
        with records.open("rb") as file:
            _call(http, "PUT", path, content=file, headers={"Content-Type": "text/csv"})


def _call(http: httpx.Client, method: str, path: str, **request: Any) -> dict[str, Any]:
    try:
        answer = http.request(method, path, **request)
    except httpx.TransportError as error:
        raise DemoFailed(f"{method} {path}: the holder does not answer ({type(error).__name__}).") from error
    document: dict[str, Any] = answer.json() if answer.content else {}
    if answer.is_success:
        return document
    raise DemoFailed(f"{method} {path}: {document.get('detail', answer.status_code)}")
