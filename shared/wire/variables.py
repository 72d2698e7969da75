"""Environment variables of one program: a misspelt one must not be ignored, for its setting would not hold."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

SHOWN_MAX: Final = 5
_OF_KUBERNETES: Final = (
    r"([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)?)"
)
"""What Kubernetes sets in every pod for a service called like the program, such as `HOLDER_SERVICE_HOST`."""


def unknown_variables(prefix: str, known: Iterable[str], environment: Mapping[str, str]) -> str | None:
    """Describe the variables with a prefix that name no setting; `None` without any.

    Empty ones pass, as they count as not set, and so do those that Kubernetes sets for services.

    Args:
        prefix: How the program's variables begin, such as "HOLDER_".
        known: The names of its settings, with the prefix.
    """
    names = sorted(known)
    unknown = [
        name for name, value in sorted(environment.items())
        if value and name.startswith(prefix) and name not in names and not re.fullmatch(prefix + _OF_KUBERNETES, name)
    ]  # fmt: skip
    if not unknown:
        return None
    shown = [_described(name, names) for name in unknown[:SHOWN_MAX]]
    more = f" And {len(unknown) - SHOWN_MAX} more." if unknown[SHOWN_MAX:] else ""
    return f"{' '.join(shown)}{more} Rename or unset what is not meant; the page of settings lists all names."


def _described(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"{name} is not a setting{f': did you mean {close[0]}?' if close else '.'}"
