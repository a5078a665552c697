"""Faults that people met in convolution, recurrence, loops and CTC; see ``reported``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kbridge.conformance.records import program

INF = math.inf


@program(
    (
        [[24.0, 28.0, 32.0], [44.0, 48.0, 52.0], [64.0, 68.0, 72.0]],
        [1.0, 2.0, 30.0, 40.0],
        [[10.0, 18.0], [26.0, 34.0], [42.0, 50.0]],
    ),
    covers="depthwise_conv2d",
)
def CONV_5(K: Any) -> Any:
    """Dilation; the order of the output channels; strides that differ."""
    x, ones = K.variable(np.arange(25.0).reshape(1, 5, 5, 1)), K.variable(np.ones((2, 2, 1, 1)))
    dilated = K.depthwise_conv2d(x, ones, (1, 1), "valid", "channels_last", (2, 2))
    kernel = K.variable(np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 1, 2, 2))
    pixel = K.variable(np.array([1.0, 10.0]).reshape(1, 1, 1, 2))
    channels = K.depthwise_conv2d(pixel, kernel, (1, 1), "valid", "channels_last")
    y = K.variable(np.arange(16.0).reshape(1, 4, 4, 1))
    strided = K.depthwise_conv2d(y, ones, (1, 2), "valid", "channels_last")
    return K.eval(dilated)[0, ..., 0], K.eval(channels).ravel(), K.eval(strided)[0, ..., 0]


@program(
    (
        [[1.0, 1.5, 2.0, 2.0], [2.0, 2.5, 3.0, 3.0], [3.0, 3.5, 4.0, 4.0], [3.0, 3.5, 4.0, 4.0]],
        [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 4.0, 4.0], [3.0, 3.0, 4.0, 4.0]],
        [1.0, 1.25, 1.75, 2.0],
        (True, True, True),
    ),
    covers="resize_images",
)
def CONV_7(K: Any) -> Any:
    """Bilinear on the classic grid; the later one by a keyword."""
    x = K.variable(np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 2, 2, 1))
    classic = K.resize_images(x, 2, 2, "channels_last", interpolation="bilinear")
    nearest = K.resize_images(x, 2, 2, "channels_last")
    later = K.resize_images(x, 2, 2, "channels_last", "bilinear", half_pixel_centers=True)
    try:
        K.resize_images(x, 2, 2, "channels_last", interpolation="bicubic")
    except ValueError as error:
        text = str(error)
    named = "nearest" in text, "bilinear" in text, "bicubic" in text
    return K.eval(classic)[0, ..., 0], K.eval(nearest)[0, ..., 0], K.eval(later)[0, 0, :, 0], named


@program(([[5.0, 6.0]], [[[1.0, 2.0], [1.0, 2.0], [5.0, 6.0]]], [[12.0, 12.0]]) * 2, covers="rnn")
def RNN_1(K: Any) -> Any:
    """A masked step repeats the output before, whatever the states are."""
    x = K.constant(np.arange(1.0, 7.0).reshape(1, 3, 2))
    found: list[Any] = []
    for unroll in (True, False):
        last, outputs, states = K.rnn(
            lambda x, states: (x, [states[0] + 1.0]),
            x,
            [K.constant([[10.0, 10.0]])],
            mask=K.constant([[1.0, 0.0, 1.0]]),
            unroll=unroll,
            input_length=3 if unroll else None,
        )
        found += [K.eval(last), K.eval(outputs), K.eval(states[0])]
    return tuple(found)


@program(
    (
        ([[1.0, 3.0, 3.0], [0.0, 105.0, 111.0]], [3.0, 111.0], [3.0, 111.0]),
        ([[0.0, 0.0, 0.0]], [7.0]),
    ),
    covers="rnn",
)
def RNN_3(K: Any) -> Any:
    """Masked steps at the beginning give zeros, and leave the first state as it is."""

    def step(x: Any, states: Any) -> Any:
        return x + states[0], [x + states[0]]

    x = K.constant(np.array([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]))
    mask = K.constant(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    last, outputs, states = K.rnn(step, x, [K.constant([[0.0], [100.0]])], mask=mask)
    nothing = K.rnn(step, x[:1], [K.constant([[7.0]])], mask=K.constant([[0.0, 0.0, 0.0]]))
    return (
        (K.eval(outputs)[..., 0], K.eval(last)[:, 0], K.eval(states[0])[:, 0]),
        (K.eval(nothing[1])[..., 0], K.eval(nothing[2][0])[:, 0]),
    )


@program(([5.0, -9.0], [123.0, 321.0], [12.0, 8.0, 6.0]), covers="foldl foldr")
def CTL_4(K: Any) -> Any:
    """The accumulator comes first on both ways."""
    x, digits = K.constant([10.0, 2.0, 3.0]), K.constant([1.0, 2.0, 3.0])
    folds = K.foldl, K.foldr
    differences = [K.eval(fold(lambda acc, e: acc - e, x)) for fold in folds]
    numbers = [
        K.eval(fold(lambda acc, e: acc * 10.0 + e, digits, initializer=K.constant(0.0)))
        for fold in folds
    ]
    v = K.variable(np.array([2.0, 3.0, 4.0]))
    (slopes,) = K.gradients(K.foldl(lambda acc, e: acc * e, v), [v])
    return np.stack(differences), np.stack(numbers), K.eval(slopes)


_FRAMES = np.array([[[0.6, 0.1, 0.3], [0.2, 0.5, 0.3]]])


def _cost(K: Any, labels: Any, frames: Any, lengths: Any) -> Any:
    steps = K.constant([[2.0]] * len(labels))
    return K.eval(
        K.ctc_batch_cost(K.constant(labels), K.constant(frames), steps, K.constant(lengths))
    )


@program(
    ([[1.2039730]], [[1.2039730], [1.4696758]], [[1.2039730]]),
    covers="ctc_batch_cost",
)
def CTC_1(K: Any) -> Any:
    """A batch of one; padding behind the label; frames that do not sum to one."""
    one = _cost(K, [[0.0, 1.0]], _FRAMES, [[2.0]])
    two = _cost(K, [[0.0, 1.0], [1.0, 0.0]], np.concatenate([_FRAMES] * 2), [[2.0], [1.0]])
    return one, two, _cost(K, [[0.0, 1.0]], _FRAMES * 2.0, [[2.0]])


@program(([[INF], [1.2039730]], [[2.4079455]]), covers="ctc_batch_cost")
def CTC_3(K: Any) -> Any:
    """An alignment that is not possible concerns its own sample; a label may be empty."""
    costs = _cost(K, [[0.0, 0.0], [0.0, 1.0]], np.concatenate([_FRAMES] * 2), [[2.0], [2.0]])
    return costs, _cost(K, [[0.0, 1.0]], _FRAMES, [[0.0]])
