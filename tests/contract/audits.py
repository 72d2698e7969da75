"""Record a set of audits by a real client, receipts and bundle: `python -m tests.contract.audits NAME`.

`unpacked` lays a set out as the directories and the bundle that the auditor had.
"""

import argparse
import contextlib
import random
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
import skops.io
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from auditor_client import Assumption, Auditor, AuditResult
from auditor_client.asking.request import OF_DECISIONS, STABILITY
from auditor_client.audits.bundle import write_bundle
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import FOUR_LEAVES, four_leaves
from tests.contract.__main__ import SETS as FOLDER
from tests.contract.__main__ import required

COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
    {"name": "hours", "type": "number", "nullable": True},
    {"name": "région", "type": "category", "categories": ["North", "South", "élevé"]},
    {"name": "repaid", "type": "boolean", "label": True},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
    {"name": "origin", "type": "category", "categories": ["here", "there"], "sensitive": True},
]
_BANDED: Final = {**COLUMNS[0], "sensitive": True, "bands_from": [25, 45]}
_REPORTED: Final = {**COLUMNS[4], "randomised_response": {"kept": "0.8"}}


SETS: Final = tuple(sorted(path.parent for path in FOLDER.glob("*/bundle.zip")))
"""The recorded sets."""
AuditsMade = Callable[[Auditor, pd.DataFrame, Path], Iterator[AuditResult]]


def main() -> int:
    """Record a set; gives the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("name", help="of the set, which may not be there yet")
    options.add_argument("audits", nargs="?", default="trees", choices=AUDITS, help="what is audited")
    given = options.parse_args()
    folder = FOLDER / given.name
    folder.mkdir()  # what was recorded is never made anew
    with tempfile.TemporaryDirectory() as home:
        database_url = f"sqlite:///{Path(home) / 'holder.sqlite'}"
        with running_holder(Path(home), database_url, epsilon="50") as holder, contextlib.chdir(home):
            record(holder, folder, AUDITS[given.audits])
    return 0


def record(holder: TestedHolder, folder: Path, audits_made: AuditsMade) -> None:
    """Audit in the working directory, and write the receipts directory and the bundle into a set, each as a zip.

    Args:
        holder: A new one.
        folder: The set's, empty.
        audits_made: What is audited.
    """
    people = invented_people()
    declare(holder, people)
    with Auditor(str(holder.client.base_url), holder.auditor_key, receipts="receipts") as auditor:
        # A version of their own, as if long ago: sentences and pages are compared with the same version's alone.
        audits = [replace(audit, versions={"pafer": "recorded"}) for audit in audits_made(auditor, people, Path.cwd())]
        write_bundle(folder / "bundle.zip", audits, auditor.receipts)
    pack(Path("receipts"), folder / "receipts.zip")


def pack(directory: Path, archive: Path) -> None:
    """Write the files of a directory into a zip, by their paths relative to it."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(directory.rglob("*.*")):
            packed.write(path, path.relative_to(directory))


def unpacked(folder: Path, target: Path) -> Path:
    """Lay out a recorded set: `receipts` and `bundle` as directories of `target`; gives the target."""
    for name in ("receipts", "bundle"):
        with zipfile.ZipFile(folder / f"{name}.zip") as packed:
            packed.extractall(target / name)
    return target


def declare(holder: TestedHolder, people: pd.DataFrame) -> None:
    """A dataset for each way of asking, with a budget in its population."""
    columns = {
        "loans": COLUMNS, "halves": COLUMNS, "survey": [*COLUMNS[:4], _REPORTED], "ages": [_BANDED, *COLUMNS[1:]],
    }  # fmt: skip
    records = people.assign(repaid=people["repaid"].map({True: "true", False: "false"}))
    for name, relation in (
        ("loans", "add_remove"),
        ("halves", "sensitive_attribute"),
        ("survey", "sensitive_attribute"),
        ("ages", "sensitive_attribute"),
    ):
        budget = {"epsilon": "40", "delta": "0.01"}
        required(
            holder.declare(
                name, columns=columns[name], relation=relation, cap=budget, sensitive_in_rules=name == "ages"
            )
        )
        names = ["id", *(column["name"] for column in columns[name])]
        required(holder.load(records[names].to_csv(index=False).encode(), name))
        required(holder.admin("PUT", f"/datasets/{name}/budgets/ADR", json=budget))
    budget = {"epsilon": "40", "delta": "0.01"}
    gaps = [*COLUMNS[:4], {**COLUMNS[4], "nullable": True}, COLUMNS[5]]
    fifth = records.assign(sex=records["sex"].where(records.index % 5 != 0))
    required(holder.declare("gaps", columns=gaps, cap=budget))
    required(holder.load(fifth.to_csv(index=False).encode(), "gaps"))
    required(holder.admin("PUT", "/datasets/gaps/budgets/ADR", json=budget))
    required(holder.declare("monthly", columns=COLUMNS, cap={"rho": "5", "delta": "0.0001"}))
    required(holder.load(records.to_csv(index=False).encode(), "monthly"))
    required(holder.admin("PUT", "/datasets/monthly/budgets/ADR", json={"rho": "4"}))


def invented_people() -> pd.DataFrame:
    """The records."""
    source = random.Random(5)
    return pd.DataFrame(
        {
            "id": f"p{person}",
            "age": source.randint(18, 90),
            "hours": None if source.random() < 0.1 else round(source.uniform(0, 60), 2),
            "région": source.choice(["North", "South", "élevé"]),
            "repaid": source.random() < 0.6,
            "sex": source.choice(["Female", "Male"]),
            "origin": source.choice(["here", "there"]),
        }
        for person in range(2000)
    )


def audits_of_trees(auditor: Auditor, people: pd.DataFrame, folder: Path) -> Iterator[AuditResult]:
    """Audits in which every field of request and reading has another value than its default at least once."""
    scope: dict[str, Any] = {"where": ["age >= 18 and hours < 70 or missing", '"région" in (North, "élevé")']}
    yield auditor.audit(
        FOUR_LEAVES, "loans", ["sex"], "2", strategy="rules", metrics=OF_DECISIONS, reference="Male", **scope
    )
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "0.5", **scope)
    assumption = Assumption(people=777, accepted=0.25, positive=0.3, shares=(1, 2, 3, 4), rates=(1, 1, 1, 0.5))
    yield auditor.audit(
        model_file(people, folder), "loans", ["origin", "sex"], "1", mechanism="gaussian", delta="0.00001",
        strategy="pafer", favourable=[1], columns=["age", "hours"], draw=2, assumption=assumption,
        estimator="plug-in", negative="zero", too_large="total-valid", threshold=0.9,
    )  # fmt: skip
    yield auditor.audit(
        FOUR_LEAVES, "loans", ["origin"], "1.5", mechanism="exponential", upper=2500, strategy="verdict", level=0.9
    )
    own = people.drop(columns=["sex", "origin"])
    yield auditor.audit(FOUR_LEAVES, "halves", ["sex"], "1", supports_from=own)
    yield auditor.audit(FOUR_LEAVES, "survey", ["sex"], metrics="equalized-odds", supports_from=own)


def audits_of_decisions(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits of decisions that were made already."""
    asked: dict[str, Any] = {"decision": "hours", "above": 20.5, "label": "repaid"}
    yield auditor.audit(None, "loans", ["sex"], "1", metrics=["equal-opportunity"], **asked)


def audits_of_bands(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits of a score at every threshold."""
    asked: dict[str, Any] = {"decision": "hours", "above": 30, "edges": [10, 20, 40], "metrics": OF_DECISIONS}
    yield auditor.audit(None, "loans", ["sex"], "2", **asked)


def audits_without_a_threshold(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits whose reading names no threshold, so that statistical parity alone has a verdict."""
    metrics = ["equal-opportunity", "equalized-odds", "predictive-parity", "statistical-parity"]
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "1", metrics=metrics, strategy="verdict")
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "1", metrics=STABILITY, within="age=2")


def audits_of_groups(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits by bands of a sensitive age, of a tree that looks at it."""
    yield auditor.audit(FOUR_LEAVES, "ages", ["age"], "2", strategy="rules", reference="25 to 44")
    yield auditor.audit(FOUR_LEAVES, "ages", ["sex"], "2", strategy="verdict")


def audits_of_joint_readings(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits whose intervals hold together: of rules, by label, and of a score at every threshold."""
    asked: dict[str, Any] = {"joint": True, "metrics": ["statistical-parity", "equalized-odds"]}
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "2", strategy="rules", reference="Male", **asked)
    bands: dict[str, Any] = {"decision": "hours", "above": 30, "edges": [10, 20, 40]}
    yield auditor.audit(None, "loans", ["sex"], "2", **bands, **asked)


def audits_of_large_groups(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits that judge the groups that are large enough, one of which leaves some out."""
    asked: dict[str, Any] = {"strategy": "rules", "metrics": ["statistical-parity", "equalized-odds"]}
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex", "origin"], "2", judged=490, **asked)
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "1", judged="2.0%", strategy="verdict")


def audits_with_totals(auditor: Auditor, people: pd.DataFrame, _: Path) -> Iterator[AuditResult]:
    """Audits that rest on public totals of groups, exact and within bounds, with own data and without."""
    sizes = people.groupby(["origin", "sex"]).size()
    exact = {group: int(size) for group, size in sizes.items()}
    bounds = {group: (size - 9, size + 12) for group, size in list(exact.items())[:3]}
    asked: dict[str, Any] = {"totals_source": "A census", "epsilon": "1", "dataset": "loans", "strategy": "rules"}
    yield auditor.audit(FOUR_LEAVES, sensitive=["origin", "sex"], group_totals=exact, **asked)
    own = people.drop(columns=["sex", "origin"])
    yield auditor.audit(FOUR_LEAVES, sensitive=["origin", "sex"], group_totals=bounds, supports_from=own, **asked)


def audits_of_strata(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits within each value of a column: of a tree, by bands of a number, and of decisions."""
    yield auditor.audit(
        FOUR_LEAVES, "loans", ["sex"], "2", by="région", metrics=["statistical-parity", "equalized-odds"]
    )
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "2", by="age=25,45", strategy="rules", reference="Male")
    asked: dict[str, Any] = {"decision": "hours", "above": 20.5, "estimator": "plug-in"}
    yield auditor.audit(None, "loans", ["origin"], "1", by="région", **asked)


def audits_of_stability(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits of whose decision is stable."""
    asked: dict[str, Any] = {"metrics": STABILITY, "within": "age=2", "free": ["région"]}
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "2", **asked)


def audits_of_burdens(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits of adverse outcomes, of either kind of decision, and of the errors in them by the label."""
    asked: dict[str, Any] = {"reference": "here", "metrics": ["adverse-ratio", "odds-ratio"]}
    yield auditor.audit(FOUR_LEAVES, "loans", ["origin"], "2", intervention="punitive", strategy="rules", **asked)
    errors = ["false-positive-rate", "false-discovery-rate"]
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "2", intervention="punitive", by="région", metrics=errors)
    asked = {"metrics": ["statistical-parity", "false-negative-rate", "false-omission-rate"], "joint": True}
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "2", intervention="assistive", **asked)


def audits_of_chains(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits of chains: of a model's decision and the label, and of linked decisions that contradict each other."""
    asked: dict[str, Any] = {"dataset": "loans", "sensitive": ["origin"], "reference": "here"}
    yield auditor.audit(FOUR_LEAVES, **asked, epsilon="2", chain=["model", "repaid"], intervention="assistive")
    chance = random.Random(11)
    linked = pd.DataFrame({"id": [f"p{person}" for person in range(2000)]})
    for name, share in (("selected", 0.4), ("visited", 0.7)):
        linked[name] = [chance.random() < share for _ in range(2000)]
        auditor.link(linked[["id", name]], "loans", name=name)
    yield auditor.audit(
        **asked, epsilon="2", chain=["selected", "visited", "repaid"], intervention="punitive",
        contradictions="0.25", outcome_test=True, assumption=Assumption(people=2000, passing=(0.4, 0.7, 0.6)),
    )  # fmt: skip


def audits_of_columns(auditor: Auditor, people: pd.DataFrame, _: Path) -> Iterator[AuditResult]:
    """Audits of models behind scores, and of linked decisions with a linked label, within a linked part."""
    known = people.dropna()
    features, repaid = known[["age", "hours"]], known["repaid"] * 1
    fill = SimpleImputer(strategy="constant", fill_value=-1)
    boosted = make_pipeline(fill, GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0))
    yield auditor.audit(boosted.fit(features, repaid), "loans", ["sex"], "1", favourable=[1])
    scorecard = make_pipeline(fill, LogisticRegression())
    yield auditor.audit(scorecard.fit(features, repaid), "loans", ["sex"], "1", above=0.55, favourable=[1])
    chance = random.Random(7)
    linked = pd.DataFrame(
        {
            "id": [f"p{person}" for person in range(1500)],
            "decision": chance.choices(["granted", "later", "refused"], k=1500),
            "paid": [chance.random() < 0.7 for _ in range(1500)],
            "points": [chance.random() for _ in range(1500)],
        }
    )
    for name in ("decision", "paid", "points"):
        auditor.link(linked, "loans", name=name, label=name == "paid")
    yield auditor.audit(
        dataset="loans", sensitive=["sex"], epsilon="1", decision="decision", favourable=["granted", "later"],
        metrics=["equalized-odds"], label="paid", where="points > 0.25",
    )  # fmt: skip


def audits_of_comparisons(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits of two models that one question asked about."""
    found = auditor.compare(FOUR_LEAVES, four_leaves(True, False, True, True), "loans", ["sex", "origin"], "1")
    yield from (found.first, found.second)


def audits_of_joined_answers(auditor: Auditor, people: pd.DataFrame, _: Path) -> Iterator[AuditResult]:
    """Audits that rest on several answers: draws, another mechanism, other cells and groups, and with own data."""
    asked: dict[str, Any] = {"model": FOUR_LEAVES, "dataset": "loans", "sensitive": ["sex"]}
    auditor.audit(**asked, epsilon="0.5", strategy="rules")
    auditor.audit(**{**asked, "sensitive": ["origin", "sex"]}, epsilon="0.5", strategy="verdict")
    auditor.audit(**asked, epsilon="0.5", mechanism="gaussian", delta="0.00001", strategy="rules", reuse=False)
    yield auditor.audit(**asked, epsilon="0.5", strategy="rules", draw=2, reference="Male", join=True)
    own = {**asked, "dataset": "halves", "epsilon": "0.5", "supports_from": people.drop(columns=["sex", "origin"])}
    auditor.audit(**own)
    yield auditor.audit(**own, draw=2, join=True)


def audits_of_refined_answers(auditor: Auditor, people: pd.DataFrame, folder: Path) -> Iterator[AuditResult]:
    """Audits that refine each other, of the whole and of halves of known support."""
    asked: dict[str, Any] = {"model": FOUR_LEAVES, "dataset": "loans", "sensitive": ["sex"], "strategy": "rules"}
    halves = {**asked, "dataset": "halves", "supports_from": people.drop(columns=["sex", "origin"])}
    for one in (asked, halves):
        first = auditor.audit(**one, epsilon="0.25")
        second = auditor.audit(**one, epsilon="0.5", refines=first.stored.release.id)
        yield second
        yield auditor.audit(**one, epsilon="1.25", refines=second.stored.release.id)


def audits_until_decided(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits that looked several times: decided, and open at the last look; each refined, and each drawn anew."""
    asked: dict[str, Any] = {"model": FOUR_LEAVES, "sensitive": ["sex"], "until_decided": True, "threshold": 0.5}
    yield auditor.audit(**asked, dataset="loans", epsilon="1", first_look="0.005")
    yield auditor.audit(**asked, dataset="loans", epsilon="0.008", strategy="pafer", level=0.9)
    yield auditor.audit(**asked, dataset="monthly", rho="0.05", first_look="0.00002")


def audits_in_rho(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits of people whose account adds up ρ: by ρ, by ε, and by ε and δ."""
    yield auditor.audit(FOUR_LEAVES, "monthly", ["sex"], rho="0.5")
    yield auditor.audit(FOUR_LEAVES, "monthly", ["origin"], "1", strategy="rules")
    yield auditor.audit(FOUR_LEAVES, "monthly", ["sex"], "0.75", mechanism="gaussian", delta="0.00001")


def audits_of_an_edition(auditor: Auditor, *given: Any) -> Iterator[AuditResult]:
    """Audits whose figures the latest edition of the estimator makes otherwise than those before it."""
    for audits in (audits_of_large_groups, audits_of_joint_readings, audits_of_bands):
        yield from audits(auditor, *given)
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex"], "1", edition=1)


def model_file(people: pd.DataFrame, folder: Path) -> Path:
    """A model's file. The set has its digest alone."""
    known = people.dropna()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        known[["age", "hours"]].to_numpy(), known["repaid"] * 1
    )
    path = folder / "model.skops"
    skops.io.dump(tree, path)
    return path


def audits_of_unknown_groups(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits in which the group of every fifth person is unknown: bounds without being asked, on request, and none."""
    asked: dict[str, Any] = {"dataset": "gaps", "sensitive": ["sex"], "strategy": "verdict"}
    yield auditor.audit(FOUR_LEAVES, epsilon="0.5", intervention="assistive", **asked)
    yield auditor.audit(FOUR_LEAVES, epsilon="0.6", unknown="bounds", unknown_odds=2, **asked)
    yield auditor.audit(FOUR_LEAVES, epsilon="0.7", unknown="group", **asked)
    yield auditor.audit(FOUR_LEAVES, epsilon="0.8", group_totals={"Female": 1000, "Male": 1000}, **asked)


def audits_of_misreported_groups(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits that a study of misreported groups corrects: of the first figure, of a burden, and of both label rates."""
    study = {"Female": {"Female": 900, "Male": 100}, "Male": {"Female": 50, "Male": 950}}
    asked: dict[str, Any] = {"dataset": "loans", "sensitive": ["sex"], "misreported": study}
    yield auditor.audit(FOUR_LEAVES, epsilon="0.5", intervention="assistive", misreported_source="A survey", **asked)
    yield auditor.audit(FOUR_LEAVES, epsilon="0.6", metrics="adverse-ratio", intervention="punitive", **asked)
    yield auditor.audit(FOUR_LEAVES, epsilon="0.7", metrics="equalized-odds", threshold=0.8, **asked)


def audits_of_tables(auditor: Auditor, *_: object) -> Iterator[AuditResult]:
    """Audits by two columns, which have the figures by each of them: with label rates, within strata, held together, of
    people of unknown group, and where one person's group may change.
    """
    both: dict[str, Any] = {"sensitive": ["sex", "origin"], "intervention": "assistive"}
    metrics = ["statistical-parity", "equalized-odds"]
    yield auditor.audit(FOUR_LEAVES, "loans", epsilon="0.5", metrics=metrics, reference="Male,here", **both)
    yield auditor.audit(FOUR_LEAVES, "loans", ["sex", "origin"], "0.6", by="région")
    yield auditor.audit(FOUR_LEAVES, "loans", epsilon="0.7", joint=True, judged="2%", **both)
    yield auditor.audit(FOUR_LEAVES, "gaps", epsilon="0.5", **both)
    yield auditor.audit(FOUR_LEAVES, "halves", epsilon="0.5", mechanism="gaussian", **both)


AUDITS: Final[Mapping[str, AuditsMade]] = {
    "trees": audits_of_trees,
    "rho": audits_in_rho,
    "decisions": audits_of_decisions,
    "bands": audits_of_bands,
    "stability": audits_of_stability,
    "no-threshold": audits_without_a_threshold,
    "columns": audits_of_columns,
    "groups": audits_of_groups,
    "joint": audits_of_joint_readings,
    "large-groups": audits_of_large_groups,
    "comparisons": audits_of_comparisons,
    "totals": audits_with_totals,
    "strata": audits_of_strata,
    "burdens": audits_of_burdens,
    "chains": audits_of_chains,
    "joined": audits_of_joined_answers,
    "edition": audits_of_an_edition,
    "refined": audits_of_refined_answers,
    "until-decided": audits_until_decided,
    "unknown-groups": audits_of_unknown_groups,
    "misreported-groups": audits_of_misreported_groups,
    "tables": audits_of_tables,
}


if __name__ == "__main__":
    raise SystemExit(main())
