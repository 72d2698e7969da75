"""A finding that shows itself: in a terminal, in a notebook, as a page (3-estimation §6)."""

import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from auditor_client.errors import A_DATA_FRAME, QuestionRefused, needs
from auditor_client.findings import insight
from auditor_client.findings.finding import Finding
from auditor_client.findings.notes import Note
from auditor_client.planning.forecasts import Outlook
from auditor_client.report.audit_data import AuditData, audit_data, with_outlook
from auditor_client.report.headlines import headline
from auditor_client.report.json_document import audit_document
from auditor_client.report.terminal import audit_lines
from auditor_client.report.view import Shown, View
from shared.contract.schema import Group

if TYPE_CHECKING:  # importing the estimators takes a second, pandas and matplotlib another
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from auditor_client.estimation.impact import ImpactRatio
    from auditor_client.estimation.results import Attribution, ParityEstimate

_PROGRAMS: Final = ("pafer", "numpy", "scipy", "scikit-learn", "skops", "pydantic", "cryptography")


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditResult(Shown, Finding):
    """One audit, with ways to look at it. What it holds is in `Finding`.

    Attributes:
        whole: The audit of which this is one table (`by`); None for an audit.
    """

    whole: "AuditResult | None" = field(default=None, repr=False)

    def by(self, *columns: str) -> "AuditResult":
        """The same answer by some of the sensitive columns alone; no further budget.

        Its figures add up the draws of those by all columns, so the tables never contradict each other. Bundles hold
        the whole audit.

        Args:
            columns: Names of sensitive columns of the audit, in any order.

        Raises:
            QuestionRefused: The answer does not have figures by these columns.
        """
        names, sensitive = set(columns), self.question.request.sensitive
        if names == set(sensitive):
            return self
        for of_table, table in self.tables.items():
            if set(of_table) == names and isinstance(table, AuditResult):
                return replace(table, whole=self)
        tables = "; ".join(", ".join(of_table) for of_table in (*self.tables, sensitive))
        raise QuestionRefused(
            f"The audit does not have figures by {', '.join(columns) or 'no column'}. It has them by: {tables}. Name "
            "one of these, or audit by other columns (`sensitive`)."
        )

    @property
    def note(self) -> Note:
        """What was asked and chosen, as it is kept with the receipt."""
        return Note.of(self.question, self.stored, self.reading, self.about)

    def impact_ratios(self) -> "dict[tuple[str, ...], tuple[ImpactRatio, ...]]":
        """Each group's acceptance rate over the highest, by each sensitive column and by all; no further budget."""
        return insight.impact_ratios(self)

    def attribution(
        self, pair: tuple[Group | str, Group | str] | None = None, *, rate: str | None = None
    ) -> "Attribution":
        """Each favourable rule's share in the disparity of two groups; no further budget.

        Args:
            pair: Two groups by their values or names; by default those of the lowest and the highest rate,
                or with a reference group the one farthest from it and that one.
            rate: "acceptance", "positive" (among y = 1) or "negative" (among y = 0); by default the first metric's.

        Raises:
            QuestionRefused, EstimationRefused: It was not asked rule by rule, or of the exponential mechanism.
        """
        return insight.attribution(self, pair, rate)

    def flip(self, rule: str, *, rate: str | None = None) -> "ParityEstimate":
        """The figure if one rule decided the other way, for the same people; no further budget.

        The rule is the id of a leaf, of `rule_ids`; the rate is as `attribution` has it.

        Raises:
            QuestionRefused: The audit did not ask for that rule by itself.
            EstimationRefused: The exponential mechanism answered, or nobody would be accepted any more.
        """
        return insight.flipped(self, rule, rate)

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """The leaves that the answer distinguishes, favourable ones first; none with strategy "verdict"."""
        return tuple(insight.leaf_names(self)) if insight.has_rules(self) else ()

    @property
    def by_group(self) -> "pd.DataFrame":
        """Every group's rate of the first metric, with its intervals, and its size; `first.by_group` has estimates."""
        with needs(A_DATA_FRAME):
            from auditor_client.audits.frames import group_table  # noqa: PLC0415

        return self._marked(group_table(self))

    def to_frame(self) -> "pd.DataFrame":
        """Every metric's rate of every group as a pandas DataFrame, indexed by metric, figure and group."""
        with needs(A_DATA_FRAME):
            from auditor_client.audits.frames import frame  # noqa: PLC0415

        return self._marked(frame(self))

    def chain_frame(self) -> "pd.DataFrame":
        """Every stage of a chain for every group as a pandas DataFrame, indexed by stage and group.

        Raises:
            QuestionRefused: The audit is not about a chain.
        """
        with needs(A_DATA_FRAME):
            from auditor_client.audits.frames import chain_table  # noqa: PLC0415

        if self.chain is None:
            raise QuestionRefused("The audit is not about a chain of decisions: ask with `chain`.")
        return self._marked(chain_table(self.chain, self.plan.sensitive))

    def plot(self, metric: str | None = None, *, ax: "Axes | Sequence[Axes] | None" = None) -> "Figure":
        """The groups' rates with their intervals, as a matplotlib figure.

        Args:
            metric: One of the audit's; by default the first.
            ax: The axes to draw on, for equalized odds two; by default those of a new figure.

        Raises:
            QuestionRefused: The audit was not asked for that metric, it has another number of rates than axes, or
                matplotlib is not installed.
        """
        with needs("A plot"):
            from auditor_client.audits.plots import rates_figure  # noqa: PLC0415

        return rates_figure(self, metric, ax)

    @cached_property
    def view(self) -> View[AuditData]:
        """The finding."""
        data, document = partial(audit_data, self), partial(audit_document, self)
        return View((self.question.dataset,), "Fairness audit", "60rem", "audit.html.j2", data, audit_lines, document)

    @cached_property
    def report(self) -> View[AuditData]:
        """The finding; where it leaves something open, with what more budget would give, which a second simulates."""
        reported = self.question.request.mechanism == "randomised_response"
        outlook = self.outlook() if self.open or reported else None
        return replace(self.view, make_data=partial(with_outlook, self.view.data, outlook))

    def outlook(self) -> Outlook | None:
        """What more budget would give: expected widths at larger ε, by simulation; None without intervals or noise."""
        from auditor_client.planning.forecasting import outlook  # noqa: PLC0415 - takes a second to import

        return outlook(self)

    def to_html(self, *, language: str = "en", outlook: bool = False) -> str:
        """The report, as `Shown.to_html` gives it; on demand with what more budget would give."""
        return (self.report if outlook else self.view).page_in(language)

    def _marked(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """A frame that says in its `attrs` what is rehearsed, if the people are invented."""
        if self.question.dataset.rehearsal is not None:
            frame.attrs["rehearsal_of"] = self.question.dataset.rehearsal.of
        return frame

    def __repr__(self) -> str:
        return f"<AuditResult: {self.view.marked(headline(self))}>"


def program_versions() -> dict[str, str]:
    """The versions of what computes the figures, by name; what is not installed is left out."""
    versions = {"Python": platform.python_version()}
    for name in _PROGRAMS:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
