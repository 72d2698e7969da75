"""Mechanisms with a fault, to see that an audit catches it. Nothing that answers anybody can reach them."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from holder_service.mechanisms.base import Mechanism
from holder_service.privacy_audit.core import Calibration, as_charged
from holder_service.privacy_audit.neighbours import Neighbours
from holder_service.records.counting import TrueCounts
from holder_service.records.engines import EncodedVersion
from holder_service.records.local_engine import LocalEngine
from shared.kinds.plans import Batch


def with_epsilon(pair: Neighbours, batch: Batch, factor: float) -> Mechanism:
    """The mechanism of another ε than is charged, or of a ρ as its square; twice is half the noise, or nearly."""
    if batch.rho is not None:
        return as_charged(pair, batch.model_copy(update={"rho": int(batch.rho * factor**2)}))
    return as_charged(pair, batch.model_copy(update={"epsilon": int(batch.loss.epsilon_nano * factor)}))


def count_large_registers_slowly() -> None:
    """Have this process take 150 ms longer to count more records than one chunk holds, whatever the machine."""
    count = LocalEngine.count

    def slowly(engine: LocalEngine, version: EncodedVersion, *rest: Any) -> TrueCounts:
        if len(engine.records_of(version).chunks) > 1:
            time.sleep(0.15)
        return count(engine, version, *rest)

    setattr(LocalEngine, count.__name__, slowly)


SLIGHT: Final = "epsilon 10 % too large"
"""Where two counts change, this fault needs four times the draws that find the others."""
FAULTS: Final[Mapping[str, Calibration]] = {
    "half the noise": lambda pair, batch: with_epsilon(pair, batch, 2),
    "sensitivity 1": lambda pair, batch: as_charged(replace(pair, relation="add_remove"), batch),
    SLIGHT: lambda pair, batch: with_epsilon(pair, batch, 1.1),
}
