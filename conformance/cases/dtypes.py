"""One table of dtypes on every engine: promotion, weak numbers, floatx."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.conformance.records import program

#: Two dtypes and the one in which their tensors meet: the public JAX lattice, by hand.
PAIRS = (
    ("bool", "int32", "int32"),
    ("bool", "float16", "float16"),
    ("uint8", "int8", "int16"),
    ("uint8", "int32", "int32"),
    ("int8", "int32", "int32"),
    ("int32", "int64", "int64"),
    ("uint8", "int64", "int64"),
    ("int32", "float32", "float32"),
    ("int64", "float32", "float32"),
    ("int32", "float16", "float16"),
    ("int64", "bfloat16", "bfloat16"),
    ("int64", "float64", "float64"),
    ("float16", "bfloat16", "float32"),
    ("float16", "float32", "float32"),
    ("bfloat16", "float32", "float32"),
    ("float16", "float64", "float64"),
    ("float32", "float64", "float64"),
)
MEET = tuple(meet for _, _, meet in PAIRS)


def _one(K: Any, dtype: str) -> Any:
    return K.constant([1, 0], dtype=dtype)


@program((MEET, MEET, MEET), covers="maximum add")
def recorded_dtypes_meet(K: Any) -> Any:
    """Operators and functions, either way round; static dtypes and those of the values."""
    sums = [_one(K, a) + _one(K, b) for a, b, _ in PAIRS]
    largest = [K.maximum(_one(K, b), _one(K, a)) for a, b, _ in PAIRS]
    values = K.function([], [a + K.cast(b, K.dtype(a)) for a, b in zip(sums, largest, strict=True)])
    names = tuple(str(value.dtype) for value in values([]))
    return tuple(map(K.dtype, sums)), tuple(map(K.dtype, largest)), names


@program((MEET, MEET, MEET), covers="maximum concatenate stack", natives=True)
def native_dtypes_meet(K: Any) -> Any:
    def native(dtype: str) -> Any:
        return K.engine.from_numpy(np.array([1, 0], K.eval(_one(K, dtype)).dtype), dtype)

    found = []
    for function in (K.maximum, lambda a, b: K.concatenate([a, b]), lambda a, b: K.stack([b, a])):
        results = [function(native(a), native(b)) for a, b, _ in PAIRS]
        found.append(tuple(K.dtype(result) for result in results))
    return tuple(found)


@program(
    (
        ("float16", "bfloat16", "float32", "float64") * 3,
        ("int32", "int64", "uint8", "int32"),
        ("float32", "float32", "float32", "float32"),
        ("float16", "float16"),
    ),
    covers="add multiply maximum",
)
def numbers_are_weak(K: Any) -> Any:
    """Python numbers, NumPy scalars and 0-d arrays never widen a tensor."""
    floats = [_one(K, d) for d in ("float16", "bfloat16", "float32", "float64")]
    whole = [_one(K, d) for d in ("int32", "int64", "uint8", "bool")]
    with_floats = [t + 1.5 for t in floats]
    with_scalars = [np.float64(2.0) * t for t in floats]
    with_arrays = [K.maximum(t, np.array(1, "int64")) for t in floats]
    return (
        tuple(map(K.dtype, [*with_floats, *with_scalars, *with_arrays])),
        tuple(K.dtype(t + 2) for t in whole),
        tuple(K.dtype(t * 0.5) for t in whole),
        (K.dtype(floats[0] + np.ones(2)), K.dtype(np.ones(2, "float32") - floats[0])),
    )


@program(
    (
        ("float32",) * 9,
        ("float16",) * 3,
        (np.array([1.5], "float32"), np.array([0.5], "float32"), np.array([2.5], "float32")),
    ),
    covers="divide mean exp",
)
def integers_become_floatx_where_floats_are_needed(K: Any) -> Any:
    i, b = K.constant([3], dtype="int32"), K.constant([True], dtype="bool")
    functions = (K.exp, K.sqrt, K.sigmoid, K.mean, K.std, K.softplus)
    found = [K.dtype(f(i)) for f in functions] + [
        K.dtype(i / i),
        K.dtype(b / 2),
        K.dtype(K.mean(b)),
    ]
    K.set_floatx("float16")
    half = (K.dtype(i / 2), K.dtype(K.mean(i)), K.dtype(i * 0.5))
    K.set_floatx("float32")
    return tuple(found), half, (K.eval(i / 2), K.eval(b / 2), K.eval(i - 0.5))


@program(
    {d: ((d,) * 9, True) for d in ("float16", "bfloat16", "float64")},
    covers="set_floatx variable constant dot mean gradients dropout one_hot softmax",
)
def programs_in_another_floatx(K: Any) -> Any:
    """A whole program where floatx is another dtype: nothing falls back to float32."""
    found = {}
    for dtype in ("float16", "bfloat16", "float64"):
        K.set_floatx(dtype)
        x, w = K.placeholder((None, 2)), K.variable([[0.5, 1.0], [1.0, -0.5]])
        hidden = K.softmax(K.dot(x, w) * 2 + K.constant([0.0, 1.0]))
        dropped = K.dropout(hidden, 0.5, seed=1)
        target = K.one_hot(K.constant([0, 1], dtype="int32"), 2)
        loss = K.mean(K.categorical_crossentropy(target, hidden))
        outputs = [hidden, dropped, target, loss, *K.gradients(loss, [w, x])]
        f = K.function([x], outputs, updates=[K.update_sub(w, 0.5 * outputs[-2])])
        values = f([np.ones((2, 2))])
        after = K.get_value(w)
        dtypes = (*(str(v.dtype) for v in values), str(after.dtype), K.dtype(w / 2), K.dtype(loss))
        exact = np.exp(np.array([3.0, 2.0])) / np.exp(np.array([3.0, 2.0])).sum()
        digits = {"float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-14}[dtype]
        close = np.abs(values[0].astype("float64") - exact).max() < digits
        found[dtype] = (dtypes, bool(close))
    return found


@program(
    ("float64", "float64", "float32", "float64", "int64", "int64"), covers="variable placeholder"
)
def sixty_four_bits(K: Any) -> Any:
    """Together with 32 in one function, also inside gradients."""
    x = K.placeholder((2,), dtype="float64")
    v = K.variable([1.0, 2.0], dtype="float64")
    w, n = K.variable([3.0, 4.0]), K.variable(2**40, dtype="int64")
    loss = K.sum(x * v * w)
    f = K.function([x], [loss, *K.gradients(loss, [v, w]), K.argmax(x * v) + n, n * 2])
    loss_, by_v, by_w, index, large = f([np.array([1e-12, 1.0])])
    assert large == 2**41
    assert index == 2**40 + 1
    return tuple(str(a.dtype) for a in (loss_, by_v, by_w, K.eval(K.exp(v)), index, large))


@program((("float64",) * 4, True), covers="variable")
def sixty_four_bits_are_exact(K: Any) -> Any:
    third = K.variable(1.0 / 3.0, dtype="float64")
    x = K.placeholder((), dtype="float64")
    out = K.function([x], [x + third, K.exp(x), K.eval(third) * x])([1e-9])
    exact = [1e-9 + 1.0 / 3.0, np.exp(1e-9), 1e-9 / 3.0]
    close = all(abs(a - b) < 1e-15 for a, b in zip(out, exact, strict=True))
    return (*[(*(str(o.dtype) for o in out), str(K.eval(third).dtype))], close)
