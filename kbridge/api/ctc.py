"""Connectionist temporal classification: sequences of labels without an alignment to time.

From Graves, Fernandez, Gomez and Schmidhuber, "Connectionist temporal classification: labelling
unsegmented sequence data with recurrent neural networks", ICML 2006. The last class is the blank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.api.declare import graph_function, operation, replaceable
from kbridge.api.rules import TensorLike
from kbridge.errors import ArgumentError, DTypeError, ShapeError
from kbridge.symbolic import dtypes, loops, shapes, sparse
from kbridge.symbolic.tensor import Constant

#: The logarithm of no probability at all: finite, so that no difference of two is nan, and so low
#: that no sum of real ones comes near.
_LOW = -1e30


@graph_function
def ctc_batch_cost(
    K: Any,
    y_true: TensorLike,
    y_pred: TensorLike,
    input_length: TensorLike,
    label_length: TensorLike,
) -> Any:
    """The cost ``-log p(labels | y_pred)`` of each sample, of the shape (samples, 1).

    ``y_true`` are the labels, (samples, max_length); ``y_pred`` the probabilities of the classes,
    (samples, time, classes), to which epsilon is added and which are then divided by their sum.
    ``input_length`` and ``label_length``, (samples, 1) or (samples,), tell how many time steps and
    labels of each sample count; what comes after has no influence. All but ``y_pred`` hold
    integers, which may be of a float dtype. The dtype is that of ``y_pred``; integers become
    floatx, and the half ones are computed in float32.

    p is the sum over all paths of one class per time step that become the labels once repeated
    classes are merged and blanks, the last class, are removed. No labels are a valid label
    sequence. Where there is no such path (there are too few time steps, with one more between
    equal labels) the cost is inf, with a gradient of 0. Labels that are no class but the blank, or
    more, end the sequence. A sample of a negative label, a label after such an end, or an input
    length that is negative or more than there is costs nan.

    >>> y_pred = K.constant([[[0.6, 0.1, 0.3], [0.2, 0.5, 0.3]]])
    >>> cost = K.ctc_batch_cost(K.constant([[0, 1]]), y_pred, K.constant([[2]]), K.constant([[2]]))
    >>> round(float(K.eval(cost)[0, 0]), 4)
    1.204
    """
    y_true, y_pred = loops.operand(K, y_true), loops.operand(K, y_pred)
    _need_shape(K, "y_true", y_true, "(samples, max_length)")
    _need_shape(K, "y_pred", y_pred, "(samples, time, classes)")
    frames = _lengths(K, "input_length", input_length)
    given = _lengths(K, "label_length", label_length)
    _need_one_batch(K, y_true=y_true, y_pred=y_pred, input_length=frames, label_length=given)
    time, classes = _sizes(K, y_pred)[1:]
    labels, count, valid = _labels(K, _integers(K, "y_true", y_true), given, classes - 1)
    inside = K.logical_and(K.greater_equal(frames, 0), K.less_equal(frames, time))
    valid, frames = K.logical_and(valid, inside), K.where(inside, frames, 0)
    dtype = K.dtype(y_pred) if dtypes.is_float(K.dtype(y_pred)) else K.floatx()
    active = K.less(_places(K, y_pred[:, :, 0], 1), K.expand_dims(frames, 1))
    y_pred = K.cast(y_pred, "float64" if dtype == "float64" else "float32")
    total = K.ctc_total(_log_probabilities(K, y_pred, active), labels, frames, count)
    cost = K.where(K.less(total, _LOW / 2), float("inf"), K.subtract(0.0, total))
    cost = K.where(valid, cost, float("nan"))
    return K.cast(K.expand_dims(cost, 1), dtype)


@replaceable(
    "logs labels frames count",
    shape=lambda logs, labels, frames, count: logs.shape[:1],
    dtype=lambda logs, labels, frames, count: logs.dtype,
    differentiable="logs",
    public=False,
)
def ctc_total(
    K: Any, logs: TensorLike, labels: TensorLike, frames: TensorLike, count: TensorLike
) -> Any:
    """The logarithm of the probability of all paths of each sample; under -5e29 there is none."""
    # The labels have blanks behind their count; they and the number of frames are in range.
    samples, time, classes = _sizes(K, logs)
    width, working = _sizes(K, labels)[1], K.dtype(logs)

    # The states of a path: a blank, and after each label another one.
    blank = K.expand_dims(K.add(K.zeros_like(count), classes - 1), 1)
    blanks = K.add(K.zeros_like(labels), blank)
    states = _interleaved(K, blanks, labels, blank, samples, width)
    rows = K.add(states, K.multiply(K.expand_dims(_places(K, count, 0), 1), classes))
    columns = K.reshape(K.permute_dimensions(logs, (0, 2, 1)), (samples * classes, time))
    emissions = K.permute_dimensions(K.gather(columns, rows), (2, 0, 1))

    # From label to label without a blank between leads only what changes the class.
    before = K.concatenate([K.full_like(blank, -1), labels], 1)[:, :-1]
    low = K.full_like(blank, _LOW, working)
    lows = K.full_like(labels, _LOW, working)
    changes = K.where(K.not_equal(labels, before), 0.0, lows)
    skips = _interleaved(K, lows, changes, low, samples, width)

    # A path begins before the first state, which stands behind a column for where there is none.
    two_low = K.concatenate([low, low], 1)
    first = K.concatenate([low, K.zeros_like(low), K.full_like(skips, _LOW)], 1)

    active = K.less(_places(K, emissions[:, :, 0], 0), K.expand_dims(frames, 0))
    active = K.expand_dims(active, 2)

    def step(carried: list[Any], elements: list[Any]) -> Any:
        (here,), (emission, on) = carried, elements
        ways = [here[:, 2:], here[:, 1:-1], K.add(here[:, :-2], skips)]
        reached = K.add(emission, K.logsumexp(K.stack(ways, axis=0), axis=0))
        return [K.where(on, K.concatenate([two_low, reached], 1), here)], []

    ((final,), _) = loops.loop(K, step, [first], [emissions, active])
    # It ends in the last label or the blank behind it.
    place = K.subtract(_places(K, first, 1), K.expand_dims(K.multiply(count, 2), 1))
    ends = K.logical_or(K.equal(place, 1), K.equal(place, 2))
    return K.logsumexp(K.where(ends, final, _LOW), axis=1)


def _labels(K: Any, labels: Any, given: Any, blank: Any) -> Any:
    """The labels with blanks behind their end, their number, and whether they are valid."""
    places = _places(K, labels, 1)
    used = K.logical_and(K.less(places, K.expand_dims(given, 1)), K.less(labels, blank))
    count = K.sum(K.cast(used, "int32"), axis=1)
    # They stand in the first places where the sum of their places is as small as it can be.
    total = K.sum(K.multiply(K.cast(used, "int32"), places), axis=1)
    least = K.multiply(count, K.subtract(count, 1))
    valid = K.equal(K.multiply(total, 2), least)
    wrong = K.logical_and(used, K.less(labels, 0))
    valid = K.logical_and(valid, K.logical_not(K.any(wrong, axis=1)))
    known = K.logical_and(used, K.greater_equal(labels, 0))
    return K.where(known, labels, blank), count, valid


def _places(K: Any, x: Any, axis: int) -> Any:
    """The index along ``axis`` of each element of ``x``: like it a native tensor or not."""
    return K.subtract(K.cumsum(K.ones_like(x, dtype="int32"), axis=axis), 1)


def _log_probabilities(K: Any, y_pred: Any, active: Any) -> Any:
    """The logarithms of the probabilities, of one where a time step does not count."""
    shares = K.where(K.expand_dims(active, 2), K.add(y_pred, K.epsilon()), 1.0)
    total = K.log(K.sum(shares, axis=2, keepdims=True))
    none = K.equal(shares, 0.0)  # without an epsilon
    logs = K.subtract(K.log(K.where(none, 1.0, shares)), total)
    return K.where(none, _LOW, logs)


def _interleaved(K: Any, first: Any, second: Any, last: Any, samples: Any, width: Any) -> Any:
    """The columns of two matrices in turn, and one last column."""
    both = K.reshape(K.stack([first, second], axis=2), (samples, width * 2))
    return K.concatenate([both, last], 1)


# --- decoding ------------------------------------------------------------------------------------


@graph_function
def ctc_decode(
    K: Any,
    y_pred: TensorLike,
    input_length: TensorLike,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = False,
) -> Any:
    """The likeliest labels: a pair (list of label tensors, scores).

    ``y_pred`` are the probabilities of the classes, (samples, time, classes), of which the last is
    the blank; ``input_length``, (samples,) or (samples, 1), tells how many time steps of each
    sample count. Label tensors are int64 of the shape (samples, longest), filled up with -1; the
    scores have the dtype of ``y_pred``.

    With ``greedy`` the list has one tensor: the likeliest class of each time step, repeated ones
    merged and blanks removed. Its score, (samples, 1), is the negative sum of ``log(p + epsilon)``
    over these classes. Else a prefix beam search, with ``beam_width`` prefixes, finds the
    ``top_paths`` likeliest ones, the first the best. The scores, (samples, top_paths), are their
    log probabilities, of ``y_pred`` divided by its sum; paths that do not exist have no labels and
    -inf. ``merge_repeated`` then merges equal labels side by side (A B B becomes A B), whatever was
    between them.

    It is not differentiable, and NumPy searches, on the host. The longest of the labels is known
    only when it runs: in ``K.function`` on JAX what is computed from them runs after the compiled
    part, and under a user's own ``jax.jit`` UnsupportedError is raised. A length that is negative
    or more than there is raises ArgumentError.

    >>> y_pred = K.constant([[[0.7, 0.1, 0.2], [0.1, 0.1, 0.8], [0.6, 0.1, 0.3], [0.2, 0.6, 0.2]]])
    >>> (labels,), scores = K.ctc_decode(y_pred, K.constant([4]))
    >>> K.get_value(labels).tolist()
    [[0, 0, 1]]
    """
    y_pred = loops.operand(K, y_pred)
    _need_shape(K, "y_pred", y_pred, "(samples, time, classes)")
    lengths = _lengths(K, "input_length", input_length)
    _need_one_batch(K, y_pred=y_pred, input_length=lengths)
    beam_width = shapes.integer(beam_width, "beam_width")
    top_paths = shapes.integer(top_paths, "top_paths")
    if greedy:
        beam_width, top_paths = 0, 1
    elif not 1 <= top_paths <= beam_width:
        raise ArgumentError(
            f"top_paths must be at least 1 and at most beam_width, got {top_paths} and {beam_width}"
        )
    dtype = K.dtype(y_pred) if dtypes.is_float(K.dtype(y_pred)) else K.floatx()
    y_pred = K.cast(y_pred, "float64" if dtype == "float64" else "float32")
    how = beam_width, top_paths, bool(merge_repeated), K.epsilon()
    found = K.ctc_search(y_pred, lengths, *how)
    paths = [K.ctc_trim(K.cast(found[:, i, :-1], "int64")) for i in range(top_paths)]
    return paths, K.cast(found[:, :, -1], dtype)


def _found(y_pred: Any, lengths: Any, beam_width: int, top_paths: int, *rest: Any) -> Any:
    samples, time, _ = y_pred.shape
    return samples, top_paths, None if time is None else time + 1


@operation(
    "y_pred input_length",
    shape=_found,
    dtype=lambda y_pred, *rest: y_pred.dtype,
    differentiable=False,
    public=False,
    uncompiled=True,
)
def ctc_search(
    y_pred: TensorLike,
    input_length: TensorLike,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool,
    epsilon: float,
) -> Any:
    """The labels of each path, filled up with -1, and behind them its score (ctc_search.py)."""


@operation(
    "paths",
    shape=lambda paths: (paths.shape[0], None),
    differentiable=False,
    public=False,
    uncompiled=True,
)
def ctc_trim(paths: TensorLike) -> Any:
    """``paths`` without the last columns that hold only -1."""


# --- labels --------------------------------------------------------------------------------------


@graph_function
def ctc_label_dense_to_sparse(K: Any, labels: TensorLike, label_lengths: TensorLike) -> Any:
    """The labels as a sparse tensor of the same shape, (samples, max_length).

    Its elements are the first labels of each sample, as many as ``label_lengths``, (samples,) or
    (samples, 1), tells; ``K.to_dense`` has 0 in the other places. Labels are integers of any dtype;
    those of the result are float32, or float64 where the labels are, as sparse tensors are.
    ``K.ctc_batch_cost`` takes labels and their lengths as they are.

    >>> labels = K.constant([[3, 1, 2], [5, 4, 4]])
    >>> K.eval(K.to_dense(K.ctc_label_dense_to_sparse(labels, K.constant([1, 2])))).tolist()
    [[3.0, 0.0, 0.0], [5.0, 4.0, 0.0]]
    """
    labels = loops.operand(K, labels)
    _need_shape(K, "labels", labels, "(samples, max_length)")
    lengths = _lengths(K, "label_lengths", label_lengths)
    _need_one_batch(K, labels=labels, label_lengths=lengths)
    sparse.of(K)
    mask = K.less(_places(K, labels, 1), K.expand_dims(lengths, 1))
    labels = K.cast(labels, "float64" if K.dtype(labels) == "float64" else "float32")
    return sparse.marked(K.ctc_sparse(labels, mask))


@operation(
    "labels mask",
    shape=lambda labels, mask: labels.shape,
    dtype=lambda labels, mask: labels.dtype,
    differentiable=False,
    public=False,
)
def ctc_sparse(labels: TensorLike, mask: TensorLike) -> Any:
    """A sparse matrix of the elements of ``labels`` where ``mask`` holds."""


# --- what is given -------------------------------------------------------------------------------


def _sizes(K: Any, x: Any) -> list[Any]:
    """The sizes: integers, or what the run tells."""
    known = K.int_shape(x)
    return [K.shape(x)[i] if size is None else size for i, size in enumerate(known)]


def _need_shape(K: Any, name: str, x: Any, form: str) -> None:
    if K.ndim(x) != form.count(",") + 1:
        raise ShapeError(f"{name} must have the shape {form}, got {K.int_shape(x)}")


def _need_one_batch(K: Any, **operands: Any) -> None:
    sizes = {name: K.int_shape(x)[0] for name, x in operands.items()}
    if len({size for size in sizes.values() if size is not None}) > 1:
        found = ", ".join(f"{name} {size}" for name, size in sizes.items() if size is not None)
        raise ShapeError(f"all must have one number of samples, got {found}")


def _lengths(K: Any, name: str, lengths: Any) -> Any:
    """Lengths (samples,), given so or as (samples, 1), as int32."""
    lengths = _integers(K, name, loops.operand(K, lengths))
    sizes = K.int_shape(lengths)
    if len(sizes) == 2 and sizes[1] in (1, None):
        return K.squeeze(lengths, 1)
    if len(sizes) != 1:
        raise ShapeError(f"{name} must have the shape (samples, 1) or (samples,), got {sizes}")
    return lengths


def _integers(K: Any, name: str, x: Any) -> Any:
    """Integers of any dtype as int32; fractions that are seen now are an error."""
    dtype = K.dtype(x)
    if dtype == "bool":
        raise DTypeError(f"{name} must hold integers, not bools")
    value = x.value if type(x) is Constant else x
    if dtypes.is_float(dtype) and isinstance(value, np.ndarray):
        wrong = value[value != np.trunc(value)]
        if wrong.size:
            raise ArgumentError(f"{name} must hold integers, got {wrong.flat[0]}")
    return K.cast(x, "int32")
