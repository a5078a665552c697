"""Sparse matrices: products and their gradients, feeds, variables, and what refuses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kbridge import errors
from kbridge.conformance.records import Case, case, fault, program, record
from kbridge.conformance.samples import ints, normal

E = errors


def _matrix(rows: int, columns: int, density: float = 0.5, dtype: str = "float32") -> Any:
    return sp.random(
        rows, columns, density, "csr", dtype, np.random.default_rng(rows + 7 * columns)
    )


#: Element (1, 2) stands there twice, 2 + 3; the last row and column are empty.
TWICE = sp.coo_matrix(
    (np.array([2.0, 3.0, -1.5, 4.0], "float32"), ([1, 1, 0, 2], [2, 2, 0, 1])), shape=(4, 4)
)
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")


# --- products: a SciPy matrix with a dense operand -----------------------------------------------


def left(name: str, matrix: Any, operand: Any) -> Case:
    """``matrix`` by a dense operand, against the dense product."""
    dense = matrix.toarray().astype("float64")
    return (
        case(operand)
        .named(name)
        .by(lambda K, y: K.dot(matrix, y))
        .gives(lambda y: np.dot(dense, y))
    )


def right(name: str, matrix: Any, operand: Any) -> Case:
    """A dense operand by ``matrix``."""
    dense = matrix.toarray().astype("float64")
    return (
        case(operand)
        .named(name)
        .by(lambda K, x: K.dot(x, matrix))
        .gives(lambda x: np.dot(x, dense))
    )


record(
    "sparse_dot",
    lambda y: np.dot(TWICE.toarray(), y),
    left("plain", _matrix(3, 5), normal(5, 2)),
    left("twice", TWICE, normal(4, 3)),
    left("vector", _matrix(3, 5), normal(5)),
    left("rank-3", _matrix(3, 5), normal(2, 5, 4)),
    left("rank-4-empty", _matrix(3, 5), normal(2, 0, 5, 4)).without("gradient"),
    left("integers", _matrix(3, 5), ints(5, 2)),
    left("array", sp.csr_array(_matrix(3, 5)), normal(5, 2)),
    left("nothing-stored", sp.csr_matrix((3, 5), dtype="float32"), normal(5, 2)),
    left("no-rows", sp.csr_matrix((0, 5), dtype="float32"), normal(5, 2)),
    left("no-columns", sp.csr_matrix((3, 0), dtype="float32"), normal(0, 2)).without("gradient"),
    left("no-result", _matrix(3, 5), normal(5, 0)).without("gradient"),
    left("one", _matrix(1, 1, 1.0), normal(1, 1)),
    right("from-the-right", _matrix(5, 3), normal(2, 5)),
    right("from-the-right-twice", TWICE, normal(3, 4)),
    right("vector-from-the-right", _matrix(5, 3), normal(5)),
    right("rank-3-from-the-right", _matrix(5, 3), normal(2, 4, 5)),
    right("rank-4-from-the-right", _matrix(1, 2), normal(2, 1, 2, 1)),
    right("nothing-stored-right", sp.csr_matrix((5, 3), dtype="float32"), normal(2, 5)),
    right("no-rows-right", sp.csr_matrix((0, 3), dtype="float32"), normal(2, 0)).without(
        "gradient"
    ),
    result=lambda given, each: "float64" if given[0] == "float64" else "float32",
    dtypes="float16 bfloat16 float64 int32",
)


@program(
    (
        [[16, 17, 18, 19], [0, 0, 0, 0], [100, 109, 118, 127], [36, 39, 42, 45]],
        "float32",
        (True, False, (None, 5), True),
        True,
    ),
    covers="dot variable is_sparse to_dense int_shape",
)
def SP_1(K: Any) -> Any:
    """Feed a SciPy matrix to a sparse placeholder and multiply."""
    data = np.array([1.0, 7.0, 2.0, 3.0], "f")
    m = sp.csr_matrix((data, (np.array([0, 2, 2, 3]), np.array([4, 3, 2, 3]))), shape=(4, 5))
    W = np.arange(20.0).reshape(5, 4)
    s = K.placeholder(shape=(None, 5), sparse=True)
    r = K.function([s], [K.dot(s, K.variable(W))])([m])[0]
    k = (K.is_sparse(s), K.is_sparse(K.to_dense(s)), K.int_shape(s), K.is_sparse(K.variable(m)))
    return r, str(r.dtype), k, np.array_equal(K.eval(K.variable(m)), m.toarray())


@program(True, covers="dot")
def sparse_batches(K: Any) -> Any:
    """One function for batches of any size and number of elements, and for a matrix of none."""
    w = np.random.default_rng(3).standard_normal((6, 3))
    x = K.placeholder((None, 6), sparse=True)
    f = K.function([x], [K.dot(x, K.variable(w))])
    batches = [_matrix(rows, 6, d) for rows, d in ((4, 0.5), (4, 0.1), (9, 0.9), (4, 0), (1, 0.4))]
    return all(np.allclose(f([m])[0], m @ w, atol=1e-5) for m in [*batches, sp.csr_matrix((0, 6))])


@program((True, 0, True), covers="dot")
def sparse_compilations(K: Any) -> Any:
    """Batches of 1 to 60 elements are compiled for a few lengths on JAX, once elsewhere."""
    from kbridge.conformance.compilations import counted

    x, w = K.placeholder((None, 16), sparse=True), K.variable(np.ones((16, 2)))
    out = K.dot(x, w)
    f = K.function([x], [out, *K.gradients(K.sum(K.square(out)), w)])
    places = np.random.default_rng(5).permutation(64)

    def run() -> bool:
        fits = []
        for count in range(1, 61):
            at = places[:count]
            m = sp.csr_matrix((np.ones(count, "f"), (at // 16, at % 16)), shape=(4, 16))
            fits.append(np.allclose(f([m])[0], m @ np.ones((16, 2))))
        return all(fits)

    first, fits = counted(K, run)
    second, again = counted(K, run)
    return fits and again, second, first <= (7 if K.engine.name == "jax" else 1)


# --- gradients -----------------------------------------------------------------------------------


@program((True, True, None, None), covers="gradients")
def sparse_gradients(K: Any) -> Any:
    """By the dense operand as in a product of dense tensors, twice over; by a sparse one none."""
    m, w = _matrix(4, 6), np.random.default_rng(2).standard_normal((6, 3))

    def slopes(x: Any, sources: Any) -> list[Any]:
        kernel = K.variable(w, "float64")
        loss = K.sum(K.square(K.dot(x, kernel)) * K.dot(x, kernel))
        (first,) = K.gradients(loss, kernel)
        (second,) = K.gradients(K.sum(K.square(first)), kernel)
        return [first, second, *K.gradients(loss, sources)]

    sparse = K.placeholder((None, 6), sparse=True, dtype="float64")
    dense = K.placeholder((None, 6), dtype="float64")
    stored = K.variable(m)
    *found, none = slopes(sparse, [sparse])
    got = K.function([sparse], found)([m])
    want = K.function([dense], slopes(dense, [])[:2])([m.toarray()])
    return (
        *map(np.allclose, got, want),
        none,
        *K.gradients(K.sum(K.dot(stored, K.ones((6, 2)))), stored),
    )


@program(True, covers="function update_sub")
def sparse_training(K: Any) -> Any:
    """A layer trained on sparse batches learns what it learns on the same dense ones."""
    rng = np.random.default_rng(4)
    data, start = _matrix(24, 8, 0.3), rng.standard_normal((8, 2))
    wanted = data @ rng.standard_normal((8, 2))

    def train(x: Any, batch: Any) -> Any:
        kernel, bias, y = K.variable(start), K.zeros(2), K.placeholder((None, 2))
        loss = K.mean(K.square(K.bias_add(K.dot(x, kernel), bias) - y))
        weights = [kernel, bias]
        slopes = K.gradients(loss, weights)
        steps = [K.update_sub(v, 0.1 * g) for v, g in zip(weights, slopes, strict=True)]
        f = K.function([x, y, K.learning_phase()], [loss], updates=steps)
        losses = [f([batch(i), wanted[i : i + 7], 1])[0] for _ in range(3) for i in range(0, 24, 7)]
        return [*losses, *(K.get_value(v) for v in weights)]

    sparse = train(K.placeholder((None, 8), sparse=True), lambda i: data[i : i + 7])
    dense = train(K.placeholder((None, 8)), lambda i: data[i : i + 7].toarray())
    return all(np.allclose(a, b, atol=1e-5) for a, b in zip(sparse, dense, strict=True))


@program((True, True), covers="dot")
def sparse_skips_what_is_not_stored(K: Any) -> Any:
    """Infinities in rows that no stored element meets stay out of the product and its gradient."""
    m = sp.csr_matrix((np.ones(3, "f"), ([0, 1, 1], [1, 2, 1])), shape=(2, 4))
    w = np.array([[np.inf], [2.0], [3.0], [np.nan]])
    x, v = K.placeholder((None, 4), sparse=True), K.variable(w)
    out = K.dot(x, v)
    product, slope = K.function([x], [out, *K.gradients(K.sum(K.square(out)), v)])([m])
    return np.array_equal(product, [[2], [5]]), np.array_equal(slope, [[0], [14], [10], [0]])


# --- values in and out ---------------------------------------------------------------------------


@program((True, True, True), covers="variable get_value eval sparse_to_dense")
def sparse_formats(K: Any) -> Any:
    """Every format of SciPy, matrix or array, of any dtype of numbers; doubles add up."""
    x = K.placeholder((4, 4), sparse=True)
    f = K.function([x], [x, K.to_dense(x)])
    kinds = [TWICE.asformat(form) for form in FORMATS]
    kinds += [TWICE, sp.csr_array(TWICE), sp.coo_array(TWICE), TWICE.astype("int64").tocsr()]
    kinds += [(TWICE.tocsr() > 0), TWICE.astype("float64")]
    fed = all((a == m.toarray()).all() and (b == a).all() for m in kinds for a, b in [f([m])])
    kept = all(np.array_equal(K.get_value(K.variable(m)), m.toarray()) for m in kinds)
    dense = TWICE.toarray()
    return fed, kept, all((out == dense).all() for out in [*f([dense]), *f([dense.tolist()])])


@program(
    ("float32", "float64", 2, (3, 5), [3, 5], 15, [2, 4], True, False, True, False),
    covers="dtype ndim int_shape shape size is_tensor sparse_cast",
)
def sparse_properties(K: Any) -> Any:
    m = _matrix(3, 5)
    v, x = K.variable(m, name="v"), K.placeholder(ndim=2, sparse=True)
    wide = K.cast(x, "float64")
    sizes = K.function([x], [K.shape(x), K.shape(wide)])([sp.eye(2, 4)])
    return (
        K.dtype(v),
        K.dtype(wide),
        K.ndim(x),
        K.int_shape(v),
        K.eval(K.shape(v)),
        K.eval(K.size(v)),
        sizes[1],
        K.is_sparse(wide) and K.is_sparse(K.identity(v)) and K.is_tensor(v) and K.is_sparse(m),
        v.trainable,
        np.allclose(K.function([x], wide)([m]), m.toarray()),
        K.is_sparse(m.toarray()),
    )


@program((True, True, [[2, 0], [0, 2]]), covers="set_value batch_set_value")
def sparse_set_value(K: Any) -> Any:
    """A variable takes any matrix of its shape, which is copied; functions see it."""
    m, w = _matrix(3, 5), np.arange(10.0).reshape(5, 2)
    v = K.variable(m)
    before = m.toarray()
    m.data[:] = 7
    copied = np.array_equal(K.eval(v), before)
    f = K.function([], [K.dot(v, K.variable(w)), v])
    results = []
    for new in (_matrix(3, 5, 0.9), sp.csr_matrix((3, 5)), np.eye(3, 5), K.variable(m)):
        K.set_value(v, new)
        dense = K.eval(new) if K.is_tensor(new) else sp.csr_matrix(new).toarray()
        product, value = f([])
        results.append(np.allclose(product, dense @ w) and np.allclose(value, dense))
    other = K.variable(sp.eye(2))
    K.batch_set_value([(other, 2 * sp.eye(2)), (v, m)])
    return copied, all(results), K.eval(other)


@program((True, True, True, True, True), covers="concatenate sparse_concatenate")
def sparse_concatenation(K: Any) -> Any:
    """Sparse tensors give a sparse one, beside a dense one a dense one; mixed dtypes meet."""
    a, b, wide = _matrix(2, 3), _matrix(4, 3), sp.csr_matrix((2, 5), dtype="float64")
    x, y = K.placeholder((None, 3), sparse=True), K.variable(b)
    z = K.placeholder((None, 5), sparse=True, dtype="float64")
    rows, columns = K.concatenate([x, y], axis=0), K.concatenate([x, z, x])
    mixed = K.concatenate([x, K.to_dense(z)], axis=-1)
    w = np.arange(12.0).reshape(3, 4)
    f = K.function([x, z], [rows, columns, mixed, K.dot(rows, K.constant(w))])
    got = f([a, wide])
    dense = [a.toarray(), b.toarray(), wide.toarray()]
    return (
        np.allclose(got[0], np.vstack(dense[:2])) and K.int_shape(rows) == (None, 3),
        np.allclose(got[1], np.hstack([dense[0], dense[2], dense[0]]))
        and got[1].dtype == "float64",
        np.allclose(got[2], np.hstack([dense[0], dense[2]])),
        (K.is_sparse(rows), K.is_sparse(columns), K.is_sparse(mixed)) == (True, True, False),
        np.allclose(got[3], np.vstack(dense[:2]) @ w),
    )


@program((True, True, True, True), covers="dot concatenate", natives=True)
def sparse_natives(K: Any) -> Any:
    """In the eager scope sparse tensors are the engine's own, which K takes, or makes dense."""
    m, w = _matrix(3, 5), np.arange(10.0, dtype="float32").reshape(5, 2)
    v = K.variable(m)
    native = K.engine.from_numpy(w, "float32")
    with K.eager_scope():
        both = K.concatenate([v, v], axis=0)
    dense, product = K.to_dense(both), K.dot(both, native)
    again = K.variable(both)
    return (
        K.is_sparse(both) and K.int_shape(both) == (6, 5) and K.dtype(both) == "float32",
        K.engine.is_native(dense) and K.engine.is_native(product),
        np.allclose(K.eval(product), np.vstack([m @ w, m @ w])),
        np.allclose(K.eval(again), K.eval(dense)) and np.allclose(K.eval(both), K.eval(dense)),
    )


# --- refused -------------------------------------------------------------------------------------


def _sparse(K: Any) -> Any:
    return K.placeholder((None, 5), sparse=True, name="s")


for _name, _call, _said in (
    ("exp", lambda K, s: K.exp(s), r"exp"),
    ("plus", lambda K, s: s + 1.0, r"add"),
    ("plus-dense", lambda K, s: K.ones((4, 5)) + s, r"add"),
    ("times", lambda K, s: s * s, r"multiply"),
    ("number-times", lambda K, s: 2 * s, r"multiply"),
    ("index", lambda K, s: s[0], r"getitem"),
    ("sum", lambda K, s: K.sum(s, axis=1), r"sum"),
    ("reshape", lambda K, s: K.reshape(s, (-1,)), r"reshape"),
    ("batch-dot", lambda K, s: K.batch_dot(s, K.ones((4, 5)), axes=1), r"batch_dot"),
    ("stack", lambda K, s: K.stack([s, s]), r"stack"),
    ("switch", lambda K, s: K.switch(K.constant(1.0), s, s), r"\w+"),
    ("scipy-exp", lambda K, s: K.exp(sp.eye(2)), r"exp"),
):
    fault(
        f"sparse-{_name}",
        lambda K, t, call=_call: call(K, _sparse(K)),  # type: ignore[misc]  # a default
        E.UnsupportedError,
        NotImplementedError,
        text=rf"^K\.{_said}: .*sparse.*K\.to_dense",
        ways="once",
    )
fault(
    "sparse-dot-sizes",
    lambda K, t: K.dot(_sparse(K), K.ones((4, 2))),
    E.ShapeError,
    ValueError,
    text=r"^K\.dot: .*\(None, 5\).*\(4, 2\).*5 != 4.*'s'",
    ways="once",
)
fault(
    "sparse-dot-sizes-of-the-run",
    lambda K, t: _run(K, lambda s: K.dot(s, K.ones((5, 2)))),
    E.ShapeError,
    text=r"^K\.dot: .*\(2, 4\).*\(5, 2\).*4 != 5",
    ways="once",
)
fault(
    "sparse-concatenate-sizes-of-the-run",
    lambda K, t: _run(K, lambda s: K.concatenate([s, K.variable(sp.eye(3))], axis=0)),
    E.ShapeError,
    text=r"^K\.concatenate: .*axis 1 is 4 and 3",
    ways="once",
)


def _run(K: Any, function: Any) -> Any:
    """The function of a sparse matrix of unknown sizes, called with one of shape (2, 4)."""
    s = K.placeholder(ndim=2, sparse=True)
    return K.function([s], function(s))([sp.eye(2, 4)])


fault(
    "sparse-dot-scalar",
    lambda K, t: K.dot(2.0, _sparse(K)),
    E.UnsupportedError,
    text=r"^K\.dot: .*scalar.*K\.to_dense",
    ways="once",
)
fault(
    "sparse-matmul-rank",
    lambda K, t: _sparse(K) @ K.ones((2, 5, 3)),
    E.ShapeError,
    text=r"^K\.matmul: .*vectors and matrices; K\.dot.*\(2, 5, 3\)",
    ways="once",
)
fault(
    "sparse-dot-sparse",
    lambda K, t: K.dot(_sparse(K), K.variable(sp.eye(5))),
    E.UnsupportedError,
    text=r"^K\.dot: two sparse tensors.*K\.to_dense",
    ways="once",
)
fault(
    "sparse-concatenate-sizes",
    lambda K, t: K.concatenate([_sparse(K), K.variable(sp.eye(4))], axis=0),
    E.ShapeError,
    text=r"^K\.concatenate: .*axis 1 is 5 and 4",
    ways="once",
)
fault(
    "sparse-concatenate-axis",
    lambda K, t: K.concatenate([_sparse(K), _sparse(K)], axis=2),
    E.AxisError,
    text=r"^K\.concatenate: .*axis 2",
    ways="once",
)
fault(
    "sparse-rank",
    lambda K, t: K.placeholder((None, 3, 4), sparse=True),
    E.ShapeError,
    ValueError,
    text=r"^K\.placeholder: .*rank 2.*\(None, 3, 4\)",
    ways="once",
)
fault(
    "sparse-dtype",
    lambda K, t: K.placeholder((None, 3), sparse=True, dtype="int32"),
    E.DTypeError,
    text=r"^K\.placeholder: .*float32 or float64, not int32",
    ways="once",
)
fault(
    "sparse-variable-dtype",
    lambda K, t: K.variable(sp.eye(2), dtype="float16"),
    E.DTypeError,
    text=r"^K\.variable: .*float32 or float64, not float16",
    ways="once",
)
fault(
    "sparse-variable-complex",
    lambda K, t: K.variable(sp.eye(2, dtype="complex64")),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.variable: .*real numbers, not complex64",
    ways="once",
)
fault(
    "sparse-constant",
    lambda K, t: K.constant(sp.eye(2)),
    E.ArgumentTypeError,
    text=r"^K\.constant: .*sparse.*toarray",
    ways="once",
)
fault(
    "sparse-set-value-shape",
    lambda K, t: K.set_value(K.variable(sp.eye(2)), sp.eye(3)),
    E.ShapeError,
    text=r"^K\.set_value: .*\(2, 2\), got \(3, 3\)",
    ways="once",
)
fault(
    "sparse-value-of-a-dense-variable",
    lambda K, t: K.set_value(K.ones((2, 2)), sp.eye(2)),
    E.ArgumentTypeError,
    text=r"sparse.*toarray",
    ways="once",
)
fault(
    "sparse-update",
    lambda K, t: K.function([], [], updates=[K.update(K.variable(sp.eye(2)), K.ones((2, 2)))]),
    E.UnsupportedError,
    text=r"^K\.update: .*sparse.*K\.set_value",
    ways="once",
)
fault(
    "sparse-new-value",
    lambda K, t: K.function([], [], updates=[K.update(K.ones((2, 2)), K.variable(sp.eye(2)))]),
    E.UnsupportedError,
    text=r"^K\.update: .*sparse.*K\.to_dense",
    ways="once",
)


def _feed(K: Any, value: Any) -> Any:
    s = _sparse(K)
    return K.function([s], [K.dot(s, K.ones((5, 2)))], name="f")([value])


for _name, _value, _said in (
    ("shape", sp.eye(5, 4), r"\(5, 4\); expected \(None, 5\)"),
    ("rank", np.ones(5), r"\(5,\); expected \(None, 5\)"),
    ("dense-shape", np.ones((2, 4)), r"\(2, 4\); expected \(None, 5\)"),
    ("nothing", None, r"no value \(None\)"),
    ("text", "text", r"cannot become .*float32: str"),
    ("complex", sp.eye(5, dtype="complex64"), r"cannot become .*float32: .*complex64"),
):
    fault(
        f"sparse-feed-{_name}",
        lambda K, t, value=_value: _feed(K, value),  # type: ignore[misc]  # a default
        E.FeedError,
        ValueError,
        text=rf"^f: .*{_said}",
        ways="once",
    )


def _feed_dense(K: Any) -> Any:
    x = K.placeholder((None, 5))
    return K.function([x], [x], name="f")([sp.eye(2, 5)])


fault(
    "sparse-fed-as-dense",
    lambda K, t: _feed_dense(K),
    E.FeedError,
    text=r"^f: .*cannot become .*sparse; feed matrix\.toarray\(\).*sparse=True",
    ways="once",
)
