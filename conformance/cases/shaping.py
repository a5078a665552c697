"""Shapes, repeats, joins, and picking elements."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from kbridge.conformance.records import case, record
from kbridge.conformance.samples import bools, ints, normal, values

ALL = "float16 bfloat16 float64 int32 int64 uint8 bool"
FEW = "float64 int32 bool"


# --- the same elements in another shape --------------------------------------------------------


def _in_shape(x: Any, sizes: Any) -> Any:
    """The elements in row-major order, laid out anew."""
    sizes = list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.size // -math.prod(sizes)
    result = np.empty(sizes, x.dtype)
    for place, item in zip(np.ndindex(*sizes), x.ravel(order="C"), strict=True):
        result[place] = item
    return result


record(
    "reshape",
    lambda x, shape: _in_shape(x, shape if isinstance(shape, (list, tuple)) else [shape]),
    case(normal(2, 3), (3, 2)),
    case(normal(2, 3), [-1]),
    case(normal(2, 3), -1),
    case(normal(2, 3, 4), (2, -1)),
    case(normal(2, 3), (1, 6, 1)),
    case(normal(1), ()),
    case(normal(), (1, 1)),
    case(normal(0, 3), (3, 0)),
    case(normal(2, 3))
    .named("sizes_of_another_shape")
    .by(lambda K, x: K.reshape(x, K.stack([K.shape(x)[1], K.shape(x)[0]])))
    .gives(lambda x: _in_shape(x, (3, 2))),
    case(normal(2, 3))
    .named("size_and_open")
    .by(lambda K, x: K.reshape(x, (K.shape(x)[0], 1, -1)))
    .gives(lambda x: x[:, None])
    .without("batch"),
    case(normal(2, 3), normal(3, 2))
    .named("shape_of_another")
    .by(lambda K, x, y: K.reshape(x, K.shape(y)))
    .gives(lambda x, y: _in_shape(x, (3, 2)))
    .without("gradient"),
    case(normal(2, 3, 4))
    .named("computed_sizes")
    .by(lambda K, x: K.reshape(x, (K.shape(x)[0] * K.shape(x)[1], K.shape(x)[-1])))
    .gives(lambda x: _in_shape(x, (6, 4))),
    case(normal(2, 3, 4))
    .named("product_of_sizes")
    .by(lambda K, x: K.reshape(x, K.stack([K.prod(K.shape(x)[:2]), -1])))
    .gives(lambda x: _in_shape(x, (6, 4)))
    .without("batch"),
    case(normal(2, 3, 4))
    .named("joined_sizes")
    .by(lambda K, x: K.reshape(x, K.concatenate([K.shape(x)[:1], [12]])))
    .gives(lambda x: _in_shape(x, (2, 12))),
    dtypes=ALL,
    exact=True,
)
record(
    "flatten",
    lambda x: _in_shape(x, [-1]) if x.size else x.ravel(),
    case(normal(2, 3)),
    case(normal(2, 3, 2)),
    case(normal(4)),
    case(normal()),
    case(normal(0, 2)),
    dtypes=FEW,
    exact=True,
)
record(
    "batch_flatten",
    lambda x: _in_shape(x, [x.shape[0], math.prod(x.shape[1:])]),
    case(normal(2, 3, 4)),
    case(normal(2, 3)),
    case(normal(4)),
    case(normal(1, 2, 1, 3)),
    case(normal(0, 2, 3)),
    case(normal(2, 0, 3)),
    dtypes=FEW,
    exact=True,
)
record(
    "expand_dims",
    lambda x, axis=-1: _in_shape(
        x, [*x.shape[: axis % (x.ndim + 1)], 1, *x.shape[axis % (x.ndim + 1) :]]
    ),
    case(normal(2, 3)),
    case(normal(2, 3), axis=0),
    case(normal(2, 3), axis=1),
    case(normal(2, 3), axis=-3),
    case(normal()),
    case(normal(0, 2), 1),
    dtypes=FEW,
    exact=True,
)
record(
    "squeeze",
    lambda x, axis: _in_shape(x, [s for i, s in enumerate(x.shape) if i != axis % x.ndim]),
    case(normal(2, 1, 3), 1),
    case(normal(1, 2), 0),
    case(normal(2, 1), -1),
    case(normal(1), 0),
    case(normal(0, 1), axis=1),
    case(normal(1, 1, 2), axis=-2),
    dtypes=FEW,
    exact=True,
)


def _permuted(x: Any, pattern: Any) -> Any:
    result = np.empty([x.shape[axis] for axis in pattern], x.dtype)
    for place in np.ndindex(*x.shape):
        result[tuple(place[axis] for axis in pattern)] = x[place]
    return result


record(
    "permute_dimensions",
    _permuted,
    case(normal(2, 3), (1, 0)),
    case(normal(2, 3, 4), (2, 0, 1)),
    case(normal(2, 3, 4), [0, 2, 1]),
    case(normal(1, 2, 3, 2), (0, 3, 1, 2)),
    case(normal(2, 0), (1, 0)),
    case(normal(3), (0,)),
    dtypes=FEW,
    exact=True,
)


def _reversed(x: Any, axes: Any) -> Any:
    axes = axes if isinstance(axes, (list, tuple)) else [axes]
    turned = {axis % x.ndim for axis in axes}
    order = [range(s)[::-1] if i in turned else range(s) for i, s in enumerate(x.shape)]
    return x[np.ix_(*(list(item) for item in order))] if x.size else x


record(
    "reverse",
    _reversed,
    case(normal(2, 3), 0),
    case(normal(2, 3), 1),
    case(normal(2, 3), [0, 1]),
    case(normal(2, 3, 2), (-1, 0)),
    case(normal(4), -1),
    case(normal(0, 3), 1),
    dtypes=FEW,
    exact=True,
)


# --- joins and repeats -------------------------------------------------------------------------


def _joined(tensors: Any, axis: int = -1) -> Any:
    rank = np.ndim(tensors[0])
    axis %= rank
    total = sum(t.shape[axis] for t in tensors)
    first = tensors[0]
    result = np.empty([total if i == axis else s for i, s in enumerate(first.shape)], first.dtype)
    start = 0
    for tensor in tensors:
        place = [slice(None)] * rank
        place[axis] = slice(start, start + tensor.shape[axis])
        result[tuple(place)] = tensor
        start += tensor.shape[axis]
    return result


record(
    "concatenate",
    _joined,
    case([normal(2, 3), normal(2, 2)]),
    case([normal(2, 3), normal(1, 3)], axis=0),
    case([normal(2, 3, 1), normal(2, 1, 1), normal(2, 2, 1)], axis=1),
    case([normal(2), normal(3)], axis=-1),
    case([normal(2, 3)], axis=-2),
    case([normal(0, 3), normal(2, 3)], 0),
    case((normal(2, 1), normal(2, 1))),
    case([ints(2, 3), ints(2, 1)]),
    dtypes=ALL,
    exact=True,
)


def _stacked(x: Any, axis: int = 0) -> Any:
    axis %= x[0].ndim + 1
    shape = list(x[0].shape)
    return _joined([_in_shape(t, [*shape[:axis], 1, *shape[axis:]]) for t in x], axis)


record(
    "stack",
    _stacked,
    case([normal(2, 3), normal(2, 3)]),
    case([normal(2, 3), normal(2, 3), normal(2, 3)], axis=1),
    case([normal(2, 3), normal(2, 3)], axis=-1),
    case([normal(2)], axis=0),
    case([normal(), normal()]),
    case([normal(0, 2), normal(0, 2)], 1),
    case((ints(2), ints(2))),
    dtypes=ALL,
    exact=True,
)


def _repeated(x: Any, rep: int, axis: int) -> Any:
    pieces = [x.take([i], axis) for i in range(x.shape[axis]) for _ in range(rep)]
    return _joined(pieces, axis) if pieces else x.take([], axis)


record(
    "repeat_elements",
    _repeated,
    case(normal(2, 3), 2, 1),
    case(normal(2, 3), 3, 0),
    case(normal(2, 3, 2), 2, -2),
    case(normal(4), 1, 0),
    case(normal(0, 2), 2, 1),
    case(normal(2, 3), rep=2, axis=-1),
    dtypes=FEW,
    exact=True,
)
record(
    "repeat",
    lambda x, n: _stacked([x] * n, 1),
    case(normal(2, 3), 2),
    case(normal(2, 3), 1),
    case(normal(1, 4), 3),
    case(normal(0, 3), 2),
    case(normal(2, 1), n=2),
    case(normal(2, 3))
    .named("n_of_a_shape")
    .by(lambda K, x: K.repeat(x, K.shape(x)[1]))
    .gives(lambda x: _stacked([x] * 3, 1)),
    dtypes=FEW,
    exact=True,
)


def _tiled(x: Any, n: Any) -> Any:
    n = n if isinstance(n, (list, tuple)) else [n]
    rank = max(x.ndim, len(n))
    x = _in_shape(x, [1] * (rank - x.ndim) + list(x.shape))
    for axis, times in enumerate([1] * (rank - len(n)) + list(n)):
        x = _joined([x] * times, axis)
    return x


record(
    "tile",
    _tiled,
    case(normal(2, 3), (2, 1)),
    case(normal(2, 3), [1, 2]),
    case(normal(2, 3), 2),
    case(normal(2), (2, 3)),
    case(normal(1, 2, 1), (2, 1, 3)),
    case(normal(0, 2), (1, 2)),
    case(normal(2, 3))
    .named("n_of_a_shape")
    .by(lambda K, x: K.tile(x, K.stack([K.shape(x)[0], 1])))
    .gives(lambda x: _tiled(x, (2, 1))),
    dtypes=FEW,
    exact=True,
)


# --- padding -----------------------------------------------------------------------------------


def _padded(x: Any, pairs: Any, value: float = 0.0) -> Any:
    shape = [a + s + b for s, (a, b) in zip(x.shape, pairs, strict=True)]
    result = np.full(shape, value, x.dtype)
    result[tuple(slice(a, a + s) for s, (a, _) in zip(x.shape, pairs, strict=True))] = x
    return result


record(
    "pad",
    _padded,
    case(normal(2, 3), ((0, 1), (2, 0))),
    case(normal(2, 3), ((1, 1), (1, 1)), 2.5),
    case(normal(2), ((0, 0),)),
    case(normal(1, 2, 2), ((0, 0), (1, 0), (0, 1))),
    case(normal(0, 2), ((1, 0), (0, 0))),
    dtypes=FEW,
    exact=True,
)
record(
    "temporal_padding",
    lambda x, padding=(1, 1): _padded(x, ((0, 0), padding, (0, 0))),
    case(normal(2, 3, 2)),
    case(normal(2, 3, 2), (2, 0)),
    case(normal(2, 3, 2), padding=(0, 1)),
    case(normal(2, 3, 2), 2).gives(lambda x: _padded(x, ((0, 0), (2, 2), (0, 0)))),
    case(normal(2, 3, 2), [1, 0]),
    case(normal(2, 3, 2), ((0, 2),)).gives(lambda x: _padded(x, ((0, 0), (0, 2), (0, 0)))),
    case(normal(1, 1, 1), (0, 0)),
    case(normal(0, 2, 1), (1, 1)),
    exact=True,
)


def _around(x: Any, padding: Any, data_format: Any) -> Any:
    none = ((0, 0),)
    pairs = (*none, *padding, *none)
    return _padded(x, pairs if data_format != "channels_first" else (*none, *none, *padding))


record(
    "spatial_2d_padding",
    lambda x, padding=((1, 1), (1, 1)), data_format=None: _around(x, padding, data_format),
    case(normal(1, 2, 3, 2)),
    case(normal(1, 2, 3, 2), ((1, 0), (0, 2))),
    case(normal(1, 2, 3, 2), ((1, 0), (0, 2)), "channels_first"),
    case(normal(1, 2, 3, 2), data_format="channels_last"),
    case(normal(1, 2, 3, 1), 2).gives(lambda x: _around(x, ((2, 2), (2, 2)), None)),
    case(normal(1, 2, 3, 1), (1, 2)).gives(lambda x: _around(x, ((1, 1), (2, 2)), None)),
    case(normal(1, 2, 3, 1), [1, [0, 2]]).gives(lambda x: _around(x, ((1, 1), (0, 2)), None)),
    case(normal(1, 2, 3, 1), np.array([[0, 1], [2, 0]]))
    .gives(lambda x: _around(x, ((0, 1), (2, 0)), None))
    .named("an_array"),
    case(normal(0, 2, 3, 1), ((0, 0), (1, 1))),
    exact=True,
)
record(
    "spatial_3d_padding",
    lambda x, padding=((1, 1),) * 3, data_format=None: _around(x, padding, data_format),
    case(normal(1, 2, 1, 2, 1)),
    case(normal(1, 2, 1, 2, 1), ((1, 0), (0, 2), (0, 0))),
    case(normal(1, 2, 1, 2, 1), ((1, 0), (0, 2), (0, 1)), "channels_first"),
    case(normal(1, 2, 1, 2, 1), (1, 0, 2)).gives(
        lambda x: _around(x, ((1, 1), (0, 0), (2, 2)), None)
    ),
    case(normal(1, 1, 1, 1, 1), 1).gives(lambda x: _around(x, ((1, 1),) * 3, None)),
    case(normal(1, 2, 1, 1, 1), [[0, 1], [1, 0], 2]).gives(
        lambda x: _around(x, ((0, 1), (1, 0), (2, 2)), None)
    ),
    case(normal(0, 2, 1, 2, 1), padding=((0, 1), (1, 1), (1, 0))),
    exact=True,
)


# --- marks for broadcasting ----------------------------------------------------------------------

record(
    "pattern_broadcast",
    lambda x, broadcastable: x,
    case(normal(2, 1, 3), (False, True, False)),
    case(normal(1, 2), [True, False]),
    case(normal(1, 1), [0, 1]).named("numbers"),
    case(normal(2, 3), (False, False)),
    case(normal(0, 1), np.array([False, True])).named("an_array"),
    case(normal(), ()),
    case(ints(1, 2), (True, False)),
    dtypes=FEW,
    exact=True,
)


# --- picking -----------------------------------------------------------------------------------


def _rows(reference: Any, indices: Any) -> Any:
    result = np.empty(indices.shape + reference.shape[1:], reference.dtype)
    for place in np.ndindex(*indices.shape):
        result[place] = reference[int(indices[place])]
    return result


record(
    "gather",
    _rows,
    case(normal(4, 2), values([2, 0, 2])),
    case(normal(4, 2), values([[3, 1], [0, 0]])),
    case(normal(4), values([1, 3])),
    case(normal(3, 2, 2), values([[2]])),
    case(normal(3, 2), values(1)).named("scalar_index"),
    case(normal(3, 2), ints(0, low=0, high=1)).named("no_index"),
    case(ints(3, 2), values([1, 0])),
    dtypes=FEW,
    exact=True,
)


def _one_hot(indices: Any, num_classes: int) -> Any:
    result = np.zeros((*indices.shape, num_classes))
    for place in np.ndindex(*indices.shape):
        if 0 <= indices[place] < num_classes:
            result[(*place, int(indices[place]))] = 1.0
    return result


record(
    "one_hot",
    _one_hot,
    case(values([0, 2, 1]), 3),
    case(values([5, 0, -1]), 2).named("out_of_range"),
    case(ints(2, 3, low=0, high=4), 4),
    case(values(1), 3).named("scalar"),
    case(ints(0, low=0, high=1), num_classes=2),
    case(values([0, 0]), 1).named("one_class"),
    result="float32",
    gradient=False,
    exact=True,
)


def _block(x: Any, start: Any, size: Any) -> Any:
    stops = [s if n == -1 else b + n for s, b, n in zip(x.shape, start, size, strict=True)]
    ranges = [list(range(b, e)) for b, e in zip(start, stops, strict=True)]
    shape = [len(r) for r in ranges]
    found = [x[place] for place in itertools.product(*ranges)]
    return np.array(found, x.dtype).reshape(shape)


record(
    "slice",
    _block,
    case(normal(3, 4), (0, 1), (2, 2)),
    case(normal(3, 4), [1, 0], [-1, 3]),
    case(normal(3, 4), (2, 3), (-1, -1)),
    case(normal(4), (1,), (2,)),
    case(normal(3, 4), (0, 0), (0, 4)),
    case(normal(0, 4), (0, 1), (0, -1)),
    case(normal(2, 2, 2), (0, 1, 0), (2, 1, -1)),
    case(normal(3, 4))
    .named("size_of_a_shape")
    .by(lambda K, x: K.slice(x, (0, 0), K.stack([K.shape(x)[0] - 1, 2])))
    .gives(lambda x: x[:2, :2]),
    dtypes=FEW,
    exact=True,
)


def _item(key: Any, *samples: Any) -> Any:
    """A case of a subscript that a native tensor takes in the same way."""
    made = case(samples[0] if samples else normal(3, 4, 2)).by(lambda K, x: x[key])
    return made.gives(lambda x: x[key])


record(
    "getitem",
    lambda x, key: x[key],
    _item(0).named("first"),
    _item(-1).named("last"),
    _item((1, -2)).named("two"),
    _item(slice(1, None)).named("rest"),
    _item((slice(None), slice(0, -1, 2))).named("step"),
    _item((slice(None, None, -1),)).named("backwards"),
    _item((..., 0)).named("dots"),
    _item((0, ..., slice(1, 2))).named("dots_between"),
    _item((slice(None), None, 0)).named("new_axis"),
    _item(()).named("nothing"),
    _item(slice(2, 2)).named("empty").without("batch"),
    _item(slice(-2, 10)).named("beyond").without("batch"),
    _item((0, 1, 1)).named("one_element"),
    _item((slice(None), 1), normal(0, 3)).named("of_nothing"),
    case(normal(3, 4), values(2))
    .named("tensor_scalar")
    .by(lambda K, x, i: x[i])
    .gives(lambda x, i: x[int(i)]),
    case(normal(3, 4), values([2, 0]))
    .named("tensor_vector")
    .by(lambda K, x, i: x[i])
    .gives(lambda x, i: x[[2, 0]]),
    case(normal(3, 4), values([2, 0]))
    .named("tensor_second")
    .by(lambda K, x, i: x[:, i])
    .gives(lambda x, i: x[:, [2, 0]]),
    case(normal(3, 4)).named("list").by(lambda K, x: x[[2, 0]]).gives(lambda x: x[[2, 0]]),
    case(normal(3, 4))
    .named("sizes")
    .by(lambda K, x: x[: K.shape(x)[0] - 1])
    .gives(lambda x: x[:2])
    .without("eager"),
    eager=False,
    dtypes=FEW,
    exact=True,
)
record(
    "shape",
    lambda x: np.array(x.shape, np.int64),
    case(normal(2, 3)),
    case(normal(4)),
    case(normal()),
    case(normal(0, 1, 2)),
    case(bools(2, 1)),
    result="int32",
    gradient=False,
    native=False,
    exact=True,
)
record(
    "size",
    lambda x, name=None: np.array(math.prod(x.shape)),
    case(normal(2, 3)),
    case(normal(4)),
    case(normal()),
    case(normal(0, 2)),
    case(ints(2, 1), name="count"),
    result="int32",
    gradient=False,
    native=False,
    exact=True,
)
