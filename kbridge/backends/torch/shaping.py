"""Shapes and picking on PyTorch."""

from __future__ import annotations

import builtins
from typing import Any

import torch

from kbridge import config
from kbridge.backends.torch.values import TORCH, ints
from kbridge.errors import IndexRangeError, ShapeError
from kbridge.symbolic.host import host_ints
from kbridge.symbolic.shapes import empty_reshape

expand_dims = torch.unsqueeze
concatenate = torch.cat
stack = torch.stack
flatten = torch.flatten


def shape(x: Any) -> Any:
    return host_ints(x.shape)


def size(x: Any, name: str | None = None) -> Any:
    return host_ints(x.numel())


def reshape(x: Any, shape: Any) -> Any:
    try:
        return torch.reshape(x, shape if shape.__class__ is tuple else ints(shape))
    except RuntimeError:
        target = ints(shape)
        if x.numel() or 0 not in target or -1 not in target:
            raise
        return torch.reshape(x, empty_reshape(x.shape, target))


def permute_dimensions(x: Any, pattern: Any) -> Any:
    return torch.permute(x, pattern if pattern.__class__ is tuple else ints(pattern))


def squeeze(x: Any, axis: Any) -> Any:
    if axis.__class__ is not int:
        axis = ints(axis)
        fits = all(x.shape[one] == 1 for one in axis)
    else:
        fits = x.shape[axis] == 1
    if not fits:  # PyTorch would return x as it is
        raise ShapeError(f"axis {axis} of {tuple(x.shape)} is not of size 1")
    return torch.squeeze(x, axis)


def repeat_elements(x: Any, rep: Any, axis: int) -> Any:
    return torch.repeat_interleave(x, int(rep), axis)


def repeat(x: Any, n: Any) -> Any:
    if x.dim() != 2:
        raise ShapeError(f"a matrix is needed, got {tuple(x.shape)}")
    return x.unsqueeze(1).repeat(1, int(n), 1)


def tile(x: Any, n: Any) -> Any:
    return torch.tile(x, n if n.__class__ is tuple else ints(n))


def batch_flatten(x: Any) -> Any:
    return torch.flatten(x, 1) if x.dim() > 1 else torch.reshape(x, (x.shape[0], 1))


def reverse(x: Any, axes: Any) -> Any:
    return torch.flip(x, ints(axes))


def pad(x: Any, pairs: Any, value: float = 0.0) -> Any:
    return torch.constant_pad_nd(x, [n for pair in reversed(pairs) for n in pair], value)


def gather(reference: Any, indices: Any) -> Any:
    if indices.dtype not in (torch.int32, torch.int64):
        indices = indices.long()
    if not reference.is_cpu:  # where an index out of range would stop the whole process
        _check(reference, indices)
    try:
        if indices.dim() == 1:
            return torch.index_select(reference, 0, indices)
        rows = torch.index_select(reference, 0, indices.reshape(-1))
    except (IndexError, RuntimeError):
        _check(reference, indices)
        raise
    return rows.reshape(indices.shape + reference.shape[1:])


def _check(reference: Any, indices: Any) -> None:
    rows = reference.shape[0]
    outside = indices[(indices < 0) | (indices >= rows)]
    if outside.numel():
        raise IndexRangeError(
            f"K.gather: the index {outside[0].item()} is outside the valid range [0, {rows}) of a "
            f"reference of shape {tuple(reference.shape)}."
        )


def one_hot(indices: Any, num_classes: int, dtype: str | None = None) -> Any:
    classes = torch.arange(int(num_classes), device=indices.device)
    return (indices.unsqueeze(-1) == classes).to(TORCH[dtype or config.floatx()])


def slice(x: Any, start: Any, size: Any) -> Any:
    starts, sizes = ints(start), ints(size)
    if len(starts) != x.dim() or len(sizes) != x.dim():
        raise ShapeError(f"start {starts} and size {sizes} do not fit {tuple(x.shape)}")
    for axis, (begin, count) in enumerate(zip(starts, sizes, strict=True)):
        whole = x.shape[axis]
        count = whole - begin if count == -1 else count
        if not 0 <= begin <= begin + count <= whole:
            raise ShapeError(f"start {starts}, size {sizes} lie outside {tuple(x.shape)}")
        if count != whole:
            x = torch.narrow(x, axis, begin, count)
    return x


def getitem(x: Any, key: Any) -> Any:
    for part in key:
        if part.__class__ is builtins.slice:
            if part.step is not None:
                break
        elif part is not None and part is not Ellipsis and part.__class__ is not int:
            break
    else:
        return x[key]
    parts = [_plain(part) for part in key]
    if any(isinstance(part, torch.Tensor) for part in parts):
        # An integer beside an index tensor is one too, as in NumPy.
        parts = [torch.tensor([p]) if isinstance(p, int) else p for p in parts]
    turned, axis = [], 0
    used = sum(part is not None and part is not Ellipsis for part in parts)
    for position, part in enumerate(parts):
        if part is Ellipsis:
            axis += x.dim() - used
        elif part is not None:
            if isinstance(part, builtins.slice) and (part.step or 1) < 0:
                parts[position] = _turned(part, x.shape[axis])
                turned.append(axis)
            axis += 1
    return (torch.flip(x, turned) if turned else x)[tuple(parts)]


def _plain(part: Any) -> Any:
    """Sizes on the host as ints, index arrays as tensors."""
    if isinstance(part, builtins.slice):
        bounds = (part.start, part.stop, part.step)
        return builtins.slice(*(None if bound is None else int(bound) for bound in bounds))
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, (list, tuple)) or getattr(part, "shape", ()) != ():
        return torch.as_tensor(part).long()
    return int(part)


def _turned(part: Any, size: int) -> Any:
    """A slice with a negative step, which PyTorch lacks, as one of the reversed axis."""
    picked = range(size)[part]
    first, step = size - 1 - picked.start, -picked.step
    return builtins.slice(first, first + len(picked) * step, step)
