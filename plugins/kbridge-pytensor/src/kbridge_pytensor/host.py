"""Steps of a program that run in Python: draws, checks, printing, the search for labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.type import TensorType


class Host(Op):
    """``function`` of NumPy arrays, called at each run; each object is an operation of its own.

    With ``passes`` the result is the first input, and a derivative passes through to it.
    """

    def __init__(
        self, function: Callable[..., Any], dtype: str, shape: Sequence[Any], passes: bool = False
    ) -> None:
        super().__init__()
        self.function = function
        self.otype = TensorType(dtype, shape=tuple(shape))
        self.passes = passes

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [pt.as_tensor(each) for each in inputs], [self.otype()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        found = np.asarray(self.function(*inputs), self.otype.numpy_dtype)
        output_storage[0][0] = found.copy() if self.passes else found

    def do_constant_folding(self, fgraph: Any, node: Any) -> bool:
        return False

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[self.passes and i == 0] for i in range(len(node.inputs))]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        first = cotangents[0] if self.passes else DisconnectedType()()
        return [first, *(DisconnectedType()() for _ in inputs[1:])]


class _Weighted(Op):
    """The first input, whose derivative is multiplied by the second."""

    __props__ = ()
    view_map = {0: [0]}  # noqa: RUF012  # as PyTensor wants it

    def make_node(self, x: Any, weight: Any) -> Apply:
        return Apply(self, [x, weight], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = inputs[0]

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        return shapes[:1]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[True], [False]]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return [cotangents[0] * inputs[1], DisconnectedType()()]


weighted = _Weighted()
