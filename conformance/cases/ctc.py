"""Connectionist temporal classification: the cost against all paths one by one, and decoding."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from kbridge import errors
from kbridge.conformance.records import Case, case, fault, program, record
from kbridge.conformance.samples import Sample, ints, simplex, unit, values

E = errors
EPSILON = 1e-7


# --- oracles: every path, one by one --------------------------------------------------------------


def _collapsed(path: Any, blank: int) -> tuple[int, ...]:
    """A path with repeated classes merged and blanks removed."""
    return tuple(int(k) for k, _ in itertools.groupby(path) if k != blank)


@functools.cache
def _paths(steps: int, classes: int) -> tuple[Any, list[tuple[int, ...]], Any]:
    """Every path, a row each; the label sequences; and which of them each path collapses to."""
    paths = list(itertools.product(range(classes), repeat=steps))
    collapsed = [_collapsed(path, classes - 1) for path in paths]
    places = {labels: i for i, labels in enumerate(dict.fromkeys(collapsed))}
    return np.array(paths, np.int64), list(places), np.array([places[c] for c in collapsed])


def _labelings(frames: Any) -> dict[tuple[int, ...], float]:
    """The probability of each label sequence: the sum over its paths."""
    steps, classes = frames.shape
    paths, sequences, which = _paths(steps, classes)
    shares = (frames + EPSILON) / (frames + EPSILON).sum(1, keepdims=True)
    found = np.bincount(which, shares[np.arange(steps), paths].prod(1), len(sequences))
    return dict(zip(sequences, found.tolist(), strict=True))


def _cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    costs = []
    frames, counts = np.reshape(input_length, -1), np.reshape(label_length, -1)
    for labels, rows, n, m in zip(y_true, y_pred, frames, counts, strict=True):
        wanted = tuple(int(k) for k in labels[: max(int(m), 0)])
        p = _labelings(rows[: int(n)]).get(wanted, 0.0)
        costs.append([-math.log(p) if p else math.inf])
    return np.array(costs).reshape(len(costs), 1)


def _padded(rows: list[tuple[int, ...]]) -> Any:
    width = max(map(len, rows), default=0)
    return np.array([[*row, *[-1] * (width - len(row))] for row in rows], np.int64).reshape(
        len(rows), width
    )


def _best_path(y_pred: Any, input_length: Any, *how: Any) -> Any:
    paths, scores = [], []
    for rows, n in zip(y_pred, np.reshape(input_length, -1), strict=True):
        path = [row.tolist().index(max(row)) for row in rows[:n]]
        paths.append(_collapsed(path, y_pred.shape[2] - 1))
        scores.append([-math.fsum(math.log(rows[t][k] + EPSILON) for t, k in enumerate(path))])
    return _padded(paths), np.array(scores).reshape(-1, 1)


def _likeliest_two(y_pred: Any, input_length: Any) -> Any:
    """The two label sequences that all paths together make the likeliest."""
    rows: tuple[list[Any], list[Any]] = ([], [])
    scores = []
    for frames, n in zip(y_pred, np.reshape(input_length, -1), strict=True):
        found = sorted(_labelings(frames[:n]).items(), key=lambda item: -item[1])
        best = [*found, ((), 0.0)][:2]
        for row, (labels, _) in zip(rows, best, strict=True):
            row.append(labels)
        scores.append([math.log(p) if p else -math.inf for _, p in best])
    return (*map(_padded, rows), np.array(scores).reshape(-1, 2))


def _decode(K: Any, *args: Any, **kwargs: Any) -> list[Any]:
    paths, scores = K.ctc_decode(*args, **kwargs)
    return [*paths, scores]


# --- the cost -------------------------------------------------------------------------------------


def column(*numbers: int) -> Sample:
    """Lengths, (samples, 1)."""
    return values(np.array(numbers, np.int64).reshape(-1, 1))


LABELS = [[0, 1, 2], [1, 1, 0]]

#: Most cases have these sizes, for which an engine compiles once.
ODDS = simplex(2, 5, 4)


def costs(name: str, labels: Any, input_length: Sample, label_length: Sample) -> Case:
    """A case of two samples, three labels and five time steps."""
    return case(values(labels), ODDS, input_length, label_length).named(name)


record(
    "ctc_batch_cost",
    _cost,
    costs("plain", LABELS, column(5, 4), column(3, 2)).in_all_dtypes(),
    case(values(LABELS), unit(2, 5, 4), column(5, 5), column(2, 1)).named("any_sum"),
    case(values(LABELS), ODDS, values([5, 4]), values([1, 3])).named("lengths_of_rank_1"),
    costs("just_enough_time", [[1, 1, 0], [2, 2, 2]], column(3, 5), column(2, 3)),
    costs("other_lengths", LABELS, column(4, 1), column(1, 1)),
    costs("empty_label", LABELS, column(2, 4), column(0, 0)),
    costs("no_input_nor_label", LABELS, column(0, 5), column(0, 2)),
    costs("label_length_clipped", LABELS, column(5, 5), column(9, 2)),
    costs("label_length_negative", LABELS, column(5, 5), column(-1, 2)),
    case(ints(2, 0), ODDS, column(5, 4), column(0, 0)).named("no_labels_at_all"),
    case(values([[1]]), simplex(1, 1, 3), column(1), column(1)).named("one_step"),
    case(ints(1, 0), simplex(1, 3, 1), column(3), column(0)).named("only_blank"),
    case(ints(0, 2), simplex(0, 3, 3), ints(0, 1), ints(0, 1)).named("no_samples"),
    case(values([[0, 1]]), simplex(1, 0, 3), column(0), column(0)).named("no_time"),
    costs("ended_by_a_blank", [[0, 1, 3], [3, 7, 3]], column(4, 4), column(3, 2)).gives(
        lambda y, p, n, m: _cost(y, p, n, [[2], [0]])
    ),
    costs("integers_of_a_float_dtype", np.array(LABELS, float), column(4, 3), column(2, 3)).without(
        "gradient"
    ),
    case(values([[1, 0]]), values([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), column(2), column(2))
    .named("no_probability")
    .without("gradient"),
    costs("one_impossible", [[0, 0, 0], [0, 1, 0]], column(2, 2), column(2, 2)).without("gradient"),
    costs("impossible", [[0, 0, 0], [1, 1, 1]], column(2, 4), column(2, 3)).slope(
        np.zeros((2, 5, 4))
    ),
    costs("no_input_for_a_label", LABELS, column(0, 0), column(1, 3)).slope(np.zeros((2, 5, 4))),
    costs("labels_not_valid", [[0, -1, 1], [0, 3, 1]], column(5, 5), column(2, 3))
    .without("gradient")
    .gives([[math.nan]] * 2),
    costs("input_length_not_valid", LABELS, column(6, -1), column(1, 1))
    .without("gradient")
    .gives([[math.nan]] * 2),
    result=lambda given, each: given[1],
    dtypes="float64 float16 bfloat16",
)

#: Two time steps in which the labels 0, 1 have one path.
P = [[0.6, 0.1, 0.3], [0.2, 0.5, 0.3]]


def _lengths(K: Any, *numbers: float) -> Any:
    return K.constant([[number] for number in numbers])


@program(
    (
        [[math.inf], [-math.log(0.3)]],
        [[[0.0] * 3] * 2, [[1 - 1 / 0.6, 1.0, 1.0], [1.0, -1.0, 1.0]]],
    ),
    covers="ctc_batch_cost ctc_total",
)
def an_impossible_sample_beside_a_possible_one(K: Any) -> Any:
    """Its gradient is 0; that of the other is the closed form of its one path."""
    x = K.placeholder((None, None, 3))
    cost = K.ctc_batch_cost(K.constant([[0, 0], [0, 1]]), x, _lengths(K, 2, 2), _lengths(K, 2, 2))
    return tuple(K.function([x], [cost, K.gradients(cost, x)[0]])([np.array([P, P])]))


@program(
    [[[-1.0 + 1 / 0.36, -1.0, -1.0], [0.0] * 3]],
    covers="ctc_batch_cost",
)
def the_second_derivative_of_the_cost(K: Any) -> Any:
    """By the first time step's probability of the one path."""
    x = K.variable(np.array([P]), dtype="float64")
    cost = K.ctc_batch_cost(K.constant([[0, 1]]), x, _lengths(K, 2), _lengths(K, 2))
    (slope,) = K.gradients(cost, x)
    return K.eval(K.gradients(slope[0, 0, 0], x)[0])


@program(([[-math.log(0.3)]], [[0.0] * 3]), covers="ctc_batch_cost")
def nan_after_the_end(K: Any) -> Any:
    """What comes after the input length has no influence, even where it is nan."""
    x = K.variable([[*P, [math.nan] * 3]])
    cost = K.ctc_batch_cost(K.constant([[0, 1]]), x, _lengths(K, 2), _lengths(K, 2))
    return K.eval(cost), K.eval(K.gradients(cost, x)[0][:, 2])


@program([[math.inf], [0.0]], covers="ctc_batch_cost")
def the_cost_without_an_epsilon(K: Any) -> Any:
    """A probability of 0 then is 0."""
    K.set_epsilon(0)
    p = [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]] * 2
    labels = K.constant([[1, 0], [0, 1]])
    cost = K.eval(K.ctc_batch_cost(labels, p, _lengths(K, 2, 2), _lengths(K, 2, 2)))
    K.set_epsilon(1e-7)
    return cost


@program(([[2.9113071], [2.9402528]], (None, 1), (3, 1)), covers="ctc_batch_cost")
def costs_of_keras(K: Any) -> Any:
    """Numbers that Keras 2.3.1 gives; and static shapes."""
    labels = np.array([[1, 0, 2], [1, 1, 2]])
    cost = K.ctc_batch_cost(labels, SHARES, np.array([[6], [5]]), np.array([[3], [2]]))
    shapes = [
        K.int_shape(
            K.ctc_batch_cost(
                K.placeholder((n, None)),
                K.placeholder((None, None, None)),
                K.placeholder((None, 1)),
                K.placeholder((None, 1)),
            )
        )
        for n in (None, 3)
    ]
    return (K.eval(cost), *shapes)


# --- decoding -------------------------------------------------------------------------------------

#: The path [0, 0, -, 0, 1] of the classes 0, 1, - with others not far behind; then blanks.
SPOKEN = values(
    [
        [[0.7, 0.1, 0.2], [0.5, 0.1, 0.4], [0.2, 0.2, 0.6], [0.6, 0.1, 0.3], [0.1, 0.8, 0.1]],
        [[0.2, 0.1, 0.7], [0.1, 0.3, 0.6], [0.1, 0.7, 0.2], [0.2, 0.5, 0.3], [0.3, 0.1, 0.6]],
    ]
)


def decoded(y_pred: Sample, input_length: Sample, **how: Any) -> Case:
    """A case of ``K.ctc_decode``, of which only the run knows the longest labels."""
    return case(y_pred, input_length, **how).without("inferred")


record(
    "ctc_decode",
    _best_path,
    decoded(SPOKEN, values([5, 4])).named("spoken").in_all_dtypes(),
    decoded(simplex(3, 6, 4), values([6, 3, 0])).named("lengths"),
    decoded(unit(3, 6, 4), column(6, 6, 1)).named("lengths_in_a_column"),
    decoded(values([[[0.1, 0.9], [0.2, 0.8]]]), values([2])).named("only_blanks"),
    decoded(simplex(2, 3, 1), values([3, 3])).named("only_blank"),
    decoded(simplex(0, 3, 3), ints(0)).named("no_samples"),
    decoded(simplex(2, 0, 3), values([0, 0])).named("no_time"),
    decoded(SPOKEN, values([5, 5]), beam_width=7, top_paths=3, merge_repeated=True)
    .gives(_best_path)
    .named("what_else_is_given_does_not_matter"),
    call=_decode,
    result=["int64", "first"],
    gradient=False,
    dtypes="float64 float16 bfloat16",
)
record(
    "ctc_search",
    _likeliest_two,
    decoded(SPOKEN, values([5, 4])).named("spoken").in_all_dtypes(),
    decoded(simplex(2, 4, 3), values([4, 3])).named("lengths"),
    decoded(unit(2, 3, 4), column(3, 0)).named("any_sum"),
    decoded(simplex(2, 1, 2), values([1, 0])).named("too_few_paths"),
    decoded(simplex(2, 2, 1), values([2, 2])).named("only_blank"),
    decoded(simplex(0, 3, 3), ints(0)).named("no_samples"),
    decoded(simplex(2, 0, 3), values([0, 0])).named("no_time"),
    call=lambda K, *args: _decode(K, *args, greedy=False, top_paths=2),
    result=["int64", "int64", "first"],
    gradient=False,
    dtypes="float64 float16 bfloat16",
)

SHARES = np.array(
    [
        [[7, 4, 2, 9], [3, 8, 1, 6], [5, 5, 4, 10], [9, 2, 3, 6], [1, 7, 4, 8], [6, 2, 9, 3]],
        [[2, 9, 4, 5], [1, 8, 3, 6], [4, 2, 7, 12], [3, 11, 5, 4], [8, 1, 2, 7], [2, 5, 10, 3]],
    ],
    "float32",
)
SHARES /= SHARES.sum(-1, keepdims=True)


@program(
    (
        ([[1, 0, 2], [1, 1, -1]], [[-4.5702757], [-3.3323212]]),
        (
            *(
                [[1, 0, 2], [1, 2, -1]],
                [[1, 0, 1, 2], [1, 1, -1, -1]],
                [[0, 1, 0, 2], [1, 1, 0, -1]],
            ),
            [[-3.9813716, -4.3107643, -4.3925943], [-3.0051921, -3.0566151, -3.0566154]],
        ),
        (
            *(
                [[1, 0, 2], [1, 2, -1]],
                [[1, 0, 1, 2], [1, -1, -1, -1]],
                [[0, 1, 0, 2], [1, 0, -1, -1]],
            ),
            [[-3.9813716, -4.3107643, -4.3925943], [-3.0051921, -3.0566151, -3.0566154]],
        ),
        (
            *([[1, 0, 2], [1, 0, -1]], [[0, 1, 2], [1, 2, 0]]),
            [[-2.9113071, -3.1681132], [-2.5669310, -2.5814002]],
        ),
        ([[1, 0, 2, -1], [1, 1, 0, 2]], [[5.0935221], [4.5850821]]),
    ),
    covers="ctc_decode ctc_search ctc_trim",
)
def paths_of_keras(K: Any) -> Any:
    """What Keras 2.3.1 gives: for narrow beams, where the best path falls out of some."""

    def found(**how: Any) -> Any:
        paths, scores = K.ctc_decode(K.constant(SHARES), K.constant([6, 5], dtype="int32"), **how)
        return (*map(K.get_value, paths), K.get_value(scores))

    best = K.ctc_decode(SHARES, input_length=np.ones(2) * 6, greedy=True)
    return (
        found(greedy=False, beam_width=1),
        found(greedy=False, beam_width=3, top_paths=3),
        found(greedy=False, beam_width=3, top_paths=3, merge_repeated=True),
        found(greedy=False, top_paths=2),
        (K.get_value(best[0][0]), K.get_value(best[1])),
    )


@program(
    ((None, None), (None, 1), (3, None), (3, 2), "int64", "float32", None),
    covers="ctc_decode",
)
def decoded_shapes(K: Any) -> Any:
    """Static shapes and dtypes; there is no gradient."""
    x = K.placeholder((None, None, 4))
    (labels,), scores = K.ctc_decode(x, K.placeholder((None,), dtype="int32"))
    two, both = K.ctc_decode(
        K.placeholder((3, None, 4)), K.constant([1, 1, 1]), greedy=False, top_paths=2
    )
    return (
        *map(K.int_shape, (labels, scores, two[1], both)),
        *map(K.dtype, (labels, scores)),
        K.gradients(K.sum(scores), x)[0],
    )


@program(
    (([[0, 0, 1], [1, -1, -1]], [4, 2], [3, 1], 3.0), ([[0]], [2, 1], [1], 4.0), 5.0),
    covers="ctc_decode",
)
def what_follows_from_decoded_labels(K: Any) -> Any:
    """Operations on them in one function with the model, whose updates still take place."""
    x, n = K.placeholder((None, None, 3)), K.placeholder((None,), dtype="int32")
    steps = K.variable(3.0)
    (labels,), _ = K.ctc_decode(x * 1.0, n)
    wide = K.shape(K.concatenate([labels, labels[:, :1]], axis=1))
    width = K.stack([wide[1], K.shape(x)[0] + wide[1] * 0])
    counts = K.sum(K.cast(K.not_equal(labels, -1), "int32"), axis=1)
    outputs = [labels, width * 1 + K.constant([0, 1], dtype="int32") * 0, counts, steps * 1.0]
    f = K.function([x, n], outputs, updates=[K.update_add(steps, 1.0)])
    numbers = SPOKEN.make("")
    first = tuple(f([numbers, [5, 4]]))
    second = tuple(f([numbers[:1, :2], [2]]))
    return first, second, K.get_value(steps)


@program((True, 3.0), covers="ctc_decode")
def a_failed_decoding_changes_no_variable(K: Any) -> Any:
    """The length is found wrong while the function runs."""
    x, n = K.placeholder((None, None, 3)), K.placeholder((None,), dtype="int32")
    steps = K.variable(3.0)
    (labels,), _ = K.ctc_decode(x, n)
    f = K.function([x, n], [labels], updates=[K.update_add(steps, 1.0)])
    try:
        f([SPOKEN.make(""), [5, 6]])
        message = ""
    except E.ArgumentError as error:
        message = str(error)
    return message.startswith("K.ctc_decode: the input length 6 is outside"), K.get_value(steps)


# --- sparse labels --------------------------------------------------------------------------------


def _dense(labels: Any, lengths: Any) -> Any:
    return [
        [k if i < n else 0 for i, k in enumerate(row)]
        for row, n in zip(labels, np.reshape(lengths, -1), strict=True)
    ] or np.zeros(labels.shape)


record(
    "ctc_label_dense_to_sparse",
    _dense,
    case(values([[3, 0, 2], [1, 1, 5]]), values([2, 3])).named("plain"),
    case(values([[3, 0, 2], [1, 1, 5]]), column(0, 1)).named("lengths_in_a_column"),
    case(values([[3.0, 0.0, 2.0]]), values([2])).named("float").in_all_dtypes(),
    case(values([[3, 1], [2, 4]]), values([9, -1])).named("clipped"),
    case(ints(2, 0), values([0, 0])).named("no_labels"),
    case(ints(0, 3), ints(0)).named("no_samples"),
    call=lambda K, *args: K.to_dense(K.ctc_label_dense_to_sparse(*args)),
    result=lambda given, each: "float64" if given[0] == "float64" else "float32",
    gradient=False,
    dtypes="float64 float16 bfloat16",
)


@program(
    (True, (2, 3), "float32", [[3.0, 0.0, 0.0], [6.0, 7.0, 0.0]], [[3.0], [20.0]]),
    covers="ctc_label_dense_to_sparse ctc_sparse",
)
def sparse_labels(K: Any) -> Any:
    """A sparse tensor like any other, in a function as well."""
    y, n = K.placeholder((2, 3)), K.placeholder((2, 1))
    matrix = K.ctc_label_dense_to_sparse(y, n)
    outputs = [K.to_dense(matrix), K.dot(matrix, K.constant([[1.0], [2.0], [3.0]]))]
    f = K.function([y, n], outputs)
    return (
        K.is_sparse(matrix),
        K.int_shape(matrix),
        K.dtype(matrix),
        *f([[[3, 4, 5], [6, 7, 8]], [[1], [2]]]),
    )


# --- what is refused ------------------------------------------------------------------------------

for _name, _call, _text in (
    (
        "labels-rank",
        lambda K, t: K.ctc_batch_cost(t(2), t(2, 3, 4), t(2, 1), t(2, 1)),
        r"^K\.ctc_batch_cost: y_true must have the shape \(samples, max_length\), got \(2,\)",
    ),
    (
        "probabilities-rank",
        lambda K, t: K.ctc_batch_cost(t(2, 3), t(2, 4), t(2, 1), t(2, 1)),
        r"^K\.ctc_batch_cost: y_pred .*\(samples, time, classes\), got \(2, 4\)",
    ),
    (
        "lengths-rank",
        lambda K, t: K.ctc_batch_cost(t(2, 3), t(2, 3, 4), t(2, 2), t(2, 1)),
        r"^K\.ctc_batch_cost: input_length .*\(samples, 1\) or \(samples,\), got \(2, 2\)",
    ),
    (
        "label-lengths-rank",
        lambda K, t: K.ctc_batch_cost(t(2, 3), t(2, 3, 4), t(2, 1), t()),
        r"^K\.ctc_batch_cost: label_length .*, got \(\)",
    ),
    (
        "samples",
        lambda K, t: K.ctc_batch_cost(t(1, 3), t(2, 3, 4), t(2, 1), t(2, 1)),
        r"^K\.ctc_batch_cost: .*one number of samples, got y_true 1, y_pred 2, input_length 2",
    ),
    (
        "decoded-rank",
        lambda K, t: K.ctc_decode(t(2, 4), t(2)),
        r"^K\.ctc_decode: y_pred .*\(samples, time, classes\), got \(2, 4\)",
    ),
    (
        "decoded-samples",
        lambda K, t: K.ctc_decode(t(2, 4, 3), t(3)),
        r"^K\.ctc_decode: .*one number of samples, got y_pred 2, input_length 3",
    ),
    (
        "sparse-labels-samples",
        lambda K, t: K.ctc_label_dense_to_sparse(t(2, 4), t(3)),
        r"^K\.ctc_label_dense_to_sparse: .*samples, got labels 2, label_lengths 3",
    ),
):
    fault(f"ctc-{_name}", _call, E.ShapeError, ValueError, text=_text)

fault(
    "ctc-lengths-with-fractions",
    lambda K, t: K.ctc_batch_cost(t(1, 1), t(1, 2, 3), np.array([[1.5]]), np.array([[1]])),
    E.ArgumentError,
    ValueError,
    text=r"^K\.ctc_batch_cost: input_length must hold integers, got 1\.5",
)
fault(
    "ctc-lengths-of-bools",
    lambda K, t: K.ctc_decode(t(2, 4, 3), t(2, dtype="bool")),
    E.DTypeError,
    TypeError,
    text=r"^K\.ctc_decode: input_length must hold integers, not bools",
)
fault(
    "ctc-more-paths-than-beams",
    lambda K, t: K.ctc_decode(t(2, 4, 3), t(2), greedy=False, beam_width=2, top_paths=3),
    E.ArgumentError,
    ValueError,
    text=r"^K\.ctc_decode: top_paths .*beam_width, got 3 and 2",
)
fault(
    "ctc-beam-width",
    lambda K, t: K.ctc_decode(t(2, 4, 3), t(2), greedy=False, beam_width=2.5),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.ctc_decode: beam_width must be an integer, got 2\.5",
)
fault(
    "ctc-decoded-length",
    lambda K, t: K.eval(K.ctc_decode(np.ones((2, 3, 2)), np.array([2, 4]))[0][0]),
    E.ArgumentError,
    ValueError,
    text=r"^K\.ctc_decode: the input length 4 is outside the valid range \[0, 3\]",
    ways="once",
)
