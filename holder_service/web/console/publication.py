"""The public pages: an index, each dataset's transparency report, and what auditors published beside it.

Every link is relative and no page has a script, so that they work on any server and from a file system.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from holder_service.services.ledger.store import LedgerStore
from holder_service.services.running.publication import Publication, PublishedAnswer
from holder_service.web.console.pages import rendered
from holder_service.web.console.transparency import page_style, transparency_document, transparency_page
from shared.kinds.bundles import KEYS
from shared.kinds.releases import LedgerPosition
from shared.privacy.amounts import Loss

INDEX: Final = "index.html"
_DIGITS_OF_BUNDLE: Final = 16


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An audit or a training as a page shows it; its links begin in the folder of the index.

    Attributes:
        model: What the auditor calls the model.
        findings: Of each metric its name, verdict and ratio with its interval, as far as there is one.
    """

    dataset: str
    auditor: str
    at: str
    sequence: int
    loss: Loss
    sensitive: tuple[str, ...]
    model: str
    findings: tuple[tuple[str, str, str], ...]
    page: str | None
    bundle: str

    @classmethod
    def of(cls, answer: PublishedAnswer) -> "ShownAnswer":
        """Return what is shown of a checked answer."""
        figures, event = answer.figures, answer.entry.event
        training = figures.get("training")
        asked = figures if training is None else training
        model = figures.get("about", {}).get("model_name") if training is None else f"trained: {_algorithm(training)}"
        return cls(
            dataset=answer.dataset,
            auditor=event.auditor or "",
            at=answer.entry.at,
            sequence=answer.entry.sequence,
            loss=event.loss,
            sensitive=tuple(asked["sensitive"]),
            model=model or "not named",
            findings=tuple(_finding(name, found) for name, found in figures.get("metrics", {}).items()),
            page=None if answer.page is None else _page(answer),
            bundle=_bundle(answer.bundle),
        )


def public_pages(store: LedgerStore, published: Publication) -> Iterator[tuple[str, bytes]]:
    """Every file of the publication, by its path in the folder."""
    shown = sorted(map(ShownAnswer.of, published.answers), key=lambda answer: answer.sequence)
    yield INDEX, _index(published, shown).encode()
    yield KEYS, published.keys.model_dump_json(indent=2).encode()
    for report in published.reports:
        name = report.dataset.name
        beside_it = [answer for answer in shown if answer.dataset == name]
        yield f"datasets/{name}.html", transparency_page(store, report, published=beside_it, up="../").encode()
        yield f"datasets/{name}.json", json.dumps(transparency_document(report), indent=1).encode()
    for answer in published.answers:
        if answer.page is not None:
            yield _page(answer), answer.page
    for digest, content in published.bundles.items():
        yield _bundle(digest), content


def _index(published: Publication, shown: list[ShownAnswer]) -> str:
    reports = published.reports
    newest = max(reports, key=lambda report: report.head.sequence, default=None)
    head: LedgerPosition | None = None if newest is None else newest.head
    return rendered(
        "publication.html.j2", style=page_style(), reports=reports, published=shown, up="", head=head,
        made=None if newest is None else newest.made, organisation=None if newest is None else newest.organisation,
    )  # fmt: skip


def _algorithm(training: dict[str, Any]) -> str:
    return str(training["algorithm"]["name"]).replace("_", " ")


def _finding(metric: str, found: dict[str, Any]) -> tuple[str, str, str]:
    ratio = found.get("ratio") or {}
    ends = [ratio.get(name) for name in ("value", "low", "high")]
    text = "" if None in ends else f"{ends[0]:.3f} ({ends[1]:.3f} to {ends[2]:.3f})"
    return metric.replace("-", " "), str(found["verdict"]), text


def _page(answer: PublishedAnswer) -> str:
    return f"audits/{answer.name}.html"


def _bundle(digest: str) -> str:
    return f"bundles/{digest.removeprefix('sha256:')[:_DIGITS_OF_BUNDLE]}.zip"
