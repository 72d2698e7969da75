"""What a piece of work on records does, line by line: the same for records that nothing may distinguish."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final

import numpy as np

import holder_service.records

KERNEL: Final = str(Path(holder_service.records.__file__).parent)

Trace = list[tuple[str, int, dict[str, tuple[int, ...]]]]
"""Line by line: the function, the line, and the shapes of all arrays in its variables."""


def traced(work: Callable[[], object], *, mapped: Sequence[np.ndarray[Any, Any]] = ()) -> Trace:
    """What some work does in `holder_service.records`; the arrays in `mapped`, which are whole files, are left out."""
    trace: Trace = []

    def tracer(frame: FrameType, _event: str, _value: object) -> Any:
        if not frame.f_code.co_filename.startswith(KERNEL):
            return None
        arrays = {
            name: value.shape
            for name, value in frame.f_locals.items()
            if isinstance(value, np.ndarray) and all(value is not file for file in mapped)
        }
        trace.append((frame.f_code.co_qualname, frame.f_lineno, arrays))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        work()
    finally:
        sys.settrace(before)
    return trace
