"""Write the table of who may do what into docs/roles.md, from the OpenAPI document: `python -m checks.role_table`."""

import tempfile
from pathlib import Path
from typing import Any, Final, get_args

from holder_service.web.edge.roles import ROLES
from shared.contract.datasets import Role
from testing.interface_walk import new_holder, operations_of

PAGE: Final = Path(__file__).parents[1] / "docs" / "roles.md"
BEGIN: Final = "<!-- the table: python -m checks.role_table -->"
END: Final = "<!-- end of the table -->"


def role_table(document: dict[str, Any]) -> str:
    """A row for each operation, a column for each role and for nobody."""
    names = get_args(Role)
    rows = [("call", "what", *names, "no key"), ("---", "---", *[":-:"] * (len(names) + 1))]
    for name, (method, path, operation) in sorted(operations_of(document).items(), key=lambda one: one[1][1]):
        admitted = operation.get(ROLES, names)
        marks = [*(role in admitted for role in names), "security" not in operation]
        what = name.replace("_", " ")
        rows.append((f"`{method.upper()} {path}`", what, *("✓" if mark else "" for mark in marks)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def with_table(page: str, table: str) -> str:
    """The page with another table."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as home, new_holder(Path(home)) as holder:
        document = holder.client.get("/openapi.json").json()
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), role_table(document)), "utf-8")


if __name__ == "__main__":
    main()
