"""What PyTorch computes by one function where the contract has two operations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from kbridge.backends.torch.conv import biased_conv
from kbridge.symbolic.tensor import Tensor

Fusion = Callable[..., Callable[..., Any] | None]

#: float16 and bfloat16 would round once where the other engines round twice.
_DTYPES = ("float32", "float64")


def _sum(sign: int) -> Fusion:
    """``x + sign * a * b``, of which ``a`` or ``b`` may be a number."""

    def fuse(outer: Tensor, x: Any, a: Any, b: Any) -> Callable[..., Any] | None:
        dtype = outer.dtype
        if not _fits(dtype, x) or not (_fits(dtype, a) or _fits(dtype, b)):
            return None
        if type(a) is float:
            return _scaled_first if sign > 0 else _scaled_first_off
        if type(b) is float:
            return _scaled_last if sign > 0 else _scaled_last_off
        if not (_fits(dtype, a) and _fits(dtype, b)):
            return None
        return functools.partial(torch.addcmul, value=sign)

    return fuse


def _ratio(sign: int) -> Fusion:
    """``x + sign * a / b``."""

    def fuse(outer: Tensor, *args: Any) -> Callable[..., Any] | None:
        if not all(_fits(outer.dtype, arg) for arg in args):
            return None
        return functools.partial(torch.addcdiv, value=sign)

    return fuse


def _affine(outer: Tensor, x: Any, a: Any, b: Any) -> Callable[..., Any] | None:
    """``x + dot(a, b)`` of matrices, and a vector or a matrix ``x``."""
    if (
        not all(_fits(outer.dtype, arg) for arg in (x, a, b))
        or len(a.shape) != 2
        or len(b.shape) != 2
    ):
        return None
    return _product_and_sum if len(x.shape) in (1, 2) else None


def _product_and_sum(x: Any, a: Any, b: Any) -> Any:
    try:
        return torch.addmm(x, a, b)
    except RuntimeError:  # the product has one row or column, and x more
        return torch.add(x, torch.mm(a, b))


def _convolution(outer: Tensor, bias: Any, x: Any, kernel: Any, *how: Any) -> Any:
    """``bias_add(conv(x, kernel), bias)`` in one layout, of a vector ``bias``."""
    if not all(_fits(outer.dtype, arg) for arg in (bias, x, kernel)) or len(bias.shape) != 1:
        return None
    _, _, data_format, _ = how
    return (
        functools.partial(biased_conv, len(x.shape) - 2) if data_format == outer.args[2] else None
    )


def _fits(dtype: str, value: Any) -> bool:
    return dtype in _DTYPES and isinstance(value, Tensor) and value.dtype == dtype


def _scaled_first(x: Any, a: float, b: Any) -> Any:
    return torch.add(x, b, alpha=a)


def _scaled_last(x: Any, a: Any, b: float) -> Any:
    return torch.add(x, a, alpha=b)


def _scaled_first_off(x: Any, a: float, b: Any) -> Any:
    return torch.sub(x, b, alpha=a)


def _scaled_last_off(x: Any, a: Any, b: float) -> Any:
    return torch.sub(x, a, alpha=b)


FUSIONS: Mapping[tuple[str, str], Fusion] = MappingProxyType(
    {
        ("add", "multiply"): _sum(1),
        ("subtract", "multiply"): _sum(-1),
        ("add", "divide"): _ratio(1),
        ("subtract", "divide"): _ratio(-1),
        ("add", "dot"): _affine,
        ("bias_add", "dot"): _affine,
        ("bias_add", "conv1d"): _convolution,
        ("bias_add", "conv2d"): _convolution,
        ("bias_add", "conv3d"): _convolution,
    }
)
