"""Dtypes are plain strings; here are their names, their promotion, and what operations return.

One table holds on every engine: the public JAX lattice. Python numbers and NumPy scalars are
*weak*: they have a kind ("b", "i" or "f") and no width, so they never widen a tensor.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from kbridge.errors import ArgumentTypeError, DTypeError, UnsupportedError

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
INTEGERS = frozenset(
    {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"},
)
DTYPES = FLOATS | INTEGERS | {"bool"}
_WIDE = frozenset({"float64", "int64", "uint64"})


# --- names -----------------------------------------------------------------------------------

# Every spelling met so far; it starts with the names, and with the words that NumPy would read
# as 64-bit (`float`, `int`) but TensorFlow and this package do not.
_NAMES: dict[Any, str] = {name: name for name in DTYPES}
_NAMES.update({"half": "float16", "float": "float32", "double": "float64", "int": "int32"})
_NAMES.update({bool: "bool", int: "int32", float: "float32"})


def normalize(dtype: object) -> str:
    """Return the name of ``dtype``, whatever it is written as.

    It may be a name, a NumPy dtype, scalar type or code, a Python type (``int`` and ``float``
    are 32 bits wide, as in TensorFlow), or a dtype object of any engine.
    """
    try:
        if not isinstance(dtype, int):  # TensorFlow's dtypes equal their numbers
            return _NAMES[dtype]
        name = None
    except (KeyError, TypeError):
        name = _foreign_name(dtype)
    if name not in DTYPES:
        raise DTypeError(
            f"{dtype!r:.80} is not a dtype that kbridge knows; use one of "
            f"{', '.join(sorted(DTYPES))}, or the dtype object of NumPy or of an engine"
        )
    if isinstance(dtype, Hashable):
        _NAMES[dtype] = name
    return name


def _foreign_name(dtype: object) -> str | None:
    """Return the name that NumPy or the dtype object itself gives, None if there is none."""
    if dtype is None:  # np.dtype(None) is float64
        return None
    if isinstance(dtype, (str, type)):
        try:
            return str(np.dtype(dtype).name)
        except (TypeError, ValueError):
            return None
    if type(dtype).__module__ == "torch" and type(dtype).__name__ == "dtype":
        return str(dtype).removeprefix("torch.")
    name = None if hasattr(dtype, "dtype") else getattr(dtype, "name", None)  # no tensor, please
    return name if isinstance(name, str) else None


_NUMPY: dict[str, np.dtype[Any]] = {}


def to_numpy(dtype: str) -> np.dtype[Any]:
    """Return the NumPy dtype; that of bfloat16 comes from ``ml_dtypes``."""
    found = _NUMPY.get(dtype)
    if found is None:
        name = normalize(dtype)
        if name == "bfloat16":
            try:
                name = importlib.import_module("ml_dtypes").bfloat16
            except ModuleNotFoundError as error:
                raise UnsupportedError(
                    "bfloat16 in NumPy needs the package ml_dtypes: pip install ml_dtypes"
                ) from error
        found = _NUMPY[dtype] = np.dtype(name)
    return found


def is_float(dtype: str) -> bool:
    """Return whether ``dtype`` is a floating type."""
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    """Return whether ``dtype`` is a signed or unsigned integer type (bool is neither)."""
    return dtype in INTEGERS


def is_bool(dtype: str) -> bool:
    """Return whether ``dtype`` is the truth type."""
    return dtype == "bool"


def is_64bit(dtype: str) -> bool:
    """Return whether ``dtype`` is 64 bits wide, which JAX has only under ``enable_x64``."""
    return dtype in _WIDE


# --- promotion -------------------------------------------------------------------------------

# JAX's lattice: from a type to the next wider ones. "float*" is the float of no width, where
# uint64 meets the signed integers; on its own it is float64.
_WIDER = {
    "bool": ("uint8", "int8"),
    "uint8": ("uint16", "int16"),
    "int8": ("int16",),
    "uint16": ("uint32", "int32"),
    "int16": ("int32",),
    "uint32": ("uint64", "int64"),
    "int32": ("int64",),
    "uint64": ("float*",),
    "int64": ("float*",),
    "float*": ("float16", "bfloat16"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "float32": ("float64",),
    "float64": (),
}


def _joins() -> dict[tuple[str, str], str]:
    """Return the least upper bound of each pair: the one whose upper set is the common one."""
    above: dict[str, frozenset[str]] = {}
    for name in reversed(_WIDER):  # the wider ones stand further down, so they are known already
        above[name] = frozenset({name}).union(*(above[wider] for wider in _WIDER[name]))
    by_upper_set = {upper: name for name, upper in above.items()}
    return {(a, b): by_upper_set[above[a] & above[b]] for a in above for b in above}


_JOIN = _joins()
_PROMOTED = {pair: "float64" if join == "float*" else join for pair, join in _JOIN.items()}


def promote(a: str, b: str) -> str:
    """Return the dtype in which tensors of the dtypes ``a`` and ``b`` meet."""
    try:
        return _PROMOTED[a, b]
    except KeyError:
        return _PROMOTED[normalize(a), normalize(b)]


def promote_all(*dtypes: str) -> str:
    """Return the dtype in which tensors of all ``dtypes`` meet, independent of their order.

    It is not a fold of :func:`promote`: uint64, int8 and float32 meet in float32, though the
    first two alone meet in float64.
    """
    if not dtypes:
        raise DTypeError("at least one dtype is needed")
    join = normalize(dtypes[0])
    for dtype in dtypes[1:]:
        join = _JOIN[join, normalize(dtype)]
    return "float64" if join == "float*" else join


# --- what operations return ------------------------------------------------------------------


def result_of(operand_dtypes: Sequence[str], weak_kinds: Sequence[str], floatx: str) -> str:
    """Return the dtype of an operation on tensors of these dtypes and scalars of these kinds.

    A weak scalar never widens: with a float tensor, or as an integer with an integer tensor, it
    takes the tensor's dtype. A weak float makes an integer or bool tensor ``floatx``, a weak
    integer makes a bool tensor int32, and weak scalars alone are ``floatx``.
    """
    if not operand_dtypes:
        return floatx
    strong = operand_dtypes[0]
    for dtype in operand_dtypes:
        if dtype != strong:
            strong = promote_all(*operand_dtypes)
            break
    if strong in FLOATS or not weak_kinds:
        return strong
    if "f" in weak_kinds:
        return floatx
    return "int32" if strong == "bool" and "i" in weak_kinds else strong


def floating(dtype: str, floatx: str) -> str:
    """Return the dtype of a float-only function (exp, mean, softmax) of a ``dtype`` tensor."""
    return dtype if dtype in FLOATS else floatx


def accumulate(dtype: str) -> str:
    """Return the dtype of a sum, product or running sum of ``dtype``: a bool is counted."""
    return "int32" if dtype == "bool" else dtype


_KINDS: dict[type, str] = {bool: "b", int: "i", float: "f", np.bool_: "b"}


def kind_of_value(x: object) -> str:
    """Return the kind of a weak scalar: "b", "i" or "f".

    Weak are Python's bool, int and float, NumPy's scalars, and NumPy arrays of rank 0.
    """
    kind = _KINDS.get(type(x))
    if kind is not None:
        return kind
    if isinstance(x, (np.generic, np.ndarray)):
        if x.ndim:
            raise ArgumentTypeError(f"expected a scalar, got an array of shape {x.shape}")
        dtype = normalize(x.dtype)
        return "f" if dtype in FLOATS else "i" if dtype in INTEGERS else "b"
    if isinstance(x, (int, float)):
        return "f" if isinstance(x, float) else "i"
    if isinstance(x, complex):
        raise DTypeError(f"complex numbers are not supported, got {x!r}")
    raise ArgumentTypeError(
        f"expected a number or a NumPy scalar, got an object of type {type(x).__name__}"
    )
