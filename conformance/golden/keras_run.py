"""Run by Python 3.7: what the real Keras 2.3.1 computes for the cases, and for the programs.

``KERAS_BACKEND=tensorflow python3.7 keras_run.py INPUTS OUTPUT``; kbridge is not imported.
``make golden`` installs what it needs and runs it. What OUTPUT holds already is not computed again;
after a change here, remove it.
"""

# ruff: noqa: B905  # zip has no strict= in Python 3.7

from __future__ import annotations

import inspect
import multiprocessing
import operator
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import packed
import programs

#: Theano without compiling C, and as it is written: the arrays are small. What is left out would
#: look for a convolution in C.
THEANO_FLAGS = (
    "device=cpu,cxx=,linker=py,optimizer=fast_compile,"
    "optimizer_excluding=conv_opt:local_abstractconv_check"
)
#: The functions in which Keras wants a number for each axis, and how many axes there are.
AXES = {
    **dict.fromkeys(("conv2d", "conv2d_transpose", "depthwise_conv2d", "separable_conv2d"), 2),
    **dict.fromkeys(("conv3d", "conv3d_transpose", "pool3d"), 3),
    "pool2d": 2,
    "local_conv1d": 1,
    "local_conv2d": 2,
}
#: Keras's backend, once a process has imported it.
K: Any = None


def main(inputs: str, output: str) -> None:
    """Write the results for the cases in ``inputs``, and those of the programs, to ``output``.

    What ``output`` holds already, for the same digest, is kept. The rest comes from another
    process, since some calls end it; it is started again behind them.
    """
    given = packed.load(inputs)
    before = packed.load(output) if os.path.exists(output) else {}
    found = {
        label: old for label, old in before.items() if old["digest"] == given["digests"].get(label)
    }
    kept, labels = len(found), [label for _, label, _ in tasks(given, found)]
    while labels:
        here, there = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.Process(target=work, args=(given, found, there))
        worker.start()
        there.close()
        try:
            while labels:
                found[labels[0]] = here.recv()
                labels.pop(0)
                if sys.stdout.isatty():
                    print(f"\r{len(labels):6} left", end="", flush=True)
        except EOFError:
            worker.join()
            if worker.exitcode > 0:
                sys.exit(worker.exitcode)  # no single call did it, and the error has been shown
            found[labels.pop(0)] = {"error": f"signal {-worker.exitcode} ends the process"}
        worker.join()
    for label, digest in given["digests"].items():
        found[label]["digest"] = digest
    packed.save(output, found)
    print(f"\r{len(found)} results, {kept} of them kept")


def tasks(given: dict[str, Any], found: Any) -> list[tuple[str, str, Callable[[], Any]]]:
    """What is to be computed yet: what shares a graph, a label, and the function for it."""
    left: list[Any] = [
        ("", "names", lambda: {"values": [n for n in given["names"] if hasattr(K, n)]})
    ]
    for case in given["cases"]:
        for run in case["runs"]:
            function = evaluated if run["weights"] is None else gradient
            left.append((case["operation"], run["label"], partial(function, case["steps"], run)))
    for name, program in programs.PROGRAMS.items():
        left.append((name, name, partial(lambda program: {"values": [program(K)]}, program)))
    return [task for task in left if task[1] not in found]


def work(given: dict[str, Any], found: Any, results: Any) -> None:
    """Send the results of the tasks in order, those that are found left out."""
    start_keras()
    last = ""
    for group, _, task in tasks(given, found):
        if group != last:
            reset()
            last = group
        results.send(attempt(task))


def start_keras() -> None:
    """Import Keras, and let it say only what went wrong."""
    global K
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("THEANO_FLAGS", THEANO_FLAGS)
    warnings.simplefilter("ignore")
    import keras
    from keras import backend

    assert keras.__version__ == "2.3.1", keras.__version__
    K = backend
    if K.backend() == "tensorflow":
        import tensorflow

        tensorflow.compat.v1.logging.set_verbosity("ERROR")


def reset() -> None:
    """The settings as at the start, and no graph of earlier cases."""
    K.set_floatx("float32")
    K.set_epsilon(1e-7)
    K.set_image_data_format("channels_last")
    np.random.seed(20)
    if K.backend() == "tensorflow":  # Theano's has none
        K.clear_session()


def attempt(function: Callable[[], Any]) -> dict[str, Any]:
    """What the function returns, or the class and first line of its error."""
    try:
        return function()
    except Exception as error:
        if os.environ.get("GOLDEN_TRACE"):
            traceback.print_exc()
        line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        line = re.sub(r"_\d+\b", "", line)  # how many nodes there were before
        return {"error": f"{type(error).__name__}: {line[:200]}"}


def evaluated(steps: Any, run: dict[str, Any]) -> dict[str, Any]:
    """The values of one call, or its gradients where the run has weights."""
    feeds = run["operands"]
    placeholders = [K.placeholder(shape=feed.shape, dtype=str(feed.dtype)) for feed in feeds]
    result = followed(steps, {}, placeholders)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    # TensorFlow refuses to fetch what is fed.
    outputs = [K.identity(o) if any(o is p for p in placeholders) else o for o in outputs]
    if run["weights"] is not None:
        outputs = slopes(outputs, run["weights"], [placeholders[i] for i in run["sources"]])
    wanted = [output for output in outputs if output is not None]
    values = [np.asarray(value) for value in K.function(placeholders, wanted)(list(feeds))]
    for value in values:
        if value.dtype.kind not in "fiub":
            raise TypeError(f"the result is an array of {value.dtype}")
    found = iter(values)
    return {"values": [None if output is None else next(found) for output in outputs]}


def gradient(steps: Any, run: dict[str, Any]) -> dict[str, Any]:
    """The gradients of one call: in float32 where Keras refuses float64."""
    try:
        return evaluated(steps, run)
    except Exception:
        short = {**run, "operands": [narrow(array) for array in run["operands"]]}
        try:
            return evaluated(steps, short)
        except Exception:
            pass
        raise


def narrow(array: Any) -> Any:
    """A float array as float32."""
    return array.astype("float32") if array.dtype == "float64" else array


def slopes(outputs: list[Any], weights: list[Any], sources: list[Any]) -> list[Any]:
    """The gradients of the weighted sum of the results."""
    terms = [
        K.sum(output * K.constant(weight, dtype=K.dtype(output)))
        for output, weight in zip(outputs, weights)
        if weight is not None
    ]
    loss = terms[0]
    for term in terms[1:]:
        loss = loss + term
    return list(K.gradients(loss, sources))


def followed(steps: Any, outside: dict[int, Any], given: Any) -> Any:
    """The result of the steps; ``outside`` holds the values that Refs around them name."""
    values = dict(outside)
    values.update((ref.number, value) for ref, value in zip(steps.parameters, given))

    def filled(argument: Any) -> Any:
        if isinstance(argument, packed.Ref):
            return values[argument.number]
        if isinstance(argument, packed.Steps):
            return lambda *inner: followed(argument, values, inner)
        if isinstance(argument, (list, tuple)):
            return type(argument)([filled(item) for item in argument])
        if isinstance(argument, slice):
            return slice(*(filled(i) for i in (argument.start, argument.stop, argument.step)))
        if hasattr(argument, "tocoo"):  # Keras takes a SciPy matrix only as a variable
            return K.variable(argument)
        return argument

    for name, args, kwargs, number in steps.calls:
        home, _, plain = name.rpartition(".")
        function = getattr(operator if home else K, plain)
        args, kwargs = filled(args), {k: filled(v) for k, v in kwargs.items()}
        if plain in AXES:
            args, kwargs = spelt_out(function, AXES[plain], args, kwargs)
        values[number] = function(*args, **kwargs)
    return filled(steps.result)


def spelt_out(function: Any, axes: int, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments with a number for each axis where kbridge takes one number for all."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    for name in ("strides", "dilation_rate", "pool_size", "kernel_size"):
        if isinstance(bound.arguments.get(name), int):
            bound.arguments[name] = (bound.arguments[name],) * axes
    return bound.args, bound.kwargs


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="golden-") as home:  # not the user's own keras.json
        os.environ["KERAS_HOME"] = home
        main(*sys.argv[1:])
