"""Resizing on PyTorch."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F

from kbridge.backends.torch.elementwise import identity
from kbridge.backends.torch.shaping import repeat_elements

#: Factors whose inverse is exact, by which PyTorch's rounding always finds the right element.
_EXACT = frozenset({1, 2, 4, 8, 16})


def enlarge(x: Any, factors: Any) -> Any:
    images = len(factors) == 4 and factors[3] == 1 and x.is_floating_point() and x.numel()
    if images and _EXACT.issuperset(factors):
        sizes = x.shape[1] * factors[1], x.shape[2] * factors[2]
        return F.interpolate(x.permute(0, 3, 1, 2), sizes).permute(0, 2, 3, 1)
    result = identity(x)
    for axis in reversed(range(len(factors))):
        if factors[axis] > 1:
            result = repeat_elements(result, factors[axis], axis)
    return result


def interpolate(x: Any, factors: Any, first: int, half_pixel_centers: bool) -> Any:
    if first == 1:
        x = x.permute(0, 3, 1, 2)
    sizes = [size * factor for size, factor in zip(x.shape[2:], factors, strict=True)]
    if half_pixel_centers:
        result = F.interpolate(x, sizes, mode="bilinear")
    else:
        # With one element more at the end, and as many places from the first to the last element
        # as there are, PyTorch's other grid is the asked one.
        longer = F.pad(x, (0, 1, 0, 1), mode="replicate")
        result = F.interpolate(
            longer, [size + 1 for size in sizes], mode="bilinear", align_corners=True
        )[..., :-1, :-1]
    return result.permute(0, 2, 3, 1) if first == 1 else result
