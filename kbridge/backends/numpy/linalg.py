"""Products on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.symbolic.shapes import batch_dot_axes

dot = np.dot
transpose = np.transpose


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    a, b = batch_dot_axes(x.shape, y.shape, axes)
    # The contracted axes to the end of x and to the middle of y, the rest flattened.
    x_kept = [n for i, n in enumerate(x.shape) if i not in (0, a)]
    y_kept = [n for i, n in enumerate(y.shape) if i not in (0, b)]
    size = x.shape[a]
    left = np.moveaxis(x, a, -1).reshape(len(x), -1, size)
    right = np.moveaxis(y, b, 1).reshape(len(y), size, -1)
    result = np.matmul(left, right).reshape(len(x), *x_kept, *y_kept)
    return result if x_kept or y_kept else result.reshape(len(x), 1)
