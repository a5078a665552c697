"""Now or later: what an operation does when its operands are not all native tensors.

The rule (docs/design.md): with a placeholder upstream the operation is recorded; else with a
native tensor among its operands it runs now; else it is recorded, and evaluated when its value
is asked for. Both ways bring operands to one dtype by the same table and check shapes by the
same rules; only what an operand becomes differs, which :class:`Later` and :class:`Now` hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kbridge import config
from kbridge.api.declare import OPERATIONS, Operation
from kbridge.errors import ArgumentError, ArgumentTypeError, DTypeError, GraphError, KBridgeError
from kbridge.symbolic import dtypes, host, scopes, shapes, sparse, tensor
from kbridge.symbolic.draws import host_key
from kbridge.symbolic.host import HostInts
from kbridge.symbolic.messages import located
from kbridge.symbolic.tensor import Constant, Draw, Tensor

if TYPE_CHECKING:
    from kbridge.binding import Backend

_NUMBERS = (bool, int, float, np.generic)


class Spec:
    """Shape and dtype of a native operand, for the rules of the contract."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int | None, ...], dtype: str) -> None:
        self.shape = shape
        self.dtype = dtype


def is_number(value: Any) -> bool:
    """Whether ``value`` is weak: a Python number, a NumPy scalar or a 0-d array."""
    return isinstance(value, _NUMBERS) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and not isinstance(value, HostInts)
    )


def operate(backend: Backend, name: str, args: tuple[Any, ...]) -> Any:
    """Apply an operator of a Tensor."""
    return apply(backend, OPERATIONS[name], args)


tensor._operate = operate


def apply(backend: Backend, op: Operation, args: tuple[Any, ...]) -> Any:
    """Record the operation or run it now, by the one rule."""
    if op.plain_operands:
        recorded = _record_plain(backend, op, args)
        if recorded is not None:
            return recorded
    if op.name == "getitem":
        args = (args[0], index_key(args[1]))
    if op.each and isinstance(args[0], (list, tuple)):
        return [apply(backend, op, (item, *args[1:])) for item in args[0]]
    if not op.listed:
        for index in op.operand_indices:
            if isinstance(args[index], (list, tuple)) and _holds_tensors(backend, args[index]):
                stacked = backend.operations["stack"](list(args[index]))
                args = (*args[:index], stacked, *args[index + 1 :])
    symbolic = fed = native = sizes = matrices = False
    is_native = backend.engine.is_native
    for leaf in leaves(op, args):
        if isinstance(leaf, Tensor):
            symbolic = True
            fed = fed or leaf.fed
            matrices = matrices or leaf.sparse
            if leaf.backend is not backend:
                raise ArgumentError(
                    f"K.{op.name}: {leaf!r} belongs to the backend {leaf.backend.name!r}, this "
                    f"operation to {backend.name!r}. Pass K.get_value(tensor) across backends."
                )
        elif type(leaf) is HostInts:
            sizes = True
        elif is_native(leaf):
            native = True
            matrices = matrices or sparse.is_native(backend.engine, leaf)
        elif hasattr(leaf, "shape") and sparse.is_sparse(backend.engine, leaf):
            matrices = True
            native = native or sparse.is_native(backend.engine, leaf)
    if matrices and op.topic != "sparse" and op.name != "shape":
        try:
            return sparse.take(backend, op, args)
        except KBridgeError as error:
            raise located(error, op, args) from error.__cause__
    if op.random and is_native(args[op.parameters.index("seed")]):
        native = True
    scope = scopes.mode()
    if sizes and op.host and all(host.is_host(leaf) for leaf in leaves(op, args)):
        return _on_host(backend, op, args)
    if scope == "symbolic":
        return Later(backend).run(op, args)
    if fed:
        if scope == "eager":
            raise GraphError(
                f"K.{op.name} depends on a placeholder, which has no value inside eager_scope(). "
                f"Build the graph outside the scope, or pass values instead of placeholders."
            )
        return Later(backend).run(op, args)
    if scope == "eager" or (native and not (symbolic and backend.engine.arrays_are_native)):
        if native and symbolic and (read := _read(backend, op, args)) is not None:
            try:
                return backend.operations[op.name](*read)  # where the fast path may take it
            except KBridgeError:
                pass  # below it comes again, with the names of the variables
        return Now(backend).run(op, args)
    if backend.engine.arrays_are_native and not symbolic and op.operand_indices:
        return Now(backend).run(op, args)
    return Later(backend).run(op, args)


def is_recorded(backend: Backend, values: Sequence[Any]) -> bool:
    """The one rule for a function of many operations, a loop: whether it is recorded as a whole."""
    mode = scopes.mode()
    if not backend.engine.has_graph:
        return False
    symbolic = any(isinstance(value, Tensor) for value in values)
    if mode is not None or any(isinstance(value, Tensor) and value.fed for value in values):
        return mode != "eager"
    native = backend.engine.arrays_are_native or any(map(backend.engine.is_native, values))
    return not native or (symbolic and backend.engine.arrays_are_native)


def _holds_tensors(backend: Backend, values: Any) -> bool:
    """Whether a list given for one operand holds tensors, which are then stacked."""
    engine = backend.engine
    return any(
        isinstance(v, Tensor)
        or type(v) is engine.tensor_class
        or (engine.is_native(v) and not engine.arrays_are_native)
        or type(v) is HostInts
        for v in values
    )


def _read(backend: Backend, op: Operation, args: tuple[Any, ...]) -> list[Any] | None:
    """The arguments with the operands' present values, None where no operand is a Tensor."""
    if op.listed or op.plain is not None:
        return None
    values, found = list(args), False
    for index in op.operand_indices:
        if isinstance(args[index], Tensor):
            values[index] = backend.native_value(args[index])
            found = True
    return values if found else None


def _record_plain(backend: Backend, op: Operation, args: tuple[Any, ...]) -> Tensor | None:
    """Record the common case: one or two Tensors of one dtype, or a Tensor and a float.

    What is not of this kind, or wrong, is left to the general way.
    """
    x = args[0]
    if not isinstance(x, Tensor) or x.backend is not backend or scopes.mode() == "eager":
        return None
    inputs: tuple[Tensor, ...] = (x,)
    dtype, shape, fed = x.dtype, x.shape, x.fed
    if (op.floating and dtype not in dtypes.FLOATS) or (op.numeric and dtype == "bool"):
        return None
    if x.host is not None or x.sparse:
        return None
    if len(args) == 2:
        y = args[1]
        if isinstance(y, Tensor):
            if y.dtype != dtype or y.backend is not backend:
                return None
            if y.host is not None or y.sparse:
                return None
            if y.shape != shape:
                try:
                    shape = shapes.broadcast(shape, y.shape)
                except KBridgeError:
                    return None
            fed = fed or y.fed
            inputs = (x, y)
        elif type(y) is not float or dtype not in dtypes.FLOATS or dtype == "bfloat16":
            return None
    result = op.dtype or dtype
    return Tensor(backend, op, args, inputs, shape, result, fed)  # type: ignore[arg-type]


def leaves(op: Operation, args: tuple[Any, ...]) -> list[Any]:
    """The operands, lists of operands and sizes inside shapes taken apart."""
    found: list[Any] = []
    for index in op.operand_indices:
        value = args[index]
        if op.listed and isinstance(value, (list, tuple)):
            found.extend(value)
        else:
            found.append(value)
    for index in op.host_indices:
        _nested_tensors(args[index], found)
    return found


def _nested_tensors(value: Any, found: list[Any]) -> None:
    """Collect the Tensors (and native tensors) inside a shape or an index."""
    if isinstance(value, (list, tuple)):
        for item in value:
            _nested_tensors(item, found)
    elif isinstance(value, slice):
        for item in (value.start, value.stop, value.step):
            _nested_tensors(item, found)
    elif value is not None and not isinstance(value, (int, str, np.ndarray, np.generic)):
        found.append(value)


def _on_host(backend: Backend, op: Operation, args: tuple[Any, ...]) -> Any:
    plain = [np.asarray(a) if isinstance(a, HostInts) else a for a in args]
    for index in op.operand_indices:
        if op.listed:
            plain[index] = [as_array(item) for item in args[index]]
        elif op.floating and isinstance(plain[index], np.ndarray):
            dtype = dtypes.floating(dtypes.normalize(plain[index].dtype), config.floatx())
            plain[index] = plain[index].astype(dtypes.to_numpy(dtype))
    result = np.asarray(backend.host_function(op.name)(*plain))
    keeps = op.dtype is not None  # where the contract asks for a dtype of its own
    return host.as_host(result, [result] if keeps else [a for a in plain if hasattr(a, "dtype")])


def index_key(key: Any) -> tuple[Any, ...]:
    """A subscript as a tuple; lists and integer arrays become arrays."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(_index_part(part) for part in parts)


def _index_part(part: Any) -> Any:
    if isinstance(part, (list, np.ndarray)):
        part = np.asarray(part)
        if part.dtype.kind not in "iu":
            raise ArgumentTypeError(
                f"K.getitem: an index array must hold integers, not {part.dtype}. Select by "
                f"truth with K.switch(condition, x, y)."
            )
        return int(part) if part.ndim == 0 else part
    if isinstance(part, np.integer):
        return int(part)
    if isinstance(part, Tensor) and not dtypes.is_integer(part.dtype):
        remedy = (
            "Select by truth with K.switch(condition, x, y)"
            if part.dtype == "bool"
            else "Cast it with K.cast(index, 'int32')"
        )
        raise ArgumentTypeError(
            f"K.getitem: an index must hold integers, not {part.dtype} ({part!r}). {remedy}."
        )
    return part


class _Way:
    """What both ways share: operands to one dtype, rules, and located errors."""

    #: Beside an operand of this class an array is a constant.
    symbolic: type = Tensor

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def described(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as messages show them."""
        return args

    def run(self, op: Operation, args: tuple[Any, ...]) -> Any:
        try:
            if op.resolve:
                resolved = list(args)
                for index, function in op.resolve:
                    resolved[index] = function(resolved[index])
                args = tuple(resolved)
            bound, dtype = self._operands(op, args)
            if op.numeric and dtype == "bool":
                raise DTypeError(
                    "it is for numbers, not for bools; cast them with K.cast(x, 'int32'), or use "
                    "K.not_equal for their difference"
                )
            return self.finish(op, bound, dtype)
        except KBridgeError as error:
            raise located(error, op, self.described(args)) from error.__cause__

    def _operands(self, op: Operation, args: tuple[Any, ...]) -> tuple[list[Any], str]:
        bound = list(args)
        for index in op.host_indices:
            bound[index] = self.sizes(args[index])
        if op.listed:
            (index,) = op.operand_indices
            if not isinstance(args[index], (list, tuple)):
                raise ArgumentTypeError(
                    f"{op.parameters[index]} must be a list of tensors, not "
                    f"{type(args[index]).__name__}"
                )
            values = list(args[index])
            where = [index] * len(values)
        else:
            where = [i for i in op.operand_indices if args[i] is not None or i not in op.optional]
            values = [args[i] for i in where]
        promoted = op.promoted or (frozenset(where) if op.floating or op.listed else op.promoted)
        group = [p for p, i in enumerate(where) if i in promoted]
        dtype = self._unify(op, values, group) if group else ""
        for position, value in enumerate(values):
            if position not in group:
                values[position] = self.operand(value)
        if op.listed:
            bound[op.operand_indices[0]] = values
        else:
            for i, value in zip(where, values, strict=True):
                bound[i] = value
        return bound, dtype or (self.dtype(values[0]) if values else "")

    def _unify(self, op: Operation, values: list[Any], group: list[int]) -> str:
        """Bring the operands of ``group`` to one dtype, in place; return it."""
        strong, weak = [], []
        symbolic = any(isinstance(values[p], self.symbolic) for p in group)
        for p in group:
            value = values[p]
            if is_number(value) or (isinstance(value, (list, tuple))):
                weak.append(_weak_kind(value))
            elif symbolic and isinstance(value, np.ndarray) and value.dtype.kind == "f":
                weak.append("f")  # a constant beside a Tensor takes its float dtype
            else:
                values[p] = self.operand(value)
                strong.append(self.dtype(values[p]))
        beside = bool(strong)
        if not beside:  # where there is no tensor that they could widen, NumPy's scalars count
            scalars = (values[p] for p in group if isinstance(values[p], (np.ndarray, np.generic)))
            strong = [dtypes.normalize(scalar.dtype) for scalar in scalars]
        floatx = config.floatx()
        dtype = dtypes.result_of(strong, weak, floatx)
        if op.floating:
            dtype = dtypes.floating(dtype, floatx)
        kind = float if dtypes.is_float(dtype) else bool if dtype == "bool" else int
        # NumPy takes a Python float beside bfloat16 for a wider one.
        widens = dtype == "bfloat16" and self.backend.engine.arrays_are_native
        for p in group:
            value = values[p]
            if beside and op.takes_numbers and is_number(value) and not widens:
                values[p] = kind(value)
            elif is_number(value) or isinstance(value, (list, tuple, np.ndarray)):
                values[p] = self.operand(as_array(value, dtype))
            if not isinstance(values[p], _NUMBERS) and self.dtype(values[p]) != dtype:
                values[p] = self.cast(values[p], dtype)
        return dtype

    def check(self, op: Operation, args: tuple[Any, ...], dtype: str) -> tuple[Any, str]:
        """Shape and dtype of the result by the rules of the contract."""
        if op.shape is not None:
            shape = op.shape(*args)
        elif op.composition is not None:
            return self.probe(op, args)
        else:
            found = [v.shape for v in leaves(op, args) if hasattr(v, "shape")]
            shape = found[0] if len(found) == 1 else shapes.broadcast_all(*found)
        if op.dtype is not None:
            dtype = op.dtype if isinstance(op.dtype, str) else op.dtype(*args)
        return shape, dtype

    def probe(self, op: Operation, args: tuple[Any, ...]) -> tuple[Any, str]:
        """A replaced composition infers through itself, recorded and thrown away."""
        from kbridge.symbolic.tensor import Placeholder

        stand = [
            Placeholder(self.backend, a.shape, a.dtype) if isinstance(a, Spec) else a for a in args
        ]
        result = op.composition(self.backend, *stand)  # type: ignore[misc]
        return result.shape, result.dtype

    # What differs:
    def operand(self, value: Any) -> Any:
        raise NotImplementedError

    def dtype(self, operand: Any) -> str:
        raise NotImplementedError

    def cast(self, operand: Any, dtype: str) -> Any:
        raise NotImplementedError

    def sizes(self, value: Any) -> Any:
        raise NotImplementedError

    def finish(self, op: Operation, bound: list[Any], dtype: str) -> Any:
        raise NotImplementedError


class Later(_Way):
    """Record: operands become Tensors, the result is a Tensor."""

    def operand(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return value
        engine = self.backend.engine
        if sparse.is_sparse(engine, value):
            return sparse.constant(self.backend, value)
        if engine.is_native(value):
            if not isinstance(value, np.ndarray):
                return Constant(self.backend, value, engine.shape(value), engine.dtype(value))
        else:
            value = as_array(value)
        value = np.array(value)  # the caller may change its array later
        return Constant(self.backend, value, value.shape, dtypes.normalize(value.dtype))

    def dtype(self, operand: Any) -> str:
        return operand.dtype  # type: ignore[no-any-return]

    def cast(self, operand: Any, dtype: str) -> Any:
        if type(operand) is Constant and isinstance(operand.value, np.ndarray):
            return Constant(self.backend, as_array(operand.value, dtype), operand.shape, dtype)
        if operand.sparse:
            return sparse.marked(self.finish(OPERATIONS["sparse_cast"], [operand, dtype], dtype))
        return self.finish(OPERATIONS["cast"], [operand, dtype], dtype)

    def sizes(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return tuple(self.sizes(item) for item in value)
        if isinstance(value, slice):
            return slice(self.sizes(value.start), self.sizes(value.stop), self.sizes(value.step))
        if isinstance(value, np.ndarray) and value.ndim and not isinstance(value, HostInts):
            return self.operand(value)
        if isinstance(value, (np.ndarray, np.integer)):
            sizes: Any = value.tolist()
            return sizes if value.ndim == 0 else tuple(sizes)
        return value

    def finish(self, op: Operation, bound: list[Any], dtype: str) -> Any:
        args = tuple(bound)
        shape, dtype = self.check(op, args, dtype)
        backend = self.backend
        inputs = _inputs(op, args)
        fed = any(t.fed for t in inputs)
        sizes = None
        if op.host and (op.name in ("shape", "size") or _on_sizes(leaves(op, args))):
            sizes = host.infer(op.name, args, backend.host_function(op.name))
        if op.random:
            seed = args[op.parameters.index("seed")]
            if not isinstance(seed, int):
                raise ArgumentTypeError(
                    f"the seed of a recorded draw must be an integer or None, not {seed!r:.60}; an "
                    f"engine's own key draws at once, where nothing is fed"
                )
            return Draw(seed, backend, op, args, inputs, shape, dtype, fed)
        return Tensor(backend, op, args, inputs, shape, dtype, fed, sizes)


class Now(_Way):
    """Run: operands become native tensors, the result is native."""

    def operand(self, value: Any) -> Any:
        engine = self.backend.engine
        if isinstance(value, Tensor):
            return self.backend.native_value(value)
        if sparse.is_sparse(engine, value):
            return sparse.native_operand(self.backend, value)
        if engine.is_native(value):
            return engine.taken(value)
        array = as_array(value)
        return engine.from_numpy(array, dtypes.normalize(array.dtype))

    def dtype(self, operand: Any) -> str:
        found: str = self.backend.engine.dtype(operand)
        return found

    def cast(self, operand: Any, dtype: str) -> Any:
        name = "sparse_cast" if sparse.is_native(self.backend.engine, operand) else "cast"
        return self.backend.native[name](operand, dtype)

    def sizes(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            # An array among sizes is an index, and stays one.
            return tuple(
                item if isinstance(item, np.ndarray) and item.ndim else self.sizes(item)
                for item in value
            )
        if isinstance(value, slice):
            return slice(self.sizes(value.start), self.sizes(value.stop), self.sizes(value.step))
        if isinstance(value, Tensor):
            value = self.backend.native_value(value)
        if isinstance(value, (np.ndarray, np.integer)) and (
            np.ndim(value) == 0 or not self.backend.engine.is_native(value)
        ):
            return np.asarray(value).tolist()
        return value

    def spec(self, value: Any) -> Any:
        engine = self.backend.engine
        if isinstance(value, (list, tuple)):
            return [self.spec(item) for item in value]
        if isinstance(value, _NUMBERS) and not engine.is_native(value):
            return value
        return Spec(engine.shape(value), engine.dtype(value))

    def finish(self, op: Operation, bound: list[Any], dtype: str) -> Any:
        specs = list(bound)
        for index in op.operand_indices:
            if specs[index] is not None:
                specs[index] = self.spec(specs[index])
        _, result = self.check(op, tuple(specs), dtype)
        if op.random:
            return self._draw(op, bound)
        function = op.plain or self.backend.native[op.name]
        if dtypes.is_64bit(result) or any(map(_is_wide, leaves(op, tuple(specs)))):
            return self.backend.engine.run_wide(function, bound)
        return self.backend.engine.run(function, bound)

    def _draw(self, op: Operation, bound: list[Any]) -> Any:
        """Draw with the engine's own key where one is given, else on the host."""
        engine, index = self.backend.engine, op.parameters.index("seed")
        if engine.is_native(bound[index]):
            return self.backend.native[op.name](*bound)
        if engine.in_graph():
            bound[index] = engine.draw_key(bound[index], engine.graph_position(bound[index]))
            return self.backend.native[op.name](*bound)
        engine.check_draw()
        bound[index] = host_key(bound[index], 0)
        drawn = self.backend.host_function(op.name)(*bound)
        return engine.from_numpy(np.asarray(drawn), bound[op.parameters.index("dtype")])


def _is_wide(operand: Any) -> bool:
    return isinstance(operand, Spec) and dtypes.is_64bit(operand.dtype)


def _weak_kind(value: Any) -> str:
    """Return "b", "i" or "f" for a number or a list of numbers."""
    dtype = np.asarray(value).dtype
    kind = "f" if dtype.name == "bfloat16" else dtype.kind
    if kind not in "biuf":
        raise ArgumentTypeError(
            f"expected a tensor, an array or a number, got {type(value).__name__}: {value!r:.80}"
        )
    return {"u": "i"}.get(kind, kind)


def as_array(value: Any, dtype: str | None = None) -> Any:
    """``value`` as a NumPy array; numbers without a dtype of their own become floatx or int32."""
    if isinstance(value, (str, bytes, dict, set)) or value is None:
        raise ArgumentTypeError(
            f"expected a tensor, an array or a number, got {type(value).__name__}: {value!r:.80}"
        )
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        raise ArgumentTypeError(
            "expected one tensor, got a list of tensors; join them with K.stack or K.concatenate"
        )
    try:
        array = np.asarray(value)
    except Exception as error:
        raise ArgumentTypeError(
            f"expected a tensor, an array or a number, got {type(value).__name__}: {value!r:.80}"
        ) from error
    if hasattr(value, "toarray"):
        raise ArgumentTypeError(
            f"expected a dense tensor, array or number, got a sparse {type(value).__name__}; "
            f"matrix.toarray() makes it dense"
        )
    if array.dtype.kind not in "biufV" or (array.dtype.kind == "V" and array.dtype.names):
        raise ArgumentTypeError(
            f"expected a tensor, an array or a number, got {type(value).__name__}: {value!r:.80}"
        )
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)):
        kind = array.dtype.kind
        dtype = config.floatx() if kind == "f" else "int32" if kind == "i" else None
    return array if dtype is None else array.astype(dtypes.to_numpy(dtype), copy=False)


def _inputs(op: Operation, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    return tuple(v for v in leaves(op, args) if isinstance(v, Tensor))


def _on_sizes(operands: list[Any]) -> bool:
    """Whether an operation is shape arithmetic: on sizes, at least one of them symbolic."""
    return all(map(host.is_sizes, operands)) and any(
        getattr(operand, "host", None) is not None for operand in operands
    )


def named(error: KBridgeError, name: str) -> KBridgeError:
    """The error of a composition with the operation's name in front, where it has none yet."""
    text = str(error)
    return error if text.startswith("K.") else type(error)(f"K.{name}: {text}")
