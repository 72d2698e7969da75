"""Metrics for Prometheus: what was asked and refused, and what the ledger says; never anything of the records.

Time is measured only where no work depends on records (2-privacy §7). Of a release there is its public
deadline, known before anything is counted, and whether it was overrun.

Several worker processes add up what they count in a directory that they share (`share_among_workers`), so
whichever of them is asked answers for all. What the ledger says is read from the store when asked.
"""

import os
import shutil
import time
from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from holder_service.domain.errors import Unavailable
from holder_service.services.releases import approvals
from holder_service.services.running import notices, overview
from holder_service.services.running.backup import shown_time
from holder_service.services.running.holder import Holder
from shared.contract.notices import NoticeKind
from shared.kinds.registry import KINDS
from shared.privacy.amounts import NANO_PER_UNIT
from shared.wire.problems import TITLES

SHARED_DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
_REQUESTED: Final = [kind for kind in KINDS.values() if kind.request is not None]
RELEASES: Final = frozenset(f"/v1/datasets/{{dataset}}/{kind.path}" for kind in _REQUESTED)
TIMED_POSTS: Final = frozenset(f"/v1/datasets/{{dataset}}/{kind.quotes_path}" for kind in _REQUESTED)
ANSWER_BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
DEADLINE_BUCKETS_S: Final = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8)


def share_among_workers(directory: Path) -> None:
    """Let the worker processes that start from here on add up what they count in an empty directory."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    os.environ[SHARED_DIRECTORY] = str(directory)


class Metrics:
    """The counters of one process, or its share of what all workers count."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # without them, nobody sees when a series began
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests answered.", "method", "route", "status")
        self._answers = Histogram(
            "holder_answer_seconds", "Time to the answer, of calls that read no records.", ("method", "route"),
            buckets=ANSWER_BUCKETS_S, registry=self.registry,
        )  # fmt: skip
        self._releases = self._counter("releases", "Plans, trainings and watches answered: new, or again.", "answer")
        self._deadlines = Histogram(
            "holder_release_deadline_seconds", "The public deadlines of plans, trainings and watches that were asked.",
            buckets=DEADLINE_BUCKETS_S, registry=self.registry,
        )  # fmt: skip
        missed = "Releases that missed their deadline and waited for a multiple of it."
        self._overruns = self._counter("release_overruns", missed)
        self._refusals = self._counter("refusals", "Requests refused, by problem code.", "code")
        for code in TITLES:  # at 0 from the start: an alert sees the first refusal as an increase
            self._refusals.labels(code)
        faults = "Requests that failed because store or anchor did not answer."
        self._store_faults = self._counter("store_faults", faults)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"holder_{name}", text, labels, registry=self.registry)

    def count_request(self, *, method: str, route: str, status: int, elapsed_s: float, problem: str | None) -> None:
        self._requests.labels(method, route, str(status)).inc()
        if method == "GET" or route in TIMED_POSTS:
            self._answers.labels(method, route).observe(elapsed_s)
        if method == "POST" and route in RELEASES and status in (200, 201):
            self._releases.labels("new" if status == 201 else "again").inc()
        if problem is not None:
            self._refusals.labels(problem).inc()
        if problem == "unavailable":
            self._store_faults.inc()

    def count_release(self, *, deadline_s: float, overran: bool) -> None:
        """Count a plan that was counted, by the deadline at which its answer left."""
        self._deadlines.observe(deadline_s)
        if overran:
            self._overruns.inc()

    def exposition(self, holder: Holder) -> bytes:
        """All metrics in Prometheus' text format; those of every worker where there are several."""
        counted = self.registry
        if SHARED_DIRECTORY in os.environ:
            counted = CollectorRegistry()
            MultiProcessCollector(counted)  # type: ignore[no-untyped-call]  # the library has types but here
        return generate_latest(counted) + generate_latest(_HolderState(holder))


class _HolderState:
    """What store and ledger say when they are asked, the same from every process."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._store = holder.store

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges. Floats are for pictures: what is charged is whole nano-units in the ledger."""
        build = GaugeMetricFamily("holder_build_info", "1, with the version that runs.", labels=["version"])
        build.add_metric([version("pafer")], 1)
        yield build
        reason = self._holder.not_ready_reason()
        yield GaugeMetricFamily("holder_ready", "1 if GET /readyz answers 200, else 0.", value=int(reason is None))
        gauge = GaugeMetricFamily(
            "holder_not_ready",
            "1 for the reason why GET /readyz refuses; none while it answers 200.",
            labels=["reason"],
        )
        if reason is not None:
            gauge.add_metric([reason], 1)
        yield gauge
        yield GaugeMetricFamily("holder_clock_timestamp_seconds", "The holder's clock.", value=time.time())
        last = shown_time(self._holder.settings.home, datetime.now(UTC))
        yield GaugeMetricFamily(
            "holder_last_backup_timestamp_seconds", "When the last back-up began that is an hour old; 0 for none.",
            value=0 if last is None else last.timestamp(),
        )  # fmt: skip
        with suppress(Unavailable):  # what the process counted, and why it is not ready, is worth most then
            yield from list(self._of_the_store())

    def _of_the_store(self) -> Iterator[GaugeMetricFamily]:
        state = overview.store_state(self._store)
        newest = state.head.sequence
        yield GaugeMetricFamily("holder_ledger_sequence", "Sequence number of the newest entry.", value=newest)
        may_release = int(state.may_release)
        yield GaugeMetricFamily(
            "holder_may_release", "1 if the database has the anchored entry, else 0.", value=may_release
        )  # fmt: skip
        yield from self._of_the_log()
        yield self._notices()
        yield GaugeMetricFamily(
            "holder_approvals_waiting", "Requests that wait for an approval.",
            value=len(approvals.waiting(self._store)),
        )  # fmt: skip
        populations = overview.every_population(self._store)
        for what, text in (("spent", "Spent by all auditors"), ("limit", "Cap over all auditors")):
            for amount in ("epsilon", "delta", "rho"):
                name = f"holder_population_{'cap' if what == 'limit' else what}_{amount}"
                gauge = GaugeMetricFamily(name, f"{text}, {amount}.", labels=["population"])
                for found in populations:
                    if getattr(found.cap.limit, f"{amount}_nano") is not None:  # only some add up rho
                        nano = getattr(getattr(found.cap, what), f"{amount}_nano") or 0
                        gauge.add_metric([found.population.name], nano / NANO_PER_UNIT)
                yield gauge

    def _of_the_log(self) -> Iterator[GaugeMetricFamily]:
        """How far the public log is behind the ledger; nothing without a log."""
        if self._holder.log is None:
            return
        lag = self._holder.log.lag()
        age_s = 0.0 if lag.oldest is None else max((self._store.clock() - lag.oldest).total_seconds(), 0.0)
        yield GaugeMetricFamily(
            "holder_log_waiting_entries", "Entries that no published checkpoint covers yet.", value=lag.entries
        )
        yield GaugeMetricFamily(
            "holder_log_waiting_seconds", "Age of the oldest of these entries; 0 if there are none.", value=age_s
        )

    def _notices(self) -> GaugeMetricFamily:
        """Return how many notices of each kind; of caps, which are in other gauges too, with the population's name."""
        text = "Notices of now, as GET /v1/admin/notices lists them."
        gauge = GaugeMetricFamily("holder_notices", text, labels=["kind", "population"])
        of_caps = ("cap-missing", "cap-spent")
        found = notices.now_of(self._store, self._holder.settings.thresholds)
        counted = Tally((one.kind, one.population or "" if one.kind in of_caps else "") for one in found)
        counted.update({(kind, ""): 0 for kind in get_args(NoticeKind)})
        for (kind, population), number in sorted(counted.items()):
            gauge.add_metric([kind, population], number)
        return gauge
