"""Two digit classifiers and their optimizer, written once, with K functions only.

``K`` is the API of any backend: ``from kbridge import api as K``, or what
``kbridge.load_backend(name)`` returns. Nothing here knows which.

The models are smooth (gelu and average pooling, not relu and max pooling): at a kink a rounding
error decides between two gradients, and each engine rounds in an order of its own.
"""

from __future__ import annotations

import itertools
from typing import Any

CLASSES = 10


class Network:
    """Layers, and what they leave behind: weights to train, moving averages to update."""

    def __init__(self, K: Any, seed: int = 0, dropout: bool = True) -> None:
        self.K = K
        self.dropping = dropout
        self.weights: list[Any] = []
        self.updates: list[Any] = []
        self._seeds = itertools.count(1000 * seed)

    def weight(self, shape: tuple[int, ...], inputs: int) -> Any:
        """A weight from He's uniform distribution: the same numbers on every backend."""
        limit = (6 / inputs) ** 0.5
        made = self.K.random_uniform_variable(shape, -limit, limit, seed=next(self._seeds))
        self.weights.append(made)
        return made

    def dense(self, x: Any, units: int) -> Any:
        inputs = self.K.int_shape(x)[-1]
        return self.K.dot(x, self.weight((inputs, units), inputs))

    def conv(self, x: Any, filters: int) -> Any:
        channels = self.K.int_shape(x)[-1]
        kernel = self.weight((3, 3, channels, filters), 9 * channels)
        return self.K.conv2d(x, kernel, padding="same", data_format="channels_last")

    def pool(self, x: Any) -> Any:
        return self.K.pool2d(
            x, (2, 2), strides=(2, 2), data_format="channels_last", pool_mode="avg"
        )

    def bias(self, x: Any) -> Any:
        made = self.K.zeros(self.K.int_shape(x)[-1:])
        self.weights.append(made)
        return self.K.bias_add(x, made, data_format="channels_last")

    def normalize(self, x: Any, momentum: float = 0.9) -> Any:
        """Batch normalisation: by the batch in training, by moving averages in test."""
        K = self.K
        channels = K.int_shape(x)[-1:]
        gamma, beta = K.ones(channels), K.zeros(channels)
        mean, variance = K.zeros(channels), K.ones(channels)
        axes = list(range(K.ndim(x) - 1))
        normal, batch_mean, batch_variance = K.normalize_batch_in_training(x, gamma, beta, axes)
        self.weights += [gamma, beta]
        self.updates += [
            K.moving_average_update(mean, batch_mean, momentum),
            K.moving_average_update(variance, batch_variance, momentum),
        ]
        tested = K.batch_normalization(x, mean, variance, beta, gamma)
        return K.in_train_phase(normal, tested)

    def dropout(self, x: Any, level: float) -> Any:
        if not self.dropping:
            return x
        dropped = self.K.dropout(x, level, seed=next(self._seeds))
        return self.K.in_train_phase(dropped, x)


def gelu(K: Any, x: Any) -> Any:
    """The Gaussian error linear unit, nearly (Hendrycks and Gimpel, 2016)."""
    return x * K.sigmoid(1.702 * x)


def mlp(net: Network, images: Any) -> Any:
    """Two hidden layers of 256 and 128 units: the logits of each class."""
    x = net.K.batch_flatten(images)
    for units in (256, 128):
        x = net.dropout(gelu(net.K, net.normalize(net.dense(x, units))), 0.25)
    return net.bias(net.dense(x, CLASSES))


def cnn(net: Network, images: Any) -> Any:
    """Two convolutions of 16 and 32 filters, each halved by pooling: the logits."""
    x = images
    for filters in (16, 32):
        x = net.pool(gelu(net.K, net.normalize(net.conv(x, filters))))
    x = net.dropout(net.K.batch_flatten(x), 0.25)
    return net.bias(net.dense(x, CLASSES))


MODELS = {"mlp": mlp, "cnn": cnn}


def sgd(K: Any, loss: Any, weights: list[Any], rate: Any, momentum: float = 0.9) -> list[Any]:
    """The updates of gradient descent with momentum; ``rate`` may be a variable."""
    updates = []
    for weight, gradient in zip(weights, K.gradients(loss, weights), strict=True):
        velocity = K.zeros(K.int_shape(weight))
        step = momentum * velocity - rate * gradient
        updates += [K.update(velocity, step), K.update_add(weight, step)]
    return updates
