"""How the holder asks its witnesses to cosign a checkpoint; never in the path of a release."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, Literal, get_args

import httpx

from holder_service.settings.holder import Witness
from holder_service.witnessing.requests import AddCheckpoint
from shared.log.checkpoints import Checkpoint, parse_size
from shared.log.notes import AHEAD_MAX, BadNote, Signature, SignedNote

TIMEOUT_S: Final = 5.0
ANSWER_BYTES_MAX: Final = 64 * 1024
SIZE_MEDIA_TYPE: Final = "text/x.tlog.size"


Reason = Literal["no-answer", "answer-too-long", "refused", "longer-history", "malformed-answer", "false-cosignature"]
REASONS: Final = get_args(Reason)


class NotCosigned(Exception):
    """A witness did not cosign; `reason` is for the log."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class WitnessCalls:
    """Asks witnesses, one after the other."""

    def __init__(self) -> None:
        self._http = httpx.Client(timeout=TIMEOUT_S, headers={"Accept-Encoding": "identity"})

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def cosign(
        self, witness: Witness, note: SignedNote, *, old_size: int, consistency: Callable[[int, int], list[bytes]]
    ) -> Signature:
        """Have a witness cosign a checkpoint.

        Args:
            witness: Who is asked.
            note: The checkpoint, signed by the log.
            old_size: The size of the last checkpoint that this witness is known to have cosigned; 0 if none is. If the
                witness answers that it saw another size, it is asked once more.
            consistency: Proves a consistency from a size on.

        Returns:
            Its cosignature, which is verified.

        Raises:
            NotCosigned: It refused, answered something else, or did not answer.
        """
        size = Checkpoint.parse(note.text).size
        status, media_type, body = self._ask(witness, note, old_size, size, consistency)
        if status == HTTPStatus.CONFLICT and media_type.partition(";")[0].strip() == SIZE_MEDIA_TYPE:
            seen = _size(body)
            if seen > size:
                raise NotCosigned("longer-history", f"it has seen a longer history, of {seen} entries")
            status, media_type, body = self._ask(witness, note, seen, size, consistency)
        if status != HTTPStatus.OK:
            raise NotCosigned("refused", f"status {status}")
        return _cosignature(witness, note, body)

    def _ask(
        self,
        witness: Witness,
        note: SignedNote,
        old_size: int,
        size: int,
        consistency: Callable[[int, int], list[bytes]],
    ) -> tuple[int, str, bytes]:
        old_size = min(old_size, size)
        request = AddCheckpoint(old_size, tuple(consistency(old_size, size)), note)
        give_up_s = time.monotonic() + TIMEOUT_S
        content = bytearray()
        try:
            with self._http.stream(
                "POST", f"{witness.url}/add-checkpoint", content=request.body, follow_redirects=False
            ) as answer:
                for chunk in answer.iter_raw():
                    content += chunk
                    if len(content) > ANSWER_BYTES_MAX or time.monotonic() > give_up_s:
                        raise NotCosigned("answer-too-long", "its answer is too long, or takes too long")
                return answer.status_code, answer.headers.get("Content-Type", ""), bytes(content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotCosigned("no-answer", type(error).__name__) from None


def _size(body: bytes) -> int:
    try:
        return parse_size(body.decode().removesuffix("\n"))
    except (BadNote, UnicodeDecodeError):
        raise NotCosigned("malformed-answer", "its answer is malformed") from None


def _cosignature(witness: Witness, note: SignedNote, body: bytes) -> Signature:
    try:
        signatures = [Signature.parse(line) for line in body.decode().removesuffix("\n").split("\n")]
        own = [signature for signature in signatures if witness.key.names(signature)]
        if len(own) != 1:
            raise NotCosigned("false-cosignature", "its answer does not have a cosignature by its key")
        seen = witness.key.time_of(note.text, own[0])
        if seen is not None and seen > datetime.now(UTC) + AHEAD_MAX:
            raise NotCosigned("false-cosignature", "its cosignature is from the future")
    except (BadNote, UnicodeDecodeError):
        raise NotCosigned("false-cosignature", "its cosignature is false") from None
    return own[0]
