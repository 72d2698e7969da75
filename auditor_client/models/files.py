"""Files of models, which may come from anybody: recognised by their content, never executed.

A pickle is a program; opening one runs it. So only formats that are data are read.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from auditor_client.errors import ModelRefused, UnsafeModelFile

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
SAVE: Final = "Save the model with skops.io.dump(model, 'model.skops'), where you trust it, and give that file."
_PICKLE: Final = re.compile(rb"\x80[\x01-\x05]|\(?[ci][\w.]+\n[\w.]+\n|[(\]}][IKLVSFNdlpqt0]")
_OBJECTIVE: Final = rb"(binary|reg|multi|rank|count|survival):[a-z]{3,}"
_DUMPED: Final = (b'"tree_info"', b'"feature_names"', b'"tree_structure"')
_PACKED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x5d\x00\x00", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")

_XGBOOST: Final = "Load it in XGBoost and save it as model.save_model('model.json') or 'model.ubj'."
_RECOGNISED: Final[tuple[tuple[Callable[[bytes], bool], str], ...]] = (
    (
        lambda content: content.startswith((b"binf", b"bs64")) or re.search(_OBJECTIVE, content[:512]) is not None,
        f"XGBoost's old binary format, which is not read. {_XGBOOST}",
    ),
    (
        lambda content: content[:64].lstrip()[:1] == b"{" and all(word in content for word in _DUMPED),
        "a dump of LightGBM (`dump_model`), which is for reading by people. Save booster.save_model('model.txt').",
    ),
    (
        lambda content: content[:64].lstrip()[:1] == b"[" and b'"nodeid"' in content[:512],
        f"a dump of XGBoost (`dump_model`), which lacks objective and base score. {_XGBOOST}",
    ),
    (
        lambda content: content.startswith((b"X\n\x00\x00", b"A\n", b"RDX", b"RDA")),
        "R's own format (saveRDS, save), which is not read. Save the model as PMML (package pmml or r2pmml).",
    ),
    (
        lambda content: content.startswith(b"CBM1"),
        "CatBoost's binary format, which is not read. Save model.save_model('model.json', format='json').",
    ),
    (
        lambda content: content.startswith(b"\x89HDF"),
        "an HDF5 file, as Keras writes it, which is not read. Convert the model to ONNX (tf2onnx).",
    ),
    (
        lambda content: re.match(rb"[\x00-\xff]{2}[\x00-\xff]{2}\x00{4}\{\"", content[:16]) is not None,
        "a safetensors file, which has weights and no model. Convert the model to ONNX.",
    ),
)
"""Formats that are known and not read: by which content, and how to save the model readably."""


def model_file(path: Path | str) -> bytes:
    """The bytes of a model's file; nothing in it is executed.

    Raises:
        ModelRefused: It is missing, or too large.
    """
    path = Path(path)
    try:
        if not path.is_file():
            raise ModelRefused(f"{path} is not a file. {SAVE}")
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
    for recognise, refusal in _RECOGNISED:
        if recognise(content):
            raise ModelRefused(f"{name} is {refusal}")
    raise ModelRefused(
        f"{name} is not a skops file, and none of LightGBM's, XGBoost's, CatBoost's, ONNX, PMML or our own JSON. {SAVE}"
    )
