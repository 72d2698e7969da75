"""Checks of what the project promises, each `python -m checks.NAME`; `tests` runs the short ones."""
