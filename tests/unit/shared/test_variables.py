"""Misspelt variables are found; empty ones and those of Kubernetes pass."""

from shared.wire.variables import unknown_variables

KNOWN = ("HOLDER_HOME", "HOLDER_LOG_LEVEL")


def test_known_empty_and_foreign_variables_pass() -> None:
    environment = {
        "HOLDER_HOME": "/x", "HOLDER_OTHER": "", "PATH": "/bin", "HOLDER_PORT": "tcp://10.0.0.1:80",
        "HOLDER_PORT_80_TCP_ADDR": "10.0.0.1", "HOLDER_METRICS_SERVICE_HOST": "10.0.0.1",
    }  # fmt: skip
    assert unknown_variables("HOLDER_", KNOWN, environment) is None


def test_unknown_variables_are_all_named() -> None:
    text = unknown_variables("HOLDER_", KNOWN, {"HOLDER_HOMES": "x", "HOLDER_ZZZZZZZZZ": "y"})

    assert text is not None
    assert "HOLDER_HOMES is not a setting: did you mean HOLDER_HOME?" in text
    assert "HOLDER_ZZZZZZZZZ is not a setting." in text
