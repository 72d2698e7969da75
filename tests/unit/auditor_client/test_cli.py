"""The command line: what goes to which stream, exit codes, and that an error is one clear text."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import skops.io
import typer
from sklearn.tree import DecisionTreeClassifier
from typer.core import TyperCommand, TyperGroup
from typer.testing import CliRunner

from auditor_client.cli import app
from auditor_client.cli.spelling import PANELS, in_flags
from auditor_client.tables import dataset_table
from holder_service.domain.errors import Unauthenticated
from shared.contract.schema import Column
from shared.wire.deferred_commands import loaded
from shared.wire.problems import UnknownColumn
from shared.wire.wording import NARROW_SPACE
from testing.simulated_holder import KEY, Document, SimulatedHolder, problem, simulated_holder

pytestmark = pytest.mark.usefixtures("coarse_chances")

COMMAND = [sys.executable, "-c", "from auditor_client.cli import app; app()"]
GOOD = ["--favourable", "true"]
QUESTION = ["--dataset", "register", "--sensitive", "sex", "--epsilon", "0.5", "--columns", "age", *GOOD]


@pytest.fixture
def holder() -> Iterator[SimulatedHolder]:
    with simulated_holder() as server:
        yield server


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree that decides by age alone."""
    ages = np.arange(120.0)[:, None]
    path = tmp_path_factory.mktemp("model") / "model.skops"
    skops.io.dump(DecisionTreeClassifier(max_depth=1).fit(ages, ages[:, 0] <= 40), path)
    return path


class Ran:
    """What a command left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def document(self) -> Document:
        """Standard output as one JSON document, which is all that it may hold."""
        document: Document = json.loads(self.out)
        return document


class Command:
    """Runs commands in this process, against one holder and in one directory."""

    def __init__(self, holder: SimulatedHolder, directory: Path) -> None:
        self.environment = {
            "AUDITOR_HOLDER_URL": holder.url,
            "AUDITOR_API_KEY": KEY,
            "AUDITOR_RECEIPTS": str(directory / "receipts"),
            "AUDITOR_CONFIG": "",
        }

    def __call__(self, *arguments: str | Path) -> Ran:
        result = CliRunner().invoke(app, list(map(str, arguments)), env=self.environment)
        assert KEY not in result.output
        return Ran(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def run(holder: SimulatedHolder, tmp_path: Path) -> Command:
    return Command(holder, tmp_path)


def test_datasets_are_listed_for_people_and_machines(run: Command) -> None:
    assert "sex, origin" in run("datasets").out
    assert run("datasets", "--json").document["datasets"][0]["name"] == "register"


def test_a_budget_is_shown_for_people_and_machines(run: Command) -> None:
    assert "ε = 1" in run("budget", "--dataset", "register").out
    assert run("budget", "--dataset", "register", "--json").document["remaining"]["epsilon"] == "1"


def test_all_budgets_are_listed_where_no_dataset_is_named(run: Command) -> None:
    assert "register" in run("budget").out
    assert [one["remaining"]["epsilon"] for one in run("budget", "--json").document["budgets"]] == ["1"]


def test_a_dataset_is_described_with_the_values_of_its_columns(run: Command) -> None:
    described = run("dataset", "register").out

    assert "0 to 120" in described
    assert "Female, Male" in described
    assert "sensitive" in described
    assert run("dataset", "register", "--json").document["name"] == "register"


def test_the_groups_of_a_column_of_numbers_are_listed(holder: SimulatedHolder) -> None:
    age = Column(name="age", type="integer", minimum=0, maximum=120, sensitive=True, bands_from=(25, 45), nullable=True)
    banded = holder.dataset.model_copy(update={"columns": (age,)})

    [row] = dataset_table(banded).rows

    assert row[2] == "0 to 120, in the groups under 25, 25 to 44, 45 and above, or missing"


def test_the_version_is_that_of_the_package(run: Command) -> None:
    assert run("--version").out == f"auditor {version('pafer')}\n"


def commands(group: TyperGroup, *path: str) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    """Every command below a group."""
    for name, listed in group.commands.items():
        command = loaded(listed)
        if isinstance(command, TyperGroup):
            yield from commands(command, *path, name)
        elif isinstance(command, TyperCommand):
            yield (*path, name), command


COMMANDS = dict(commands(typer.main.get_group(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_swallows_no_word(run: Command, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 1000)
    shown = run(*path, "--help").out

    described = [field.description for kind in PANELS for field in kind.model_fields.values() if field.description]
    said = [text for text in described if text.split("[")[0] in shown]
    assert [text for text in said if text not in shown] == []
    assert "typing" not in shown


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_command_has_a_flag_that_does_nothing(path: tuple[str, ...]) -> None:
    """A language is that of a page, and an approval is of what is charged."""
    flags = {flag for parameter in COMMANDS[path].params for flag in parameter.opts}

    assert ("--language" in flags) == ("--report" in flags)
    assert ("--wait-approval" in flags) == (path in {("audit",), ("compare",), ("train",), ("watch", "set")})


def test_the_flags_of_an_audit_stand_by_subject(run: Command) -> None:
    shown = run("audit", "--help").out
    panels = [line.strip("╭─╮ ") for line in shown.splitlines() if line.startswith("╭")]

    assert {"What is audited", "The question", "Privacy", "Output", "Connection"} <= set(panels)
    assert "[statistical-parity]" in shown
    assert "auditor audit --decision granted" in shown


def completions(run: Command, line: str) -> list[str]:
    """What a shell offers at the end of a line."""
    environment = {**run.environment, "_AUDITOR_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
    result = CliRunner().invoke(app, [], env=environment, prog_name="auditor")
    return re.findall(r'"([^"]+)"', result.stdout)


def test_a_shell_completes_what_a_flag_takes(run: Command) -> None:
    assert completions(run, "auditor audit --strategy ver") == ["verdict"]
    assert completions(run, "auditor audit --metric statistical-parity,equal-") == [
        "statistical-parity,equal-opportunity"
    ]
    assert completions(run, "auditor audit --mechanism ga") == ["gaussian"]


def test_a_shell_completes_what_the_holder_offers(run: Command) -> None:
    assert completions(run, "auditor dataset reg") == ["register"]
    assert completions(run, "auditor audit --dataset re") == ["register"]
    assert completions(run, "auditor audit --dataset register --sensitive sex,o") == ["sex,origin"]


def test_without_a_holder_a_shell_completes_nothing_and_says_nothing(run: Command) -> None:
    run.environment["AUDITOR_API_KEY"] = ""

    assert completions(run, "auditor dataset reg") == []


def test_errors_name_arguments_as_the_flags_that_were_used() -> None:
    assert in_flags("give `where` or `supports_from`; `Auditor.link` and `metrics`") == (
        "give --where or --supports-from; `auditor link` and --metric"
    )
    assert in_flags("`Authorization` and `x1` are no arguments") == "`Authorization` and `x1` are no arguments"


@pytest.mark.slow
def test_a_plan_is_priced_and_spends_nothing(run: Command, model: Path, holder: SimulatedHolder) -> None:
    planned = run("plan", model, *QUESTION)
    document = run("plan", model, *QUESTION, "--json").document

    assert "ε = 0.5" in planned.out
    assert "Nothing was spent" in planned.out
    assert document["quote"]["charge"]["epsilon"] == "0.5"
    assert document["plan"]["version"] == 1
    assert 0 < document["expectation"]["width"] < 1
    assert holder.ledger == []


@pytest.mark.slow
def test_a_plan_has_the_level_of_the_intervals_that_it_expects(run: Command, model: Path) -> None:
    asked = [*QUESTION, "--people", "442"]
    usual = run("plan", model, *asked, "--json").document
    joint = run("plan", model, *asked, "--level", "0.9", "--joint", "--json").document

    assert [(one["level"], one["joint"]) for one in (usual, joint)] == [(0.95, False), (0.9, True)]
    assert f"Intervals: 95{NARROW_SPACE}%" in run("plan", model, *asked).out
    assert f"Intervals: joint 90{NARROW_SPACE}%" in run("plan", model, *asked, "--level", "0.9", "--joint").out
    narrow = run("plan", model, *asked, "--level", "0.9", "--json").document
    assert narrow["expectation"]["width"] < usual["expectation"]["width"] < joint["expectation"]["width"]


@pytest.mark.slow
def test_what_is_planned_and_compared_is_called_by_the_auditors_word(run: Command, model: Path) -> None:
    word = ["--favourable-word", "left alone"]

    planned, compared = run("plan", model, *QUESTION, *word), run("compare", model, model, *QUESTION, *word)

    assert "Decision counted: the decision “left alone” (" in planned.out
    assert re.search(r"Rules: \d+, \d+ of them with the decision “left alone”", planned.out)
    assert compared.out.count("the decision “left alone” (") == 2
    assert run("compare", model, model, *QUESTION, "--model-name", "One").code == 2


@pytest.mark.slow
def test_a_plan_of_a_punitive_decision_says_the_true_ratios_as_the_report_will(run: Command, model: Path) -> None:
    planned = run("plan", model, *QUESTION, "--intervention", "punitive", "--people", "442")

    rows = [line.split() for line in planned.out.partition("true ratio")[2].splitlines()[1:9]]
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=float, reverse=True)
    assert rows[-1][0] == "1.00"
    assert float(rows[0][0]) > 1.25
    assert "The compared rates are those of the prediction “False”." in planned.out


def test_two_models_are_not_compared_within_strata(run: Command, model: Path) -> None:
    refused = run("compare", model, model, *QUESTION, "--by", "region")

    assert refused.code != 0
    assert "--by" in refused.err


@pytest.mark.slow
def test_a_plan_begins_with_what_is_not_known_of_the_people(run: Command, model: Path) -> None:
    unknown, known = run("plan", model, *QUESTION), run("plan", model, *QUESTION, "--people", "442")

    assert unknown.out.startswith("The number of people in the dataset is not known. The forecast assumes 10")
    assert "With 1" in unknown.out.splitlines()[0]
    assert known.out.startswith("The interval of the statistical parity ratio is expected to be ")
    assert "true ratio" in known.out
    assert run("plan", model, *QUESTION, "--json").document["assumption"]["people"] is None


@pytest.mark.slow
def test_an_audit_is_asked_as_its_plan_for_so_many_people_was(run: Command, model: Path) -> None:
    """Also by default: what is right for any number is said to be, and is the strategy of few people."""
    for people, strategy in (("200", "verdict"), ("1000000", "rules"), (None, "rules")):
        flags = () if people is None else ("--people", people)
        planned = run("plan", model, *QUESTION, *flags, "--json").document["strategy"]

        assert planned == run("audit", model, *QUESTION, *flags, "--json").document["strategy"], strategy


@pytest.mark.slow
def test_an_epsilon_for_a_width_needs_the_number_of_people(run: Command, model: Path, holder: SimulatedHolder) -> None:
    asked: list[str | Path] = [
        "plan",
        model,
        "--dataset",
        "register",
        "--sensitive",
        "sex",
        "--columns",
        "age",
        "--favourable",
        "true",
        "--target-width",
        "0.1",
    ]

    refused, planned = run(*asked), run(*asked, "--people", "442", "--json")

    assert (refused.code, holder.ledger) == (2, [])
    assert "--people" in refused.err
    assert planned.document["expectation"]["width"] <= 0.1


def test_an_audit_prints_its_finding_and_writes_its_reports(run: Command, model: Path, tmp_path: Path) -> None:
    ran = run(
        "audit", model, *QUESTION, "--report", tmp_path / "report.html", "--report-json", tmp_path / "report.json"
    )

    assert ran.code == 0
    assert "four-fifths rule for favourable rates" in ran.out
    assert "Waiting for the answer" in ran.err
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report.json").read_bytes())["dataset"] == "register"
    assert KEY not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_json_is_alone_on_standard_output(run: Command, model: Path) -> None:
    ran = run("audit", model, *QUESTION, "--json")

    assert ran.document["sensitive"] == ["sex"]
    assert ran.document["charge"]["epsilon"] == "0.5"


def test_several_columns_are_one_intersectional_question(run: Command, model: Path) -> None:
    question = [*QUESTION[:3], "sex,origin", *QUESTION[4:]]

    assert len(run("audit", model, *question, "--json").document["metrics"]["statistical-parity"]["groups"]) == 6


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ([[1000, 9000], [9000, 1000]], "fails"),
        ([[5000, 5000], [5000, 5000]], "meets"),
        ([[40, 50], [60, 50]], "undecided"),
    ],
)
def test_the_exit_code_follows_the_verdict_only_where_it_is_asked_to(
    run: Command, model: Path, holder: SimulatedHolder, counts: list[list[int]], verdict: str
) -> None:
    def count(document: Document) -> None:
        for cell, numbers in zip(document["batches"][0]["cells"], counts, strict=True):
            cell["counts"] = numbers

    holder.before_signing = count

    codes = [
        run("audit", model, *QUESTION, *more).code for more in ([], ["--fail-on", "fails"], ["--fail-on", "undecided"])
    ]

    assert run("audit", model, *QUESTION, "--json").document["verdict"] == verdict
    assert codes == [0, int(verdict == "fails"), int(verdict != "meets")]


@pytest.mark.parametrize(
    ("flags", "said"),
    [(["--metric", "equal-opportunity"], "threshold"), (["--estimator", "plug-in"], "use posterior")],
)
def test_an_exit_code_that_no_verdict_can_decide_is_refused_before_anything_is_spent(
    run: Command, model: Path, holder: SimulatedHolder, flags: list[str], said: str
) -> None:
    ran = run("audit", model, *QUESTION, *flags, "--fail-on", "fails")

    assert (ran.code, ran.out, holder.ledger) == (2, "", [])
    assert said in ran.err


def test_the_same_audit_again_costs_nothing(run: Command, model: Path, holder: SimulatedHolder) -> None:
    first, second = (run("audit", model, *QUESTION, "--json").document for _ in range(2))

    assert first["release"] == second["release"]
    assert len(holder.ledger) == 1


def test_another_draw_is_another_question(run: Command, model: Path, holder: SimulatedHolder) -> None:
    run("audit", model, *QUESTION)
    run("audit", model, *QUESTION, "--draw", "2")

    assert len(holder.ledger) == 2


def test_receipts_are_verified(run: Command, model: Path, tmp_path: Path) -> None:
    run("audit", model, *QUESTION)

    assert " valid " in run("verify", tmp_path / "receipts").out
    assert run("verify", "--json").document["ok"] is True


def test_signatures_can_be_checked_without_key_or_holder(run: Command, model: Path, tmp_path: Path) -> None:
    run("audit", model, *QUESTION)
    run.environment.update(AUDITOR_HOLDER_URL="", AUDITOR_API_KEY="")

    assert run("verify", tmp_path / "receipts", "--offline", "--json").document["ok"] is True
    assert run("verify", tmp_path / "receipts").code == 2


def test_receipts_that_the_ledger_lost_are_an_error(run: Command, model: Path, holder: SimulatedHolder) -> None:
    run("audit", model, *QUESTION)
    holder.ledger[0] = "sha256:" + "f" * 64

    ran = run("verify", "--json")

    assert ran.code == 2
    assert ran.document["ok"] is False
    assert "do not agree" in ran.err


BAD_INPUT = {
    "no such model": (["audit", "none.skops", *QUESTION], "none.skops"),
    "a directory as model": (["audit", ".", *QUESTION], "is not a file"),
    "a pickle as model": (["audit", "PICKLE", *QUESTION], "is a pickle"),
    "no such strategy": (["plan", "MODEL", *QUESTION, "--strategy", "guess"], "guess"),
    "no such estimator": (["audit", "MODEL", *QUESTION, "--estimator", "guess"], "guess"),
    "no such policy": (["audit", "MODEL", *QUESTION, "--estimator", "plug-in", "--negative", "guess"], "policy"),
    "epsilon is no number": (["audit", "MODEL", *QUESTION, "--epsilon", "lots"], "decimal string"),
    "epsilon is not finite": (["audit", "MODEL", *QUESTION, "--epsilon", "1e400"], "decimal string"),
    "epsilon is too large": (["audit", "MODEL", *QUESTION, "--epsilon", "11"], "between"),
    "epsilon is zero": (["audit", "MODEL", *QUESTION, "--epsilon", "0"], "between"),
    "a column that is not sensitive": (["audit", "MODEL", *QUESTION, "--sensitive", "age"], "age"),
    "a column that is not there": (["audit", "MODEL", *QUESTION, "--sensitive", "height"], "height"),
    "a column twice": (["audit", "MODEL", *QUESTION, "--sensitive", "sex"], "twice"),
    "no sensitive column": (["plan", "MODEL", *QUESTION[:2], "--sensitive", ",", *QUESTION[4:]], "sensitive"),
    "a forecast for nobody": (["plan", "MODEL", *QUESTION, "--people", "0"], "at least one person"),
    "a threshold of nan": (["audit", "MODEL", *QUESTION, "--threshold", "nan"], "threshold"),
    "no such draw": (["audit", "MODEL", *QUESTION, "--draw", "1001"], "draw"),
    "no such dataset": (
        ["plan", "MODEL", "--dataset", "none", *QUESTION[2:]],
        "'none' is no dataset. There is",
    ),
    "a dataset with a typing error": (["budget", "--dataset", "registre"], "did you mean 'register'"),
    "a metric with a typing error": (
        ["plan", "MODEL", *QUESTION, "--metric", "statistical-party"],
        "did you mean 'statistical-parity'",
    ),
    "a column with a typing error": (["plan", "MODEL", *QUESTION[:6], *GOOD, "--columns", "aeg"], "did you mean 'age'"),
    "a group with a typing error": (["plan", "MODEL", *QUESTION, "--reference", "female"], "did you mean 'Female'"),
    "neither epsilon nor a width": (["plan", "MODEL", *QUESTION[:4], "--columns", "age"], "either --epsilon"),
    "an array's model without columns": (["plan", "MODEL", *QUESTION[:6], *GOOD], "with --columns."),
    "a report that cannot be written": (["audit", "MODEL", *QUESTION, "--report", "/none/report.html"], "/none"),
    "no receipts": (["verify", "/none/receipts"], "/none/receipts does not exist"),
    "a key file that is not there": (["datasets", "--key-file", "/none/key"], "/none/key"),
    "a configuration that is not there": (["datasets", "--config", "/none/auditor.toml"], "/none/auditor.toml"),
    "an address that is none": (["datasets", "--holder-url", "holder"], "address"),
    "plain http": (["datasets", "--holder-url", "http://192.0.2.1"], "unencrypted"),
}


@pytest.mark.parametrize("case", sorted(BAD_INPUT))
def test_bad_input_is_one_clear_text_and_costs_nothing(
    run: Command, model: Path, holder: SimulatedHolder, tmp_path: Path, case: str
) -> None:
    arguments, refusal = BAD_INPUT[case]
    pickled = tmp_path / "model.pickle"
    pickled.write_bytes(pickle.dumps({"not": "opened"}))
    files = {"MODEL": model, "PICKLE": pickled}

    ran = run(*(files.get(argument, argument) for argument in arguments))

    assert ran.code == 2
    assert ran.out == ""
    assert refusal in ran.err
    assert "Traceback" not in ran.err
    assert "failed:" not in ran.err
    assert holder.ledger == []


@pytest.mark.parametrize("option", ["--api-key", "--key"])
def test_no_flag_takes_the_key(run: Command, option: str) -> None:
    assert run("datasets", option, "x").code == 2


@pytest.mark.parametrize("command", ["datasets", "plan", "audit", "budget", "verify"])
def test_help_shows_no_setting(run: Command, command: str) -> None:
    ran = run(command, "--help")

    assert ran.code == 0
    assert run.environment["AUDITOR_HOLDER_URL"] not in ran.out


def test_a_refusal_is_shown_as_the_holder_put_it(run: Command, holder: SimulatedHolder) -> None:
    holder.reply(*problem(401, "unauthenticated", "Send a valid [bold]key[/bold]."))

    assert run("datasets").err == "Send a valid [bold]key[/bold].\n"


def test_a_refusal_in_words_of_http_names_flags_and_commands(run: Command, holder: SimulatedHolder) -> None:
    holder.reply(*problem(401, "unauthenticated", str(Unauthenticated())))
    refused = run("datasets").err
    holder.reply(*problem(422, "unknown-column", str(UnknownColumn(column="x", path=""))))
    unknown = run("datasets").err

    assert "Give a valid key (--key-file, or AUDITOR_API_KEY)" in refused
    assert "`auditor dataset` lists its columns" in unknown
    assert not {"Bearer", "GET /v1"} & {word for text in (refused, unknown) for word in text.split()}


def test_without_a_key_the_text_names_the_flag_and_the_variable(run: Command) -> None:
    run.environment["AUDITOR_API_KEY"] = ""

    assert "Give --key-file or set AUDITOR_API_KEY" in run("datasets").err


def test_a_retry_is_shown_while_it_waits(run: Command, holder: SimulatedHolder) -> None:
    holder.reply(*problem(503, "unavailable", "The store is away."), times=1)

    ran = run("datasets", "--json")

    assert "Asking again" in ran.err
    assert ran.document["datasets"]


def start(holder: SimulatedHolder, directory: Path, *arguments: str | Path) -> "subprocess.Popen[str]":
    """A command as a process of its own."""
    environment = {**os.environ, **Command(holder, directory).environment}
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_a_lying_holder_is_exit_code_2_and_no_traceback(holder: SimulatedHolder, model: Path, tmp_path: Path) -> None:
    holder.after_signing = lambda document: document["charge"].update(epsilon="0.1")

    with start(holder, tmp_path, "audit", model, *QUESTION) as process:
        out, err = process.communicate(timeout=60)

    assert process.returncode == 2
    assert out == ""
    assert "Traceback" not in err
    assert "signature" in err.splitlines()[-1]


@pytest.mark.slow
def test_an_interruption_is_clean(holder: SimulatedHolder, tmp_path: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> bool:
        asked.set()
        go_on.wait(120)
        handler.close_connection = True
        return True

    holder.take_over = hang

    with start(holder, tmp_path, "datasets") as process:
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    go_on.set()

    assert process.returncode == 130
    assert (out, err) == (
        "",
        "Stopped. Repeat the command: what was charged is answered again at no cost.\n",
    )
