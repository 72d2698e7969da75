"""A report of each kind, made by a real auditor of a real holder with the demonstration's register: to be looked at."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from auditor_client import Auditor
from pafer_demo.model import boosted_model, checks_by_rule, decisions_by_hand, trained_tree
from pafer_demo.register import register
from testing.holders import TestedHolder, running_holder

PEOPLE: Final = 12_000
KINDS: Final = (
    "audit", "large-tree", "decisions", "scores", "stability", "strata", "strata-de", "comparison", "plan", "history",
    "training", "punitive", "unsaid", "chain",
)  # fmt: skip
LEAVES_OF_A_LARGE_TREE: Final = 60
STAGES: Final = ("selected", "visited", "unduly")


@dataclass(frozen=True)
class ReportPages:
    """The holder that was asked, still running, and the page of each kind by its name."""

    holder: TestedHolder
    pages: dict[str, str]


@contextmanager
def report_pages(home: Path) -> Iterator[ReportPages]:
    """Audit in every way, and give the pages.

    Args:
        home: An empty folder for the holder.
    """
    data = register(people=PEOPLE, people_to_train_on=PEOPLE)
    tree, boosted = trained_tree(data), boosted_model(data)
    large, smaller = clone(tree), clone(tree)
    large[-1].set_params(max_depth=None, max_leaf_nodes=LEAVES_OF_A_LARGE_TREE, min_samples_leaf=20)
    smaller[-1].set_params(max_depth=3)
    people = data.train.to_pandas()
    for model in (large, smaller):
        model.fit(people[list(data.features)], people[data.label])
    decisions = decisions_by_hand(boosted, data)
    declaration = data.declaration.model_dump(mode="json", exclude_none=True)
    with running_holder(home, epsilon="10") as holder, tempfile.TemporaryDirectory() as folder:
        data.write_csv(Path(folder) / "records.csv")
        holder.offer(
            "applicants", (Path(folder) / "records.csv").read_bytes(), epsilon="50",
            **{**declaration, "records_max": 100_000, "cap": {"epsilon": "100", "delta": "0"}},
        )  # fmt: skip
        with Auditor(holder.url, holder.auditor_key, receipts=Path(folder) / "receipts") as auditor:
            auditor.link(decisions, "applicants", name="decision")
            checks = checks_by_rule(boosted, data)
            auditor.link(checks, "applicants", name="check")
            link_stages(auditor, checks, data.declaration.person_key or "")
            name, sex, both = "applicants", ["sex"], ["sex", "origin"]
            good: dict[str, Any] = {"favourable": True}
            pages = {
                "audit": auditor.audit(tree, name, both, "0.5", strategy="rules", **good),
                "large-tree": auditor.audit(
                    large, name, sex, "1", strategy="rules", metrics=["statistical-parity", "equalized-odds"], **good
                ),
                "decisions": auditor.audit(
                    None, name, sex, "0.5", decision="decision", favourable=["granted"], label="repaid",
                    metrics=["equal-opportunity", "predictive-parity"], reference="male",
                ),
                "scores": auditor.audit(boosted, name, sex, "1", edges=tuple(np.linspace(-2, 2.5, 10)), **good),
                "stability": auditor.audit(
                    smaller, name, sex, "0.5", metrics=["stability"], within=["income=3000"], **good
                ),
                "strata": auditor.audit(
                    tree, name, both, "0.5", by="hours_per_week=15,30,36",
                    metrics=["statistical-parity", "equalized-odds"], **good,
                ),
                "comparison": auditor.compare(tree, smaller, name, sex, "0.5", **good),
                "plan": auditor.plan(tree, name, sex, "0.1", **good),
                "history": auditor.history(),
                "training": auditor.train(
                    name, epsilon="0.5", sensitive="sex", ratio=0.95, audit_on=name, audit_epsilon="0.5"
                ),
                "punitive": auditor.audit(
                    None, name, both, "0.5", decision="check", favourable=["not selected"], intervention="punitive"
                ),
                "unsaid": auditor.audit(None, name, ["origin"], "0.5", decision="check", favourable=["not selected"]),
                "chain": auditor.audit(
                    None, name, ["origin"], "1", chain=STAGES, intervention="punitive", outcome_test=True
                ),
            }  # fmt: skip
            shown = {kind: result.report.page for kind, result in pages.items()}
            shown["strata-de"] = pages["strata"].to_html(language="de")
            yield ReportPages(holder, {kind: shown[kind] for kind in KINDS})


def link_stages(auditor: Auditor, checks: pd.DataFrame, key: str) -> None:
    """Send three stages of a chain: who is selected for a check, four of five of them visited, half of them unduly."""
    numbers = np.arange(len(checks))
    reached = checks["check"] == "selected"
    for stage, goes_on in zip(STAGES, (numbers >= 0, numbers % 5 > 0, numbers % 2 > 0), strict=True):
        reached = reached & goes_on
        auditor.link(pd.DataFrame({key: checks[key], stage: reached}), "applicants", name=stage)
