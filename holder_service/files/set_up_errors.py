"""The base of the errors of a holder's set-up: its settings, its home, and the files in it."""


class SetUpError(Exception):
    """Only the owner of the machine can mend it; the text says how."""


class InvalidSettings(SetUpError):
    """A setting is not usable; the text names it and says what it takes."""
