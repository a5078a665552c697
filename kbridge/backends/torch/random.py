"""Random numbers on PyTorch; ``seed`` is a key that :func:`key` makes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import torch

from kbridge.backends.torch.values import TORCH, ints
from kbridge.symbolic.dtypes import to_numpy

_WORD = 0xFFFFFFFF
#: Half the width of the uniform numbers that become a normal cut at two standard deviations.
_CUT = math.erf(math.sqrt(2.0))


@functools.lru_cache(maxsize=4096)
def _stream(seed: int) -> tuple[int, ...]:
    words = np.random.SeedSequence(seed).generate_state(4).tolist()
    return words[0] | 1, words[1], words[2] | 1, words[3]


def key(seed: int, position: int) -> int:
    """A 64-bit seed for one position of the stream of ``seed``.

    PyTorch's generator on the CPU reads the lower 32 bits only. They are a bijection of the
    position, so that no two of a stream's first 2^32 draws are equal.
    """
    factor, offset, high_factor, high_offset = _stream(seed & 0xFFFFFFFFFFFFFFFF)
    low = _mixed(position * factor + offset & _WORD)
    return _mixed(position * high_factor + high_offset & _WORD) << 32 | low


def at_step(position: int, *steps: int) -> int:
    """The position in a stream of a draw at a step of a loop.

    The golden section spreads the positions so evenly that steps of other calls are met only
    after some 2^31 of them.
    """
    for step in steps:
        position = position * 0x9E3779B1 + step & _WORD
    return position


def _mixed(n: int) -> int:
    """The finaliser of MurmurHash3, a bijection of the 32-bit numbers."""
    n = (n ^ n >> 16) * 0x85EBCA6B & _WORD
    n = (n ^ n >> 13) * 0xC2B2AE35 & _WORD
    return n ^ n >> 16


def _empty(shape: Any, dtype: str) -> Any:
    """A tensor to draw into: half precision and integers are drawn in float32, then rounded."""
    return torch.empty(ints(shape), dtype=torch.float64 if dtype == "float64" else torch.float32)


def _generator(seed: Any) -> Any:
    device = torch.get_default_device()  # where K.function(device=...) computes
    return torch.Generator("cpu" if device.type == "meta" else device).manual_seed(int(seed))


def random_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    return _scaled(_empty(shape, dtype).normal_(generator=_generator(seed)), stddev, mean, dtype)


def random_uniform(shape: Any, minval: float, maxval: float, dtype: str, seed: Any) -> Any:
    kind = TORCH[dtype]
    if not kind.is_floating_point:
        bounds = int(minval), int(maxval)
        return torch.randint(*bounds, ints(shape), generator=_generator(seed), dtype=kind)
    drawn = _empty(shape, dtype).uniform_(generator=_generator(seed))
    if drawn.dtype is kind and (minval, maxval) == (0.0, 1.0):
        return drawn
    drawn = _scaled(drawn, maxval - minval, minval, dtype)
    # Rounding may reach the upper end, which is not part of the range.
    return drawn.clamp_(max=_below(maxval, dtype)) if maxval > minval else drawn


@functools.lru_cache(maxsize=256)
def _below(bound: float, dtype: str) -> float:
    number = to_numpy(dtype).type
    return float(np.nextafter(number(bound), number(-math.inf)))


def truncated_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    # By the inverse of the distribution function; the ends are the cut itself.
    drawn = _empty(shape, dtype).uniform_(-_CUT, _CUT, generator=_generator(seed))
    drawn = drawn.erfinv_().mul_(math.sqrt(2.0)).clamp_(-2.0, 2.0)
    return _scaled(drawn, stddev, mean, dtype)


def _scaled(drawn: Any, scale: float, shift: float, dtype: str) -> Any:
    """``drawn * scale + shift`` in ``dtype``, in the memory of ``drawn``."""
    if scale != 1.0:
        drawn.mul_(scale)
    if shift:
        drawn.add_(shift)
    return drawn.to(TORCH[dtype])
