"""Models and weights in files, and as JSON; those of h5py 2 as well."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest
from keras import backend as K
from keras import layers as L
from keras.models import Sequential, load_model, model_from_json, model_from_yaml, save_model
from keras2 import networks as N
from keras2.make_reference import images, steps

KINDS = {
    "mlp": (N.mlp, N.digits),
    "cnn": (N.cnn, N.digits),
    "lstm": (N.lstm, N.digits),
    "gru": (N.gru, N.signs),
    "convlstm": (N.convlstm, N.films),
}


@pytest.mark.parametrize("kind", KINDS)
def test_weights(kind, tmp_path):
    make, data = KINDS[kind]
    x = data()[0][:16]
    model, other = make(), make()
    path = str(tmp_path / "weights.h5")
    model.save_weights(path)
    with h5py.File(path) as file:
        names = [name for layer in file.values() for name in layer.attrs["weight_names"]]
    assert len(set(names)) == len(model.weights)
    other.load_weights(path)
    for one, two in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(model.predict(x), other.predict(x))
    named = make()
    for layer, twin in zip(named.layers, model.layers, strict=True):
        layer.name = twin.name
    named.load_weights(path, by_name=True)
    np.testing.assert_array_equal(model.predict(x), named.predict(x))


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_goes_on_where_it_was_saved(stream, tmp_path):
    x, y = N.digits(60)
    model = N.compiled(N.cnn())
    model.fit(x, y, epochs=2, verbose=0, batch_size=60)
    target = io.BytesIO() if stream else str(tmp_path / "model.h5")
    save_model(model, target)
    if stream:
        target.seek(0)
    other = load_model(target)
    assert other.get_config() == model.get_config()
    np.testing.assert_array_equal(model.predict(x), other.predict(x))
    for one, two in zip(model.optimizer.get_weights(), other.optimizer.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    for _ in range(3):
        one, two = model.train_on_batch(x, y), other.train_on_batch(x, y)
        np.testing.assert_allclose(one, two, rtol=1e-5)


def test_custom_objects(tmp_path):
    x, y = N.digits(20)
    model = N.custom()
    model.compile("adam", N.smooth, metrics=[N.margin])
    model.fit(x, y, verbose=0)
    path = str(tmp_path / "model.h5")
    model.save(path)
    other = load_model(path, custom_objects=N.CUSTOM)
    np.testing.assert_allclose(model.predict(x), other.predict(x), atol=1e-6)
    np.testing.assert_allclose(
        model.evaluate(x, y, verbose=0), other.evaluate(x, y, verbose=0), rtol=1e-5
    )


@pytest.mark.parametrize("form", ["json", "yaml", "config", "pickle"])
def test_architectures(form):
    model = N.shared()
    model.compile("adam", ["categorical_crossentropy", "mse"])
    if form == "json":
        other = model_from_json(model.to_json())
    elif form == "yaml":
        pytest.importorskip("yaml")
        other = model_from_yaml(model.to_yaml())
    elif form == "config":
        other = type(model).from_config(model.get_config())
    else:
        other = pickle.loads(pickle.dumps(model))
    other.set_weights(model.get_weights())
    x = np.random.RandomState(0).uniform(size=(2, 3, 4, 8))
    for one, two in zip(model.predict(list(x)), other.predict(list(x)), strict=True):
        np.testing.assert_array_equal(one, two)


def test_names_of_nested_weights(tmp_path):
    """Several weights have one name; the scopes around tell them apart."""
    inner = Sequential([L.Dense(3, input_shape=(4,)), L.Dense(2)])
    cells = [L.LSTMCell(3), L.GRUCell(2)]
    model = Sequential(
        [
            L.TimeDistributed(inner, input_shape=(5, 4)),
            L.Bidirectional(L.LSTM(3, return_sequences=True)),
            L.RNN(cells),
        ]
    )
    names = [weight.name for weight in model.weights]
    assert len(set(names)) == len(names)
    assert all(not name.startswith("/") for name in names)
    path = str(tmp_path / "weights.h5")
    model.save_weights(path)
    before = model.get_weights()
    model.set_weights([np.zeros_like(w) for w in before])
    model.load_weights(path)
    for one, two in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_values_are_copies():
    model = Sequential([L.Dense(2, input_shape=(3,))])
    kernel, bias = model.get_weights()
    bias += 1  # writable
    np.testing.assert_array_equal(model.get_weights()[1], [0, 0])
    model.set_weights([kernel, bias])
    bias += 1
    np.testing.assert_array_equal(K.get_value(model.weights[1]), [1, 1])
    found = model.predict_on_batch(np.zeros((1, 3)))
    found += 1
    np.testing.assert_array_equal(found, [[2, 2]])


def test_a_model_of_keras_with_tensorflow_1():
    """It goes on here as it does there: see make_reference.py."""
    folder = Path(__file__).parent
    with np.load(folder / "reference.npz") as expected:
        x, y = images()
        model = load_model(str(folder / "reference.h5"))
        np.testing.assert_allclose(model.predict(x), expected["predicted"], atol=1e-5)
        tested = model.evaluate(x, y, verbose=0)
        np.testing.assert_allclose(tested, expected["tested"], rtol=1e-4)
        np.testing.assert_allclose(steps(model), expected["losses"], rtol=1e-4)
        np.testing.assert_allclose(model.predict(x), expected["after"], atol=1e-4)
