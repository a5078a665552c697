"""Why a compiled function failed: the first operation whose operands break its rules.

Sizes that only the run knows are checked by the engine, in its own words and without the name of
an operation. After such a failure the graph is run once more, node by node, with the rules of the
contract asked about the real shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kbridge.errors import KBridgeError
from kbridge.symbolic.draws import host_key
from kbridge.symbolic.messages import located
from kbridge.symbolic.plan import Writer
from kbridge.symbolic.record import Now
from kbridge.symbolic.tensor import Constant, Draw, Placeholder, Tensor, Variable

if TYPE_CHECKING:
    from kbridge.binding import Backend


def fault(
    backend: Backend, feeds: dict[Tensor, Any], wanted: list[Tensor], values: dict[Tensor, Any]
) -> KBridgeError | None:
    """The error of the first operation that its rules refuse; None where there is none."""
    found: dict[Tensor, Any] = dict(feeds)
    writer = Writer(backend, list(feeds), values, host_draws=True)
    with backend.engine.no_gradients(), np.errstate(all="ignore"):
        for node in writer.order(wanted, set(feeds)):
            try:
                found[node] = _value(backend, writer, node, found)
            except KBridgeError as error:
                return error
            except Exception:  # not a matter of shapes: the engine's own error tells more
                return None
    return None


def _value(backend: Backend, writer: Writer, node: Tensor, found: dict[Tensor, Any]) -> Any:
    engine, op = backend.engine, node.op
    if node in writer.values or isinstance(node, Placeholder):
        value = writer.values.get(node, getattr(node, "default", None))
        return engine.constant(np.asarray(value, node.dtype), node.dtype)
    if isinstance(node, Variable):
        return engine.read(node.storage)
    if isinstance(node, Constant):
        return engine.constant(node.value, node.dtype)
    assert op is not None
    args = [_argument(writer, argument, found) for argument in node.args]
    if op.name == "gradients":
        return args[1:]  # their shapes are those of the sources
    if op.name == "item":
        return args[0][args[1]]
    if op.name == "loop":
        return _loop(backend, writer, node, found)
    if isinstance(node, Draw):
        try:
            Now(backend).check(op, tuple(args), node.dtype)
        except KBridgeError as error:
            raise located(error, op, tuple(args)) from None
        args[op.parameters.index("seed")] = host_key(node.seed, 0)
        return engine.from_numpy(np.asarray(backend.host_function(op.name)(*args)), node.dtype)
    if node.host is not None and op.name not in ("shape", "size"):
        return backend.host_function(op.name)(*map(_plain, args))
    way = Now(backend)
    try:
        operands = [
            way.spec(a) if i in op.operand_indices and a is not None else a
            for i, a in enumerate(args)
        ]
        way.check(op, tuple(operands), node.dtype)
        return (op.plain or backend.native[op.name])(*args)
    except KBridgeError as error:
        raise located(error, op, tuple(args)) from None


def _loop(backend: Backend, writer: Writer, node: Tensor, found: dict[Tensor, Any]) -> list[Any]:
    """All results of a loop, one step after the other."""
    body = node.args[0]
    count = len(body.states)

    def step(t: Any, states: Any, elements: Any) -> Any:
        values = {**found, **dict(zip(body.inputs, (*states, *elements), strict=True))}
        for part in writer.order(body.results, set(values)):
            values[part] = _value(backend, writer, part, values)
        results = [values[writer.resolve(result)] for result in body.results]
        return results[:count], results[count:]

    given = [found[writer.resolve(x)] for x in node.inputs[: len(body.inputs)]]
    unrolled = backend.engine.unrolled_loop
    final, outputs = unrolled(step, given[:count], given[count:], body.reverse)
    return [*final, *outputs]


def _argument(writer: Writer, value: Any, found: dict[Tensor, Any]) -> Any:
    if isinstance(value, Tensor):
        return found[writer.resolve(value)]
    if type(value) in (list, tuple):
        return type(value)(_argument(writer, item, found) for item in value)
    if type(value) is slice:
        parts = (value.start, value.stop, value.step)
        return slice(*(_argument(writer, part, found) for part in parts))
    return value


def _plain(value: Any) -> Any:
    return [np.asarray(item) for item in value] if isinstance(value, list) else value
