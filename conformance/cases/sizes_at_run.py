"""Sizes that only the run or the data tell: what is refused, and what is known of them before."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from kbridge.conformance.records import fault, program
from kbridge.errors import (
    ArgumentError,
    ArgumentTypeError,
    KBridgeError,
    ShapeError,
    UnsupportedError,
)

X = np.arange(6.0, dtype="float32").reshape(2, 3)


def _zeros(*sizes: int) -> Any:
    return np.zeros(sizes, "float32")


# --- sizes that only data tell -------------------------------------------------------------------


def _by_data(K: Any) -> dict[str, tuple[Any, tuple[int, ...]]]:
    x, s = K.placeholder((None, 3)), K.placeholder((2,), dtype="int32")
    count = K.cast(K.sum(x), "int32")
    made = {
        "reshape": (K.reshape(x, s), (3, 2)),
        "zeros": (K.zeros(s), (3, 2)),
        "ones": (K.ones((s[0], 1)), (3, 1)),
        "tile": (K.tile(x, s), (6, 6)),
        "repeat": (K.repeat(x, s[0]), (2, 3, 3)),
        "repeat_elements": (K.repeat_elements(x, s[1], 0), (4, 3)),
        "arange": (K.arange(count), (6,)),
        "one_hot": (K.one_hot(s, K.max(s) + 1), (2, 4)),
        "random_uniform": (K.random_uniform(s), (3, 2)),
        "slice": (K.slice(x, (0, 0), s - 1), (2, 1)),
        "getitem": (x[: s[0] - 2], (1, 3)),
    }
    given = [X * 0 + 1, np.array([3, 2])]
    return {
        name: (lambda t=t: K.function([x, s], [t])(given)[0].shape, wanted)
        for name, (t, wanted) in made.items()
    }


@program([], covers="reshape")
def sizes_that_data_tell(K: Any) -> Any:
    """They work, except on JAX: there the error names the operation and says what to do."""
    wrong = []
    for name, (run, wanted) in _by_data(K).items():
        try:
            found: Any = run()
        except UnsupportedError as error:
            found = str(error)
        if K.engine.name == "jax":
            text = str(found)
            right = text.startswith(f"K.{name}: ") and "Take sizes from K.shape" in text
        else:
            right = found == wanted
        if not right:
            wrong.append(f"{name}: {found}, should be {wanted}")
    return wrong


@program(((2, 1), (1, 3), (1, 2)), covers="slice gather")
def places_that_data_tell(K: Any) -> Any:
    """Where to pick may depend on data everywhere, as long as the size does not."""
    x, s = K.placeholder((None, 3)), K.placeholder((2,), dtype="int32")
    made = [K.slice(x, (0, s[1]), (2, 1)), x[s[:1]], K.slice(x, s - 1, (1, 2))]
    return tuple(value.shape for value in K.function([x, s], made)([X, [1, 2]]))


# --- faults --------------------------------------------------------------------------------------


@program(["reshape", "reshape", "reshape", "full", "repeat", "one_hot", "random_normal", "arange"])
def sizes_that_do_not_fit(K: Any) -> Any:
    """Only the run can tell; the error names the operation."""
    x = K.placeholder((None, 3))
    rows, index = K.shape(x)[0], K.constant([0], dtype="int32")
    names = []
    for made, kind in (
        (K.reshape(x, (0, 3)), ShapeError),
        (K.reshape(x, (rows - 1, 3)), ShapeError),
        (K.reshape(x, (0, -1)), ShapeError),
        (K.zeros((rows - 3,)), ArgumentError),
        (K.repeat(x, rows - 3), ArgumentError),
        (K.one_hot(index, rows - 3), ArgumentError),
        (K.random_normal((rows - 3,)), ArgumentError),
        (K.arange(0, 5, rows - 2), ArgumentError),
    ):
        try:
            K.function([x], [made])([X])
        except KBridgeError as error:
            if isinstance(error, kind):
                names.append(str(error).partition(":")[0].removeprefix("K."))
    return names


@program([], covers="batch_dot sparse_categorical_crossentropy softmax_cost")
def sizes_of_one_do_not_broadcast(K: Any) -> Any:
    """Where each operand has a sample for each of the other's."""
    x, y = K.placeholder((None, 3, 4)), K.placeholder((None, 4, 5))
    target, output = K.placeholder((None,), dtype="int32"), K.placeholder((None, 2))
    cost = K.sparse_categorical_crossentropy
    wrong = []
    for inputs, made, fed in (
        ([x, y], K.batch_dot(x, y), [_zeros(2, 3, 4), _zeros(1, 4, 5)]),
        ([target, output], cost(target, output, True), [_zeros(1), _zeros(3, 2)]),
        ([target, output], cost(target, output, True), [_zeros(3), _zeros(1, 2)]),
        ([target, output], cost(target, output), [_zeros(1), _zeros(3, 2)]),
    ):
        with contextlib.suppress(ShapeError):
            wrong.append(K.function(inputs, [made])(fed)[0].shape)
    return wrong


@program(((0, 3), (0, 12), (0, 12), (0, 2, 6), (0, 12)), covers="reshape batch_flatten")
def empty_batches_are_reshaped(K: Any) -> Any:
    """-1 beside the 0 of an empty batch follows from the other sizes."""
    x, y = K.placeholder((None, 3)), K.placeholder((None, 3, 4))
    batch = K.shape(y)[0]
    made = [
        K.reshape(x, (0, 3)),
        K.reshape(y, (batch, -1)),
        K.reshape(y, (-1, 12)),
        K.reshape(y, K.stack([batch, 2, -1])),
        K.batch_flatten(y),
    ]
    return tuple(v.shape for v in K.function([x, y], made)([_zeros(0, 3), _zeros(0, 3, 4)]))


@program((True, True, (None, 9), (3, 2), (None, 6), (2, 4)), covers="shape gradients")
def what_is_known_of_sizes(K: Any) -> Any:
    """Sizes have no gradient; what is known of them is inferred, one by one."""
    x = K.placeholder((None, 3))
    count = K.cast(K.shape(x)[0], "float32")
    b = K.shape(x)[1]
    return (
        K.gradients(K.sum(x) * count, count) == [None],
        K.gradients(K.sum(x) * count, x)[0] is not None,
        K.int_shape(K.zeros((K.shape(x)[0] + 1, K.square(b)))),
        K.int_shape(K.zeros((K.cast(K.cast(b, "float32") * 1.0, "int32"), b // 2 + 1))),
        K.int_shape(K.tile(x, K.reverse(K.stack([2, b]), 0))),
        K.int_shape(K.zeros(K.gather(K.shape(K.placeholder((4, None, 2))), [2, 0]))),
    )


fault(
    "a-size-of-floats",
    lambda K, t: K.zeros((K.shape(t(2, 3))[0] / 1, 3)),
    ArgumentTypeError,
    TypeError,
    text=r"integer",
)
fault(
    "reshape-to-floats",
    lambda K, t: K.reshape(t(2, 3), (K.shape(t(2, 3))[0] / 1, 3)),
    ArgumentTypeError,
    TypeError,
    text=r"^K\.reshape: .*integer",
)
fault(
    "a-float-among-sizes",
    lambda K, t: K.tile(t(2, 3), (1.5, 1)),
    ArgumentTypeError,
    TypeError,
    text=r"^K\.tile: .*must be an integer, got 1\.5",
)
