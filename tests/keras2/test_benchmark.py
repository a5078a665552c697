"""What the benchmark times is the training step that the other benchmarks time."""

from __future__ import annotations

import numpy as np
import pytest
from keras import backend

import kbridge
from benchmarks import keras2, networks


@pytest.mark.parametrize("model", keras2.MODELS)
def test_keras_and_k_functions_train_alike(model):
    K = kbridge.load_backend(backend.backend().removeprefix("kbridge.backends."))
    losses, again = keras2.worker("keras_2", model, "SGD")
    own, batch = networks.step(K, model), list(networks.batch(model))
    np.testing.assert_allclose([*losses, again()], [own(batch)[0] for _ in range(4)], rtol=1e-3)
