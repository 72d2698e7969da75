"""What waits for a budget officer's approval, from the command to its answer and at the desk, by a simulated holder."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import numpy as np
import pytest
import skops.io
import uvicorn
from pydantic import SecretStr
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.cli import app
from auditor_client.desk.app import create_desk
from auditor_client.desk.desk import Desk
from auditor_client.errors import ApprovalDeclined
from auditor_client.exchange import charged
from auditor_client.settings import AuditorSettings
from shared.contract.approvals import ApprovalSetting
from shared.kinds.plans import Plan
from testing.holders import listening
from testing.simulated_holder import KEY, SimulatedHolder, problem, send

pytestmark = pytest.mark.usefixtures("coarse_chances")

PATIENCE_S = 60


@dataclass
class Officer:
    """Decides about what a simulated holder is asked: all requests have one state, unless one has its own."""

    simulated: SimulatedHolder
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._release = self.simulated.release
        required = {"approval": ApprovalSetting(required=True, days=3)}
        self.simulated.dataset = self.simulated.dataset.model_copy(update=required)
        self.simulated.release = self.release  # type: ignore[method-assign]  # its holder's side of four eyes
        self.simulated.take_over = self.take_over

    def release(self, plan: Plan) -> tuple[int, bytes]:
        name = plan.identity(auditor="ADR", dataset="register")
        state = self.requests.get(name, {}).get("state", "waiting")
        if state == "approved":
            self.decide("answered", name)
            return self._release(plan)
        if state == "declined":
            return problem(403, "approval-declined", f"It was declined: {self.requests[name]['reason']}")
        epsilon = str(self.simulated.quote(plan)["charge"]["epsilon"])
        self.requests[name] = {
            "id": name, "kind": "plan", "dataset": "register", "version": 1, "auditor": "ADR", "state": "waiting",
            "charge": {"epsilon": epsilon, "delta": "0"}, "requested": "2031-05-06T07:08:00Z",
            "expires": "2031-05-09T07:08:00Z",
        }  # fmt: skip
        return 202, json.dumps(self.requests[name]).encode()

    def decide(self, state: str, name: str, **more: str) -> None:
        self.requests[name] = {**self.requests[name], "state": state, **more}

    def take_over(self, handler: BaseHTTPRequestHandler) -> bool:
        path = unquote(handler.path.partition("?")[0])
        if "/approvals" not in path:
            return False
        name = path.rpartition("/")[2]
        if handler.command == "DELETE":
            self.decide("withdrawn", name)
            send(handler, 204, b"")
        elif name == "approvals":
            send(handler, 200, json.dumps({"approvals": list(self.requests.values()), "next": None}).encode())
        else:
            send(handler, 200, json.dumps(self.requests[name]).encode())
        return True


@pytest.fixture
def officer(simulated: SimulatedHolder) -> Officer:
    return Officer(simulated)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ages, path = np.arange(120.0)[:, None], tmp_path_factory.mktemp("model") / "model.skops"
    skops.io.dump(DecisionTreeClassifier().fit(ages, np.where(ages[:, 0] > 40, "granted", "refused")), path)
    return path


def kept(receipts: Path) -> list[str]:
    """What a receipts directory has but the pinned keys."""
    return sorted(path.name for path in receipts.rglob("*") if path.is_file() and path.name != "keys.json")


def test_a_command_waits_and_repeated_gets_the_answer_to_the_same_question(
    officer: Officer, model: Path, tmp_path: Path
) -> None:
    receipts = tmp_path / "receipts"
    environment = {
        "AUDITOR_HOLDER_URL": officer.simulated.url, "AUDITOR_API_KEY": KEY, "AUDITOR_RECEIPTS": str(receipts)
    }  # fmt: skip

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, list(arguments), env=environment)

    command = ["audit", str(model), "--dataset", "register", "--sensitive", "sex", "--epsilon", "0.5"]
    command += ["--columns", "age", "--favourable", "granted"]
    waits, [name], files = run(*command), list(officer.requests), kept(receipts)
    still = run(*command)
    officer.decide("declined", name, reason="Ask for less.")
    declined = run(*command)
    listed = run("approvals", "register", "--json")
    officer.decide("approved", name)
    answered = run(*command)
    withdrawn = run("approvals", "register", "--withdraw", name.removeprefix("sha256:")[:6])

    assert (waits.exit_code, waits.stdout, still.exit_code, files) == (3, "", 3, [])
    for words in ("ε = 0.5", "2031-05-09 07:08 UTC", "Nothing was charged", "`auditor approvals`", name):
        assert words in waits.stderr
    assert declined.exit_code == 2
    assert "declined: Ask for less." in declined.stderr
    assert json.loads(listed.stdout)["approvals"][0]["reason"] == "Ask for less."
    assert answered.exit_code == 0, answered.output
    assert list(officer.requests) == [name], "every repetition asked the same"
    assert f"{name.removeprefix('sha256:')}.json" in kept(receipts)
    assert (withdrawn.exit_code, officer.requests[name]["state"]) == (0, "withdrawn")
    assert run("approvals", "register", "--withdraw", "zz").exit_code == 2
    assert "budget officer" in run("dataset", "register").stdout


def test_whoever_waits_for_the_decision_gets_the_answer_or_the_reason(
    officer: Officer, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charged, "FIRST_PAUSE_S", 0.01)
    asked: dict[str, Any] = {"columns": ["age"], "favourable": ["granted"], "epsilon": "0.5"}
    decisions = ["approved", "declined"]

    def on_step(step: str) -> None:
        if "budget officer" in step:
            officer.decide(decisions.pop(0), [*officer.requests][-1], reason="Too soon.")

    with Auditor(
        officer.simulated.url, KEY, receipts=tmp_path / "receipts", wait_approval=60, on_step=on_step
    ) as auditor:
        found = auditor.audit(model, "register", "sex", **asked)
        with pytest.raises(ApprovalDeclined, match="Too soon"):
            auditor.audit(model, "register", "sex", **asked, draw=2)

    assert found.release.id == next(iter(officer.requests))
    assert decisions == []


@dataclass(frozen=True)
class Visitor:
    """A browser at one desk, which sends forms as one without scripts does."""

    client: httpx.Client
    desk: Desk

    def get(self, path: str) -> str:
        answer = self.client.get(f"{self.desk.door.root}{path}")
        assert answer.status_code == 200, answer.text
        return answer.text

    def send(self, path: str, files: Any = None, **typed: str) -> str:
        """Send a form and follow it to a page that stays; gives that page's path."""
        form = {"form_token": self.desk.door.form_token, **typed}
        answer = self.client.post(f"{self.desk.door.root}{path}", data=form, files=files)
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            if answer.status_code == 303:
                answer = self.client.get(answer.headers["location"].partition("#")[0])
            elif "Refresh" in answer.headers and "/tasks/" in str(answer.url):
                time.sleep(0.05)
                answer = self.client.get(answer.url)
            else:
                break
        assert answer.status_code == 200, answer.text
        return answer.url.path.removeprefix(self.desk.door.root)


@contextmanager
def at_a_desk(settings: AuditorSettings) -> Iterator[Visitor]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        desk = Desk(settings, listener.getsockname()[1])
        config = uvicorn.Config(create_desk(desk), log_level="warning", access_log=False)
        with listening(config, listener=listener) as url:
            cookies = {"desk": str(desk.door._session)}
            with httpx.Client(base_url=url, timeout=60, cookies=cookies) as client:
                yield Visitor(client, desk)


def state(page: str) -> str:
    """What a request's page says first."""
    [word] = re.findall('<p class="word">(.*?)</p>', page)
    return str(word)


@pytest.mark.slow
def test_what_waits_for_approval_outlives_the_desk(officer: Officer, model: Path, tmp_path: Path) -> None:
    settings = AuditorSettings(holder_url=officer.simulated.url, api_key=SecretStr(KEY), receipts=tmp_path / "receipts")
    with at_a_desk(settings) as desk:
        draft = desk.send("/new", {"model": (model.name, model.read_bytes())}, dataset="register")
        question = {"sensitive": "sex", "metrics": "statistical-parity", "epsilon": "0.1", "people": "300"}
        more = {"favourable": "granted", "columns": "age", "strategy": "auto", "reuse": "on"}
        desk.send(draft, **question, **more, model_name="Lending, 2031")
        price = desk.get(draft)
        waiting, declined, withdrawn = (desk.send(f"{draft}/ask", epsilon=text) for text in ("0.1", "0.2", "0.4"))
        waits = desk.get(waiting)
        officer.decide("declined", f"sha256:{declined.rpartition('/')[2]}", reason="Too much at once.")
        taken_back = desk.get(desk.send(f"{withdrawn}/withdraw"))
        officer.decide("approved", f"sha256:{waiting.rpartition('/')[2]}")

    with at_a_desk(settings) as desk:
        index, approved, refused = desk.get(""), desk.get(waiting), desk.get(declined)
        audit = desk.send(f"{waiting}/ask")
        report = desk.get(f"{audit}/report")
        listed = desk.get(desk.send(f"{declined}/forget"))
        after, answered = desk.get(""), desk.get(waiting)

    assert "must approve your request" in price
    assert "Ask for approval of ε = 0.1" in price
    assert (state(waits), "Withdraw it" in waits) == ("waiting", True)
    assert [state(page) for page in (approved, refused, taken_back)] == ["approved", "declined", "withdrawn"]
    assert "Get the answer, and spend ε = 0.1" in approved
    assert "Too much at once." in refused
    assert [path in index for path in (waiting, declined, withdrawn)] == [True, True, False]
    assert audit.startswith("/audits/")
    assert "Lending, 2031" in report
    assert state(answered) == "answered"
    assert [word in listed for word in ("answered", "declined", "withdrawn")] == [True] * 3
    assert waiting not in after
    assert not list((settings.receipts / "waiting").iterdir()), "no file of a model is left"


@pytest.mark.slow
def test_what_is_outdated_is_asked_again_of_the_records_as_they_are(
    officer: Officer, model: Path, tmp_path: Path
) -> None:
    settings = AuditorSettings(holder_url=officer.simulated.url, api_key=SecretStr(KEY), receipts=tmp_path / "receipts")
    with at_a_desk(settings) as desk:
        draft = desk.send("/new", {"model": (model.name, model.read_bytes())}, dataset="register")
        question = {"sensitive": "sex", "metrics": "statistical-parity", "epsilon": "0.1", "people": "300"}
        desk.send(draft, **question, favourable="granted", columns="age", model_name="Lending")
        first = desk.send(f"{draft}/ask", epsilon="0.1")
        officer.decide("outdated", f"sha256:{first.rpartition('/')[2]}")
        officer.simulated.dataset = officer.simulated.dataset.model_copy(update={"version": 2})
        outdated = desk.get(first)
        second = desk.send(f"{first}/ask")

    assert "of the records as they are now" in outdated
    assert second.startswith("/approvals/register/")
    assert second != first
