"""A holder that follows a script, lies included: a real server on loopback with a real signing key.

It knows one dataset and no records; its counts are invented. A test changes what it says before or
after it signs, or takes a request over as a whole, down to the bytes.
"""

import base64
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shared.contract.datasets import DatasetDescription
from shared.kinds.plans import Batch, BatchQuote, Plan, Quote
from shared.kinds.releases import (
    Answer,
    Entered,
    LedgerPosition,
    ReleasedBatch,
    ReleasedCell,
    signature_of,
    signed_bytes,
)
from shared.kinds.trainings import Training, TrainingAnswer
from shared.privacy.amounts import NANO_PER_UNIT, NO_LOSS, Loss, format_nano
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.scores.columns import ColumnDescription, DerivedColumn, column_id
from shared.wire.canonical import sha256_name
from shared.wire.identity_providers import SignInOffer
from shared.wire.nonces import draw_nonce
from testing.http_servers import serving_http
from testing.registers import REGISTER
from testing.simulated_trainings import training_answer, training_quote

KEY = "an-auditors-key"
Document = dict[str, Any]
Change = Callable[[Document], None]


def _nothing(_: Document) -> None:
    """Change nothing."""


@dataclass
class SimulatedHolder:
    """What the server says, and what it was asked.

    Attributes:
        url: Where it is.
        requests: Method and path of everything it was asked, in order.
        headers: The headers of the last request.
        dataset: What it declares.
        before_signing: Changes a release that it then signs.
        after_signing: Changes a release behind its signature.
        change_quote: Changes a quote.
        change_keys: Changes the published keys.
        entries: What the ledger says of an entry, instead of the truth; None for no such entry.
        head: What the ledger says of its head.
        answers_lost: So many releases are made and then not sent.
        columns: The derived columns that it has, by id.
        values: What was sent for linked ones, by id.
        looks: After so many looks at a column its values are there.
        change_column: Changes the description of a column.
        offer: Where it has auditors sign in, if anywhere.
        take_over: Answers a request itself, and says whether it did.
    """

    url: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    dataset: DatasetDescription = REGISTER
    before_signing: Change = _nothing
    after_signing: Change = _nothing
    change_quote: Change = _nothing
    change_keys: Change = _nothing
    entries: dict[int, Document | None] = field(default_factory=dict)
    head: Document | None = None
    answers_lost: int = 0
    columns: dict[str, Document] = field(default_factory=dict)
    values: dict[str, bytes] = field(default_factory=dict)
    looks: int = 0
    change_column: Change = _nothing
    offer: SignInOffer | None = None
    take_over: Callable[[BaseHTTPRequestHandler], bool] = lambda _: False
    signing: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    ledger: list[str] = field(default_factory=list)
    answered: dict[str, bytes] = field(default_factory=dict)
    began: str = field(default_factory=lambda: datetime.now(UTC).isoformat())

    def count(self, method: str | None, ending: str) -> int:
        """How often something was asked, with one method or with any."""
        return sum(method in (None, asked) and path.endswith(ending) for asked, path in self.requests)

    def reply(self, status: int, body: bytes, *, to: str = "", times: int | None = None, **sending: Any) -> None:
        """Let it send this, whatever is true, to requests of some ending: to all of them, or to the first so many."""
        before = self.count(None, to)

        def take_over(handler: BaseHTTPRequestHandler) -> bool:
            if not handler.path.endswith(to) or (times is not None and self.count(None, to) - before > times):
                return False
            send(handler, status, body, **sending)
            return True

        self.take_over = take_over

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of an answer."""
        match method, path.removeprefix("/v1").split("/")[1:]:
            case "GET", ["keys"]:
                return _json(200, self.keys())
            case "GET", ["sign-in"] if self.offer is not None:
                return _json(200, self.offer.model_dump())
            case "GET", ["datasets"]:
                return _json(200, {"datasets": [self.dataset.model_dump(mode="json")]})
            case "GET", ["datasets", "register"]:
                return _json(200, self.dataset.model_dump(mode="json"))
            case "GET", ["datasets", "register", "budget"]:
                loss = {"epsilon": "1", "delta": "0"}
                account = {"auditor": "ADR", "population": "register", "limit": loss, "spent": loss, "remaining": loss}
                return _json(200, account)
            case "POST", ["datasets", "register", "columns"]:
                return self.make_column(DerivedColumn.model_validate_json(body))
            case "GET", ["datasets", "register", "columns"]:
                return _json(200, {"columns": list(self.columns.values())})
            case _, ["datasets", "register", "columns", name, *_] if unquote(name) not in self.columns:
                return problem(404, "not-found", "There is no such column.")
            case "GET", ["datasets", "register", "columns", name]:
                return _json(200, self.look(self.columns[unquote(name)]))
            case "PUT", ["datasets", "register", "columns", name, "values"]:
                self.values[unquote(name)] = body
                return _json(200, self.prepared(self.columns[unquote(name)]))
            case "DELETE", ["datasets", "register", "columns", name]:
                del self.columns[unquote(name)]
                return 204, b""
            case "POST", ["datasets", "register", "quotes"]:
                return _json(200, self.quote(Plan.model_validate_json(body)))
            case "POST", ["datasets", "register", "releases"]:
                return self.release(Plan.model_validate_json(body))
            case "POST", ["datasets", "register", "trainings", "quotes"]:
                return _json(200, self.training_quote(Training.model_validate_json(body)))
            case "POST", ["datasets", "register", "trainings"]:
                return self.trained(Training.model_validate_json(body))
            case "GET", ["ledger", "head"]:
                return _json(200, self.head or self.position(len(self.ledger)))
            case "GET", ["ledger", "entries", number]:
                entry = self.entries.get(int(number), self.position(int(number)))
                return _json(200, entry) if entry else problem(404, "not-found", "There is no such entry.")
        return problem(404, "not-found", "There is nothing at this path.")

    def keys(self) -> Document:
        """The published keys."""
        public = base64.b64encode(self.signing.public_key().public_bytes_raw()).decode()
        key = {"id": "k1", "algorithm": "ed25519", "public_key": public, "valid_from": self.began, "valid_to": None}
        document: Document = {"keys": [key]}
        self.change_keys(document)
        return document

    def make_column(self, asked: DerivedColumn) -> tuple[int, bytes]:
        """A derived column; one of linked values waits for them, under an id that only it can compute."""
        secret = None if asked.values is None else sha256_name(b"a secret" + asked.values.encode())
        name = column_id(asked, auditor="ADR", dataset="register", values=secret)
        if name in self.columns:
            return _json(200, self.columns[name])
        described = ColumnDescription(
            id=name,
            column=asked.column,
            origin="score" if secret is None else "linked",
            bytes=1,
            state="awaiting-values",
        )
        self.columns[name] = described.model_dump(mode="json")
        if secret is None:
            self.prepared(self.columns[name])
        self.change_column(self.columns[name])
        return _json(201, self.columns[name])

    def prepared(self, column: Document) -> Document:
        """A column whose values are made from now on."""
        column |= {"state": "preparing" if self.looks else "ready", "ready_at": _now()}
        return column

    def look(self, column: Document) -> Document:
        """A column as it is now: closer to being ready."""
        if column["state"] == "preparing":
            self.looks -= 1
            self.prepared(column)
        return column

    def quote(self, plan: Plan) -> Document:
        """A plan's price, its cells taken for disjoint."""
        quoted = Quote(
            dataset="register",
            version=plan.version or self.dataset.version,
            relation=self.dataset.relation,
            charge=self._charge(plan),
            batches=tuple(self._quoted(plan, batch) for batch in plan.batches),
        )
        document: Document = quoted.model_dump(mode="json")
        self.change_quote(document)
        return document

    def release(self, plan: Plan) -> tuple[int, bytes]:
        """The answer to a plan: the same for the same plan."""
        answer = Answer(
            id=plan.identity(auditor="ADR", dataset=self.dataset.name),
            dataset=self.dataset.name,
            version=plan.pinned_version,
            auditor="ADR",
            relation=self.dataset.relation,
            nonce=draw_nonce(),
            plan=plan,
            charge=self._charge(plan),
            batches=tuple(self._released(plan, batch) for batch in plan.batches),
        )
        return self._entered(answer)

    def training_quote(self, training: Training) -> Document:
        """A training's price."""
        document: Document = training_quote(training, self.dataset).model_dump(mode="json")
        self.change_quote(document)
        return document

    def trained(self, training: Training) -> tuple[int, bytes]:
        """The answer to a training: the same for the same one."""
        return self._entered(training_answer(training, self.dataset, auditor="ADR"))

    def _entered(self, answer: Answer | TrainingAnswer) -> tuple[int, bytes]:
        """An answer charged and signed; the one that there was of the same identity."""
        if answer.id in self.answered:
            return 200, self.answered[answer.id]
        self.ledger.append(f"sha256:{len(self.ledger) + 1:064x}")
        entered = Entered(
            created=datetime.now(UTC),
            remaining=Loss(NANO_PER_UNIT // 2),
            ledger=LedgerPosition(sequence=len(self.ledger), hash=self.ledger[-1]),
            key="k1",
        )
        document: Document = {
            **answer.model_dump(mode="json", exclude_none=True),
            **entered.model_dump(mode="json"),
        }
        self.before_signing(document)
        document["signature"] = signature_of(signed_bytes(document), self.signing)
        self.after_signing(document)
        self.answered[answer.id] = json.dumps(document).encode()
        return 201, self.answered[answer.id]

    def position(self, sequence: int) -> Document | None:
        """What the ledger holds at a position."""
        if 1 <= sequence <= len(self.ledger):
            return {"sequence": sequence, "hash": self.ledger[sequence - 1]}
        return None

    def _charge(self, plan: Plan) -> Loss:
        return sum((batch.loss for batch in plan.batches), NO_LOSS)

    def _quoted(self, plan: Plan, batch: Batch) -> BatchQuote:
        epsilon_nano = batch.loss.epsilon_nano
        return BatchQuote(
            name=batch.name,
            epsilon=format_nano(epsilon_nano),
            delta="0",
            composition={"classes": 1},
            groups=self.dataset.table.groups(plan.sensitive),
            noise=DiscreteLaplaceNoise(scale=math.nextafter(NANO_PER_UNIT / epsilon_nano, math.inf)),
        )

    def _released(self, plan: Plan, batch: Batch) -> ReleasedBatch:
        quoted = self._quoted(plan, batch)
        cells = tuple(
            ReleasedCell(id=cell.id, counts=tuple(1000 + 100 * c + 10 * k for k in range(len(quoted.groups))))
            for c, cell in enumerate(batch.cells)
        )
        return ReleasedBatch.of(quoted, cells)


@contextmanager
def simulated_holder() -> Iterator[SimulatedHolder]:
    """A simulated holder that serves until the end of the block."""
    simulated = SimulatedHolder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.serve()

        def do_POST(self) -> None:
            self.serve()

        def do_PUT(self) -> None:
            self.serve()

        def do_DELETE(self) -> None:
            self.serve()

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            simulated.requests.append((self.command, self.path))
            simulated.headers = dict(self.headers)
            if simulated.take_over(self):
                return
            status, answer = simulated.answer(self.command, self.path.partition("?")[0], body)
            if simulated.answers_lost and self.path.endswith(("/releases", "/trainings")):
                simulated.answers_lost -= 1
                self.close_connection = True
            else:
                send(self, status, answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving_http(Handler) as simulated.url:
        yield simulated


def send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    *,
    media_type: str = "application/json",
    headers: dict[str, str] | None = None,
) -> None:
    """Send a whole answer."""
    handler.send_response(status)
    handler.send_header("Content-Type", media_type)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def problem(status: int, code: str, detail: str, **fields: Any) -> tuple[int, bytes]:
    """A problem document."""
    return _json(status, {"type": f"/problems/{code}", "title": "…", "status": status, "detail": detail, **fields})


def _json(status: int, document: Any) -> tuple[int, bytes]:
    return status, json.dumps(document).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat()
