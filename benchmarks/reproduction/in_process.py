"""A real holder inside this process, and the client that asks it: no socket, and a quantum of zero.

Application, services, counting, mechanisms, ledger and signatures are the product's own, and so are the
client's calls and its verification. Only the way between them is short: requests go to the application by
ASGI. The holder's folder is in memory where the system has a folder there, so that commits do not wait for
a disk; the ledger is deleted at the end, and nobody's budget depends on it.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS, PricedPlan
from auditor_client.exchange.holder import HolderClient
from benchmarks.accuracy import Case
from holder_service.app import create_app
from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, load_records
from holder_service.services.running.holder import initialise
from pafer_demo.open_data import OpenData
from shared.contract.datasets import DatasetDescription
from shared.kinds.plans import Plan, Quote
from shared.kinds.releases import Release, SigningKeys
from testing.holders import TestedHolder, settings_in

URL: Final = "http://127.0.0.1"
AUDITOR: Final = "ADR"
FUNDS: Final = {"epsilon": "999", "delta": "0.9"}
"""What the auditor may spend with one holder: about as much as an account can have. The people are public data."""


class InProcessTransport(httpx.BaseTransport):
    """Hands a synchronous client's requests to an ASGI application, one after the other."""

    def __init__(self, app: Any) -> None:
        self._asgi = httpx.ASGITransport(app)
        self._runner = asyncio.Runner()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Let the application answer, whole."""
        return self._runner.run(self._answered(request))

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        answer = await self._asgi.handle_async_request(request)
        content = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(content))

    def close(self) -> None:
        """End the loop that the application ran in."""
        self._runner.close()


@dataclass(frozen=True, slots=True)
class InProcessHolder:
    """A holder with one data set's test part as its records, and an auditor with funds.

    Attributes:
        client: The auditor's.
        dataset: As the holder describes it.
        keys: The holder's public keys.
        records: The same people, for the truth.
    """

    client: HolderClient
    dataset: DatasetDescription
    keys: SigningKeys
    records: Records

    def truth(self, pafer: Plan) -> Case:
        """What a plan of strategy `pafer` would be answered without noise: the experiment's to know, no auditor's."""
        cells = [cell for batch in pafer.batches for cell in batch.cells]
        classes = disjoint_classes(cells, self.records.schema)
        counts = count_cells(self.records, cells, classes, pafer.sensitive).reveal_to_mechanism()
        return Case(f"{self.dataset.name} {'-'.join(pafer.sensitive)}", counts[1:], counts[0])

    def quote(self, plan: Plan) -> PricedPlan:
        """A plan with its price, checked as an audit does."""
        quote = self.client.quote(self.dataset.name, plan, Quote)
        return PLANS.priced(plan, quote, RequestContext.of(self.dataset, AUDITOR))

    def ask(self, priced: PricedPlan) -> Release:
        """Ask a plan, and verify the answer as an audit does.

        Raises:
            AuditorError: The holder refused, or its answer does not hold.
        """
        return priced.verified(self.client.release(self.dataset.name, priced.request).document, self.keys)


@contextmanager
def in_process_holder(data: OpenData) -> Iterator[InProcessHolder]:
    """Set a holder up with a data set's test part, and an auditor's account."""
    memory = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        home = Path(folder)
        settings = settings_in(home)
        issued = initialise(settings)
        if issued is None:
            raise RuntimeError("A new database had an administrator already.")
        app = create_app(settings)
        data.write_csv(home / "records.csv")
        declaration = data.declaration.model_dump(mode="json", exclude_none=True)
        with httpx.Client(transport=InProcessTransport(app), base_url=URL) as http:
            holder = TestedHolder(settings, http, app.state.holder, issued.text)
            key = holder.admin("POST", "/auditors", json={"name": AUDITOR}).json()["key"]
            content = (home / "records.csv").read_bytes()
            holder.offer(data.name, content, **{**declaration, "cap": FUNDS, "records_max": len(data.test)})
            holder.grant(**FUNDS, dataset=data.name).raise_for_status()
            client = HolderClient(http, url=URL, key=key)
            yield InProcessHolder(client, client.dataset(data.name), client.keys(), _records(data, home))
        app.state.holder.close()


def joined(plans: dict[str, Plan]) -> Plan:
    """Several plans about the same groups asked as one; each batch's name gets its plan's name in front."""
    documents = {name: plan.document() for name, plan in plans.items()}
    batches = [
        {**batch, "name": f"{name} {batch['name']}"}
        for name, document in documents.items()
        for batch in document["batches"]
    ]
    return Plan.model_validate({**next(iter(documents.values())), "batches": batches})


def _records(data: OpenData, home: Path) -> Records:
    """The records in the holder's own encoding, opened without it."""
    schema = data.declaration.table
    load_records(home / "records.csv", "text/csv", schema, len(data.test), home / "truth")
    return Records.open(home / "truth", schema)
