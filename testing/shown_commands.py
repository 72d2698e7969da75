"""What pages of the documentation show to be run: their blocks of code, by language."""

import re
from pathlib import Path


def shown(page: Path, language: str) -> list[str]:
    """The blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
