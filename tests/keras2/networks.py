"""Models in the ways of Keras 2, and data for them: the digits, and sequences that have a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import backend as K
from keras import layers as L
from keras.constraints import Constraint
from keras.models import Model, Sequential
from keras.regularizers import Regularizer
from keras.utils import to_categorical

from kbridge.demo.training import load_digits

# --- data ----------------------------------------------------------------------------------------


def digits(number: int = 400) -> tuple[Any, Any]:
    """Images (number, 8, 8, 1) and labels, one-hot."""
    train, _ = load_digits()
    return train.images[:number], to_categorical(train.labels[:number], 10)


def signs(number: int = 320, steps: int = 6) -> tuple[Any, Any]:
    """Sequences of -1 and 1 of different lengths, padded by 0; whether the first of them is 1."""
    random = np.random.RandomState(3)
    x = random.choice([-1.0, 1.0], (number, steps, 1))
    lengths = random.randint(2, steps + 1, number)
    x[np.arange(steps) >= lengths[:, None]] = 0
    return x.astype("float32"), (x[:, 0, 0] > 0).astype("float32")


def texts(number: int = 320, words: int = 20, length: int = 8) -> tuple[Any, Any]:
    """Lists of words from 1, padded by 0; whether most of them are under words / 2."""
    random = np.random.RandomState(5)
    x = random.randint(1, words, (number, length))
    x[np.arange(length) >= random.choice([3, 5, 7], number)[:, None]] = 0
    low = ((x > 0) & (x < words / 2)).sum(1)
    return x, (low > (x >= words / 2).sum(1)).astype("float32")


def films(number: int = 80, steps: int = 4, size: int = 5) -> tuple[Any, Any]:
    """A bright column that moves to the left or to the right."""
    random = np.random.RandomState(9)
    way = random.randint(0, 2, number)
    x = np.zeros((number, steps, size, size, 1), "float32")
    for film, moves_right in zip(x, way, strict=True):
        begin = random.randint(size)
        for step in range(steps):
            film[step, :, (begin + step * (1 if moves_right else -1)) % size] = 1
    return x, way.astype("float32")


# --- models --------------------------------------------------------------------------------------


def mlp() -> Any:
    return Sequential(
        [
            L.Flatten(input_shape=(8, 8, 1)),
            L.Dense(32, activation="relu"),
            L.Dense(10, activation="softmax"),
        ]
    )


def cnn(dropout: float = 0.0) -> Any:
    return Sequential(
        [
            L.Conv2D(8, 3, padding="same", use_bias=False, input_shape=(8, 8, 1)),
            L.BatchNormalization(),
            L.Activation("relu"),
            L.MaxPooling2D(),
            L.Conv2D(12, (3, 3), activation="relu"),
            L.Dropout(dropout),
            L.Flatten(),
            L.Dense(10, activation="softmax"),
        ]
    )


def lstm() -> Any:
    return Sequential(
        [
            L.Reshape((8, 8), input_shape=(8, 8, 1)),
            L.LSTM(16),
            L.Dense(10, activation="softmax"),
        ]
    )


def gru(steps: int | None = None) -> Any:
    return Sequential(
        [
            L.Masking(0.0, input_shape=(steps, 1)),
            L.Bidirectional(L.GRU(8)),
            L.Dense(1, activation="sigmoid"),
        ]
    )


def embedding() -> Any:
    return Sequential(
        [
            L.Embedding(20, 6, mask_zero=True, input_length=8),
            L.GlobalAveragePooling1D(),
            L.Dense(1, activation="sigmoid"),
        ]
    )


def shared() -> Any:
    """The upper and the lower half of an image by one layer; the digit, and whether it is even."""
    upper, lower = L.Input((4, 8), name="upper"), L.Input((4, 8), name="lower")
    flat, dense = L.Flatten(), L.Dense(16, activation="relu", name="shared")
    both = L.concatenate([dense(flat(upper)), dense(flat(lower))])
    digit = L.Dense(10, activation="softmax", name="digit")(both)
    even = L.Dense(1, activation="sigmoid", name="even")(both)
    return Model(inputs=[upper, lower], outputs=[digit, even])


def convlstm() -> Any:
    return Sequential(
        [
            L.ConvLSTM2D(4, 3, padding="same", input_shape=(None, 5, 5, 1)),
            L.GlobalAveragePooling2D(),
            L.Dense(1, activation="sigmoid"),
        ]
    )


def compiled(model: Any, loss: str = "categorical_crossentropy", optimizer: Any = "adam") -> Any:
    model.compile(optimizer, loss, metrics=["accuracy"])
    return model


# --- what people write themselves ----------------------------------------------------------------


def smooth(y_true: Any, y_pred: Any) -> Any:
    """A loss: cross-entropy with smoothed labels."""
    classes = K.int_shape(y_pred)[-1]
    return K.categorical_crossentropy(y_true * 0.9 + 0.1 / classes, y_pred)


def margin(y_true: Any, y_pred: Any) -> Any:
    """A metric: how far the right class is before the best of the others."""
    right = K.sum(y_true * y_pred, axis=-1)
    return right - K.max(y_pred - y_true * 2.0, axis=-1)


class SparseRows(Regularizer):
    """A regulariser: the sum of the rows' lengths."""

    def __init__(self, factor: float = 1e-3) -> None:
        self.factor = factor

    def __call__(self, weights: Any) -> Any:
        return self.factor * K.sum(K.sqrt(K.sum(K.square(weights), axis=1) + K.epsilon()))

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor}


class Ball(Constraint):
    """A constraint: no column is longer than `radius`."""

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = radius

    def __call__(self, weights: Any) -> Any:
        lengths = K.sqrt(K.sum(K.square(weights), axis=0, keepdims=True))
        return weights * K.clip(lengths, 0.0, self.radius) / (lengths + K.epsilon())

    def get_config(self) -> dict[str, Any]:
        return {"radius": self.radius}


class Scale(L.Layer):
    """A layer with a weight for each feature, a penalty on them, and their mean as a metric."""

    def build(self, input_shape: Any) -> None:
        self.factor = self.add_weight(
            name="factor", shape=(input_shape[-1],), initializer="ones", regularizer=None
        )
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        self.add_loss(1e-2 * K.mean(K.square(self.factor - 1.0)), inputs=inputs)
        self.add_metric(K.mean(self.factor), name="scale")
        return inputs * self.factor

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


def custom() -> Any:
    """Everything above in one model, with Lambda layers."""
    image = L.Input((8, 8, 1))
    flat = L.Flatten()(image)
    rows = L.Lambda(lambda x: K.mean(K.squeeze(x, -1), axis=2))(image)
    merged = L.Lambda(lambda xs: K.concatenate([xs[0], K.l2_normalize(xs[1], -1)]))([flat, rows])
    hidden = L.Dense(
        24, activation="relu", kernel_regularizer=SparseRows(), kernel_constraint=Ball(1.0)
    )(Scale()(merged))
    return Model(image, L.Dense(10, activation="softmax")(hidden))


CUSTOM = {"smooth": smooth, "margin": margin, "SparseRows": SparseRows, "Ball": Ball}
CUSTOM["Scale"] = Scale
