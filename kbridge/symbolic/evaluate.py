"""Values outside compiled functions: ``K.eval``, ``np.asarray(t)``, operands read at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kbridge.errors import GraphError, SymbolicError
from kbridge.symbolic import dependencies, dtypes, host, scopes, sparse
from kbridge.symbolic.plan import generate
from kbridge.symbolic.tensor import Constant, Placeholder, Tensor, Variable

if TYPE_CHECKING:
    from kbridge.binding import Backend


def evaluate(backend: Backend, tensor: Tensor) -> Any:
    """The value as a NumPy array that the caller may keep and change."""
    if tensor.sparse:
        tensor = sparse.densified(backend, tensor)
    if isinstance(tensor, Variable):
        return backend.engine.to_numpy(backend.engine.read(tensor.storage))
    if tensor.fed and host.is_fully_known(tensor):
        return np.array(host.known(tensor), dtypes.to_numpy(tensor.dtype))
    _check(tensor)
    with backend.engine.no_gradients():
        _perform(backend, dependencies.of((tensor,)))
        return backend.engine.to_numpy(_run(backend, (tensor,))[0])


def native_value(backend: Backend, tensor: Tensor) -> Any:
    """The value as a native tensor, read now and differentiable by the engine."""
    if isinstance(tensor, Variable):
        return backend.engine.read(tensor.storage)
    if isinstance(tensor, Constant):
        return backend.engine.constant(tensor.value, tensor.dtype)
    _check(tensor)
    return _run(backend, (tensor,))[0]


def _perform(backend: Backend, updates: Sequence[Any]) -> None:
    """Give variables their new values; all of these are computed first."""
    if not updates:
        return
    values = [backend.new_value(variable, value) for variable, value in updates]
    for value in values:
        _check(value)
    engine = backend.engine
    with backend.session.lock:
        results = [engine.to_numpy(result) for result in _run(backend, values)]
        for (variable, _), result in zip(updates, results, strict=True):
            engine.set_value(variable, result)


def _run(backend: Backend, tensors: Sequence[Tensor]) -> list[Any]:
    engine = backend.engine
    values: dict[Tensor, Any] = {backend.phase_placeholder: 0}
    in_graph = engine.in_graph()
    plan = generate(backend, (), tensors, values=values, host_draws=not in_graph)
    if plan.draws and not in_graph:
        engine.check_draw()
    variables = [engine.read(v.storage) for v in plan.variables]
    keys = [engine.graph_position(d.seed) for d in plan.draws] if in_graph else plan.keys()
    return engine.run_now(plan, variables, keys)  # type: ignore[no-any-return]


def _check(tensor: Tensor) -> None:
    if tensor.fed:
        kind = "a placeholder" if isinstance(tensor, Placeholder) else "placeholders"
        raise GraphError(
            f"{tensor!r} depends on {kind}, so it has no value by itself. Build "
            f"f = K.function([placeholder, ...], [tensor]) and call f([value, ...])."
        )


def array_function(func: Any, args: Any, kwargs: Any) -> Any:
    """``np.func(tensor)``: on the values inside the eager scope, else refused."""
    name = f"np.{getattr(func, '__name__', func)}"
    if scopes.mode() != "eager":
        raise SymbolicError(
            f"{name} was called on a symbolic tensor, which would take it out of the graph. Use "
            f"the K function of that kind, or {name}(K.eval(tensor)) for its present value."
        )
    return func(*_values(args), **dict(zip(kwargs, _values(kwargs.values()), strict=False)))


def _values(args: Any) -> list[Any]:
    return [
        np.asarray(a)
        if isinstance(a, Tensor)
        else type(a)(_values(a))
        if type(a) in (list, tuple)
        else a
        for a in args
    ]


def tf_tensor(backend: Backend, tensor: Tensor, dtype: Any) -> Any:
    """``tf.func(tensor)``: the native value inside the eager scope, else refused."""
    if scopes.mode() != "eager":
        raise SymbolicError(
            f"a TensorFlow function was called on {tensor!r}, which would take it out of the "
            f"graph. Use the K function of that kind, K.lift(function), or a variable's .value."
        )
    return backend.engine.as_tf(native_value(backend, tensor), dtype)
