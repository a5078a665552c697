"""NumPy as an engine: arrays are its tensors, the graph's own autodiff differentiates."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from kbridge.api.declare import Operation
from kbridge.backends.engine import Engine
from kbridge.backends.numpy import linalg
from kbridge.backends.numpy import sparse as matrices
from kbridge.symbolic import dtypes

#: Operations along one axis that NumPy carries out along all where it is None.
_ONE_AXIS = frozenset({"argmax", "argmin", "softmax", "repeat_elements"})


class NumPyEngine(Engine):
    """Storage is never written in place, so that arrays may be shared inside the graph."""

    name = "numpy"
    title = "NumPy"
    tensor_class = np.ndarray
    arrays_are_native = True
    sparse = matrices
    in_plans = MappingProxyType({linalg.dot: linalg.dot_in_plans})

    def is_native(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def taken(self, native: Any) -> Any:
        dtype = native.dtype
        return native if dtype.isnative else native.astype(dtype.newbyteorder("="))

    def shape(self, native: Any) -> tuple[int, ...]:
        return native.shape

    def from_numpy(self, array: Any, dtype: str) -> Any:
        return np.array(array, dtypes.to_numpy(dtype))

    def to_numpy(self, native: Any) -> Any:
        return np.array(native)

    def from_feed(self, array: Any, dtype: str) -> Any:
        return array

    def quick_feed(self, dtype: str) -> tuple[str, str]:
        return "", "{}"

    def hand_out(self, results: list[Any]) -> list[Any]:
        for i in range(len(results)):
            if _holders(results, i) != _ONE:
                results[i] = np.array(results[i])
        return results

    def constant(self, value: Any, dtype: str) -> Any:
        return _fixed(np.asarray(value, dtypes.to_numpy(dtype)))

    def cast(self, native: Any, dtype: str) -> Any:
        return native.astype(dtypes.to_numpy(dtype), copy=False)

    def storage(self, array: Any, dtype: str, name: str) -> Any:
        return _fixed(np.array(array, dtypes.to_numpy(dtype)))

    def assign(self, variable: Any, native: Any, copy: bool) -> None:
        variable.storage = _fixed(np.array(native) if copy else np.asarray(native))

    def set_value(self, variable: Any, array: Any) -> None:
        variable.storage = self.storage(array, variable.dtype, variable.name)

    def stack(self, natives: Sequence[Any]) -> Any:
        return np.stack(natives)

    # NumPy warns of 1 / 0 and of overflow, where the other engines return inf or nan. A plan and
    # an operation on the slow path run without; on the fast path, which has no time for that, the
    # filter below hides the warning, or the dispatcher meets it as an error and tries again.

    options: Mapping[str, Any] = MappingProxyType({"device": None})

    def jit(self, plan: Any, feeds: Sequence[Any], options: dict[str, Any]) -> Callable[..., Any]:
        if options["device"] not in (None, "cpu"):
            raise self.no_device(options["device"], ["cpu"])
        return _quiet(plan.run)

    def run_now(self, plan: Any, variables: list[Any], keys: list[int]) -> list[Any]:
        return _quiet(plan.run)((), variables, keys)

    def run(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return _quiet(function)(*args)

    run_wide = run

    def dtype_guards(self, op: Operation, names: Sequence[str]) -> list[str]:
        guards = ["axis is not None"] if op.name in _ONE_AXIS else []
        if op.floating:
            guards.append(self.float_guard(names[0]))
        elif op.numeric:
            guards.append(f"{names[0]}.dtype.kind != 'b'")
        first, *others = [n for n in names if op.parameters.index(n) in op.promoted] or [""]
        return guards + [f"{name}.dtype is {first}.dtype" for name in others]

    def float_guard(self, name: str) -> str:
        return f"{name}.dtype.kind == 'f'"


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    if _errors is not None:
        set_errors, reset, ignore = _errors.set, _errors.reset, _ignore

        def run(*args: Any) -> Any:
            token = set_errors(ignore)
            try:
                return function(*args)
            finally:
                reset(token)

    else:

        def run(*args: Any) -> Any:
            with np.errstate(all="ignore"):
                return function(*args)

    return run


try:
    # What np.errstate sets and resets, which takes five times as long; its name is not documented.
    from numpy._core import umath

    _errors: Any = umath._extobj_contextvar
    with np.errstate(all="ignore"):
        _ignore = _errors.get()
except (ImportError, AttributeError):  # also NumPy 1
    _errors = None


_references = getattr(sys, "getrefcount", id)  # without counts nothing is found to be free


def _holders(results: list[Any], i: int) -> int:
    """How many hold the array ``results[i]``; -1 where it is none to be handed out as it is.

    A view counts as a holder of the array whose memory it shares.
    """
    result = results[i]
    if result.__class__ is np.ndarray and result.base is None and result.flags.writeable:
        return _references(result)
    return -1


#: What it says where the list alone does.
_ONE = _holders([np.empty(1)], 0)


def _fixed(array: Any) -> Any:
    """Storage or a constant, which a view handed out in the eager scope cannot change."""
    array.flags.writeable = False
    return array


warnings.filterwarnings(
    "ignore", category=RuntimeWarning, module=r"kbridge\.(dispatchers|backends\.numpy)"
)
