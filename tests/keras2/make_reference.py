"""Writes ``reference.h5`` and ``reference.npz``: what Keras 2.3.1 does with TensorFlow 1.15.

Run by a Python 3.7 in which those are installed (that of ``make golden``)::

    KERAS_BACKEND=tensorflow PYTHONPATH=tests python3.7 -m keras2.make_reference
"""

import os

import numpy as np
from keras import backend as K
from keras import layers as L
from keras.models import Model
from keras.optimizers import SGD
from keras.utils import to_categorical

HERE = os.path.dirname(os.path.abspath(__file__))


def images(number=60):
    path = os.path.join(HERE, "..", "..", "kbridge", "demo", "digits.npz")
    with np.load(path) as data:
        x = data["images"][:number, ..., None].astype("float32") / 16
        return x, to_categorical(data["labels"][:number], 10)


def model():
    source = L.Input((8, 8, 1))
    x = L.Conv2D(4, 3, activation="relu", kernel_initializer="he_normal")(source)
    x = L.BatchNormalization()(x)
    x = L.MaxPooling2D()(x)
    x = L.Reshape((3, 12))(x)
    x = L.Bidirectional(L.LSTM(5, return_sequences=True))(x)
    x = L.GRU(6, reset_after=True)(x)
    return Model(source, L.Dense(10, activation="softmax")(x))


def steps(trained, number=5):
    """The losses of some steps more, of the whole batch each."""
    x, y = images()
    return np.array([trained.train_on_batch(x, y)[0] for _ in range(number)])


def step(trained, inputs):
    """The loss of one step of training; what it does is seen in the weights."""
    trained.compile(SGD(0.1), "mse")
    return trained.train_on_batch(inputs, np.ones((3, *trained.output_shape[1:])))


def layers():
    """Each layer: its weights, what it gives, and the weights after a step of training."""
    from keras2.every_layer import LAYERS, built

    found = {}
    for name in LAYERS:
        K.clear_session()
        made, inputs = built(name)
        found[name] = [*made.get_weights(), made.predict(inputs)]
        if "Dropout" not in name and "Noise" not in name:
            step(made, inputs)
            found[name] += made.get_weights()
    return {f"{n}/{i:02d}": x for n, arrays in found.items() for i, x in enumerate(arrays)}


if __name__ == "__main__":
    np.random.seed(0)
    made = model()
    made.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    x, y = images()
    made.fit(x, y, epochs=20, batch_size=20, verbose=0)
    made.save(os.path.join(HERE, "reference.h5"))
    predicted, tested = made.predict(x), made.evaluate(x, y, verbose=0)
    losses = steps(made)
    np.savez_compressed(
        os.path.join(HERE, "reference.npz"),
        predicted=predicted,
        tested=tested,
        losses=losses,
        after=made.predict(x),
        **layers(),
    )
