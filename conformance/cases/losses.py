"""Cross-entropies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kbridge.conformance.oracles import logsumexp, pairs, softmax
from kbridge.conformance.records import case, program, record
from kbridge.conformance.samples import ints, normal, onehot, simplex, unit, values

EPS = 1e-7


def _clip(p: float) -> float:
    return min(max(p, EPS), 1 - EPS)


def _rows(x: Any, axis: int) -> Any:
    return np.moveaxis(x, axis, -1)


def _log_probabilities(row: list[float], from_logits: bool) -> list[float]:
    if from_logits:
        whole = logsumexp(row)
        return [item - whole for item in row]
    total = math.fsum(row)
    return [math.log(_clip(item / total)) for item in row]


def _categorical(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    target, output = _rows(target, axis), _rows(output, axis)
    result = np.zeros(output.shape[:-1])
    for place in np.ndindex(*result.shape):
        logs = _log_probabilities(output[place].tolist(), from_logits)
        result[place] = -math.fsum(t * p for t, p in zip(target[place].tolist(), logs, strict=True))
    return result


record(
    "categorical_crossentropy",
    _categorical,
    case(onehot(4, 3), simplex(4, 3)),
    case(simplex(4, 3), unit(4, 3)).named("not_normalised"),
    case(onehot(4, 3), normal(4, 3), from_logits=True),
    case(onehot(2, 3, 4), unit(2, 3, 4)),
    case(simplex(2, 3, 4), unit(2, 3, 4), axis=1),
    case(onehot(2, 3, 4), normal(2, 3, 4), True, -2),
    case(values([[0.0, 1.0]]), values([[1.0, 0.0]])).named("certain").without("gradient"),
    case(values([[0.0, 1.0]]), values([[1000.0, -1000.0]]), from_logits=True).named("large_logits"),
    case(onehot(0, 3), unit(0, 3)),
    result="first",
    dtypes="float64",
)


def _sparse(
    target: Any,
    output: Any,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: Any = None,
) -> Any:
    output = _rows(output, axis)
    target = np.asarray(target).reshape(output.shape[:-1])
    result = np.zeros(target.shape)
    for place in np.ndindex(*target.shape):
        if ignore_class is None or target[place] != ignore_class:
            logs = _log_probabilities(output[place].tolist(), from_logits)
            result[place] = -logs[int(target[place])]
    return result


record(
    "sparse_categorical_crossentropy",
    _sparse,
    case(ints(4, low=0, high=3), simplex(4, 3)),
    case(ints(4, 1, low=0, high=3), unit(4, 3)),
    case(ints(4, low=0, high=3), normal(4, 3), from_logits=True),
    case(ints(2, 3, low=0, high=4), unit(2, 3, 4)),
    case(ints(2, 4, low=0, high=3), unit(2, 3, 4), axis=1),
    case(ints(2, 1, 4, low=0, high=3), unit(2, 3, 4), axis=1),
    case(ints(2, 4, 1, low=0, high=3), normal(2, 3, 4), True, 1).named("one_at_the_end"),
    case(values([0, 2, 1, 2]), normal(4, 3), True, ignore_class=2),
    case(values([0, -1, 1, -1]), unit(4, 3), ignore_class=-1).named("ignored_out_of_range"),
    case(values([0.0, 2.0, 1.0]), unit(3, 3)).named("float_targets").without("gradient"),
    case(ints(0, low=0, high=3), unit(0, 3)),
    result=lambda given, each: given[1],
    dtypes="float64",
)


record(
    "softmax_cost",
    lambda target, output: _sparse(target, output, from_logits=True),
    case(ints(4, low=0, high=3), normal(4, 3)),
    case(ints(2, 3, low=0, high=4), normal(2, 3, 4)),
    case(ints(1, low=0, high=1), normal(1, 1)),
    case(values([2, 0]), values([[1000.0, 0.0, -1000.0]] * 2)).named("large_logits"),
    case(ints(0, low=0, high=3), normal(0, 3)),
    result=lambda given, each: given[1],
    dtypes="float64",
)


def _binary(target: float, output: float, from_logits: bool = False) -> float:
    if from_logits:
        # log(1 + exp(-x)) where the target is 1, log(1 + exp(x)) where it is 0
        below, above = (max(s, 0.0) + math.log1p(math.exp(-abs(s))) for s in (-output, output))
        return target * below + (1 - target) * above
    p = _clip(output)
    return -target * math.log(p) - (1 - target) * math.log(1 - p)


def _binary_oracle(target: Any, output: Any, from_logits: bool = False) -> Any:
    return pairs(lambda t, p: _binary(t, p, from_logits))(target, output)


record(
    "binary_crossentropy",
    _binary_oracle,
    case(unit(4), unit(4)),
    case(unit(2, 3), unit(2, 3)),
    case(unit(2, 3), normal(2, 3), from_logits=True),
    case(unit(2, 1), unit(2, 3)),
    case(unit(), unit()),
    case(unit(0, 3), unit(0, 3)),
    case(values([0.0, 1.0]), values([100.0, -100.0]), True).named("wrong_logits"),
    case(values([0.0, 1.0, 0.0]), values([1000.0, 1000.0, -1000.0]), True).named("large_logits"),
    dtypes="float64",
)


def _binary_focal(
    target: Any,
    output: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
) -> Any:
    def one(t: float, x: float) -> float:
        p = 1 / (1 + math.exp(-x)) if from_logits else x
        truth = t * p + (1 - t) * (1 - p)
        loss = (1 - truth) ** gamma * _binary(t, x, from_logits)
        return loss * (t * alpha + (1 - t) * (1 - alpha)) if apply_class_balancing else loss

    return pairs(one)(target, output)


record(
    "binary_focal_crossentropy",
    _binary_focal,
    case(onehot(2, 3), unit(2, 3)),
    case(onehot(2, 3), unit(2, 3), True),
    case(onehot(2, 3), unit(2, 3), True, 0.4, 3.0),
    case(onehot(2, 3), normal(2, 3), from_logits=True),
    case(unit(4), unit(4), gamma=0.5),
    case(onehot(0, 3), unit(0, 3)),
    dtypes="float64",
)


def _categorical_focal(
    target: Any,
    output: Any,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    axis: int = -1,
) -> Any:
    target, output = _rows(target, axis), _rows(output, axis)
    result = np.zeros(output.shape[:-1])
    for place in np.ndindex(*result.shape):
        row = output[place].tolist()
        row = softmax(row) if from_logits else [item / math.fsum(row) for item in row]
        terms = [
            alpha * (1 - _clip(p)) ** gamma * -t * math.log(_clip(p))
            for t, p in zip(target[place].tolist(), row, strict=True)
        ]
        result[place] = math.fsum(terms)
    return result


record(
    "categorical_focal_crossentropy",
    _categorical_focal,
    case(onehot(4, 3), simplex(4, 3)),
    case(onehot(4, 3), unit(4, 3), 0.5, 1.5),
    case(onehot(4, 3), normal(4, 3), from_logits=True),
    case(simplex(2, 3, 4), unit(2, 3, 4), axis=1),
    case(onehot(2, 3, 4), unit(2, 3, 4)),
    case(onehot(0, 3), unit(0, 3)),
    dtypes="float64",
)


@program(
    ([-math.log(0.01)] * 3, [-math.log(1e-7)]),
    covers="set_epsilon binary_crossentropy categorical_crossentropy",
)
def the_epsilon_set(K: Any) -> Any:
    """The losses keep probabilities off 0 by the epsilon that is set at that moment."""
    K.set_epsilon(0.01)
    one = K.constant([[0.0, 1.0]])
    wide = [
        K.binary_crossentropy(K.constant([1.0]), K.constant([0.0])),
        K.categorical_crossentropy(one, K.constant([[1.0, 0.0]])),
        K.sparse_categorical_crossentropy(K.constant([1], dtype="int32"), K.constant([[1.0, 0.0]])),
    ]
    K.set_epsilon(1e-7)
    narrow = K.binary_crossentropy(K.constant([1.0]), K.constant([0.0]))
    return np.concatenate([K.eval(t) for t in wide]), K.eval(narrow)


@program(
    ([math.log(3), math.nan, math.nan], [[1 / 3, -2 / 3, 1 / 3], [0.0] * 3, [0.0] * 3]),
    covers="softmax_cost sparse_categorical_crossentropy",
)
def a_target_that_is_no_class(K: Any) -> Any:
    """It costs nan, and the loss of the others has the derivative that it has without it."""
    target, output = K.placeholder((None,), dtype="int32"), K.placeholder((None, 3))
    cost = K.sparse_categorical_crossentropy(target, output, from_logits=True)
    known = K.sum(K.switch(K.equal(cost, cost), cost, K.zeros_like(cost)))
    run = K.function([target, output], [cost, *K.gradients(known, [output])])
    return tuple(run([np.array([1, -1, 3], "int32"), np.zeros((3, 3), "float32")]))
