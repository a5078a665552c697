"""Random tensors and dropout.

Each draw has a seed of its own: the one given, else one taken from ``np.random`` when it is
recorded. A compiled function draws anew at each call; outside compiled functions the numbers
are the same on every backend.
"""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite, operation
from kbridge.api.rules import TensorLike, as_dtype, as_float, as_seed, check_dims, known_sizes
from kbridge.errors import ArgumentError, DTypeError
from kbridge.symbolic import dtypes, shapes


def _drawn_shape(shape: Any, *rest: Any) -> Any:
    return shapes.shape_argument(known_sizes(check_dims(shape)))


def _normal_dtype(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> str:
    if not dtypes.is_float(dtype):
        raise DTypeError(
            f"normal numbers have no dtype {dtype}; draw them in a float dtype and use K.cast"
        )
    return dtype


def _uniform_dtype(shape: Any, minval: float, maxval: float, dtype: str, seed: Any) -> str:
    if dtype == "bool":
        raise DTypeError("there is no range of bools; use K.random_binomial(shape, 0.5) and K.cast")
    if dtypes.is_integer(dtype) and int(minval) >= int(maxval):
        raise ArgumentError(
            f"there is no {dtype} from minval {minval:g} up to, without, maxval {maxval:g}"
        )
    return dtype


_DRAW = {"dtype": as_dtype, "seed": as_seed}


@operation(
    "",
    shape=_drawn_shape,
    dtype=_normal_dtype,
    host_arguments="shape",
    resolve={"mean": as_float, "stddev": as_float, **_DRAW},
    random=True,
    differentiable=False,
)
def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """A tensor of draws from the normal distribution, of floatx by default.

    Each evaluation, and each call of a compiled function, draws anew; one ``seed`` gives the same
    sequence of draws in each run. ``shape`` may hold scalar tensors, and a None raises
    ArgumentError.

    >>> x = K.random_normal((3,), seed=1)
    >>> bool(np.any(K.eval(x) == K.eval(x)))
    False
    >>> K.int_shape(x), K.dtype(x)
    ((3,), 'float32')
    """


@operation(
    "",
    shape=_drawn_shape,
    dtype=_uniform_dtype,
    host_arguments="shape",
    resolve={"minval": as_float, "maxval": as_float, **_DRAW},
    random=True,
    differentiable=False,
)
def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """A tensor of draws from the uniform distribution over ``[minval, maxval)``.

    ``dtype`` is floatx by default; with an integer one the numbers are whole, and an empty range
    raises ArgumentError. Each evaluation, and each call of a compiled function, draws anew; one
    ``seed`` gives the same sequence of draws in each run. ``shape`` may hold scalar tensors, and a
    None raises ArgumentError.

    >>> x = K.eval(K.random_uniform((100,), 2.0, 3.0, seed=1))
    >>> bool(x.min() >= 2.0), bool(x.max() < 3.0)
    (True, True)
    """


@operation(
    "",
    shape=_drawn_shape,
    dtype=_normal_dtype,
    host_arguments="shape",
    resolve={"mean": as_float, "stddev": as_float, **_DRAW},
    random=True,
    differentiable=False,
)
def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """A tensor of draws from the normal distribution, with those beyond two ``stddev`` drawn again.

    ``stddev`` is that of the whole distribution; that of the result is 0.88 times it. ``dtype`` is
    floatx by default. Each evaluation, and each call of a compiled function, draws anew; one
    ``seed`` gives the same sequence of draws in each run. ``shape`` may hold scalar tensors, and a
    None raises ArgumentError.

    >>> x = K.eval(K.truncated_normal((100,), mean=5.0, stddev=0.5, seed=1))
    >>> bool(x.min() >= 4.0), bool(x.max() <= 6.0)
    (True, True)
    """


@composite
def random_binomial(K: Any, shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """A tensor of draws that are 1 with probability ``p`` and else 0, of floatx by default.

    Each evaluation, and each call of a compiled function, draws anew; one ``seed`` gives the same
    sequence of draws in each run.

    >>> sorted(set(K.eval(K.random_binomial((100,), p=0.5, seed=1)).tolist()))
    [0.0, 1.0]
    """
    dtype = as_dtype(dtype)
    return K.cast(K.less(K.random_uniform(shape, dtype="float32", seed=seed), p), dtype)


@composite
def random_bernoulli(
    K: Any, shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None
) -> Any:
    """The same as ``K.random_binomial``, under its later name.

    >>> sorted(set(K.eval(K.random_bernoulli((100,), p=0.5, seed=1)).tolist()))
    [0.0, 1.0]
    """
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
    """A variable whose first value is drawn from the uniform distribution over ``[low, high)``.

    It is drawn once, now; one ``seed`` gives the same value on every backend. ``dtype`` is floatx
    by default.

    >>> x = K.get_value(K.random_uniform_variable((100,), -1.0, 1.0, seed=1))
    >>> bool(x.min() >= -1.0), bool(x.max() < 1.0)
    (True, True)
    """
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
    """A variable whose first value is drawn from the normal distribution.

    ``scale`` is the standard deviation. It is drawn once, now; one ``seed`` gives the same value on
    every backend. ``dtype`` is floatx by default.

    >>> first, second = (K.random_normal_variable((3,), 0.0, 1.0, seed=1) for _ in range(2))
    >>> K.get_value(first).tolist() == K.get_value(second).tolist()
    True
    """
    return K.variable(K.random_normal(shape, mean, scale, dtype, seed), dtype, name)


@composite
def dropout(K: Any, x: TensorLike, level: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """``x`` with each element set to 0 with probability ``level``, the others enlarged.

    What is kept is divided by ``1 - level``, so that the expected sum stays. ``level`` is at least
    0 and less than 1; else ArgumentError is raised. ``noise_shape`` is the shape of the choice,
    which broadcasts against ``x``: (samples, 1, dim) drops the same elements at every step, and a
    None in it is the size of ``x``. It drops whatever the learning phase is: ``K.in_train_phase``
    asks for it. It is due to Srivastava et al., 2014, Journal of Machine Learning Research 15.

    >>> sorted(set(K.eval(K.dropout(K.ones((100,)), 0.5, seed=1)).tolist()))
    [0.0, 2.0]
    """
    level = float(level)
    if not 0.0 <= level < 1.0:
        raise ArgumentError(f"K.dropout: level must be at least 0 and less than 1, got {level}.")
    if noise_shape is None:
        shape = K.shape(x)
    elif isinstance(noise_shape, (list, tuple)):
        sizes = K.shape(x)
        shape = tuple(
            sizes[axis] if size is None else size for axis, size in enumerate(noise_shape)
        )
    else:
        shape = noise_shape
    kept = K.greater_equal(K.random_uniform(shape, dtype="float32", seed=seed), level)
    return K.where(kept, K.multiply(x, 1.0 / (1.0 - level)), 0.0)
