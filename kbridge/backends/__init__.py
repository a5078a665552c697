"""The built-in backends, and the kit that they and third parties are written with."""

# First of all: where a backend's module is imported before kbridge.api, the declarations that it
# needs are then read without binding the API to it half-way.
import kbridge.binding  # noqa: F401
