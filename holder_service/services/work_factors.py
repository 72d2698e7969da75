"""Where a machine's factors of the modelled work are kept: a small file in the holder's home."""

import json
from dataclasses import asdict
from pathlib import Path

from holder_service.domain.deadlines import AS_SHIPPED, Work
from holder_service.durable_files import durable_file
from holder_service.settings import InvalidSettings


def read_factors(path: Path) -> Work:
    """The factors that `holder calibrate` wrote; those as shipped where it never ran.

    Raises:
        InvalidSettings: The file holds something else.
    """
    try:
        return Work(**{name: float(factor) for name, factor in json.loads(path.read_bytes()).items()})
    except FileNotFoundError:
        return AS_SHIPPED
    except (AttributeError, TypeError, ValueError):
        raise InvalidSettings(f"{path} holds no factors: run `holder calibrate` again, or remove it.") from None


def write_factors(path: Path, factors: Work) -> None:
    """Put the factors in force for processes that start from now on."""
    with durable_file(path) as file:
        file.write(f"{json.dumps(asdict(factors), indent=2)}\n".encode())
