"""What one engine computes for test_across_engines.py, in a process of its own.

``python -m keras2.worker train FOLDER`` writes what the engine named by KERAS_BACKEND makes of the
models; ``... load FOLDER`` loads what the other engines have written, and predicts with it.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kbridge.compat import keras2

keras2.install()
warnings.simplefilter("ignore")

from keras import backend as K  # noqa: E402  # Keras needs the names that install() brings
from keras import initializers as I  # noqa: E402
from keras.models import load_model  # noqa: E402
from keras.optimizers import SGD, Adam  # noqa: E402
from keras2 import networks as N  # noqa: E402
from keras2.every_layer import LAYERS, built  # noqa: E402

EPOCHS = 20
CURVES = {
    "mlp": (N.mlp, SGD(0.1, momentum=0.9)),
    "cnn": (N.cnn, SGD(0.1, momentum=0.9)),
    "lstm": (N.lstm, Adam(0.03)),
}
SAVED = {"mlp": N.mlp, "cnn": N.cnn, "lstm": N.lstm, "gru": N.gru, "convlstm": N.convlstm}
DATA = {"gru": N.signs, "convlstm": N.films}
INITIALIZERS = {
    "uniform": I.RandomUniform(-2, 3),
    "normal": I.RandomNormal(1, 2),
    "truncated": I.TruncatedNormal(),
    "glorot": "glorot_uniform",
    "he": "he_normal",
    "orthogonal": "orthogonal",
    "seeded": I.VarianceScaling(seed=4),
    "identity": "identity",
}


def fresh() -> None:
    K.clear_session()
    np.random.seed(11)


def train(folder: Path, engine: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    fresh()
    for name, initializer in INITIALIZERS.items():
        found[f"initial {name}"] = K.eval(I.get(initializer)((6, 6)))
    for name, (make, optimizer) in CURVES.items():
        fresh()
        x, y = N.digits(200)
        model = N.compiled(make(), optimizer=optimizer)
        for i, weight in enumerate(model.get_weights()):
            found[f"initial {name} {i}"] = weight
        history = model.fit(x, y, batch_size=200, epochs=EPOCHS, shuffle=False, verbose=0).history
        found[f"curve {name}"] = np.array([history["loss"], history["accuracy"]])
    for name, make in SAVED.items():
        fresh()
        x, y = DATA.get(name, N.digits)()
        loss = "binary_crossentropy" if name in DATA else "categorical_crossentropy"
        model = N.compiled(make(), loss)
        model.fit(x[:80], y[:80], batch_size=40, epochs=2, verbose=0)
        found[f"predicted {name}"] = model.predict(x[:40], batch_size=40)
        model.save(str(folder / f"{engine}-{name}-model.h5"))
        model.save_weights(str(folder / f"{engine}-{name}-weights.h5"))
    for name in LAYERS:
        fresh()
        model, inputs = built(name)
        found[f"layer {name}"] = model.predict(inputs)
    return found


def load(folder: Path, engine: str) -> dict[str, Any]:
    found = {}
    for name, make in SAVED.items():
        x = DATA.get(name, N.digits)()[0][:40]
        model = make()
        others = {p.name.partition("-")[0] for p in folder.glob(f"*-{name}-weights.h5")}
        for other in others - {engine}:
            model.load_weights(str(folder / f"{other}-{name}-weights.h5"))
            found[f"weights {other} {name}"] = model.predict(x, batch_size=40)
            if name == "cnn":
                whole = load_model(str(folder / f"{other}-{name}-model.h5"))
                found[f"model {other} {name}"] = whole.predict(x, batch_size=40)
    return found


if __name__ == "__main__":
    task, target = sys.argv[1], Path(sys.argv[2])
    this = K.backend().rpartition(".")[2]
    results = {"train": train, "load": load}[task](target, this)
    np.savez(target / f"{this}-{task}.npz", **results)
