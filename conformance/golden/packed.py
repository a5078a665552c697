"""The file that goes between kbridge and Keras: nested lists of numbers, text and arrays.

Read and written by Python 3.7 with NumPy 1 as well as by today's. An archive of NumPy's has one
flat array for each dtype and one, ``index``, with the structure as JSON, in which an array is its
dtype, its shape and its place. There are no pickles in it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np


class Ref(NamedTuple):
    """A value that stands elsewhere: an operand of the case, or the result of an earlier step."""

    number: int


class Steps(NamedTuple):
    """Calls of K functions and operators in order; ``parameters`` are the Refs that are given.

    A step is ``[function, arguments, named arguments, number of the result]``.
    """

    parameters: list[Ref]
    calls: list[list[Any]]
    result: Any


def save(path: str, content: Any) -> None:
    """Write a structure of dictionaries, lists, tuples, slices, numbers, text, arrays, matrices."""
    index, flat = _encoded(content)
    np.savez_compressed(path, index=np.frombuffer(index, np.uint8), **flat)


def digest(content: Any) -> str:
    """A short name for the content of such a structure."""
    index, flat = _encoded(content)
    found = hashlib.sha1(index)
    for dtype in sorted(flat):
        found.update(np.ascontiguousarray(flat[dtype]).tobytes())
    return found.hexdigest()[:12]


def _encoded(content: Any) -> tuple[bytes, dict[str, Any]]:
    """The index, and the flat arrays of each dtype."""
    arrays: dict[str, list[Any]] = {}
    lengths: dict[str, int] = {}

    def encoded(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            if array.dtype.kind not in "fiub":
                raise TypeError(f"an array of {array.dtype} cannot be packed: {array!r:.80}")
            dtype, start = str(array.dtype), lengths.get(str(array.dtype), 0)
            arrays.setdefault(dtype, []).append(array.ravel())
            lengths[dtype] = start + array.size
            kind = "scalar" if isinstance(value, np.generic) else "array"
            return {"": kind, "of": [dtype, list(array.shape), start]}
        if hasattr(value, "tocoo"):  # a SciPy matrix
            matrix = value.tocoo()
            parts = (matrix.data, matrix.row, matrix.col, list(matrix.shape))
            return {"": "sparse", "of": [encoded(part) for part in parts]}
        for type_, kind in _KINDS:
            if isinstance(value, type_):
                return {"": kind, "of": [encoded(item) for item in _parts(value)]}
        if isinstance(value, dict):
            return {key: encoded(item) for key, item in value.items()}
        if isinstance(value, list):
            return [encoded(item) for item in value]
        if value is Ellipsis:
            return {"": "dots", "of": []}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise TypeError(f"{type(value).__name__} cannot be packed: {value!r:.80}")

    index = json.dumps(encoded(content), separators=(",", ":")).encode()
    return index, {dtype: np.concatenate(parts) for dtype, parts in arrays.items()}


def load(path: str) -> Any:
    """What :func:`save` wrote."""
    with np.load(path, allow_pickle=False) as archive:
        flat = {name: archive[name] for name in archive.files}
    return _decoded(json.loads(flat.pop("index").tobytes().decode()), flat)


#: Ref and Steps are tuples too, so they come first.
_KINDS: tuple[tuple[type, str], ...] = (
    (Ref, "ref"),
    (Steps, "steps"),
    (tuple, "tuple"),
    (slice, "slice"),
)
_MAKE = {
    "ref": lambda parts: Ref(*parts),
    "steps": lambda parts: Steps(*parts),
    "tuple": tuple,
    "slice": lambda parts: slice(*parts),
    "dots": lambda parts: Ellipsis,
    "sparse": lambda parts: _sparse(*parts),
}


def _sparse(data: Any, row: Any, column: Any, shape: list[int]) -> Any:
    from scipy.sparse import coo_matrix

    return coo_matrix((data, (row, column)), shape)


def _parts(value: Any) -> Any:
    return (value.start, value.stop, value.step) if isinstance(value, slice) else value


def _decoded(value: Any, flat: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decoded(item, flat) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("")
    if kind is None:
        return {key: _decoded(item, flat) for key, item in value.items()}
    if kind in ("array", "scalar"):
        dtype, shape, start = value["of"]
        size = int(np.prod(shape, dtype=np.int64))
        array = flat[dtype][start : start + size].reshape(shape)
        return array[()] if kind == "scalar" else array
    return _MAKE[kind]([_decoded(item, flat) for item in value["of"]])
