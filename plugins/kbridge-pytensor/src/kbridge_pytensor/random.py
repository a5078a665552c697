"""Random numbers: NumPy's generator at each run, so the numbers of every backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytensor.tensor as pt

from kbridge.binding import host_functions
from kbridge.symbolic.draws import host_key
from kbridge.symbolic.printing import printer
from kbridge_pytensor import loop
from kbridge_pytensor.creation import dims
from kbridge_pytensor.engine import contract, numpy_dtype, plain_getitem
from kbridge_pytensor.host import Host


class _Stream:
    """Where in the stream of its seed a draw is; inside loops each step has a part of its own."""

    def __init__(self) -> None:
        self.run = -1
        self.seen: set[Any] = set()

    def position(self, steps: tuple[Any, ...]) -> Any:
        numbers = tuple(map(int, steps))
        if not self.seen or numbers in self.seen:  # another run begins
            self.run += 1
            self.seen.clear()
        self.seen.add(numbers)
        return (self.run, *numbers) if numbers else self.run


class _Draw(Host):
    """Its first input is the shape of the result, which so is known without a draw."""

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        return [tuple(plain_getitem(node.inputs[0], i) for i in range(self.otype.ndim))]


def _draw(name: str) -> Callable[..., Any]:
    numbers = host_functions()[name]

    def draw(shape: Any, low: float, high: float, dtype: str, seed: int) -> Any:
        sizes = dims(shape)
        vector = pt.stack([pt.as_tensor(size, dtype="int64") for size in sizes]) if sizes else []
        known = [size if isinstance(size, int) else None for size in sizes]
        stream = _Stream()

        def drawn(sizes: Any, *steps: Any) -> Any:
            key = host_key(seed, stream.position(steps))
            return numbers(tuple(sizes.tolist()), low, high, dtype, key)

        vector = pt.as_tensor(vector, dtype="int64")
        return _Draw(drawn, str(numpy_dtype(dtype)), known)(vector, *loop.steps.get())

    return contract(draw, name)


random_normal, random_uniform, truncated_normal = map(
    _draw, ("random_normal", "random_uniform", "truncated_normal")
)


@contract
def print_tensor(x: Any, message: str = "", summarize: int = 3) -> Any:
    show = printer(message, summarize)

    def printed(array: Any) -> Any:
        show(array)
        return array

    return Host(printed, x.type.dtype, x.type.shape, passes=True)(x)
