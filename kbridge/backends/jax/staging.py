"""What JAX's tracing asks of the primitives: static arguments, known sizes, the 64-bit mode.

A primitive of several steps is :func:`compiled`, to be one XLA program also when it is called
eagerly. What a dispatcher calls at once is :func:`guarded`: it looks at the operands' dtypes
while it is traced, once per signature, so that no call pays for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from kbridge.api.declare import Operation
from kbridge.errors import ArgumentTypeError, UnsupportedError
from kbridge.symbolic import dtypes

try:
    from jax.core import trace_state_clean
except ImportError:  # no longer public, but nothing else tells whether a trace is on
    from jax._src.core import trace_state_clean

try:
    from jax import enable_x64
except ImportError:
    from jax.experimental import enable_x64

try:
    from jax._src.core import get_opaque_trace_state as _trace_state
except ImportError:
    _trace_state = None

__all__ = [
    "Tracer",
    "compiled",
    "enable_x64",
    "entry",
    "guarded",
    "in_width",
    "numbers",
    "sizes",
    "strong",
    "trace_state",
    "trace_state_clean",
]


def trace_state() -> Any:
    """Something that equals itself as long as the same trace goes on."""
    return None if _trace_state is None else _trace_state(convention="flax")


# --- compiled primitives -------------------------------------------------------------------------


def compiled(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """One program of all steps; arguments named in ``static`` hash and are part of the program."""
    return functools.partial(jax.jit, static_argnames=static, inline=True)


def guarded(*static: str, floating: bool = False) -> Callable[..., Callable[..., Any]]:
    """Compiled, and returning ``()`` for operands that only the slow path treats right.

    These are 64-bit ones outside of 64-bit mode, and others than floats where the function is
    ``floating``. Weak dtypes, those of Python numbers, become strong.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any) -> Any:
            result = () if _declined(args, floating) else function(*_strong_arrays(args))
            return result if isinstance(result, tuple) else strong(result)

        return compiled(*static)(run)

    return decorate


def entry(op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive of operands alone as a dispatcher calls it: guarded.

    Declined are also bools where the operation is for numbers, and weak scalars where it makes a
    difference for the result's dtype whether they are Python numbers or arrays that came from one.
    """

    def run(*args: Any) -> Any:
        if op.numeric and all(a.dtype == bool for a in _arrays(args)):
            return ()
        meeting = _arrays([args[i] for i in op.promoted])
        scalars = [a.dtype for a in meeting if a.aval.weak_type and not a.ndim]
        if scalars:
            others = {a.dtype for a in meeting if a.ndim or not a.aval.weak_type}
            one = others.pop() if len(others) == 1 else np.dtype(bool)
            if not _is_float(one) or jnp.promote_types(one, jnp.result_type(*scalars)) != one:
                return ()
        return function(*args)

    return guarded(floating=op.floating)(run)


def _arrays(args: Any) -> list[Any]:
    return [a for a in jax.tree_util.tree_leaves(args) if isinstance(a, jax.Array)]


def _is_float(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating))


def _declined(args: Any, floating: bool) -> bool:
    found = [a.dtype for a in _arrays(args)]
    wide = any(dtype.itemsize == 8 for dtype in found)
    return (wide and not jax.config.jax_enable_x64) or (floating and not _is_float(found[0]))


def _strong_arrays(args: Any) -> Any:
    return jax.tree_util.tree_map(
        lambda a: strong(a) if isinstance(a, jax.Array) and a.ndim else a, args
    )


# --- dtypes --------------------------------------------------------------------------------------


def in_width(dtype: str, function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)``, in 64-bit mode where its result has a 64-bit ``dtype``."""
    if dtypes.is_64bit(dtype):
        with enable_x64(True):
            return function(*args)
    return function(*args)


def strong(x: Any) -> Any:
    """``x`` with a dtype of its own, where it came from a Python number and has a weak one."""
    aval = x.aval
    return lax.convert_element_type(x, aval.dtype) if aval.weak_type else x


# --- sizes ---------------------------------------------------------------------------------------


def sizes(value: Any, name: str) -> Any:
    """Sizes as Python integers; one that only the data tell is an error while JAX traces."""
    if value.__class__ is int:
        return value
    if isinstance(value, (tuple, list)):
        return tuple([n if n.__class__ is int else sizes(n, name) for n in value])
    found = numbers(value, name)
    for n in found if isinstance(found, tuple) else (found,):
        if isinstance(n, float):  # which JAX takes where an equal integer was before
            raise ArgumentTypeError(f"K.{name}: a size must be an integer, got {n!r}")
    return found


def numbers(value: Any, name: str) -> Any:
    """The same of numbers that need not be whole."""
    if isinstance(value, Tracer):
        raise UnsupportedError(
            f"K.{name}: a size that depends on data is not known while JAX compiles, where every "
            f"shape must follow from shapes. Take sizes from K.shape, pad to a fixed size, or "
            f"compute the size before and pass it as a Python integer."
        )
    if isinstance(value, (np.ndarray, jax.Array)):
        found = np.asarray(value).tolist()
        return tuple(found) if isinstance(found, list) else found
    return value
