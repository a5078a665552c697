"""``from kbridge import api as K``: the Keras backend API, bound when it is imported.

The functions are declared in the topic modules of this package and bound to the backend that
:mod:`kbridge.loader` chooses. Where ``kbridge.load_backend()`` has imported the declarations
first, the binding waits for the first function that is asked for.

What holds for all of them, and is not said again at each:

- A tensor argument is a tensor of kbridge's graph, a native tensor of the engine, a NumPy array,
  a number, or a list of numbers. The result is a tensor of the graph; it is a native tensor, and
  computed at once, where native tensors are among the arguments and no placeholder is upstream.
  (An array is a native tensor on NumPy, except beside a tensor of the graph.)
- Operands that are *promoted* meet in one dtype, by the public type promotion table of JAX on
  every engine: int32 and float32 meet in float32. Python numbers and NumPy scalars never widen a
  tensor, and neither does a NumPy array of floats beside a tensor of the graph; an integer tensor
  with a Python float is floatx. Operands *broadcast* as in NumPy.
- A ``dtype`` of None is floatx, read at the call; so is a ``data_format`` of None the configured
  one.
- An axis may be negative, and then counts from the end. Where there is none, AxisError is raised,
  and ShapeError where shapes do not fit, as soon as the function is called and before anything is
  computed. Each class of :mod:`kbridge.errors` is also a built-in one: these are ValueErrors.
- An argument of a wrong type raises ArgumentTypeError, one whose value is not allowed
  ArgumentError, and what is no dtype DTypeError; of these the first is a TypeError, the second a
  ValueError, the last both.
- ``name`` is for Keras 2 programs: only variables, constants and placeholders keep it.
- In shapes, None is a size that only the run knows. An example prints the same on every backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Type checkers read each module's names here; at the run they come from the backend.
if TYPE_CHECKING:
    from kbridge.api.control import *  # noqa: F403
    from kbridge.api.conv import *  # noqa: F403
    from kbridge.api.creation import *  # noqa: F403
    from kbridge.api.ctc import *  # noqa: F403
    from kbridge.api.elementwise import *  # noqa: F403
    from kbridge.api.graph import *  # noqa: F403
    from kbridge.api.lifting import *  # noqa: F403
    from kbridge.api.linalg import *  # noqa: F403
    from kbridge.api.losses import *  # noqa: F403
    from kbridge.api.nn import *  # noqa: F403
    from kbridge.api.pooling import *  # noqa: F403
    from kbridge.api.printing import *  # noqa: F403
    from kbridge.api.random import *  # noqa: F403
    from kbridge.api.recurrent import *  # noqa: F403
    from kbridge.api.reduction import *  # noqa: F403
    from kbridge.api.renamed import *  # noqa: F403
    from kbridge.api.resizing import *  # noqa: F403
    from kbridge.api.session import *  # noqa: F403
    from kbridge.api.settings import *  # noqa: F403
    from kbridge.api.shaping import *  # noqa: F403
    from kbridge.api.sparse import *  # noqa: F403

_bound: Any = None


def _bind() -> Any:
    """Bind the API to the chosen backend, once."""
    global _bound
    if _bound is None:
        from kbridge import loader

        _bound = loader.global_backend()
        globals().update(_bound.public())
    return _bound


if not TYPE_CHECKING:  # a checker would take any name for one that this function finds

    def __getattr__(name: str) -> Any:
        # Dunder names are the import system's and the interpreter's questions, not K functions.
        if name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_bind(), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_bind().public()})


def _importing_contract() -> bool:
    from kbridge import binding

    # Where binding itself is what imports this package, it has not come to its names yet.
    return getattr(binding, "importing_contract", True)


if not _importing_contract():
    _bind()
