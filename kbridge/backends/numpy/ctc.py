"""Decoding and sparse labels on NumPy."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic.ctc_search import search as ctc_search
from kbridge.symbolic.ctc_search import trimmed as ctc_trim
from kbridge.symbolic.sparse import scipy

__all__ = ["ctc_search", "ctc_sparse", "ctc_trim"]


def ctc_sparse(labels: Any, mask: Any) -> Any:
    # A label 0 is an element as well.
    return scipy().csr_matrix((labels[mask], mask.nonzero()), labels.shape)
