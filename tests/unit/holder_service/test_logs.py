"""A line of the log holds admitted fields of an admitted form, whatever it is given."""

import ast
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

import holder_service
from holder_service.web.edge.logs import EVENTS, FIELDS, JsonLines

ALWAYS: Final = {"time", "level", "event", "logger", "process"}
SECRET: Final = "the count is 4711"
LOGGING: Final = r"(_?log|_?logger|logging)\.(debug|info|warning|error|exception|critical|log)"
KEY: Final = "pafer_0123456789ab_" + "Kx" * 21 + "k"


def line_of(message: object, *arguments: object, raised: BaseException | None = None, **extra: Any) -> dict[str, Any]:
    record = logging.LogRecord("library", logging.INFO, __file__, 1, message, arguments, None)
    vars(record).update(extra)
    if raised is not None:
        try:
            raise raised
        except BaseException:  # noqa: BLE001 - as a handler of last resort catches it
            record.exc_info = sys.exc_info()
    text = JsonLines().format(record)
    assert "\n" not in text
    line: dict[str, Any] = json.loads(text)
    return line


@given(
    message=st.one_of(st.text(), st.sampled_from(sorted(EVENTS)), st.integers(), st.none()),
    argument=st.text(),
    extra=st.dictionaries(st.sampled_from([*FIELDS, "detail", "counts", "key", "msg_text"]), st.text() | st.integers()),
    raised=st.text(),
)
def test_whatever_is_logged_a_line_has_admitted_fields_alone(
    message: object, argument: str, extra: dict[str, Any], raised: str
) -> None:
    line = line_of(message, argument, raised=ValueError(raised), **extra)

    assert line.keys() <= ALWAYS | FIELDS.keys() | {"location"}
    assert line["event"] in {*EVENTS.values(), "message"}
    assert line["error"] == "ValueError"
    assert all(shape.fullmatch(str(line[name])) for name, shape in FIELDS.items() if name in line)


def test_texts_arguments_exceptions_and_locals_stay_out() -> None:
    for message in (SECRET, f"store unavailable {SECRET}", "%s", 4711, ValueError(SECRET)):
        line = line_of(message, SECRET, raised=ValueError(SECRET), detail=SECRET, route=SECRET, error_text=SECRET)

        assert line["event"] == "message"
        assert "4711" not in json.dumps(line)
        assert line["location"].startswith("test_logs:")
        assert line["frames"].startswith("line_of (test_logs.py:")


def test_a_key_is_no_actor() -> None:
    """A key has the form of a name; nobody is called like one in the log."""
    for actor in (KEY, f"x.{KEY}"[:64], "a\nb", "", "é"):
        assert "actor" not in line_of("request", actor=actor)
    assert line_of("request", actor="ADR")["actor"] == "ADR"


def test_the_servers_own_lines_have_names() -> None:
    assert line_of("Started server process [%d]", 4711)["event"] == "process started"
    assert line_of("Child process [4711] died")["event"] == "worker died"
    assert line_of("Child process [4711] died of 4711")["event"] == "message"


def log_calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call of a logger in the holder's code."""
    for path in Path(holder_service.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and re.fullmatch(LOGGING, ast.unparse(node.func)):
                yield f"{path.name}:{node.lineno}", node


def test_whatever_the_holder_logs_is_an_event_with_admitted_fields() -> None:
    """Else a line would say that there was a message, and not which."""
    calls = list(log_calls())
    for location, call in calls:
        (event,) = call.args

        assert isinstance(event, ast.Constant), location
        assert event.value in EVENTS, location
        for keyword in call.keywords:
            assert keyword.arg == "extra", location
            if isinstance(keyword.value, ast.Dict):
                names = {one.value for one in keyword.value.keys if isinstance(one, ast.Constant)}
                assert names <= FIELDS.keys(), location

    assert len(calls) >= 9


LOGGING_AS_SERVED: Final = """
import logging, logging.config, sys, warnings
from holder_service.settings.log_levels import Level
from holder_service.web.edge.logs import configuration

logging.config.dictConfig(configuration(Level.DEBUG))
for name in ("uvicorn.error", "uvicorn", "sqlalchemy.engine.Engine", "asyncio", "anything"):
    logging.getLogger(name).error(sys.argv[1])
warnings.warn(sys.argv[1])
"""


def test_every_logger_and_every_warning_goes_through_it() -> None:
    """In a process of its own: configuring logging closes every handler there is, pytest's too."""
    served = subprocess.run(
        [sys.executable, "-W", "default", "-c", LOGGING_AS_SERVED, SECRET], capture_output=True, text=True, check=True
    )

    lines = [json.loads(line) for line in served.stderr.splitlines()]

    assert [line["logger"] for line in lines][-1] == "py.warnings"
    assert len(lines) == 6
    assert "4711" not in json.dumps([{**line, "time": "", "process": 0} for line in lines])
