"""The whole document of a derived column, as a file that officers download before they decide."""

from fastapi import Response


def column_file(document: bytes, column: str) -> Response:
    """The document as it is kept, so that its SHA-256 is the one that the ledger has."""
    name = f"column-{column.removeprefix('sha256:')[:12]}.json"
    return Response(
        document, media_type="application/json", headers={"Content-Disposition": f"attachment; filename={name}"}
    )
