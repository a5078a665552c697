"""NumPy as an engine: arrays are its tensors, the graph's own autodiff differentiates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kbridge.api.declare import Operation
from kbridge.backends.engine import Engine
from kbridge.symbolic import dtypes

#: Operations along one axis that NumPy carries out along all where it is None.
_ONE_AXIS = frozenset({"argmax", "argmin", "softmax", "repeat_elements"})


class NumPyEngine(Engine):
    """Storage is never written in place, so that arrays may be shared inside the graph."""

    name = "numpy"
    title = "NumPy"
    tensor_class = np.ndarray
    arrays_are_native = True

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

    # NumPy warns of 1 / 0 and of overflow, where the other engines return inf or nan. A plan and
    # an operation on the slow path run without; on the fast path, which has no time for that, the
    # filter below hides the warning, or the dispatcher meets it as an error and tries again.

    def jit(self, plan: Any, feeds: Sequence[Any], options: dict[str, Any]) -> Callable[..., Any]:
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
    if int(np.__version__.partition(".")[0]) > 1:
        return np.errstate(all="ignore")(function)  # twice as fast, and fit for threads only then

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return run


def _fixed(array: Any) -> Any:
    """Storage or a constant, which a view handed out in the eager scope cannot change."""
    array.flags.writeable = False
    return array


warnings.filterwarnings(
    "ignore", category=RuntimeWarning, module=r"kbridge\.(dispatchers|backends\.numpy)"
)
