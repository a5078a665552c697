"""Each optimizer takes the steps of its publication, in the form that Keras documents."""

from __future__ import annotations

import numpy as np
import pytest
from keras import backend as K
from keras import layers as L
from keras import optimizers as O
from keras.models import Sequential

STEPS = 5
EPSILON = 1e-7


def problem():
    random = np.random.RandomState(2)
    x = random.normal(size=(20, 3))
    return x, x @ [[1.0], [-2.0], [3.0]] + 0.1 * random.normal(size=(20, 1))


def gradient(x, y, w):
    return 2 * x.T @ (x @ w - y) / len(x)


# Each rule takes the steps t = 1, 2, ... from the gradient g; what it keeps is in s, which begins
# with zeros.


def sgd(t, w, g, s, rate=0.05, momentum=0.0, nesterov=False, decay=0.0):
    rate /= 1 + decay * (t - 1)
    s["v"] = momentum * s["v"] - rate * g
    return w + (momentum * s["v"] - rate * g if nesterov else s["v"])


def rmsprop(t, w, g, s, rate=0.05, rho=0.9):
    s["a"] = rho * s["a"] + (1 - rho) * g**2
    return w - rate * g / (np.sqrt(s["a"]) + EPSILON)


def adagrad(t, w, g, s, rate=0.05):
    s["a"] = s["a"] + g**2
    return w - rate * g / (np.sqrt(s["a"]) + EPSILON)


def adadelta(t, w, g, s, rate=1.0, rho=0.95):
    s["a"] = rho * s["a"] + (1 - rho) * g**2
    step = g * np.sqrt(s["d"] + EPSILON) / np.sqrt(s["a"] + EPSILON)
    s["d"] = rho * s["d"] + (1 - rho) * step**2
    return w - rate * step


def adam(t, w, g, s, rate=0.05, amsgrad=False):
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["v"] = 0.999 * s["v"] + 0.001 * g**2
    s["top"] = np.maximum(s["top"], s["v"])
    rate *= np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    return w - rate * s["m"] / (np.sqrt(s["top" if amsgrad else "v"]) + EPSILON)


def adamax(t, w, g, s, rate=0.05):
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["u"] = np.maximum(0.999 * s["u"], np.abs(g))
    return w - rate / (1 - 0.9**t) * s["m"] / (s["u"] + EPSILON)


def nadam(t, w, g, s, rate=0.05):
    def mu(t):
        return 0.9 * (1 - 0.5 * 0.96 ** (0.004 * t))

    now = np.prod([mu(i) for i in range(1, t + 1)])
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["v"] = 0.999 * s["v"] + 0.001 * g**2
    mean = (1 - mu(t)) * g / (1 - now) + mu(t + 1) * s["m"] / (1 - now * mu(t + 1))
    return w - rate * mean / (np.sqrt(s["v"] / (1 - 0.999**t)) + EPSILON)


def clipped_norm(t, w, g, s):
    return sgd(t, w, g * min(1, 0.5 / np.sqrt((g**2).sum())), s)


def clipped_value(t, w, g, s):
    return sgd(t, w, g.clip(-0.5, 0.5), s)


CASES = {
    "sgd": (O.SGD(0.05), sgd, {}),
    "momentum": (O.SGD(0.05, momentum=0.9), sgd, {"momentum": 0.9}),
    "nesterov": (
        O.SGD(0.05, momentum=0.9, nesterov=True, decay=0.1),
        sgd,
        {"momentum": 0.9, "nesterov": True, "decay": 0.1},
    ),
    "rmsprop": (O.RMSprop(0.05), rmsprop, {}),
    "adagrad": (O.Adagrad(0.05), adagrad, {}),
    "adadelta": (O.Adadelta(1.0), adadelta, {}),
    "adam": (O.Adam(0.05), adam, {}),
    "amsgrad": (O.Adam(0.05, amsgrad=True), adam, {"amsgrad": True}),
    "adamax": (O.Adamax(0.05), adamax, {}),
    "nadam": (O.Nadam(0.05), nadam, {}),
    "clipnorm": (O.SGD(0.05, clipnorm=0.5), clipped_norm, {}),
    "clipvalue": (O.SGD(0.05, clipvalue=0.5), clipped_value, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_steps(name):
    made, rule, options = CASES[name]
    optimizer = type(made).from_config(made.get_config())  # variables are this session's
    x, y = problem()
    model = Sequential([L.Dense(1, use_bias=False, input_shape=(3,))])
    model.compile(optimizer, "mse")
    w = np.float64(model.get_weights()[0])
    kept = dict.fromkeys("avdmu", 0.0) | {"top": 0.0}
    for t in range(1, STEPS + 1):
        model.train_on_batch(x, y)
        w = rule(t, w, gradient(x, y, w), kept, **options)
        np.testing.assert_allclose(model.get_weights()[0], w, rtol=1e-4, atol=1e-5)
    assert optimizer.get_weights()[0] == STEPS
    again = [weight.copy() for weight in optimizer.get_weights()]
    optimizer.set_weights(again)
    for one, other in zip(optimizer.get_weights(), again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_has_no_gradient():
    model = Sequential([L.Lambda(K.round, input_shape=(3,)), L.Dense(1), L.Lambda(K.round)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="`None` for gradient"):
        model.train_on_batch(np.ones((2, 3)), np.ones((2, 1)))
