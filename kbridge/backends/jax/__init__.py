"""The JAX backend: plans under ``jax.jit``, gradients by ``jax.vjp``, 64-bit where it is asked."""

from kbridge.backends.jax import (
    conv,
    creation,
    elementwise,
    linalg,
    nn,
    random,
    reduction,
    shaping,
)
from kbridge.backends.jax.engine import JaxEngine
from kbridge.backends.kit import install

install(
    globals(),
    JaxEngine(),
    [conv, creation, elementwise, linalg, nn, random, reduction, shaping],
)
