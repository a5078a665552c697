"""On PyTorch: plain functions, channels first, the gradients by autograd, updates in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks import networks
from benchmarks.networks import RATE, UNITS


def logits(model: str, x: Any, w: list[Any]) -> Any:
    if model == "mlp":
        return torch.addmm(w[3], torch.relu(torch.addmm(w[1], x, w[0])), w[2])
    if model == "cnn":
        x = x.permute(0, 3, 1, 2)
        for kernel, bias in ((w[0], w[1]), (w[2], w[3])):
            x = F.max_pool2d(torch.relu(F.conv2d(x, kernel, bias, padding=1)), 2)
        return torch.addmm(w[5], x.flatten(1), w[4])
    h = c = x.new_zeros(x.shape[0], UNITS)
    for z in (x @ w[0] + w[2]).unbind(1):
        z = torch.addmm(z, h, w[1])
        if model == "rnn":
            h = torch.tanh(z)
        else:
            i, f, g, o = z.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
    return torch.addmm(w[4], h, w[3])


def step(model: str, **_: Any) -> Callable[[Any, Any], Any]:
    given = networks.weights(model)
    if model == "cnn":  # kernels (filters, channels, rows, columns), the dense rows to match
        given = [v.transpose(3, 2, 0, 1).copy() if v.ndim == 4 else v for v in given]
        given[4] = given[4].reshape(7, 7, 32, -1).transpose(2, 0, 1, 3).reshape(7 * 7 * 32, -1)
    w = [torch.tensor(value, requires_grad=True) for value in given]

    def run(x: Any, y: Any) -> Any:
        found = logits(model, torch.from_numpy(x), w)
        loss = F.cross_entropy(found, torch.from_numpy(y).long())
        gradients = torch.autograd.grad(loss, w)
        with torch.no_grad():
            for value, gradient in zip(w, gradients, strict=True):
                value.sub_(gradient, alpha=RATE)
        return loss.detach().numpy()

    return run
