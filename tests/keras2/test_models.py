"""Models of every kind learn what there is to learn."""

from __future__ import annotations

import numpy as np
import pytest
from keras import backend as K
from keras import layers as L
from keras.models import Model, Sequential
from keras.optimizers import SGD, Adam, RMSprop
from keras2 import networks as N

BINARY = "binary_crossentropy"


@pytest.mark.parametrize(
    ("model", "data", "loss", "epochs", "rate", "accuracy"),
    [
        (N.mlp, N.digits, "categorical_crossentropy", 12, 0.01, 0.95),
        (lambda: N.cnn(0.2), N.digits, "categorical_crossentropy", 8, 0.01, 0.95),
        (N.lstm, N.digits, "categorical_crossentropy", 12, 0.02, 0.9),
        (N.gru, N.signs, BINARY, 8, 0.03, 0.97),
        (N.embedding, N.texts, BINARY, 12, 0.05, 0.95),
        (N.convlstm, N.films, BINARY, 20, 0.1, 0.9),
    ],
    ids=["mlp", "cnn", "lstm", "gru", "embedding", "convlstm"],
)
def test_learns(model, data, loss, epochs, rate, accuracy):
    x, y = data()
    model = N.compiled(model(), loss, Adam(rate))
    history = model.fit(x, y, batch_size=40, epochs=epochs, verbose=0).history
    assert history["loss"][-1] < 0.6 * history["loss"][0]
    tested = model.evaluate(x, y, batch_size=40, verbose=0)
    assert tested[1] >= accuracy
    predicted = model.predict(x, batch_size=40)
    assert predicted.shape == y.reshape(len(y), -1).shape
    if loss == BINARY:
        right = (predicted[:, 0] > 0.5) == y
    else:
        right = predicted.argmax(-1) == y.argmax(-1)
    assert np.isclose(right.mean(), tested[1], atol=1e-6)


def test_two_inputs_two_outputs_shared_layer():
    x, y = N.digits()
    halves = {"upper": x[:, :4, :, 0], "lower": x[:, 4:, :, 0]}
    targets = {"digit": y, "even": (y.argmax(-1) % 2 == 0).astype("float32")}
    model = N.shared()
    model.compile(
        Adam(0.01),
        {"digit": "categorical_crossentropy", "even": BINARY},
        metrics={"digit": "accuracy", "even": ["accuracy"]},
        loss_weights={"digit": 1.0, "even": 0.5},
    )
    history = model.fit(halves, targets, batch_size=40, epochs=20, verbose=0).history
    total = np.array(history["digit_loss"]) + 0.5 * np.array(history["even_loss"])
    np.testing.assert_allclose(history["loss"], total, rtol=1e-4)
    assert history["digit_accuracy"][-1] > 0.9
    assert history["even_accuracy"][-1] > 0.9
    assert len(model.get_layer("shared").get_weights()) == 2
    assert [w.shape for w in model.get_layer("shared").get_weights()] == [(32, 16), (16,)]


def test_custom_parts():
    x, y = N.digits()
    model = N.custom()
    assert [layer.output_shape for layer in model.layers if isinstance(layer, L.Lambda)] == [
        (None, 8),
        (None, 72),
    ]
    model.compile(Adam(0.01), N.smooth, metrics=[N.margin])
    history = model.fit(x, y, epochs=10, verbose=0).history
    assert history["margin"][-1] > history["margin"][0] + 0.2
    kernel = model.layers[-2].get_weights()[0]
    assert np.sqrt((kernel**2).sum(0)).max() <= 1 + 1e-4

    # The loss that is reported: the custom one, the regulariser, the layer's own.
    loss, found_margin, scale = model.evaluate(x, y, verbose=0, batch_size=len(x))
    predicted = np.float64(model.predict(x))
    target = y * 0.9 + 0.01
    expected = -(target * np.log(predicted)).sum(-1).mean()
    expected += 1e-3 * np.sqrt((kernel**2).sum(1) + 1e-7).sum()
    factor = model.get_layer("scale_1").get_weights()[0]
    expected += 1e-2 * ((factor - 1) ** 2).mean()
    np.testing.assert_allclose(loss, expected, rtol=1e-4)
    others = (predicted - 2 * y).max(-1)
    np.testing.assert_allclose(found_margin, ((predicted * y).sum(-1) - others).mean(), rtol=1e-4)
    np.testing.assert_allclose(scale, factor.mean(), rtol=1e-5)


def test_padding_does_not_matter_where_it_is_masked():
    x, y = N.signs(steps=6)
    model = N.compiled(N.gru(), BINARY)
    model.fit(x, y, epochs=1, verbose=0)
    longer = np.concatenate([x, np.zeros((len(x), 3, 1))], axis=1)
    np.testing.assert_allclose(model.predict(longer), model.predict(x), atol=1e-6)


def test_batch_normalisation_keeps_moving_statistics():
    x, y = N.digits(100)
    model = N.compiled(N.cnn(), optimizer=SGD(0.0))
    layer = model.layers[1]
    before = Model(model.input, model.layers[0].output).predict(x).reshape(-1, 8)
    model.fit(x, y, epochs=3, batch_size=100, verbose=0)
    gamma, beta, mean, variance = layer.get_weights()
    old = 0.99**3  # what is left of the initial 0 and 1
    unbiased = before.var(0) * len(before) / (len(before) - 1 - 1e-3)
    np.testing.assert_allclose(mean, (1 - old) * before.mean(0), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(variance, old + (1 - old) * unbiased, rtol=1e-4)
    normalised = Model(model.input, layer.output).predict(x).reshape(-1, 8)
    expected = gamma * (before - mean) / np.sqrt(variance + 1e-3) + beta
    np.testing.assert_allclose(normalised, expected, atol=1e-5)


def test_dropout_is_for_training_only():
    x = np.ones((40, 50), "float32")
    model = Sequential([L.Dropout(0.4, input_shape=(50,))])
    np.testing.assert_array_equal(model.predict(x), x)
    train = K.function([model.input, K.learning_phase()], [model.output])
    (first,), (second,) = train([x, 1]), train([x, 1])
    assert (first != second).any()
    assert set(np.unique(first.round(4))) == {0.0, np.float32(1 / 0.6).round(4)}
    assert 0.3 < (first == 0).mean() < 0.5
    np.testing.assert_array_equal(train([x, 0])[0], x)


@pytest.mark.parametrize("cell", [L.SimpleRNN, L.GRU, L.LSTM])
def test_unrolled_is_the_same_as_looped(cell):
    x = np.random.RandomState(0).normal(size=(3, 5, 4)).astype("float32")
    source = L.Input((5, 4))
    looped, unrolled = cell(6, return_sequences=True), cell(6, return_sequences=True, unroll=True)
    outputs = [looped(source), unrolled(source)]
    unrolled.set_weights(looped.get_weights())
    first, second = Model(source, outputs).predict(x)
    assert first.shape == (3, 5, 6)
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_stateful_recurrence_goes_on():
    x = np.random.RandomState(0).normal(size=(2, 6, 3)).astype("float32")
    layer = L.LSTM(4, stateful=True, batch_input_shape=(2, 3, 3))
    stateful = Sequential([layer])
    whole = Sequential([L.LSTM(4, input_shape=(6, 3))])
    whole.set_weights(stateful.get_weights())
    stateful.predict(x[:, :3], batch_size=2)
    np.testing.assert_allclose(
        stateful.predict(x[:, 3:], batch_size=2), whole.predict(x), atol=1e-6
    )
    stateful.reset_states()
    first = stateful.predict(x[:, :3], batch_size=2)
    stateful.reset_states()
    np.testing.assert_array_equal(first, stateful.predict(x[:, :3], batch_size=2))


def test_recurrent_dropout_and_time_distributed():
    x, y = N.digits(64)
    model = Sequential(
        [
            L.Reshape((8, 8), input_shape=(8, 8, 1)),
            L.TimeDistributed(L.Dense(6)),
            L.LSTM(8, dropout=0.2, recurrent_dropout=0.3),
            L.Dense(10, activation="softmax"),
        ]
    )
    N.compiled(model)
    losses = [model.train_on_batch(x, y)[0] for _ in range(30)]
    assert losses[-1] < losses[0]
    np.testing.assert_array_equal(model.predict(x), model.predict(x))
    phase = K.function([model.input, K.learning_phase()], [model.output])
    assert (phase([x, 1])[0] != phase([x, 1])[0]).any()


def test_encoder_and_decoder():
    """The states of one LSTM begin another, as in the classic translation model."""
    source, target = L.Input((None, 3)), L.Input((None, 2))
    _, *states = L.LSTM(5, return_state=True)(source)
    sequence = L.LSTM(5, return_sequences=True)(target, initial_state=states)
    model = Model([source, target], L.TimeDistributed(L.Dense(1))(sequence))
    model.compile(RMSprop(0.01), "mse")
    random = np.random.RandomState(0)
    inputs = [random.normal(size=(8, 4, 3)), random.normal(size=(8, 6, 2))]
    losses = [model.train_on_batch(inputs, np.ones((8, 6, 1))) for _ in range(40)]
    assert losses[-1] < 0.7 * losses[0]
    assert model.predict([i[:2, :3] for i in inputs]).shape == (2, 3, 1)
