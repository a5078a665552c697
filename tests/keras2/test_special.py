"""What few models use: sparse inputs, CTC, tensors as inputs, keras.applications."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from keras import backend as K
from keras import layers as L
from keras.models import Model, Sequential
from keras.optimizers import Adam


def test_sparse_inputs():
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.random(20, 30, 0.2, format="csr", random_state=0, dtype="float32")
    source = L.Input((30,), sparse=True)
    model = Model(source, L.Dense(1, use_bias=False)(source))
    model.compile("sgd", "mse")
    dense = Sequential([L.Dense(1, use_bias=False, input_shape=(30,))])
    dense.compile("sgd", "mse")
    dense.set_weights(model.get_weights())
    y = np.ones((20, 1))
    for _ in range(2):
        model.fit(x, y, batch_size=10, shuffle=False, verbose=0)
        dense.fit(x.toarray(), y, batch_size=10, shuffle=False, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], dense.get_weights()[0], rtol=1e-5)
    np.testing.assert_allclose(model.predict(x), dense.predict(x.toarray()), atol=1e-6)


def test_ctc_in_a_lambda_layer():
    """As in the classic program that reads images of words."""
    random = np.random.RandomState(0)
    frames = L.Input((8, 5), name="frames")
    labels = L.Input((3,), name="labels")
    sizes = [L.Input((1,), dtype="int64", name=name) for name in ("frame_count", "label_count")]
    scores = L.Dense(4, activation="softmax")(
        L.Bidirectional(L.LSTM(8, return_sequences=True))(frames)
    )
    loss = L.Lambda(lambda args: K.ctc_batch_cost(*args), output_shape=(1,), name="ctc")
    model = Model([frames, labels, *sizes], loss([labels, scores, *sizes]))
    model.compile(Adam(0.02), {"ctc": lambda y_true, y_pred: y_pred})
    labels_of = random.randint(0, 3, (6, 3))
    x = np.eye(5)[labels_of.repeat(3, axis=1)[:, :8]]
    inputs = [x, labels_of, np.full((6, 1), 8), np.array([[3], [3], [2], [3], [1], [3]])]
    losses = [model.train_on_batch(inputs, np.zeros((6, 1))) for _ in range(40)]
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.8 * losses[0]
    found = K.ctc_decode(K.constant(Model(frames, scores).predict(x)), np.full(6, 8))[0][0]
    assert K.eval(found).shape[0] == 6


def test_layers_on_variables_and_own_tensors():
    kept = K.variable(np.random.RandomState(0).normal(size=(5, 3)))
    source = L.Input(tensor=kept)
    model = Model(source, L.Dense(2)(source))
    model.compile("sgd", "mse")
    losses = [model.train_on_batch(None, np.ones((5, 2))) for _ in range(5)]
    assert losses[-1] < losses[0]
    K.set_value(kept, np.zeros((5, 3)))
    np.testing.assert_allclose(
        model.predict(None, steps=1), np.tile(model.get_weights()[1], (5, 1)), atol=1e-6
    )


def test_time_distributed_of_a_fixed_batch():
    for layer in (L.Dense(2), L.Dropout(0.5)):
        model = Sequential([L.TimeDistributed(layer, batch_input_shape=(4, 3, 2))])
        assert model.uses_learning_phase == isinstance(layer, L.Dropout)
        model.compile("sgd", "mse")
        assert np.isfinite(model.train_on_batch(np.ones((4, 3, 2)), np.ones((4, 3, 2))))


def test_losses_and_metrics_of_tensors():
    x = L.Input((3,))
    y = L.Dense(2)(x)
    model = Model(x, y)
    model.add_loss(K.mean(K.square(y)))
    model.add_metric(K.max(y), name="top")
    with pytest.warns(UserWarning, match="missing from loss dictionary"):  # on purpose
        model.compile("sgd")
    inputs = np.random.RandomState(0).normal(size=(8, 3))
    predicted = model.predict(inputs)
    loss, top = model.evaluate(inputs, None, verbose=0)
    np.testing.assert_allclose([loss, top], [(predicted**2).mean(), predicted.max()], rtol=1e-5)
    assert model.train_on_batch(inputs, None)[0] > model.test_on_batch(inputs, None)[0]


def test_threads_may_predict():
    model = Sequential([L.Dense(4, input_shape=(3,)), L.Dense(2)])
    model._make_predict_function()  # as Keras asks for
    x = np.random.RandomState(0).normal(size=(50, 3))
    expected, found = model.predict(x), {}

    def work(number):
        found[number] = model.predict(x, batch_size=50 - number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for value in found.values():
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


def test_applications():
    from keras.applications import MobileNet

    model = MobileNet(alpha=0.25, input_shape=(32, 32, 3), weights=None, classes=5, dropout=0.1)
    x = np.random.RandomState(0).uniform(-1, 1, (4, 32, 32, 3))
    predicted = model.predict(x)
    assert predicted.shape == (4, 5)
    np.testing.assert_allclose(predicted.sum(-1), 1, rtol=1e-5)


def test_summary(capsys):
    Sequential([L.Flatten(input_shape=(4, 4)), L.Dense(2)]).summary()
    text = capsys.readouterr().out
    assert "(None, 16)" in text
    assert "Total params: 34" in text


def test_text_preprocessing():
    from keras.preprocessing.sequence import TimeseriesGenerator, pad_sequences
    from keras.preprocessing.text import Tokenizer

    words = Tokenizer(num_words=10)
    words.fit_on_texts(["a b c", "a b", "a"])
    padded = pad_sequences(words.texts_to_sequences(["b a", "c"]), maxlen=3)
    assert padded.tolist() == [[0, 2, 1], [0, 0, 3]]
    series = TimeseriesGenerator(np.arange(10.0)[:, None], np.arange(10.0), length=3, batch_size=4)
    assert series[0][0].shape == (4, 3, 1)
