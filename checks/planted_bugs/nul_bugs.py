"""Bugs of texts with a NUL, which neither files nor PostgreSQL take."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_TESTS: Final = "tests/integration/test_nul.py"

NUL_BUGS: Final = (
    Bug(
        "an address with a NUL reaches the database",
        (Edit("holder_service/app.py", "create_app", "    app.add_middleware(AddressesWithoutNul)\n", ""),),
        (f"{_TESTS}::test_every_call_refuses_a_nul_in_its_path_and_its_query",),
    ),
    Bug(
        "a field with a NUL reaches the database",
        (
            Edit(
                "holder_service/web/console/forms.py",
                "read_form",
                "    if any(NUL in part for pair in pairs for part in pair):\n",
                "    if any(NUL in part for pair in pairs for part in pair[:1]):\n",
            ),
        ),
        (
            f"{_TESTS}::test_every_page_and_form_of_the_console_refuses_a_nul",
            f"{_TESTS}::test_a_form_says_what_is_wrong_with_a_nul",
        ),
    ),
)
