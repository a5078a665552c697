"""The way to the whole engine: any native function as a recorded operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kbridge.api.declare import graph_function, lifted
from kbridge.errors import ArgumentTypeError
from kbridge.symbolic import dtypes, record, shapes
from kbridge.symbolic.tensor import Tensor


@graph_function
def lift(K: Any, fn: Callable[..., Any], shape: Any = None, dtype: Any = None) -> Any:
    """A K function made of ``fn``, a function of the engine over its native tensors.

    The result takes tensors as positional arguments, and passes keyword arguments on as they are.
    It is recorded or runs now like any other operation. Shape and dtype of what it returns are
    found by the engine's abstract evaluation, or given: ``shape`` as a tuple or as a function of
    the operands' shapes, ``dtype`` as a name. The engine differentiates through it; on NumPy, where
    the graph itself does that, it has no gradient. What is not callable raises ArgumentTypeError.

    >>> cube = K.lift(lambda x: x * x * x)
    >>> K.eval(cube(K.constant([1.0, 2.0]))).tolist()
    [1.0, 8.0]
    """
    if not callable(fn):
        raise ArgumentTypeError(f"K.lift: fn must be a function, not {type(fn).__name__}: {fn!r}")

    def recorded(*operands: Any, **keywords: Any) -> Any:
        function = _with_keywords(fn, keywords)
        op = lifted(function, len(operands), _rules(K, function, shape, dtype))
        if not any(isinstance(operand, Tensor) for operand in operands):
            return record.Now(K).run(op, operands)
        return record.apply(K, op, operands)

    recorded.__name__ = getattr(fn, "__name__", "lifted")
    recorded.__doc__ = fn.__doc__
    return recorded


def _with_keywords(fn: Callable[..., Any], keywords: dict[str, Any]) -> Callable[..., Any]:
    if not keywords:
        return fn

    def bound(*operands: Any) -> Any:
        return fn(*operands, **keywords)

    bound.__name__ = getattr(fn, "__name__", "lifted")
    return bound


def _rules(K: Any, function: Callable[..., Any], shape: Any, dtype: Any) -> Any:
    """The shape rule and the dtype rule; what is not given is asked of the engine, once."""
    found: list[Any] = []

    def infer(operands: tuple[Any, ...]) -> Any:
        if not found:
            found.append(K.engine.abstract(function, [(t.shape, t.dtype) for t in operands]))
        return found[0]

    def shape_rule(*operands: Any) -> Any:
        if shape is None:
            return infer(operands)[0]
        sizes = shape(*(t.shape for t in operands)) if callable(shape) else shape
        return shapes.shape_argument(sizes)

    def dtype_rule(*operands: Any) -> Any:
        return infer(operands)[1] if dtype is None else dtypes.normalize(dtype)

    return shape_rule, dtype_rule
