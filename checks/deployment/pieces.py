"""Each piece of docs/deployment, and how the program that reads it checks it."""

import itertools
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import jsonschema_rs
import yaml

from checks.deployment.linters import Linters

KUBERNETES_VERSIONS: Final = ("v1.29.0", "v1.37.0")
"""The oldest and the newest release whose schemas the objects have to pass."""
COMMAND_S_MAX: Final = 60
FOLDER: Final = Path("docs/deployment")


class Bad(Exception):
    """A file is not as the program that reads it has it; the text is the program's."""


def alerts(root: Path, linters: Linters) -> None:
    """Prometheus' configuration and rules, and that each alert fires when it has to."""
    promtool = linters.program("promtool")
    with _folder() as folder:
        for path in (root / FOLDER / "prometheus.yml", root / FOLDER / "holder-alerts.yml", _beside("alerts.test.yml")):
            shutil.copy(path, folder)
        scrape = folder / "prometheus.yml"
        (folder / "holder.key").touch()
        scrape.write_text(scrape.read_text().replace("/etc/prometheus/holder.key", str(folder / "holder.key")))
        _run(promtool, "check", "config", scrape)
        _run(promtool, "test", "rules", folder / "alerts.test.yml")


def dashboard(root: Path, linters: Linters) -> None:
    """Grafana's board is JSON, its panels do not overlap, and Prometheus reads every expression in it."""
    board = json.loads((root / FOLDER / "grafana.json").read_text())
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        if taken & cells or at["x"] + at["w"] > 24:
            raise Bad(f"panel {panel['title']!r} lies over another, or beyond the board")
        taken |= cells
    promtool = linters.program("promtool")
    rules = [
        {"record": f"panel:{panel['id']}:{target['refId']}", "expr": target["expr"]}
        for panel in board["panels"]
        for target in panel["targets"]
    ]
    with _folder() as folder:
        (folder / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
        _run(promtool, "check", "rules", folder / "panels.yml")


def caddy(root: Path, linters: Linters) -> None:
    """Caddy reads its file."""
    with _folder() as folder:
        home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        command = (
            linters.program("caddy"),
            "validate",
            "--adapter",
            "caddyfile",
            "--config",
            root / FOLDER / "Caddyfile",
        )
        _run(*command, environment=home)


def nginx(root: Path, linters: Linters) -> None:
    """Nginx reads its file, within a whole configuration and with a certificate that is made for it."""
    program = linters.program("nginx")
    with _folder() as folder:
        key, certificate = folder / "privkey.pem", folder / "fullchain.pem"
        made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=holder.example")
        _run(linters.program("openssl"), *made, "-keyout", key, "-out", certificate)
        site = (root / FOLDER / "nginx.conf").read_text().replace("/etc/ssl/holder.example/", f"{folder}/")
        site = site.replace("/var/log/nginx/", f"{folder}/")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in kinds)
        whole = f"pid {folder}/pid; error_log stderr; events {{}}\nhttp {{ access_log off; {temporary}\n{site}\n}}\n"
        (folder / "whole.conf").write_text(whole)
        _run(program, "-t", "-p", folder, "-c", folder / "whole.conf")


def compose(name: str, root: Path, linters: Linters) -> None:
    """Docker compose reads a file."""
    command = linters.compose()
    with _folder() as folder:
        shutil.copy(root / name, folder / "compose.yml")
        (folder / "secrets").mkdir()
        (folder / "secrets" / "database_password").touch()
        _run(*command, "-f", folder / "compose.yml", "--project-directory", folder, "config", "--quiet")


def kubernetes(root: Path, linters: Linters) -> None:
    """The base and the example build, and every object is one of Kubernetes', with no field that it does not know."""
    kubectl = linters.program("kubectl")
    with ZipFile(linters.kubernetes_schemas()) as schemas:
        for built in ("base", "example"):
            text = _run(kubectl, "kustomize", root / FOLDER / "kubernetes" / built)
            objects = [one for one in yaml.safe_load_all(text) if one]
            for version, one in itertools.product(KUBERNETES_VERSIONS, objects):
                faults = [f"{fault.instance_path}: {fault.message}" for fault in _errors(schemas, version, one)]
                if faults:
                    raise Bad(f"{built}: {one['kind']} {one['metadata']['name']}, {version}:\n" + "\n".join(faults))


def systemd(root: Path, linters: Linters) -> None:
    """Systemd reads each unit, with the drop-in beside it, and finds the holder's sandbox closed."""
    analyze = linters.program("systemd-analyze")
    with _folder() as folder:
        units = [path for path in (root / FOLDER).glob("pafer-*.*") if path.suffix in (".service", ".timer")]
        for unit in units:
            text = unit.read_text().replace("/opt/pafer/bin/holder", shutil.which("true") or "")
            (folder / unit.name).write_text(text)
        for name in ("pafer-holder.service", "pafer-backup.service"):
            (folder / f"{name}.d").mkdir()
            shutil.copy(root / FOLDER / "pafer-database.conf", folder / f"{name}.d" / "database.conf")
        said = _run(analyze, "verify", *(folder / unit.name for unit in units), ok=(0, 1))
        ours = [line for line in said.splitlines() if re.search(r"pafer-|database\.conf", line)]
        if ours:
            raise Bad("\n".join(ours))
        for unit in units:
            if unit.suffix == ".service":
                _run(analyze, "security", "--offline=true", "--threshold=30", folder / unit.name)


PIECES: Final[Mapping[str, Callable[[Path, Linters], None]]] = {
    "Prometheus": alerts,
    "Grafana": dashboard,
    "Caddy": caddy,
    "nginx": nginx,
    "docs/deployment/compose.yml": partial(compose, "docs/deployment/compose.yml"),
    "docs/deployment/witness.yml": partial(compose, "docs/deployment/witness.yml"),
    "docs/deployment/two-holders.yml": partial(compose, "docs/deployment/two-holders.yml"),
    "docker-compose.yml": partial(compose, "docker-compose.yml"),
    "docker-compose.spark.yml": partial(compose, "docker-compose.spark.yml"),
    "Kubernetes": kubernetes,
    "systemd": systemd,
}


def _errors(schemas: ZipFile, version: str, document: Mapping[str, Any]) -> Iterator[jsonschema_rs.ValidationError]:
    folder = f"kubernetes_validate/kubernetes-json-schema/{version}-local-strict"
    group, _, level = document["apiVersion"].rpartition("/")
    name = "-".join(filter(None, (document["kind"].lower(), group.partition(".")[0], level)))
    try:
        schema = json.loads(schemas.read(f"{folder}/{name}.json"))
    except KeyError:
        raise Bad(f"Kubernetes {version} has no {document['apiVersion']} {document['kind']}") from None
    definitions = json.loads(schemas.read(f"{folder}/_definitions.json"))
    registry = jsonschema_rs.Registry([("json-schema:///api/_definitions.json", definitions)])
    whole = {**schema, "$id": "json-schema:///api/schema.json"}
    return jsonschema_rs.validator_for(whole, registry=registry).iter_errors(dict(document))


def _run(*command: str | Path, ok: tuple[int, ...] = (0,), environment: Mapping[str, str] | None = None) -> str:
    """What a command printed; with another status than wanted, that is what is bad."""
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        timeout=COMMAND_S_MAX,
    )  # fmt: skip
    if done.returncode not in ok:
        raise Bad(done.stdout.strip() or f"status {done.returncode}")
    return done.stdout


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _beside(name: str) -> Path:
    return Path(__file__).with_name(name)
