"""Looking at values while a function runs: what passes through, and what is printed when."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge import errors
from kbridge.conformance.records import case, fault, program, record
from kbridge.conformance.samples import bools, ints, normal

E = errors

record(
    "print_tensor",
    lambda x, message="", summarize=3: x,
    case(normal(2, 3)),
    case(normal(2, 9), message="x is:", summarize=2),
    case(normal(1, 4, 5), "all", -1),
    case(normal(), "a scalar"),
    case(normal(0, 3), "none"),
    case(ints(7), "integers", summarize=np.int64(1)),
    case(bools(4), summarize=None),
    dtypes="float16 bfloat16 float64 int64 uint8 bool",
    exact=True,
)


def printed(call: Callable[[], Any]) -> list[str]:
    """What ``call`` prints, by lines."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        call()
    return text.getvalue().splitlines()


@program(
    (
        ["x is: [0. 1. ... 8. 9.]"],
        ["[[ 0  1  2 ...  5  6  7]", " [ 8  9 10 ... 13 14 15]]"],
        ["rows", "of 4 [[0. 1.]", "      [2. 3.]]"],
        ["all [0. 1. 2. 3. 4. 5. 6. 7.]"],
        ["1.5"],
        ["half [1. 2.]"],
        ["large [1099511627776 1099511627777]"],
        ["fine [1.00000001]"],
    ),
    covers="print_tensor",
    natives=True,
)
def printed_text(K: Any) -> Any:
    """The same on every engine; the first and last elements of each axis."""

    def shown(value: Any, dtype: str, *how: Any) -> list[str]:
        x = K.print_tensor(K.constant(value, dtype), *how)
        return printed(lambda: K.eval(x))

    return (
        shown(np.arange(10.0), "float32", "x is:", 2),
        shown(np.arange(16).reshape(2, 8), "int32"),
        shown(np.arange(4.0).reshape(2, 2), "float32", "rows\nof 4 ", 1),
        shown(np.arange(8.0), "float32", "all", -1),
        shown(1.5, "float32"),
        shown([1.0, 2.0], "bfloat16", "half"),
        shown(np.array([2**40, 2**40 + 1]), "int64", "large"),
        shown([1.00000001], "float64", "fine"),
    )


@program(
    (["x: [1. 2.]"], ["x: [3. 4.]"], ["x: [3. 4.]"], [], [[9.0, 12.0]]),
    covers="print_tensor",
    natives=True,
)
def printed_at_each_call(K: Any) -> Any:
    """And where the result is used, not where the function was called."""
    x = K.placeholder((2,))
    y = K.print_tensor(x, "x:")
    K.print_tensor(x, "unused")
    f, g = K.function([x], [y * 3.0]), K.function([x], [x * 3.0])
    results: list[Any] = []
    return (
        printed(lambda: f([[1.0, 2.0]])),
        printed(lambda: f([[3.0, 4.0]])),
        printed(lambda: results.append(f([[3.0, 4.0]])[0])),
        printed(lambda: g([[3.0, 4.0]])),
        results,
    )


@program(
    (["x: [1. 2.]"], [3.0, 12.0], ["x: [1. 2.]"], [6.0, 12.0]),
    covers="print_tensor gradients",
    natives=True,
)
def printed_once_under_gradients(K: Any) -> Any:
    """On the way forward only, at any order, in a compiled function and outside."""
    x, v = K.placeholder((2,)), K.variable([1.0, 2.0])
    first = K.gradients(K.sum(K.pow(K.print_tensor(x, "x:"), 3)), x)[0]
    inner = K.gradients(K.sum(K.pow(K.print_tensor(v, "x:"), 3)), v)[0]
    second = K.gradients(K.sum(inner), v)[0]
    f = K.function([x], [first])
    found: list[Any] = []
    lines = printed(lambda: found.append(f([[1.0, 2.0]])[0]))
    again = printed(lambda: found.append(K.eval(second)))
    return lines, found[0], again, found[1]


@program((["sizes: [2]"], ["sizes: [3]"]), covers="print_tensor shape", natives=True)
def printed_sizes(K: Any) -> Any:
    """Of what is known before the run too, at each run."""
    x = K.placeholder((None,))
    f = K.function([x], [K.print_tensor(K.shape(x), "sizes:")])
    return printed(lambda: f([np.ones(2)])), printed(lambda: f([np.ones(3)]))


@program((["now [1. 2.]"], [1.0, 2.0]), covers="print_tensor", natives=True)
def printed_now(K: Any) -> Any:
    """A native tensor: at once."""
    x = K.engine.from_numpy(np.array([1.0, 2.0]), "float32")
    kept: list[Any] = []
    return printed(lambda: kept.append(K.print_tensor(x, "now"))), K.eval(kept[0])


fault(
    "print-summarize-text",
    lambda K, t: K.print_tensor(t(2), "x", "all"),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.print_tensor: summarize must be an integer or None, not str: 'all'",
)
fault(
    "print-summarize-zero",
    lambda K, t: K.print_tensor(t(2), summarize=0),
    E.ArgumentError,
    ValueError,
    text=r"^K\.print_tensor: summarize must be at least 1, or -1 for all elements, got 0",
)
