"""Canonical JSON (RFC 8785) and digests: the bytes that identities, hashes and signatures stand on."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

import rfc8785

_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_FLOAT_WRITTEN_OTHERWISE: Final = re.compile(r"[:\[,](-?[0-9]+(?:\.0(?![0-9])|(?:\.[0-9]+)?e[-+][0-9]+))")


def canonical_bytes(document: Any) -> bytes:
    """Serialise a JSON document to its RFC 8785 bytes.

    The standard library writes the same bytes some seven times faster, but for floats: it writes
    37.0 and 1e-05 where RFC 8785 has 37 and 0.00001. Where it wrote a float so, the reference library
    writes it again. Object keys must be ASCII, as all field names of the contract are:
    beyond the basic plane the two would sort differently.

    Args:
        document: dicts, lists, strings, finite numbers, booleans, None; integers within ±2⁵³.

    Raises:
        ValueError: A number is not finite or not exact in a double.
    """
    if isinstance(document, float):
        return rfc8785.dumps(document)
    return _with_floats_rewritten(_ENCODER.encode(document)).encode()


def object_bytes(members: Mapping[str, bytes]) -> bytes:
    """The canonical bytes of an object whose values were serialised before; the names are ASCII and need no escape."""
    return b"{" + b",".join(b'"%b":%b' % (name.encode("ascii"), members[name]) for name in sorted(members)) + b"}"


def _with_floats_rewritten(text: str) -> str:
    if not (".0" in text or "e-" in text or "e+" in text):
        return text
    # With escapes blanked out, an offset is outside strings if an even number of quotation marks is before it.
    bare = text.replace("\\\\", "  ").replace('\\"', "  ") if "\\" in text else text
    pieces: list[str] = []
    marks = looked_at = copied = 0
    for found in _FLOAT_WRITTEN_OTHERWISE.finditer(bare):
        marks += bare.count('"', looked_at, found.start())
        looked_at = found.start()
        if marks % 2 == 0:
            pieces += text[copied : found.start(1)], rfc8785.dumps(float(found[1])).decode()
            copied = found.end()
    return "".join([*pieces, text[copied:]])


def sha256_name(content: bytes) -> str:
    """The SHA-256 of some bytes, named as the contract writes it: "sha256:<hex>"."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def digest(document: Any) -> str:
    """The SHA-256 of a JSON document's canonical bytes, as "sha256:<hex>"."""
    return sha256_name(canonical_bytes(document))
