"""What is known of sizes while a program is written.

PyTensor's own ``infer_static_shape`` tells as much, in the time of a small compilation each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pytensor.compile.ops import ViewOp
from pytensor.graph.basic import Constant
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import Join, MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

#: Of what is longer, or computed in more steps, nothing is known.
_LONGEST, _DEEPEST = 64, 40

_PASSED = (TensorFromScalar, ScalarFromTensor, SpecifyShape, CheckAndRaise, ViewOp)
_COMPUTED = (Elemwise, CAReduce, Reshape)
#: Of what arranges elements, the inputs that say where.
_WHOLE = {
    Join: slice(1),
    Subtensor: slice(1, None),
    AdvancedSubtensor: slice(1, None),
    DimShuffle: slice(0),
}


def known_size(scalar: Any) -> int | None:
    """The value of a size that follows from numbers and static shapes alone."""
    found = _numbers(scalar, _DEEPEST)
    return None if found is None or found.item() is None else int(found.item())


def is_of_sizes(x: Any) -> bool:
    """Whether ``x`` is computed of sizes and numbers alone."""
    found, seen, left = False, set(), [x]
    while left:
        each = left.pop()
        if each in seen or isinstance(each, Constant):
            continue
        seen.add(each)
        if each.owner is None:
            return False
        if isinstance(each.owner.op, (Shape, Shape_i)):
            found = True
        else:
            left += each.owner.inputs
    return found


def _numbers(x: Any, depth: int) -> Any:
    """The whole numbers in ``x``, None where one is unknown; None if there is nothing to know."""
    if not depth or "int" not in getattr(x.type, "dtype", ""):
        return None
    if isinstance(x, Constant):
        return np.array(x.data, object) if np.size(x.data) <= _LONGEST else None
    op = None if x.owner is None else x.owner.op
    if isinstance(op, (Shape, Shape_i)):
        sizes = np.array(x.owner.inputs[0].type.shape, object)
        return sizes if isinstance(op, Shape) else np.array(sizes[op.i], object)
    if not isinstance(op, (*_PASSED, *_COMPUTED, *_WHOLE, MakeVector)):
        return None
    if isinstance(op, _PASSED):
        return _numbers(x.owner.inputs[0], depth - 1)
    values = [_numbers(each, depth - 1) for each in x.owner.inputs]
    if isinstance(op, MakeVector):
        return np.array([None if v is None else v.item() for v in values], object)
    if any(v is None for v in values):
        return None
    # What is arranged may be unknown; where to, and what is computed of, may not.
    whole = _WHOLE.get(type(op), slice(None))
    for i, known in list(enumerate(values))[whole]:
        if None in known.flat:
            return None
        values[i] = known.astype(x.owner.inputs[i].type.dtype)
    if isinstance(op, Join):
        return np.concatenate(values[1:], values[0])
    found: list[Any] = [None]
    try:
        op.perform(x.owner, values, [found])
    except (ValueError, IndexError):
        return None  # the run tells it
    return np.array(found[0], object)
