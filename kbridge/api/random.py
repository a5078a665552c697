"""Random tensors and dropout.

Each draw has a seed of its own: the one given, else one taken from ``np.random`` when it is
recorded. A compiled function draws anew at each call; outside compiled functions the numbers
are the same on every backend.
"""

from __future__ import annotations

from typing import Any

from kbridge.api.creation import _known
from kbridge.api.declare import composite, operation
from kbridge.api.rules import TensorLike, as_dtype, as_float, as_seed, check_dims
from kbridge.errors import ArgumentError
from kbridge.symbolic import shapes


def _drawn_shape(shape: Any, *rest: Any) -> Any:
    return shapes.shape_argument(_known(check_dims(shape)))


def _drawn_dtype(*args: Any) -> Any:
    return args[-2]


_DRAW = {"dtype": as_dtype, "seed": as_seed}


@operation(
    "",
    shape=_drawn_shape,
    dtype=_drawn_dtype,
    host_arguments="shape",
    resolve={"mean": as_float, "stddev": as_float, **_DRAW},
    random=True,
    differentiable=False,
)
def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Draws from a normal distribution."""


@operation(
    "",
    shape=_drawn_shape,
    dtype=_drawn_dtype,
    host_arguments="shape",
    resolve={"minval": as_float, "maxval": as_float, **_DRAW},
    random=True,
    differentiable=False,
)
def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Draws from a uniform distribution over ``[minval, maxval)``."""


@operation(
    "",
    shape=_drawn_shape,
    dtype=_drawn_dtype,
    host_arguments="shape",
    resolve={"mean": as_float, "stddev": as_float, **_DRAW},
    random=True,
    differentiable=False,
)
def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Draws from a normal distribution, drawn again beyond two standard deviations."""


@composite
def random_binomial(K: Any, shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """Ones with probability ``p``, zeros else."""
    dtype = as_dtype(dtype)
    return K.cast(K.less(K.random_uniform(shape, dtype="float32", seed=seed), p), dtype)


@composite
def random_bernoulli(
    K: Any, shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Ones with probability ``p``, zeros else: the later name of ``random_binomial``."""
    return K.random_binomial(shape, p, dtype, seed)


@composite
def random_uniform_variable(
    K: Any,
    shape: Any,
    low: float,
    high: float,
    dtype: Any = None,
    name: str | None = None,
    seed: Any = None,
) -> Any:
    """A variable with values drawn from a uniform distribution."""
    return K.variable(K.random_uniform(shape, low, high, dtype, seed), dtype, name)


@composite
def random_normal_variable(
    K: Any,
    shape: Any,
    mean: float,
    scale: float,
    dtype: Any = None,
    name: str | None = None,
    seed: Any = None,
) -> Any:
    """A variable with values drawn from a normal distribution."""
    return K.variable(K.random_normal(shape, mean, scale, dtype, seed), dtype, name)


@composite
def dropout(K: Any, x: TensorLike, level: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """``x`` with a fraction ``level`` of its elements set to 0.

    The rest is scaled by ``1 / (1 - level)``, which keeps the expected sum.
    """
    level = float(level)
    if not 0.0 <= level < 1.0:
        raise ArgumentError(f"K.dropout: level must be at least 0 and less than 1, got {level}.")
    if noise_shape is None:
        shape = K.shape(x)
    else:
        sizes = K.shape(x)
        shape = tuple(
            sizes[axis] if size is None else size for axis, size in enumerate(noise_shape)
        )
    kept = K.greater_equal(K.random_uniform(shape, dtype="float32", seed=seed), level)
    return K.where(kept, K.multiply(x, 1.0 / (1.0 - level)), 0.0)
