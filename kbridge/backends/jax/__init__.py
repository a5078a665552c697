"""The JAX backend: plans under ``jax.jit``, gradients by ``jax.vjp``, 64-bit where it is asked."""

from kbridge.backends.jax import (
    control,
    conv,
    creation,
    ctc,
    elementwise,
    linalg,
    losses,
    nn,
    pooling,
    printing,
    random,
    reduction,
    resizing,
    shaping,
    sparse,
)
from kbridge.backends.jax.engine import JaxEngine
from kbridge.backends.kit import install

install(
    globals(),
    JaxEngine(),
    [
        control,
        conv,
        creation,
        ctc,
        elementwise,
        linalg,
        losses,
        nn,
        pooling,
        printing,
        random,
        reduction,
        resizing,
        shaping,
        sparse,
    ],
)
