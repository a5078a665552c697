"""The ways of training and testing: weights, generators, callbacks."""

from __future__ import annotations

import numpy as np
import pytest
from keras import backend as K
from keras import callbacks as C
from keras import layers as L
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import Sequence
from keras2 import networks as N


def linear(rate: float = 0.1, metrics: tuple = ("mae",)):
    model = Sequential([L.Dense(1, use_bias=False, input_shape=(2,))])
    model.compile(SGD(rate), "mse", metrics=list(metrics))
    return model


def data(number: int = 10):
    random = np.random.RandomState(4)
    x = random.normal(size=(number, 2))
    return x, random.normal(size=(number, 1))


def errors(model, x, y):
    return (x @ np.float64(model.get_weights()[0]) - y)[:, 0]


class Batches(Sequence):
    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size

    def __len__(self):
        return -(-len(self.x) // self.size)

    def __getitem__(self, index):
        part = slice(index * self.size, (index + 1) * self.size)
        return self.x[part], self.y[part]


# --- weights and metrics -------------------------------------------------------------------------


def test_uneven_batches():
    x, y = data(10)
    model = linear()
    squares = errors(model, x, y)
    loss, mae = model.evaluate(x, y, batch_size=4, verbose=0)
    np.testing.assert_allclose([loss, mae], [(squares**2).mean(), abs(squares).mean()], rtol=1e-5)
    assert model.predict(x, batch_size=4).shape == (10, 1)
    history = model.fit(x, y, batch_size=4, epochs=2, verbose=0, validation_split=0.3).history
    assert set(history) == {"loss", "mae", "val_loss", "val_mae"}


def test_sample_weights():
    x, y = data()
    weights = np.arange(10.0)
    model = linear(metrics=())
    expected = (weights * errors(model, x, y) ** 2).mean()
    assert np.isclose(model.test_on_batch(x, y, sample_weight=weights), expected, rtol=1e-5)
    gradient = 2 * x.T @ (weights * errors(model, x, y))[:, None] / 10
    expected = model.get_weights()[0] - 0.1 * gradient
    model.train_on_batch(x, y, sample_weight=weights)
    np.testing.assert_allclose(model.get_weights()[0], expected, rtol=1e-4)


def test_class_weights():
    x, y = N.digits(60)
    model = N.compiled(N.mlp(), optimizer=SGD(0.0))
    weights = {i: 0.5 + i for i in range(10)}
    predicted = np.float64(model.predict(x))
    labels = y.argmax(-1)
    losses = -np.log(predicted[np.arange(60), labels])
    expected = (losses * [weights[i] for i in labels]).mean()
    found = model.fit(x, y, batch_size=60, class_weight=weights, verbose=0).history["loss"][0]
    assert np.isclose(found, expected, rtol=1e-5)


def test_weights_of_time_steps():
    x = np.random.RandomState(0).normal(size=(6, 3, 2))
    model = Sequential([L.TimeDistributed(L.Dense(1, use_bias=False), input_shape=(3, 2))])
    model.compile("sgd", "mse", sample_weight_mode="temporal")
    weights = np.random.RandomState(1).uniform(size=(6, 3))
    squares = (x @ np.float64(model.get_weights()[0]))[..., 0] ** 2
    expected = (weights * squares).mean()
    assert np.isclose(
        model.evaluate(x, np.zeros((6, 3, 1)), sample_weight=weights, verbose=0),
        expected,
        rtol=1e-4,
    )


def test_metrics_of_labels():
    import keras.metrics as M

    random = np.random.RandomState(0)
    x = random.uniform(size=(40, 1))
    y = (random.uniform(size=(40, 1)) < x).astype("float32")
    model = Sequential([L.Lambda(lambda x: x * 1.0, input_shape=(1,))])
    metrics = ["accuracy", M.Precision(), M.Recall(), M.AUC(num_thresholds=2000)]
    model.compile("sgd", "binary_crossentropy", metrics=[*metrics, M.TruePositives()])
    _, accuracy, precision, recall, auc, hits = model.evaluate(x, y, batch_size=16, verbose=0)
    guess = x > 0.5
    assert np.isclose(accuracy, (guess == y).mean())
    assert hits == (guess * y).sum()
    assert np.isclose(precision, (guess * y).sum() / guess.sum())
    assert np.isclose(recall, (guess * y).sum() / y.sum())
    ordered = (x[y == 1][:, None] > x[y == 0]).mean()
    assert np.isclose(auc, ordered, atol=2e-3)
    # Metrics begin anew at each evaluation.
    assert np.isclose(model.evaluate(x, y, batch_size=16, verbose=0)[1], accuracy)


# --- generators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_generators(workers):
    x, y = data(12)
    one, other = linear(), linear()
    other.set_weights(one.get_weights())
    one.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    batches = Batches(x, y, 4)
    other.fit_generator(
        batches, epochs=2, shuffle=False, verbose=0, workers=workers, validation_data=batches
    )
    np.testing.assert_allclose(one.get_weights()[0], other.get_weights()[0], rtol=1e-5)
    # Of the losses Keras 2.3.1 returns here that of the last batch alone.
    _, mae = other.evaluate_generator(batches, workers=workers)
    assert np.isclose(mae, one.evaluate(x, y, verbose=0)[1], rtol=1e-5)
    np.testing.assert_allclose(
        one.predict(x), other.predict_generator(batches, workers=workers), rtol=1e-5
    )


def test_a_plain_generator_may_predict_itself():
    x, _ = data(8)
    model = linear(metrics=())
    model._make_predict_function()  # as Keras asks for, where a thread predicts

    def generate():
        while True:
            yield x, model.predict(x) * 0

    before = (model.predict(x) ** 2).mean()
    model.fit_generator(generate(), steps_per_epoch=20, epochs=2, verbose=0)
    assert (model.predict(x) ** 2).mean() < before


# --- callbacks -----------------------------------------------------------------------------------


def test_early_stopping_restores_the_best_weights():
    x, y = data()
    model = linear(rate=10.0, metrics=())  # it diverges at once
    seen = []
    keep = C.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(model.get_weights()[0]))
    stop = C.EarlyStopping("loss", patience=2, restore_best_weights=True)
    history = model.fit(x, y, epochs=20, batch_size=10, verbose=0, callbacks=[keep, stop]).history
    assert len(history["loss"]) == 3
    np.testing.assert_array_equal(model.get_weights()[0], seen[0])
    assert (seen[0] != seen[1]).all()


def test_checkpoints(tmp_path):
    x, y = data()
    model = linear(metrics=())
    path = str(tmp_path / "best-{epoch:02d}.h5")
    seen = []
    keep = C.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(model.get_weights()[0]))
    save = C.ModelCheckpoint(path, monitor="loss", save_best_only=True, save_weights_only=True)
    model.fit(x, y, epochs=3, verbose=0, callbacks=[keep, save])
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"best-0{i}.h5" for i in (1, 2, 3)]
    model.load_weights(path.format(epoch=2))
    np.testing.assert_array_equal(model.get_weights()[0], seen[1])


def test_schedules_of_the_learning_rate(tmp_path):
    x, y = data()
    model = linear(metrics=())
    schedule = C.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
    log = C.CSVLogger(str(tmp_path / "log.csv"))
    history = model.fit(x, y, epochs=3, verbose=0, callbacks=[schedule, log]).history
    np.testing.assert_allclose(history["lr"], [0.05, 0.025, 0.0125], rtol=1e-6)
    assert (tmp_path / "log.csv").read_text().startswith("epoch,loss,lr\n0,")

    K.set_value(model.optimizer.lr, 0.0)
    before = model.get_weights()[0]
    reduce = C.ReduceLROnPlateau("loss", factor=0.1, patience=1, min_delta=1e-4)
    model.fit(x, y, epochs=2, verbose=0, callbacks=[reduce])
    np.testing.assert_array_equal(model.get_weights()[0], before)
    K.set_value(model.optimizer.lr, 1e-12)
    model.fit(x, y, epochs=3, verbose=0, callbacks=[reduce])
    assert K.get_value(model.optimizer.lr) < 1e-13


def test_training_ends_where_the_loss_is_nan():
    x, y = data()
    x[3] = np.nan
    model = linear(metrics=())
    history = model.fit(x, y, epochs=5, verbose=0, callbacks=[C.TerminateOnNaN()]).history
    assert len(history["loss"]) == 1


# --- frozen layers, other settings ---------------------------------------------------------------


def test_frozen_layers_stay():
    x, y = N.digits(40)
    model = N.mlp()
    model.layers[1].trainable = False
    N.compiled(model)
    before = model.get_weights()
    model.fit(x, y, verbose=0)
    moved = [(a != b).any() for a, b in zip(before, model.get_weights(), strict=True)]
    assert moved == [False, False, True, True]


def test_float64():
    K.set_floatx("float64")
    x, y = data()
    model = linear(metrics=())
    w = model.get_weights()[0]
    assert w.dtype == "float64"
    expected = w - 0.1 * 2 * x.T @ (x @ w - y) / 10
    model.train_on_batch(x, y)
    np.testing.assert_allclose(model.get_weights()[0], expected, rtol=1e-12)
    assert model.predict(x).dtype == "float64"


def test_channels_first():
    x = np.random.RandomState(0).normal(size=(4, 8, 8, 3)).astype("float32")
    models = []
    for data_format in ("channels_last", "channels_first"):
        K.set_image_data_format(data_format)
        shape = (8, 8, 3) if data_format == "channels_last" else (3, 8, 8)
        layers = [L.Conv2D(5, 3, strides=2, input_shape=shape), L.MaxPooling2D(), L.UpSampling2D()]
        models.append(Sequential([*layers, L.Conv2DTranspose(2, 3, padding="same")]))
    last, first = models
    first.set_weights(last.get_weights())
    found = first.predict(x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(found, last.predict(x), atol=1e-5)
