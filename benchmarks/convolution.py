"""The NumPy backend beside one BLAS product of the same work, and beside PyTorch on one thread."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks import networks
from benchmarks.engines import child, installed
from benchmarks.networks import BATCH, UNITS
from benchmarks.paired import ratios
from benchmarks.report import Row

# Operation, input (channels last), kernel, stride.
CASES: list[tuple[str, tuple[int, ...], tuple[int, ...], int]] = [
    ("conv1d", (16, 256, 32), (5, 32, 32), 1),
    ("conv2d", (8, 28, 28, 1), (3, 3, 1, 32), 1),
    ("conv2d", (8, 32, 32, 3), (3, 3, 3, 32), 1),
    ("conv2d", (8, 32, 32, 16), (3, 3, 16, 32), 1),
    ("conv2d", (8, 32, 32, 16), (3, 3, 16, 32), 2),
    ("conv2d", (8, 28, 28, 64), (3, 3, 64, 64), 1),
    ("conv2d", (8, 28, 28, 64), (1, 1, 64, 64), 1),
    ("conv3d", (2, 16, 16, 16, 16), (3, 3, 3, 16, 16), 1),
]


def _numbers(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def convolution(index: int, first: bool, seconds: float) -> dict[str, float]:
    """One of the cases against the product of its windows with the kernel."""
    import kbridge

    name, x, kernel, stride = CASES[index]
    convolve = getattr(kbridge.load_backend("numpy"), name)
    image, weights = _numbers(*x), _numbers(*kernel)
    if first:
        image = np.ascontiguousarray(np.moveaxis(image, -1, 1))
    how = (stride, "same", "channels_first" if first else "channels_last")
    windows = convolve(image, weights, *how).size // kernel[-1]
    names = {
        "dot": np.dot,
        "columns": _numbers(windows, math.prod(kernel[:-1])),
        "matrix": weights.reshape(-1, kernel[-1]),
        "convolve": convolve,
        "image": image,
        "weights": weights,
        "how": how,
    }
    return ratios(["dot(columns, matrix)", "convolve(image, weights, *how)"], names, seconds)[1]


def parts(seconds: float) -> dict[str, list[dict[str, float]]]:
    """Gradient, pooling and a step of an LSTM, against a product (if any) and against PyTorch."""
    import torch
    from torch.nn import functional as F

    import kbridge

    torch.set_num_threads(1)
    K = kbridge.load_backend("numpy")
    x, kernel = _numbers(8, 28, 28, 16), _numbers(3, 3, 16, 32)
    image = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous().requires_grad_()
    weights = torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()).requires_grad_()
    a, b = K.placeholder(x.shape), K.placeholder(kernel.shape)
    loss = K.sum(K.square(K.conv2d(a, b, padding="same", data_format="channels_last")))
    gradient = K.function([a, b], K.gradients(loss, [a, b]))

    def backward() -> Any:
        return torch.autograd.grad(
            F.conv2d(image, weights, padding=1).square().sum(), (image, weights)
        )

    columns, matrix = _numbers(8 * 28 * 28, 144), kernel.reshape(144, 32)
    rows = _numbers(8 * 28 * 28, 32)

    def products() -> Any:
        return columns @ matrix, rows @ matrix.T, columns.T @ rows

    np.testing.assert_allclose(
        gradient([x, kernel])[1], backward()[1].permute(2, 3, 1, 0).numpy(), rtol=1e-2, atol=0.5
    )
    names = {"products": products, "gradient": gradient, "backward": backward, "K": K}
    names.update(x=x, kernel=kernel, image=image.detach(), pool=F.max_pool2d)
    found = {}
    for title, others, own in (
        ("conv2d and its gradient", ("products()", "backward()"), "gradient([x, kernel])"),
        (
            "pool2d",
            ("pool(image, 2)",),
            "K.pool2d(x, (2, 2), (2, 2), data_format='channels_last')",
        ),
    ):
        found[title] = [ratios([other, own], names, seconds)[1] for other in others]
    found["LSTM step"] = _lstm(K, torch, seconds)
    return found


def _lstm(K: Any, torch: Any, seconds: float) -> list[dict[str, float]]:
    """One step of an LSTM without its gradient."""
    z, h, c, u = (
        _numbers(BATCH, 4 * UNITS),
        *[_numbers(BATCH, UNITS)] * 2,
        networks.weights("lstm")[1],
    )
    places = [K.placeholder(value.shape) for value in (z, h, c)]
    own = K.function(places, networks.lstm(K, places[0], places[1:], K.variable(u))[1])
    tensors = [torch.from_numpy(value) for value in (z, h, c, u)]

    def native() -> Any:
        z, h, c, u = tensors
        i, f, g, o = torch.addmm(z, h, u).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    np.testing.assert_allclose(own([z, h, c])[0], native()[0].numpy(), rtol=1e-3, atol=1e-4)
    names = {"own": own, "z": z, "h": h, "c": c, "u": u, "native": native}
    return [ratios([other, "own([z, h, c])"], names, seconds)[1] for other in ("h @ u", "native()")]


def rows(quick: bool) -> list[Row]:
    if "numpy" not in installed():
        return []
    found = []
    seconds = 0.2 if quick else 1.0
    topic, product, other = "NumPy backend", "one matrix product", "PyTorch, one thread"
    for index, (name, x, kernel, stride) in enumerate(CASES):
        goal = None
        if name == "conv2d":
            goal = 2.0 if x[-1] >= 16 else 6.0 if x[-1] == 1 else None
        for first in (False, True):
            layout = "channels first" if first else "channels last"
            case = f"{name} {x} {kernel} / {stride}, {layout}"
            got = child("convolution", "convolution", "numpy", index, first, seconds)
            found.append(Row(topic, "numpy", case, product, goal=goal, **got))
    if "torch" in installed():
        for case, results in child("convolution", "parts", "numpy", seconds).items():
            names = (product, other) if len(results) == 2 else (other,)
            for against, got in zip(names, results, strict=True):
                against = "three products" if (case[:4], against) == ("conv", product) else against
                found.append(Row(topic, "numpy", case, against, **got))
    return found
