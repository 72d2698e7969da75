"""What clients of holders under test share."""

from typing import Final

import httpx

AUTHORITIES: Final = httpx.create_ssl_context()
"""The authorities that sign certificates: reading them takes longer than most tests."""
