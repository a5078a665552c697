"""The graph's promises that no single operation shows: scale, memory, threads, one rule."""

from __future__ import annotations

import gc
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kbridge
from kbridge import errors
from kbridge.binding import OPERATIONS


def native(K, value, dtype="float32"):
    return K.engine.from_numpy(np.asarray(value, dtype), dtype)


# --- now or later ------------------------------------------------------------------------------


def test_placeholder_upstream_is_recorded_even_beside_native(K):
    x = K.placeholder((2,))
    result = K.maximum(x, native(K, [1.0, 2.0]))
    assert K.is_symbolic(result)
    assert K.function([x], [result])([np.zeros(2)])[0].tolist() == [1.0, 2.0]


def test_variables_and_arrays_are_recorded_and_seen_at_their_current_value(K):
    v = K.variable([1.0, 2.0])
    doubled = v * 2.0
    assert K.is_symbolic(doubled)
    assert K.eval(doubled).tolist() == [2.0, 4.0]
    K.set_value(v, [5.0, 6.0])
    assert K.eval(doubled).tolist() == [10.0, 12.0]
    assert np.asarray(doubled).tolist() == [10.0, 12.0]
    assert float(K.sum(doubled)) == 22.0


def test_native_beside_variable_runs_now(K):
    v = K.variable([1.0, 2.0])
    for result in (K.maximum(native(K, [0.0, 9.0]), v), v + native(K, [0.0, 9.0])):
        # On NumPy an array beside a Tensor is a constant, as on every engine.
        assert K.is_symbolic(result) if K.name == "numpy" else K.engine.is_native(result)
    assert K.eval(K.maximum(native(K, [0.0, 9.0]), v)).tolist() == [1.0, 9.0]


def test_eager_scope_runs_everything_now_updates_included(K):
    v = K.variable([1.0, 2.0])
    with K.eager_scope():
        result = K.square(v)
        assert K.engine.is_native(result) or isinstance(result, np.generic)
        K.update_add(v, [1.0, 1.0])
    assert K.get_value(v).tolist() == [2.0, 3.0]
    assert K.is_symbolic(K.square(v))


def test_eager_decorator_and_nesting(K):
    v = K.variable(3.0)

    @K.eager
    def now():
        with K.symbolic_scope():
            inner = K.square(v)
        return K.square(v), inner

    outer, inner = now()
    assert not K.is_symbolic(outer)
    assert K.is_symbolic(inner)


def test_symbolic_scope_takes_native_tensors_as_constants(K):
    x = native(K, [1.0, 4.0])
    with K.symbolic_scope():
        result = K.sqrt(x)
    assert K.is_symbolic(result)
    assert K.eval(result).tolist() == [1.0, 2.0]
    assert not K.is_symbolic(K.sqrt(x))


def test_scopes_are_per_thread(K):
    inside, seen = threading.Barrier(2), []
    x = native(K, [1.0])

    def other():
        inside.wait()
        seen.append(K.is_symbolic(K.square(x)))
        inside.wait()

    thread = threading.Thread(target=other)
    thread.start()
    with K.symbolic_scope():
        inside.wait()
        assert K.is_symbolic(K.square(x))
        inside.wait()
    thread.join()
    assert seen == [False]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", ["number", "scalar", "array", "native"])
def test_operators_with_anything_on_either_side(K, kind, side):
    a = np.array([1.0, 2.0, 3.0], "float32")
    b = {"number": 2, "scalar": np.float64(2.0), "array": a[::-1].copy(), "native": None}[kind]
    plain = np.array([3.0, 2.0, 1.0], "float32") if b is None else b
    b = native(K, plain) if kind == "native" else b
    v = K.variable(a)
    pairs = {
        "+": (lambda p, q: p + q), "-": (lambda p, q: p - q), "*": (lambda p, q: p * q),
        "/": (lambda p, q: p / q), "//": (lambda p, q: p // q), "%": (lambda p, q: p % q),
        "**": (lambda p, q: p**q), "<": (lambda p, q: p < q), "<=": (lambda p, q: p <= q),
        ">": (lambda p, q: p > q), ">=": (lambda p, q: p >= q),
    }  # fmt: skip
    for sign, operator in pairs.items():
        left, right = (v, b) if side == "left" else (b, v)
        expected = operator(*((a, plain) if side == "left" else (plain, a)))
        result = operator(left, right)
        assert K.is_tensor(result) or K.engine.is_native(result), sign
        value = K.eval(result)
        np.testing.assert_allclose(value, expected, rtol=1e-5, err_msg=sign)
        assert value.dtype == (bool if sign in "<=>=" else np.float32), sign


def test_placeholder_operators_record_with_native_on_the_left(K):
    x = K.placeholder((3,))
    one = native(K, [1.0, 2.0, 3.0])
    for result in (one + x, one - x, one * x, one / x, one < x, one >= x):
        assert K.is_symbolic(result)


# --- scale and memory ----------------------------------------------------------------------------


@pytest.mark.slow
def test_long_chain_needs_no_recursion(K):
    """Nor does its gradient; TensorFlow's own takes minutes for thousands of additions."""
    length = 100_000 if K.name in ("numpy", "torch") else 10_000
    part = 1500 if K.name == "tensorflow" else length
    x, v = K.placeholder((2,)), K.variable(np.ones(2))
    step = 1.0 if K.name == "jax" else v  # XLA adds up what is constant, and compiles in seconds
    chain = [x]
    for _ in range(length):
        chain.append(chain[-1] + step)
    sources = [x] if K.name == "jax" else [x, v]
    f = K.function([x], [chain[-1], *K.gradients(K.sum(chain[part]), sources)])
    value, to_x, *to_v = f([np.zeros(2)])
    assert value.tolist() == [float(length)] * 2
    assert to_x.tolist() == [1.0] * 2
    assert [slope.tolist() for slope in to_v] == [[float(part)] * 2] * (len(sources) - 1)
    del f, chain
    gc.collect()


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


@pytest.mark.slow
def test_models_built_in_a_loop_use_constant_memory(K):
    def build():
        x = K.placeholder((None, 8))
        w, b = K.variable(np.ones((8, 8))), K.zeros((8,))
        h = K.dropout(K.relu(K.bias_add(K.dot(x, w), b)), 0.5)
        loss = K.mean(K.square(h))
        K.gradients(loss, [w, b])
        K.eval(K.sum(w))
        K.clear_session()

    sizes = []
    for index in range(1000):
        build()
        if index in (199, 999):
            gc.collect()
            sizes.append(_resident())
    assert sizes[1] <= 1.05 * sizes[0]


# --- functions and threads -----------------------------------------------------------------------


def test_function_from_eight_threads_at_once(K):
    x = K.placeholder((None,))
    w = K.variable([2.0])
    f = K.function([x], [x * w + 1.0])

    def call(n):
        return f([np.full(n % 5 + 1, n)])[0].tolist() == [2.0 * n + 1.0] * (n % 5 + 1)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))


def test_updates_from_eight_threads_lose_nothing(K):
    v = K.variable(0.0)
    f = K.function([], [], updates=[K.update_add(v, 1)])

    def work(_):
        for _ in range(300):
            f([])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert K.get_value(v) == 2400


def test_failing_call_changes_no_variable(K):
    table, seen = K.variable(np.arange(6.0).reshape(3, 2)), K.variable(0.0)
    index = K.placeholder((None,), dtype="int32")
    f = K.function([index], [K.gather(table, index)], updates=[K.update_add(seen, 1.0)])
    f([[0, 2]])
    with pytest.raises(errors.IndexRangeError, match=r"index 3 .*\[0, 3\)"):
        f([[0, 3]])
    assert K.get_value(seen) == 1.0


def test_values_handed_out_and_taken_in_are_copies(K):
    given = np.ones(3, "float32")
    v = K.variable(given)
    given[:] = 7
    out = K.get_value(v)
    out[:] = 9
    x = K.placeholder((3,))
    store = K.function([x], [x], updates=[(v, x)])
    feed = np.full(3, 5.0, "float32")
    (echo,) = store([feed])
    feed[:] = 8
    echo[:] = 6
    assert K.get_value(v).tolist() == [5.0] * 3


def test_function_keeps_nested_structures(K):
    x, y = K.placeholder((2,)), K.placeholder((2,))
    f = K.function({"a": x, "b": [y]}, {"sum": x + y, "pair": (x, [y * 2.0])})
    out = f({"b": [np.ones(2)], "a": np.zeros(2)})
    assert out["sum"].tolist() == [1.0, 1.0]
    assert isinstance(out["pair"], tuple)
    assert out["pair"][1][0].tolist() == [2.0, 2.0]


def test_any_tensor_may_be_fed_or_fetched(K):
    v = K.variable([1.0, 1.0])
    middle = v * 3.0
    end = middle + 1.0
    f = K.function([middle], [end, middle])
    end_value, middle_value = f([np.array([5.0, 6.0])])
    assert end_value.tolist() == [6.0, 7.0]
    assert middle_value.tolist() == [5.0, 6.0]
    assert K.function([v], [end])([np.zeros(2)])[0].tolist() == [1.0, 1.0]


def test_metric_outputs_see_the_updates(K):
    total = K.variable(0.0)
    x = K.placeholder(())
    result = total * 1.0
    result._is_metric = True
    before = total * 1.0
    f = K.function([x], [before, result], updates=[K.update_add(total, x)])
    assert [float(v) for v in f([2.0])] == [0.0, 2.0]
    assert [float(v) for v in f([3.0])] == [2.0, 5.0]


# --- the contract --------------------------------------------------------------------------------


def test_signatures_and_help_are_the_contract(K):
    for name, function in K.public().items():
        op = OPERATIONS[name]
        parameters = inspect.signature(function).parameters
        assert tuple(p.lstrip("*") for p in op.parameters) == tuple(parameters), name
        assert function.__doc__, name


def test_missing_operation_says_what_to_do(K):
    with pytest.raises(errors.MissingOperationError, match=r"K\.switch is not available") as raised:
        errors_of_a_backend_without(K, "switch").switch  # noqa: B018  # the access is the test
    assert isinstance(raised.value, AttributeError)


def errors_of_a_backend_without(K, name):
    class Gap:
        pass

    gap = object.__new__(type(K))
    gap.__dict__.update({k: v for k, v in K.__dict__.items() if k != name})
    return gap


def test_two_backends_do_not_mix():
    one, other = kbridge.load_backend("numpy"), kbridge.load_backend("torch")
    a, b = one.variable([1.0]), other.variable([1.0])
    with pytest.raises(errors.ArgumentError, match="belongs to the backend 'torch'"):
        one.maximum(a, b)


def test_lift_records_a_native_function(K):
    x = K.placeholder((None, 3))
    lifted = K.lift(lambda a, b: a * b + a)
    y = lifted(x, x)
    assert (K.int_shape(y), K.dtype(y)) == ((None, 3), "float32")
    assert K.function([x], [y])([np.full((2, 3), 2.0)])[0].tolist() == [[6.0] * 3] * 2


def test_names_carry_their_scope(K):
    with K.name_scope("dense"), K.name_scope("inner"):
        v = K.variable(1.0, name="kernel")
    assert str(v) == v.name == "dense/inner/kernel"
    assert K.variable(1.0, name="kernel").name == "kernel"


def test_a_scope_gives_each_name_once(K):
    with K.name_scope("rnn"):
        names = [K.variable(1.0, name="kernel").name for _ in range(3)]
        with K.name_scope("cell"):
            names.append(K.variable(1.0, name="kernel").name)
        with K.name_scope("cell"):
            names.append(K.variable(1.0, name="kernel").name)
    assert names[:3] == ["rnn/kernel", "rnn/kernel_1", "rnn/kernel_2"]
    assert names[3:] == ["rnn/cell/kernel", "rnn/cell/kernel_1"]
    with K.name_scope("rnn"):
        assert K.variable(1.0, name="kernel").name == "rnn/kernel"


def test_a_declared_shape_fills_what_is_unknown(K):
    x = K.placeholder((None, 6))
    y = K.reshape(x, (K.shape(x)[0], -1, 2)) * 1.0
    assert K.int_shape(y)[2] == 2
    unknown = K.int_shape(y)
    y._keras_shape = [None, 3, 5]
    assert K.int_shape(y) == (None, 3, 2)  # of two that are known the graph's own counts
    y._keras_shape = (None, 3)
    assert K.int_shape(y) == unknown
    y._keras_shape = None
    assert K.int_shape(y) == unknown


def test_identity_and_attributes_of_tensors(K):
    v, w = K.variable(1.0), K.variable(1.0)
    assert v != w
    assert len({v, w, v}) == 2
    v.anything = 3
    assert not hasattr(v * 1.0, "anything")
    assert not hasattr(v * 1.0, "_keras_shape")
    result = v
    result += 1.0
    assert K.get_value(v) == 1.0


def test_export_needs_a_format_and_one_part(K, tmp_path):
    """The four engines have none; the message names a backend that has."""
    x = K.placeholder((None, 2), name="x")
    file = tmp_path / "model"
    with pytest.raises(errors.UnsupportedError, match=r"no file format .* plugins/kbridge-onnx"):
        K.function([x], [x * 2.0]).export(file)
    metric = K.variable(1.0) * 1.0
    metric._is_metric = True
    with pytest.raises(errors.UnsupportedError, match="runs in two parts"):
        K.function([x], [x * 2.0, metric]).export(file)
    for phase in (2, None, "train"):
        with pytest.raises(errors.ArgumentError, match=r"phase must be 0, .*, or 1, for training"):
            K.function([x], [x * 2.0]).export(file, phase=phase)
    assert not file.exists()
