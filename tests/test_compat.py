"""What kbridge does for programs of Keras 2: the shim, ``kbridge run``, watching imports.

Keras 2.3.1 itself is at work in tests/keras2.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
from pathlib import Path

import pytest
from conftest import Script

from kbridge.compat import keras2

SHIM_BY_IMPORT = """
import collections, inspect, sys
import kbridge.compat.keras2
assert "numpy" not in sys.modules and "h5py" not in sys.modules
assert not hasattr(collections, "Mapping") and not hasattr(inspect, "ArgSpec")
"""

SHIM = """
import collections, collections.abc, inspect, math
import numpy as np
kept = np.bool, np.long, np.row_stack
from kbridge.compat.keras2 import install
install()
install()
assert collections.Mapping is collections.abc.Mapping
assert collections.OrderedDict is not None and not hasattr(collections, "NoSuchThing")
assert (np.bool, np.long, np.row_stack) == kept
assert (np.int, np.float, np.object, np.str, np.unicode) == (int, float, object, str, str)
assert np.Inf == math.inf and np.NINF == -math.inf and math.isnan(np.NaN)
assert np.float_ is np.float64 and np.string_ is np.bytes_ and np.unicode_ is np.str_
assert np.product([2, 3]) == 6 and np.alltrue([1, 0]) == False and np.trapz([1, 1]) == 1
assert str((np.int64(64), np.float32(0.5))) == "(64, 0.5)"
def f(a, b=1, *c, **d): pass
found = inspect.getargspec(f)
assert found == inspect.ArgSpec(["a", "b"], "c", "d", (1,)) and found.args == ["a", "b"]
"""

FILES = """
import io, h5py, numpy as np
from kbridge.compat.keras2 import install
install()
install()
with h5py.File("x.h5", "w") as file:
    file.attrs["version"] = "2.3.1".encode()
    file.attrs["names"] = ["a".encode(), "bc".encode()]
    file.attrs["fixed"] = np.array([b"d", b"e"])
    file.attrs["text"] = "\\u00e9"
    file.attrs["number"] = 3
    file["data"] = np.arange(3)
with h5py.File("x.h5") as file:
    assert file.attrs["version"].decode("utf8") == file.attrs["version"] == "2.3.1"
    assert [n.decode("utf8") for n in file.attrs["names"]] == ["a", "bc"]
    assert [n.decode("utf8") for n in file.attrs["fixed"]] == ["d", "e"]
    assert file.attrs["text"] == "\\u00e9" and file.attrs["number"] == 3
    assert file["data"].value.tolist() == [0, 1, 2]
    assert file.mode == "r"
with h5py.File("memory", driver="core", backing_store=False) as file:
    file["data"] = np.arange(3)
    file.flush()
    image = file.fid.get_file_image()
with h5py.File(io.BytesIO(image), "r") as file:
    assert file["data"][()].tolist() == [0, 1, 2]
"""


@pytest.mark.parametrize("code", [SHIM_BY_IMPORT, SHIM], ids=["import", "install"])
def test_shim(script: Script, code: str) -> None:
    done = script(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(importlib.util.find_spec("h5py") is None, reason="h5py is not installed")
def test_shim_of_files(script: Script) -> None:
    done = script(FILES)
    assert done.returncode == 0, done.stderr


def test_shim_without_h5py(script: Script) -> None:
    hidden = "import sys; sys.modules['h5py'] = None\n"
    done = script(hidden + "from kbridge.compat.keras2 import install; install()")
    assert done.returncode == 0, done.stderr


def test_getargspec_refuses_what_it_cannot_tell() -> None:
    def function(a, *, b):
        pass

    with pytest.raises(ValueError, match="keyword-only"):
        keras2.getargspec(function)
    assert keras2.getargspec(inspect.cleandoc).args == ["doc"]


# --- kbridge run -----------------------------------------------------------------------------

RUN = "import sys\nfrom kbridge.cli import main\nsys.exit(main({args!r}))"


FLAT = """
def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None): pass
def variable(value, dtype=None, name=None, constraint=None): pass
def function(inputs, outputs, updates=None, **kwargs): pass
"""


def run(script: Script, folder: Path, *args: str, keras: str | None = None):
    """``kbridge run`` with a folder that seems to be an installation of some Keras."""
    name = "keras"
    if keras is not None:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("")
        (folder / f"{name}-{keras}.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {keras}\n"
        (folder / f"{name}-{keras}.dist-info" / "METADATA").write_text(metadata)
    code = RUN.format(args=["run", *args])
    if keras is None:
        code = f"import sys; sys.modules['keras'] = None\n{code}"
    # The script fixture runs in `folder`, which is the first on sys.path.
    return script(code)


def test_run(script: Script, tmp_path: Path) -> None:
    text = "import json, os, sys\nprint(json.dumps([sys.argv, os.environ['KERAS_BACKEND']]))"
    (tmp_path / "train.py").write_text(text)
    args = ["--backend", "numpy", "train.py", "--epochs", "3", "--backend", "x"]
    done = run(script, tmp_path, *args, keras="2.3.1")
    assert done.returncode == 0, done.stderr
    expected = ["train.py", "--epochs", "3", "--backend", "x"]
    assert json.loads(done.stdout) == [expected, "kbridge.backends.numpy"]


@pytest.mark.parametrize(
    ("args", "keras", "told"),
    [
        (["nothing.py"], "2.3.1", "there is no file 'nothing.py'"),
        (["train.py"], None, "Keras is not installed. Install"),
        (["train.py"], "3.5.0", "Keras 3.5.0 is installed"),
        (["train.py"], "3.5.0", "pip install keras==2.3.1"),
        (["--backend", "nump", "train.py"], "2.3.1", "Did you mean 'numpy'?"),
        (["--backend", "theano", "train.py"], "2.3.1", "Keras gave it up"),
        (["--backend", "no.such.module", "train.py"], "2.3.1", "was not found"),
        (["--backend", "flat", "train.py"], "2.3.1", "and flat is a flat one"),
        ([], "2.3.1", "the following arguments are required: script"),
    ],
)
def test_run_fails_clearly(script: Script, tmp_path: Path, args, keras, told: str) -> None:
    (tmp_path / "train.py").write_text("raise AssertionError")
    (tmp_path / "flat.py").write_text(FLAT)
    done = run(script, tmp_path, *args, keras=keras)
    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_errors_of_the_program_have_their_traceback(script: Script, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("from kbridge import backend as K\nK.zeros((2, None))\n")
    done = run(script, tmp_path, "--backend", "numpy", "train.py", keras="2.3.1")
    assert done.returncode == 1
    assert 'train.py", line 2' in done.stderr
    (tmp_path / "leave.py").write_text("raise SystemExit(7)")
    done = script(RUN.format(args=["run", "--backend", "numpy", "leave.py"]))
    assert done.returncode == 7


# --- imports to come -----------------------------------------------------------------------------

WATCH = """
import importlib.util, sys
from pathlib import Path
from kbridge.compat.imports import after_import, around_import, hiding
Path("late.py").write_text("import sys\\ntry:\\n    import json.tool as found\\n"
                           "except ImportError:\\n    found = None\\n")
seen = []
after_import("late", seen.append)
around_import("late", lambda module: hiding("json.tool"))
assert importlib.util.find_spec("late") and importlib.util.find_spec("late")
assert not seen and len(sys.meta_path) > 4
import late
assert seen == [late] and late.found is None
import json.tool
del sys.modules["late"]
import late
assert len(seen) == 1 and late.found is json.tool
around_import("late", None)
after_import("no_such_module", seen.append)
try:
    import no_such_module
except ModuleNotFoundError:
    print("fine")
"""

SAME_NUMBERS = """
import numpy as np
np.random.seed(3)
import kbridge
kbridge.load_backend("{name}")
assert np.random.rand() == np.random.RandomState(3).rand()
"""


def test_watching_an_import(script: Script) -> None:
    done = script(WATCH)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "fine\n"


DEFAULT_FILE = """
import os
from kbridge.compat.keras2 import install
install()
import keras.backend.load_backend
print(sorted(os.listdir(os.environ["KERAS_HOME"])))
"""
#: What a Keras does that finds no file of settings.
LOADS = """
import os
file = os.path.join(os.environ["KERAS_HOME"], "keras.json")
if not os.path.exists(file):
    open(file, "w").write('{"backend": "tensorflow"}')
"""


@pytest.mark.parametrize(
    ("installed", "file", "left"),
    [
        ([], None, "[]"),
        (["torch"], None, "[]"),
        (["torch"], "{}", "['keras.json']"),
        (["tensorflow"], None, "['keras.json']"),
    ],
)
def test_keras_leaves_no_file_that_names_an_engine_which_is_absent(
    script: Script, tmp_path: Path, installed: list[str], file: str | None, left: str
) -> None:
    (tmp_path / "keras" / "backend").mkdir(parents=True)
    for name in ("keras/__init__.py", "keras/backend/__init__.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "keras" / "backend" / "load_backend.py").write_text(LOADS)
    home = tmp_path / "settings"
    home.mkdir()
    if file is not None:
        (home / "keras.json").write_text(file)
    done = script(DEFAULT_FILE, installed=installed, KERAS_HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{left}\n"


def test_run_tells_what_chose_an_engine_that_is_absent(script: Script, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "keras").mkdir()
    (tmp_path / "keras" / "__init__.py").write_text("")
    code = "import kbridge.compat.run as r\nr.check_keras = lambda: None\n" + RUN
    done = script(code.format(args=["run", "train.py"]), installed=[], KERAS_BACKEND="jax")
    assert "The choice of 'jax' comes from KERAS_BACKEND" in done.stderr


@pytest.mark.parametrize("name", ["numpy", "tensorflow", "torch", "jax"])
def test_a_backend_draws_nothing_when_it_is_imported(script: Script, name: str) -> None:
    pytest.importorskip(name)
    done = script(SAME_NUMBERS.format(name=name))
    assert done.returncode == 0, done.stderr
