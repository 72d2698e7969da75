"""Continuous integration: its own script, with steps that do as a test says."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = (ROOT / ".ci" / "run").read_text()
LINES = 100
LINES_SHOWN_AGAIN = 60
CLOSING = "7 passed in 1.0s"


def integrated(folder: Path, script: str = SCRIPT, **steps: str) -> "subprocess.CompletedProcess[str]":
    """A run of a script in a folder; what steps do, by name, as commands of a shell."""
    (folder / ".ci").mkdir()
    (folder / ".ci" / "run").write_text(script)
    acts = {"compose": "exit 75", "test": f"echo {CLOSING}", **steps}
    cases = "".join(f"{name}) {commands} ;;\n" for name, commands in acts.items())
    (folder / "run").write_text(f'#!/usr/bin/env bash\necho "this is $1"\ncase $1 in\n{cases}esac\n')
    (folder / "run").chmod(0o755)
    with (folder / "log").open("w") as log:
        ended = subprocess.run(
            ["bash", ".ci/run"], cwd=folder, stdout=log, stderr=log, text=True, check=False, timeout=300
        )
    ended.stdout = (folder / "log").read_text()
    return ended


def test_the_tests_closing_line_ends_the_log_of_a_run_where_nothing_failed(tmp_path: Path) -> None:
    ended = integrated(tmp_path)

    assert ended.returncode == 0
    assert ended.stdout.splitlines()[-2:] == ["this is test", CLOSING]
    assert "this is planted-bugs" in (tmp_path / "build" / "ci" / "planted-bugs").read_text()


def test_the_end_of_what_failed_ends_the_log(tmp_path: Path) -> None:
    """Where a process that the failed step left behind holds its output open, too."""
    stray = f"setsid sleep 400 & echo $! >{tmp_path}/stray"
    ended = integrated(
        tmp_path,
        lint=f"{stray}; for i in $(seq {LINES}); do echo fault $i >&2; done; exit 3",
        test=f"kill $(cat {tmp_path}/stray); echo {CLOSING}",
    )

    before, _, after = ended.stdout.partition(f"{CLOSING}\n")
    faults = [f"fault {number}" for number in range(1, LINES + 1)]
    assert ended.returncode == 1
    assert [line for line in before.splitlines() if line.startswith("fault")] == faults
    assert "== ./run lint ended with status 3 after" in before
    assert after.splitlines() == ["== lint failed; its log ends:", *faults[-LINES_SHOWN_AGAIN:], "== failed: lint"]


def test_long_steps_are_cut_off_before_the_time_of_the_tests_and_others_failures_count(tmp_path: Path) -> None:
    """The time is over for what rests on chance, not for the tests; a planted bug that no test finds still fails."""
    ended = integrated(tmp_path, statistical="echo started; exit 124", **{"planted-bugs": "exit 1"})

    assert ended.returncode == 1
    assert "./run statistical --share 1/4 was NOT RUN TO ITS END" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "== failed: planted-bugs"
    assert CLOSING in ended.stdout


def test_long_steps_leave_the_tests_their_time(tmp_path: Path) -> None:
    ended = integrated(tmp_path, SCRIPT.replace("ALL_S_MAX=4800", "ALL_S_MAX=1850"))

    assert ended.returncode == 0
    assert ended.stdout.count("was NOT RUN: too little time is left") == len(["statistical", "planted-bugs"])
    assert ended.stdout.splitlines()[-1] == CLOSING
