"""Sparse matrices on PyTorch are sparse tensors in COO form, the one that its autograd knows best.

Tensors in CSR form multiply twice as fast, but are in beta and say so at each use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from kbridge.backends.torch.values import TORCH
from kbridge.symbolic.sparse import scipy


def is_matrix(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is not torch.strided


def from_scipy(matrix: Any, dtype: str) -> Any:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    places = np.stack([rows, matrix.indices.astype(np.int64)])
    data = matrix.data if matrix.data.flags.writeable else matrix.data.copy()
    with torch.inference_mode(False):  # whose tensors could take no part in a gradient
        return torch.sparse_coo_tensor(
            torch.from_numpy(places),
            torch.from_numpy(data),
            matrix.shape,
            is_coalesced=True,
            check_invariants=False,
        )


def to_scipy(native: Any) -> Any:
    coo = native.detach().cpu().to_sparse_coo().coalesce()
    data, (rows, columns) = coo.values().numpy(), coo.indices().numpy()
    return scipy().csr_matrix((data, (rows, columns)), tuple(coo.shape))


def store(native: Any, storage: Any = None) -> Any:
    return native


def sparse_dot(x: Any, y: Any, turned: bool) -> Any:
    return torch.mm(x.t() if turned else x, y)


def sparse_concatenate(tensors: Any, axis: int) -> Any:
    return torch.cat([tensor.to_sparse_coo() for tensor in tensors], axis)


def sparse_cast(x: Any, dtype: str) -> Any:
    return x.to(TORCH[dtype])


def sparse_to_dense(x: Any) -> Any:
    return x.to_dense()
