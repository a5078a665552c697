"""NumPy as an engine: arrays are its tensors, the graph's own autodiff differentiates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kbridge.api.declare import Operation
from kbridge.backends.engine import Engine
from kbridge.symbolic import dtypes


class NumPyEngine(Engine):
    """Storage is never written in place, so that arrays may be shared inside the graph."""

    name = "numpy"
    title = "NumPy"
    tensor_class = np.ndarray
    arrays_are_native = True

    def is_native(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def shape(self, native: Any) -> tuple[int, ...]:
        return native.shape

    def from_numpy(self, array: Any, dtype: str) -> Any:
        return np.array(array, dtypes.to_numpy(dtype))

    def to_numpy(self, native: Any) -> Any:
        return np.array(native)

    def from_feed(self, array: Any, dtype: str) -> Any:
        return array

    def cast(self, native: Any, dtype: str) -> Any:
        return native.astype(dtypes.to_numpy(dtype))

    def assign(self, variable: Any, native: Any, copy: bool) -> None:
        variable.storage = np.array(native) if copy else np.asarray(native)

    def dtype_guards(self, op: Operation, names: Sequence[str]) -> list[str]:
        guards = []
        if op.floating:
            guards.append(f"{names[0]}.dtype.kind == 'f'")
        guards += [f"{name}.dtype is {names[0]}.dtype" for name in names[1:] if op.promoted]
        return guards
