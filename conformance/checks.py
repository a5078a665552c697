"""What is checked of each case; :func:`derive` lists the checks of a record.

- ``eager``: the value on native tensors, which are left unchanged, and a native result;
- ``recorded``: the value through ``K.function`` on placeholders of full shape;
- ``unknown``: the same on placeholders whose sizes are all unknown;
- ``inferred``: the recorded Tensor's static shape and dtype equal those of its value, and the
  sizes that do not depend on the first axis are known where only that one is unknown;
- ``gradient``: ``K.gradients`` in float64 against central differences of the oracle and against
  the NumPy backend's own graph of the gradient;
- one for each dtype of the record: value and result dtype, eager and recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from kbridge import config
from kbridge.conformance.compare import Mismatch, compare
from kbridge.conformance.lab import Lab, Recorded, lab, taken
from kbridge.conformance.records import Case, Record
from kbridge.conformance.tolerance import (
    LOOSE,
    NUMERIC_GRADIENT,
    STEP,
    gradient_tolerance,
    tolerance,
)
from kbridge.symbolic import dtypes

Check = Callable[[Lab, Record, Case], float]


def derive(record: Record) -> Iterator[tuple[str, str, Check]]:
    """The case, the name and the function of every check of a record."""
    typed = [c for c in record.cases.values() if c.typed] or list(record.cases.values())[:1]
    for each in record.cases.values():
        for name, check, applies in (
            ("eager", eager, record.eager),
            ("recorded", recorded, True),
            ("unknown", unknown, bool(each.samples())),
            ("inferred", inferred, True),
            ("gradient", gradient, record.gradient and float_positions(each)),
        ):
            if applies and name not in each.left_out:
                yield each.id, name, check
        if each in typed:
            for dtype in record.dtypes:
                yield each.id, dtype, _in_dtype(dtype)


# --- results -----------------------------------------------------------------------------------


def eager(lab_: Lab, record: Record, each: Case) -> float:
    operands = lab_.operands(record, each)
    error = _eager(lab_, record, each, operands)
    if lab_.name != "numpy":
        reference = _call_native(lab("numpy"), record, each, operands)[1]
        for got, want in zip(_call_native(lab_, record, each, operands)[1], reference, strict=True):
            limit = 2 * _tolerance(record, each, str(want.dtype))
            what = f"{_title(record, each)} beside the NumPy backend"
            compare(what, got, want, dtype=str(want.dtype), tolerance=limit)
    return error


def recorded(lab_: Lab, record: Record, each: Case) -> float:
    return _judge(lab_, record, each, _static(lab_, record, each))


def unknown(lab_: Lab, record: Record, each: Case) -> float:
    def build(record: Record) -> dict[str, Callable[[], Recorded]]:
        return {
            c.id: partial(lab_.record, record, c, lab_.operands(record, c), open_axes=True)
            for c in record.cases.values()
            if c.samples() and "unknown" not in c.left_out
        }

    found = taken(lab_.group(record.name, "unknown", build), each.id)
    for tensor, value in zip(found.outputs, found.values, strict=True):
        _fits(lab_, f"{_title(record, each)} of unknown sizes", tensor, value)
    return _judge(lab_, record, each, found)


def inferred(lab_: Lab, record: Record, each: Case) -> float:
    found = _static(lab_, record, each)
    what = _title(record, each)
    for tensor, value in zip(found.outputs, found.values, strict=True):
        _fits(lab_, what, tensor, value)
        shape = tuple(lab_.K.int_shape(tensor))
        if None in shape:
            raise Mismatch(f"{what}: the static shape is {shape}, should be {value.shape}")
    _infers_without_batch(lab_, record, each, found)
    return 0.0


def _static(lab_: Lab, record: Record, each: Case) -> Recorded:
    """The recorded call on placeholders of full shape."""

    def build(record: Record) -> dict[str, Callable[[], Recorded]]:
        return {
            c.id: partial(lab_.record, record, c, lab_.operands(record, c))
            for c in record.cases.values()
        }

    return taken(lab_.group(record.name, "static", build), each.id)


def _fits(lab_: Lab, what: str, tensor: Any, value: Any) -> None:
    """The static shape and dtype of a Tensor must allow its value."""
    shape, dtype = tuple(lab_.K.int_shape(tensor)), lab_.K.dtype(tensor)
    fits = len(shape) == value.ndim and all(
        s is None or s == v for s, v in zip(shape, value.shape, strict=True)
    )
    if not fits:
        raise Mismatch(f"{what}: the static shape is {shape}, the value's {value.shape}")
    if dtypes.to_numpy(dtype) != value.dtype:
        raise Mismatch(f"{what}: the static dtype is {dtype}, the value's {value.dtype}")


def _infers_without_batch(lab_: Lab, record: Record, each: Case, full: Recorded) -> None:
    """With an unknown batch size, what does not depend on it stays known.

    The batch is the first axis of the first operand, or of all where they must have it in common.
    """
    K = lab_.K
    shapes = [tuple(K.int_shape(p)) for p in full.placeholders]
    if each.left_out & {"unknown", "batch"} or not all(shapes):
        return

    def sizes(first: Any, count: int) -> list[tuple[Any, ...]] | None:
        stand = [
            K.placeholder(shape=(first(s[0]), *s[1:]) if i < count else s, dtype=K.dtype(p))
            for i, (s, p) in enumerate(zip(shapes, full.placeholders, strict=True))
        ]
        args, kwargs = each.filled(stand)
        try:
            result = record.function(K, each)(*args, **kwargs)
        except Exception:
            return None
        parts = result if isinstance(result, (tuple, list)) else [result]
        return [tuple(K.int_shape(part)) for part in parts]

    for count in (1, len(shapes)):
        larger = sizes(lambda size: size + 1, count)
        if larger is not None:
            break
    else:  # the first axis is no batch: another size is an error
        return
    opened = sizes(lambda size: None, count)
    if opened is None:
        raise Mismatch(f"{_title(record, each)}: cannot be recorded with an unknown batch size")
    now = [tuple(K.int_shape(output)) for output in full.outputs]
    for known, other, found in zip(now, larger, opened, strict=True):
        wanted = tuple(a if a == b else None for a, b in zip(known, other, strict=True))
        for size, need, true in zip(found, wanted, known, strict=True):
            if size != need and (size is None or size != true or need is None):
                raise Mismatch(
                    f"{_title(record, each)}: with an unknown batch size the static shape is "
                    f"{found}, should be {wanted}"
                )


# --- dtypes ------------------------------------------------------------------------------------


def _in_dtype(dtype: str) -> Check:
    def check(lab_: Lab, record: Record, each: Case) -> float:
        error = 0.0
        if lab_.has_natives and record.eager and "eager" not in each.left_out:
            error = _eager(lab_, record, each, lab_.operands(record, each, dtype))
        found = _typed(lab_, record, each, dtype)
        for tensor, value in zip(found.outputs, found.values, strict=True):
            _fits(lab_, _title(record, each), tensor, value)
        return max(error, _judge(lab_, record, each, found))

    return check


def _typed(lab_: Lab, record: Record, each: Case, dtype: str) -> Recorded:
    def build(record: Record) -> dict[str, Callable[[], Recorded]]:
        return {
            f"{c}/{d}": partial(
                lab_.record, record, record.cases[c], lab_.operands(record, record.cases[c], d)
            )
            for c, d in {(c, n) for c, n, _ in derive(record) if n in record.dtypes}
        }

    return taken(lab_.group(record.name, "dtypes", build), f"{each.id}/{dtype}")


def result_dtypes(record: Record, each: Case, operands: list[Any], count: int) -> list[str]:
    """The dtypes that the results must have."""
    rules = record.result if isinstance(record.result, list) else [record.result] * count
    given = [dtypes.normalize(operand.dtype) for operand in operands]
    return [_result_dtype(rule, given, each) for rule in rules]


def _result_dtype(rule: Any, given: list[str], each: Case) -> str:
    if callable(rule):
        return str(rule(given, each))
    if rule in ("first", "counted"):
        return "int32" if rule == "counted" and given[0] == "bool" else given[0]
    if rule in ("common", "floating"):
        common = _common(given)
        return common if rule == "common" or "float" in common else config.floatx()
    return str(rule)


def _common(given: list[str]) -> str:
    """Where operands meet: a float among them decides, else an integer."""
    for kinds in ("float", "int"):
        found = {dtype for dtype in given if kinds in dtype}
        if found:
            (dtype,) = found  # which of two floats wins is told by cases/dtypes.py alone
            return dtype
    return "bool"


# --- gradients ---------------------------------------------------------------------------------


def gradient(lab_: Lab, record: Record, each: Case) -> float:
    found = _gradients(lab_, record, each)
    what = f"the gradient of {_title(record, each)}"
    operands = lab_.operands(record, each, "float64")
    wanted = each.slopes or _central_differences(record, each, operands)
    error = 0.0
    for position, got, want in zip(float_positions(each), found.values, wanted, strict=True):
        name = f"{what} by operand {position}"
        limit = 1e-12 if each.slopes else NUMERIC_GRADIENT * (LOOSE if each.loose else 1)
        error = max(error, compare(name, got, want, dtype="float64", tolerance=limit))
    if lab_.name != "numpy":
        reference = _gradients(lab("numpy"), record, each).values
        for got, want in zip(found.values, reference, strict=True):
            name = f"{what} beside the NumPy backend"
            compare(name, got, want, tolerance=gradient_tolerance())
    return error


def float_positions(each: Case) -> list[int]:
    return [i for i, sample in enumerate(each.samples()) if sample.family == "f"]


def _gradients(lab_: Lab, record: Record, each: Case) -> Recorded:
    def one(c: Case) -> Recorded:
        K = lab_.K
        made = lab_.record(record, c, lab_.operands(record, c, "float64"))
        scales = weights(record, c, made.feeds)
        terms = [
            K.sum(output * lab_.array(weight, "float64"))
            for output, weight in zip(made.outputs, scales, strict=True)
            if weight is not None
        ]
        loss = terms[0]
        for term in terms[1:]:
            loss = loss + term
        sources = [made.placeholders[i] for i in float_positions(c)]
        slopes = K.gradients(loss, sources)
        for position, slope in zip(float_positions(c), slopes, strict=True):
            if slope is None:
                raise Mismatch(f"the gradient of {_title(record, c)} by operand {position} is None")
        return Recorded(made.placeholders, made.feeds, slopes)

    def build(record: Record) -> dict[str, Callable[[], Recorded]]:
        chosen = [c for c, n, _ in derive(record) if n == "gradient"]
        return {c: partial(one, record.cases[c]) for c in chosen}

    return taken(lab_.group(record.name, "gradient", build), each.id)


def weights(record: Record, each: Case, operands: list[Any]) -> list[Any]:
    """A weight per element of each float result; ones where the slopes are given."""
    made = []
    for position, part in enumerate(record.expected(each, operands)):
        rng = np.random.default_rng(position)
        weight = np.ones(part.shape) if each.slopes else rng.uniform(0.5, 1.5, part.shape)
        made.append(weight if part.dtype.kind == "f" else None)
    return made


def _central_differences(record: Record, each: Case, operands: list[Any]) -> list[Any]:
    """The numeric gradient of the weighted sum of the oracle's results."""
    scales = weights(record, each, operands)

    def loss() -> float:
        parts = record.expected(each, operands)
        terms = zip(parts, scales, strict=True)
        return sum(float(np.sum(p * w)) for p, w in terms if w is not None)

    slopes = []
    for position in float_positions(each):
        operand = operands[position]
        slope = np.zeros(operand.shape)
        for index in np.ndindex(operand.shape):
            middle = operand[index]
            operand[index] = middle + STEP
            above = loss()
            operand[index] = middle - STEP
            slope[index] = (above - loss()) / (2 * STEP)
            operand[index] = middle
        slopes.append(slope)
    return slopes


# --- shared ------------------------------------------------------------------------------------


def outcome(lab_: Lab, record: Record, each: Case, check: str) -> Recorded:
    """What the check of that name runs: ``recorded``, ``gradient`` or a dtype."""
    if check == "gradient":
        return _gradients(lab_, record, each)
    if check == "recorded":
        return _static(lab_, record, each)
    return _typed(lab_, record, each, check)


def _call_native(
    lab_: Lab, record: Record, each: Case, operands: list[Any]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Results on native tensors, their values, and the operands' values afterwards."""
    natives = [lab_.native(operand) for operand in operands]
    args, kwargs = each.filled(natives)
    result = record.function(lab_.K, each)(*args, **kwargs)
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    return parts, [lab_.numpy(p) for p in parts], [lab_.numpy(n) for n in natives]


def _eager(lab_: Lab, record: Record, each: Case, operands: list[Any]) -> float:
    what = _title(record, each)
    parts, got, after = _call_native(lab_, record, each, operands)
    for part in parts:
        if record.native and not lab_.is_native(part):
            raise Mismatch(f"{what}: {type(part).__name__} is no native tensor of {lab_.name}")
    for before, now in zip(operands, after, strict=True):
        compare(f"an operand after {what}", now, before, dtype=str(before.dtype))
    return _values(record, each, operands, got)


def _judge(lab_: Lab, record: Record, each: Case, found: Recorded) -> float:
    return _values(record, each, found.feeds, found.values)


def _values(record: Record, each: Case, operands: list[Any], got: list[Any]) -> float:
    """Compare results with the oracle's; return the greatest error."""
    what = _title(record, each)
    wanted = record.expected(each, operands)
    if len(got) != len(wanted):
        raise Mismatch(f"{what}: {len(got)} results, should be {len(wanted)}")
    rules = result_dtypes(record, each, operands, len(wanted))
    given = ", ".join(f"{operand.dtype} {operand.shape}" for operand in operands)
    error = 0.0
    for value, want, dtype in zip(got, wanted, rules, strict=True):
        limit = _tolerance(record, each, dtype)
        found = compare(what, value, want, dtype=dtype, tolerance=limit, given=given)
        error = max(error, found)
    return error


def _tolerance(record: Record, each: Case, dtype: str) -> float:
    return 0.0 if record.exact else tolerance(dtype, each.loose)


def given(lab_: Lab, record: Record, each: Case, check: str) -> dict[str, Any]:
    """What a check gives to the operation, for a report of its failure."""
    dtype = check if check in record.dtypes else "float64" if check == "gradient" else ""
    operands = lab_.operands(record, each, dtype)
    args, kwargs = each.filled([Name(f"x{i}") for i in range(len(operands))])
    shown = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return {
        "call": f"K.{record.name}({', '.join(shown)})",
        "elements": sum(operand.size for operand in operands),
        "operands": [
            f"x{i} = {operand.dtype} {operand.shape}: "
            + " ".join(np.array2string(operand, precision=7, threshold=24).split())
            for i, operand in enumerate(operands)
        ],
    }


class Name(str):
    """A text that stands for an operand: it shows without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _title(record: Record, each: Case) -> str:
    parts = [repr(a) if not _is_operand(a) else "..." for a in each.args]
    parts += [f"{n}={v!r}" if not _is_operand(v) else f"{n}=..." for n, v in each.kwargs.items()]
    return f"K.{record.name}({', '.join(parts)})"


def _is_operand(value: Any) -> bool:
    from kbridge.conformance.samples import Sample

    if isinstance(value, (list, tuple)):
        return any(_is_operand(item) for item in value)
    return isinstance(value, Sample)
