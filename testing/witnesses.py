"""Witnesses on loopback, to be asked for cosignatures."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from holder_service.keys.signing import SigningKeyFolder
from holder_service.settings.holder import Settings, Witness
from holder_service.witnessing.server import create_witness
from holder_service.witnessing.state import WitnessFolder
from shared.log.notes import VerifierKey
from testing.holders import listening

ORIGIN = "holder.example/ledger"


def log_keys(settings: Settings) -> tuple[VerifierKey, ...]:
    """The keys that sign the log of a holder, from its home."""
    folder = SigningKeyFolder(settings.signing_keys)
    return tuple(folder.load(key_id).note_key(ORIGIN).verifier for key_id in folder.ids())


def new_witness(folder: Path, settings: Settings, name: str = "witness.example/one") -> WitnessFolder:
    """The folder of a witness that watches a holder's log."""
    home = WitnessFolder(folder)
    home.create(name)
    home.add(ORIGIN, log_keys(settings))
    return home


@contextmanager
def witnessing(folder: WitnessFolder, *, port: int = 0) -> Iterator[Witness]:
    """A witness that serves; gives how a holder names it."""
    config = uvicorn.Config(create_witness(folder), log_level="critical", access_log=False)
    with listening(config, port=port) as url:
        yield Witness(url, folder.key().verifier)
