"""A body's JSON, read strictly, without the web framework: a child that reads apart does not need that."""

from typing import Any

import jiter

from holder_service.domain.errors import InvalidRequest, TooManyParts


def strict_document(body: bytes, *, parts_max: int) -> Any:
    """The JSON document of a body, refusing what a lenient reader would let pass.

    Raises:
        InvalidRequest: It is no JSON, nests too deeply, or names a field twice.
        TooManyParts: It holds more lists and objects than there may be.
    """
    if body.count(b"{") + body.count(b"[") > parts_max:
        raise TooManyParts(limit=parts_max)
    try:
        return jiter.from_json(body, catch_duplicate_keys=True, allow_inf_nan=False)
    except ValueError as error:
        # jiter quotes at most a key, which is the caller's own word.
        raise InvalidRequest(f"The body is not valid JSON: {error}.") from None
