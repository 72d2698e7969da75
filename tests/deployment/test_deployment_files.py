"""The files of docs/deployment agree with settings, commands and metrics; and `./run deployment` finds faults."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from typer.testing import CliRunner

from checks.deployment.linters import Linters, NotHere
from checks.deployment.pieces import PIECES, Bad
from holder_service.cli import app
from holder_service.settings.holder import Settings
from holder_service.settings.secrets import CONTAINER_FOLDER, ENDING, SECRETS

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "deployment"
BASE: Final = FOLDER / "kubernetes" / "base"
PUBLISHED: Final = {"/v1", "/console", "/docs", "/problems", "/openapi.json", "/readyz"}


def texts() -> dict[str, str]:
    return {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*") if path.is_file()}


def objects() -> dict[tuple[str, str], Any]:
    found = [one for path in BASE.glob("*.yaml") for one in yaml.safe_load_all(path.read_text()) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in found if "metadata" in one}


def pods() -> Iterator[tuple[str, Any]]:
    for (kind, name), one in objects().items():
        if kind == "Deployment":
            yield name, one["spec"]["template"]["spec"]
        elif kind == "CronJob":
            yield name, one["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def test_every_setting_and_every_command_is_one_of_the_holders() -> None:
    known = {f"HOLDER_{name.upper()}" for name in Settings.__slots__} | set(SECRETS) | {"HOLDER_LOG_LEVEL"}
    known |= {f"{name}{ENDING}" for name in SECRETS}

    used = {name for text in texts().values() for name in re.findall(r"\bHOLDER_[A-Z_]*[A-Z]", text)}
    called = {
        tuple(words)
        for text in texts().values()
        for words in re.findall(r"\bholder,? (init|serve|backup|check-backup|admin)\b(?:,? (add-auditor))?", text)
    }

    assert used <= known
    assert {("init", ""), ("serve", ""), ("backup", ""), ("check-backup", "")} <= called
    for words in called:
        assert CliRunner().invoke(app, [*filter(None, words), "--help"]).exit_code == 0
    options = {one for text in texts().values() for one in re.findall(r"--(?:keep|max-age-hours|workers)\b", text)}
    helped = "".join(CliRunner().invoke(app, [name, "--help"]).output for name in ("serve", "backup", "check-backup"))
    assert len(options) == 3
    assert all(one in helped for one in options)


def test_a_pod_has_what_its_container_may_need_and_no_more() -> None:
    for name, pod in pods():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert pod["securityContext"]["runAsNonRoot"], name
        assert not pod["automountServiceAccountToken"]
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            closed = container["securityContext"]
            assert closed["readOnlyRootFilesystem"]
            assert not closed["allowPrivilegeEscalation"]
            assert closed["capabilities"] == {"drop": ["ALL"]}
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes.keys()
            secrets = [one for one in container["env"] if one["name"].endswith(ENDING)]
            assert all(Path(one["value"]).is_relative_to(CONTAINER_FOLDER) for one in secrets)
            if name == "pafer-check-backup":
                assert not secrets
                assert {mount["name"] for mount in container["volumeMounts"]} == {"backups", "scratch"}
        claims = {
            one["persistentVolumeClaim"]["claimName"] for one in volumes.values() if "persistentVolumeClaim" in one
        }
        assert claims <= {name for kind, name in objects() if kind == "PersistentVolumeClaim"}
    holder = dict(pods())["pafer-holder"]
    assert holder["containers"][0]["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert holder["terminationGracePeriodSeconds"] > 30
    assert objects()["Deployment", "pafer-holder"]["spec"]["replicas"] == 1


def test_metrics_are_not_published_and_all_else_is() -> None:
    [ingress] = yaml.safe_load_all((FOLDER / "kubernetes" / "example" / "ingress.yaml").read_text())

    assert {path["path"] for path in ingress["spec"]["rules"][0]["http"]["paths"]} == PUBLISHED


def test_the_board_and_the_alerts_read_the_same_metrics_as_there_are() -> None:
    """Those of the alerts are held against a running holder (test_deployment.py)."""
    source = (ROOT / "holder_service" / "web" / "edge" / "metrics.py").read_text()
    named = set(re.findall(r'"(?:holder_)?([a-z_]+)"', source)) | {
        f"population_{what}_{amount}" for what in ("spent", "cap") for amount in ("epsilon", "delta", "rho")
    }

    for name in ("grafana.json", "holder-alerts.yml"):
        used = set(re.findall(r"\bholder_(\w+)", texts()[name]))
        assert len(used) >= 8
        assert {re.sub("_(total|bucket)$", "", one) for one in used} <= named


def test_the_versions_are_the_projects() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None

    images = {one for text in texts().values() for one in re.findall(r"image: pafer:(\S+)|newTag: ([^\s}]+)", text)}

    assert {first or second for first, second in images} == {version[1]}


def broken(name: str, old: str, new: str) -> Callable[[Path], None]:
    """A file with something else in it."""

    def change(root: Path) -> None:
        path = root / "docs" / "deployment" / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def moved(root: Path) -> None:
    path = root / "docs" / "deployment" / "grafana.json"
    board = json.loads(path.read_text())
    board["panels"][1]["gridPos"]["x"] = 0
    path.write_text(json.dumps(board))


@pytest.mark.parametrize(
    ("piece", "change"),
    [
        ("Grafana", moved),
        ("Grafana", broken("grafana.json", "holder_ledger_sequence", "holder_ledger_sequence{")),
        ("Prometheus", broken("holder-alerts.yml", '"cap-spent"} > 0', '"cap-spent"} > 1')),
        ("Caddy", broken("Caddyfile", "reverse_proxy", "reverse_prox")),
        ("nginx", broken("nginx.conf", "proxy_pass ", "proxy_passes ")),
        ("docs/deployment/compose.yml", broken("compose.yml", "own-anchor:/var", "other-anchor:/var")),
        ("Kubernetes", broken("kubernetes/base/holder.yaml", "replicas: 1", "replica: 1")),
        ("systemd", broken("pafer-holder.service", "NoNewPrivileges=", "NoNewPrivilege=")),
        ("systemd", broken("pafer-database.conf", "LoadCredential=", "LoadCredentials=")),
    ],
)
def test_a_fault_is_found_where_the_linter_is_here(piece: str, change: Callable[[Path], None], tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "docs" / "deployment")
    change(tmp_path)

    try:
        with pytest.raises(Bad):
            PIECES[piece](tmp_path, Linters(ROOT / "build" / "linters", fetches=False))
    except NotHere as error:
        pytest.skip(str(error))


def test_what_cannot_be_checked_is_said_and_ends_with_75(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")

    done = subprocess.run(
        [sys.executable, "-m", "checks.deployment"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    assert done.returncode == 75, done.stdout + done.stderr
    for piece in ("Prometheus", "Kubernetes", "systemd"):
        assert f"{piece}: NOT CHECKED" in done.stdout
