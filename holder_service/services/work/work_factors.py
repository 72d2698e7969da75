"""Where a machine's factors of the modelled work are kept: a small file in the holder's home."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final, Literal

from holder_service.domain.deadlines import AS_SHIPPED, CLUSTER_AS_SHIPPED, Work
from holder_service.files.durable import durable_file
from holder_service.files.set_up_errors import InvalidSettings

EngineName = Literal["local", "spark"]
_FIRST: Final = "local"
"""The engine of files that name none: there was no other."""


def read_factors(path: Path, *, engine: EngineName) -> Work:
    """The factors that `holder calibrate` wrote; those as shipped where it never ran.

    Args:
        path: Of the file.
        engine: Who counts now.

    Raises:
        InvalidSettings: The file holds something else, or was measured with another engine.
    """
    try:
        document = dict(json.loads(path.read_bytes()))
        measured = document.pop("engine", _FIRST)
        # Files of before had one factor for all of a count.
        factors = Work(
            **{"starting": float(document["counting"]), **{name: float(document[name]) for name in document}}
        )
    except FileNotFoundError:
        return AS_SHIPPED if engine == "local" else CLUSTER_AS_SHIPPED
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidSettings(f"{path} does not contain factors. Run `holder calibrate` again, or remove it.") from None
    if measured != engine:
        raise InvalidSettings(
            f"{path} was measured with another engine than HOLDER_ENGINE={engine}. Run `holder "
            "calibrate` again, or remove it."
        )
    return factors


def write_factors(path: Path, factors: Work, *, engine: EngineName) -> None:
    """Put the factors in force for processes that start from now on."""
    with durable_file(path) as file:
        file.write(f"{json.dumps({'engine': engine, **asdict(factors)}, indent=2)}\n".encode())
