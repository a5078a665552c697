"""Keras 2.3.1 on the engine that KERAS_BACKEND names; ``make keras2-test`` runs it on all four.

Without Keras 2.3.1, as in an environment with Keras 3, nothing here is collected. Without
KERAS_BACKEND only what compares the engines is: it runs each of them in a process of its own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from importlib import metadata

import pytest

ENGINE = os.environ.get("KERAS_BACKEND", "").removeprefix("kbridge.backends.")
try:
    KERAS = metadata.version("keras")
except metadata.PackageNotFoundError:
    KERAS = "missing"

ACROSS = "test_across_engines.py"
if KERAS != "2.3.1":
    collect_ignore_glob = ["test_*.py"]
elif ENGINE:
    collect_ignore_glob = [ACROSS]
else:
    collect_ignore_glob = [f"test_[!{ACROSS[5]}]*.py"]


def pytest_report_header() -> str:
    if KERAS != "2.3.1":
        return f"keras2: not run, since Keras is {KERAS}; make keras2-test runs it"
    return f"keras2: Keras {KERAS} on {ENGINE or 'each engine'}"


if KERAS == "2.3.1":
    # JAX compiles each function for some seconds, half of them for speed that is not needed here.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    os.environ.setdefault("KERAS_BACKEND", "kbridge.backends.numpy")
    from kbridge.compat import keras2

    keras2.install()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras's own syntax, as Python sees it today
        import keras  # noqa: F401


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Begin each test with the same names, numbers and settings."""
    import numpy as np
    from keras import backend as K

    np.random.seed(7)
    K.clear_session()
    floatx, epsilon, data_format = K.floatx(), K.epsilon(), K.image_data_format()
    yield
    K.set_floatx(floatx)
    K.set_epsilon(epsilon)
    K.set_image_data_format(data_format)
    K.clear_session()
