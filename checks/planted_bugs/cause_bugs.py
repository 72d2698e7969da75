"""Bugs of failures that do not name their cause."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_TESTS: Final = "tests/integration/test_causes.py"

CAUSE_BUGS: Final = (
    Bug(
        "a full disk is ready",
        (
            Edit(
                "holder_service/services/running/holder.py",
                "Holder.require_ready",
                "        self.store.require_writable()\n",
                "",
            ),
        ),
        (f"{_TESTS}::test_a_full_disk_is_not_ready_and_says_why",),
    ),
    Bug(
        "misspelt settings are ignored",
        (
            Edit(
                "holder_service/settings/holder.py",
                "Settings.from_environment",
                "        require_known(environment)\n",
                "",
            ),
        ),
        (f"{_TESTS}::test_a_misspelt_setting_is_refused_by_name",),
    ),
)
