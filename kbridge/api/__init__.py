"""``from kbridge import api as K``: the Keras backend API, bound when it is imported.

The functions are declared in the topic modules of this package and bound to the backend that
:mod:`kbridge.loader` chooses. Where ``kbridge.load_backend()`` has imported the declarations
first, the binding waits for the first function that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kbridge.api.control import *  # noqa: F403
    from kbridge.api.conv import *  # noqa: F403
    from kbridge.api.creation import *  # noqa: F403
    from kbridge.api.elementwise import *  # noqa: F403
    from kbridge.api.graph import *  # noqa: F403
    from kbridge.api.linalg import *  # noqa: F403
    from kbridge.api.losses import *  # noqa: F403
    from kbridge.api.nn import *  # noqa: F403
    from kbridge.api.random import *  # noqa: F403
    from kbridge.api.reduction import *  # noqa: F403
    from kbridge.api.settings import *  # noqa: F403
    from kbridge.api.shaping import *  # noqa: F403

_bound: Any = None


def _bind() -> Any:
    """Bind the API to the chosen backend, once."""
    global _bound
    if _bound is None:
        from kbridge import loader

        _bound = loader.global_backend()
        globals().update(_bound.public())
    return _bound


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
