"""What is wrong with a file of records: all of it at once, up to a bound, and never a value.

How many faults there are, and how long it takes to find them, depends on the file that was sent alone.
"""

from typing import Final

from holder_service.domain.errors import InvalidRecords

FAULTS_MAX: Final = 20
"""As many are named; whoever sent the file finds the others when these are mended."""


class Unreadable(Exception):
    """A fault behind which a file cannot be read.

    Attributes:
        where: Where it is.
        what: What is wrong there.
    """

    def __init__(self, where: str, what: str) -> None:
        super().__init__(where, what)
        self.where = where
        self.what = what


class Faults:
    """The faults found in a file so far, in its order.

    Attributes:
        found: Where each is, and what is wrong or expected there.
    """

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []

    def add(self, where: str, what: str) -> None:
        """Note a fault behind which the file can still be read.

        Raises:
            InvalidRecords: There are as many as are named.
        """
        self.found.append((where, what))
        if len(self.found) >= FAULTS_MAX:
            raise self.refusal()

    def refusal(self, where: str = "", what: str = "") -> InvalidRecords:
        """The refusal of the file for all faults noted, and for one more behind which it cannot be read."""
        found = [*self.found, *([(where, what)] if what else [])]
        errors = [{"field": where or "file", "detail": what} for where, what in found]
        where, what = found[0]
        return InvalidRecords(f"{where}: {what}" if where else what, errors=errors)

    def check(self) -> None:
        """Refuse the file if a fault was noted.

        Raises:
            InvalidRecords: For all of them.
        """
        if self.found:
            raise self.refusal()
