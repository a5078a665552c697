"""Shape arithmetic on the host: integers that ``K.shape`` gives stay in NumPy.

A program such as ``K.reshape(x, K.stack([K.shape(x)[0], -1]))`` computes with sizes, not with
data. Kept on the host, the sizes are plain integers to the engine, also under ``jax.jit``.

Eagerly they are :class:`HostInts`. In the graph a Tensor whose ``host`` is not None is
computed by NumPy when the function runs; ``host`` holds what is :class:`Known` already.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from kbridge.symbolic.tensor import Constant

_OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": operator.floordiv,
    "mod": operator.mod,
    "maximum": max,
    "minimum": min,
}


class Known(NamedTuple):
    """What is known of sizes before the run.

    An int or None for a scalar, a tuple of these for a vector, True where nothing is known.
    """

    value: Any


class HostInts(np.ndarray[Any, Any]):
    """Sizes on the host: an integer array that stays one through indexing and arithmetic."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array).view(HostInts)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(super().__getitem__(key)).view(HostInts)


def host_ints(value: Any, dtype: str = "int32") -> HostInts:
    """``value`` as :class:`HostInts`."""
    return np.asarray(value, dtype).view(HostInts)


def is_sizes(value: Any) -> bool:
    """Whether an operand of a recorded operation is a size: host integers or fixed ones."""
    if type(value) is Constant:
        return isinstance(value.value, np.ndarray) and value.value.dtype.kind in "iu"
    return getattr(value, "host", None) is not None or is_host(value)


def is_host(value: Any) -> bool:
    """Whether ``value`` is a host number: HostInts, a Python or NumPy integer."""
    return isinstance(value, (HostInts, int, np.integer))


def known(value: Any) -> Any:
    """What is known of a size or shape: ints, with None for symbolic entries."""
    host = getattr(value, "host", None)
    if host is not None:
        return None if host.value is True else host.value
    if type(value) is Constant:
        value = value.value
    if isinstance(value, (list, tuple)):
        return tuple(known(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim == 0 else tuple(value.tolist())
    if isinstance(value, (int, np.integer)):
        return int(value)
    return None


def settled(value: Any) -> Any:
    """``value`` (a size, an index) with the sizes in it that are known already as integers."""
    if isinstance(value, (tuple, list)):
        return type(value)([settled(item) for item in value])
    if isinstance(value, slice):
        return slice(settled(value.start), settled(value.stop), settled(value.step))
    sizes = getattr(value, "host", None)
    return sizes.value if sizes is not None and type(sizes.value) is int else value


def is_fully_known(value: Any) -> bool:
    """Whether a Tensor's value is known before any run: sizes of a fixed shape."""
    sizes = getattr(value, "host", None)
    if sizes is None or sizes.value is True or sizes.value is None:
        return False
    return not isinstance(sizes.value, tuple) or None not in sizes.value


def infer(name: str, args: tuple[Any, ...]) -> Known:
    """What is known of the result of a host operation."""
    return Known(_infer(name, args))


def _infer(name: str, args: tuple[Any, ...]) -> Any:
    if name == "shape":
        return tuple(args[0].shape)
    if name == "size":
        sizes = args[0].shape
        return None if None in sizes else int(np.prod(sizes, dtype=np.int64))
    if name == "cast":
        return known(args[0]) if str(args[1]).startswith(("int", "uint")) else True
    if name in _OPERATORS:
        return _elementwise(_OPERATORS[name], known(args[0]), known(args[1]))
    if name == "stack":
        parts = known(list(args[0]))
        return parts if all(not isinstance(part, tuple) for part in parts) else True
    if name == "concatenate":
        parts = [known(part) for part in args[0]]
        if all(isinstance(part, tuple) for part in parts):
            return sum(parts, ())
    if name == "prod":
        parts = known(args[0])
        if isinstance(parts, tuple):
            return None if None in parts else int(np.prod(parts, dtype=np.int64))
    if name == "getitem":
        return _index(known(args[0]), args[1])
    return True


def _elementwise(function: Any, a: Any, b: Any) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            return True
        return tuple(_scalar(function, p, q) for p, q in zip(a, b, strict=True))
    if isinstance(a, tuple):
        return tuple(_scalar(function, item, b) for item in a)
    if isinstance(b, tuple):
        return tuple(_scalar(function, a, item) for item in b)
    return _scalar(function, a, b)


def _scalar(function: Any, a: Any, b: Any) -> Any:
    if a is None or b is None or a is True or b is True:
        return None
    try:
        return function(a, b)
    except ZeroDivisionError:
        return None


def _index(sizes: Any, key: Any) -> Any:
    if not isinstance(sizes, tuple) or len(key) != 1:
        return True
    (index,) = key
    if isinstance(index, (int, np.integer)) and -len(sizes) <= index < len(sizes):
        return sizes[int(index)]
    if isinstance(index, slice):
        parts = [known(part) for part in (index.start, index.stop, index.step)]
        given = [index.start, index.stop, index.step]
        if all(p is not None or g is None for p, g in zip(parts, given, strict=True)):
            return sizes[slice(*parts)]
    return True
