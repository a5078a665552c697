"""The option ``--backend``, and one test per backend and check."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("kbridge.conformance") is None:
    # A checkout that is not installed: this folder is the package.
    _here = Path(__file__).parent
    _spec = importlib.util.spec_from_file_location(
        "kbridge.conformance", _here / "__init__.py", submodule_search_locations=[str(_here)]
    )
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["kbridge.conformance"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["kbridge.conformance"])

from kbridge import loader
from kbridge.conformance import expectations, suite
from kbridge.errors import BackendError, ConfigError


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backend",
        action="append",
        default=[],
        metavar="NAME",
        help="a backend to check: a name or a dotted path; may be given several times (numpy)",
    )

    parser.addoption(
        "--expected",
        metavar="FILE",
        help="the checks that are expected to fail, in TOML; by default the file "
        "expected_failures.toml in the package of the backend",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send each group to one process; pytest-xdist's own marks are lost where pytest is newer."""
    from xdist.scheduler import LoadScopeScheduling

    class ByOperation(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return suite.group(nodeid)

    return ByOperation(config, log)


def backends(config: pytest.Config) -> list[str]:
    return list(dict.fromkeys(config.getoption("--backend"))) or ["numpy"]


def pytest_sessionstart(session: pytest.Session) -> None:
    file = session.config.getoption("--expected")
    for name in backends(session.config):
        try:
            loader.load_backend(name)
            _expect(name, file)
        except (BackendError, ConfigError) as error:
            raise pytest.UsageError(str(error)) from error


def _expect(backend: str, file: str | None) -> None:
    """Read which checks are expected to fail; each must be a check."""
    if file and backend in loader.BUILTIN:
        raise pytest.UsageError(
            f"--expected is for backends of others; what is known of {backend!r} stands in "
            f"conformance/expected_failures.py"
        )
    if file:
        expectations.named[backend] = Path(file)
    known = suite.keys()
    unknown = expectations.unknown_names(backend, {"-".join(key) for key in known})
    if unknown:
        raise pytest.UsageError(
            f"expected to fail on {backend!r}, but there are no such checks: {', '.join(unknown)}"
        )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = backends(metafunc.config)
    for fixture, items in suite.ITEMS.items():
        if fixture in metafunc.fixturenames:
            params = [p for name in names for p in items(name, len(names) > 1)]
            metafunc.parametrize(fixture, params)


@pytest.fixture(autouse=True)
def fresh_settings() -> Iterator[None]:
    """Each test starts with Keras's own settings, whatever file or test came before."""
    suite.reset()
    yield
    suite.reset()
