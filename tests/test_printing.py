"""``K.print_tensor`` inside programs of the engines' own; the suite checks it in kbridge's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kbridge


def test_it_prints_to_what_sys_stdout_is_then(K: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = K.placeholder((2,))
    f = K.function([x], [K.print_tensor(x, "x is:")])
    f([[1.0, 2.0]])
    f([[3.0, 4.0]])
    shown = capsys.readouterr()
    assert shown.out == "x is: [1. 2.]\nx is: [3. 4.]\n"
    assert shown.err == ""


def test_a_function_updates_with_what_was_printed(
    K: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A printed variable goes on as the value of an update, in memory of its own."""
    v, w = K.variable([1.0, 2.0]), K.variable([0.0, 0.0])
    f = K.function([], [], updates=[K.update(w, K.print_tensor(v, "v")), K.update_add(v, 1.0)])
    f([])
    f([])
    assert K.eval(w).tolist() == [2.0, 3.0]
    assert K.eval(v).tolist() == [3.0, 4.0]
    assert capsys.readouterr().out == "v [1. 2.]\nv [2. 3.]\n"


def test_the_result_is_another_tensor(K: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = K.variable([1.0])
    x.mark = True
    printed = K.print_tensor(x)
    assert printed is not x
    assert not hasattr(printed, "mark")
    assert not K.is_variable(printed)
    assert capsys.readouterr().out == ""


def test_it_follows_print_options(K: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with np.printoptions(precision=2):
        K.eval(K.print_tensor(K.constant([0.123456])))
    assert capsys.readouterr().out == "[0.12]\n"


# --- PyTorch -------------------------------------------------------------------------------------


def test_torch(capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    K = kbridge.load_backend("torch")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.sum(K.print_tensor(x, "x") ** 2).backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert capsys.readouterr().out == "x [1. 2.]\n"
    grad = torch.func.grad(lambda t: torch.sum(K.print_tensor(t, "t") ** 2))(torch.ones(2))
    assert grad.tolist() == [2.0, 2.0]
    assert capsys.readouterr().out.startswith("t ")
    doubled = torch.func.vmap(lambda t: K.print_tensor(t, "t") * 2)(torch.ones(2, 2))
    assert doubled.tolist() == [[2.0, 2.0]] * 2
    assert capsys.readouterr().out.startswith("t ")


# --- JAX -----------------------------------------------------------------------------------------


def test_jax(capsys: pytest.CaptureFixture[str]) -> None:
    jax = pytest.importorskip("jax")
    K = kbridge.load_backend("jax")
    jnp = jax.numpy

    def loss(x: Any) -> Any:
        return jnp.sum(K.print_tensor(x, "x") ** 2)

    for transform in (jax.grad, lambda f: jax.jit(jax.grad(f))):
        gradient = transform(loss)
        for _ in range(2):
            assert gradient(jnp.array([1.0, 2.0])).tolist() == [2.0, 4.0]
            jax.effects_barrier()
            assert capsys.readouterr().out == "x [1. 2.]\n"
    assert jax.vmap(loss)(jnp.array([[1.0], [2.0]])).tolist() == [1.0, 4.0]
    jax.effects_barrier()
    assert sorted(capsys.readouterr().out.splitlines()) == ["x [1.]", "x [2.]"]


# --- TensorFlow ----------------------------------------------------------------------------------


def test_tensorflow(capsys: pytest.CaptureFixture[str]) -> None:
    tf = pytest.importorskip("tensorflow")
    K = kbridge.load_backend("tensorflow")

    @tf.function
    def squared(x: Any) -> Any:
        return tf.reduce_sum(K.print_tensor(x, "x") ** 2)

    for run in (squared, squared.python_function):
        x = tf.Variable([1.0, 2.0])
        with tf.GradientTape() as tape:
            loss = run(x + 0.0)
        assert tape.gradient(loss, x).numpy().tolist() == [2.0, 4.0]
        assert capsys.readouterr().out == "x [1. 2.]\n"
