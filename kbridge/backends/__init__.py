"""The built-in backends, and the kit that they and third parties are written with."""

# First of all: where a backend's module is imported before kbridge.api, the declarations that it
# needs are then read without binding the API to it half-way.
import kbridge.binding  # noqa: F401
from kbridge.compat import as_backend
from kbridge.compat.imports import around_import, same_random_numbers

as_backend.check_engine()
# JAX, which TensorFlow imports too, draws from NumPy's global generator when it is imported.
around_import("jax", same_random_numbers)
around_import("tensorflow", as_backend.without_keras_2)
