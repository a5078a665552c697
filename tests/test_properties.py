"""Random calls of shaping, reduction, indexing and products, on every backend, against NumPy.

Each example is a handful of calls. They run on native tensors, and recorded with some sizes
unknown in one compiled function; the inferred shape must allow for the real one. The examples are
the same in every run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import INSTALLED
from hypothesis import given, settings
from hypothesis import strategies as st
from shape_checks import fits

from kbridge import load_backend

#: How many examples; where each is compiled they take a while.
EXAMPLES = {"numpy": 200, "torch": 120, "tensorflow": 25, "jax": 20}


class Call(NamedTuple):
    """``function(K, *tensors)`` must give what ``oracle`` gives of the arrays."""

    label: str
    function: Callable[..., Any]
    arrays: list[Any]
    oracle: Callable[..., Any]


def check(name: str, calls: list[Call], hidden: list[bool]) -> None:
    """Run all calls on native tensors, and recorded in one function."""
    K = load_backend(name)
    wanted = [np.asarray(call.oracle(*call.arrays)) for call in calls]
    for call, want in zip(calls, wanted, strict=True):
        natives = [K.engine.from_numpy(a, str(a.dtype)) for a in call.arrays]
        same(f"{call.label} on native tensors", K.eval(call.function(K, *natives)), want)
    feeds, placeholders, outputs = [], [], []
    unknown = itertools.cycle(hidden)
    for call in calls:
        given = [
            K.placeholder([None if next(unknown) else n for n in a.shape], dtype=str(a.dtype))
            for a in call.arrays
        ]
        outputs.append(call.function(K, *given))
        placeholders += given
        feeds += call.arrays
    for call, output, want in zip(calls, outputs, wanted, strict=True):
        static = K.int_shape(output)
        assert fits(static, want.shape), f"{call.label}: {static} for {want.shape}"
    found = K.function(placeholders, outputs)(feeds)
    for call, value, want in zip(calls, found, wanted, strict=True):
        same(f"{call.label} recorded", value, want)


def same(label: str, value: Any, want: Any) -> None:
    assert value.shape == want.shape, f"{label}: {value.shape}, should be {want.shape}"
    np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-5, err_msg=label)


# --- strategies ----------------------------------------------------------------------------------

SIZES = st.integers(0, 3)


def shapes(least: int = 0, most: int = 4, sizes: Any = SIZES) -> Any:
    return st.lists(sizes, min_size=least, max_size=most).map(tuple)


def numbers(shape: tuple[int, ...], seed: int = 0) -> Any:
    """Whole numbers from -4 to 4 as floats, whose sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype("float32")


def axes_of(draw: Any, rank: int) -> int:
    return int(draw(st.integers(-rank, rank - 1)))


@st.composite
def shaping(draw: Any) -> Call:
    kind = draw(st.sampled_from(sorted(SHAPING)))
    least = {"expand_dims": 0, "flatten": 0, "reshape": 0, "stack": 0, "repeat": 2}.get(kind, 1)
    shape = draw(shapes(least, 2 if kind == "repeat" else 4))
    return Call(*SHAPING[kind](draw, shape))


def _reshape(draw: Any, shape: tuple[int, ...]) -> Any:
    left, target = math.prod(shape), []
    while left > 1 and draw(st.booleans()):
        factor = draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0]))
        target.append(factor)
        left //= factor
    target.append(left)
    target = draw(st.permutations(target))
    if 0 not in target and draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    label = f"reshape {shape} to {target}"
    return label, lambda K, x: K.reshape(x, target), [numbers(shape)], lambda x: x.reshape(target)


def _permute(draw: Any, shape: tuple[int, ...]) -> Any:
    order = tuple(draw(st.permutations(range(len(shape)))))
    label = f"permute {shape} by {order}"
    return (
        label,
        lambda K, x: K.permute_dimensions(x, order),
        [numbers(shape)],
        lambda x: x.transpose(order),
    )


def _expand(draw: Any, shape: tuple[int, ...]) -> Any:
    axis = axes_of(draw, len(shape) + 1)
    label = f"expand {shape} at {axis}"
    run, true = lambda K, x: K.expand_dims(x, axis), lambda x: np.expand_dims(x, axis)
    return label, run, [numbers(shape)], true


def _squeeze(draw: Any, shape: tuple[int, ...]) -> Any:
    axis = axes_of(draw, len(shape))
    sizes = list(shape)
    sizes[axis] = 1
    label = f"squeeze {sizes} at {axis}"
    return (
        label,
        lambda K, x: K.squeeze(x, axis),
        [numbers(tuple(sizes))],
        lambda x: x.squeeze(axis),
    )


def _tile(draw: Any, shape: tuple[int, ...]) -> Any:
    times = draw(st.lists(SIZES, min_size=1, max_size=len(shape) + 1))
    label = f"tile {shape} by {times}"
    return label, lambda K, x: K.tile(x, times), [numbers(shape)], lambda x: np.tile(x, times)


def _repeat_elements(draw: Any, shape: tuple[int, ...]) -> Any:
    axis, times = axes_of(draw, len(shape)), draw(SIZES)
    label = f"repeat_elements {shape}, {times} times on {axis}"
    return (
        label,
        lambda K, x: K.repeat_elements(x, times, axis),
        [numbers(shape)],
        lambda x: x.repeat(times, axis),
    )


def _repeat(draw: Any, shape: tuple[int, ...]) -> Any:
    times = draw(SIZES)
    label = f"repeat {shape} {times} times"
    run, true = lambda K, x: K.repeat(x, times), lambda x: x[:, None].repeat(times, 1)
    return label, run, [numbers(shape)], true


def _concatenate(draw: Any, shape: tuple[int, ...]) -> Any:
    axis = axes_of(draw, len(shape))
    arrays = []
    for position in range(draw(st.integers(1, 3))):
        sizes = list(shape)
        sizes[axis] = draw(SIZES)
        arrays.append(numbers(tuple(sizes), position))
    label = f"concatenate {[a.shape for a in arrays]} on {axis}"
    return (
        label,
        lambda K, *tensors: K.concatenate(list(tensors), axis),
        arrays,
        lambda *tensors: np.concatenate(tensors, axis),
    )


def _stack(draw: Any, shape: tuple[int, ...]) -> Any:
    axis, count = axes_of(draw, len(shape) + 1), draw(st.integers(1, 3))
    label = f"stack {count} of {shape} on {axis}"
    return (
        label,
        lambda K, *tensors: K.stack(list(tensors), axis),
        [numbers(shape, position) for position in range(count)],
        lambda *tensors: np.stack(tensors, axis),
    )


def _reverse(draw: Any, shape: tuple[int, ...]) -> Any:
    axes = draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1))
    label = f"reverse {shape} on {axes}"
    return label, lambda K, x: K.reverse(x, axes), [numbers(shape)], lambda x: np.flip(x, axes)


def _flatten(draw: Any, shape: tuple[int, ...]) -> Any:
    return f"flatten {shape}", lambda K, x: K.flatten(x), [numbers(shape)], np.ravel


def _batch_flatten(draw: Any, shape: tuple[int, ...]) -> Any:
    def true(x: Any) -> Any:
        return x.reshape(len(x), math.prod(x.shape[1:]))

    return f"batch_flatten {shape}", lambda K, x: K.batch_flatten(x), [numbers(shape)], true


def _slice(draw: Any, shape: tuple[int, ...]) -> Any:
    begins = [draw(st.integers(0, n)) for n in shape]
    sizes = [draw(st.integers(-1, n - b)) for n, b in zip(shape, begins, strict=True)]
    label = f"slice {shape} from {begins}, {sizes}"
    parts = [slice(b, None if n == -1 else b + n) for b, n in zip(begins, sizes, strict=True)]
    return (
        label,
        lambda K, x: K.slice(x, begins, sizes),
        [numbers(shape)],
        lambda x: x[tuple(parts)],
    )


def _gather(draw: Any, shape: tuple[int, ...]) -> Any:
    shape = (shape[0] + 1, *shape[1:])
    picked = np.asarray(draw(places(shape[0], 0)), "int32")
    label = f"gather {picked.shape} of {shape}"
    return label, lambda K, x, i: K.gather(x, i), [numbers(shape), picked], lambda x, i: x[i]


SHAPING: dict[str, Callable[..., Any]] = {
    "reshape": _reshape,
    "permute": _permute,
    "expand_dims": _expand,
    "squeeze": _squeeze,
    "tile": _tile,
    "repeat_elements": _repeat_elements,
    "repeat": _repeat,
    "concatenate": _concatenate,
    "stack": _stack,
    "reverse": _reverse,
    "flatten": _flatten,
    "batch_flatten": _batch_flatten,
    "slice": _slice,
    "gather": _gather,
}


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.log(np.exp(x.astype("float64")).sum(axis, keepdims=keepdims))


#: The reduction by NumPy, and whether it is defined for no elements.
REDUCTIONS: dict[str, tuple[Callable[..., Any], bool]] = {
    "sum": (np.sum, True),
    "prod": (np.prod, True),
    "mean": (np.mean, False),
    "var": (np.var, False),
    "std": (np.std, False),
    "max": (np.max, False),
    "min": (np.min, False),
    "any": (np.any, True),
    "all": (np.all, True),
    "logsumexp": (_logsumexp, False),
}
ALONG: dict[str, Callable[..., Any]] = {
    "argmax": np.argmax,
    "argmin": np.argmin,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
}


@st.composite
def reduction(draw: Any) -> Call:
    name = draw(st.sampled_from([*REDUCTIONS, *ALONG]))
    if name in ALONG:
        shape = draw(shapes(1, 4, st.integers(1 if name.startswith("arg") else 0, 3)))
        axis: Any = axes_of(draw, len(shape))
        true = ALONG[name]
        return Call(
            f"{name} of {shape} along {axis}",
            lambda K, x: getattr(K, name)(x, axis),
            [numbers(shape)],
            lambda x: true(x, axis),
        )
    reduce, of_nothing = REDUCTIONS[name]
    shape = draw(shapes(0, 4, st.integers(0 if of_nothing else 1, 3)))
    axes = st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1).map(tuple)
    one = st.integers(-len(shape), len(shape) - 1)
    axis = draw(st.one_of(st.none(), one, axes)) if shape else None
    keepdims = draw(st.booleans())
    return Call(
        f"{name} of {shape} over {axis}, keepdims={keepdims}",
        lambda K, x: getattr(K, name)(x, axis=axis, keepdims=keepdims),
        [numbers(shape)],
        lambda x: reduce(x, axis=axis, keepdims=keepdims),
    )


@st.composite
def places(draw: Any, size: int, least: int) -> Any:
    """Indices from ``least`` to ``size - 1``: a number, a list, or a list of lists."""
    shape = draw(st.lists(st.integers(0, 2), max_size=2))
    index = st.integers(least, size - 1)
    flat = draw(st.lists(index, min_size=math.prod(shape), max_size=math.prod(shape)))
    return np.reshape(np.array(flat, "int64"), shape)


@st.composite
def indexing(draw: Any) -> Call:
    shape = draw(shapes(1, 4))
    count = draw(st.integers(0, len(shape)))
    tensor_at = draw(st.integers(-1, count - 1)) if count else -1
    if tensor_at >= 0 and not shape[tensor_at]:
        tensor_at = -1
    bounds = st.one_of(st.none(), st.integers(-4, 4))
    steps = st.sampled_from([None, 1, 2, 3, -1, -2])
    key: list[Any] = []
    for axis in range(count):
        if axis == tensor_at:
            key.append(Ellipsis)  # its place, until the tensor is there
        elif shape[axis] and tensor_at < 0 and draw(st.booleans()):
            key.append(axes_of(draw, shape[axis]))
        else:
            key.append(slice(draw(bounds), draw(bounds), draw(steps)))
    tensors = []
    where = key.index(Ellipsis) if Ellipsis in key else -1
    if where >= 0:
        tensors.append(np.asarray(draw(places(shape[tensor_at], -shape[tensor_at])), "int32"))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(key)))
        key.insert(at, None)
        where += where >= at
    if where < 0 and draw(st.booleans()):
        key.append(Ellipsis)

    def taken(x: Any, *index: Any) -> Any:
        full = [index[0] if i == where else part for i, part in enumerate(key)] if index else key
        return x[tuple(full)]

    def true(x: Any, *index: Any) -> Any:
        return taken(x, *(int(i) if i.ndim == 0 else i for i in index))

    label = f"{shape} at {key}, {[t.tolist() for t in tensors]}"
    return Call(
        label, lambda K, *operands: _item(K, taken, *operands), [numbers(shape), *tensors], true
    )


def _item(K: Any, taken: Callable[..., Any], x: Any, *index: Any) -> Any:
    """``x[key]`` by kbridge's rules on native tensors too, whose own ones differ."""
    if K.is_symbolic(x):
        return taken(x, *index)
    with K.symbolic_scope():
        return taken(K.identity(x), *(K.identity(i) for i in index))


@st.composite
def products(draw: Any) -> Call:
    inner = draw(SIZES)
    if draw(st.booleans()):
        x, y = (*draw(shapes(0, 3)), inner), draw(shapes(0, 2))
        y = (*y[:-1], inner, *y[-1:]) if y else (inner,)
        return Call(
            f"dot {x} {y}", lambda K, x, y: K.dot(x, y), [numbers(x), numbers(y, 1)], np.dot
        )
    batch = draw(SIZES)
    sides, axes = [], []
    for _ in range(2):
        rest = list(draw(shapes(0, 2)))
        axis = draw(st.integers(0, len(rest)))
        sides.append((batch, *rest[:axis], inner, *rest[axis:]))
        axes.append(axis + 1)

    def true(x: Any, y: Any) -> Any:
        over = (axes[0] - 1, axes[1] - 1)
        found = [np.tensordot(a, b, (over[:1], over[1:])) for a, b in zip(x, y, strict=True)]
        rest = [n for s, a in zip(sides, axes, strict=True) for n in (*s[1:a], *s[a + 1 :])]
        return np.reshape(np.array(found, "float32"), (batch, *(rest or [1])))

    signed = [a - len(s) if draw(st.booleans()) else a for a, s in zip(axes, sides, strict=True)]
    return Call(
        f"batch_dot {sides} over {signed}",
        lambda K, x, y: K.batch_dot(x, y, axes=signed),
        [numbers(sides[0]), numbers(sides[1], 1)],
        true,
    )


# --- properties ----------------------------------------------------------------------------------

HIDDEN = st.lists(st.booleans(), min_size=1, max_size=5)


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize(
    "calls",
    [shaping(), reduction(), indexing(), products()],
    ids=["shaping", "reduction", "indexing", "products"],
)
def test_calls_are_those_of_numpy(name: str, calls: Any) -> None:
    @settings(max_examples=EXAMPLES[name], deadline=None, derandomize=True)
    @given(st.lists(calls, min_size=1, max_size=6), HIDDEN)
    def run(made: list[Call], hidden: list[bool]) -> None:
        check(name, made, hidden)

    run()
