"""On TensorFlow: one tf.function, a graph loop over time, variables updated in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from benchmarks import networks
from benchmarks.networks import RATE, TIME, UNITS


def logits(model: str, x: Any, w: list[Any]) -> Any:
    if model == "mlp":
        return tf.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3]
    if model == "cnn":
        for kernel, bias in ((w[0], w[1]), (w[2], w[3])):
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias))
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        return tf.reshape(x, (-1, 7 * 7 * 32)) @ w[4] + w[5]
    projected = tf.transpose(tf.tensordot(x, w[0], 1) + w[2], (1, 0, 2))
    zeros = tf.zeros((tf.shape(x)[0], UNITS))
    weights = tf.convert_to_tensor(w[1])

    def body(t: Any, h: Any, c: Any) -> Any:
        z = projected[t] + h @ weights
        if model == "rnn":
            return t + 1, tf.tanh(z), c
        i, f, g, o = tf.split(z, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return t + 1, tf.sigmoid(o) * tf.tanh(c), c

    loop = (tf.constant(0), zeros, zeros)
    _, h, _ = tf.while_loop(lambda t, h, c: t < TIME, body, loop, maximum_iterations=TIME)
    return h @ w[3] + w[4]


def step(model: str, **_: Any) -> Callable[[Any, Any], Any]:
    w = [tf.Variable(value) for value in networks.weights(model)]
    sizes = networks.batch(model)[0].shape[1:]
    signature = [tf.TensorSpec((None, *sizes), tf.float32), tf.TensorSpec((None,), tf.int32)]

    @tf.function(input_signature=signature, autograph=False)
    def graph(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            found = logits(model, x, w)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=found)
            loss = tf.reduce_mean(loss)
        for value, gradient in zip(w, tape.gradient(loss, w), strict=True):
            value.assign_sub(RATE * gradient)
        return loss

    return lambda x, y: graph(tf.constant(x), tf.constant(y)).numpy()
