"""What Keras and kbridge share: settings, names, the learning phase; and errors that say enough."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from conftest import ROOT
from keras import backend as K
from keras import layers as L
from keras.models import Model, Sequential

import kbridge
from kbridge import config

ENGINE = K.backend().removeprefix("kbridge.backends.")
OURS = kbridge.load_backend(ENGINE)


def test_the_backend_is_the_one():
    assert keras.__version__ == "2.3.1"
    assert K.backend() == f"kbridge.backends.{ENGINE}"
    assert K.dot is OURS.dot
    assert kbridge.load_backend(K.backend()) is OURS


@pytest.mark.skipif(ENGINE == "tensorflow", reason="it is the engine")
def test_no_other_engine_is_imported():
    """In a process of its own: packages that other tests use import TensorFlow."""
    code = (
        "import sys; from kbridge.compat import keras2; keras2.install(); import keras; "
        "sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False).returncode == 0


def test_settings_are_one():
    K.set_floatx("float64")
    assert config.floatx() == kbridge.backend.floatx() == "float64"
    assert K.dtype(K.variable(1.0)) == K.dtype(K.placeholder((2,))) == "float64"
    OURS.set_floatx("float16")
    assert K.floatx() == "float16"
    config.set_epsilon(1e-3)
    assert K.epsilon() == 1e-3
    K.set_image_data_format("channels_first")
    assert config.image_data_format() == "channels_first"
    x = K.placeholder((2, 3, 8, 8))
    assert K.int_shape(K.pool2d(x, (2, 2))) == (2, 3, 7, 7)
    with pytest.raises(ValueError, match="float16"):
        config.set_floatx("bfloat16")  # Keras 2 knows none


def test_names_that_keras_has_with_tensorflow_alone():
    names = ["clear_session", "get_session", "set_session", "manual_variable_initialization"]
    names += ["get_variable_shape", "image_dim_ordering", "set_image_dim_ordering"]
    for name in [*names, "learning_phase_scope", "logsumexp", "ctc_decode"]:
        assert getattr(K, name) is getattr(OURS, name), name
    from keras.backend import clear_session, get_session

    v = K.variable(2.0)
    assert get_session().run(v * 3.0) == 6.0
    clear_session()
    # Those of Keras are Keras's own.
    assert K.floatx.__module__ == "keras.backend.common"


def test_names_that_are_gone_say_so():
    with pytest.raises(AttributeError, match=r"K\.lift"):
        _ = K.tf
    with pytest.raises(AttributeError, match="no function 'no_such_thing'"):
        _ = K.no_such_thing
    assert not hasattr(K, "no_such_thing")


def test_unknown_arguments_of_compile():
    model = Sequential([L.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse", unheard_of=1)
    with pytest.raises(ValueError, match="invalid argument 'unheard_of' for 'train_function'"):
        model.train_on_batch(np.ones((1, 2)), np.ones((1, 1)))


def test_learning_phase():
    phase = K.learning_phase()
    assert phase is K.learning_phase()
    assert not isinstance(phase, int)
    model = Sequential([L.Dropout(0.5, input_shape=(400,))])
    assert model.uses_learning_phase
    x = np.ones((1, 400))
    assert K.function([model.input], [model.output])([x])[0].min() == 1  # not fed: testing
    K.set_learning_phase(1)
    assert type(K.learning_phase()) is int
    fixed = L.Dropout(0.5)(model.input)
    assert not fixed._uses_learning_phase
    assert K.function([model.input], [fixed])([x])[0].min() == 0
    K.clear_session()
    assert K.learning_phase() is phase
    with K.learning_phase_scope(1):
        assert K.learning_phase() == 1
    assert not Sequential([L.Dense(2, input_shape=(3,))]).uses_learning_phase


def test_attributes_of_tensors():
    x = L.Input((4,))
    y = L.Dense(3)(x)
    assert (x._keras_shape, y._keras_shape) == ((None, 4), (None, 3))
    assert K.is_keras_tensor(y)
    z = y * 2.0
    assert not hasattr(z, "_keras_shape")
    assert not hasattr(z, "_keras_history")
    assert not hasattr(z, "_uses_learning_phase")
    with pytest.raises(ValueError, match="is_keras_tensor"):
        K.is_keras_tensor(np.ones(2))
    dropped = L.Dropout(0.5)(y)
    assert dropped._uses_learning_phase
    # An output that nothing declared, and one of which a layer knows more than the graph.
    assert K.int_shape(L.Reshape((2, -1))(x)) == (None, 2, 2)


def test_lambda_infers_its_shape():
    x, y = L.Input((4,)), L.Input((4,), dtype="int32")
    both = L.Lambda(lambda xs: [K.concatenate([xs[0], K.cast(xs[1], "float32")]), xs[0][:, :1]])
    first, second = both([x, y])
    assert both.output_shape == [(None, 8), (None, 1)]
    gathered = L.Lambda(lambda i: K.gather(K.constant([[1.0, 2.0]] * 9), i))(y)
    assert gathered._keras_shape == (None, 4, 2)
    given = L.Lambda(lambda x: K.sum(x, axis=1, keepdims=True), output_shape=(1,))
    declared = given(x)
    assert given.output_shape == (None, 1)
    inner = L.TimeDistributed(L.Lambda(lambda x: K.mean(x, axis=-1, keepdims=True)))
    assert inner(L.Input((5, 4)))._keras_shape == (None, 5, 1)
    outputs = [L.Dense(2)(t) for t in (first, second, declared)]
    values = Model([x, y], [*outputs, gathered]).predict([np.ones((3, 4)), np.ones((3, 4))])
    assert [v.shape for v in values] == [(3, 2), (3, 2), (3, 2), (3, 4, 2)]


def test_stale_layers_and_own_variables():
    """A layer in the way of Keras 1: it makes variables and lists them itself."""

    class Old(L.Layer):
        def build(self, input_shape):
            self.W = K.variable(np.ones((input_shape[1], 2)))
            self.trainable_weights = [self.W]
            self.built = True

        def call(self, x):
            return K.dot(x, self.W)

        def compute_output_shape(self, input_shape):
            return (input_shape[0], 2)

    model = Sequential([Old(input_shape=(3,))])
    assert len(model.trainable_weights) == 1
    model.compile("sgd", "mse")
    model.train_on_batch(np.ones((2, 3)), np.zeros((2, 2)))
    assert (model.get_weights()[0] < 1).all()


# --- in a process of its own ---------------------------------------------------------------------


def python(code: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `code`, or with "" what `args` name."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", *(["-c", code] if code else []), *args],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=300,
        check=False,
    )


SHIM = "from kbridge.compat import keras2; keras2.install()\n"


def test_a_missing_engine_is_told():
    missing = "torch" if ENGINE == "numpy" else ENGINE  # NumPy is never missing
    code = f"import sys; sys.modules[{missing!r}] = None\n{SHIM}import keras"
    done = python(code, KERAS_BACKEND=f"kbridge.backends.{missing}")
    assert done.returncode == 1
    assert f'pip install "kbridge[{missing}]"' in done.stderr.splitlines()[-1]
    assert "Unable to import backend" not in done.stderr


IMPORTED_FIRST = (
    SHIM
    + """
import numpy as np
np.random.seed(5)
from kbridge import backend as ours
ours.set_floatx("float64")  # before Keras is there: its own setting wins
from keras import backend as K, layers as L
assert ours.floatx() == K.floatx() == "float32"
K.set_floatx("float16")
assert ours.floatx() == "float16", ours.floatx()
assert K.clear_session is ours.clear_session
K.set_floatx("float32")
layer = L.Lambda(lambda x: x[:, :2])
layer(L.Input((4,)))
assert layer.output_shape == (None, 2)
print(np.random.rand())
"""
)


def test_kbridge_may_be_imported_first():
    done = python(IMPORTED_FIRST)
    assert done.returncode == 0, done.stderr
    # Importing Keras and the engine has drawn nothing from NumPy's generator.
    assert float(done.stdout) == np.random.RandomState(5).rand()


SCRIPT = """
import sys
import numpy as np
np.random.seed(1337)
from keras.models import Sequential
from keras.layers import Dense
import helper
model = Sequential([Dense(1, input_dim=2)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=int(sys.argv[1]), verbose=0)
import keras.backend as K
print(__name__, sys.argv, K.backend(), np.float, helper.word)
if len(sys.argv) > 2:
    K.reshape(K.zeros((2,)), (3,))
"""


def test_run(tmp_path: Path):
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("word = 'found'\n")
    script = str(tmp_path / "train.py")
    run = ["-m", "kbridge", "run", "--backend", ENGINE, script]
    others = {"KERAS_BACKEND": "", "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    done = python("", *run, "2", **others)
    assert done.returncode == 0, done.stderr
    expected = f"__main__ {[script, '2']} kbridge.backends.{ENGINE} <class 'float'> found"
    assert done.stdout.splitlines()[-1] == expected
    failing = python("", *run, "1", "fail", **others)
    assert failing.returncode == 1
    assert 'train.py", line' in failing.stderr
    assert "K.reshape" in failing.stderr.splitlines()[-1]
