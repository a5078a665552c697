"""The settings that kbridge shares with Keras, and the file that they come from.

``$KERAS_HOME/keras.json`` (or ``~/.keras/keras.json``) holds ``floatx``, ``epsilon``,
``image_data_format`` and ``backend``. It is the user's: it is never overwritten, and keys that
kbridge does not know stay as they are. It is read when a setting is first needed, not when this
module is imported, so that ``import kbridge`` touches no file and cannot fail on one.

Inside Keras 2.3.1 the state is Keras's own: see :func:`follow`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from kbridge.errors import ArgumentError, ConfigError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np

FLOATX = ("float16", "bfloat16", "float32", "float64")
DATA_FORMATS = ("channels_last", "channels_first")
_DIM_ORDERINGS = {"tf": "channels_last", "th": "channels_first"}

# Keras's defaults, in the order of its file.
DEFAULTS: dict[str, Any] = {
    "floatx": "float32",
    "epsilon": 1e-07,
    "backend": "tensorflow",
    "image_data_format": "channels_last",
}

_PATIENCE = 1.0  # seconds that a file may stay unreadable: another process may be writing it


# --- what a value may be -------------------------------------------------------------------


class _Rule(NamedTuple):
    parse: Callable[[object], Any]  # the value to store, or one of _BAD
    allowed: str


_BAD = (TypeError, ValueError, OverflowError)


def _one_of(*choices: str) -> _Rule:
    def parse(value: object) -> str:
        if isinstance(value, str) and value in choices:
            return str(value)
        raise ValueError

    return _Rule(parse, "one of " + ", ".join(choices))


def _number(value: Any) -> float:
    if isinstance(value, (str, bytes, bool)) or not math.isfinite(value) or value < 0:
        raise ValueError
    return float(value)


def _name(value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError


_RULES = {
    "floatx": _one_of(*FLOATX),
    "epsilon": _Rule(_number, "a finite number that is not negative"),
    "backend": _Rule(_name, "the name of a backend"),
    "image_data_format": _one_of(*DATA_FORMATS),
}


# --- the state -----------------------------------------------------------------------------


@dataclass
class Settings:
    """The values in force, and for each where it came from."""

    floatx: str
    epsilon: float
    image_data_format: str
    backend: str | None = None  # as keras.json names it; None where the file does not
    sources: dict[str, str] = field(default_factory=dict)


class _Followed:
    """The settings of a module with Keras's getters and setters, read and written through."""

    backend = None  # whoever is followed has chosen its backend already

    def __init__(self, module: ModuleType) -> None:
        self._module: Any = module
        self.sources = dict.fromkeys(DEFAULTS, f"followed: {module.__name__}")

    @property
    def floatx(self) -> str:
        return str(self._module.floatx())

    @floatx.setter
    def floatx(self, value: str) -> None:
        self._module.set_floatx(value)

    @property
    def epsilon(self) -> float:
        return float(self._module.epsilon())

    @epsilon.setter
    def epsilon(self, value: float) -> None:
        self._module.set_epsilon(value)

    @property
    def image_data_format(self) -> str:
        return str(self._module.image_data_format())

    @image_data_format.setter
    def image_data_format(self, value: str) -> None:
        self._module.set_image_data_format(value)


_lock = threading.RLock()
_state: Settings | _Followed | None = None  # None until the first need


def load() -> Settings | _Followed:
    """Return the settings in force, reading ``keras.json`` at the first call."""
    global _state
    with _lock:
        if _state is None:
            _state = _read_settings()
        return _state


def follow(module: ModuleType | None) -> None:
    """Make `module` (``keras.backend.common`` of Keras 2.3.1) the owner of the settings.

    From now on every getter and setter here calls the one of `module`, so that kbridge and the
    Keras that loaded it as a backend never disagree. ``None`` ends it; ``keras.json`` is then
    read anew.
    """
    global _state
    with _lock:
        _state = None if module is None else _Followed(module)


def _assign(name: str, value: object) -> None:
    rule = _RULES[name]
    try:
        parsed = rule.parse(value)
    except _BAD:
        raise ConfigError(f"set_{name}({value!r}): {name} must be {rule.allowed}.") from None
    state = load()
    try:
        setattr(state, name, parsed)
    except ValueError as error:  # Keras 2.3.1, followed, knows no bfloat16
        owner = state.sources[name]
        raise ConfigError(f"set_{name}({value!r}): refused by {owner}: {error}") from error
    if not isinstance(state, _Followed):
        state.sources[name] = f"set_{name}()"


# --- the file ------------------------------------------------------------------------------


def path() -> str | None:
    """Return where ``keras.json`` is looked for; None where the user has no home at all."""
    folder = os.environ.get("KERAS_HOME")
    if not folder:
        home = os.path.expanduser("~")
        if home == "~":
            return None
        folder = os.path.join(home, ".keras")
    return os.path.join(folder, "keras.json")


def is_installed(module: str) -> bool:
    """Tell whether a top-level module can be imported, without importing it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    spec = importlib.util.find_spec(module)
    # Without an origin it is a bare folder, such as an uninstalled package leaves behind.
    return spec is not None and spec.origin is not None


def _read_settings() -> Settings:
    file = path()
    found = {} if file is None else _values_of(file)
    values = {**DEFAULTS, "backend": None, **found}
    sources = {name: str(file) if name in found else "default" for name in values}
    return Settings(**values, sources=sources)


def _values_of(file: str) -> dict[str, Any]:
    text = _read(file)
    # Only where Keras's default backend exists is Keras's default file the right one.
    if text is None and is_installed("tensorflow"):
        _create(file)
        text = _read(file)
    return {} if text is None else _parse(file, text)


def _read(file: str) -> str | None:
    """Return the text of the file once it is valid JSON; None where there is no file."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with open(file, "rb") as stream:
                raw = stream.read()
        except OSError as error:
            if not os.path.exists(file):
                return None
            raise ConfigError(
                f"{file} cannot be read: {error.strerror}. Make it readable, or set KERAS_HOME "
                f"to another folder."
            ) from error
        try:
            text = raw.decode(json.detect_encoding(raw))
            json.loads(text)
            return text
        except ValueError as error:
            if time.monotonic() >= deadline:
                raise _malformed(file, raw, error) from error
        time.sleep(0.02)


def _malformed(file: str, raw: bytes, error: ValueError) -> ConfigError:
    if isinstance(error, json.JSONDecodeError):
        line, column, reason = error.lineno, error.colno, error.msg
    elif isinstance(error, UnicodeDecodeError):
        before = raw[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        reason = f"not {error.encoding} text"
    else:  # e.g. an integer with more digits than Python converts
        line, column, reason = 1, 1, str(error)
    return ConfigError(
        f"{file}, line {line}, column {column}: not valid JSON ({reason}). Correct the file, or "
        f"delete it to go back to the defaults."
    )


def _parse(file: str, text: str) -> dict[str, Any]:
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ConfigError(
            f"{file}, line 1: holds {content!r}, but must hold one JSON object with any of the "
            f"keys {', '.join(DEFAULTS)}. Correct the file, or delete it to go back to the "
            f"defaults."
        )
    found: dict[str, Any] = {}
    for name, rule in _RULES.items():
        if name not in content:
            continue
        value = content[name]
        try:
            found[name] = rule.parse(value)
        except _BAD:
            key = re.search(rf'"{name}"\s*:', text)
            line = text.count("\n", 0, key.start()) + 1 if key else 1
            raise ConfigError(
                f'{file}, line {line}: "{name}" is {value!r}, but must be {rule.allowed}. '
                f"Correct the value, or delete the entry to use the default."
            ) from None
    return found


def _create(file: str) -> None:
    """Create the file that Keras would create; do nothing where that is not possible.

    The complete text is written beside it and then linked to its name, which is atomic and
    fails where a file appeared meanwhile.
    """
    draft = f"{file}.{os.urandom(8).hex()}"
    with suppress(OSError):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        try:
            with open(draft, "x", encoding="utf-8") as stream:
                stream.write(json.dumps(DEFAULTS, indent=4))
            os.link(draft, file)
        finally:
            os.unlink(draft)


# --- the public functions ------------------------------------------------------------------


def epsilon() -> float:
    """The small number that keeps divisions and logarithms away from 0, 1e-07 by default.

    >>> K.epsilon()
    1e-07
    """
    return (_state or load()).epsilon


def set_epsilon(e: float) -> None:
    """Set the small number that keeps divisions and logarithms away from 0.

    What is not a finite number of at least 0 raises ConfigError.

    >>> K.set_epsilon(1e-05)
    >>> K.epsilon()
    1e-05
    """
    _assign("epsilon", e)


def floatx() -> str:
    """The dtype of every tensor made without one, as a string; ``'float32'`` by default.

    >>> K.floatx()
    'float32'
    """
    return (_state or load()).floatx


def set_floatx(floatx: str) -> None:
    """Set the dtype of every tensor that is made without one from now on.

    It is ``'float16'``, ``'bfloat16'``, ``'float32'`` or ``'float64'``; anything else raises
    ConfigError.

    >>> K.set_floatx("float16")
    >>> K.dtype(K.constant([1, 2]))
    'float16'
    """
    _assign("floatx", floatx)


def cast_to_floatx(x: Any) -> np.ndarray[Any, Any]:
    """``x``, an array or a number, as a NumPy array of the dtype ``K.floatx()``.

    >>> K.cast_to_floatx(np.array([1.0, 2.0], dtype="float64")).dtype
    dtype('float32')
    """
    import numpy as np

    dtype = _bfloat16() if floatx() == "bfloat16" else np.dtype(floatx())
    return np.asarray(x, dtype=dtype)


def _bfloat16() -> Any:
    try:
        from ml_dtypes import bfloat16
    except ModuleNotFoundError as error:
        raise UnsupportedError(
            "NumPy has no bfloat16 of its own. Install it with: pip install ml_dtypes"
        ) from error
    return bfloat16


def image_data_format() -> str:
    """Where images have their channels: ``'channels_last'``, the default, or ``'channels_first'``.

    >>> K.image_data_format()
    'channels_last'
    """
    return (_state or load()).image_data_format


def set_image_data_format(data_format: str) -> None:
    """Set where images have their channels; functions read it when they are called.

    It is ``'channels_last'`` or ``'channels_first'``; anything else raises ConfigError.

    >>> K.set_image_data_format("channels_first")
    >>> K.image_data_format()
    'channels_first'
    """
    _assign("image_data_format", data_format)


def normalize_data_format(value: str | None) -> str:
    """``value`` in lower case; None is ``K.image_data_format()``.

    What is neither ``'channels_last'`` nor ``'channels_first'`` raises ArgumentError.

    >>> K.normalize_data_format("Channels_First"), K.normalize_data_format(None)
    ('channels_first', 'channels_last')
    """
    if value is None:
        return image_data_format()
    lowered = value.lower() if isinstance(value, str) else value
    if lowered not in DATA_FORMATS:
        raise ArgumentError(
            f"data_format is {value!r}, but must be one of {', '.join(DATA_FORMATS)}, or None "
            f"for the current setting."
        )
    return lowered


def image_dim_ordering() -> str:
    """``'tf'`` (channels last) or ``'th'`` (channels first), Keras 1's data format.

    It warns that ``K.image_data_format`` has its place.

    >>> K.image_dim_ordering()
    'tf'
    """
    _deprecated("image_dim_ordering()", "image_data_format()")
    return "tf" if image_data_format() == "channels_last" else "th"


def set_image_dim_ordering(dim_ordering: str) -> None:
    """Set ``'tf'`` (channels last) or ``'th'`` (channels first), Keras 1's data format.

    It warns that ``K.set_image_data_format`` has its place. Anything else raises ConfigError.

    >>> K.set_image_dim_ordering("th")
    >>> K.image_data_format()
    'channels_first'
    """
    _deprecated("set_image_dim_ordering()", "set_image_data_format()")
    if dim_ordering not in _DIM_ORDERINGS:
        raise ConfigError(
            f"set_image_dim_ordering({dim_ordering!r}): the ordering must be 'tf' "
            f"(channels_last) or 'th' (channels_first)."
        )
    set_image_data_format(_DIM_ORDERINGS[dim_ordering])


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"{old} is deprecated; use {new}.", DeprecationWarning, stacklevel=3)
