"""Training a model of :mod:`kbridge.demo.models` on the digits, on any backend."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kbridge.demo.models import CLASSES, MODELS, Network, sgd

BATCH = 32
RATE = 0.1


class Digits(NamedTuple):
    """Images (number, 8, 8, 1) of pixels from 0 to 1, and their labels."""

    images: Any
    labels: Any


def load_digits() -> tuple[Digits, Digits]:
    """The 1,198 digits to train with and the 599, every third, to test with."""
    with np.load(Path(__file__).with_name("digits.npz")) as data:
        images = data["images"][..., None].astype("float32") / 16
        labels = data["labels"].astype("int32")
    tested = np.arange(len(labels)) % 3 == 2
    return Digits(images[~tested], labels[~tested]), Digits(images[tested], labels[tested])


class Epoch(NamedTuple):
    """What one pass over the training digits gave."""

    model: str
    loss: float  # mean over the training digits, as training went on
    accuracy: float  # on the test digits, afterwards
    seconds: float  # of training


def train(
    K: Any,
    model: str,
    *,
    epochs: int,
    dropout: bool = True,
    seed: int = 0,
    limit: int | None = None,
) -> Iterator[Epoch]:
    """Train ``model`` on at most ``limit`` digits; yield what each epoch gave.

    Weights and order of the digits follow from ``seed``, whatever the backend.
    """
    digits, tests = load_digits()
    digits = Digits(*(values[:limit] for values in digits))

    images = K.placeholder((None, 8, 8, 1))
    labels = K.placeholder((None,), dtype="int32")
    net = Network(K, seed, dropout)
    logits = MODELS[model](net, images)
    targets = K.one_hot(labels, CLASSES)
    loss = K.mean(K.categorical_crossentropy(targets, logits, from_logits=True))
    hits = K.mean(K.equal(K.argmax(logits), labels))

    rate = K.variable(RATE)
    updates = sgd(K, loss, net.weights, rate) + net.updates
    step = K.function([images, labels, K.learning_phase()], loss, updates)
    accuracy = K.function([images, labels], hits)

    for epoch in range(epochs):
        K.set_value(rate, RATE * (1 + math.cos(math.pi * epoch / epochs)) / 2)
        order = np.random.default_rng([seed, epoch]).permutation(len(digits.labels))
        total = 0.0
        start = time.perf_counter()
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            total += len(batch) * float(step([digits.images[batch], digits.labels[batch], 1]))
        seconds = time.perf_counter() - start
        yield Epoch(model, total / len(order), float(accuracy([*tests])), seconds)
