"""The house: what its papers promise is there, and nothing lies about that should not."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from auditor_client.cli import app as auditor_app
from holder_service.cli import app as holder_app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
REQUIREMENTS = (
    "requirements/all.txt",
    "requirements/holder.txt",
    "requirements/runtime.txt",
    "requirements/generator.txt",
    "requirements/peers.txt",
    "requirements/spark.txt",
)


def tracked_files() -> list[Path]:
    """The files that are, or by the ignore rules would be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """./run with some arguments."""
    return subprocess.run(["./run", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def pins(name: str) -> dict[str, str]:
    """Package to exact version."""
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


def test_every_command_of_the_readme_exists() -> None:
    """A `./run` command that a code block of the README or the documents shows is one that `./run help` lists."""
    texts = [README, *(path.read_text() for path in (ROOT / "docs").glob("*.md"))]
    shown = {name for text in texts for name in re.findall(r"\./run ([a-z-]+)", text)}

    listed = set(re.findall(r"^  ([a-z-]+) ", run("help").stdout, re.MULTILINE))

    assert {"demo", "test"} <= shown <= listed


def test_an_unknown_command_is_refused_with_the_list_of_commands() -> None:
    refused = run("tset")

    assert refused.returncode == 1
    assert "there is no command 'tset'" in refused.stderr
    assert "usage: ./run" in refused.stderr


@pytest.mark.parametrize(("program", "app"), [("holder", holder_app), ("auditor", auditor_app)])
def test_every_subcommand_of_the_documents_exists(program: str, app: typer.Typer) -> None:
    """What a code block of the README or of the operations page calls, `--help` explains."""
    blocks = "".join(re.findall(r"^```.*?^```", README + OPERATIONS, re.MULTILINE | re.DOTALL))
    shown = set(re.findall(rf"^(?:\.venv/bin/)?{program} ((?:admin |ledger )?[a-z][a-z-]+)", blocks, re.MULTILINE))

    answers = {command: CliRunner().invoke(app, [*command.split(), "--help"]) for command in shown}

    assert answers
    assert {command: answer.output for command, answer in answers.items() if answer.exit_code != 0} == {}


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_requirements_are_exact_hashed_and_name_no_path(name: str) -> None:
    text = (ROOT / name).read_text()
    packages = re.findall(r"^[a-z0-9][^\\\n]*\\?$(?:\n    .*)*", text, re.MULTILINE)

    assert packages
    assert all("==" in package and "--hash=sha256:" in package for package in packages)
    assert not re.search(r"://|--index|--find-links| @ ", text)


def test_the_runtime_requirements_are_pinned_as_the_others() -> None:
    everything, runtime = pins("requirements/all.txt"), pins("requirements/runtime.txt")

    assert runtime.items() < everything.items()
    assert pins("requirements/holder.txt").items() < runtime.items()  # the image has these first, then the others
    assert not {"pytest", "mypy", "duckdb"} & runtime.keys()


def test_the_context_of_the_image_has_every_file_that_the_dockerfile_copies() -> None:
    """.dockerignore excludes everything and names the exceptions."""
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)

    assert {name for names in copied for name in names.split()} == set(kept)
    assert all((ROOT / name).exists() for name in kept)


def test_what_the_project_depends_on_is_pinned() -> None:
    """pyproject.toml and the requirements have not drifted apart."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]

    names = {re.split(r"[\[<>=;!~ ]", requirement)[0] for requirement in wanted}

    assert names <= pins("requirements/all.txt").keys() | pins("requirements/spark.txt").keys()


def test_spark_is_in_a_set_of_its_own_that_agrees_with_the_others() -> None:
    everything, spark = pins("requirements/all.txt"), pins("requirements/spark.txt")

    assert "pyspark" in spark
    assert "pyspark" not in everything
    assert {name: everything[name] for name in spark.keys() & everything.keys()}.items() <= spark.items()


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    image = f"pafer:{project['version']}"

    assert set(re.findall(r"pafer:[0-9a-z.]+", (ROOT / "docker-compose.yml").read_text())) == {image}
    cluster = (ROOT / "docker-compose.spark.yml").read_text()
    assert set(re.findall(r"pafer(?:-spark)?:[0-9][0-9a-z.]*", cluster)) == {image, image.replace(":", "-spark:")}
    assert image in (ROOT / "tests" / "deployment" / "compose.sh").read_text()


def test_no_committed_file_names_a_path_of_a_machine_or_a_registry() -> None:
    registries = "|".join(("py" + "pi", "pytho" + "nhosted", "artif" + "actory", "devp" + "i"))
    forbidden = re.compile(rf"(?<![\w.$/])/(work|farm|root|Users)/[a-z.]|\b({registries})\b", re.IGNORECASE)

    found = []
    for path in tracked_files():
        if path.suffix not in (".png", ".gz", ".parquet", ".zip") and path.name != "LICENSE":
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                if forbidden.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")

    assert not found
    assert not [path for path in tracked_files() if path.name == "uv.lock"]


def test_every_link_of_the_documents_leads_somewhere() -> None:
    broken = []
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            goal = (path.parent / name) if name else path
            headings = re.findall(r"^#+ (.+)$", goal.read_text(), re.MULTILINE) if goal.suffix == ".md" else []
            anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
            if not goal.exists() or (anchor and anchor not in anchors):
                broken.append(f"{path.relative_to(ROOT)}: {target}")

    assert not broken


def test_licence_changelog_and_guarantee_are_there() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert re.search(r"^### Privacy$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    for name in ("guarantee", "limits", "glossary", "architecture", "operations"):
        assert (ROOT / "docs" / f"{name}.md").read_text().startswith("# ")


def test_every_decision_says_what_is_bad_about_it() -> None:
    """An ADR has context, options, decision, bad sides and how to undo it, and fits on a page."""
    decisions = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))

    for path in decisions:
        text = path.read_text()
        for heading in ("Context", "Options", "Decision", "Bad sides", "How to undo it"):
            assert f"**{heading}" in text, f"{path.name} lacks {heading!r}"
        assert len(text) < 4500, f"{path.name} is longer than a page"
    assert [path.name[:4] for path in decisions] == [f"{number:04}" for number in range(1, len(decisions) + 1)]


def test_no_secret_stands_in_the_compose_file_and_nothing_runs_as_root() -> None:
    compose = "".join((ROOT / name).read_text() for name in ("docker-compose.yml", "docker-compose.spark.yml"))
    dockerfile = (ROOT / "Dockerfile").read_text()

    assert not re.search(r"(PASSWORD|KEY|SECRET)\w*: *(?!/)\S", compose.replace("POSTGRES_PASSWORD_FILE", "FILE"))
    assert "file: ./secrets/" in compose
    assert len(re.findall(r"^USER (?!root)\w+", dockerfile, re.MULTILINE)) == 3  # every image
    assert len(re.findall(r"^FROM runtime\b", dockerfile, re.MULTILINE)) == 3
    assert "secrets/" in (ROOT / ".gitignore").read_text()
    for label in ("title", "licenses", "version", "revision"):
        assert dockerfile.count(f"org.opencontainers.image.{label}=") == 1  # which every image has
    assert "HEALTHCHECK" in dockerfile


def test_nothing_that_is_to_be_ignored_is_committed() -> None:
    """A password above all: `secrets/` is made on the machine that needs it."""
    listed = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    committed = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert committed == ""
