"""The files of docs/deployment agree with the holder: its port, its times, its metrics, its settings."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from holder_service.cli.calls import UPLOAD_TIMEOUT_S
from holder_service.settings.holder import Settings
from holder_service.settings.secrets import CONTAINER_FOLDER, ENDING, SECRETS
from shared.wire.limits import RELEASE_S_MAX
from testing.holders import TestedHolder
from testing.witnesses import ORIGIN

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "deployment"
PORT: Final = 8080
ALERTMANAGER_PORT: Final = 9093
WITNESS_PORT: Final = 8090
TWO_HOLDERS_PORTS: Final = (8081, 8082)
COMPOSE: Final = ("docker-compose.yml", "docker-compose.spark.yml", "docs/deployment/compose.yml")


def text_of(name: str) -> str:
    return (FOLDER / name).read_text()


def compose(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / name).read_text())
    return document


def test_every_alert_reads_metrics_that_a_holder_has(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with set_up_holder.copied(tmp_path / "home", log_origin=ORIGIN) as holder:
        lines = holder.metrics().text.splitlines()
    families = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}
    # A counter's samples end in _total, whether there is one yet or not; but what an alert sees increase is there at 0.
    known = {"up", *(name for name, kind in families.items() if kind in ("gauge", "counter"))}
    rules = [rule for group in yaml.safe_load(text_of("holder-alerts.yml"))["groups"] for rule in group["rules"]]

    used = {name for rule in rules for name in re.findall(r"\b(holder_\w+|up)\b", rule["expr"])}
    counted = {one for rule in rules for one in re.findall(r"holder_\w+_total\{[^}]+\}", rule["expr"])}

    assert len(rules) >= 5
    assert used <= known
    assert counted
    assert counted <= {line.rpartition(" ")[0] for line in lines}
    assert all(rule["annotations"]["summary"] for rule in rules)


def test_the_scrape_uses_a_key_from_a_file_and_names_the_alerts() -> None:
    document = yaml.safe_load(text_of("prometheus.yml"))

    [job] = document["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"127.0.0.1:{PORT}"]}]
    assert job["authorization"]["credentials_file"]
    assert document["rule_files"] == ["holder-alerts.yml"]
    assert f'job="{job["job_name"]}"' in text_of("holder-alerts.yml")


def test_one_port_everywhere() -> None:
    files = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    names = [ROOT / "Dockerfile", *(ROOT / name for name in COMPOSE), *files]
    ports = {
        (path.name, port)
        for path in names
        for port in re.findall(
            r"(?:127\.0\.0\.1|holder|localhost):(?:\$\{\w+:-)?(\d{4,5})|containerPort: (\d+)"
            r"|--port\"?,? \"?(\d+)|EXPOSE (\d+)",
            path.read_text(),
        )
    }

    assert len(ports) >= 6
    assert {int("".join(found)) for _, found in ports} == {PORT, ALERTMANAGER_PORT, WITNESS_PORT, *TWO_HOLDERS_PORTS}


@pytest.mark.parametrize("name", ["Caddyfile", "nginx.conf"])
def test_a_proxy_waits_for_the_longest_answers_and_hides_the_metrics(name: str) -> None:
    timeouts = [int(seconds) for seconds in re.findall(r"timeout (\d+)s", text_of(name))]

    assert timeouts
    assert min(timeouts) >= max(UPLOAD_TIMEOUT_S, RELEASE_S_MAX)
    assert re.search(r"/metrics.*404", text_of(name))


@pytest.mark.parametrize("name", COMPOSE)
def test_a_compose_file_is_whole_and_holds_no_secret(name: str) -> None:
    document = compose(name)

    for service in document["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in document["volumes"] or (ROOT / source).exists(), volume
        for variable, value in service.get("environment", {}).items():
            assert "PASSWORD" not in variable or value.startswith("/run/secrets/")
            if variable in {f"{name}{ENDING}" for name in SECRETS}:
                assert Path(value).is_relative_to(CONTAINER_FOLDER)
            elif variable.startswith("HOLDER_"):
                Settings.from_environment({variable: value})
    assert document["secrets"] == {"database_password": {"file": "./secrets/database_password"}}
    if shutil.which("docker-compose"):
        command = ["docker-compose", "-f", name, "--project-directory", ".", "config", "--quiet"]
        subprocess.run(command, cwd=ROOT, check=True, timeout=60)


def test_a_composed_cluster_is_reached_by_its_holder_alone() -> None:
    """Whoever reaches a master or a worker may have it run anything; and workers have no way to the database."""
    services = compose("docker-compose.spark.yml")["services"]
    workers = {name for name in services if name.startswith("worker-")}
    holder, store = services["holder"], "spark-store:/var/lib/pafer/store"

    assert len(workers) == 2
    for name in ("master", *workers):
        assert services[name]["networks"] == ["cluster"]
        assert "ports" not in services[name]
        assert "secrets" not in services[name]
        assert services[name]["image"] == holder["image"], "executors unpickle what the holder's process pickled"
    assert [name for name in services if "cluster" in services[name]["networks"]] == [
        "master",
        *sorted(workers),
        "holder",
    ]
    assert holder["environment"]["HOLDER_ENGINE"] == "spark"
    assert holder["environment"]["HOLDER_SPARK_STORE"] == "file:///" + store.partition(":/")[2]
    assert all(store in services[name]["volumes"] for name in ("holder", *workers))


def test_a_holder_of_your_own_is_reached_by_its_proxy_alone_and_has_time_to_stop() -> None:
    services = compose("docs/deployment/compose.yml")["services"]
    command, stop = services["holder"]["command"], services["holder"]["stop_grace_period"]

    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert services["proxy"]["network_mode"] == "service:holder"
    assert int(stop.removesuffix("s")) > 30


def test_secrets_are_made_once_and_for_their_owner(tmp_path: Path) -> None:
    shutil.copy(ROOT / "run", tmp_path / "run")

    subprocess.run([tmp_path / "run", "secrets"], check=True, capture_output=True)
    secret = tmp_path / "secrets" / "database_password"
    first = secret.read_text()
    again = subprocess.run([tmp_path / "run", "secrets"], check=True, capture_output=True, text=True)

    assert re.fullmatch("[A-Za-z0-9]{24,32}", first)
    assert "there already" in again.stderr
    assert secret.read_text() == first
    assert secret.parent.stat().st_mode & 0o077 == 0


def test_the_unit_closes_the_home_and_starts_the_holder(tmp_path: Path) -> None:
    unit = text_of("pafer-holder.service")

    for line in ("StateDirectoryMode=0700", "UMask=0077", "NoNewPrivileges=yes", "ProtectSystem=strict", "LimitCORE=0"):
        assert f"\n{line}\n" in unit
    home = re.search(r"HOLDER_HOME=/var/lib/(\S+)", unit)
    assert home is not None
    assert f"StateDirectory={home[1]}\n" in unit
    assert int(re.search(r"TimeoutStopSec=(\d+)", unit)[1]) > 30  # type: ignore[index]
    steps = unit.partition("[Unit]")[0]
    assert 0 < steps.index("/opt/pafer/bin/holder init") < steps.index("systemctl enable")
    assert "-p User=pafer -p StateDirectory=pafer-holder -p StateDirectoryMode=0700" in steps
    if shutil.which("systemd-analyze"):
        (tmp_path / "pafer-holder.service").write_text(
            re.sub("/opt/pafer/bin/holder", shutil.which("true") or "", unit)
        )
        verify = ["systemd-analyze", "verify", str(tmp_path / "pafer-holder.service")]
        checked = subprocess.run(verify, capture_output=True, text=True, check=False)
        assert "pafer-holder.service:" not in checked.stderr


@pytest.mark.slow
def test_a_pod_whose_holder_is_set_up_starts_again(tmp_path: Path) -> None:
    """`set-up` runs at each start; `holder init` then refuses, and any other refusal has to stop the pod."""
    text = text_of("kubernetes/base/holder.yaml")
    found = re.search(r"- \|\n((?: {14}.*\n)+)", text)
    assert found is not None
    script = re.sub(r"^ {14}", "", found[1], flags=re.MULTILINE)
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOLDER_HOME": str(tmp_path / "home"),
        "HOLDER_DATABASE_URL": f"sqlite:///{tmp_path / 'home' / 'holder.sqlite'}",
    }  # fmt: skip

    def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env={**environment, **more}, capture_output=True, text=True, check=False, timeout=120
        )

    assert run("holder", "init").returncode == 0
    again = run("sh", "-c", script)
    broken = run("sh", "-c", script, HOLDER_DATABASE_URL="nosuch://x")

    assert (again.returncode, again.stderr) == (0, "")
    assert broken.returncode == 1
    assert "HOLDER_DATABASE_URL" in broken.stderr
