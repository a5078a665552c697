"""A backend in a hundred lines: Autograd, whose NumPy differentiates what it computes.

Run ``pip install autograd``, then in this folder's parent ``kbridge check autograd_backend``. The
guide docs/write-a-backend.md tells how such a backend is written.
"""

from autograd import numpy

from autograd_backend import primitives
from autograd_backend.engine import AutogradEngine
from kbridge.backends import namespace
from kbridge.backends.kit import install

engine = AutogradEngine()
install(globals(), engine, [primitives], base=namespace.primitives(numpy, engine))
