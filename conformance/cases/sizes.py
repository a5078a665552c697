"""Shapes that a program computes: sizes of tensors, arithmetic on them, and where they go.

Each program runs in every way there is: compiled with all or some sizes unknown, evaluated, on
native tensors, and inside the engine's own compiled functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kbridge.conformance.records import program

X = np.arange(6.0, dtype="float32").reshape(2, 3)
Y = np.arange(24.0, dtype="float32").reshape(2, 3, 4)

Build = Callable[[Any, Any, Any], Any]


def _sizes(x: Any, y: Any, K: Any) -> tuple[Any, ...]:
    """The sizes of x (a, b) and y (a, b, c)."""
    return K.shape(x)[0], K.shape(x)[1], K.shape(y)[2]


def _ways(K: Any, build: Callable[[Any, Any], list[Any]]) -> Iterator[tuple[str, list[Any]]]:
    """The values of ``build(x, y)`` in each way that the backend has."""
    for name, x_shape, y_shape in (
        ("compiled, sizes unknown", (None, None), (None, None, None)),
        ("compiled, batch unknown", (None, 3), (None, 3, 4)),
        ("compiled, sizes known", (2, 3), (2, 3, 4)),
    ):
        x, y = K.placeholder(x_shape), K.placeholder(y_shape)
        yield name, K.function([x, y], build(x, y))([X, Y])
    yield "evaluated", [K.eval(t) for t in build(K.constant(X), K.variable(Y))]
    if not getattr(K.engine, "has_graph", True):
        return  # a module with a graph of its own shows no native tensors
    natives = (K.engine.from_numpy(value, "float32") for value in (X, Y))
    yield "native", [K.eval(t) for t in build(*natives)]
    if K.engine.name == "jax":
        import jax

        # What follows from sizes alone is no native tensor, until it meets one.
        def traced(x: Any, y: Any) -> list[Any]:
            return [K.cast(x[0, 0] * 0 + K.cast(t, "float32"), "float32") for t in build(x, y)]

        yield "jax.jit", jax.jit(traced)(X, Y)
    if K.engine.name == "tensorflow":
        import tensorflow as tf

        specs = [tf.TensorSpec((None,) * value.ndim) for value in (X, Y)]
        graph = tf.function(build, input_signature=specs, autograph=False)
        yield "tf.function", [t.numpy() for t in graph(X, Y)]


def _wrong(K: Any, table: dict[str, tuple[Build, Any]], skip: str = "") -> list[str]:
    """Way and name of every build in ``table`` whose value is not the one beside it."""

    def build(x: Any, y: Any) -> list[Any]:
        return [function(K, x, y) for function, _ in table.values()]

    found = []
    for way, values in _ways(K, build):
        if way == skip:
            continue
        for (name, (_, wanted)), value in zip(table.items(), values, strict=True):
            value, wanted = np.asarray(value), np.asarray(wanted)
            if value.shape != wanted.shape or not np.allclose(value, wanted):
                found.append(f"{way}: {name} is {value.tolist()}, should be {wanted.tolist()}")
    return found


def _zeros(*sizes: int) -> Any:
    return np.zeros(sizes, "float32")


# --- into shapes ---------------------------------------------------------------------------------


@program([], covers="reshape shape size stack concatenate")
def sizes_in_reshape(K: Any) -> Any:
    def with_sizes(function: Callable[..., Any]) -> Build:
        return lambda K, x, y: K.reshape(y, function(*_sizes(x, y, K)))

    flat, rows, columns = Y.reshape(24), Y.reshape(6, 4), Y.reshape(2, 12)
    return _wrong(
        K,
        {
            "tuple": (with_sizes(lambda a, b, c: (b, a, c)), Y.reshape(3, 2, 4)),
            "tuple with -1": (with_sizes(lambda a, b, c: (-1, c)), rows),
            "tuple with 1 and -1": (with_sizes(lambda a, b, c: (a, 1, -1)), columns[:, None]),
            "list": (with_sizes(lambda a, b, c: [a, b * c]), columns),
            "stack": (with_sizes(lambda a, b, c: K.stack([a * b, c])), rows),
            "stack with -1": (with_sizes(lambda a, b, c: K.stack([a, -1])), columns),
            "NumPy integers": (with_sizes(lambda a, b, c: (np.int64(6), np.int32(4))), rows),
            "quotient": (with_sizes(lambda a, b, c: (a, b * c // 2, 2)), Y.reshape(2, 6, 2)),
            "concatenate": (
                lambda K, x, y: K.reshape(y, K.concatenate([K.shape(y)[:1], [-1]])),
                columns,
            ),
            "prod": (
                lambda K, x, y: K.reshape(y, K.stack([K.prod([K.shape(y)[i] for i in (0, 1)]), 4])),
                rows,
            ),
            "prod of a slice": (
                lambda K, x, y: K.reshape(y, (K.shape(y)[0], K.prod(K.shape(y)[1:]))),
                columns,
            ),
            "shape of another": (lambda K, x, y: K.reshape(y[:, :, 0], K.shape(x)), Y[:, :, 0]),
            "size": (lambda K, x, y: K.reshape(y, (K.size(y),)), flat),
            "a scalar": (lambda K, x, y: K.reshape(y, K.size(y)), flat),
            "batch_flatten": (lambda K, x, y: K.batch_flatten(y), columns),
            "dot of a batch": (
                lambda K, x, y: K.reshape(
                    K.dot(K.reshape(y, (-1, 4)), K.ones((4, 5))),
                    (K.shape(y)[0], K.shape(y)[1], 5),
                ),
                np.repeat(Y.sum(2)[..., None], 5, 2),
            ),
        },
    )


@program([], covers="tile repeat repeat_elements")
def sizes_in_repeats(K: Any) -> Any:
    return _wrong(
        K,
        {
            "tuple": (lambda K, x, y: K.tile(x, _sizes(x, y, K)[:2]), np.tile(X, (2, 3))),
            "list": (lambda K, x, y: K.tile(x, [1, K.shape(x)[1]]), np.tile(X, (1, 3))),
            "stack": (lambda K, x, y: K.tile(x, K.stack([K.shape(y)[2], 1])), np.tile(X, (4, 1))),
            "vector": (lambda K, x, y: K.tile(x, K.shape(x)), np.tile(X, (2, 3))),
            "longer vector": (lambda K, x, y: K.tile(x, K.shape(y)), np.tile(X, (2, 3, 4))),
            "scalar": (lambda K, x, y: K.tile(x, K.shape(x)[1]), np.tile(X, 3)),
            "repeat": (lambda K, x, y: K.repeat(x, K.shape(y)[2]), np.repeat(X[:, None], 4, 1)),
            "repeat_elements": (
                lambda K, x, y: K.repeat_elements(x, K.shape(x)[1] - 1, axis=1),
                np.repeat(X, 2, 1),
            ),
        },
    )


@program([], covers="zeros ones eye arange one_hot zeros_like")
def sizes_of_new_tensors(K: Any) -> Any:
    a, b = 0, 1
    return _wrong(
        K,
        {
            "zeros": (lambda K, x, y: K.zeros(K.shape(x)), _zeros(2, 3)),
            "ones": (lambda K, x, y: K.ones((K.shape(x)[a], 1)), np.ones((2, 1))),
            "ones of a scalar": (lambda K, x, y: K.ones(K.shape(x)[b]), np.ones(3)),
            "added": (lambda K, x, y: y + K.zeros((K.shape(x)[a], 1, 1)), Y),
            "joined": (
                lambda K, x, y: K.concatenate([x, K.zeros((K.shape(x)[a], K.shape(y)[2] - 3))]),
                np.pad(X, ((0, 0), (0, 1))),
            ),
            "arange": (lambda K, x, y: K.arange(K.shape(x)[b]), np.arange(3)),
            "arange in steps": (
                lambda K, x, y: K.arange(K.shape(x)[a], K.size(y), K.shape(x)[b]),
                np.arange(2, 24, 3),
            ),
            "positions": (
                lambda K, x, y: (
                    y * K.reshape(K.cast(K.arange(K.shape(y)[1]), "float32"), (1, -1, 1))
                ),
                Y * np.arange(3.0).reshape(1, 3, 1),
            ),
            "lengths to a mask": (
                lambda K, x, y: K.less(
                    K.expand_dims(K.arange(K.shape(x)[b]), 0), K.constant([[1], [2]], dtype="int32")
                ),
                [[True, False, False], [True, True, False]],
            ),
            "eye": (lambda K, x, y: K.eye(K.shape(x)[b]), np.eye(3)),
            "eye of two": (lambda K, x, y: K.eye((K.shape(x)[a], K.shape(x)[b])), np.eye(2, 3)),
            "eye of a vector": (lambda K, x, y: K.eye(K.shape(x)), np.eye(2, 3)),
            "one_hot": (
                lambda K, x, y: K.one_hot(K.constant([1, 0], dtype="int32"), K.shape(x)[b]),
                np.eye(3)[[1, 0]],
            ),
            "one_hot of arange": (
                lambda K, x, y: K.one_hot(K.arange(K.shape(x)[b]), K.shape(y)[2]),
                np.eye(3, 4),
            ),
        },
    )


@program([], covers="slice")
def sizes_in_indices(K: Any) -> Any:
    return _wrong(
        K,
        {
            "end": (lambda K, x, y: y[:, : K.shape(x)[0]], Y[:, :2]),
            "beginning": (lambda K, x, y: y[..., K.shape(x)[1] - 1 :], Y[..., 2:]),
            "from the end": (lambda K, x, y: y[:, -K.shape(x)[0] :], Y[:, -2:]),
            "beyond the end": (lambda K, x, y: x[: K.shape(y)[2]], X),
            "step": (lambda K, x, y: y[:, :, :: K.shape(x)[0]], Y[:, :, ::2]),
            "one": (lambda K, x, y: y[K.shape(x)[0] - 1], Y[1]),
            "one of several": (lambda K, x, y: y[..., K.shape(x)[1], None], Y[..., 3, None]),
            "slice": (
                lambda K, x, y: K.slice(y, (0, 0, 1), (-1, K.shape(x)[0], K.shape(y)[2] - 1)),
                Y[:, :2, 1:],
            ),
            "slice by vectors": (
                lambda K, x, y: K.slice(
                    y, K.stack([0, K.shape(x)[0] - 1, 1]), K.stack([K.shape(y)[0], 1, -1])
                ),
                Y[:, 1:2, 1:],
            ),
        },
    )


# --- arithmetic ----------------------------------------------------------------------------------


@program([], covers="abs square pow maximum minimum clip max min sum prod cumsum argmax")
def arithmetic_of_sizes(K: Any) -> Any:
    """Whatever is computed of sizes alone is a size."""

    def one(function: Callable[..., Any]) -> Build:
        return lambda K, x, y: K.zeros((function(*_sizes(x, y, K)), 1))

    return _wrong(
        K,
        {
            "+ -": (one(lambda a, b, c: 1 + a - b + c - 1), _zeros(3, 1)),
            "* // %": (one(lambda a, b, c: (a * b * c // 5) % 3), _zeros(1, 1)),
            "numbers on the left": (one(lambda a, b, c: 9 // a - 7 % b + 2 * c), _zeros(11, 1)),
            "-": (one(lambda a, b, c: -a + 3), _zeros(1, 1)),
            "**": (one(lambda a, b, c: b**2), _zeros(9, 1)),
            "abs": (one(lambda a, b, c: K.abs(a - b)), _zeros(1, 1)),
            "square": (one(lambda a, b, c: K.square(b)), _zeros(9, 1)),
            "pow": (one(lambda a, b, c: K.pow(a, 3)), _zeros(8, 1)),
            "maximum": (one(lambda a, b, c: K.maximum(a, K.minimum(b, 5))), _zeros(3, 1)),
            "clip": (one(lambda a, b, c: K.clip(c, 1, 3)), _zeros(3, 1)),
            "max": (one(lambda a, b, c: K.max(K.stack([a, b, c]))), _zeros(4, 1)),
            "min": (one(lambda a, b, c: K.min(K.stack([a, b, c]))), _zeros(2, 1)),
            "sum": (one(lambda a, b, c: K.sum(K.stack([a, b, c]))), _zeros(9, 1)),
            "cumsum": (one(lambda a, b, c: K.cumsum(K.stack([a, b, c]))[1]), _zeros(5, 1)),
            "argmax": (
                one(lambda a, b, c: K.cast(K.argmax(K.stack([a, c, b])), "int32")),
                _zeros(1, 1),
            ),
            "int64": (one(lambda a, b, c: K.cast(b, "int64")), _zeros(3, 1)),
        },
    )


@program([], covers="cast round sqrt")
def sizes_as_floats_and_back(K: Any) -> Any:
    def one(function: Callable[..., Any]) -> Build:
        return lambda K, x, y: K.zeros((K.cast(function(*_sizes(x, y, K)), "int32"), 1))

    def as_float(size: Any) -> Any:
        return K.cast(size, "float32")

    return _wrong(
        K,
        {
            "half": (one(lambda a, b, c: as_float(c) * 0.5), _zeros(2, 1)),
            "quotient": (one(lambda a, b, c: c / a), _zeros(2, 1)),
            "round": (one(lambda a, b, c: K.round(as_float(c) / 2.1)), _zeros(2, 1)),
            "sqrt": (one(lambda a, b, c: K.sqrt(as_float(c))), _zeros(2, 1)),
            "mean": (one(lambda a, b, c: K.mean(K.stack([a, c]))), _zeros(3, 1)),
            "maximum": (one(lambda a, b, c: K.maximum(as_float(a), 2.5) * 2.0), _zeros(5, 1)),
            "divided by": (lambda K, x, y: x / as_float(K.shape(x)[1]), X / 3),
            "mean by hand": (lambda K, x, y: K.sum(x) / K.cast(K.size(x), K.floatx()), 2.5),
        },
    )


@program([], covers="concatenate stack reverse gather expand_dims squeeze flatten identity")
def vectors_of_sizes(K: Any) -> Any:
    """Picked, arranged and joined."""

    def vector(function: Callable[..., Any]) -> Build:
        return lambda K, x, y: K.zeros(function(K.shape(x), K.shape(y)))

    ones = np.ones(1, "int32")
    return _wrong(
        K,
        {
            "joined": (vector(lambda x, y: K.concatenate([x, y[2:]])), _zeros(2, 3, 4)),
            "joined to a list": (vector(lambda x, y: K.concatenate([x, [1]])), _zeros(2, 3, 1)),
            "joined to an array": (vector(lambda x, y: K.concatenate([ones, x])), _zeros(1, 2, 3)),
            "joined to a constant": (
                vector(lambda x, y: K.concatenate([x, K.constant([5], dtype="int32")])),
                _zeros(2, 3, 5),
            ),
            "turned": (vector(lambda x, y: K.reverse(x, 0)), _zeros(3, 2)),
            "turned by an index": (vector(lambda x, y: x[::-1]), _zeros(3, 2)),
            "gathered": (vector(lambda x, y: K.gather(y, [2, 0])), _zeros(4, 2)),
            "sliced": (vector(lambda x, y: K.slice(y, (1,), (2,))), _zeros(3, 4)),
            "doubled": (vector(lambda x, y: x * 2), _zeros(4, 6)),
            "added": (vector(lambda x, y: x + K.stack([x[1], 0])), _zeros(5, 3)),
            "constant first": (
                vector(lambda x, y: K.constant([1, 2], dtype="int32") + x),
                _zeros(3, 5),
            ),
            "axes": (
                vector(lambda x, y: K.concatenate([K.expand_dims(x[1], 0), K.reshape(x[0], (1,))])),
                _zeros(3, 2),
            ),
            "squeezed": (
                vector(lambda x, y: K.stack([K.squeeze(x[1:], 0), K.flatten(x)[0]])),
                _zeros(3, 2),
            ),
            "identity": (vector(lambda x, y: K.identity(x)), _zeros(2, 3)),
            "as values": (lambda K, x, y: K.concatenate([K.shape(x), K.shape(y)]), [2, 3, 2, 3, 4]),
            "of a shape": (lambda K, x, y: K.shape(K.shape(y)), [3]),
            "stacked shapes": (lambda K, x, y: K.stack([K.shape(x)] * 2), [[2, 3], [2, 3]]),
        },
    )


@program([], covers="switch greater equal")
def choices_by_size(K: Any) -> Any:
    return _wrong(
        K,
        {
            "greater": (
                lambda K, x, y: K.switch(
                    K.greater(K.shape(x)[1], K.shape(x)[0]), lambda: x * 2.0, lambda: x * 3.0
                ),
                X * 2,
            ),
            "operator": (lambda K, x, y: K.switch(K.shape(x)[1] > 3, x * 2.0, x * 3.0), X * 3),
            "equal": (
                lambda K, x, y: K.switch(K.equal(K.shape(x)[1], 3), x * 2.0, x * 3.0),
                X * 2,
            ),
        },
    )


@program([], covers="shape")
def sizes_beside_tensors(K: Any) -> Any:
    """Operators between them; inside a tf.function these are TensorFlow's own."""
    table: dict[str, tuple[Build, Any]] = {
        "*": (lambda K, x, y: x * K.shape(x)[1], X * 3),
        "* on the left": (lambda K, x, y: K.shape(x)[1] * x, X * 3),
        "+": (lambda K, x, y: K.shape(y)[2] + x, X + 4),
        "-": (lambda K, x, y: K.shape(y)[2] - x, 4 - X),
        "/": (lambda K, x, y: x / K.shape(x)[0], X / 2),
        ">": (lambda K, x, y: K.cast(x > K.shape(x)[1], "float32"), X > 3),
    }
    if K.engine.name == "tensorflow":
        table = {name: (_with_known_sizes(build), want) for name, (build, want) in table.items()}
    return _wrong(K, table)


def _with_known_sizes(build: Build) -> Build:
    def run(K: Any, x: Any, y: Any) -> Any:
        if hasattr(x, "set_shape"):  # TensorFlow's own
            x, y = K.reshape(x, (2, 3)), K.reshape(y, (2, 3, 4))
        return build(K, x, y)

    return run


@program([], covers="shape size cast mean argmax")
def dtypes_of_sizes(K: Any) -> Any:
    """The same on native tensors as recorded: int32, or floatx, or what was asked for."""
    made: dict[str, tuple[Callable[[Any], Any], str]] = {
        "shape": (K.shape, "int32"),
        "size": (K.size, "int32"),
        "entry": (lambda x: K.shape(x)[0], "int32"),
        "sum": (lambda x: K.shape(x)[0] + 1, "int32"),
        "quotient": (lambda x: K.shape(x)[0] / 2, "float32"),
        "float": (lambda x: K.shape(x)[0] * 0.5, "float32"),
        "int64": (lambda x: K.cast(K.shape(x)[0], "int64") + 1, "int64"),
        "float64": (lambda x: K.cast(K.shape(x)[0], "float64") * 0.5, "float64"),
        "mean": (lambda x: K.mean(K.shape(x)), "float32"),
        "sqrt": (lambda x: K.sqrt(K.size(x)), "float32"),
        "argmax": (lambda x: K.argmax(K.shape(x)), "int64"),
        "truth": (lambda x: K.greater(K.size(x), 2), "bool"),
        "prod": (lambda x: K.prod(K.shape(x)), "int32"),
        "stack": (lambda x: K.stack([K.size(x), 1]), "int32"),
    }
    given = {"recorded": K.placeholder((None, 3)), "evaluated": K.constant(X)}
    if getattr(K.engine, "has_graph", True):
        given["native"] = K.engine.from_numpy(X, "float32")
    return [
        f"{way}: {name} is {K.dtype(function(x))}, should be {dtype}"
        for way, x in given.items()
        for name, (function, dtype) in made.items()
        if K.dtype(function(x)) != dtype
    ]


# --- draws ---------------------------------------------------------------------------------------


@program(
    ((2, 3), (2, 7), (2, 1, 4), (3,), (2, 3, 4), (2, 3, 4), (2, 3, 4), True, True),
    covers="random_normal random_uniform truncated_normal random_binomial dropout",
)
def sizes_of_draws(K: Any) -> Any:
    """Also of what dropout drops together: a tuple with None, with sizes, or a vector."""
    x, y = K.placeholder((None, None)), K.placeholder((None, None, None))
    a, _, c = _sizes(x, y, K)
    dropped = [
        K.dropout(y, 0.5, noise_shape=(None, 1, c), seed=1),
        K.dropout(y, 0.5, noise_shape=K.stack([a, 1, 1]), seed=1),
        K.dropout(y, 0.5, seed=1),
    ]
    made = [
        K.random_normal(K.shape(x)),
        K.random_uniform((a, 7)),
        K.truncated_normal([a, 1, c]),
        K.random_binomial(K.shape(x)[1:], 0.5),
        *dropped,
    ]
    values = K.function([x, y], made)([X, Y + 1])
    along, alone = (value != 0 for value in values[4:6])
    return (
        *(value.shape for value in values),
        bool((along == along[:, :1]).all()),
        bool((alone == alone[:, :1, :1]).all()),
    )
