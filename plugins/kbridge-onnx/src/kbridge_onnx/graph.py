"""Building an ONNX graph by running a plan: symbolic values, and the graph that collects nodes.

A :class:`Value` names a result in the graph that is being built, with its dtype and as much of its
shape as ONNX's own inference tells. :func:`emit` adds a node. What a primitive computes of arrays
alone stays in NumPy, and becomes an initializer where a node reads it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from kbridge.binding import host_functions
from kbridge.symbolic import dtypes
from kbridge.symbolic.sparse import is_scipy

NUMPY = host_functions()

#: What any ONNX Runtime of the last years runs.
OPSET, IR_VERSION = 21, 10
_OPSETS = [helper.make_opsetid("", OPSET)]

Shape = tuple[int | None, ...]


class Unsized(Exception):
    """A primitive needs a size that is open; where the placeholders leave it so, feeds tell it."""


class Value:
    """A result in the graph that is being built."""

    __slots__ = ("dtype", "fed", "name", "shape", "sizes")
    __array_ufunc__ = None  # an array on the left of an operator leaves it to this class

    def __init__(self, name: str, dtype: str, shape: Shape) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.sizes: Any = None  # what K.shape gives, once it is asked for

    ndim = property(lambda self: len(self.shape))

    def __repr__(self) -> str:
        return f"<ONNX value {self.name}, shape {self.shape}, {self.dtype}>"

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "a NumPy function was called on a value of an ONNX graph, which has no numbers yet. "
            "Write it in K functions; K.lift takes functions of kbridge_onnx.emit alone."
        )

    def __bool__(self) -> bool:
        raise TypeError("a value of an ONNX graph has no truth yet; use K.switch")


def _operator(op: str, turned: bool = False) -> Callable[[Any, Any], Any]:
    """An operator, for the functions that K.lift takes."""

    def run(self: Any, other: Any) -> Any:
        if not isinstance(other, (Value, np.ndarray, np.generic, int, float)):
            return NotImplemented
        return wide(op, *((other, self) if turned else (self, other)))

    return run


for _name, _op in (
    ("add", "Add"),
    ("sub", "Sub"),
    ("mul", "Mul"),
    ("truediv", "Div"),
    ("pow", "Pow"),
):
    setattr(Value, f"__{_name}__", _operator(_op))
    setattr(Value, f"__r{_name}__", _operator(_op, turned=True))
setattr(Value, "__neg__", lambda self: wide("Neg", self))  # noqa: B010  # mypy knows no other way


class Graph:
    """What one model is made of; ``nodes`` are those of the sub-graph that is open.

    Nodes have names that are not among those ``given`` to inputs.
    """

    def __init__(self, given: Container[str | None] = ()) -> None:
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.initializers: list[Any] = []
        #: What is printed after a run: the value's name, and what prints it.
        self.printed: list[tuple[Value, Callable[[Any], None]]] = []
        self.depth = 0
        numbered = (f"_value_{i}" for i in itertools.count())
        self._names = (name for name in numbered if name not in given)
        self._constants: dict[Any, tuple[Value, Any]] = {}

    def new(self, dtype: str, shape: Shape) -> Value:
        return Value(next(self._names), dtype, shape)

    def input(self, name: str, dtype: str, shape: Shape) -> Value:
        """An input of the model."""
        self.inputs.append(declared(Value(name, dtype, shape)))
        return Value(name, dtype, shape)

    def constant(self, array: Any) -> Value:
        """An array as an initializer; the same array, and equal short ones, are held once."""
        short = array.size <= 16
        key = (array.dtype.str, array.shape, array.tobytes()) if short else id(array)
        if key not in self._constants:
            value = self.new(dtypes.normalize(array.dtype), array.shape)
            plain = np.ascontiguousarray(array).reshape(array.shape)
            self.initializers.append(numpy_helper.from_array(plain, value.name))
            self._constants[key] = value, array
        return self._constants[key][0]

    @contextmanager
    def subgraph(self) -> Iterator[list[Any]]:
        """A scope in which nodes go to a sub-graph, which may read all that is outside."""
        outer, self.nodes = self.nodes, []
        self.depth += 1
        try:
            yield self.nodes
        finally:
            self.nodes = outer
            self.depth -= 1


def needed(nodes: Sequence[Any], used: set[str]) -> list[Any]:
    """The nodes that results need, whose names are ``used``; all that is read is added to these."""
    kept = []
    for node in reversed(nodes):
        if not used.isdisjoint(node.output):
            kept.append(node)
            used |= _reads(node)
    return kept[::-1]


def _reads(node: Any) -> set[str]:
    """The names that a node and its sub-graphs read."""
    inner = (n for a in node.attribute if a.HasField("g") for n in a.g.node)
    return set(node.input).union(*map(_reads, inner))


_open: ContextVar[Graph] = ContextVar("kbridge_onnx_graph")
current = _open.get


@contextmanager
def building(graph: Graph) -> Iterator[Graph]:
    """A scope in which :func:`emit` adds to ``graph``."""
    token = _open.set(graph)
    try:
        yield graph
    finally:
        _open.reset(token)


def element(dtype: str) -> int:
    """ONNX's number for a dtype."""
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtypes.to_numpy(dtype))))


def declared(value: Value) -> Any:
    """What ONNX writes of an input or output."""
    return helper.make_tensor_value_info(value.name, element(value.dtype), value.shape)


def as_value(x: Any) -> Value:
    """A value of the open graph; arrays and numbers become initializers."""
    return x if isinstance(x, Value) else current().constant(as_array(x))


def as_array(x: Any) -> Any:
    """An array, number or sparse matrix as a dense array; of integers it is int64."""
    return x.toarray() if is_scipy(x) else np.asarray(x)


def emit(op: str, *inputs: Any, shape: Shape | None = None, **attributes: Any) -> Any:
    """Add a node of ONNX's operator ``op``; ``shape`` replaces what inference tells."""
    graph = current()
    plain = [x if x is None or isinstance(x, Value) else as_array(x) for x in inputs]
    values = [None if x is None else as_value(x) for x in plain]
    names = ["" if v is None else v.name for v in values]
    result = graph.new("", ())
    node = helper.make_node(op, names, [result.name], **attributes)
    given = {v.name: x for v, x in zip(values, plain, strict=True) if v is not None}
    types = {
        v.name: helper.make_tensor_type_proto(element(v.dtype), v.shape)
        for v in values
        if v is not None
    }
    data = {
        name: numpy_helper.from_array(x, name)
        for name, x in given.items()
        if isinstance(x, np.ndarray) and x.size <= 64
    }
    schema = onnx.defs.get_schema(op, OPSET)
    found = shape_inference.infer_node_outputs(schema, node, types, data, None, _OPSETS, IR_VERSION)
    kind = found[result.name].tensor_type
    result.dtype = dtypes.normalize(helper.tensor_dtype_to_np_dtype(kind.elem_type))
    if shape is None:
        if not kind.HasField("shape"):
            raise Unsized(op)
        shape = tuple(d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim)
    result.shape = shape
    graph.nodes.append(node)
    return result


def primitive(function: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive for values of a graph; on arrays alone it is NumPy's."""
    plain = NUMPY[function.__name__]

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if traced(args) else plain(*args, **kwargs)

    return run


def traced(value: Any) -> bool:
    """Whether a value of a graph is among arguments."""
    if isinstance(value, (list, tuple)):
        return any(map(traced, value))
    if isinstance(value, slice):
        return traced((value.start, value.stop, value.step))
    return isinstance(value, Value)


# --- dtypes --------------------------------------------------------------------------------------

#: Where ONNX Runtime has no arithmetic: the dtype used inside.
_WIDER = {
    **dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), "int32"),
    **dict.fromkeys(("uint32", "uint64"), "int64"),
    **dict.fromkeys(("float16", "bfloat16"), "float32"),
}


def dtype_of(*xs: Any) -> str:
    """The dtype of the first tensor among operands, of which others may be Python numbers."""
    return next(dtypes.normalize(x.dtype) for x in xs if hasattr(x, "dtype"))


def to(x: Any, dtype: str) -> Any:
    """An operand in a dtype; Python numbers and arrays become arrays."""
    if not isinstance(x, Value):
        return np.asarray(x, dtypes.to_numpy(dtype))
    return x if x.dtype == dtype else emit("Cast", x, to=element(dtype))


def wide(op: str, *xs: Any, **attributes: Any) -> Value:
    """A node on operands of one dtype, computed in a wider one where the runtime has none."""
    dtype = dtype_of(*xs)
    used = _WIDER.get(dtype, dtype)
    result = emit(op, *(None if x is None else to(to(x, dtype), used) for x in xs), **attributes)
    return to(result, dtype) if result.dtype == used else result


def wider(x: Any) -> Any:
    """``x`` in the dtype in which the runtime computes."""
    return to(x, _WIDER.get(dtype_of(x), dtype_of(x)))


def truth(x: Any) -> Any:
    return to(x, "bool")


# --- sizes ---------------------------------------------------------------------------------------


def dims(x: Any) -> list[Any]:
    """The sizes: ints, and int64 scalars where only the run tells."""
    if None not in x.shape:
        return list(x.shape)
    sizes = emit("Shape", x) if x.sizes is None else x.sizes
    if not current().depth:  # what a sub-graph computes stays inside
        x.sizes = sizes
    return [
        emit("Gather", sizes, axis) if size is None else size for axis, size in enumerate(x.shape)
    ]


def vector(sizes: Any) -> Any:
    """Sizes as an int64 vector: a list of ints and scalars, or a vector."""
    if isinstance(sizes, Value):
        return to(sizes if sizes.ndim else reshaped(sizes, [1]), "int64")
    if isinstance(sizes, np.ndarray) or not traced(sizes):
        return np.atleast_1d(np.asarray(sizes, np.int64))
    parts = [
        reshaped(to(s, "int64"), [1]) if isinstance(s, Value) else np.full(1, s, np.int64)
        for s in sizes
    ]
    return emit("Concat", *parts, axis=0)


def static(sizes: Any) -> Shape:
    """The static shape that sizes give."""
    if isinstance(sizes, Value):
        if sizes.shape == ():
            return (None,)
        if sizes.shape[0] is None:
            raise Unsized("the rank")
        return (None,) * sizes.shape[0]
    listed = sizes if isinstance(sizes, (list, tuple)) else np.atleast_1d(sizes).tolist()
    return tuple(None if isinstance(s, Value) else int(s) for s in listed)


def known(x: Any) -> tuple[int, ...]:
    """The shape, all of which a primitive needs."""
    if None in x.shape:
        raise Unsized(f"{x!r}")
    return tuple(x.shape)


def product(sizes: Any) -> Any:
    """The product of sizes: an int, or an int64 scalar."""
    result: Any = 1
    for size in sizes:
        both = isinstance(result, int) and isinstance(size, int)
        result = result * size if both else emit("Mul", result, size)
    return result


def reshaped(x: Any, sizes: Any) -> Any:
    """The elements in another shape, given as ints and scalars, of which none is -1."""
    shape = static(sizes)
    if x.shape == shape and None not in shape:
        return x
    return emit("Reshape", x, vector(sizes), shape=shape, allowzero=1)


def expanded(x: Any, sizes: Any) -> Any:
    """``x`` broadcast to a shape."""
    shape, dtype = static(sizes), dtype_of(x)
    if 0 in shape:  # of which the runtime makes 1 beside other sizes
        return np.zeros(known(Value("", dtype, shape)), dtypes.to_numpy(dtype))
    used = "float32" if dtype == "bfloat16" else dtype
    return to(emit("Expand", to(x, used), vector(sizes), shape=shape), dtype)


def numbered(sizes: Any) -> Any:
    """0, 1, 2 and so on in a shape, int64; a negative size is an error in the run."""
    if not traced(sizes):
        return np.arange(int(np.prod(sizes, dtype=np.int64))).reshape(tuple(sizes))
    # -1, which would follow from the others, becomes -2.
    sizes = [emit("Add", s, emit("Min", emit("Sign", s), 0)) if traced(s) else s for s in sizes]
    return reshaped(emit("Range", 0, product(sizes), 1), sizes)


def moved(x: Any, pattern: Any) -> Any:
    """The axes in another order."""
    pattern = [int(axis) % max(x.ndim, 1) for axis in pattern]
    return x if pattern == sorted(pattern) else emit("Transpose", x, perm=pattern)


def padded(x: Any, pairs: Any, value: float = 0.0) -> Any:
    """``x`` with (before, after) elements of one value on each axis."""
    if not any(map(any, pairs)):
        return x
    starts, ends = zip(*pairs, strict=True)
    used = wider(x)
    found = emit("Pad", used, [*starts, *ends], to(value, dtype_of(used)))
    return to(found, dtype_of(x))


def cut(x: Any, axis: int, start: Any, end: Any, step: Any = 1) -> Any:
    """A slice along one axis."""
    return emit("Slice", x, *(vector([part]) for part in (start, end, axis, step)))
