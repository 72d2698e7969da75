"""The transparency report drawn: one HTML page that needs nothing else, and a JSON document."""

import base64
import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from holder_service.domain.ledger import Entry
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases.transparency import ReportedRelease, TransparencyReport
from holder_service.web.console.pages import rendered
from holder_service.web.console.pictures import spending_chart
from holder_service.web.console.words import beside, what_is_published
from shared.contract.meaning import statements
from shared.look import STYLES
from shared.privacy.amounts import NO_LOSS, Loss

FORMAT: Final = "pafer-transparency/1"
RELEASES_SHOWN: Final = 2000
"""A page with more rows is slow to open; the JSON document has them all."""
RESTORED: Final = (
    "The holder’s database was put back from an older copy. Answers that were given after that copy was made may be "
    "missing from this report and from its sums, so more may have been lost than it says."
)


@dataclass(frozen=True, slots=True)
class PageStyle:
    """The style sheet of a page that stands alone, and the policy that lets in this one and nothing else."""

    css: Markup

    @property
    def policy(self) -> str:
        """A Content-Security-Policy; it names the style sheet by its digest."""
        digest = base64.b64encode(hashlib.sha256(self.css.encode()).digest()).decode()
        return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@functools.cache
def page_style() -> PageStyle:
    """The console's own look."""
    return PageStyle(Markup(STYLES.read_text("utf-8")))  # noqa: S704 - our own file


def transparency_page(
    store: LedgerStore, report: TransparencyReport, *, published: Sequence[object] = (), up: str | None = None
) -> str:
    """A report as a whole HTML page, UTF-8; it loads nothing and runs nothing.

    Args:
        published: What auditors published about the dataset, to be shown with links to it.
        up: Among other pages, the way from this one to their index; else it stands alone.
    """
    titles = {name: words.title for name, words in report.words.columns.items()}

    def titled(columns: Iterable[str]) -> str:
        return ", ".join(beside(name, titles.get(name)) for name in columns)

    points = store.look_up(store.sums.balances_over_time, report.population.name)
    return rendered(
        "transparency.html.j2", report=report, style=page_style(), published=published, up=up,
        chart_of_spending=spending_chart(points, report.made, cap=False), shown=report.releases[::-1][:RELEASES_SHOWN],
        totals=_totals(report), titled=titled, what_is_published=what_is_published,
        statements=statements(report.meaning).all, restored=RESTORED if report.restored else None,
    )  # fmt: skip


def transparency_document(report: TransparencyReport) -> dict[str, Any]:
    """A report as JSON values; amounts are decimal strings."""
    dataset = report.dataset
    words = {"organisation": report.organisation, "metadata": report.words.model_dump(mode="json")}
    return {
        "format": FORMAT,
        "made": report.made.isoformat(),
        "ledger": report.head.model_dump(),
        "dataset": dataset.name,
        **{name: said for name, said in words.items() if said},
        **({} if dataset.rehearsal is None else {"rehearsal": dataset.rehearsal.model_dump(mode="json")}),
        "retired": dataset.retired,
        "version": dataset.version,
        "sensitive": list(dataset.schema.sensitive),
        "records_max": dataset.records_max,
        "population": report.population.name,
        "relation": report.population.relation,
        "other_datasets": list(report.others),
        "spent_on_population": report.population_spent.document(),
        "spent_on_dataset": report.spent.document(),
        "meaning": list(statements(report.meaning).all),
        "restored": RESTORED if report.restored else None,
        "releases": [_release(release) for release in report.releases],
        "decisions": [
            {**_entry(entry), "kind": entry.event.kind, "what": what_is_published(entry.event)}
            for entry in report.decisions
        ],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {"sequence": entry.sequence, "hash": entry.hash, "at": entry.at}


def _release(release: ReportedRelease) -> dict[str, Any]:
    event = release.entry.event
    return {
        **_entry(release.entry),
        "auditor": event.actor,
        "version": release.version,
        "sensitive": list(release.sensitive),
        "mechanisms": list(release.method.mechanisms),
        **({} if release.method.algorithm is None else {"algorithm": release.method.algorithm}),
        **({} if release.refines is None else {"refines": release.refines}),
        **({} if release.purpose is None else {"purpose": release.purpose}),
        "charge": event.loss.document(),
    }


def _totals(report: TransparencyReport) -> dict[str, tuple[int, Loss]]:
    """By auditor: how many releases about this dataset, and their loss."""
    totals: dict[str, tuple[int, Loss]] = {}
    for release in report.releases:
        event = release.entry.event
        count, loss = totals.get(event.actor, (0, NO_LOSS))
        totals[event.actor] = count + 1, loss + event.loss
    return totals
