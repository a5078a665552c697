"""Sparse tensors: SciPy as an extra, what is the caller's, and the engines' own sparse tensors."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import kbridge
from kbridge.errors import ArgumentTypeError, MissingOperationError, UnsupportedError

W = np.arange(10.0, dtype="float32").reshape(5, 2)


@pytest.fixture
def matrix() -> Any:
    return sp.random(3, 5, 0.5, "csr", "float32", np.random.default_rng(0))


# --- SciPy is an extra ---------------------------------------------------------------------------


def printed(script: Any, program: str) -> list[str]:
    """The lines that a program prints in a fresh interpreter."""
    done = script(textwrap.dedent(program))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("backend", ["numpy", "torch"])  # JAX needs SciPy itself
def test_without_scipy(script: Any, backend: str) -> None:
    """Dense programs run; what needs SciPy says how to install it."""
    out = printed(
        script,
        f"""
        import sys
        sys.modules["scipy"] = None  # importing it raises ImportError
        import numpy as np, kbridge
        K = kbridge.load_backend({backend!r})
        x = K.placeholder((None, 2))
        print(K.function([x], [K.dot(x, K.ones((2, 1)))])([np.ones((1, 2))])[0].tolist())
        print(K.is_sparse(x), K.to_dense(x) is x, K.is_sparse(np.ones(2)))
        try:
            K.placeholder((None, 2), sparse=True)
        except ImportError as error:
            print(type(error).__name__, isinstance(error, kbridge.errors.KBridgeError), error)
        """,
    )
    assert out[:2] == ["[[2.0]]", "False True False"]
    assert out[2].startswith("MissingDependencyError True")
    assert 'pip install "kbridge[sparse]"' in out[2]


def test_scipy_is_imported_with_the_first_sparse_tensor(script: Any) -> None:
    out = printed(
        script,
        """
        import sys, numpy as np, kbridge
        K = kbridge.load_backend("numpy")
        K.function([], [K.dot(K.ones((2, 2)), K.variable(np.ones((2, 2))))])([])
        print("scipy" in sys.modules)
        K.placeholder((None, 2), sparse=True)
        print("scipy.sparse" in sys.modules)
        """,
    )
    assert out == ["False", "True"]


def test_an_engine_without_sparse_tensors(matrix: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named in the error, which says what to use instead."""
    K = kbridge.load_backend("torch")
    monkeypatch.setattr(type(K.engine), "sparse", None)
    for call in (
        lambda: K.placeholder((None, 5), sparse=True),
        lambda: K.variable(matrix),
        lambda: K.dot(matrix, K.ones((5, 2))),
        lambda: K.to_dense(matrix),
    ):
        with pytest.raises(MissingOperationError, match=r"'torch' has no sparse tensors"):
            call()


# --- what is the caller's ------------------------------------------------------------------------


def test_a_matrix_fed_or_stored_stays_as_it_is(K: Any) -> None:
    """Also one whose elements are in no order, and some there twice."""
    indptr, indices = np.array([0, 3, 4], "int32"), np.array([4, 1, 4, 0], "int32")
    data = np.array([1.0, 2.0, 3.0, 4.0], "float32")
    m = sp.csr_matrix((data, indices, indptr), shape=(2, 5), copy=True)
    x = K.placeholder((None, 5), sparse=True)
    (got,) = K.function([x], [K.dot(x, K.variable(W))])([m])
    variable = K.variable(m)
    np.testing.assert_allclose(got, m.toarray() @ W)
    np.testing.assert_array_equal(K.eval(variable), m.toarray())
    np.testing.assert_array_equal(m.indices, indices)
    np.testing.assert_array_equal(m.data, data)
    value = K.get_value(variable)
    value[:] = 7
    np.testing.assert_array_equal(K.eval(variable), m.toarray())


def test_an_operand_of_the_graph_is_copied(K: Any, matrix: Any) -> None:
    product, wanted = K.dot(matrix, K.variable(W)), matrix @ W
    matrix.data[:] = 0
    np.testing.assert_allclose(K.eval(product), wanted)


def test_a_read_only_matrix_is_fed(K: Any, matrix: Any) -> None:
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    x = K.placeholder((None, 5), sparse=True)
    np.testing.assert_array_equal(K.function([x], [x])([matrix])[0], matrix.toarray())


def test_a_sparse_result_may_be_fed(K: Any, matrix: Any) -> None:
    """Any Tensor may be, whatever it was computed from."""
    variable = K.variable(matrix)
    both = K.concatenate([variable, variable], axis=0)
    f = K.function([both, variable], [K.dot(both, K.variable(W)), variable])
    product, value = f([sp.vstack([matrix, 3 * matrix]), 2 * matrix])
    np.testing.assert_allclose(product, np.vstack([matrix @ W, 3 * matrix @ W]), rtol=1e-6)
    np.testing.assert_allclose(value, 2 * matrix.toarray())


# --- the engines' own ----------------------------------------------------------------------------


def test_torch_sparse_tensors(matrix: Any) -> None:
    torch = pytest.importorskip("torch")
    K = kbridge.load_backend("torch")
    places = torch.tensor([[0, 0, 2], [1, 1, 3]])
    t = torch.sparse_coo_tensor(places, torch.ones(3), (3, 5), check_invariants=True)
    dense, w = t.to_dense(), torch.tensor(W, requires_grad=True)
    K.sum(K.dot(t, w)).backward()
    assert torch.equal(w.grad, dense.T @ torch.ones(3, 2))
    assert torch.equal(K.dot(torch.ones(2, 3), t), torch.ones(2, 3) @ dense)
    assert torch.equal(K.dot(t, w[:, 0]), dense @ w[:, 0])
    assert (K.is_sparse(t), K.is_tensor(t), K.int_shape(t)) == (True, True, (3, 5))
    x = K.placeholder((None, 5), sparse=True)
    for value in (K.function([x], [x])([t])[0], K.eval(K.variable(t)), K.eval(t)):
        np.testing.assert_array_equal(value, dense.numpy())
    with pytest.raises(UnsupportedError, match=r"^K\.exp: .*sparse.*K\.to_dense"):
        K.exp(t)


def test_torch_gradients_by_a_dense_operand(matrix: Any) -> None:
    torch = pytest.importorskip("torch")
    K = kbridge.load_backend("torch")
    w = torch.tensor(W, requires_grad=True)
    K.sum(K.dot(K.variable(matrix), w)).backward()
    np.testing.assert_allclose(w.grad.numpy(), matrix.T @ np.ones((3, 2)), rtol=1e-6)
    with torch.inference_mode():
        x, kernel, stored = K.placeholder((None, 5), sparse=True), K.variable(W), K.variable(matrix)
        loss = K.sum(K.dot(x, kernel)) + K.sum(K.dot(stored, kernel))
        (slope,) = K.function([x], K.gradients(loss, kernel))([matrix])
    np.testing.assert_allclose(slope, 2 * matrix.T @ np.ones((3, 2)), rtol=1e-6)


def test_tensorflow_sparse_tensors(matrix: Any) -> None:
    tf = pytest.importorskip("tensorflow")
    K = kbridge.load_backend("tensorflow")
    t = tf.SparseTensor([[2, 3], [0, 1], [0, 1]], tf.constant([3.0, 2.0, 1.0]), (3, 5))
    dense = np.zeros((3, 5), "float32")
    dense[2, 3] = dense[0, 1] = 3
    w = tf.constant(W)
    np.testing.assert_allclose(K.dot(t, w), dense @ W)
    np.testing.assert_allclose(K.dot(tf.ones((2, 3)), t), np.ones((2, 3)) @ dense)
    assert (K.is_sparse(t), K.is_tensor(t), K.int_shape(t)) == (True, True, (3, 5))
    x = K.placeholder((None, 5), sparse=True)
    for value in (K.function([x], [x])([t])[0], K.eval(K.variable(t)), K.eval(t), K.to_dense(t)):
        np.testing.assert_array_equal(value, dense)
    with pytest.raises(UnsupportedError, match=r"^K\.add: .*sparse.*K\.to_dense"):
        K.add(t, 1.0)


def test_in_a_tensorflow_function(matrix: Any) -> None:
    """A variable is read at its value then, also with another number of elements."""
    tf = pytest.importorskip("tensorflow")
    K = kbridge.load_backend("tensorflow")
    stored, w = K.variable(matrix), tf.constant(W)

    @tf.function
    def product(x: Any) -> Any:
        return K.dot(stored, x) + K.dot(matrix, x)

    with tf.GradientTape() as tape:
        tape.watch(w)
        result = product(w)
    np.testing.assert_allclose(result, 2 * matrix @ W, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(result, w), 2 * matrix.T @ np.ones((3, 2)), rtol=1e-6)
    K.set_value(stored, sp.eye(3, 5))
    np.testing.assert_allclose(product(w), W[:3] + matrix @ W, rtol=1e-6)
    given = tf.function(
        lambda s: K.dot(s, w), input_signature=[tf.SparseTensorSpec((None, 5), tf.float32)]
    )
    np.testing.assert_allclose(given(tf.sparse.from_dense(matrix.toarray())), matrix @ W, rtol=1e-6)


def test_under_traces_of_jax(matrix: Any) -> None:
    jax = pytest.importorskip("jax")
    K = kbridge.load_backend("jax")
    stored, w = K.variable(matrix), jax.numpy.asarray(W)
    product = jax.jit(lambda x: K.dot(stored, x) + K.dot(matrix, x))(w)
    np.testing.assert_allclose(product, 2 * matrix @ W, rtol=1e-6)
    slope = jax.grad(lambda x: K.sum(K.dot(stored, x)))(w)
    np.testing.assert_allclose(slope, matrix.T @ np.ones((3, 2)), rtol=1e-6)
    batch = jax.vmap(lambda x: K.dot(stored, x))(jax.numpy.stack([w, 2 * w]))
    np.testing.assert_allclose(batch[1], 2 * matrix @ W, rtol=1e-6)
    with K.eager_scope():
        native = K.concatenate([stored, stored], axis=0)
    argument = jax.jit(lambda s, x: K.dot(s, x))(native, w)
    np.testing.assert_allclose(argument, np.vstack([matrix @ W] * 2), rtol=1e-6)


def test_sparse_arrays_of_jax_are_refused() -> None:
    jax = pytest.importorskip("jax")
    from jax.experimental import sparse

    K = kbridge.load_backend("jax")
    array = sparse.BCOO.fromdense(jax.numpy.eye(5))
    with pytest.raises(ArgumentTypeError, match=r"^K\.dot: .*BCOO"):
        K.dot(array, jax.numpy.asarray(W))


def test_scipy_on_numpy(matrix: Any) -> None:
    """There a SciPy matrix is native: with arrays alone the product is computed at once."""
    K = kbridge.load_backend("numpy")
    product = K.dot(matrix, W)
    assert isinstance(product, np.ndarray)
    np.testing.assert_allclose(product, matrix @ W)
    assert K.dot(matrix > 0, W).dtype == "float32"
    assert sp.issparse(K.concatenate([matrix, matrix]))
    assert not K.is_tensor(matrix)


def test_a_lasting_function_of_jax_compiles_for_few_lengths(matrix: Any) -> None:
    """Lengths are powers of two: what is stored beside is outside of the matrix."""
    pytest.importorskip("jax")
    from kbridge.backends.jax import sparse

    for count in range(1, 18):
        m = sp.csr_matrix(np.arange(32).reshape(4, 8) < count, dtype="float32")
        native = sparse.from_scipy(m, "float32")
        length = len(native.data)
        assert length >= count > length // 2 or length == 1
        assert (native.rows[count:] == 4).all()
        assert (native.columns[count:] == 8).all()
        assert (sparse.to_scipy(native) != m).nnz == 0
