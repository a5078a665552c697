"""A small model of each layer of Keras 2, and an input for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import backend as K
from keras import layers as L
from keras.models import Model

#: name -> (shapes of the inputs, what is called on them)
LAYERS: dict[str, tuple[list[tuple[int, ...]], Callable[[], Any]]] = {}


def _layer(shape: Any, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
    shapes = shape if isinstance(shape, list) else [shape]

    def add(make: Any) -> Any:
        LAYERS[name or make.__name__] = shapes, lambda: make(**options)
        return make

    return add


_VECTOR, _SERIES, _IMAGE, _VOLUME = (6,), (7, 4), (8, 6, 3), (5, 6, 4, 2)

_layer(_VECTOR, units=4, activation="tanh")(L.Dense)
_layer(_VECTOR, n=3)(L.RepeatVector)
_layer(_VECTOR, target_shape=(3, -1))(L.Reshape)
_layer(_SERIES)(L.Flatten)
_layer(_SERIES, dims=(2, 1))(L.Permute)
_layer(_SERIES, l1=0.1, l2=0.1)(L.ActivityRegularization)
_layer(_SERIES, filters=5, kernel_size=3, dilation_rate=2)(L.Conv1D)
_layer(_SERIES, "Conv1D causal", filters=5, kernel_size=3, padding="causal")(L.Conv1D)
_layer(_IMAGE, filters=5, kernel_size=3, padding="same", dilation_rate=2)(L.Conv2D)
_layer(_IMAGE, "Conv2D strided", filters=5, kernel_size=(3, 2), strides=(2, 3))(L.Conv2D)
_layer(_VOLUME, filters=3, kernel_size=2, strides=2, padding="same")(L.Conv3D)
_layer(_IMAGE, filters=4, kernel_size=3, strides=2, padding="same")(L.Conv2DTranspose)
_layer(_IMAGE, "Conv2DTranspose padded", filters=4, kernel_size=3, strides=2, output_padding=1)(
    L.Conv2DTranspose
)
_layer(_VOLUME, filters=3, kernel_size=2, strides=2)(L.Conv3DTranspose)
_layer(_SERIES, filters=5, kernel_size=3, depth_multiplier=2)(L.SeparableConv1D)
_layer(_IMAGE, filters=5, kernel_size=3, strides=2)(L.SeparableConv2D)
_layer(_IMAGE, kernel_size=3, depth_multiplier=2, padding="same")(L.DepthwiseConv2D)
_layer(_SERIES, filters=3, kernel_size=3)(L.LocallyConnected1D)
_layer(_IMAGE, filters=3, kernel_size=3, strides=2)(L.LocallyConnected2D)
_layer(_SERIES, cropping=(1, 2))(L.Cropping1D)
_layer(_IMAGE, cropping=((1, 2), (0, 1)))(L.Cropping2D)
_layer(_VOLUME, cropping=1)(L.Cropping3D)
_layer(_SERIES, size=2)(L.UpSampling1D)
_layer(_IMAGE, size=(2, 3))(L.UpSampling2D)
_layer(_IMAGE, "UpSampling2D bilinear", size=2, interpolation="bilinear")(L.UpSampling2D)
_layer(_VOLUME, size=2)(L.UpSampling3D)
_layer(_SERIES, padding=(1, 2))(L.ZeroPadding1D)
_layer(_IMAGE, padding=((1, 2), (0, 1)))(L.ZeroPadding2D)
_layer(_VOLUME, padding=1)(L.ZeroPadding3D)
_layer(_SERIES, pool_size=3, strides=2)(L.MaxPooling1D)
_layer(_SERIES, padding="same")(L.AveragePooling1D)
_layer(_IMAGE, pool_size=3, strides=2, padding="same")(L.MaxPooling2D)
_layer(_IMAGE, pool_size=3, strides=2, padding="same")(L.AveragePooling2D)
_layer(_VOLUME)(L.MaxPooling3D)
_layer(_VOLUME)(L.AveragePooling3D)
_layer(_SERIES)(L.GlobalMaxPooling1D)
_layer(_SERIES)(L.GlobalAveragePooling1D)
_layer(_IMAGE)(L.GlobalMaxPooling2D)
_layer(_IMAGE)(L.GlobalAveragePooling2D)
_layer(_VOLUME)(L.GlobalMaxPooling3D)
_layer(_VOLUME)(L.GlobalAveragePooling3D)
_layer(_SERIES, alpha=0.2)(L.LeakyReLU)
_layer(_IMAGE, shared_axes=[1, 2], alpha_initializer="ones")(L.PReLU)
_layer(_SERIES, alpha=0.7)(L.ELU)
_layer(_SERIES, theta=0.5)(L.ThresholdedReLU)
_layer(_SERIES, axis=1)(L.Softmax)
_layer(_SERIES, max_value=1.0, negative_slope=0.1, threshold=0.2)(L.ReLU)
_layer(_IMAGE, axis=1)(L.BatchNormalization)
_layer(_SERIES, rate=0.3)(L.Dropout)
_layer(_SERIES, rate=0.3)(L.SpatialDropout1D)
_layer(_IMAGE, rate=0.3)(L.SpatialDropout2D)
_layer(_VOLUME, rate=0.3)(L.SpatialDropout3D)
_layer(_SERIES, rate=0.3)(L.GaussianDropout)
_layer(_SERIES, stddev=0.3)(L.GaussianNoise)
_layer(_SERIES, rate=0.3)(L.AlphaDropout)
_layer(_SERIES, mask_value=0.0)(L.Masking)
_layer(_SERIES, units=5, return_sequences=True, go_backwards=True)(L.SimpleRNN)
_layer(_SERIES, units=5, implementation=1, reset_after=True)(L.GRU)
_layer(_SERIES, units=5, implementation=2)(L.LSTM)
_layer(_SERIES, "LSTM unrolled", units=5, implementation=1, unroll=True)(L.LSTM)
_layer((4, 6, 6, 2), filters=3, kernel_size=3, return_sequences=True)(L.ConvLSTM2D)
for _merge in (L.Add, L.Subtract, L.Multiply, L.Average, L.Maximum, L.Minimum, L.Concatenate):
    _layer([_SERIES, _SERIES])(_merge)
_layer([_SERIES, (5, 4)], axes=2, normalize=True)(L.Dot)


@_layer(_SERIES, "Bidirectional")
def _bidirectional() -> Any:
    return L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="ave")


@_layer((5, 8, 6, 3), "TimeDistributed")
def _time_distributed() -> Any:
    return L.TimeDistributed(L.Conv2D(2, 3))


@_layer(_SERIES, "stacked cells")
def _stacked() -> Any:
    return L.RNN([L.LSTMCell(3), L.GRUCell(4), L.SimpleRNNCell(2)])


@_layer(_SERIES, "Lambda")
def _lambda() -> Any:
    return L.Lambda(lambda x: K.batch_dot(x, K.permute_dimensions(x, (0, 2, 1))))


def built(name: str) -> tuple[Any, list[Any]]:
    """The model, and three samples of its inputs."""
    shapes, make = LAYERS[name]
    inputs = [L.Input(shape) for shape in shapes]
    model = Model(inputs, make()(inputs if len(inputs) > 1 else inputs[0]))
    random = np.random.RandomState(len(name))
    return model, [random.normal(size=(3, *shape)).astype("float32") for shape in shapes]
