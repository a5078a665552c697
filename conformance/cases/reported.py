"""Faults that people met on one engine or another, with the right outcome.

Each program is named after the case in the list of known faults that it stands for.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from kbridge.conformance.records import program
from kbridge.errors import GraphError, IndexRangeError

LN4 = math.log(4.0)


# --- functions, updates, gradients ---------------------------------------------------------------


@program(([1.0], 2.0, 1.0, 3.0, 6.0), covers="function update")
def FUN_1(K: Any) -> Any:
    """Updates of one function are simultaneous; outputs see the values from before."""
    a, b, c = K.variable(1.0), K.variable(2.0), K.variable(3.0)
    x = K.placeholder(shape=(1,))
    f = K.function([x], [x + 1.0], updates=[(a, b), (b, a)])
    out = f([np.zeros(1)])[0]
    g = K.function([], [c * 1.0], updates=[(c, c * 2.0)])
    return out, K.get_value(a), K.get_value(b), g([])[0], K.get_value(c)


@program(
    ([[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]], [[2.0, 4.0, 6.0]], [[2.0, 4.0, 6.0]], "GraphError"),
    covers="function",
)
def FUN_2(K: Any) -> Any:
    """A bare output gives a bare array; a bare input is taken as a list of one."""
    x = K.placeholder(shape=(None, 3))
    f = K.function([x], x * 2.0)
    g = K.function(x, x * 2.0)
    one = np.array([[1.0, 2.0, 3.0]])
    try:
        refused = ""
        K.function([x], [None])
    except GraphError:
        refused = "GraphError"
    return f([np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])]), g(one), g([one]), refused


@program((True, 6.0, True, 1, [0.6, 1.4]), covers="gradients")
def FUN_3(K: Any) -> Any:
    """No path is None, neither zeros nor an exception."""
    a, c = K.variable(1.0), K.variable(3.0)
    v = K.variable(np.array([0.3, 0.7]))
    r1 = K.gradients(c * c, [a, c])
    r2 = K.gradients(K.sum(K.round(v)), [v])
    r3 = K.gradients(K.sum(K.square(v) + K.stop_gradient(v)), v)
    return r1[0] is None, K.eval(r1[1]), r2 == [None], len(r3), K.eval(r3[0])


@program(([9.0], [8.5], [8.05]), covers="moving_average_update")
def FUN_5(K: Any) -> Any:
    """A plain exponential average, one step per call."""
    v, x = K.variable(np.array([9.0])), K.placeholder(shape=(1,))
    f = K.function([x], [x * 1.0], updates=[K.moving_average_update(v, x, 0.9)])
    before = K.get_value(v)
    f([np.array([4.0])])
    r1 = K.get_value(v).copy()
    f([np.array([4.0])])
    return before, r1, K.get_value(v)


# --- convolution, pooling ------------------------------------------------------------------------


@program(
    ([[3.0, 3.5, 4.0], [4.5, 5.0, 5.5], [6.0, 6.5, 7.0]], [15.0]) * 2,
    covers="pool2d",
)
def CONV_1(K: Any) -> Any:
    """Average pooling leaves the padding out of the divisor, in both data formats."""
    x, y = np.arange(1.0, 10.0).reshape(1, 3, 3), np.array([10.0, 20.0]).reshape(1, 1, 2)
    found = []
    for data_format, axis in (("channels_last", -1), ("channels_first", 1)):
        a, b = K.variable(np.expand_dims(x, axis)), K.variable(np.expand_dims(y, axis))
        found.append(K.eval(K.pool2d(a, (3, 3), (1, 1), "same", data_format, "avg")).reshape(3, 3))
        found.append(K.eval(K.pool2d(b, (1, 3), (1, 2), "same", data_format, "avg")).ravel())
    return tuple(found)


@program(([8.0], [4.0], [[37.0, 47.0], [67.0, 77.0]]), covers="conv2d")
def CONV_3(K: Any) -> Any:
    """With stride 2 on even input "same" pads after, and the kernel is not flipped."""
    w = K.variable(np.arange(9.0).reshape(3, 3, 1, 1))
    k = K.variable(np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(2, 2, 1, 1))
    x = K.variable(np.arange(1.0, 10.0).reshape(1, 3, 3, 1))

    def strided(size: int) -> Any:
        ones = K.variable(np.ones((1, size, size, 1)))
        return K.eval(K.conv2d(ones, w, (2, 2), "same", "channels_last")).ravel()

    return (
        strided(2),
        strided(1),
        K.eval(K.conv2d(x, k, (1, 1), "valid", "channels_last"))[0, ..., 0],
    )


# --- losses --------------------------------------------------------------------------------------


def _finite(got: Any) -> bool:
    """Finite."""
    return bool(np.isfinite(got).all())


@program(
    ([16.118096], [15.942385, 1.19e-07, 1.19e-07], [100.0, 100.0], _finite),
    covers="binary_crossentropy",
    tolerance=1e-5,
)
def LOSS_1(K: Any) -> Any:
    """One epsilon, by clipping."""

    def loss(target: Any, output: Any, **kwargs: Any) -> Any:
        return K.eval(K.binary_crossentropy(K.constant(target), K.constant(output), **kwargs))

    return (
        loss([1.0], [0.0]),
        loss([0.0, 1.0, 0.0], [0.9999999, 0.9999999, 0.0000001]),
        loss([0.0, 1.0], [100.0, -100.0], from_logits=True),
        loss([0.0, 1.0, 1.0, 0.0], [1000.0, -1000.0, 1000.0, -1000.0], from_logits=True),
    )


@program((True, True, True), covers="binary_crossentropy")
def LOSS_4(K: Any) -> Any:
    """1 - epsilon must not become 1: neither nan nor infinity, in float16 too."""
    t, o = K.constant([1.0, 0.0]), K.constant([1.0, 1.0])
    r = K.eval(K.binary_crossentropy(t, o))
    K.set_floatx("float16")
    h = K.eval(K.binary_crossentropy(K.constant([1.0, 0.0]), K.constant([1.0, 0.0])))
    return bool(abs(r[0]) < 2e-7), bool(15 < r[1] < 16.2), bool((np.abs(h) < 1e-3).all())


# --- dtypes --------------------------------------------------------------------------------------


@program((("float16",) * 9, "float16", "float32", True, 1e-07), covers="set_floatx set_epsilon")
def DT_1(K: Any) -> Any:
    """set_floatx holds for everything made afterwards; a bad value changes nothing."""
    K.set_floatx("float16")
    made = (
        K.variable([10]),
        K.zeros((2,)),
        K.ones((2,)),
        K.eye(2),
        K.constant(1),
        K.placeholder((2,)),
        K.random_uniform((2,)),
        K.random_normal_variable((2,), 0.0, 1.0),
        K.one_hot(K.constant([0], dtype="int32"), 2),
    )
    dtypes = tuple(map(K.dtype, made))
    c = str(K.cast_to_floatx(np.ones(2)).dtype)
    K.set_floatx("float32")
    named = False
    for call, value in ((K.set_floatx, "float8"), (K.set_epsilon, "xxx")):
        try:
            call(value)
        except ValueError as error:
            named = value in str(error)
    return dtypes, c, K.floatx(), named, K.epsilon()


@program((0.5, "float32", 0.25, 1.5, "float32", 0.5, "float32"), covers="mean var std")
def DT_2(K: Any) -> Any:
    """Means, variances and deviations of bools and integers are floatx."""
    one, other = K.constant([1, 2], dtype="int32"), K.constant([1, 3], dtype="int32")
    eq = K.equal(one, other)
    m, i, s = K.mean(eq), K.mean(one), K.std(one)
    return K.eval(m), K.dtype(m), K.eval(K.var(eq)), K.eval(i), K.dtype(i), K.eval(s), K.dtype(s)


@program(("bool", (1, 4), "bool", "float32", "float32"), covers="zeros_like concatenate stack")
def DT_3(K: Any) -> Any:
    """zeros_like keeps the dtype; concatenate and stack promote by the table."""
    mask = K.not_equal(K.constant([[1.0, 0.0, 2.0]]), 0.0)
    z = K.zeros_like(mask[:, :1])
    m2 = K.concatenate([mask, z], axis=1)
    mixed = K.concatenate([mask, K.constant([[1.0]])], axis=1)
    stacked = K.stack([mask, K.constant([[1.0, 2.0, 3.0]])])
    return K.dtype(z), K.eval(m2).shape, K.dtype(m2), K.dtype(mixed), str(K.eval(stacked).dtype)


# --- random --------------------------------------------------------------------------------------


@program((True, True, True, True, True, ("float32",) * 3), covers="random_normal random_binomial")
def RND_1(K: Any) -> Any:
    """Drawn anew at every call, with the mean, deviation and probability that were asked for."""
    x = K.placeholder(shape=(None, 4))
    f = K.function([x], [x + K.random_normal((4,), mean=5.0, stddev=0.1)])
    a, b = f([np.zeros((1, 4))])[0], f([np.zeros((1, 4))])[0]
    s = K.eval(K.random_normal((20000,), mean=5.0, stddev=0.1, seed=1))
    u = K.eval(K.random_normal_variable((20000,), 5.0, 0.1, seed=2))
    p = K.eval(K.random_binomial((20000,), p=0.3, seed=3))
    return (
        bool((a != b).any()),
        bool(abs(s.mean() - 5) < 0.01 and abs(s.std() - 0.1) < 0.01),
        bool(abs(u.mean() - 5) < 0.01 and abs(u.std() - 0.1) < 0.01),
        set(p.tolist()) == {0.0, 1.0},
        bool(abs(p.mean() - 0.3) < 0.02),
        tuple(str(t.dtype) for t in (s, u, p)),
    )


@program((True,) * 10, covers="truncated_normal")
def RND_3(K: Any) -> Any:
    """Beyond two deviations it draws again, without rescaling; evaluated and compiled."""
    found = []
    z = K.truncated_normal((200000,), seed=1)
    y = K.truncated_normal((200000,), mean=3.0, stddev=2.0, seed=1)
    for at_z, at_y in ((K.eval(z), K.eval(y)), K.function([], [z, y])([])):
        found += [
            bool(abs(at_z).max() <= 2),
            bool(abs(at_z.std() - 0.8796) < 0.005),
            bool(at_y.min() >= -1 and at_y.max() <= 7),
            bool(abs(at_y.std() - 1.759) < 0.01),
            bool((abs(at_z) > 1.999).mean() < 0.001),
        ]
    return tuple(found)


# --- products ------------------------------------------------------------------------------------


@program((([[17.0], [53.0]],) * 4, (100, 30), (None, 1)), covers="batch_dot")
def DOT_1(K: Any) -> Any:
    """Two matrices give (batch, 1); the wrong calls are in errors.py."""
    x, y = K.variable([[1.0, 2.0], [3.0, 4.0]]), K.variable([[5.0, 6.0], [7.0, 8.0]])
    r = tuple(K.eval(K.batch_dot(x, y, axes=a)) for a in (1, (1, 1), (-1, -1), None))
    s = K.eval(K.batch_dot(K.ones((100, 20)), K.ones((100, 30, 20)), axes=(1, 2))).shape
    p = K.batch_dot(K.placeholder((None, 4)), K.placeholder((None, 4)), axes=1)
    return r, s, K.int_shape(p)


@program(
    ([[[32.0, 38.0, 44.0, 50.0], [104.0, 110.0, 116.0, 122.0]]], (None, 28, 4), (2, 28, 4)),
    covers="dot",
)
def DOT_3(K: Any) -> Any:
    """The last axis of x with the second-to-last of y; nothing broadcasts."""
    x, y = K.variable([[1.0, 2.0, 3.0]]), K.variable(np.arange(24.0).reshape(2, 3, 4))
    p = K.placeholder((None, 28, 3))
    q = K.dot(p, K.variable(np.ones((3, 4))))
    v = K.function([p], [q])([np.ones((2, 28, 3))])[0]
    return K.eval(K.dot(x, y)), K.int_shape(q), v.shape


# --- learning phase, control ---------------------------------------------------------------------


@program(((0, [1.0]), (1, [10.0]), True, ([10.0], [10.0], [1.0], [1.0])), covers="in_train_phase")
def LP_1(K: Any) -> Any:
    """A fixed phase is a Python int, and no input; callables are called."""
    x = K.placeholder(shape=(1,))
    found = []
    for phase in (0, 1):
        K.set_learning_phase(phase)
        y = K.in_train_phase(lambda: x * 10.0, lambda: x * 1.0)
        found.append((K.learning_phase(), K.function([x], [y])([np.ones(1)])[0]))
    try:
        refused = False
        K.set_learning_phase(2)
    except ValueError:
        refused = True
    ways = [K.in_train_phase(x * 10.0, x * 1.0, training=way) for way in (1, True, 0, False)]
    return (*found, refused, tuple(K.function([x], ways)([np.ones(1)])))


@program((([1.0], [10.0], [1.0], [1.0]), True, [10.0]), covers="in_train_phase in_test_phase")
def LP_2(K: Any) -> Any:
    """A phase that is not fed means test mode; feeding 1 once does not stick."""
    x = K.placeholder(shape=(1,))
    y, z = K.in_train_phase(x * 10.0, x * 1.0), K.in_test_phase(x * 10.0, x * 1.0)
    f, g = K.function([x], [y]), K.function([x, K.learning_phase()], [y])
    one = np.ones(1)
    r = (f([one])[0], g([one, 1])[0], g([one, 0])[0], f([one])[0])
    return r, y._uses_learning_phase, K.function([x], [z])([one])[0]


@program(([[2.0, 3.0, 5.0]], [1.0, 9.0, 1.0], [7.0, LN4], [3.0, 8.0]), covers="switch")
def CTL_2(K: Any) -> Any:
    """Any non-zero is true, branches may differ in size for a scalar, nan does not leak."""
    short = K.constant([[2.0, 3.0, 5.0]])
    tall = K.constant([[-1.0, -2.0, -5.0], [-3.0, -4.0, -6.0]])
    x, v = K.constant([0.0, 4.0]), K.variable(np.array([0.0, 4.0]))
    r1 = K.switch(K.constant(2.0), short, tall)
    r2 = K.switch(K.constant([2.0, 0.0, -3.0]), K.constant([1.0] * 3), K.constant([9.0] * 3))
    r3 = K.switch(K.greater(x, 0.0), K.log(x), K.constant([7.0, 7.0]))
    chosen = K.switch(K.greater(v, 0.0), lambda: v * v, lambda: v * 3.0)
    return tuple(map(K.eval, (r1, r2, r3, K.gradients(K.sum(chosen), [v])[0])))


# --- broadcasting --------------------------------------------------------------------------------


@program(
    (
        [-2.0, 0.0, 0.0, 2.0, 2.0],
        [1.0, 1.0, 1.0],
        ([-2.0, 0.0, 1.0], [0.0, 0.0, 2.0]),
        [-1.0, -0.5, 1.0],
    ),
    covers="round clip",
)
def ELT_1(K: Any) -> Any:
    """Halves to even; bounds that cross, are None, or are tensors."""
    x = K.constant([-2.0, 0.0, 2.0])
    low, high = K.constant([-1.0, -1.0, -1.0]), K.constant([1.0, -0.5, 1.0])
    return (
        K.eval(K.round(K.constant([-1.5, -0.5, 0.5, 1.5, 2.5]))) + 0.0,
        K.eval(K.clip(x, 1.0, -1.0)),
        (K.eval(K.clip(x, None, 1.0)), K.eval(K.clip(x, 0.0, None))),
        K.eval(K.clip(x, low, high)),
    )


@program(
    ([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]], [[[4.0, 5.0], [0.0, 1.0]]], (True,) * 4),
    covers="one_hot gather",
)
def ELT_3(K: Any) -> Any:
    """one_hot out of range is zeros; gather out of range is an error that names the index."""
    r = K.eval(K.one_hot(K.constant([5, 0, -1], dtype="int32"), 2))
    e = K.variable(np.arange(6.0).reshape(3, 2))
    ok = K.eval(K.gather(e, K.constant([[2, 0]], dtype="int32")))
    named = []
    for index in (3, -1):
        t = K.gather(e, K.constant([index], dtype="int32"))
        for run in (lambda t=t: K.eval(t), lambda t=t: K.function([], [t])([])):
            try:
                run()
            except IndexRangeError as error:
                named.append(str(index) in str(error) and "3)" in str(error))
    return r, ok, tuple(named)


@program(([-0.28, -0.03, 1.0, 3.0, 5.0], [1.0, 0.5, 0.0, -0.5], [1.0]), covers="relu")
def ELT_4(K: Any) -> Any:
    """alpha, max_value and threshold together."""
    return (
        K.eval(
            K.relu(K.constant([-2.0, 0.5, 1.0, 3.0, 7.0]), alpha=0.1, max_value=5.0, threshold=0.8)
        ),
        K.eval(
            K.relu(K.constant([1.5, 0.5, -0.5, -1.5]), alpha=1.0, max_value=1.0, threshold=-1.0)
        ),
        K.eval(K.relu(K.constant([1.0]), threshold=1.0)),
    )


# --- performance ---------------------------------------------------------------------------------


@program((True, 0, True), covers="function")
def PERF_1(K: Any) -> Any:
    """Another batch size compiles at most once on JAX, and not at all on the other engines."""
    from kbridge.conformance.compilations import counted

    x, w = K.placeholder((None, 8)), K.variable(np.ones((8, 8)))
    f = K.function([x], [K.tanh(K.dot(x, w))])
    sizes = range(1, 12)

    def run() -> bool:
        batches = (np.ones((size, 8), "float32") for size in sizes)
        return all(f([batch])[0].shape == batch.shape for batch in batches)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, shapes = counted(K, run)
        second, again = counted(K, run)
    allowed = len(sizes) if K.engine.name == "jax" else 1
    return shapes and again, second, first <= allowed
