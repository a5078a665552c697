"""Functions, updates, gradients and symbolic tensors used wrongly, the same on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge import errors, loader
from kbridge.conformance.records import fault

E = errors


# --- functions -----------------------------------------------------------------------------------


def _placeholder(K: Any) -> Any:
    return K.placeholder((None, 3), name="given")


fault(
    "not-fed",
    lambda K, t: K.function([], [_placeholder(K) * 2.0]),
    E.GraphError,
    ValueError,
    text=r"'given'.*inputs of K\.function",
    ways="once",
)
fault(
    "eval-of-a-placeholder",
    lambda K, t: K.eval(_placeholder(K) * 2.0),
    E.GraphError,
    ValueError,
    text=r"depends on placeholders.*K\.function",
    ways="once",
)
fault(
    "eager-scope-of-a-placeholder",
    lambda K, t: K.eager(K.square)(_placeholder(K)),
    E.GraphError,
    text=r"^K\.square depends on a placeholder.*eager_scope",
    ways="once",
)


def _fed_twice(K: Any, t: Any) -> Any:
    x = _placeholder(K)
    return K.function([x, x], [x * 2.0])


fault(
    "fed-twice",
    _fed_twice,
    E.FeedError,
    ValueError,
    text=r"^K\.function: .*'given'.*twice",
    ways="once",
)


def _called(*values: Any, **options: Any) -> Any:
    def call(K: Any, t: Any) -> Any:
        x = _placeholder(K)
        return K.function([x], [x * 2.0], name="double", **options)(*values)

    return call


fault(
    "feed-shape",
    _called([np.ones((2, 4))]),
    E.FeedError,
    ValueError,
    text=r"^double: .*'given'.*\(2, 4\).*expected \(None, 3\)",
    ways="once",
)
fault(
    "feed-rank",
    _called([np.ones(3)]),
    E.FeedError,
    text=r"^double: .*\(3,\).*expected \(None, 3\)",
    ways="once",
)
fault(
    "feed-none",
    _called([None]),
    E.FeedError,
    text=r"^double: no value \(None\) is fed for .*'given'",
    ways="once",
)
fault(
    "feed-text",
    _called([np.array([["a", "b", "c"]])]),
    E.FeedError,
    text=r"^double: .*'given'.* cannot become an array of float32",
    ways="once",
)
fault(
    "feed-ragged",
    _called([[[1.0, 2.0, 3.0], [1.0]]]),
    E.FeedError,
    text=r"^double: .*'given'.* cannot become an array",
    ways="once",
)
fault(
    "too-many-feeds",
    _called([np.ones((1, 3)), np.ones((1, 3))]),
    E.FeedError,
    text=r"^double: expected 1 values.*got 2",
    ways="once",
)
fault(
    "too-few-feeds",
    _called([]),
    E.FeedError,
    text=r"^double: expected 1 values.*got 0",
    ways="once",
)
fault(
    "unknown-option",
    _called([np.ones((1, 3))], run_metadata=1),
    E.ArgumentError,
    ValueError,
    text=r"^K\.function: invalid argument 'run_metadata'",
    ways="once",
)
fault(
    "output-none",
    lambda K, t: K.function([_placeholder(K)], [None]),
    E.GraphError,
    ValueError,
    text=r"^K\.function: output 0 is None.*K\.gradients",
    ways="once",
)
fault(
    "input-no-tensor",
    lambda K, t: K.function([np.ones(2)], []),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.function: input 0 must be a placeholder.*ndarray",
    ways="once",
)
fault(
    "update-no-variable",
    lambda K, t: K.update(K.placeholder(()), 1.0),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.update: expected a variable.*K\.variable",
    ways="once",
)
fault(
    "update-no-pair",
    lambda K, t: K.function([], [], updates=[K.variable(1.0)]),
    E.ArgumentTypeError,
    text=r"^K\.function: update 0 must be a \(variable, new value\) pair",
    ways="once",
)
fault(
    "update-shape",
    lambda K, t: K.function([], [], updates=[(K.variable([1.0, 2.0]), K.constant([1.0]))]),
    E.ShapeError,
    text=r"\(2,\).*\(1,\).*update keeps the shape",
    ways="once",
)
fault(
    "update-none",
    lambda K, t: K.function([], [], updates=[(K.variable(1.0), None)]),
    E.GraphError,
    text=r"new value of .* is None",
    ways="once",
)
fault(
    "set-value-shape",
    lambda K, t: K.set_value(K.variable([1.0, 2.0]), [1.0]),
    E.ShapeError,
    text=r"^K\.set_value: .*\(2,\).*\(1,\)",
    ways="once",
)
fault(
    "set-value-no-variable",
    lambda K, t: K.set_value(K.constant(1.0), 2.0),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.set_value: expected a variable",
    ways="once",
)
fault(
    "gradients-of-an-array",
    lambda K, t: K.gradients(np.ones(1), [K.variable(1.0)]),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.gradients: loss must be symbolic",
    ways="once",
)


# --- a symbolic tensor is no value ---------------------------------------------------------------


def _as(use: Any) -> Any:
    return lambda K, t: use(K.placeholder((2,)) * 1.0)


for _name, _use, _hint in (
    ("bool", bool, r"K\.switch"),
    ("if", lambda t: 1 if t > 0 else 2, r"K\.switch"),
    ("len", len, r"K\.int_shape"),
    ("iter", list, r"K\.map_fn"),
    ("in", lambda t: 1.0 in t, r"K\.any"),
    ("index", lambda t: [1, 2][t], r"size"),
    ("numpy", np.sum, r"^np\.sum .*K function"),
    ("pickle", lambda t: __import__("pickle").dumps(t), r"pickled or copied"),
):
    fault(f"symbolic-{_name}", _as(_use), E.SymbolicError, TypeError, text=_hint, ways="once")
for _name, _use in (("array", np.asarray), ("float", float)):
    fault(
        f"symbolic-{_name}",
        _as(_use),
        E.GraphError,
        ValueError,
        text=r"depends on placeholders",
        ways="once",
    )


# --- two backends --------------------------------------------------------------------------------


def _mixed(K: Any, t: Any) -> Any:
    other = loader.load_backend("numpy")
    if K is other:  # the same contract, bound once more
        from kbridge.binding import Backend

        other = Backend("second", K.engine, K.native)
    return K.maximum(K.placeholder((2,)), other.placeholder((2,)))


fault(
    "tensors-of-two-backends",
    _mixed,
    E.ArgumentError,
    ValueError,
    text=r"^K\.maximum: .*belongs to the backend .*K\.get_value",
    ways="native",
)
