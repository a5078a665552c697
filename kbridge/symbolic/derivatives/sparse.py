"""The derivative of products with sparse matrices, which are data: none passes to these."""

from __future__ import annotations

from kbridge.symbolic.autodiff import rule

rule("sparse_dot", None, lambda K, g, z, x, y, turned: K.sparse_dot(x, g, not turned))
