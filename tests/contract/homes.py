"""Record a holder's home, and what an auditor kept of it, by the commands of some release's code.

A release is upgraded from (tests/integration/test_upgrade.py), so its home is recorded once, by its own code:

    git worktree add --detach ../release COMMIT
    (cd ../release && python -m hatchling build -t wheel)
    .venv/bin/python -m pip install --no-deps --target ../release-site ../release/dist/*.whl
    PYTHONPATH=../release-site .venv/bin/python tests/contract/homes.py tests/contract/home-VERSION.tar.gz

Nothing is imported from the code but what the commands run. The keys in it are of this home alone.
"""

import argparse
import csv
import json
import os
import random
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

HOLDER: Final = (sys.executable, "-m", "holder_service.cli")
AUDITOR: Final = (sys.executable, "-c", "from auditor_client.cli import app; app()")
COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
    {"name": "hours", "type": "number"},
    {"name": "region", "type": "category", "categories": ["North", "South"]},
    {"name": "repaid", "type": "boolean", "label": True},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
]
REPORTED: Final = {**COLUMNS[-1], "randomised_response": {"kept": "0.8"}}
CAPS: Final = {"loans": {"epsilon": "20", "delta": "0.0001"}, "survey": {"epsilon": "2", "delta": "0"}}
AUDITS: Final = (
    ("--dataset=loans", "--sensitive=sex", "--epsilon=0.5", "--strategy=rules", "--metric=equalized-odds"),
    ("--dataset=loans", "--sensitive=sex", "--epsilon=0.25", "--mechanism=gaussian", "--where=age >= 30", "--draw=2"),
    ("--dataset=loans", "--sensitive=sex", "--epsilon=1", "--mechanism=exponential", "--upper=500"),
    ("--dataset=survey", "--sensitive=sex", "--supports-from=own.csv"),
)


WATCHED: Final[dict[str, Any]] = {
    "sensitive": ["sex"], "threshold": "0.8", "verdict": "meets", "epsilon": "1", "margin": -5000,
    "favourable": {"id": "young", "all_of": [{"column": "age", "op": "le", "value": 40}]},
    "unfavourable": {"id": "old", "all_of": [{"column": "age", "op": "gt", "value": 40}]},
}  # fmt: skip


def main() -> None:
    """Record a home into an archive that is not there yet."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("archive", type=Path)
    options.add_argument("--reserved", action="store_true", help="instead, one with a name that was reserved later")
    options.add_argument("--watch", action="store_true", help="instead, one with an open watch and its answer")
    given = options.parse_args()
    archive: Path = given.archive.absolute()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if given.watch:
            record_watch()
        else:
            record_reserved() if given.reserved else record()
        for name in ("model.skops", "own.csv"):
            Path(name).unlink()
        with tarfile.open(archive, "x:gz") as packed:
            for path in sorted(Path().iterdir()):
                packed.add(path, filter=_of_nobody)


def record() -> None:
    """Make the home, and beside it what the auditor kept, keys, and what every reader saw at the end."""
    admin_key = begin()
    with serving() as url:
        os.environ |= {"HOLDER_URL": url, "AUDITOR_HOLDER_URL": url}
        key = set_up()
        os.environ["AUDITOR_API_KEY"] = key
        for number, asked in enumerate(AUDITS):
            if number == 1:
                run(*HOLDER, "admin", "rotate-signing-key")
            run(*AUDITOR, "audit", "model.skops", "--favourable=1", *asked, f"--bundle=bundle-{number}.zip")
        run(*HOLDER, "admin", "load", "loans", "people.csv")
        run(*AUDITOR, "audit", "model.skops", "--favourable=1", *AUDITS[0], "--no-reuse")
        run(*AUDITOR, "verify", "receipts")
        for name in CAPS:
            run(*HOLDER, "admin", "report", name, f"transparency-{name}.json")
        seen = {
            "budgets": json.loads(run(*HOLDER, "admin", "budgets", "--json")),
            "budget": {name: json.loads(run(*AUDITOR, "budget", f"--dataset={name}", "--json")) for name in CAPS},
            "keys": json.loads(run(*HOLDER, "admin", "signing-keys", "--json")),
            "ledger": json.loads(run(*HOLDER, "admin", "verify-ledger", "--json")),
        }
    seen["verified"] = json.loads(run(*HOLDER, "ledger", "verify", "--json"))
    Path("seen.json").write_text(json.dumps(seen, indent=1))
    Path("keys.json").write_text(json.dumps({"administrator": admin_key, "auditor": key}))


def begin() -> str:
    """Make the home, with a file of people and one of a model; gives the administrator's key."""
    os.environ |= {"HOLDER_HOME": "home", "HOLDER_RELEASE_QUANTUM_MS": "0", "HOLDER_REQUESTS_PER_S": "0"}
    os.umask(0o077)
    key: str = json.loads(run(*HOLDER, "init", "--json"))["admin_key"]
    os.environ["HOLDER_ADMIN_KEY"] = key
    invent_people()
    fit_model()
    return key


def record_reserved() -> None:
    """Make a home whose dataset has the name that another one's rehearsal would have; and its receipts and keys."""
    admin_key = begin()
    declared = {"person_key": "id", "cap": CAPS["loans"], "records_max": 1000, "columns": COLUMNS}
    Path("declared.json").write_text(json.dumps({**declared, "relation": "add_remove"}))
    with serving() as url:
        os.environ |= {"HOLDER_URL": url, "AUDITOR_HOLDER_URL": url}
        key: str = json.loads(run(*HOLDER, "admin", "add-auditor", "ADR", "--json"))["key"]
        os.environ["AUDITOR_API_KEY"] = key
        for name in ("loans", "loans-rehearsal"):
            run(*HOLDER, "admin", "declare", name, "declared.json")
            run(*HOLDER, "admin", "load", name, "people.csv")
            run(*HOLDER, "admin", "grant", name, "ADR", "5")
        run(
            *AUDITOR,
            "audit",
            "model.skops",
            "--dataset=loans-rehearsal",
            "--sensitive=sex",
            "--epsilon=0.5",
            "--favourable=1",
        )
    Path("keys.json").write_text(json.dumps({"administrator": admin_key, "auditor": key}))


def record_watch() -> None:
    """Make a home whose watch has said "unchanged" of the first version; with the watch, its answer, and keys."""
    admin_key = begin()
    declared = {"person_key": "id", "cap": CAPS["loans"], "records_max": 1000, "columns": COLUMNS}
    Path("declared.json").write_text(json.dumps({**declared, "relation": "add_remove"}))
    with serving() as url:
        os.environ["HOLDER_URL"] = url
        key: str = json.loads(run(*HOLDER, "admin", "add-auditor", "ADR", "--json"))["key"]
        run(*HOLDER, "admin", "declare", "loans", "declared.json")
        run(*HOLDER, "admin", "load", "loans", "people.csv")
        run(*HOLDER, "admin", "grant", "loans", "ADR", "5")
        with httpx.Client(base_url=f"{url}/v1/datasets/loans/", headers={"Authorization": f"Bearer {key}"}) as auditor:
            identity = auditor.post("watches", json=WATCHED).raise_for_status().json()["id"]
            while not (seen := auditor.get(f"watches/{identity}").raise_for_status().json())["answers"]:
                time.sleep(0.1)
    Path("watch.json").write_text(json.dumps(seen, indent=1))
    Path("keys.json").write_text(json.dumps({"administrator": admin_key, "auditor": key}))


def set_up() -> str:
    """Declare and load datasets, open the accounts and grant budgets; gives the auditor's key."""
    columns = {"loans": COLUMNS, "survey": [*COLUMNS[:-1], REPORTED]}
    relations = {"loans": "add_remove", "survey": "sensitive_attribute"}
    for name, cap in CAPS.items():
        declared = {"person_key": "id", "cap": cap, "records_max": 1000, "columns": columns[name]}
        Path("declared.json").write_text(json.dumps({**declared, "relation": relations[name]}))
        run(*HOLDER, "admin", "declare", name, "declared.json")
        run(*HOLDER, "admin", "load", name, "people.csv")
    Path("declared.json").unlink()
    run(*HOLDER, "admin", "add-auditor", "left", "--json")
    run(*HOLDER, "admin", "disable-auditor", "left")
    key: str = json.loads(run(*HOLDER, "admin", "add-auditor", "ADR", "--json"))["key"]
    for name, cap in CAPS.items():
        run(*HOLDER, "admin", "grant", name, "ADR", cap["epsilon"], "--delta", cap["delta"])
    return key


def invent_people() -> None:
    """The records, as CSV."""
    source = random.Random(10)
    with Path("people.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", *(column["name"] for column in COLUMNS)])
        for person in range(400):
            hours, region = round(source.uniform(0, 60), 2), source.choice(["North", "South"])
            repaid, sex = source.choice(["true", "false"]), source.choice(["Female", "Male"])
            lines.writerow([f"p{person}", source.randint(18, 90), hours, region, repaid, sex])


def fit_model() -> None:
    """A small tree about age and hours, and the auditor's own data about the same people, in files."""
    import pandas as pd
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    people = pd.read_csv("people.csv")
    people.drop(columns=["id", "sex"]).to_csv("own.csv", index=False)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(people[["age", "hours"]], people["repaid"] * 1)
    skops.io.dump(tree, "model.skops")


@contextmanager
def serving() -> Iterator[str]:
    """The holder, ready, at a URL; ended in order afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen([*HOLDER, "serve", "--port", str(port), "--log-level", "warning"]) as process:
        try:
            for _ in range(600):
                try:
                    httpx.get(f"{url}/readyz", timeout=5).raise_for_status()
                    break
                except httpx.HTTPError:
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()


def run(*command: str) -> str:
    """What a command printed; a command that fails ends the recording."""
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}")
    return done.stdout


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
