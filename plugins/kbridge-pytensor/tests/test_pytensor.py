"""PyTensor as a backend: the tensors are its own, and K functions and PyTensor's mix."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import kbridge_pytensor
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import kbridge
from kbridge import errors

K: Any = kbridge.load_backend("pytensor")
K.engine.before_checks()  # without PYTENSOR_FLAGS: nothing is compiled
DEFAULT = {"mode": "NUMBA"}  # as PyTensor compiles by default


def run(inputs: Any, outputs: Any, values: Any, updates: Any = None) -> Any:
    return K.function(inputs, outputs, updates)(values)


# --- the module ----------------------------------------------------------------------------------


def test_the_entry_point_leads_to_the_module_which_is_used_as_it_is() -> None:
    before = dict(vars(kbridge_pytensor))
    assert kbridge.load_backend("kbridge_pytensor").softmax is K.softmax
    assert K.softmax is kbridge_pytensor.softmax
    assert vars(kbridge_pytensor) == before


def test_theano_finds_it() -> None:
    program = "from kbridge import api as K; print(K.eval(K.square(K.constant(3.0))))"
    environment = {**os.environ, "KERAS_BACKEND": "theano"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == ("9.0", 0), done.stderr


def test_settings_are_those_of_kbridge() -> None:
    K.set_floatx("float64")
    try:
        assert K.dtype(K.placeholder((2,))) == "float64"
        assert K.dtype(K.zeros((2,))) == "float64"
    finally:
        K.set_floatx("float32")
    assert pytensor.config.floatX == "float64"  # PyTensor's own, which is left alone


@pytest.mark.parametrize("name", ["lift", "get_session", "control_dependencies"])
def test_what_is_absent_says_so(name: str) -> None:
    assert not hasattr(K, name)
    with pytest.raises(errors.MissingOperationError, match=rf"K\.{name} is not available"):
        getattr(K, name)


def test_sparse_placeholders_are_refused() -> None:
    with pytest.raises(errors.MissingOperationError, match="has no sparse tensors"):
        K.placeholder((2, 2), sparse=True)


# --- tensors -------------------------------------------------------------------------------------


def test_tensors_are_pytensor_s_and_mix_with_its_functions() -> None:
    x = K.placeholder((None, 3))
    assert isinstance(x, pt.TensorVariable)
    y = pt.cumsum(K.softmax(x), axis=1)  # PyTensor's function of K's result, and back
    (got,) = run([x], [K.max(y, axis=-1)], [np.ones((2, 3))])
    np.testing.assert_allclose(got, [1, 1], rtol=1e-6)


def test_operators_promote_by_the_contract_and_not_as_numpy_does() -> None:
    half, whole = K.constant([1.0], dtype="float16"), K.constant([1], dtype="int32")
    assert K.dtype(half + whole) == "float16"
    assert K.dtype(K.constant([1.0]) * 0.1) == "float32"
    assert K.dtype(np.ones(1) * K.constant([1.0])) == "float32"
    assert K.dtype(K.placeholder((1,)) > 0) == "bool"
    for wrong in (bool, len, iter):
        with pytest.raises(TypeError, match="is symbolic"):
            wrong(half)


def test_a_wrong_shape_is_told_when_it_is_recorded() -> None:
    with pytest.raises(errors.ShapeError, match=r"^K\.dot: .*\(None, 3\) float32.*\(4, 2\)"):
        K.dot(K.placeholder((None, 3)), K.ones((4, 2)))


def test_shapes_are_inferred() -> None:
    x = K.placeholder((None, 4, 6))
    assert K.int_shape(K.reshape(x, (K.shape(x)[0], 2, 12))) == (None, 2, 12)
    assert K.int_shape(K.reshape(x, K.stack([K.shape(x)[0], 24]))) == (None, 24)
    assert K.int_shape(K.rnn(lambda i, s: (i, [i]), x, [x[:, 0]])[1]) == (None, 4, 6)


# --- functions -----------------------------------------------------------------------------------


def test_updates_are_simultaneous_and_metrics_come_after() -> None:
    a, b = K.variable(1.0), K.variable(2.0)
    seen = K.identity(a) * 10.0
    late = K.identity(a) * 10.0
    late._is_metric = True
    assert [
        v.item() for v in run([], [seen, late], [], [(a, b), (b, a), K.update_add(b, 5.0)])
    ] == [
        10.0,
        20.0,
    ]
    assert K.batch_get_value([a, b]) == [2.0, 7.0]


def test_a_training_step_follows_pytensor_s_gradient() -> None:
    x, w = K.placeholder((None, 2)), K.variable([[1.0], [2.0]])
    loss = K.mean(K.square(K.dot(x, w)))
    slope, none = K.gradients(loss, [w, K.variable(1.0)])
    assert none is None
    run([x], [loss], [[[1.0, 1.0]]], [K.update_sub(w, 0.5 * slope)])
    assert K.eval(w).ravel().tolist() == [-2.0, -1.0]


@pytest.mark.parametrize("cut", ["round", "argmax", "stop_gradient", "shape"])
def test_no_path_is_none(cut: str) -> None:
    x = K.variable([1.0, 2.0])
    assert K.gradients(K.sum(K.cast(getattr(K, cut)(x), "float32")), [x]) == [None]


def test_the_learning_phase() -> None:
    x, phase = K.placeholder((1,)), K.learning_phase()
    y = K.in_train_phase(x * 10.0, x)
    assert y._uses_learning_phase is True
    f = K.function([x, phase], [y])
    assert [f([[1.0], p])[0].item() for p in (1, 0)] == [10.0, 1.0]
    assert run([x], [y], [[1.0]])[0].item() == 1.0


@pytest.mark.parametrize("options", [{}, {"mode": "FAST_COMPILE"}, DEFAULT])
def test_the_branch_of_the_other_phase_is_left_out(options: dict[str, Any]) -> None:
    """Numba runs both of a branch; a draw of the one not taken would move its stream on."""
    other = kbridge.load_backend("numpy")
    found = []
    for B, given in ((K, options), (other, {})):
        x = B.placeholder((None, 3))
        y = B.in_train_phase(B.dropout(B.in_train_phase(x + 1.0, x), 0.5, seed=7), x)
        slopes = B.gradients(B.sum(y), x) if options is DEFAULT else []  # others do not simplify
        f = B.function([x, B.learning_phase()], [y, *slopes], **given)
        found.append([f([np.ones((4, 3)), phase]) for phase in (1, 0, 0, 1)])
    np.testing.assert_array_equal(*found)
    assert (found[0][0][0] != found[0][3][0]).any()


def test_wrong_calls_of_functions() -> None:
    x, y = K.placeholder((None, 3), name="given"), K.placeholder((2,))
    with pytest.raises(errors.ArgumentError, match=r"'fast'.*Options of this backend: mode"):
        K.function([x], [x * 2.0], fast=True)
    for wrong in ("FAST", 3):
        with pytest.raises(errors.ArgumentError, match=r"mode must be .* NUMBA"):
            K.function([x], [x * 2.0], mode=wrong)
    with pytest.raises(errors.GraphError, match="not fed"):
        K.function([x], [x[0, :2] + y])
    with pytest.raises(errors.GraphError, match=r"output 0 is None"):
        K.function([x], [None])
    with pytest.raises(errors.FeedError, match=r"'given'.*expected \(None, 3\)"):
        run([x], [x * 2.0], [np.ones((2, 4))])
    with pytest.raises(errors.GraphError, match="depends on placeholders"):
        K.eval(x * 2.0)
    with pytest.raises(errors.IndexRangeError, match=r"index 5 .*\[0, 2\)"):
        K.eval(K.gather(K.ones((2, 1)), K.constant([5], dtype="int32")))


def test_sizes_of_1_that_only_the_run_knows() -> None:
    """PyTensor broadcasts those that it knows, so there is a program more; not of gradients."""
    x, y = K.placeholder((None, None)), K.placeholder((None, None))
    count = K.variable(0.0)
    f = K.function([x, y], [x + y], [K.update_add(count, K.sum(y))])
    for rows, columns in ((2, 1), (1, 3), (2, 3), (2, 1)):
        (got,) = f([np.ones((rows, columns)), np.ones((2, 3))])
        np.testing.assert_array_equal(got, np.full((2, 3), 2))
    assert K.eval(count) == 24
    (slope,) = K.gradients(K.sum(x + y), [x])
    g = K.function([x, y], [slope, x + y])
    assert g([np.ones((2, 3)), np.ones((2, 3))])[0].sum() == 6
    with pytest.raises(errors.ShapeError, match=r"sizes do not fit"):
        g([np.ones((2, 1)), np.ones((2, 3))])


@pytest.mark.parametrize("options", [{}, DEFAULT], ids=["quick", "default"])
def test_a_call_that_fails_changes_no_variable(options: dict[str, Any]) -> None:
    x, y = K.placeholder((None, 3)), K.placeholder((None, 3))
    count = K.variable(0.0)
    f = K.function([x, y], [x + y], [K.update_add(count, 1.0)], **options)
    f([np.ones((2, 3)), np.ones((2, 3))])
    with pytest.raises(errors.ShapeError, match="sizes do not fit at the run"):
        f([np.ones((2, 3)), np.ones((4, 3))])
    with pytest.raises(errors.FeedError, match="got 4"):
        f([1.0, 2.0, 3.0, 4.0])
    assert K.eval(count) == 1.0


def test_what_fails_at_the_run_is_an_error_of_kbridge() -> None:
    n, one = K.variable(5, dtype="int32"), K.constant([1], dtype="int32")
    with pytest.raises(errors.ShapeError, match=r"^K\.eval: .*sizes do not fit at the run"):
        K.eval(K.reshape(K.arange(n), (2, 2)))
    x = K.placeholder((1,), dtype="int32")
    with pytest.raises(errors.ArgumentError, match=r"K\.pow: an integer to a negative power"):
        run([x], [one**x], [[-1]])
    with pytest.raises(errors.IndexRangeError, match=r"K\.gather: the index 1"):
        K.eval(K.gather(K.ones((1, 2)), one))


def test_functions_run_in_several_threads() -> None:
    x, count = K.placeholder((1000,)), K.variable(0.0)
    f = K.function([x], [K.sum(x)], [K.update_add(count, 1.0)])
    found: list[float] = []

    def run_some(value: float) -> None:
        found.extend(f([np.full(1000, value)])[0] - 1000 * value for _ in range(50))

    threads = [threading.Thread(target=run_some, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0.0] * 200
    assert K.eval(count) == 200.0


def test_functions_cannot_be_exported() -> None:
    x = K.placeholder((2,))
    with pytest.raises(errors.UnsupportedError, match=r"no file format.*kbridge-onnx"):
        K.function([x], [x * 2.0]).export("model.onnx")


def test_draws_are_those_of_every_backend() -> None:
    other = kbridge.load_backend("numpy")
    for name in ("random_normal", "random_uniform", "truncated_normal"):
        mine, theirs = (B.eval(getattr(B, name)((3, 2), seed=7)) for B in (K, other))
        np.testing.assert_array_equal(mine, theirs)
    again = K.random_uniform((4,), seed=1)
    f = K.function([], [again])
    assert (f([])[0] != f([])[0]).all()


def test_loops_and_their_gradient() -> None:
    x = K.placeholder((None, 3, 1))
    step = lambda i, states: (i * states[0], [i * states[0]])  # noqa: E731
    last, outputs, _ = K.rnn(step, x, [K.ones_like(x[:, 0])])
    (slope,) = K.gradients(K.sum(last), [x])
    values = run([x], [outputs, slope], [[[[2.0], [3.0], [4.0]]]])
    assert [v.ravel().tolist() for v in values] == [[2, 6, 24], [12, 8, 6]]


def test_sizes_are_known_without_a_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytensor.tensor.basic, "infer_static_shape", None)
    x, y = K.placeholder((None, 4, 6)), K.placeholder((3, None))
    rows, b = K.shape(x)[0], K.shape(y)[0]
    assert K.int_shape(K.reshape(x, (rows, b * 8))) == (None, 24)
    assert K.int_shape(K.reshape(x, (-1, K.prod(K.shape(x)[1:])))) == (None, 24)
    assert K.int_shape(K.reshape(y, K.concatenate([K.shape(y)[:1], [1, -1]]))) == (3, 1, None)
    assert K.int_shape(K.reshape(y, (b // 3, -1))) == (1, None)
    assert tuple(K.ones((2, 3)).shape) == (2, 3)


def test_a_convolution_of_unknown_sizes() -> None:
    x, kernel = K.placeholder((None,) * 4), K.placeholder((None,) * 4)
    y = K.conv2d(x, kernel, padding="same")
    values = [np.ones((1, 3, 3, 2)), np.ones((2, 2, 2, 1))]
    assert run([x, kernel], [y], values)[0][0, :, :, 0].tolist() == [
        [8, 8, 4],
        [8, 8, 4],
        [4, 4, 2],
    ]


# --- numbers -------------------------------------------------------------------------------------


def test_casts_of_what_is_out_of_range() -> None:
    """NumPy's, as on every backend; PyTensor's own are Python's errors."""
    x, n = K.placeholder((None,)), K.placeholder((None,), dtype="int32")
    values = [1.7, -1.7, 300.5]
    for dtype in ("uint8", "int8", "int64"):
        wanted = np.array(values, "float32").astype(dtype)
        np.testing.assert_array_equal(K.eval(K.cast(K.constant(values), dtype)), wanted)
        np.testing.assert_array_equal(run([x], [K.cast(x, dtype)], [values])[0], wanted)
    assert run([n], [K.cast(n, "uint8")], [[300, -1]])[0].tolist() == [44, 255]
    wide = K.constant([200, 100], dtype="uint8")
    assert K.eval(K.cumsum(wide)).tolist() == [200, 44]


@pytest.mark.parametrize("options", [{}, DEFAULT], ids=["quick", "default"])
def test_the_least_integer(options: dict[str, Any]) -> None:
    x = K.placeholder((None,), dtype="int8")
    f = K.function([x], [K.min(x), K.argmin(x)], **options)
    assert [v.item() for v in f([[5, -128, 7]])] == [-128, 1]


@pytest.mark.parametrize("options", [{}, DEFAULT], ids=["quick", "default"])
def test_nothing_has_no_largest_element(options: dict[str, Any]) -> None:
    x = K.placeholder((None,))
    f = K.function([x], [K.max(x), *K.gradients(K.max(x), x)], **options)
    assert [v.tolist() for v in f([[1.0, 3.0]])] == [3.0, [0.0, 1.0]]
    with pytest.raises(errors.ShapeError, match=r"K\.max, K\.min: a reduced axis is empty"):
        f([[]])


@pytest.mark.parametrize("options", [{}, DEFAULT], ids=["quick", "default"])
def test_a_batch_of_one_does_not_broadcast(options: dict[str, Any]) -> None:
    x, y = K.placeholder((None, 3, 4)), K.placeholder((None, 4, 5))
    product = K.batch_dot(x, y)
    f = K.function([x, y], [product, *K.gradients(K.sum(product), [x, y])], **options)
    assert [v.shape for v in f([np.ones((2, 3, 4)), np.ones((2, 4, 5))])] == [
        (2, 3, 5),
        (2, 3, 4),
        (2, 4, 5),
    ]
    for a, b in ((2, 1), (1, 2)):
        with pytest.raises(errors.ShapeError, match=r"^K\.batch_dot: the batch sizes .* differ"):
            f([np.ones((a, 3, 4)), np.ones((b, 4, 5))])


# --- what compiling takes ------------------------------------------------------------------------


def test_arrays_come_as_the_compiled_code_takes_them() -> None:
    """Numba compiles anew for each other layout, and for arrays that cannot be written."""
    x, w = K.placeholder((2, 3)), K.variable(np.ones((2, 3), np.float32).T)
    f = K.function([x], [K.dot(x, w)], [(w, K.transpose(K.transpose(w) * 2.0))])
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    f([plain])
    ((key, (early, after)),) = f.programs.items()
    seen: list[Any] = []
    f.programs[key] = lambda *arrays: seen.extend(arrays) or early(*arrays), after
    fixed = plain.copy()
    fixed.flags.writeable = False
    for fed in (np.asfortranarray(plain), plain[:, ::-1][:, ::-1], np.repeat(plain, 2, 0)[::2]):
        f([fed])
        K.set_value(w, np.ones((2, 3), np.float32).T)
        seen.append(w.get_value(borrow=True))
    f([fixed])
    seen.append(w.get_value(borrow=True))
    assert len(seen) == 8
    assert all(array.flags.c_contiguous and array.flags.writeable for array in seen)


def test_loops_need_no_c_compiler() -> None:
    x = K.ones((3, 2))
    with pytensor.config.change_flags(cxx="/no/such/compiler"):
        assert K.eval(K.foldl(lambda a, b: K.tanh(a) + b, x)).shape == (2,)
