"""Record a set of messages from a real holder into a folder of its own: `python -m tests.contract NAME`."""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx

from testing.holders import TestedHolder, running_holder
from testing.registers import (
    DECLARATION,
    LEARNABLE,
    learnable_csv,
    linked_column,
    linked_values,
    plan,
    register_csv,
    training,
    watch,
)
from testing.waits import wait_until

SETS: Final = Path(__file__).parent
FILES: Final = "files"
"""The folder, beside the holder's home, from which it loads records by their URL."""
_AGE, _HOURS, _EDUCATION, _CITIZEN, _SEX, _ORIGIN = DECLARATION["columns"]
_LAPLACE: Final = {"mechanism": {"name": "laplace"}, "epsilon": "0.1"}
_REPORTED: Final = {"sensitive": True, "randomised_response": {"kept": "0.8"}}

Document = dict[str, Any]


def main() -> int:
    """Record a set; gives the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("name", help="of the set, which may not be there yet")
    folder = SETS / options.parse_args().name
    folder.mkdir()  # what was recorded is never made anew
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / FILES).mkdir()
        roots = ((home / FILES).as_uri(),)
        with running_holder(home, epsilon="5", people=60, records_roots=roots) as holder:
            record(holder, folder)
    return 0


def record(holder: TestedHolder, folder: Path) -> None:
    """Ask a holder all that a set has, and keep it."""
    prepare(holder)
    derived = derive(holder)
    datasets = required(holder.auditor("GET", "/datasets")).json()["datasets"]
    plans, quotes, releases = [], [], []
    refined: dict[str, str] = {}
    for number, (dataset, template) in enumerate(plans_sent(derived)):
        if number == 2:
            required(holder.admin("POST", "/signing-keys"))
        sent = {**template, "refines": refined[template["refines"]]} if "refines" in template else template
        unanswered = holder.auditor("POST", f"/datasets/{dataset}/quotes", json=sent)
        release = approved(holder, dataset, sent)
        answered = release.json()
        refined[sent["batches"][0]["name"]] = answered["id"]
        pinned = {**sent, "version": answered["version"]}
        # What was refined is not quoted again.
        quote = required(
            unanswered if "refines" in sent else holder.auditor("POST", f"/datasets/{dataset}/quotes", json=pinned)
        )
        names = {"auditor": "ADR", "dataset": dataset, "version": answered["version"], "identity": answered["id"]}
        plans.append(json.dumps({**names, "sent": sent}))
        quotes.append(quote.text)
        releases.append(release.text)
    trainings, priced, trained = [], [], []
    for sent in trainings_sent():
        release = required(holder.auditor("POST", "/datasets/loans/trainings", json=sent))
        answered = release.json()
        pinned = {**sent, "version": answered["version"]}
        priced.append(required(holder.auditor("POST", "/datasets/loans/trainings/quotes", json=pinned)).text)
        names = {"auditor": "ADR", "dataset": "loans", "version": answered["version"], "identity": answered["id"]}
        trainings.append(json.dumps({**names, "sent": sent}))
        trained.append(release.text)
    set_ones, watch_quotes, watch_reports = [], [], []
    for sent in watches_sent():
        quote = required(holder.auditor("POST", "/datasets/register/watches/quotes", json={**sent, "version": 1}))
        made = required(holder.auditor("POST", "/datasets/register/watches", json=sent)).json()
        path = f"/datasets/register/watches/{made['id']}"
        wait_until(lambda path=path: required(holder.auditor("GET", path)).json()["answers"])  # type: ignore[misc]
        names = {"auditor": "ADR", "dataset": "register", "version": made["version"], "identity": made["id"]}
        set_ones.append(json.dumps({**names, "sent": sent}))
        watch_quotes.append(quote.text)
        watch_reports.append(required(holder.auditor("GET", path)).text)
    conclude(holder)
    write(folder / "watches.jsonl", set_ones)
    write(folder / "watch-quotes.jsonl", watch_quotes)
    write(folder / "watch-reports.jsonl", watch_reports)
    write(folder / "trainings.jsonl", trainings)
    write(folder / "training-quotes.jsonl", priced)
    write(folder / "training-releases.jsonl", trained)
    write(folder / "plans.jsonl", plans)
    write(folder / "quotes.jsonl", quotes)
    write(folder / "releases.jsonl", releases)
    write(folder / "datasets.json", [json.dumps(datasets, indent=1)])
    write(folder / "keys.json", [json.dumps(required(holder.client.get("/v1/keys")).json(), indent=1)])
    write(folder / "entries.jsonl", required(holder.admin("GET", "/ledger?format=jsonl")).text.splitlines())


def approved(holder: TestedHolder, dataset: str, sent: Document) -> httpx.Response:
    """What a plan is answered, once it was approved where that is required."""
    answer = required(holder.release(sent, dataset=dataset))
    if answer.status_code == 202:
        required(holder.decide(answer.json()["id"], reason="Recorded for the contract"))
        answer = required(holder.release(sent, dataset=dataset))
    return answer


def prepare(holder: TestedHolder) -> None:
    """Declare and load a dataset for each neighbouring relation, with a budget in its population."""
    columns = [_AGE, {**_EDUCATION, "categories": ["low", "élevé"]}, _SEX, _ORIGIN]
    required(holder.declare("unbounded", columns=columns, cap={"epsilon": "2", "delta": "0.01"}))
    required(holder.declare("fixed-size", relation="replace"))
    survey = [{**_AGE, "label": False}, {**_SEX, **_REPORTED}, {**_ORIGIN, "nullable": False, **_REPORTED}]
    required(holder.declare("survey", columns=survey, relation="sensitive_attribute"))
    rows = "".join(f"q{n},{n},low,Female,\r\n" for n in range(20))
    required(holder.load(f"id,age,education,sex,origin\r\n{rows}".encode(), "unbounded"))
    required(holder.load(register_csv(people=30), "fixed-size"))
    reports = "".join(f"r{n},{n},Male,here\n" for n in range(20))
    required(holder.load(f"id,age,sex,origin\n{reports}".encode(), "survey"))
    banded = [{**_AGE, "sensitive": True, "bands_from": [25, 45]}, {**_HOURS, "nullable": False}, _SEX]
    required(holder.declare("aged", columns=banded, relation="sensitive_attribute", sensitive_in_rules=True))
    ages = "".join(f"a{n},{3 * n},{n}.5,{'Female' if n % 2 else 'Male'}\n" for n in range(30))
    required(holder.load(f"id,age,hours,sex\n{ages}".encode(), "aged"))
    required(holder.declare("monthly", cap={"rho": "0.5", "delta": "0.0001"}))
    required(holder.load(register_csv(people=30), "monthly"))
    required(holder.admin("PUT", "/populations/aged/approval", json={"required": True, "days": 30}))
    words = {
        "title": "Anträge",
        "reference_date": "2026-01-31",
        "columns": {"age": {"title": "Alter", "unit": "Jahre"}},
    }
    required(holder.admin("PUT", "/datasets/register/metadata", json=words))
    required(holder.declare("loans", columns=LEARNABLE["columns"]))
    required(holder.load(learnable_csv(people=60), "loans"))
    parts = [{"value": "Female", "weight": 3}, {"value": "Male", "weight": 1}]
    rehearsal = {"people": 100, "seed": "0123456789abcdef" * 2, "marginals": {"sex": parts}}
    required(holder.admin("POST", "/datasets/register/rehearsal", json=rehearsal))
    for dataset in ("unbounded", "fixed-size", "survey", "aged", "loans"):
        budget = {"epsilon": "1.5", "delta": "0.005", "expires": "2999-12-31T22:30:00+02:00"}
        required(holder.admin("PUT", f"/datasets/{dataset}/budgets/ADR", json=budget))
    required(holder.admin("PUT", "/datasets/monthly/budgets/ADR", json={"rho": "0.4"}))


def derive(holder: TestedHolder) -> Document:
    """Make derived columns of every origin, and wait until they are ready; gives their ids by name."""
    linked = linked_values(register_csv(people=60))
    column = required(holder.derive(linked_column(linked))).json()
    required(holder.link(linked, column["id"]))
    holder.await_columns()
    return {column["column"]["name"]: column["id"]}


def plans_sent(derived: Document) -> Iterator[tuple[str, Document]]:
    """Plans with every operator, mechanism, relation and spelling, by the dataset that they are about.

    One that refines names the first batch of the release that it refines; its id is not known yet.
    """
    young = {"id": "young", "all_of": [{"column": "age", "op": "le", "value": 40}]}
    old = {"id": "old", "all_of": [{"column": "age", "op": "gt", "value": 40.0}]}
    yield "register", {"sensitive": ["sex"], "batches": [{"name": "verdict", **_LAPLACE, "cells": [young, old]}]}
    rehearsed = [{"name": "rehearsed", **_LAPLACE, "cells": [young, old]}]
    yield "register-rehearsal", {"sensitive": ["sex"], "batches": rehearsed}
    yield "register", {**every_operator(), "draw": 2}
    overlapping = [{"id": "everybody", "all_of": []}, young]
    yield "fixed-size", {
        "sensitive": ["origin", "sex"], "version": 1,
        "batches": [
            {"name": "exact", "mechanism": {"name": "exponential", "upper": 30}, "epsilon": "0.25", "cells": [old]},
            {"name": "overlapping", **_LAPLACE, "cells": overlapping},
        ],
    }  # fmt: skip
    decomposed = {"id": "e\u0301", "all_of": [{"column": "education", "op": "in", "values": ["e\u0301leve\u0301"]}]}
    gaussian = {"mechanism": {"name": "gaussian", "delta": "0.000001"}, "epsilon": "0.5"}
    yield "unbounded", {"sensitive": ["sex"], "batches": [{"name": "u", **gaussian, "cells": [decomposed, young]}]}
    yield "survey", {"sensitive": ["sex"], "batches": [{"name": "half", **_LAPLACE, "cells": [young, old]}]}
    reported = {"name": "reported", "mechanism": {"name": "randomised_response"}, "cells": [young]}
    yield "survey", {"sensitive": ["sex", "origin"], "batches": [reported]}
    granted = {"id": "granted", "all_of": [{"column": "decision", "op": "eq", "value": "granted"}, young["all_of"][0]]}
    unknown = {"id": "unknown", "all_of": [{"column": "decision", "op": "is_missing"}]}
    decided = {"name": "decided", **_LAPLACE, "cells": [granted, unknown]}
    yield "register", {"sensitive": ["sex"], "columns": derived, "batches": [decided]}
    women = {"id": "women", "all_of": [{"column": "sex", "op": "eq", "value": "Female"}]}
    long = {"id": "long", "all_of": [{"column": "hours", "op": "ge", "value": 20}]}
    yield "aged", {"sensitive": ["age"], "batches": [{"name": "bands", **_LAPLACE, "cells": [women, long]}]}
    loose = {"name": "loose", "mechanism": {"name": "laplace"}, "epsilon": "0.05", "cells": [young, old]}
    kept = {"name": "kept", "mechanism": {"name": "exponential", "upper": 40}, "epsilon": "0.1", "cells": [old]}
    for epsilon in ("0.05", "0.1", "0.25"):
        chain = {} if epsilon == "0.05" else {"refines": "loose"}
        yield "fixed-size", {"sensitive": ["sex"], "batches": [{**loose, "epsilon": epsilon}, kept], **chain}
    apart = [{"name": "named", **_LAPLACE, "cells": [women, old]}, {"name": "features", **_LAPLACE, "cells": [long]}]
    yield "aged", {"sensitive": ["sex"], "batches": apart}

    in_rho = [{"name": "first", "mechanism": {"name": "gaussian"}, "rho": "0.010", "cells": overlapping},
              {"name": "second", "mechanism": {"name": "exponential", "upper": 30}, "epsilon": "0.25", "cells": [old]},
              {"name": "third", **gaussian, "cells": [young]}]  # fmt: skip
    yield "monthly", {"sensitive": ["sex"], "batches": in_rho}
    yield "monthly", {"sensitive": ["sex"], "batches": [{"name": "pure", **_LAPLACE, "cells": [young]}]}


def trainings_sent() -> Iterator[Document]:
    """Trainings about the dataset with a label: with what may be left out, and without it."""
    yield training(epsilon="0.5")
    spelled = [{"column": "hours", "cuts": [20.0, 37.5]}, {"column": "education"}]
    algorithm = {"name": "fair_tree", "depth": 1, "splits": "0.25"}
    yield {**training(epsilon="0.25"), "features": spelled, "algorithm": algorithm, "sensitive": ["sex", "origin"],
           "draw": 3, "version": 1}  # fmt: skip
    linear = {"name": "fair_linear", "label_quantiles": ["0.5", "0.8"], "group_quantiles": ["0.5"]}
    yield {**training(epsilon="0.25"), "algorithm": linear}


def watches_sent() -> Iterator[Document]:
    """Watches with what may be left out, and without it; one says unchanged, the other changed."""
    yield watch(epsilon="0.25", margin=-100_000)
    yield {**watch(epsilon="0.5", margin=100_000), "verdict": "fails", "sensitive": ["sex", "origin"], "draw": 2,
           "version": 1}  # fmt: skip


def every_operator() -> Document:
    """A plan of unions, with each operator once at least."""
    first = [
        {"column": "age", "op": "ge", "value": 18}, {"column": "age", "op": "lt", "value": 65},
        {"column": "hours", "op": "le", "value": 37.5, "or_missing": True},
        {"column": "education", "op": "in", "values": ["middle", "low"]},
        {"column": "citizen", "op": "eq", "value": True},
    ]  # fmt: skip
    second = [
        {"column": "hours", "op": "is_missing"}, {"column": "education", "op": "ne", "value": "high"},
        {"column": "age", "op": "gt", "value": 1e-5},
    ]  # fmt: skip
    third = [
        {"column": "hours", "op": "not_missing"}, {"column": "education", "op": "not_in", "values": ["low", "high"]}
    ]  # fmt: skip
    cells = [
        {"id": "union", "any_of": [{"id": "a", "all_of": first}, {"id": "b", "all_of": second}]},
        {"id": "rule", "all_of": third},
    ]
    return {"sensitive": ["sex", "origin"], "batches": [{"name": "every operator", **_LAPLACE, "cells": cells}]}


def conclude(holder: TestedHolder) -> None:
    """Decisions of every kind that there was none of yet; a restore is the last."""
    opened = required(holder.admin("POST", "/auditors", json={"name": "second"})).json()
    required(holder.admin("POST", "/auditors/second/keys", json={"expires": "2999-12-31T00:00:00Z"}))
    required(holder.admin("DELETE", f"/auditors/second/keys/{opened['key_id']}"))
    required(holder.admin("PATCH", "/auditors/second", json={"disabled": True}))
    required(holder.admin("PATCH", "/auditors/second", json={"display_name": "Frau Müller"}))
    required(holder.admin("POST", "/auditors", json={"name": "third", "display_name": "监管机构"}))
    required(holder.admin("PUT", "/datasets/register/budgets/ADR", json={"epsilon": "0"}))
    required(holder.load(register_csv()))  # the watch that said "unchanged" skips it
    wait_until(lambda: any(entry["kind"] == "watch-skipped" for entry in holder.entries()))
    required(holder.declare("unbounded", columns=[_AGE, {**_EDUCATION, "categories": ["low", "élevé"]}, _SEX, _ORIGIN],
                            cap={"epsilon": "1", "delta": "0.01"}))  # fmt: skip
    required(holder.admin("POST", "/populations/register/merge", json={"population": "unbounded"}))
    required(holder.admin("DELETE", "/datasets/fixed-size"))
    pair = {"population": "register", "other": "survey"}
    required(holder.admin("POST", "/populations/overlaps", json=pair))
    waiting = required(holder.release(plan(draw=9), dataset="aged")).json()["id"]
    required(holder.auditor("DELETE", f"/datasets/aged/approvals/{waiting}"))
    columns = required(holder.auditor("GET", "/datasets/register/columns")).json()["columns"]
    required(holder.auditor("DELETE", f"/datasets/register/columns/{columns[0]['id']}"))
    load_by_url(holder)
    agree(holder)
    holder.settings.anchor.unlink()
    required(holder.admin("POST", "/ledger/restore", json={"reason": "recorded for the contract"}))


def load_by_url(holder: TestedHolder) -> None:
    """Check and load a file that the holder reads by itself."""
    file = holder.settings.home.parent / FILES / "loans.csv"
    file.write_bytes(learnable_csv(people=60))
    for check in (True, False):
        required(holder.admin("POST", "/datasets/loans/records", json={"url": file.as_uri(), "check": check}))


def agree(holder: TestedHolder) -> None:
    """A second officer confirms the raised cap that another account proposed."""
    opened = required(holder.admin("POST", "/auditors", json={"name": "officer", "role": "budget-officer"})).json()
    required(holder.admin("PUT", "/populations/loans/approval", json={"required": True, "second_officer": True}))
    path, raised = "/populations/loans/cap", {"cap": {"epsilon": "900"}}
    proposed = holder.admin("PUT", path, json=raised)
    if proposed.status_code != 409:
        raise SystemExit(f"PUT {path}: {proposed.status_code} {proposed.text}")
    required(holder.auditor("PUT", f"/admin{path}", key=opened["key"], json=raised))


def required(answer: httpx.Response) -> httpx.Response:
    """The answer, if it is not a refusal; else the recording ends."""
    if not answer.is_success:
        raise SystemExit(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}")
    return answer


def write(path: Path, lines: list[str]) -> None:
    """Write lines into a new file."""
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    raise SystemExit(main())
