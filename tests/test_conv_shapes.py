"""Shape rules of windows that slide, against what PyTorch really gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shape_checks import Shape, few, fits, hide, some

from kbridge import errors
from kbridge.symbolic import conv_shapes

# --- windows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "n", "expected"),
    [
        (2, 3, (2, 2, 2)),
        ((1,), 1, (1,)),
        ([1, 2], 2, (1, 2)),
        (np.array([3, 4]), 2, (3, 4)),
        (np.int64(2), 2, (2, 2)),
    ],
)
def test_tuple_of(value: Any, n: int, expected: tuple[int, ...]) -> None:
    assert conv_shapes.tuple_of(value, n, "strides") == expected


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ((1, 2, 3), errors.ArgumentError, r"^strides must be one integer or 2 of them, got \(1, 2"),
        (0, errors.ArgumentError, "^strides must be positive, got 0$"),
        ((1, -1), errors.ArgumentError, "^strides must be positive"),
        (1.0, errors.ArgumentTypeError, "^strides must be an integer, got 1.0"),
        ((1, True), errors.ArgumentTypeError, "^strides must be an integer, got True"),
        (None, errors.ArgumentTypeError, "^strides must be an integer, got None"),
    ],
)
def test_tuple_of_faults(value: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        conv_shapes.tuple_of(value, 2, "strides")


def test_check_padding() -> None:
    assert conv_shapes.check_padding("same") == "same"
    assert conv_shapes.check_padding("causal", causal=True) == "causal"
    with pytest.raises(errors.ArgumentError) as caught:
        conv_shapes.check_padding("full")
    assert str(caught.value) == 'padding must be "valid" or "same", got \'full\''
    with pytest.raises(errors.ArgumentError, match='"valid", "same" or "causal", got None'):
        conv_shapes.check_padding(None, causal=True)


def test_channel_axis() -> None:
    assert conv_shapes.channel_axis(4, "channels_last") == 3
    assert conv_shapes.channel_axis(4, "channels_first") == 1
    with pytest.raises(errors.ArgumentError) as caught:
        conv_shapes.channel_axis(4, "tf")
    assert str(caught.value) == (
        'data_format must be "channels_last" or "channels_first", got \'tf\''
    )


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "expected"),
    [
        (5, 3, 1, 1, (1, 1)),
        (2, 3, 2, 1, (0, 1)),
        (1, 3, 2, 1, (1, 1)),
        (5, 2, 1, 1, (0, 1)),
        (6, 3, 2, 1, (0, 1)),
        (4, 1, 2, 1, (0, 0)),
        (5, 3, 1, 2, (2, 2)),
    ],
)
def test_same_padding_puts_the_odd_one_after(
    size: int, kernel: int, stride: int, dilation: int, expected: tuple[int, int]
) -> None:
    assert conv_shapes.same_padding(size, kernel, stride, dilation) == expected


class Windows:
    """A drawn convolution or pooling, computed by PyTorch; all is channels first."""

    def __init__(self, data: st.DataObject, causal: bool = True) -> None:
        draw = data.draw
        self.n = n = draw(st.integers(1, 3))
        several = st.tuples(*[st.integers(1, 3)] * n)
        self.batch, self.channels, self.filters = draw(st.tuples(*[st.integers(1, 2)] * 3))
        self.spatial = draw(st.tuples(*[st.integers(1, 7 if n < 3 else 4)] * n))
        self.kernel, self.strides, self.dilation = draw(several), draw(several), (1,) * n
        if draw(st.booleans()):
            self.strides, self.dilation = self.dilation, self.strides
        rules = ["valid", "same", *(["causal"] if n == 1 and causal else [])]
        self.padding = draw(st.sampled_from(rules))

    def padded(self, fill: float = 0.0) -> Any:
        """Return an input padded by hand, so that "valid" is left."""
        torch = pytest.importorskip("torch")
        pairs: list[int] = []
        axes = zip(self.spatial, self.kernel, self.strides, self.dilation, strict=True)
        for size, kernel, stride, dilation in axes:
            pair = (0, 0)
            if self.padding == "same":
                pair = conv_shapes.same_padding(size, kernel, stride, dilation)
            elif self.padding == "causal":
                pair = ((kernel - 1) * dilation, 0)
            pairs = [*pair, *pairs]  # PyTorch counts from the last axis
        x = torch.zeros((self.batch, self.channels, *self.spatial))
        return torch.nn.functional.pad(x, pairs, value=fill)

    def conv(self, kernel: tuple[int, ...], groups: int = 1) -> tuple[int, ...]:
        """Return the shape of PyTorch's convolution; ``kernel`` is in its own layout."""
        torch = pytest.importorskip("torch")
        run = getattr(torch.nn.functional, f"conv{self.n}d")
        w = torch.zeros(kernel)
        args = {"stride": self.strides, "dilation": self.dilation, "groups": groups}
        return tuple(run(self.padded(), w, **args).shape)

    def check(
        self,
        data: st.DataObject,
        rule: Callable[..., Shape],
        truth: Callable[[], tuple[int, ...]],
        *others: tuple[int, ...],
    ) -> None:
        """Check the rule, called with (data_format, x, *others), in both data formats."""
        first = (self.batch, self.channels, *self.spatial)
        last = (self.batch, *self.spatial, self.channels)
        try:
            out = truth()
        except RuntimeError:  # a window larger than the input
            with pytest.raises(errors.ShapeError, match="does not fit on a spatial axis"):
                rule("channels_first", first, *others)
            return
        for data_format, x, expected in (
            ("channels_first", first, out),
            ("channels_last", last, (out[0], *out[2:], out[1])),
        ):
            assert rule(data_format, x, *others) == expected
            static = rule(data_format, *[hide(data, shape) for shape in (x, *others)])
            assert fits(static, expected), f"{static} for {expected}"


@some
@given(st.data())
def test_conv_is_that_of_torch(data: st.DataObject) -> None:
    w = Windows(data)
    w.check(
        data,
        lambda fmt, x, k: conv_shapes.conv(x, k, w.strides, w.padding, fmt, w.dilation, w.n),
        lambda: w.conv((w.filters, w.channels, *w.kernel)),
        (*w.kernel, w.channels, w.filters),
    )


@some
@given(st.data())
def test_depthwise_and_separable_conv_are_those_of_torch(data: st.DataObject) -> None:
    w = Windows(data)
    grouped = (w.channels * w.filters, 1, *w.kernel)
    depthwise = (*w.kernel, w.channels, w.filters)

    def rule(fmt: str, x: Shape, k: Shape) -> Shape:
        return conv_shapes.depthwise_conv(x, k, w.strides, w.padding, fmt, w.dilation)

    w.check(data, rule, lambda: w.conv(grouped, groups=w.channels), depthwise)

    def separable(fmt: str, x: Shape, k: Shape, p: Shape) -> Shape:
        return conv_shapes.separable_conv(x, k, p, w.strides, w.padding, fmt, w.dilation)

    def truth() -> tuple[int, ...]:
        out = w.conv(grouped, groups=w.channels)
        return (out[0], 5, *out[2:])

    w.check(data, separable, truth, depthwise, (*[1] * w.n, w.channels * w.filters, 5))


@some
@given(st.data())
def test_pool_is_that_of_torch(data: st.DataObject) -> None:
    torch = pytest.importorskip("torch")
    w = Windows(data, causal=False)
    w.dilation = (1,) * w.n
    run = getattr(torch.nn.functional, f"max_pool{w.n}d")
    w.check(
        data,
        lambda fmt, x: conv_shapes.pool(x, w.kernel, w.strides, w.padding, fmt, w.n),
        lambda: tuple(run(w.padded(), w.kernel, w.strides).shape),
    )


@some
@given(st.data())
def test_conv_transpose_undoes_a_conv_of_torch(data: st.DataObject) -> None:
    w = Windows(data, causal=False)
    try:
        small = w.conv((w.filters, w.channels, *w.kernel))
    except RuntimeError:
        return
    kernel = (*w.kernel, w.channels, w.filters)  # (spatial, out, in) of the transposed one
    large = (w.batch, w.channels, *w.spatial)
    for fmt in ("channels_first", "channels_last"):
        if fmt == "channels_last":
            small, large = (
                (small[0], *small[2:], small[1]),
                (large[0], *large[2:], large[1]),
            )
        rest = w.strides, w.padding, fmt, w.dilation, w.n
        assert conv_shapes.conv_transpose(small, kernel, large, *rest) == large
        static = conv_shapes.conv_transpose(
            hide(data, small), hide(data, kernel), hide(data, large), *rest
        )
        assert fits(static, large)


@some
@given(st.data())
def test_local_conv_has_a_kernel_per_window(data: st.DataObject) -> None:
    w = Windows(data, causal=False)
    w.padding, w.dilation = "valid", (1,) * w.n
    try:
        out = w.conv((w.filters, w.channels, *w.kernel))
    except RuntimeError:
        return
    elements = int(np.prod(w.kernel)) * w.channels
    kernel = (int(np.prod(out[2:])), elements, w.filters)
    for given_shape in (None, out[2:]):
        w.check(
            data,
            lambda fmt, x, k, given_shape=given_shape: conv_shapes.local_conv(
                x, k, w.kernel, w.strides, fmt, given_shape
            ),
            lambda: out,
            kernel,
        )


def test_local_conv_fills_in_what_is_unknown() -> None:
    x = (None, None, 2)
    assert conv_shapes.local_conv(x, (4, 6, 5), 3, 1, "channels_last") == (None, 4, 5)
    x2 = (None, None, None, 2)
    wanted = (None, 2, 3, 5)
    assert conv_shapes.local_conv(x2, (6, 8, 5), 2, 1, "channels_last", (2, 3)) == wanted


@few
@given(st.data(), st.lists(st.integers(1, 3), min_size=2, max_size=5).map(tuple))
def test_bias_add_is_an_addition_that_keeps_the_shape(data: st.DataObject, x: Any) -> None:
    for fmt in ("channels_last", "channels_first"):
        channels = x[conv_shapes.channel_axis(len(x), fmt)]
        spatial = x[1:-1] if fmt == "channels_last" else x[2:]
        full = tuple(data.draw(st.sampled_from([1, size])) for size in (*spatial, channels))
        for bias in ((channels,), full) if len(x) > 2 else ((channels,),):
            assert conv_shapes.bias_add(x, bias, fmt) == x
            assert fits(conv_shapes.bias_add(hide(data, x), hide(data, bias), fmt), x)


LAST = "channels_last"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 4, 8), 1, "valid", LAST),
            r"^there are 3 channels, but the kernel \(3, 3, 4, 8\) is for 4 \(its axis -2\)$",
        ),
        (
            lambda: conv_shapes.conv((1, 2, 5, 3), (3, 3, 3, 8), 1, "valid", LAST),
            r"^a window of 3 does not fit on a spatial axis of 2 elements; use a smaller one",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 3, 8), 2, "same", LAST, (1, 2)),
            r"^strides \(2, 2\) and dilation_rate \(1, 2\) cannot both be above 1",
        ),
        (
            lambda: conv_shapes.conv((5, 5, 3), (3, 3, 3, 8), 1, "same", LAST, 1, 2),
            r"^the input \(5, 5, 3\) has rank 3, expected 4: .*, and 2 spatial axes$",
        ),
        (
            lambda: conv_shapes.conv((5, 3), (3, 3, 3), 1, "same", LAST),
            r"has rank 2, expected 3, 4 or 5",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 8), 1, "same", LAST),
            r"^the kernel \(3, 3, 8\) has rank 3, expected 4: 2 spatial sizes",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 3), (0, 3, 8), 1, "same", LAST),
            r"^the kernel \(0, 3, 8\) is empty",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 3, 8), 1, "causal", LAST),
            "padding must be",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 3, 8), (1, 1, 1), "same", LAST),
            "strides must be one integer or 2 of them",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 3, 8), 1, "same", None),
            "data_format must be",
        ),
        (
            lambda: conv_shapes.separable_conv((1, 5, 3), (3, 3, 2), (1, 5, 8), 1, "same", LAST),
            r"there are 6 channels, but the pointwise kernel \(1, 5, 8\) is for 5",
        ),
        (
            lambda: conv_shapes.separable_conv((1, 5, 3), (3, 3, 2), (2, 6, 8), 1, "same", LAST),
            "must have size 1 on its spatial axes",
        ),
        (
            lambda: conv_shapes.conv_transpose(
                (1, 4, 4, 3), (3, 3, 8, 3), (1, 9, 9, 8), 2, "same", LAST
            ),
            r"^output_shape \(1, 9, 9, 8\) does not fit: .*\(5, 5\), but the input has \(4, 4\)$",
        ),
        (
            lambda: conv_shapes.conv_transpose(
                (1, 4, 4, 3), (3, 3, 8, 3), (2, 8, 8, 8), 2, "same", LAST
            ),
            "the batch of output_shape",
        ),
        (
            lambda: conv_shapes.conv_transpose((1, 4, 4, 3), (3, 3, 8, 3), (8, 8), 2, "same", LAST),
            r"^output_shape \(8, 8\) has 2 sizes, expected 4",
        ),
        (
            lambda: conv_shapes.conv_transpose(
                (1, 4, 4, 3), (3, 3, 8, 3), (1, 8, 8, 7), 2, "same", LAST
            ),
            r"^output_shape has 7 channels, but the kernel \(3, 3, 8, 3\) is for 8 \(its axis -2\)",
        ),
        (
            lambda: conv_shapes.conv_transpose(
                (1, 4, 4, 5), (3, 3, 8, 3), (1, 8, 8, 8), 2, "same", LAST
            ),
            r"there are 5 channels, but the kernel \(3, 3, 8, 3\) is for 3 \(its axis -1\)",
        ),
        (
            lambda: conv_shapes.pool((1, 2, 2, 3), 3, 1, "valid", LAST),
            "a window of 3 does not fit",
        ),
        (
            lambda: conv_shapes.pool((1, 2, 2, 3), 0, 1, "valid", LAST),
            "pool_size must be positive, got 0",
        ),
        (
            lambda: conv_shapes.local_conv((1, 6, 2), (5, 6, 4), 3, 1, LAST),
            r"the kernel \(5, 6, 4\) must have the shape .*, here \(4, 6, 4\)$",
        ),
        (
            lambda: conv_shapes.local_conv((1, 6, 2), (6, 4), 3, 1, LAST),
            r"the kernel \(6, 4\) must have the shape \(windows",
        ),
        (
            lambda: conv_shapes.local_conv((1, 6, 2), (4, 6, 4), 3, 1, LAST, (5,)),
            r"output_shape \(5,\) does not fit: the numbers of windows are \(4,\)",
        ),
        (
            lambda: conv_shapes.bias_add((1, 5, 3), (4,), LAST),
            r"the bias \(4,\) does not fit \(1, 5, 3\): 4 != 3 on axis 2",
        ),
        (
            lambda: conv_shapes.bias_add((1, 5, 3), (1,), LAST),
            "1 != 3 on axis 2",
        ),
        (
            lambda: conv_shapes.bias_add((1, 5, 6, 3), (5, 3), LAST),
            r"the bias \(5, 3\) has rank 2, expected 1 \(one per channel\) or 3",
        ),
        (
            lambda: conv_shapes.bias_add((3,), (3,), LAST),
            "needs a rank of at least 2",
        ),
    ],
)
def test_window_faults(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(errors.ArgumentError, match=text):
        call()


def test_causal_has_a_step_per_stride() -> None:
    for size in range(1, 8):
        for stride in (1, 2, 3):
            x, out = (1, size, 2), (1, -(-size // stride), 4)
            assert conv_shapes.conv(x, (3, 2, 4), stride, "causal", LAST) == out
