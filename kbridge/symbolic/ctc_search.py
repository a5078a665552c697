"""Decoding for ``K.ctc_decode``, by NumPy on every engine: the likeliest labels of each sample."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kbridge.errors import ArgumentError


def search(
    y_pred: Any,
    input_length: Any,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool,
    epsilon: float,
) -> Any:
    """The labels of each sample and path, and behind them the score: (samples, paths, time + 1).

    -1 fills up. A ``beam_width`` of 0 takes the likeliest class of each time step.
    """
    samples, time, _ = y_pred.shape
    lengths = np.asarray(input_length)
    if lengths.shape != (samples,):
        raise ArgumentError(
            f"K.ctc_decode: there are {samples} samples, and input_length has {lengths.size}"
        )
    wrong = lengths[(lengths < 0) | (lengths > time)]
    if wrong.size:
        raise ArgumentError(
            f"K.ctc_decode: the input length {wrong[0]} is outside the valid range [0, {time}]"
        )
    shares = y_pred.astype(np.float64) + epsilon
    with np.errstate(divide="ignore", invalid="ignore"):
        if beam_width == 0:
            found = _best_path(shares, lengths)
        else:
            logs = np.log(shares) - np.log(shares.sum(-1, keepdims=True))
            found = np.full((samples, top_paths, time + 1), -1.0)
            for result, frames, length in zip(found, logs, lengths.tolist(), strict=True):
                _beams(result, frames[:length], beam_width, merge_repeated)
    return found.astype(y_pred.dtype)


def _best_path(shares: Any, lengths: Any) -> Any:
    """The likeliest class of each time step, repeated ones merged; the score is ``-log p``."""
    samples, time, classes = shares.shape
    counted = np.arange(time) < lengths[:, None]
    best = shares.argmax(-1)
    before = np.concatenate([np.full((samples, 1), -1), best], 1)[:, :-1]
    kept = counted & (best != classes - 1) & (best != before)
    found = np.full((samples, 1, time + 1), -1.0)
    places = np.cumsum(kept, 1) - 1
    found[np.nonzero(kept)[0], 0, places[kept]] = best[kept]
    found[:, 0, -1] = 0.0 - np.where(counted, np.log(shares.max(-1, initial=0.0)), 0.0).sum(1)
    return found


def _beams(result: Any, frames: Any, beam_width: int, merge_repeated: bool) -> None:
    """Prefix beam search on one sample's logarithms; each row of ``result`` is given a path.

    A prefix is a node of a tree, at which one label was added to another prefix. Of each prefix in
    the beam there are the probabilities to be there with a blank last, and with its last label.
    """
    result[:, -1] = -np.inf
    if np.isnan(frames).any():
        result[:, -1] = np.nan
        return
    tree: list[tuple[int, int]] = [(-1, -1)]
    nodes: dict[tuple[int, int], int] = {}
    beam, parents, last = np.array([0]), np.array([-1]), np.array([-1])
    with_blank, with_label = np.array([0.0]), np.array([-np.inf])
    for frame in frames:
        scores, blank = frame[:-1], frame[-1]
        total = np.logaddexp(with_blank, with_label)
        grown = total[:, None] + scores
        (ends,) = np.nonzero(last >= 0)
        # The last label again is the same prefix; another one of it needs a blank between.
        again = np.full(len(beam), -np.inf)
        again[ends] = with_label[ends] + scores[last[ends]]
        grown[ends, last[ends]] = with_blank[ends] + scores[last[ends]]
        # What grows into a prefix of the beam adds to it.
        into, source = np.nonzero(parents[:, None] == beam)
        again[into] = np.logaddexp(again[into], grown[source, last[into]])
        grown[source, last[into]] = -np.inf

        rest = total + blank
        candidates = np.concatenate([np.logaddexp(rest, again), grown.ravel()])
        chosen = _largest(candidates, beam_width)
        stays = chosen < len(beam)
        kept, new = chosen[stays], chosen[~stays] - len(beam)
        old, labels = np.divmod(new, max(len(scores), 1))
        made = []
        for pair in zip(beam[old].tolist(), labels.tolist(), strict=True):
            if pair not in nodes:
                nodes[pair] = len(tree)
                tree.append(pair)
            made.append(nodes[pair])

        parents, last = _joined(stays, parents[kept], beam[old]), _joined(stays, last[kept], labels)
        with_blank = _joined(stays, rest[kept], -np.inf)
        with_label = _joined(stays, again[kept], grown[old, labels])
        beam = _joined(stays, beam[kept], made)
    totals = np.logaddexp(with_blank, with_label)
    for row, node, score in zip(result, beam.tolist(), totals.tolist(), strict=False):
        path = []
        while node:
            node, label = tree[node]
            path.append(label)
        path.reverse()
        if merge_repeated:
            path = [p for i, p in enumerate(path) if i == 0 or p != path[i - 1]]
        row[: len(path)] = path
        row[-1] = score


def _joined(stays: Any, of_kept: Any, of_new: Any) -> Any:
    """What the prefixes have that stay in the beam, and those that come into it."""
    joined = np.empty(len(stays), of_kept.dtype)
    joined[stays], joined[~stays] = of_kept, of_new
    return joined


def _largest(values: Any, count: int) -> Any:
    """The places of the largest ones that are not -inf, these first; of equals the first."""
    (places,) = np.nonzero(values > -np.inf)
    if len(places) > count:
        found = values[places]
        least = np.partition(found, -count)[-count]
        places = places[found >= least]
    return places[np.argsort(-values[places], kind="stable")][:count]


def searcher(*how: Any) -> Callable[[Any, Any], Any]:
    """:func:`search` as a function of the arrays alone."""
    return partial(_searched, how)


def _searched(how: Any, y_pred: Any, input_length: Any) -> Any:
    return search(y_pred, input_length, *how)


def trimmed(paths: Any) -> Any:
    """``paths``, of the shape (samples, time), without the columns that hold only -1."""
    return paths[:, : int((paths >= 0).sum(1).max(initial=0))]
