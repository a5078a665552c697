"""Checks that are expected to fail: kbridge's own list, or a third party's file.

What is known of the built-in backends stands in ``expected_failures.py``. A third party keeps a
file ``expected_failures.toml`` in the package that its backend's module belongs to, or names one
by ``kbridge check BACKEND --expected FILE``::

    [[failure]]
    checks = ["conv3d-*-gradient", "dot-sizes-native"]
    raises = "NotImplementedError"
    reason = "the engine has no gradient of 3-D convolutions"

``checks`` are names as ``kbridge check`` prints them, ``*`` standing for any text. ``raises`` is a
built-in exception, one of ``kbridge.errors``, ``Mismatch`` (a wrong result), or a dotted path.
The list is strict: a check that passes after all fails, and so does a name that is no check's.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from kbridge import errors, loader
from kbridge.conformance.compare import Mismatch
from kbridge.conformance.expected_failures import EXPECTED
from kbridge.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

FILE = "expected_failures.toml"
_FIELDS = ("checks", "raises", "reason")

#: The files that ``--expected`` names, by backend.
named: dict[str, Path] = {}


class Expectation(NamedTuple):
    """Why some checks fail."""

    checks: tuple[str, ...]
    raises: type[BaseException]
    reason: str


def expected(backend: str, key: tuple[str, ...]) -> tuple[type[BaseException], str] | None:
    """The exception and the reason, if the check ``key`` of the backend is expected to fail."""
    if backend in loader.BUILTIN:
        return EXPECTED.get((backend, *key))
    name = "-".join(key)
    for each in of(backend):
        if any(fnmatchcase(name, pattern) for pattern in each.checks):
            return each.raises, each.reason
    return None


@functools.cache
def of(backend: str) -> tuple[Expectation, ...]:
    """The expected failures in a third party's file."""
    file = named.get(backend) or beside(backend)
    return read(file) if file else ()


def beside(backend: str) -> Path | None:
    """The file in the package of the backend's module, if there is one."""
    module = loader.load_module(backend)
    if not module.__package__ or not getattr(module, "__file__", None):
        return None  # a module that stands alone: beside it are other people's files
    file = Path(str(module.__file__)).parent / FILE
    return file if file.is_file() else None


def read(file: Path) -> tuple[Expectation, ...]:
    """The entries of a file; a ConfigError says what is wrong with it."""
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: is no TOML: {error}.") from error
    unknown = sorted(set(content) - {"failure"})
    entries = content.get("failure", [])
    if unknown or not isinstance(entries, list):
        raise ConfigError(
            f"{file}: holds {unknown[0] if unknown else 'failure'!r}, where only tables "
            f"[[failure]] are expected."
        )
    return tuple(_entry(f"{file}: failure {i}", each) for i, each in enumerate(entries, 1))


def _entry(where: str, given: dict[str, Any]) -> Expectation:
    if sorted(given) != sorted(_FIELDS):
        raise ConfigError(
            f"{where}: has the fields {', '.join(given) or 'none'}; expected are exactly "
            f"{', '.join(_FIELDS)}."
        )
    checks, raises, reason = (given[field] for field in _FIELDS)
    if not isinstance(checks, list) or not checks or not all(isinstance(c, str) for c in checks):
        raise ConfigError(f"{where}: checks must be a list of names, got {checks!r}.")
    if not isinstance(reason, str) or not reason.strip():
        raise ConfigError(f"{where}: reason must say why the checks fail, got {reason!r}.")
    return Expectation(tuple(checks), _exception(where, raises), reason)


def _exception(where: str, name: Any) -> type[BaseException]:
    """The exception class of that name."""
    text = name if isinstance(name, str) else ""
    path, _, last = text.rpartition(".")
    found: Any = None
    if path:
        try:
            found = getattr(importlib.import_module(path), last, None)
        except ImportError:
            found = None
    elif last == Mismatch.__name__:
        found = Mismatch
    else:
        found = getattr(errors, last, None) or getattr(builtins, last, None)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise ConfigError(
            f"{where}: raises must name a built-in exception, one of kbridge.errors, Mismatch, or "
            f"the dotted path of an exception's class; got {name!r}."
        )
    return found


def unknown_names(backend: str, names: set[str]) -> list[str]:
    """What the backend's list names without any check of that name among ``names``."""
    if backend in loader.BUILTIN:
        listed = ["-".join(key[1:]) for key in EXPECTED if key[0] == backend]
    else:
        listed = [pattern for each in of(backend) for pattern in each.checks]
    return [p for p in listed if p not in names and not any(fnmatchcase(n, p) for n in names)]
