"""The four networks of the training benchmark, and one training step of each with K functions.

All are trained by plain gradient descent on 128 samples of 10 classes. The weights and the batch
are the same numbers for every engine and every way to write the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH, CLASSES, RATE = 128, 10, 0.01
#: Steps in time, features of each, units.
TIME, FEATURES, UNITS = 50, 32, 64

SHAPES: dict[str, list[tuple[int, ...]]] = {
    "mlp": [(784, 256), (256,), (256, CLASSES), (CLASSES,)],
    "cnn": [(3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), (7 * 7 * 32, CLASSES), (CLASSES,)],
    "rnn": [(FEATURES, UNITS), (UNITS, UNITS), (UNITS,), (UNITS, CLASSES), (CLASSES,)],
    "lstm": [
        *((FEATURES, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,)),
        *((UNITS, CLASSES), (CLASSES,)),
    ],
}
_INPUT = {"mlp": (784,), "cnn": (28, 28, 1), "rnn": (TIME, FEATURES), "lstm": (TIME, FEATURES)}
TITLES = {
    "mlp": "MLP 784-256-10",
    "cnn": "CNN, two layers, 28x28",
    "rnn": f"SimpleRNN, {TIME} steps",
    "lstm": f"LSTM, {TIME} steps",
}


def weights(model: str) -> list[Any]:
    """The initial weights as arrays."""
    rng = np.random.default_rng(0)
    made = []
    for shape in SHAPES[model]:
        scale = 0.0 if len(shape) == 1 else math.prod(shape[:-1]) ** -0.5
        made.append((rng.normal(size=shape) * scale).astype("float32"))
    return made


def batch(model: str, number: int = BATCH) -> tuple[Any, Any]:
    """Inputs and labels."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(number, *_INPUT[model])).astype("float32")
    return x, rng.integers(0, CLASSES, number).astype("int32")


def logits(K: Any, model: str, x: Any, w: list[Any]) -> Any:
    """The network in K functions."""
    if model == "mlp":
        return K.bias_add(K.dot(K.relu(K.bias_add(K.dot(x, w[0]), w[1])), w[2]), w[3])
    if model == "cnn":
        for kernel, bias in ((w[0], w[1]), (w[2], w[3])):
            x = K.conv2d(x, kernel, padding="same", data_format="channels_last")
            x = K.relu(K.bias_add(x, bias, data_format="channels_last"))
            x = K.pool2d(x, (2, 2), strides=(2, 2), data_format="channels_last")
        return K.bias_add(K.dot(K.batch_flatten(x), w[4]), w[5])
    zeros = K.tile(K.zeros_like(x[:, 0, :1]), (1, UNITS))
    cell, states = (simple, [zeros]) if model == "rnn" else (lstm, [zeros, zeros])

    def projected(x: Any) -> Any:
        return K.bias_add(K.dot(x, w[0]), w[2], data_format="channels_last")

    # By one product before the loop; XLA is three times as fast where each step has its own, since
    # it copies the gradients of the whole sequence at every step.
    inside = K.name == "jax"
    last, _, _ = K.rnn(
        lambda z, states: cell(K, projected(z) if inside else z, states, w[1]),
        x if inside else projected(x),
        states,
    )
    return K.bias_add(K.dot(last, w[3]), w[4])


def simple(K: Any, z: Any, states: list[Any], recurrent: Any) -> Any:
    """A step of a simple recurrent network: the output and the states."""
    h = K.tanh(z + K.dot(states[0], recurrent))
    return h, [h]


def lstm(K: Any, z: Any, states: list[Any], recurrent: Any) -> Any:
    """A step of an LSTM; the gates stand in the order input, forget, cell, output."""
    z = z + K.dot(states[0], recurrent)
    i, f, g, o = (z[:, n * UNITS : (n + 1) * UNITS] for n in range(4))
    c = K.sigmoid(f) * states[1] + K.sigmoid(i) * K.tanh(g)
    h = K.sigmoid(o) * K.tanh(c)
    return h, [h, c]


def step(K: Any, model: str, **options: Any) -> Callable[[Any], Any]:
    """A function of a batch that trains once and returns the loss before."""
    x, y = K.placeholder((None, *_INPUT[model])), K.placeholder((None,), dtype="int32")
    w = [K.variable(value) for value in weights(model)]
    found = logits(K, model, x, w)
    loss = K.mean(K.sparse_categorical_crossentropy(y, found, from_logits=True))
    gradients = K.gradients(loss, w)
    updates = [K.update_sub(v, RATE * g) for v, g in zip(w, gradients, strict=True)]
    trains: Callable[[Any], Any] = K.function([x, y], [loss], updates, **options)
    return trains


def keras_step(
    model: str, optimizer: str = "SGD", initial: list[Any] | None = None
) -> Callable[[Any, Any], Any]:
    """``train_on_batch`` of the same network as a model of Keras, be it 2 or 3."""
    import keras

    L = keras.layers
    body = {
        "mlp": [L.Dense(256, activation="relu")],
        "cnn": [
            *(L.Conv2D(16, 3, padding="same", activation="relu"), L.MaxPooling2D()),
            *(L.Conv2D(32, 3, padding="same", activation="relu"), L.MaxPooling2D(), L.Flatten()),
        ],
        "rnn": [L.SimpleRNN(UNITS)],
        "lstm": [L.LSTM(UNITS)],
    }[model]
    built = keras.Sequential([L.InputLayer(_INPUT[model]), *body, L.Dense(CLASSES)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    built.compile(getattr(keras.optimizers, optimizer)(RATE), loss)
    if initial is not None:
        built.set_weights(initial)
    trains: Callable[[Any, Any], Any] = built.train_on_batch
    return trains
