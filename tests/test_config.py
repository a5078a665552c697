"""keras.json, KERAS_HOME, and the settings that kbridge shares with Keras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kbridge import config
from kbridge.errors import ArgumentError, ConfigError, UnsupportedError

KERAS_DEFAULT = (
    "{\n"
    '    "floatx": "float32",\n'
    '    "epsilon": 1e-07,\n'
    '    "backend": "tensorflow",\n'
    '    "image_data_format": "channels_last"\n'
    "}"
)
READ = "from kbridge import config; print(config.floatx(), config.epsilon())"


def settings() -> tuple[str, float, str]:
    return config.floatx(), config.epsilon(), config.image_data_format()


# --- getters and setters -------------------------------------------------------------------


@pytest.fixture
def fresh(keras_json):
    """Settings at their defaults, from an empty file."""
    keras_json({})


def test_defaults(fresh):
    assert settings() == ("float32", 1e-07, "channels_last")


@pytest.mark.parametrize("value", ["float16", "bfloat16", "float32", "float64"])
def test_set_floatx(fresh, value):
    config.set_floatx(value)
    assert config.floatx() == value


@pytest.mark.parametrize("value", [1e-5, 1, 0, np.float32(0.5), np.float16(0.5), np.array(0.5)])
def test_set_epsilon(fresh, value):
    config.set_epsilon(value)
    assert config.epsilon() == float(value)
    assert type(config.epsilon()) is float


@pytest.mark.parametrize("value", ["channels_first", "channels_last"])
def test_set_image_data_format(fresh, value):
    config.set_image_data_format(value)
    assert config.image_data_format() == value


@pytest.mark.parametrize("value", ["float8", "FLOAT32", "", None, np.float32, 32, ["float32"]])
def test_bad_floatx(fresh, value):
    config.set_floatx("float64")
    with pytest.raises(ConfigError, match="must be one of float16, bfloat16, float32, float64"):
        config.set_floatx(value)
    assert config.floatx() == "float64"


@pytest.mark.parametrize(
    "value", ["x", "1e-5", None, True, float("nan"), float("inf"), -1e-7, [1e-7], 10**400, 1j]
)
def test_bad_epsilon(fresh, value):
    config.set_epsilon(0.25)
    with pytest.raises(ConfigError, match="must be a finite number that is not negative"):
        config.set_epsilon(value)
    assert config.epsilon() == 0.25


@pytest.mark.parametrize("value", ["channels", "tf", None, 1])
def test_bad_image_data_format(fresh, value):
    with pytest.raises(ConfigError, match="must be one of channels_last, channels_first"):
        config.set_image_data_format(value)
    assert config.image_data_format() == "channels_last"


def test_config_error_is_a_value_error_that_names_the_value(fresh):
    with pytest.raises(ValueError, match=r"^set_floatx\('float8'\): floatx must be"):
        config.set_floatx("float8")


def test_normalize_data_format(fresh):
    assert config.normalize_data_format("Channels_First") == "channels_first"
    assert config.normalize_data_format(None) == "channels_last"
    config.set_image_data_format("channels_first")
    assert config.normalize_data_format(None) == "channels_first"
    for bad in ("channels", 3):
        with pytest.raises(ArgumentError, match=r"one of channels_last, channels_first, or None"):
            config.normalize_data_format(bad)


def test_cast_to_floatx(fresh):
    array = config.cast_to_floatx(np.array([1.0, 2.0], dtype="float64"))
    assert array.dtype == "float32"
    assert array.tolist() == [1.0, 2.0]
    scalar = config.cast_to_floatx(0.5)
    assert isinstance(scalar, np.ndarray)
    assert scalar.shape == ()


def test_cast_to_bfloat16(fresh):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    config.set_floatx("bfloat16")
    assert config.cast_to_floatx([1, 2]).dtype == ml_dtypes.bfloat16


def test_cast_to_bfloat16_without_ml_dtypes(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    config.set_floatx("bfloat16")
    with pytest.raises(UnsupportedError, match="pip install ml_dtypes"):
        config.cast_to_floatx([1, 2])


def test_the_old_spelling(fresh):
    with pytest.warns(DeprecationWarning, match=r"use image_data_format\(\)") as caught:
        assert config.image_dim_ordering() == "tf"
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"use set_image_data_format\(\)"):
        config.set_image_dim_ordering("th")
    assert config.image_data_format() == "channels_first"
    with pytest.warns(DeprecationWarning, match="deprecated"):
        assert config.image_dim_ordering() == "th"
    with (
        pytest.warns(DeprecationWarning, match="deprecated"),
        pytest.raises(ConfigError, match=r"'tf'.*'th'"),
    ):
        config.set_image_dim_ordering("channels_last")
    assert config.image_data_format() == "channels_first"


# --- the file ------------------------------------------------------------------------------


def test_file_is_read(keras_json):
    keras_json({"floatx": "bfloat16", "epsilon": 1, "image_data_format": "channels_first"})
    assert settings() == ("bfloat16", 1.0, "channels_first")
    assert config.load().backend is None


def test_file_with_some_keys_and_unknown_ones_is_left_alone(keras_json):
    file = keras_json('{"floatx": "float64", "nnx_enabled": true}')
    before = file.read_bytes(), file.stat().st_mtime_ns
    assert settings() == ("float64", 1e-07, "channels_last")
    config.set_floatx("float16")
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert os.listdir(file.parent) == ["keras.json"]


def test_file_with_byte_order_mark(keras_json):
    keras_json(b"\xef\xbb\xbf" + b'{"floatx": "float64"}')
    assert config.floatx() == "float64"


def test_backend_that_kbridge_lacks_is_no_error_by_itself(keras_json):
    keras_json({"backend": "openvino", "floatx": "float16"})
    assert config.floatx() == "float16"
    assert config.load().backend == "openvino"


def test_sources(keras_json):
    file = keras_json({"floatx": "float64"})
    config.set_epsilon(0.5)
    assert config.load().sources == {
        "floatx": str(file),
        "epsilon": "set_epsilon()",
        "backend": "default",
        "image_data_format": "default",
    }


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"floatx": "float32", "epsil', r"line 1, column 23: not valid JSON"),
        ("", r"line 1, column 1: not valid JSON"),
        ('{"floatx": "float32",\n "epsilon": }', r"line 2, column 13: not valid JSON"),
        (b'{\n"a": "\xff"}', r"line 2, column 7: not valid JSON \(not utf-8 text\)"),
    ],
)
def test_malformed_file(keras_json, content, place):
    """CFG-2: never ignored, never rewritten."""
    file = keras_json(content)
    before = file.read_bytes()
    start = time.monotonic()
    with pytest.raises(ConfigError, match=place) as caught:
        config.floatx()
    assert 1 <= time.monotonic() - start < 3
    assert str(caught.value).startswith(f"{file}, line ")
    assert "Correct the file, or delete it" in str(caught.value)
    assert file.read_bytes() == before


def test_malformed_file_can_be_corrected(keras_json):
    keras_json("{")
    with pytest.raises(ConfigError):
        config.set_floatx("float64")
    keras_json('{"epsilon": 0.5}')
    assert settings() == ("float32", 0.5, "channels_last")


def test_half_written_file_is_awaited(keras_json):
    file = keras_json('{"floatx": "flo')
    threading.Timer(0.3, file.write_text, ['{"floatx": "float64"}']).start()
    assert config.floatx() == "float64"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('{\n"floatx": "float8"}', "line 2: \"floatx\" is 'float8', but must be one of float16, "),
        ('{"epsilon": "x"}', "line 1: \"epsilon\" is 'x', but must be a finite number"),
        ('{"epsilon": NaN}', 'line 1: "epsilon" is nan, but must be a finite number'),
        ('{"epsilon": true}', 'line 1: "epsilon" is True, but must be a finite number'),
        ('{"backend": null}', 'line 1: "backend" is None, but must be the name of a backend'),
        (
            '{\n\n"image_data_format": "tf"}',
            "line 3: \"image_data_format\" is 'tf', but must be one of channels_last, ",
        ),
        ("[1]", "line 1: holds [1], but must hold one JSON object with any of the keys floatx, "),
    ],
)
def test_bad_value_in_file(keras_json, content, fault):
    file = keras_json(content)
    start = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        config.epsilon()
    assert str(caught.value).startswith(f"{file}, {fault}")
    assert "or delete" in str(caught.value)
    assert file.read_text() == content
    assert time.monotonic() - start < 0.5  # only what may be half-written is read again


def test_file_that_cannot_be_read(keras_json):
    file = keras_json("{}")
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match=r"keras\.json cannot be read: Is a directory"):
        config.floatx()


# --- where the file lies, and when it is created ---------------------------------------------


def test_path(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KERAS_HOME", raising=False)
    assert config.path() == str(tmp_path / ".keras" / "keras.json")
    monkeypatch.setenv("KERAS_HOME", "")
    assert config.path() == str(tmp_path / ".keras" / "keras.json")
    monkeypatch.setenv("KERAS_HOME", "elsewhere")
    assert config.path() == os.path.join("elsewhere", "keras.json")


def test_user_without_home(monkeypatch):
    monkeypatch.delenv("KERAS_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(config, "_state", None)
    assert config.path() is None
    assert settings() == ("float32", 1e-07, "channels_last")


def test_created_as_keras_would_where_tensorflow_is_installed(script, tmp_path):
    home = tmp_path / "new" / "keras"
    done = script(READ, installed=["tensorflow"], KERAS_HOME=str(home), KERAS_BACKEND="numpy")
    assert (done.stdout, done.stderr) == ("float32 1e-07\n", "")
    assert os.listdir(home) == ["keras.json"]
    assert (home / "keras.json").read_text() == KERAS_DEFAULT
    umask = os.umask(0)
    os.umask(umask)
    assert (home / "keras.json").stat().st_mode & 0o777 == 0o666 & ~umask


def test_not_created_without_tensorflow(script, tmp_path):
    done = script(READ, installed=["torch", "jax"], KERAS_HOME=str(tmp_path / "new"))
    assert (done.stdout, done.stderr) == ("float32 1e-07\n", "")
    assert not (tmp_path / "new").exists()


def test_a_folder_called_tensorflow_is_no_tensorflow(script, tmp_path):
    (tmp_path / "tensorflow").mkdir()
    code = "from kbridge import config; print(config.is_installed('tensorflow'))"
    # Beside a real one the folder loses: a package comes before a bare folder.
    code = f"import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n{code}"
    assert script(code).stdout == "False\n"


def test_existing_file_stays(script, tmp_path):
    file = tmp_path / "keras.json"
    file.write_text('{"backend": "theano", "mine": 1}')
    before = file.stat()
    done = script(READ, installed=["tensorflow"], KERAS_HOME=str(tmp_path), KERAS_BACKEND="numpy")
    assert done.stdout == "float32 1e-07\n"
    assert file.read_text() == '{"backend": "theano", "mine": 1}'
    assert file.stat().st_mtime_ns == before.st_mtime_ns


def test_many_processes_at_once(script, clean_env, tmp_path):
    """CFG-3: 24 first imports; nobody ever sees a partial file."""
    script("", installed=["tensorflow"])  # makes the stub
    file = tmp_path / "new" / "keras.json"
    paths = os.pathsep.join([str(tmp_path / "stubs"), clean_env["PYTHONPATH"]])
    env = {**clean_env, "KERAS_HOME": str(file.parent), "PYTHONPATH": paths}
    processes = [
        subprocess.Popen([sys.executable, "-c", READ], env=env, stdout=subprocess.DEVNULL)
        for _ in range(24)
    ]
    seen = set()
    while any(process.poll() is None for process in processes):
        if file.exists():
            seen.add(file.read_text())
        time.sleep(0.001)
    assert [process.wait() for process in processes] == [0] * 24
    assert seen <= {KERAS_DEFAULT}
    assert json.loads(file.read_text()) == config.DEFAULTS
    assert os.listdir(file.parent) == ["keras.json"]


def test_a_file_that_appears_meanwhile_wins(keras_json, monkeypatch):
    file = Path(config.path())
    monkeypatch.setattr(config, "is_installed", lambda _: True)
    create = config._create

    def late(path):
        file.write_text('{"floatx": "float64"}')
        create(path)

    monkeypatch.setattr(config, "_create", late)
    assert config.floatx() == "float64"
    assert file.read_text() == '{"floatx": "float64"}'
    assert os.listdir(file.parent) == ["keras.json"]


def test_unlinkable_home_is_no_error(keras_json, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(config, "is_installed", lambda _: True)
    monkeypatch.setattr(os, "link", refuse)
    assert config.floatx() == "float32"
    assert os.listdir(Path(config.path()).parent) == []


@pytest.mark.parametrize("home", ["/proc/kbridge", "{file}", "{file}/home"])
def test_unwritable_home_is_no_error(script, tmp_path, home):
    """CFG-4a: these homes are unwritable for root too."""
    (tmp_path / "file").write_text("")
    code = f"""
import sys
touched = []
def hook(event, args):
    if event in ("open", "os.mkdir", "os.link", "os.rename") and ".keras" in str(args[0]):
        touched.append(str(args[0]))
sys.addaudithook(hook)
{READ}
print(*touched, sep="\\n")
"""
    home = home.format(file=tmp_path / "file")
    done = script(code, installed=["tensorflow"], HOME=home)
    first, *touched = done.stdout.splitlines()
    assert (first, done.stderr) == ("float32 1e-07", "")
    assert touched
    assert all(path.startswith(home) for path in touched)  # nothing under /tmp/.keras


def test_keras_home_overrides_an_unwritable_home(script, tmp_path):
    """CFG-4b."""
    (tmp_path / "keras.json").write_text('{"floatx": "float64"}')
    done = script(READ, installed=[], HOME="/proc/kbridge", KERAS_HOME=str(tmp_path))
    assert (done.stdout, done.stderr) == ("float64 1e-07\n", "")


def test_importing_config_reads_nothing(script, tmp_path):
    (tmp_path / "keras.json").write_text("{")
    code = "import sys, kbridge.config, kbridge.loader; print('numpy' in sys.modules)"
    done = script(code, KERAS_HOME=str(tmp_path))
    assert (done.stdout, done.stderr) == ("False\n", "")


# --- following Keras 2.3.1 -----------------------------------------------------------------


@pytest.fixture
def keras_common(fresh):
    """A module with the getters and setters of ``keras.backend.common`` in Keras 2.3.1."""
    module = ModuleType("keras.backend.common")
    exec(
        """
_FLOATX, _EPSILON, _IMAGE_DATA_FORMAT = 'float64', 1e-3, 'channels_first'
def floatx(): return _FLOATX
def epsilon(): return _EPSILON
def image_data_format(): return _IMAGE_DATA_FORMAT
def set_floatx(floatx):
    global _FLOATX
    if floatx not in {'float16', 'float32', 'float64'}:
        raise ValueError('Unknown floatx type: ' + str(floatx))
    _FLOATX = str(floatx)
def set_epsilon(e):
    global _EPSILON
    _EPSILON = float(e)
def set_image_data_format(data_format):
    global _IMAGE_DATA_FORMAT
    _IMAGE_DATA_FORMAT = str(data_format)
""",
        vars(module),
    )
    config.follow(module)
    yield module
    config.follow(None)


def test_followed_state_is_read(keras_common):
    assert settings() == ("float64", 1e-3, "channels_first")
    keras_common.set_floatx("float16")
    assert config.floatx() == "float16"
    assert config.normalize_data_format(None) == "channels_first"
    assert config.cast_to_floatx(1).dtype == "float16"


def test_followed_state_is_written(keras_common):
    config.set_floatx("float32")
    config.set_epsilon(0.5)
    config.set_image_data_format("channels_last")
    assert keras_common._FLOATX == "float32"
    assert keras_common._EPSILON == 0.5
    assert keras_common._IMAGE_DATA_FORMAT == "channels_last"
    assert settings() == ("float32", 0.5, "channels_last")


def test_followed_state_is_kept_on_a_bad_value(keras_common):
    with pytest.raises(ConfigError, match="must be one of"):
        config.set_floatx("float8")
    with pytest.raises(ConfigError, match=r"refused by .*keras\.backend\.common: Unknown floatx"):
        config.set_floatx("bfloat16")
    assert config.floatx() == "float64"


def test_following_ends(keras_common):
    config.follow(None)
    assert settings() == ("float32", 1e-07, "channels_last")
