"""From a name to a validated backend, and every way in which that fails."""

from __future__ import annotations

import logging
import re
import sys
import threading
from types import ModuleType

import pytest

from kbridge import config, errors, loader

FLAT = """
def placeholder(*args, **kwargs): return 'ph'
def variable(*args, **kwargs): return 'var'
def function(*args, **kwargs): return 'fn'
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write modules of the user's, by their path below a folder on sys.path."""
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)

    def write(path: str, text: str = FLAT):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    yield write
    for name in set(sys.modules) - known:
        if str(tmp_path) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


@pytest.fixture
def plugin(write):
    """Announce a backend by an entry point, as an installed package does."""

    def plugin(name: str, value: str, distribution: str = "toy-package"):
        folder = f"{distribution.replace('-', '_')}-1.0.dist-info"
        write(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        write(f"{folder}/entry_points.txt", f"[kbridge.backends]\n{name} = {value}\n")

    return plugin


@pytest.fixture
def unbound(monkeypatch, keras_json):
    """A process in which nothing is chosen and loaded yet, without the user's settings."""
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    for name, value in {"_asked": None, "_global": None, "_loaded": {}}.items():
        monkeypatch.setattr(loader, name, value)


def fails(name: str, error: type[Exception], message: str) -> BaseException:
    """Load `name`; return the error, after a check of its exact class and its message."""
    with pytest.raises(error) as caught:
        loader.load_module(name)
    assert type(caught.value) is error
    assert re.fullmatch(message, str(caught.value)), str(caught.value)
    return caught.value


THERE_ARE = r"There are numpy, tensorflow, torch, jax \(built in\), and any importable module, .*"


# --- what can be loaded --------------------------------------------------------------------


def test_module_beside_the_program(write):
    write("okb.py")
    assert loader.load_module("okb").placeholder() == "ph"


def test_dotted_path(write):
    write("pack/__init__.py", "")
    write("pack/deep.py")
    assert loader.load_module("pack.deep").__name__ == "pack.deep"


def test_entry_point(write, plugin):
    write("pack/__init__.py", "")
    write("pack/deep.py")
    plugin("my-toy", "pack.deep")
    assert loader.load_module("my-toy").__name__ == "pack.deep"
    assert [entry.name for entry in loader.entry_points()] == ["my-toy"]
    assert loader.distribution_of(loader.entry_points()[0]) == "toy-package 1.0"


def test_functions_may_come_from_getattr(write):
    write("lazy_backend.py", "def __getattr__(name): return lambda *args, **kwargs: name\n")
    assert loader.load_module("lazy_backend").function() == "function"


def test_built_in_goes_before_an_entry_point(write, plugin):
    write("other.py")
    plugin("numpy", "other")
    assert loader.path_of("numpy") == "kbridge.backends.numpy"


# --- every way to fail ---------------------------------------------------------------------


def test_unknown_name():
    error = fails("tensorfow", errors.UnknownBackendError, ".*")
    assert str(error) == (
        "Unknown backend 'tensorfow'. Did you mean 'tensorflow'? There are numpy, tensorflow, "
        "torch, jax (built in), and any importable module, named by its dotted path, that defines "
        "placeholder, variable, function."
    )
    assert isinstance(error, ValueError)
    assert isinstance(error, ImportError)


def test_unknown_name_in_capitals():
    fails("PyTorch", errors.UnknownBackendError, r".*Did you mean 'torch'\? There are .*")


def test_unknown_name_like_no_other():
    fails("zzz", errors.UnknownBackendError, f"Unknown backend 'zzz'. {THERE_ARE}")


def test_unknown_name_lists_plugins(plugin):
    plugin("toy", "toy_backend")
    message = r".*Did you mean 'toy'\? There are .* \(built in\), toy \(from toy-package 1\.0\), .*"
    fails("toyy", errors.UnknownBackendError, message)


@pytest.mark.parametrize(("name", "successor"), [("theano", "pytensor"), ("cntk", "onnx")])
def test_backends_of_the_past(name, successor, write, plugin):
    install = (
        f"Install kbridge-{successor}, in a checkout of kbridge with: "
        f"pip install plugins/kbridge-{successor}. {THERE_ARE}"
    )
    gave_up = f"Backend '{name}' is not built in: Keras gave it up. '{successor}' takes its place. "
    fails(name, errors.UnknownBackendError, gave_up + install)
    fails(
        successor, errors.UnknownBackendError, f"Backend '{successor}' is not built in. {install}"
    )
    write("new_engine.py")
    plugin(successor, "new_engine")
    assert loader.load_module(name) is loader.load_module(successor)
    assert loader.load_module(name).__name__ == "new_engine"


def test_a_plugin_may_bring_the_past_back(write, plugin):
    write("new_theano.py")
    plugin("theano", "new_theano")
    assert loader.load_module("theano").__name__ == "new_theano"


@pytest.mark.parametrize(
    "name", ["", " ", "../okb", "okb.py/", "a..b", ".a", "os; x", "a-b", "a\nb", "3d", "c:\\x"]
)
def test_unsafe_name(name):
    message = f"{re.escape(repr(name))} cannot be the name of a backend: .* identifiers.*"
    fails(name, errors.UnknownBackendError, message + THERE_ARE)


@pytest.mark.parametrize("name", [None, 3, ModuleType("x"), ["numpy"]])
@pytest.mark.parametrize("function", [loader.load_module, loader.load_backend, loader.use_backend])
def test_name_of_wrong_type(function, name):
    with pytest.raises(errors.ArgumentTypeError, match="given by its name, such as 'numpy'"):
        function(name)


CHECK = "Check the spelling, and that its folder is on sys.path or its package is installed."


def test_absent_package():
    error = fails("no_pack.sub", errors.BackendModuleNotFoundError, ".*")
    start = "Backend 'no_pack.sub' was not found: there is no module 'no_pack'."
    assert str(error) == f"{start} {CHECK}"


def test_absent_part(write):
    write("pack/__init__.py", "")
    error = fails("pack.sub.deep", errors.BackendModuleNotFoundError, ".*")
    start = "Backend 'pack.sub.deep' was not found: 'pack' has no submodule 'sub'."
    assert str(error) == f"{start} {CHECK}"
    assert error.name == "pack.sub"
    assert isinstance(error, ModuleNotFoundError)
    assert isinstance(error.__cause__, ModuleNotFoundError)


def test_absent_module_of_an_entry_point(plugin):
    plugin("toy", "gone.backend")
    message = r"Backend 'toy' \(module gone.backend\) was not found: there is no module 'gone'.*"
    fails("toy", errors.BackendModuleNotFoundError, message)


@pytest.mark.parametrize(("name", "title"), loader.TITLES.items())
def test_engine_of_a_built_in_is_not_installed(name, title, write, monkeypatch):
    write(f"stand_in_{name}.py", f"import {name}.core\n{FLAT}")
    monkeypatch.setitem(loader.BUILTIN, name, f"stand_in_{name}")
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"{name}.core", raising=False)
    extra = "numpy" if name == "numpy" else f'"kbridge[{name}]"'
    error = fails(name, errors.MissingDependencyError, ".*")
    assert str(error) == (
        f"Backend '{name}' needs {title}, which is not installed. Install it with: "
        f"pip install {extra}"
    )
    assert error.name == name
    assert isinstance(error.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize("name", ["tensorflow", "torch", "jax"])
def test_real_built_in_without_its_engine(name, script):
    code = f"""
from kbridge import errors, loader
try:
    loader.load_module({name!r})
except errors.MissingDependencyError as error:
    print(error)
"""
    done = script(code, installed=[])
    assert done.stdout.endswith(f'Install it with: pip install "kbridge[{name}]"\n'), done.stderr


def test_dependency_of_an_engine_is_not_installed(write, monkeypatch):
    write("stand_in.py", "import no_opt_einsum")
    monkeypatch.setitem(loader.BUILTIN, "jax", "stand_in")
    message = r"Backend 'jax' needs the Python module 'no_opt_einsum', .* \"kbridge\[jax\]\""
    fails("jax", errors.MissingDependencyError, message)


def test_dependency_of_a_plugin_is_not_installed(write):
    write("needy.py", "import no_engine.core")
    message = (
        r"Backend 'needy' \(module needy\) needs the Python module 'no_engine', which is not .*"
        r"pip install no_engine"
    )
    error = fails("needy", errors.MissingDependencyError, message)
    assert error.name == "no_engine"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1 / 0", "ZeroDivisionError while it was imported: division by zero"),
        ("raise ImportError('old')", "ImportError while it was imported: old"),
        ("import json.nothing", "ModuleNotFoundError while it was imported: No module named"),
        ("raise ModuleNotFoundError('no name')", "ModuleNotFoundError while .*: no name"),
        ("def f(:", "SyntaxError while it was imported: "),
    ],
)
def test_module_that_raises(write, text, fault):
    write("broken.py", text)
    message = f"Backend 'broken' exists, but its module broken raised {fault}.*traceback above.*"
    error = fails("broken", errors.BrokenBackendError, message)
    assert type(error.__cause__).__name__ == fault.partition(" ")[0]


def test_broken_import_in_full(write):
    write("pack/__init__.py", "")
    write("pack/broken.py", "1 / 0")
    error = fails("pack.broken", errors.BrokenBackendError, ".*")
    assert str(error) == (
        "Backend 'pack.broken' exists, but its module pack.broken raised ZeroDivisionError while "
        "it was imported: division by zero. The traceback above shows where; if the backend is "
        "not yours, tell its authors."
    )


def test_unsafe_name_in_full():
    error = fails("../okb", errors.UnknownBackendError, ".*")
    assert str(error) == (
        "'../okb' cannot be the name of a backend: a dotted path consists of Python identifiers, "
        "such as my_package.my_backend. There are numpy, tensorflow, torch, jax (built in), and "
        "any importable module, named by its dotted path, that defines placeholder, variable, "
        "function."
    )


def test_mended_module_loads(write):
    file = write("broken.py", "1 / 0")
    with pytest.raises(errors.BrokenBackendError):
        loader.load_module("broken")
    file.write_text(FLAT + "mended = True\n")
    assert loader.load_module("broken").mended


def test_incomplete_module(write, caplog):
    write("half.py", "variable = 3\ndef function(inputs, outputs): pass\n")
    error = fails("half", errors.IncompleteBackendError, ".*")
    assert str(error) == (
        "Module half cannot serve as backend 'half': placeholder is missing; variable is not "
        "callable (it is of type int). A backend is a module with at least the functions "
        "placeholder, variable, function."
    )
    assert caplog.record_tuples == [("kbridge", logging.ERROR, str(error))]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "def placeholder(): pass",
            "placeholder(shape=shape) cannot be called (got an unexpected keyword argument "
            "'shape'; it is placeholder())",
        ),
        (
            "def variable(value, dtype, name): pass",
            "variable(value) cannot be called (missing a required argument: 'dtype'; it is "
            "variable(value, dtype, name))",
        ),
        (
            "def function(inputs): pass",
            "function(inputs, outputs) cannot be called (too many positional arguments; it is "
            "function(inputs))",
        ),
    ],
)
def test_wrong_signature(write, text, fault):
    write("odd_backend.py", FLAT + text + "\n")
    error = fails("odd_backend", errors.IncompleteBackendError, ".*")
    assert str(error) == (
        f"Module odd_backend cannot serve as backend 'odd_backend': {fault}. A backend is a module "
        "with at least the functions placeholder, variable, function."
    )


def test_all_faults_are_told_at_once(write):
    write("odd_backend.py", "variable = None\ndef function(): pass\n")
    message = (
        r".*: placeholder is missing; variable is not callable \(it is of type NoneType\); "
        r"function\(inputs, outputs\) cannot be called \(.*\)\. A backend is .*"
    )
    fails("odd_backend", errors.IncompleteBackendError, message)


def test_signature_that_nobody_knows(write):
    """As of a function in C: it tells when it is called."""
    text = "class Native:\n    __signature__ = 'unknown'\n    def __call__(self, *args): pass\n"
    write("compiled_backend.py", f"{text}placeholder = variable = function = Native()\n")
    assert callable(loader.load_module("compiled_backend").variable)


def test_package_that_is_no_backend():
    error = fails("json", errors.IncompleteBackendError, ".*")
    assert str(error) == (
        "Module json cannot serve as backend 'json': placeholder is missing; variable is missing; "
        "function is missing. A backend is a module with at least the functions placeholder, "
        "variable, function."
    )


def test_two_entry_points_with_one_name(plugin):
    plugin("toy", "one.backend", "one")
    plugin("toy", "two.backend", "two")
    error = fails("toy", errors.AmbiguousBackendError, ".*")
    assert str(error) == (
        "More than one installed package announces a backend 'toy': one 1.0 (one.backend) and two "
        "1.0 (two.backend). Uninstall all but one of them, or name the module by its dotted path."
    )


def test_two_entry_points_for_one_module(write, plugin):
    write("one.py")
    plugin("toy", "one", "one")
    plugin("toy", "one", "two")
    assert loader.load_module("toy").__name__ == "one"


# --- the choice ----------------------------------------------------------------------------


@pytest.fixture
def installed(monkeypatch):
    """Make some engines seem installed."""

    def installed(*names: str):
        monkeypatch.setattr(config, "is_installed", lambda name: name in names)

    return installed


@pytest.mark.parametrize(
    ("engines", "chosen"),
    [
        (("jax", "torch", "tensorflow"), "tensorflow"),
        (("jax", "torch"), "torch"),
        (("jax",), "jax"),
        ((), "numpy"),
    ],
)
def test_default(unbound, monkeypatch, tmp_path, installed, engines, chosen):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "file" / "below"))
    (tmp_path / "file").write_text("")
    installed(*engines)
    assert loader.choose() == chosen
    assert loader.choice().source.startswith("the default, since ")


def test_precedence(unbound, installed, keras_json, monkeypatch):
    installed("torch")
    keras_json({})
    assert loader.choose() == "torch"
    file = keras_json({"backend": "jax"})
    assert loader.choice() == ("jax", f'"backend" in {file}')
    monkeypatch.setenv("KERAS_BACKEND", "my.backend")
    assert loader.choice() == ("my.backend", "KERAS_BACKEND")
    loader.use_backend("numpy")
    assert loader.choice() == ("numpy", "use_backend()")


def test_empty_variable_counts_as_unset(unbound, keras_json, monkeypatch):
    """CFG-1."""
    keras_json({"backend": "jax"})
    monkeypatch.setenv("KERAS_BACKEND", "")
    assert loader.choose() == "jax"


def test_choosing_imports_no_engine(script):
    code = "from kbridge import loader; print(loader.choose())"
    done = script(code, installed=["torch", "tensorflow", "jax"])  # each would raise
    assert (done.stdout, done.stderr) == ("tensorflow\n", "")
    assert script(code, installed=["torch"]).stdout == "tensorflow\n"  # by the file made before


def test_choice_follows_what_is_installed(script):
    code = "from kbridge import loader; print(*loader.choice())"
    assert script(code, installed=["jax"]).stdout == "jax the default, since JAX is installed\n"
    assert script(code, installed=[]).stdout.startswith("numpy the default, since no other engine")


# --- the global backend --------------------------------------------------------------------


@pytest.fixture
def bound(unbound, write, monkeypatch):
    """Stand-ins for the binding: a Backend is a pair of module and name."""
    binding = ModuleType("kbridge.binding")
    binding.backend_of = lambda module, name: (module.__name__, name)
    monkeypatch.setitem(sys.modules, "kbridge.binding", binding)
    monkeypatch.setattr("kbridge.binding", binding, raising=False)
    write("okb.py")
    write("other.py")


def test_load_backend_is_cached(bound):
    backend = loader.load_backend("okb")
    assert backend == ("okb", "okb")
    assert loader.load_backend("okb") is backend
    assert loader.load_backend("other") == ("other", "other")


def test_load_backend_by_threads(bound, write):
    write("slow_backend.py", f"import time; time.sleep(0.1)\n{FLAT}")
    got = []
    threads = [
        threading.Thread(target=lambda: got.append(loader.load_backend("slow_backend")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert len(set(map(id, got))) == 1


def test_load_backend_reports_a_malformed_file(bound, keras_json):
    keras_json("[]")
    with pytest.raises(errors.ConfigError, match="must hold one JSON object"):
        loader.load_backend("okb")


def test_global_backend_is_announced_once(bound, monkeypatch, capsys):
    monkeypatch.setenv("KERAS_BACKEND", "okb")
    assert loader.global_backend() == ("okb", "okb")
    monkeypatch.setenv("KERAS_BACKEND", "other")
    assert loader.global_backend() == ("okb", "okb")
    assert capsys.readouterr() == ("", "Using okb backend.\n")


@pytest.mark.parametrize(("name", "title"), loader.TITLES.items())
def test_titles(bound, monkeypatch, capsys, name, title):
    monkeypatch.setitem(loader.BUILTIN, name, "okb")
    loader.use_backend(name)
    loader.global_backend()
    assert capsys.readouterr().err == f"Using {title} backend.\n"


def test_nothing_is_announced_without_stderr(bound, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    loader.use_backend("okb")
    loader.global_backend()
    assert capsys.readouterr().out == ""


def test_use_backend_too_late(bound):
    loader.use_backend("okb")
    loader.global_backend()
    loader.use_backend("okb")  # it is so already
    with pytest.raises(errors.BackendInUseError) as caught:
        loader.use_backend("other")
    assert str(caught.value) == (
        "use_backend('other'): kbridge.api is bound to 'okb' already (by use_backend()). Call "
        "use_backend() before the first import of kbridge.api, or use both side by side: "
        "K = kbridge.load_backend('other')."
    )
    assert loader.choose() == "okb"


def test_use_backend_by_the_other_name_of_a_built_in(bound, monkeypatch):
    monkeypatch.setitem(loader.BUILTIN, "numpy", "okb")
    loader.use_backend("numpy")
    loader.global_backend()
    loader.use_backend("okb")


def test_failed_choice_tells_where_it_came_from(bound, keras_json, capsys):
    file = keras_json({"backend": "theano"})
    with pytest.raises(errors.UnknownBackendError) as caught:
        loader.global_backend()
    assert f"(The choice of 'theano' comes from \"backend\" in {file}. What" in str(caught.value)
    assert capsys.readouterr().err == ""
    loader.use_backend("okb")  # a failure binds nothing
    assert loader.global_backend() == ("okb", "okb")


def test_failed_choice_keeps_class_and_cause(bound, write):
    write("broken.py", "1 / 0")
    loader.use_backend("broken")
    with pytest.raises(errors.BrokenBackendError) as caught:
        loader.global_backend()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


# --- the package ---------------------------------------------------------------------------


def test_importing_kbridge_imports_no_engine(script):
    code = """
import sys, kbridge
kbridge.load_backend, kbridge.use_backend, kbridge.errors, kbridge.config
slow = ('numpy', 'torch', 'jax', 'tensorflow', 'importlib.metadata')
print([name for name in slow if name in sys.modules])
"""
    done = script(code)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_unknown_attribute_of_kbridge():
    import kbridge

    assert {"load_backend", "use_backend", "api", "backend", "errors"} <= set(dir(kbridge))
    with pytest.raises(AttributeError, match="module 'kbridge' has no attribute 'nothing'"):
        kbridge.nothing  # noqa: B018  # the access is the test


@pytest.mark.parametrize(
    "statement", ["from kbridge import backend as K", "import kbridge.backend as K"]
)
def test_drop_in_spelling_is_the_api(script, tmp_path, statement):
    (tmp_path / "okb.py").write_text(FLAT)
    code = f"""
{statement}
from kbridge import api
import kbridge
assert K is api is kbridge.backend
print(K.backend(), K.placeholder((2,)), K.variable(1.0), K.function([], []))
print(hasattr(K, 'conv2d'), K.floatx(), K.get_uid('x'))
try:
    K.conv2d
except AttributeError as error:
    print(type(error).__name__, 'conv2d' in str(error), 'okb' in str(error))
"""
    done = script(code, installed=["torch"], KERAS_BACKEND="okb")
    assert done.stderr == "Using okb backend.\n"
    expected = "okb ph var fn\nFalse float32 1\nMissingOperationError True True\n"
    assert done.stdout == expected
