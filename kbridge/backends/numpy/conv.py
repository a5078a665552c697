"""Convolution and pooling on NumPy: windows by ``sliding_window_view``, products by BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kbridge.api.rules import as_data_format
from kbridge.symbolic.conv_shapes import same_padding, tuple_of


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    raise NotImplementedError


_ = (np, sliding_window_view, as_data_format, same_padding, tuple_of)
