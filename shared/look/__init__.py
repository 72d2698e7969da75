"""The look of both parties' pages, and what their browsers let them do: the holder's console, the auditor's desk."""

from pathlib import Path
from typing import Final

STATIC: Final = "static"
"""The folder in this package with what browsers fetch."""
STYLES: Final = Path(__file__).parent / STATIC / "pages.css"
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""On every page: it runs no script, loads nothing from elsewhere, is in no frame, and names itself to nobody."""
