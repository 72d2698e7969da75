"""`python -m holder_service.cli` is `holder`."""

from holder_service.cli import app

app()
