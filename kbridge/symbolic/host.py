"""Shape arithmetic on the host: integers that ``K.shape`` gives stay in NumPy.

A program such as ``K.reshape(x, K.stack([K.shape(x)[0], -1]))`` computes with sizes, not with
data. Kept on the host, the sizes are plain integers to the engine, also under ``jax.jit``. What
is computed from sizes and numbers alone stays there, floats included, so that a size may be
halved as a float and cast back.

Eagerly they are :class:`HostInts`. In the graph a Tensor whose ``host`` is not None is
computed by NumPy when the function runs; ``host`` holds what is :class:`Known` already. Sizes
have no derivative.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kbridge import config
from kbridge.symbolic import dtypes
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

#: Operations that only pick and arrange: what is known of single sizes moves with them.
_ARRANGING = frozenset(
    (
        *("stack", "concatenate", "reshape", "flatten", "expand_dims", "squeeze", "reverse"),
        *("gather", "slice", "getitem", "tile", "repeat_elements", "identity"),
    )
)


class Known(NamedTuple):
    """What is known of sizes before the run.

    An int or None for a scalar, a tuple of these for a vector, True where nothing is known.
    """

    value: Any


class HostInts(np.ndarray[Any, Any]):
    """Sizes on the host: an array that stays one through indexing and arithmetic."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return as_host(np.asarray(array), () if context is None else context[1])

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(super().__getitem__(key)).view(HostInts)


def _beside_natives(name: str) -> Callable[[Any, Any], Any]:
    """An operator that leaves an engine's tensor beside a scalar size to that engine."""
    of_arrays = getattr(np.ndarray, name)
    plain = getattr(operator, name.replace("__r", "__", 1))

    def run(self: Any, other: Any) -> Any:
        known = isinstance(other, (np.ndarray, np.generic, int, float, list, tuple))
        if self.ndim or known or getattr(other, "__array_ufunc__", 0) is None:
            return of_arrays(self, other)
        number = self.item()
        return plain(other, number) if name.startswith("__r") else plain(number, other)

    return run


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _prefix in ("", "r"):
        setattr(HostInts, f"__{_prefix}{_name}__", _beside_natives(f"__{_prefix}{_name}__"))
for _name in ("lt", "le", "gt", "ge"):
    setattr(HostInts, f"__{_name}__", _beside_natives(f"__{_name}__"))


def host_ints(value: Any, dtype: str = "int32") -> HostInts:
    """``value`` as :class:`HostInts`."""
    return np.asarray(value, dtype).view(HostInts)


def as_host(result: Any, operands: Any) -> HostInts:
    """A result of NumPy's as :class:`HostInts`: what it widened to 64 bits is int32 or floatx."""
    used = {"i": "int32", "f": config.floatx()}.get(result.dtype.kind)
    given = [x.dtype for x in operands if hasattr(x, "dtype")]
    if used and result.dtype.itemsize == 8 and result.dtype not in given:
        result = result.astype(dtypes.to_numpy(used))
    sizes: HostInts = result.view(HostInts)
    return sizes


#: The longest constant beside sizes that counts as sizes too.
_LONGEST = 64


def is_sizes(value: Any) -> bool:
    """Whether an operand of a recorded operation is a size: host integers or fixed ones."""
    if type(value) is Constant:
        array = value.value
        fits = isinstance(array, np.ndarray) and array.ndim < 2 and array.size <= _LONGEST
        return fits and array.dtype.kind in "biu"
    return getattr(value, "host", None) is not None or is_host(value)


def is_host(value: Any) -> bool:
    """Whether ``value`` is a host number: HostInts, a Python number or a NumPy one."""
    return isinstance(value, (HostInts, int, float, np.generic))


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
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (int, float)) else None


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


def infer(name: str, args: tuple[Any, ...], function: Callable[..., Any]) -> Known:
    """What is known of the result of a host operation; ``function`` computes it."""
    if name == "shape":
        return Known(tuple(args[0].shape))
    if name == "size":
        sizes = args[0].shape
        return Known(None if None in sizes else int(np.prod(sizes, dtype=np.int64)))
    if name in _OPERATORS and _whole(args):
        return Known(_elementwise(_OPERATORS[name], known(args[0]), known(args[1])))
    if name == "cast" and _whole(args[:1]) and str(args[1]).startswith(("int", "uint")):
        return Known(known(args[0]))
    try:
        with np.errstate(all="ignore"):
            return Known(_numbers(function(*(_fixed(arg, name in _ARRANGING) for arg in args))))
    except _UNKNOWN:
        return Known(True)


#: What NumPy raises where it meets a None, and where a wrong argument will be an error later.
_UNKNOWN = (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError)


def _whole(args: Any) -> bool:
    return all(dtypes.is_integer(arg.dtype) if hasattr(arg, "dtype") else True for arg in args)


def _fixed(value: Any, partly: bool) -> Any:
    """An argument as NumPy takes it; TypeError where it is not known, or only ``partly``."""
    if isinstance(value, slice):
        return slice(*(_fixed(part, False) for part in (value.start, value.stop, value.step)))
    if isinstance(value, (list, tuple)):
        return type(value)([_fixed(item, partly) for item in value])
    if not hasattr(value, "host"):
        return value
    found = known(value)
    if found is None and (value.shape or not partly):
        raise TypeError("unknown")
    if partly and (found is None or (isinstance(found, tuple) and None in found)):
        sizes = np.empty(value.shape, object)
        sizes[...] = found
        return sizes
    return np.asarray(found, dtypes.to_numpy(value.dtype))


def _numbers(result: Any) -> Any:
    """A result of NumPy's as what :class:`Known` holds."""
    result = np.asarray(result)
    if result.ndim > 1:
        return True
    return result.tolist() if result.ndim == 0 else tuple(result.tolist())


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
    if a is None or b is None:
        return None
    try:
        return function(a, b)
    except ZeroDivisionError:
        return None
