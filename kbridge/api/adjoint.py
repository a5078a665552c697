"""What the graph's own autodiff needs beyond the K functions: no names of K.

Engines that differentiate by themselves never run these. An operand that serves for its shape
only, or decides where something goes, is not differentiable.
"""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import operation
from kbridge.api.rules import TensorLike
from kbridge.symbolic import conv_shapes

# --- shapes --------------------------------------------------------------------------------------


@operation("x like", shape=lambda x, like: like.shape, differentiable="x", public=False)
def broadcast_like(x: TensorLike, like: TensorLike) -> Any:
    """``x`` broadcast to the shape of ``like``."""


@operation("x like", shape=lambda x, like: like.shape, differentiable="x", public=False)
def sum_like(x: TensorLike, like: TensorLike) -> Any:
    """``x`` summed to the shape of ``like``, which broadcasts to that of ``x``."""


@operation("x like", shape=lambda x, like: like.shape, differentiable="x", public=False)
def reshape_like(x: TensorLike, like: TensorLike) -> Any:
    """The elements of ``x`` in the shape of ``like``."""


# --- parts and repeats: sums into zeros, where the elements came from ----------------------------


@operation(
    "g x",
    shape=lambda g, x, key: x.shape,
    host_arguments="key",
    differentiable="g",
    public=False,
)
def getitem_adjoint(g: TensorLike, x: TensorLike, key: Any) -> Any:
    """Zeros like ``x``, with ``g`` added at ``key``."""


@operation(
    "g x",
    shape=lambda g, x, start, size: x.shape,
    host_arguments="start size",
    differentiable="g",
    public=False,
)
def slice_adjoint(g: TensorLike, x: TensorLike, start: Any, size: Any) -> Any:
    """Zeros like ``x``, with ``g`` from ``start`` on."""


@operation(
    "g reference indices",
    shape=lambda g, reference, indices: reference.shape,
    differentiable="g",
    public=False,
)
def gather_adjoint(g: TensorLike, reference: TensorLike, indices: TensorLike) -> Any:
    """Zeros like ``reference``, with ``g`` added to the rows ``indices``."""


@operation(
    "g x",
    shape=lambda g, x, rep, axis: x.shape,
    host_arguments="rep",
    differentiable="g",
    public=False,
)
def repeat_elements_adjoint(g: TensorLike, x: TensorLike, rep: Any, axis: int) -> Any:
    """Each run of ``rep`` elements along ``axis`` summed."""


@operation(
    "g x",
    shape=lambda g, x, n: x.shape,
    host_arguments="n",
    differentiable="g",
    public=False,
)
def tile_adjoint(g: TensorLike, x: TensorLike, n: Any) -> Any:
    """The ``n`` tiles of ``g`` summed."""


# --- along an axis -------------------------------------------------------------------------------


@operation("a b", shape=lambda a, b, axis: b.shape, public=False)
def recurrence(a: TensorLike, b: TensorLike, axis: int) -> Any:
    """``h[t] = a[t] * h[t - 1] + b[t]`` along ``axis``, from ``h[-1] = 0``."""


# --- windows: each is linear in each operand, and together they are closed under derivatives -----


@operation(
    "g x kernel",
    shape=lambda g, x, *rest: x.shape,
    differentiable="g kernel",
    public=False,
)
def conv_input_adjoint(
    g: TensorLike,
    x: TensorLike,
    kernel: TensorLike,
    strides: Any,
    padding: str,
    data_format: str,
    dilation_rate: Any,
    depthwise: bool = False,
) -> Any:
    """The derivative by its input ``x`` of a convolution that ``g`` multiplies."""


@operation(
    "g x kernel",
    shape=lambda g, x, kernel, *rest: kernel.shape,
    differentiable="g x",
    public=False,
)
def conv_kernel_adjoint(
    g: TensorLike,
    x: TensorLike,
    kernel: TensorLike,
    strides: Any,
    padding: str,
    data_format: str,
    dilation_rate: Any,
    depthwise: bool = False,
) -> Any:
    """The derivative by its ``kernel`` of a convolution that ``g`` multiplies."""


@operation("g x", shape=lambda g, x, *rest: x.shape, differentiable="g", public=False)
def pool_adjoint(
    g: TensorLike,
    x: TensorLike,
    pool_size: Any,
    strides: Any,
    padding: str,
    data_format: str,
    pool_mode: str,
) -> Any:
    """``g`` spread over the windows of ``x``: to the first maximum, or evenly."""


@operation(
    "values x",
    shape=lambda values, x, *how: conv_shapes.pool(x.shape, *how),
    differentiable="values",
    public=False,
)
def pool_pick(
    values: TensorLike,
    x: TensorLike,
    pool_size: Any,
    strides: Any,
    padding: str,
    data_format: str,
) -> Any:
    """The element of ``values`` where each window of ``x`` has its first maximum."""
