"""The levels of the log."""

from enum import StrEnum


class Level(StrEnum):
    """From which level on something is logged. No level makes a line say more; it only makes more lines."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
