"""The derivative of printing: what passes through is printed on its way forward only."""

from __future__ import annotations

from kbridge.symbolic.autodiff import rule

rule("print_tensor", lambda K, g, y, x, message, summarize: g)
