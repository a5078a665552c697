"""How the contract's errors are worded: the operation in front, its operands behind."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import Operation
from kbridge.errors import DTypeError, KBridgeError
from kbridge.symbolic import dtypes
from kbridge.symbolic.tensor import Tensor


def located(error: KBridgeError, op: Operation, args: tuple[Any, ...]) -> KBridgeError:
    """The same error with the operation's name in front and the operands behind."""
    text = str(error)
    if text.startswith("K."):
        return error
    operands = []
    for index in op.operand_indices or range(len(args)):
        operands.append(f"{op.parameters[index]}={_describe(args[index])}")
    name = op.name.removeprefix("sparse_") if op.topic == "sparse" else op.name
    return type(error)(f"K.{name}: {text.rstrip('.')}. Got {', '.join(operands)}.")


def _describe(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        shown = ", ".join(_describe(item) for item in value[:8])
        return f"[{shown}{', ...' if len(value) > 8 else ''}]"
    shape = getattr(value, "shape", None)
    if shape is None:
        return f"{value!r:.60}"
    named = f"{value.name!r} " if isinstance(value, Tensor) and value.op is None else ""
    sizes = tuple(shape) if getattr(shape, "rank", 0) is not None else "(unknown rank)"
    try:
        dtype = dtypes.normalize(value.dtype)
    except DTypeError:  # one that operands cannot have, as that of JAX's keys
        dtype = str(value.dtype)
    return f"{named}{sizes} {dtype}"
