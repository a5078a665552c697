"""The CTC cost, decoding and sparse labels on PyTorch; NumPy searches."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from kbridge.api.declare import OPERATIONS
from kbridge.symbolic.ctc_search import search

try:
    from torch._C._functorch import peek_interpreter_stack as _transform
except ImportError:  # not public, but nothing else tells whether torch.func is at work
    _transform = None  # type: ignore[assignment]


# --- the cost ------------------------------------------------------------------------------------


def ctc_total(logs: Any, labels: Any, frames: Any, count: Any) -> Any:
    # PyTorch's own is some times faster, but wants elements, and takes part in no transform.
    inside = torch.compiler.is_compiling() or (_transform is not None and _transform() is not None)
    if not inside and logs.numel() and labels.numel():
        return _Total.apply(logs, labels, frames, count)
    return _composed(logs, labels, frames, count)


def _composed(*args: Any) -> Any:
    from kbridge.loader import load_backend

    K = load_backend("torch")
    with K.eager_scope():
        return OPERATIONS["ctc_total"].composition(K, *args)  # type: ignore[misc]


class _Total(torch.autograd.Function):
    """PyTorch's own function, with a derivative of every order, and 0 where there is no path."""

    @staticmethod
    def forward(ctx: Any, logs: Any, labels: Any, frames: Any, count: Any) -> Any:
        ctx.save_for_backward(logs, labels, frames, count)
        with torch.set_grad_enabled(ctx.needs_input_grad[0]):
            leaf = logs.detach().requires_grad_(ctx.needs_input_grad[0])
            cost = functional.ctc_loss(
                leaf.transpose(0, 1), labels, frames, count, logs.shape[2] - 1, reduction="none"
            )
        ctx.own = leaf, cost
        return cost.detach().neg()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        logs, labels, frames, count = ctx.saved_tensors
        if torch.is_grad_enabled():  # for a derivative of this one, which PyTorch's own lacks
            total = _composed(logs, labels, frames, count)
            (found,) = torch.autograd.grad(total, logs, g, create_graph=True)
            return found, None, None, None
        leaf, cost = ctx.own
        (found,) = torch.autograd.grad(cost, leaf, -g, retain_graph=True)
        # It is that through a softmax as well, which is taken out again.
        found = found + leaf.detach().exp() * g[:, None, None]
        steps = torch.arange(logs.shape[1], device=logs.device)
        counts = (steps < frames[:, None]) & (cost < 5e29)[:, None]
        return torch.where(counts[:, :, None], found, 0.0), None, None, None


# --- decoding and labels -------------------------------------------------------------------------


def ctc_search(y_pred: Any, input_length: Any, *how: Any) -> Any:
    if torch.compiler.is_compiling():  # which would take NumPy's steps for PyTorch's
        return torch.compiler.disable(_search)(y_pred, input_length, *how)
    return _search(y_pred, input_length, *how)


def _search(y_pred: Any, input_length: Any, *how: Any) -> Any:
    arrays = (x.detach().cpu().numpy() for x in (y_pred, input_length))
    return torch.from_numpy(search(*arrays, *how)).to(y_pred.device)


def ctc_trim(paths: Any) -> Any:
    if 0 in paths.shape:
        return paths[:, :0]
    return paths[:, : int((paths >= 0).sum(1).max())]


def ctc_sparse(labels: Any, mask: Any) -> Any:
    return torch.sparse_coo_tensor(
        mask.nonzero().T, labels[mask], labels.shape, is_coalesced=True, check_invariants=False
    )
