"""What each person does, and has to see."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Request, sync_playwright

from checks.journeys.register import DECLARATION, EXCEL, TRAINING, write_applicants, write_decisions, write_excel
from checks.journeys.traveller import Traveller
from checks.screenshots import photograph
from testing.browsers import ARGUMENTS, PHONE_PX, executable

DATASET: Final = "staff"
KEY: Final = re.compile(r"pafer_[\w-]+")
SEEN: Final = {
    "decisions": (DATASET, "Geschlecht", "gewährt", r"\b20\d\d\b"),
    "report": (DATASET, "Geschlecht", r"\b20\d\d\b"),
    "comparison": ("closer to statistical parity", "instead of", "Geschlecht"),
    "plan": ("ε = 0.2", r"\b4\s?000\b"),
    "history": (DATASET, "Geschlecht", r"\b20\d\d\b"),
    "transparency": (DATASET, "works-council", r"\b20\d\d\b"),
}
"""What each page has to show: what it is about, by which column, of when."""


def set_up(engineer: Traveller) -> str:
    """The data engineer gets a register of a spreadsheet ready for auditors; gives the auditor's key."""
    home, folder = "holder-home", engineer.folder
    write_excel(folder / "staff.csv")
    (folder / "declaration.json").write_text(DECLARATION, encoding="utf-8")
    engineer.knows({"HOLDER_HOME": str(folder / home)})
    shown = engineer.does("makes a home for the holder", "holder", "init", sees="shown this once")
    engineer.knows({"HOLDER_ADMIN_KEY": KEY.findall(shown)[0]})
    engineer.does("has a declaration drafted of the file", "holder", "draft", "staff.csv", *EXCEL, sees="Geschlecht")
    engineer.does(
        "declares before anything is loaded", "holder", "admin", "declare", DATASET, "declaration.json", sees=DATASET
    )
    engineer.does(
        "forgets how the file is written, and is told so without a value of it",
        "holder", "admin", "load", DATASET, "staff.csv", "--check",
        sees="line 1", status=2, hides=("P00001", "Verkauf"),
    )  # fmt: skip
    engineer.does("checks the file", "holder", "admin", "load", DATASET, "staff.csv", *EXCEL, "--check")
    engineer.does(
        "loads it", "holder", "admin", "load", DATASET, "staff.csv", *EXCEL, sees="Version 1 of staff is loaded"
    )
    shown = engineer.does("opens an account for the auditor", "holder", "admin", "add-auditor", "works-council")
    engineer.does(
        "grants too much, and is warned", "holder", "admin", "grant", DATASET, "works-council", "9", sees="Warning"
    )
    engineer.does("grants what is needed", "holder", "admin", "grant", DATASET, "works-council", "2", sees="2, 0")
    return str(KEY.findall(shown)[0])


def audit_decisions(user: Traveller) -> None:
    """Somebody with a list in Excel, and the smallest installation, audits decisions."""
    write_decisions(user.folder / "entscheide.csv")
    (user.folder / "model.skops").write_bytes(b"PK\x03\x04")
    about = ("--dataset", DATASET, "--sensitive", "Geschlecht", "--intervention", "assistive", "--epsilon", "0.2")
    user.does(
        "names a column in small letters, and reads what was meant", "auditor", "link", "entscheide.csv",
        "--dataset", DATASET, "--name", "entscheid", "--key", "personalnummer", "--value", "Entscheid",
        sees="did you mean 'Personalnummer'", status=2,
    )  # fmt: skip
    user.does(
        "links the decisions as Excel saved them", "auditor", "link", "entscheide.csv", "--dataset", DATASET,
        "--name", "entscheid", "--value", "Entscheid",
        sees=("--delimiter ';' --encoding cp1252", "category: abgelehnt, gewährt"),
    )  # fmt: skip
    user.does(
        "audits them", "auditor", "audit", "--decision", "entscheid", *about, "--favourable", "gewährt",
        "--report", "decisions.html", sees=("fails the four-fifths rule", "People with a decision: about"),
    )  # fmt: skip
    user.does(
        "is told what a model of scikit-learn needs", "auditor", "audit", "model.skops", *about, "--favourable", "true",
        sees="pip install 'pafer[auditor,sklearn]'", status=2,
    )  # fmt: skip


def audit(auditor: Traveller) -> None:
    """The auditor asks for the price, audits two models, and checks what was answered."""
    write_applicants(auditor.folder / "applicants.csv")
    about = ("--dataset", DATASET, "--sensitive", "Geschlecht", "--favourable", "true")
    (auditor.folder / "train.py").write_text(TRAINING)
    auditor.does("gets the employer's models", "python", "train.py")
    auditor.does("looks what there is", "auditor", "datasets", sees=(DATASET, "Geschlecht"))
    auditor.does(
        "mistypes a name, and reads what was meant", "auditor", "plan", "model.skops", "--dataset", "staf",
        "--sensitive", "Geschlecht", "--epsilon", "0.2", sees="did you mean", status=2,
    )  # fmt: skip
    auditor.does(
        "asks for the price", "auditor", "plan", "model.skops", *about, "--epsilon", "0.2", "--people", "4000",
        "--report", "plan.html", sees="Nothing was spent",
    )  # fmt: skip
    auditor.does(
        "audits", "auditor", "audit", "model.skops", *about, "--epsilon", "0.2", "--report", "report.html",
        "--bundle", "evidence.zip", sees=("four-fifths rule", "fails"),
    )  # fmt: skip
    auditor.does("asks again, for nothing", "auditor", "audit", "model.skops", *about, "--epsilon", "0.2", sees="fails")
    auditor.does("sees that it was charged once", "auditor", "budget", "--dataset", DATASET, sees="0.4")
    auditor.does(
        "compares with the newer model", "auditor", "compare", "model.skops", "newer.skops", *about, "--epsilon", "0.2",
        "--report", "comparison.html",
    )  # fmt: skip
    auditor.does("looks back", "auditor", "history", "--report", "history.html")
    auditor.does("checks the receipts", "auditor", "verify", "receipts", sees="valid")
    auditor.does("checks the evidence as others would", "auditor", "bundle", "check", "evidence.zip")


def read(director: Traveller, pages: Path, pictures: Path) -> None:
    """The director opens every page on screen, phone, at night and on paper, and looks for who, what and when."""
    found = {name: pages / f"{name}.html" for name in SEEN}
    pictures.mkdir(parents=True, exist_ok=True)
    chromium = executable()
    director.requires(chromium is not None, "there is no Chromium: on Debian and Ubuntu, apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for name, path in found.items():
            context = browser.new_context(viewport={"width": PHONE_PX, "height": 844}, is_mobile=True)
            page = context.new_page()
            asked: list[str] = []
            page.on("request", partial(_note, asked))
            page.goto(path.as_uri())
            text = " ".join(page.locator("body").inner_text().split())
            wide = page.evaluate("document.documentElement.scrollWidth")
            headline = " ".join(page.locator("h1").first.inner_text().split())
            director.shows(f"opens {path.name} on a phone", headline)
            director.requires(bool(headline), f"{path.name} has no headline")
            for what in SEEN[name]:
                director.requires(re.search(what, text) is not None, f"{path.name} does not show {what!r}")
            director.requires(wide <= PHONE_PX, f"{path.name} is {wide} px wide on a phone of {PHONE_PX}")
            director.requires(asked == [path.as_uri()], f"{path.name} loads {asked[1:]}")
            context.close()
        written = photograph(browser, found, pictures)
        browser.close()
    director.shows(f"keeps {len(written)} pictures", str(pictures))


def _note(asked: list[str], request: Request) -> None:
    asked.append(request.url)


def program(developer: Traveller, url: str) -> None:
    """A developer without the client asks with curl: description, price, answer, the answer again, a mistake."""
    plan: dict[str, Any] = {
        "sensitive": ["Geschlecht"],
        "batches": [{
            "name": "by age", "mechanism": {"name": "laplace"}, "epsilon": "0.1",
            "cells": [{"id": "young", "all_of": [{"column": "Alter", "op": "le", "value": 40}]},
                      {"id": "older", "all_of": [{"column": "Alter", "op": "gt", "value": 40}]}],
        }],
    }  # fmt: skip
    (developer.folder / "plan.json").write_text(json.dumps(plan))
    plan["batches"][0]["epsilon"] = 0.1
    (developer.folder / "mistake.json").write_text(json.dumps(plan))
    key = f"Authorization: Bearer {developer.variables['AUDITOR_API_KEY']}"
    ask = ("curl", "--silent", "--show-error", "--noproxy", "*", "-w", "\nstatus %{http_code}\n", "-H", key)
    send = ("-H", "Content-Type: application/json", "--data")
    dataset = f"{url}/v1/datasets/{DATASET}"
    developer.does("reads the contract", *ask[:-2], "-o", "openapi.json", f"{url}/openapi.json", sees="status 200")
    developer.does("reads what there is", *ask, dataset, sees=("Geschlecht", "status 200"))
    developer.does("asks for the price", *ask, *send, "@plan.json", f"{dataset}/quotes", sees=('"0.1"', "status 200"))
    first = developer.does("asks", *ask, *send, "@plan.json", f"{dataset}/releases", sees=("signature", "status 201"))
    again = developer.does(
        "asks again, for nothing", *ask, *send, "@plan.json", f"{dataset}/releases", sees="status 200"
    )
    developer.requires(first.splitlines()[0] == again.splitlines()[0], "the same question is answered otherwise")
    developer.does(
        "writes an amount as a float, and is told how to", *ask, *send, "@mistake.json", f"{dataset}/releases",
        sees=("epsilon", "status 422"),
    )  # fmt: skip


def give_account(engineer: Traveller, pages: Path) -> None:
    """The data engineer publishes what was given away, checks the ledger and makes a copy."""
    engineer.does(
        "makes the transparency report", "holder", "admin", "report", DATASET, str(pages / "transparency.html"),
        sees="is in",
    )  # fmt: skip
    engineer.does("reads the ledger", "holder", "admin", "ledger", "--json", sees="works-council")
    engineer.does("has the ledger recomputed", "holder", "ledger", "verify")
    engineer.does("makes a copy", "holder", "backup", "copy", sees="The back-up is in")
