"""On JAX: one jitted function of weights and batch, in either layout of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import networks
from benchmarks.networks import RATE, UNITS


def logits(model: str, x: Any, w: list[Any], first: bool) -> Any:
    if model == "mlp":
        return jax.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3]
    if model == "cnn":
        return _cnn(x, w, first)

    # Each step projects its own inputs: see benchmarks/networks.py.
    def simple(h: Any, x: Any) -> Any:
        return jnp.tanh(x @ w[0] + w[2] + h @ w[1]), None

    def lstm(states: Any, x: Any) -> Any:
        i, f, g, o = jnp.split(x @ w[0] + w[2] + states[0] @ w[1], 4, 1)
        c = jax.nn.sigmoid(f) * states[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((x.shape[0], UNITS))
    steps = jnp.swapaxes(x, 0, 1)
    if model == "rnn":
        h, _ = jax.lax.scan(simple, zeros, steps)
    else:
        (h, _), _ = jax.lax.scan(lstm, (zeros, zeros), steps)
    return h @ w[3] + w[4]


def _cnn(x: Any, w: list[Any], first: bool) -> Any:
    layout = ("NCHW", "HWIO", "NCHW") if first else ("NHWC", "HWIO", "NHWC")
    window = (1, 1, 2, 2) if first else (1, 2, 2, 1)
    if first:
        x = jnp.transpose(x, (0, 3, 1, 2))
    for kernel, bias in ((w[0], w[1]), (w[2], w[3])):
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)
        x = jax.nn.relu(x + (bias[:, None, None] if first else bias))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
    if first:
        x = jnp.transpose(x, (0, 2, 3, 1))
    return x.reshape(x.shape[0], -1) @ w[4] + w[5]


def step(model: str, first: bool = False) -> Callable[[Any, Any], Any]:
    w = [jnp.asarray(value) for value in networks.weights(model)]

    def loss(w: Any, x: Any, y: Any) -> Any:
        found = jax.nn.log_softmax(logits(model, x, w, first))
        return -jnp.mean(jnp.take_along_axis(found, y[:, None], 1))

    @jax.jit
    def compiled(w: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(w, x, y)
        return value, [v - RATE * g for v, g in zip(w, gradients, strict=True)]

    def run(x: Any, y: Any) -> Any:
        nonlocal w
        value, w = compiled(w, x, y)
        return np.asarray(value)

    return run
