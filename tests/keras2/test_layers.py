"""Each layer: the shape that it promises, its output, and one step of training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from keras import backend as K
from keras import layers as L
from keras.models import Sequential
from keras2.every_layer import LAYERS, built
from keras2.make_reference import step

RANDOM = ("Dropout", "Noise")


@pytest.fixture(scope="module")
def reference():
    with np.load(Path(__file__).with_name("reference.npz")) as data:
        return {key: data[key] for key in data.files if "/" in key}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, reference):
    """Its output and its weights after a step are those of Keras with TensorFlow 1.15.

    ``make_reference.py`` has computed them. A layer with noise has no weights to compare.
    """
    expected = [reference[key] for key in sorted(reference) if key.startswith(f"{name}/")]
    model, inputs = built(name)
    number = len(model.get_weights())
    before, after = expected[:number], expected[number + 1 :]
    model.set_weights(before)
    output = model.predict(inputs)
    np.testing.assert_allclose(output, expected[number], rtol=1e-4, atol=1e-5)
    assert (None, *output.shape[1:]) == model.output_shape == K.int_shape(model.output)
    noisy = any(word in name for word in RANDOM)
    if noisy:
        np.testing.assert_array_equal(output, inputs[0])
    assert np.isfinite(step(model, inputs))
    assert len(after) == (0 if noisy else number)
    for old, new, known in zip(before, model.get_weights(), after, strict=True):
        assert (old != new).any()
        np.testing.assert_allclose(new, known, rtol=1e-4, atol=1e-5)


def test_embedding_gets_gradients_of_the_words_that_occur():
    model = Sequential([L.Embedding(5, 2, input_length=3)])
    model.compile("sgd", "mse")
    before = model.get_weights()[0]
    model.train_on_batch(np.array([[0, 1, 1]]), np.ones((1, 3, 2)))
    moved = (before != model.get_weights()[0]).all(axis=1)
    assert moved.tolist() == [True, True, False, False, False]


def test_sizes_may_stay_unknown():
    source = L.Input((None, None, 2))
    net = L.Conv2DTranspose(3, 3, strides=2, padding="same")(L.Conv2D(4, 3)(source))
    from keras.models import Model

    model = Model(source, [net, L.GlobalMaxPooling2D()(L.UpSampling2D()(net))])
    for size in (5, 8):
        image, pooled = model.predict(np.ones((2, size, size + 1, 2)))
        assert image.shape == (2, 2 * (size - 2), 2 * (size - 1), 3)
        assert pooled.shape == (2, 3)
