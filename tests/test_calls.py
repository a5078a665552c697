"""Calls of functions: feeds in any form, results that are the caller's, options."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from kbridge import errors

DOUBLED = [[2.0, 4.0]]


def doubling(K, shape=(None, 2), **options):
    x = K.placeholder(shape, name="given")
    return K.function([x], [x * 2], name="double", **options)


# --- feeds ---------------------------------------------------------------------------------------

FEEDS = {
    "exact": np.array([[1, 2]], "float32"),
    "float64": np.array([[1, 2]], "float64"),
    "int8": np.array([[1, 2]], "int8"),
    "big-endian": np.array([[1, 2]], ">f4"),
    "list": [[1, 2]],
    "read-only": np.broadcast_to(np.array([1, 2], "float32"), (1, 2)),
    "reversed": np.array([[2, 1]], "float32")[:, ::-1],
    "strided": np.array([[1, 0, 2, 0]], "float32")[:, ::2],
    "column-major": np.asfortranarray(np.array([[1, 2]], "float32")),
    "subclass": np.array([[1, 2]], "float32").view(np.recarray),
}


@pytest.mark.parametrize("kind", FEEDS)
def test_any_form_of_an_array_is_fed(K, kind):
    fed = FEEDS[kind]
    for f in (doubling(K), doubling(K, (1, 2)), doubling(K, (None, None))):
        for values in ([fed], (fed,)):
            (out,) = f(values)
            assert type(out) is np.ndarray
            assert (out.dtype, out.tolist()) == (np.float32, DOUBLED)


@pytest.mark.parametrize("shape", [(1, 3), (2,), (1, 2, 1), ()])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_wrong_shapes_are_refused_whatever_the_dtype(K, shape, dtype):
    for f in (doubling(K), doubling(K, (1, 2))):
        with pytest.raises(errors.FeedError, match=r"^double: .*'given'.*expected"):
            f([np.ones(shape, dtype)])


@pytest.mark.parametrize("values", [(), ([],), ([1, 2],), ([], []), (None,), ({},)])
def test_wrong_numbers_of_feeds_are_refused(K, values):
    x = K.placeholder(())
    f = K.function([x], [x * 2], name="double")
    with pytest.raises(errors.FeedError, match=r"^double: expected"):
        f(*values)


def test_several_arguments_are_the_list(K):
    x, y = K.placeholder(()), K.placeholder(())
    f = K.function([x, y], x - y)
    assert f(3.0, 1.0) == f([3.0, 1.0]) == f((3.0, 1.0)) == 2.0


def test_learning_phase_among_the_inputs(K):
    x = K.placeholder((1,))
    f = K.function([x, K.learning_phase()], [K.in_train_phase(x + 1.0, x)])
    one = np.ones(1, "float32")
    for value, wanted in ((1, 2), (0, 1), (True, 2), (np.int64(1), 2), (np.zeros(1), 1), ([1], 2)):
        assert f([one, value])[0].tolist() == [wanted]


def test_many_inputs(K):
    places = [K.placeholder((None,)) for _ in range(300)]
    f = K.function(places, sum(places[1:], places[0]))
    assert f([np.full(2, i, "float32") for i in range(300)]).tolist() == [44850.0] * 2


def test_source_is_shared_by_functions_of_equal_inputs(K):
    one, other = doubling(K), doubling(K)
    assert one._read.__code__ is other._read.__code__


def test_checks_of_data_follow_the_size(K):
    """On JAX an empty feed notes nothing to check, and the next one does again."""
    rows, index = K.variable([[1.0], [2.0]]), K.placeholder((None,), dtype="int32")
    f = K.function([index], [K.gather(rows, index)])
    for given in ([0, 1], [], [1, 0]):
        assert f([given])[0].ravel().tolist() == [i + 1.0 for i in given]
        with pytest.raises(errors.IndexRangeError, match="index 2 "):
            f([[0, 2]])


# --- results -------------------------------------------------------------------------------------


def test_results_may_be_changed_and_change_nothing(K):
    """Whatever shares its memory inside: feeds, variables, constants, views, twice the same."""
    x, v, c = K.placeholder((2,)), K.variable([5.0, 6.0]), K.constant([7.0, 8.0])
    total = x + v
    views = [K.reshape(t, (2, 1)) for t in (x, v, c, total)]
    stopped = [K.stop_gradient(t) for t in (x, v, total)]
    outputs = [x, x, v, v, c, total, total, *views, *stopped, K.shape(x)]
    f = K.function([x], outputs, [K.update(v, total * 1.0)])
    fed = np.array([1.0, 2.0], "float32")
    first = f([fed])
    kept = [out.copy() for out in first]
    for position, out in enumerate(first):
        assert out.flags.writeable
        out[...] = 99
        for other, before in zip(first[position + 1 :], kept[position + 1 :], strict=True):
            assert other.tolist() == before.tolist()
    assert fed.tolist() == [1.0, 2.0]
    assert K.get_value(v).tolist() == [6.0, 8.0]
    assert K.eval(c).tolist() == [7.0, 8.0]
    assert f([fed])[5].tolist() == [7.0, 10.0]


def test_an_updated_value_that_is_an_output_is_copied(K):
    v = K.variable([1.0, 2.0])
    new = v * 2.0
    f = K.function([], [new], [K.update(v, new)])
    out = f([])[0]
    out[:] = 0
    assert K.get_value(v).tolist() == [2.0, 4.0]


def test_what_a_lifted_function_keeps_is_copied(K):
    kept = K.engine.from_numpy(np.array([1.0, 2.0]), "float32")
    x = K.placeholder((2,))
    f = K.function([x], [K.lift(lambda value: kept, shape=(2,), dtype="float32")(x)])
    for _ in range(2):
        out = f([np.zeros(2)])[0]
        assert out.tolist() == [1.0, 2.0]
        out[:] = 0


def test_structures_of_results(K):
    x = K.placeholder(())
    one, two = x + 1.0, x + 2.0
    for outputs, wanted in (
        (one, 1.0), ([one], [1.0]), ((one, two), (1.0, 2.0)), ([one, [two]], [1.0, [2.0]]),
        ({"a": (one,)}, {"a": (1.0,)}), ([], []), ((), ()),
    ):  # fmt: skip
        found = K.function([x], outputs)([0.0])
        assert type(found) is (np.ndarray if outputs is one else type(outputs))
        assert found == wanted


# --- options -------------------------------------------------------------------------------------


def trained(K, **options):
    """Three losses and the weights of a program with constants, a loop and random numbers."""
    x, w = K.placeholder((None, 3)), K.variable(np.ones((3, 2)))
    h = K.tanh(K.dot(x, w) + K.constant([1.0, 2.0]))
    half = K.constant([0.5, 0.5])
    last, _, _ = K.rnn(
        lambda z, states: (z * states[0] + half, [states[0] + z]),
        K.stack([h, h], axis=1),
        [K.zeros_like(h)],
    )
    noise = K.random_uniform((2,), seed=3)
    loss = K.mean(K.square(h)) + K.sum(last)
    (gradient,) = K.gradients(loss, [w])
    f = K.function([x], [loss, noise], [K.update_sub(w, 0.1 * gradient)], **options)
    fed = np.arange(6.0).reshape(2, 3) / 10
    losses = [float(f([fed])[0]) for _ in range(3)]
    assert ((f([fed])[1] >= 0) & (f([fed])[1] < 1)).all()
    return [*losses, *K.get_value(w).ravel()], w, f


def test_device_cpu_is_there_on_every_engine(K):
    plain, placed = trained(K)[0], trained(K, device="cpu")[0]
    np.testing.assert_allclose(placed, plain, rtol=1e-6)


def test_other_devices_are_refused_with_those_that_are_there(K):
    with pytest.raises(errors.ArgumentError, match=r"no device 'tpu:7' here; it has .*cpu|CPU"):
        trained(K, device="tpu:7")


def test_torch_puts_constants_loops_and_draws_on_the_device():
    import kbridge

    K = kbridge.load_backend("torch")
    _, w, _ = trained(K, device="cpu")
    assert w.value.device.type == "cpu"
    x = K.placeholder((None, 2))
    v, c = K.variable([1.0, 2.0]), K.constant([3.0, 4.0])
    g = K.function([x], [x * c + K.random_normal((2,))], [K.update_add(v, c)], device="meta")
    # Tensors on the device "meta" have no values: one that is elsewhere would be refused.
    results = g._program.compile(0)([K.engine.from_numpy(np.ones((1, 2)), "float32")])
    assert [r.device.type for r in results] == ["meta"]
    assert v.value.device.type == "meta"


def test_jax_keeps_what_it_updates_on_the_device():
    code = """
import numpy as np, kbridge
K = kbridge.load_backend("jax")
x, v = K.placeholder((2,)), K.variable([1.0, 2.0])
f = K.function([x], [x + v], [K.update_add(v, x)], device="cpu:1")
assert [f([np.ones(2)])[0].tolist() for _ in range(2)] == [[2.0, 3.0], [3.0, 4.0]]
assert {d.id for d in v.value.devices()} == {1}
assert K.get_value(v).tolist() == [3.0, 4.0]
"""
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def test_tensorflow_compiles_by_xla_on_request():
    import kbridge

    K = kbridge.load_backend("tensorflow")
    plain, compiled = trained(K)[0], trained(K, jit_compile=True)[0]
    np.testing.assert_allclose(compiled, plain, rtol=1e-5)
    for options, wanted in (({"jit_compile": True}, True), ({}, False)):
        function = doubling(K, **options)._program.compile(0).first[-1]
        attributes = function.get_concrete_function().function_def.attr
        assert ("_XlaMustCompile" in attributes and attributes["_XlaMustCompile"].b) is wanted
