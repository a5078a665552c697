"""The graph: functions, gradients, values, updates, shapes and names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.api.declare import composite, graph_function, operation
from kbridge.api.rules import TensorLike
from kbridge.errors import ArgumentTypeError, GraphError
from kbridge.symbolic import dtypes, scopes
from kbridge.symbolic.function import Function, Update
from kbridge.symbolic.gradients import gradients as _gradients
from kbridge.symbolic.tensor import Placeholder, Tensor, Variable

# --- what a tensor is --------------------------------------------------------------------------


@operation("x", shape=lambda x: (len(x.shape),), dtype="int32", host=True, differentiable=False)
def shape(x: TensorLike) -> Any:
    """The shape as a vector of int32.

    Of a native tensor: integers on the host where the shape is static.
    """


@operation("x", shape=lambda x, name: (), dtype="int32", host=True, differentiable=False)
def size(x: TensorLike, name: str | None = None) -> Any:
    """The number of elements, int32."""


@graph_function
def int_shape(K: Any, x: TensorLike) -> Any:
    """The static shape as a tuple, with None for unknown sizes."""
    if isinstance(x, Tensor):
        return tuple(x.shape)
    if K.engine.is_native(x):
        return K.engine.shape(x)
    return np.shape(x)


@composite
def ndim(K: Any, x: TensorLike) -> int:
    """The rank."""
    return len(K.int_shape(x))


@graph_function
def dtype(K: Any, x: TensorLike) -> str:
    """The dtype as a string."""
    if isinstance(x, Tensor):
        return x.dtype
    if K.engine.is_native(x):
        return K.engine.dtype(x)  # type: ignore[no-any-return]
    return dtypes.normalize(np.asarray(x).dtype)


@graph_function
def count_params(K: Any, x: TensorLike) -> int:
    """The number of elements as a Python int."""
    sizes = K.int_shape(x)
    if None in sizes:
        raise GraphError(
            f"K.count_params: the shape {sizes} is not fully known; K.size(x) counts at run time."
        )
    return int(np.prod(sizes, dtype=np.int64))


@composite
def get_variable_shape(K: Any, x: TensorLike) -> Any:
    """The static shape: the older name of :func:`int_shape`."""
    return K.int_shape(x)


@graph_function
def is_tensor(K: Any, x: Any) -> bool:
    """Whether ``x`` is a symbolic or native tensor; a NumPy array is none on any backend."""
    return isinstance(x, Tensor) or (K.engine.is_native(x) and not isinstance(x, np.ndarray))


@graph_function
def is_variable(K: Any, x: Any) -> bool:
    """Whether ``x`` is a variable; anything may be asked."""
    return isinstance(x, Variable)


@graph_function
def is_placeholder(K: Any, x: Any) -> bool:
    """Whether ``x`` is a placeholder."""
    return isinstance(x, Placeholder)


@graph_function
def is_symbolic(K: Any, x: Any) -> bool:
    """Whether ``x`` is a tensor of the graph (a variable included)."""
    return isinstance(x, Tensor)


@graph_function
def is_keras_tensor(K: Any, x: Any) -> bool:
    """Whether a Keras layer returned ``x``; a ValueError for what is no tensor."""
    if not K.is_tensor(x):
        raise ArgumentTypeErrorAsValue(
            f"K.is_keras_tensor: expected a symbolic tensor, got {type(x).__name__}: {x!r:.80}"
        )
    return hasattr(x, "_keras_history")


class ArgumentTypeErrorAsValue(ArgumentTypeError, ValueError):
    """A wrong type where the documentation promises a ValueError."""


@graph_function
def is_sparse(K: Any, tensor: TensorLike) -> bool:
    """Whether ``tensor`` is sparse."""
    return bool(getattr(tensor, "sparse", False))


@graph_function
def to_dense(K: Any, tensor: TensorLike) -> Any:
    """``tensor`` as a dense tensor."""
    return K.identity(tensor) if K.is_sparse(tensor) else tensor


# --- values ------------------------------------------------------------------------------------


@graph_function
def eval(K: Any, x: TensorLike) -> Any:
    """The value as a NumPy array that the caller may change."""
    if isinstance(x, Tensor):
        return K.evaluate(x)
    if K.engine.is_native(x):
        return K.engine.to_numpy(x)
    return np.array(x)


@graph_function
def get_value(K: Any, x: TensorLike) -> Any:
    """The value of a variable (or of an expression) as a NumPy array of its own."""
    return K.eval(x)


@graph_function
def batch_get_value(K: Any, ops: Any) -> list[Any]:
    """The values of a list of variables."""
    return [K.eval(x) for x in ops]


@graph_function
def set_value(K: Any, x: Any, value: Any) -> None:
    """Give a variable a value, cast to its dtype; functions already built see it."""
    K.batch_set_value([(x, value)])


@graph_function
def batch_set_value(K: Any, tuples: Any) -> None:
    """Give each variable of a list of ``(variable, value)`` its value, all or none."""
    ready = []
    for x, value in tuples:
        if not isinstance(x, Variable):
            raise ArgumentTypeError(
                f"K.set_value: expected a variable, got {type(x).__name__} {x!r:.80}"
            )
        array = np.array(
            K.evaluate(value) if isinstance(value, Tensor) else K.engine.as_array(value),
            dtypes.to_numpy(x.dtype),
        )
        if array.shape != x.shape:
            from kbridge.errors import ShapeError

            raise ShapeError(
                f"K.set_value: {x!r} takes a value of shape {x.shape}, got {array.shape}"
            )
        ready.append((x, array))
    with K.session.lock:
        for x, array in ready:
            K.engine.set_value(x, array)


# --- functions, updates, gradients -----------------------------------------------------------


@graph_function
def function(
    K: Any,
    /,
    inputs: Any,
    outputs: Any,
    updates: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """A compiled function from ``inputs`` to ``outputs`` that then performs ``updates``."""
    return Function(K, inputs, outputs, updates, name, kwargs)


@graph_function
def gradients(K: Any, loss: TensorLike, variables: Any) -> Any:
    """The gradients of ``loss`` with respect to each of ``variables``, as a list.

    None stands where no differentiable path leads from the variable to the loss.
    """
    return _gradients(K, loss, variables)


def _updated(K: Any, x: Any, value: Any) -> Any:
    """The pair (variable, new value); inside the eager scope also carried out."""
    if not isinstance(x, Variable):
        raise ArgumentTypeError(
            f"K.update: expected a variable, got {type(x).__name__} {x!r:.80}. Make one with "
            f"K.variable(value)."
        )
    if scopes.mode() == "eager":
        K.set_value(x, K.eval(value))
    return Update((x, value))


@graph_function
def update(K: Any, x: Any, new_x: TensorLike) -> Any:
    """The update of ``x`` to ``new_x``, for ``updates=`` of ``K.function``."""
    return _updated(K, x, new_x)


@graph_function
def update_add(K: Any, x: Any, increment: TensorLike) -> Any:
    """The update of ``x`` to ``x + increment``."""
    return _updated(K, x, K.add(x, increment))


@graph_function
def update_sub(K: Any, x: Any, decrement: TensorLike) -> Any:
    """The update of ``x`` to ``x - decrement``."""
    return _updated(K, x, K.subtract(x, decrement))


@graph_function
def moving_average_update(K: Any, x: Any, value: TensorLike, momentum: TensorLike) -> Any:
    """The update of ``x`` to ``x * momentum + value * (1 - momentum)``."""
    kept = K.multiply(x, momentum)
    return _updated(K, x, K.add(kept, K.multiply(value, K.subtract(1.0, momentum))))


# --- names, scopes, sessions -------------------------------------------------------------------


@composite
def name_scope(K: Any, name: str | None) -> Any:
    """A context that prefixes the names of variables made inside with ``name/``."""
    return scopes.name_scope(name)


@composite
def get_uid(K: Any, prefix: str = "") -> int:
    """The next number of ``prefix``, from 1."""
    return K.session.uid(prefix)  # type: ignore[no-any-return]


@composite
def reset_uids(K: Any) -> None:
    """Let the numbers of :func:`get_uid` start again."""
    K.session.uids.clear()


@graph_function
def clear_session(K: Any) -> None:
    """Reset names and the learning phase; tensors, variables and functions stay valid."""
    K.session.uids.clear()
    K.session.learning_phase = None


@composite
def eager(K: Any, func: Callable[..., Any]) -> Any:
    """``func`` with everything inside run now; see :func:`eager_scope`."""
    return scopes.inside(scopes.eager_scope, func)


@composite
def symbolic(K: Any, func: Callable[..., Any]) -> Any:
    """``func`` with everything inside recorded; see :func:`symbolic_scope`."""
    return scopes.inside(scopes.symbolic_scope, func)


@composite
def eager_scope(K: Any) -> Any:
    """A context in which everything runs now on the engine, updates included."""
    return scopes.eager_scope()


@composite
def symbolic_scope(K: Any) -> Any:
    """A context in which everything is recorded, native tensors as constants."""
    return scopes.symbolic_scope()


@composite
def backend(K: Any) -> str:
    """The name of the backend."""
    return K.name  # type: ignore[no-any-return]
