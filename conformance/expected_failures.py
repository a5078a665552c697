"""What is known to fail, and why; the suite fails where an entry no longer does, or never runs.

A key is the backend, then the parts of the test's name: ``("jax", "conv2d", "same_stride2",
"gradient")`` for a check, ``("jax", "swap")`` for a program, ``("jax", "dot-sizes", "native")`` for
a wrong call. The value is the exception's class and the reason, with the engine's own report of
it where there is one.
"""

from __future__ import annotations

from kbridge.errors import UnsupportedError

EXPECTED: dict[tuple[str, ...], tuple[type[BaseException], str]] = {
    ("jax", "switch-fed-of-branches-that-differ"): (
        UnsupportedError,
        "jax.jit fixes every size while it traces; the contract asks for a clear error",
    ),
}
