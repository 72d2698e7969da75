"""Files of models, which may come from anybody: recognised by their content, never executed.

A pickle is a program; opening one runs it. So only formats that are data are read.
"""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from auditor_client.errors import ModelRefused, UnsafeModelFile

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
SAVE: Final = "Save the model with skops.io.dump(model, 'model.skops'), where you trust it, and give that file."
_PICKLE: Final = re.compile(rb"\x80[\x01-\x05]|\(?[ci][\w.]+\n[\w.]+\n|[(\]}][IKLVSFNdlpqt0]")
_OBJECTIVE: Final = rb"(binary|reg|multi|rank|count|survival):[a-z]{3,}"
_DUMPED: Final = (b'"tree_info"', b'"feature_names"', b'"tree_structure"')
_UNPACKED_BYTES_MAX: Final = 4096
_LZMA_BYTES_MAX: Final = 128 * 1024 * 1024
_PACKED: Final[tuple[tuple[tuple[bytes, ...], Callable[[], Any] | None], ...]] = (
    ((b"\x1f\x8b",), lambda: zlib.decompressobj(wbits=31)),
    ((b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), zlib.decompressobj),
    ((b"BZh",), bz2.BZ2Decompressor),
    ((b"\xfd7zXZ", b"\x5d\x00\x00"), lambda: lzma.LZMADecompressor(memlimit=_LZMA_BYTES_MAX)),
    ((b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"), None),
)
"""How compressed files begin, and what takes their first bytes out, if anything here does."""
_R: Final = (b"X\n\x00\x00", b"A\n", b"RDX", b"RDA")
_ONNX: Final = "Convert it to ONNX"

_XGBOOST: Final = "Load the model in XGBoost and save it as model.save_model('model.json') or 'model.ubj'."
_DUMP: Final = f"a dump of XGBoost (`dump_model`), which lacks objective and base score. {_XGBOOST}"
_RECOGNISED: Final[tuple[tuple[Callable[[bytes], bool], str], ...]] = (
    (
        lambda content: content.startswith((b"binf", b"bs64")) or re.search(_OBJECTIVE, content[:512]) is not None,
        (
            "XGBoost's old binary format, which is not read. Load it in the XGBoost that wrote it, or a later one to "
            "3.0 (3.1 does not read it any more), and save it as model.save_model('model.json')."
        ),
    ),
    (
        lambda content: content[:64].lstrip()[:1] == b"{" and all(word in content for word in _DUMPED),
        "a dump of LightGBM (`dump_model`), which is for reading by people. Save booster.save_model('model.txt').",
    ),
    (
        lambda content: content[:64].lstrip()[:1] == b"[" and b'"nodeid"' in content[:512],
        _DUMP,
    ),
    (lambda content: content.startswith(b"booster[0]:"), _DUMP),
    (
        lambda content: content.startswith(_R),
        (
            "R's own format (saveRDS, save), which is not read. Save the model as PMML, "
            "XML::saveXML(pmml::pmml(model), 'model.pmml'), or in its maker's own format, as xgb.save and lgb.save do."
        ),
    ),
    (
        lambda content: content.startswith(b"CBM1"),
        "CatBoost's binary format, which is not read. Save model.save_model('model.json', format='json').",
    ),
    (
        lambda content: content.startswith(b"\x89HDF"),
        f"an HDF5 file, as Keras writes it, which is not read. {_ONNX}: tf2onnx.convert.from_keras(model).",
    ),
    (
        lambda content: re.match(rb"[\x00-\xff]{2}[\x00-\xff]{2}\x00{4}\{\"", content[:16]) is not None,
        f"a safetensors file, which has weights and no model. {_ONNX}: torch.onnx.export(model, …, 'model.onnx').",
    ),
    (
        lambda content: content[4:8] == b"TFL3",
        f"a TensorFlow Lite model, which is not read. {_ONNX}: python -m tf2onnx.convert --tflite model.tflite.",
    ),
    (
        lambda content: re.match(rb"\s*<(!doctype html|html)", content[:64], re.IGNORECASE) is not None,
        "a web page, and no model: perhaps a page to sign in was saved in its place. Download the file again.",
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
    for begins, unpack in _PACKED:
        if head.startswith(begins):
            _refuse_packed(_first_bytes(content, unpack), name)
    _refuse_known(content, name)
    raise ModelRefused(
        f"{name} is not a skops file, and none of LightGBM's, XGBoost's, CatBoost's, ONNX, PMML or our own JSON. "
        "Save the model as its maker does: skops.io.dump(model, 'model.skops') for scikit-learn, "
        "booster.save_model('model.txt') for LightGBM, model.save_model('model.json') for XGBoost, "
        "model.save_model('model.json', format='json') for CatBoost."
    )


def refuse_archive(entries: Sequence[str], name: str) -> NoReturn:
    """Refuse a ZIP archive other than a skops file, by the names of what is in it."""
    if any(entry.endswith(("/data.pkl", "constants.pkl")) for entry in entries):
        raise UnsafeModelFile(
            f"{name} is a PyTorch file with a pickle in it, and opening a pickle runs whatever it holds. {_ONNX}: "
            "torch.onnx.export(model, …, 'model.onnx')."
        )
    if any(entry.endswith((".pkl", ".pickle", ".joblib")) for entry in entries):
        raise UnsafeModelFile(f"{name} is an archive with a pickle in it, and is not opened. {SAVE}")
    if "model.weights.h5" in entries:
        raise ModelRefused(
            f"{name} is a Keras model, which is not read. {_ONNX}: model.export('model', format='onnx')."
        )
    if "model.ini" in entries:
        raise ModelRefused(
            f"{name} is a MOJO of H2O, which is not read. Train the model with XGBoost or LightGBM, or audit "
            "its decisions instead of the model."
        )
    if "[Content_Types].xml" in entries:
        raise ModelRefused(f"{name} is an Office document, and no model. {SAVE}")
    raise ModelRefused(f"{name} is an archive, but not a skops file. {SAVE}")


def _first_bytes(content: bytes, unpack: Callable[[], Any] | None) -> bytes:
    """Take the first bytes out of a compressed file, so that its format can be named."""
    if unpack is None:
        return b""
    try:
        first: bytes = unpack().decompress(content[: 16 * _UNPACKED_BYTES_MAX], _UNPACKED_BYTES_MAX)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return b""
    return first


def _refuse_packed(first: bytes, name: str) -> NoReturn:
    _refuse_known(first, name)
    if first and not _PICKLE.match(first):
        raise ModelRefused(f"{name} is compressed, and compressed files are not opened. Give the file that is in it.")
    raise UnsafeModelFile(f"{name} is compressed as joblib compresses pickles, and is not opened. {SAVE}")


def _refuse_known(content: bytes, name: str) -> None:
    for recognise, refusal in _RECOGNISED:
        if recognise(content):
            raise ModelRefused(f"{name} is {refusal}")
