"""What a shell offers to complete a line with that only the holder knows: names of datasets and of their columns.

A shell waits for it, so the holder is asked once and briefly; where it does not answer, nothing is offered.
"""

import os
from typing import Any, Final

import typer

from auditor_client.errors import AuditorError
from auditor_client.exchange.calls import CallLimits
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.sessions import shown_by
from auditor_client.settings import load_settings
from shared.contract.datasets import DatasetDescription
from shared.wire.described_commands import completed

_BRIEF: Final = CallLimits(connect_s=1.0, attempt_s=2.0, total_s=2.0, attempts=1)


def datasets(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of the datasets that begin so."""
    return completed(incomplete, [dataset.name for dataset in _offered(ctx.params)])


def sensitive_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The sensitive columns that begin so, of the dataset that was named; of all of them if none was."""
    wanted = ctx.params.get("dataset")
    found = [dataset.sensitive for dataset in _offered(ctx.params) if wanted in (None, dataset.name)]
    return completed(incomplete, dict.fromkeys(column for columns in found for column in columns))


def _offered(flags: dict[str, Any]) -> tuple[DatasetDescription, ...]:
    try:
        given = {
            "holder_url": flags.get("holder_url"),
            "api_key_file": flags.get("key_file"),
            "token_file": flags.get("token_file"),
        }
        settings = load_settings(given, os.environ, flags.get("config"))
        with HolderClient(
            url=settings.holder_url,
            key=shown_by(settings),
            allow_plain_http=settings.allow_plain_http,
            limits=_BRIEF,
        ) as holder:
            return holder.datasets()
    except AuditorError:
        return ()
