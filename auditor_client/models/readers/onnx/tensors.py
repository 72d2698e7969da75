"""ONNX tensors: numbers that stand in the file itself.

A tensor may name another file for its numbers, and `onnx` opens that file when it converts the tensor. So every tensor
of a model is checked before the graph is followed, and one function converts them.
"""

from typing import Any, Final

from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.frames import installed

MESSAGES_MAX: Final = 1_048_576
_EXTERNAL: Final = "The graph's constants are in another file, which is not opened: save the model as one file."


def require_own_data(model: Any) -> None:
    """Refuse a model with a tensor outside of its file, wherever in the model that tensor is.

    Args:
        model: A protobuf message. Initializers, attributes, nested graphs, functions and sparse tensors are parts of
            it, and so is whatever later versions of ONNX add.

    Raises:
        ModelRefused: A tensor names another file, or the model has too many parts.
    """
    waiting, seen = [model], 0
    while waiting:
        message = waiting.pop()
        seen += 1
        if seen > MESSAGES_MAX:
            raise ModelRefused(f"The graph has more than {MESSAGES_MAX} parts: a model that large is not read.")
        for field, value in message.ListFields():
            if field.name in ("data_location", "external_data"):
                _require_inside(message)
            if field.message_type is not None:
                waiting += [value] if hasattr(value, "ListFields") else value


def constant_array(tensor: Any) -> NDArray[Any]:
    """A tensor's numbers.

    Raises:
        ModelRefused: They are in another file.
    """
    _require_inside(tensor)
    onnx = installed("onnx")
    numbers: NDArray[Any] = onnx.numpy_helper.to_array(tensor)
    return numbers


def _require_inside(tensor: Any) -> None:
    if tensor.data_location != 0 or tensor.external_data:
        raise ModelRefused(_EXTERNAL)
