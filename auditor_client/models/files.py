"""Files of models, which may come from anybody: recognised by their content, never executed.

A pickle is a program; opening one runs it. So only formats that are data are read.
"""

import re
from pathlib import Path
from typing import Final, NoReturn

from auditor_client.errors import ModelRefused, UnsafeModelFile

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
SAVE: Final = "Save the model with skops.io.dump(model, 'model.skops'), where you trust it, and give that file."
_PICKLE: Final = re.compile(rb"\x80[\x01-\x05]|\(?[ci][\w.]+\n[\w.]+\n|[(\]}][IKLVSFNdlpqt0]")
_PACKED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x5d\x00\x00", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


def model_file(path: Path | str) -> bytes:
    """The bytes of a model's file; nothing in it is executed.

    Raises:
        ModelRefused: It is missing, or too large.
    """
    path = Path(path)
    try:
        if not path.is_file():
            raise ModelRefused(f"{path} is no file. {SAVE}")
        size = path.stat().st_size
        if not 0 < size <= FILE_BYTES_MAX:
            raise ModelRefused(f"{path.name} has {size} bytes; a model has from 1 to {FILE_BYTES_MAX}. {SAVE}")
        return path.read_bytes()
    except OSError as error:
        raise ModelRefused(f"{path} cannot be read: {error.strerror}. {SAVE}") from error


def refuse_file(content: bytes, name: str) -> NoReturn:
    """Refuse a file that no reader reads, each kind with its own advice."""
    head = content[:512]
    if _PICKLE.match(head):
        raise UnsafeModelFile(f"{name} is a pickle, and opening a pickle runs whatever it holds. {SAVE}")
    if head.startswith((*_PACKED, *_ZLIB)):
        raise UnsafeModelFile(f"{name} is compressed as joblib compresses pickles, and is not opened. {SAVE}")
    raise ModelRefused(
        f"{name} is not a skops file, and none of LightGBM's, XGBoost's, CatBoost's, ONNX, PMML or our own JSON. {SAVE}"
    )
