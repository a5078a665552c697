"""A session as TensorFlow 1 programs use it: ``run(fetches, feed_dict)``, on every engine.

It holds no state of its own. What ``run`` compiles is kept with a tensor that is fetched, the
newest few of it, so that it lives no longer than that tensor.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NoReturn

from kbridge.errors import ArgumentError, ArgumentTypeError, GraphError
from kbridge.symbolic import host, structure
from kbridge.symbolic.function import Function, Update, is_phase
from kbridge.symbolic.tensor import Tensor, Variable

if TYPE_CHECKING:
    from kbridge.binding import Backend

#: The most functions that are kept with one tensor.
KEPT = 16


class Session:
    """Evaluates tensors; ``K.get_session()`` returns it."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """The values of ``fetches`` as NumPy arrays, in their structure.

        ``fetches`` is a tensor, a variable, what ``K.update`` returns (it is performed; its value
        is the new one), or a list, tuple or dict of them. ``feed_dict`` maps placeholders, any
        other tensors and ``K.learning_phase()`` to values. The rules are those of ``K.function``:
        everything is computed from the values of variables before the call.
        """
        feeds = self._feeds(feed_dict)
        leaves = structure.flatten(fetches)
        for leaf in leaves:
            self._check(leaf)
        if not feeds and all(isinstance(leaf, Variable) or _known(leaf) for leaf in leaves):
            values = [self.backend.evaluate(leaf) for leaf in leaves]
        else:
            values = self._function(leaves, list(feeds))(list(feeds.values()))
        return structure.pack(fetches, values)

    def _feeds(self, feed_dict: Any) -> dict[Any, Any]:
        """What is fed, in an order that does not depend on that of the dictionary."""
        if feed_dict is None:
            return {}
        if not isinstance(feed_dict, dict):
            raise ArgumentTypeError(
                f"Session.run: feed_dict must be a dictionary from tensors to values, not "
                f"{type(feed_dict).__name__}: {feed_dict!r:.80}"
            )
        for key in feed_dict:
            if not (isinstance(key, Tensor) or is_phase(key)):
                raise ArgumentTypeError(
                    f"Session.run: a key of feed_dict must be a placeholder or another symbolic "
                    f"tensor, not {type(key).__name__}: {key!r:.80}"
                )
        return {key: feed_dict[key] for key in sorted(feed_dict, key=id)}

    def _check(self, leaf: Any) -> None:
        if isinstance(leaf, Update):
            return
        if leaf is None:
            raise GraphError(
                "Session.run: a fetch is None. K.gradients gives None where there is no "
                "differentiable path from the variable to the loss."
            )
        if not isinstance(leaf, Tensor):
            remedy = (
                "There is no global graph with names in it; pass the tensor or variable itself."
                if isinstance(leaf, str)
                else "K.eval(x) gives the value of anything else."
            )
            raise ArgumentTypeError(
                f"Session.run: a fetch must be a symbolic tensor, a variable or the result of "
                f"K.update, not {type(leaf).__name__}: {leaf!r:.80}. {remedy}"
            )
        if leaf.backend is not self.backend:
            raise ArgumentError(
                f"Session.run: {leaf!r} belongs to the backend {leaf.backend.name!r}, this session "
                f"to {self.backend.name!r}."
            )

    def _function(self, leaves: list[Any], feeds: list[Any]) -> Any:
        """The compiled function for these fetches and feeds."""
        parts = [leaf if isinstance(leaf, Update) else (leaf,) for leaf in leaves]
        parts.append(tuple(feeds))
        # With a variable, which may outlive many graphs, only where there is nothing else.
        holder = min(
            (tensor for part in parts for tensor in part if isinstance(tensor, Tensor)),
            key=lambda tensor: isinstance(tensor, Variable),
            default=None,
        )
        if holder is None:
            return self._compiled(leaves, feeds)
        key = tuple(tuple(map(id, part)) for part in parts)
        state = self.backend.session
        with state.lock:
            kept = holder.__dict__.setdefault("_session_functions", OrderedDict())
            state.compiled.add(holder)
            if key not in kept:
                # With the leaves, so that no other object gets their ids.
                kept[key] = self._compiled(leaves, feeds), leaves
                if len(kept) > KEPT:
                    kept.popitem(last=False)
            kept.move_to_end(key)
            return kept[key][0]

    def _compiled(self, leaves: list[Any], feeds: list[Any]) -> Function:
        updates = [leaf for leaf in leaves if isinstance(leaf, Update)]
        outputs = [
            self.backend.new_value(*leaf) if isinstance(leaf, Update) else leaf for leaf in leaves
        ]
        try:
            return Function(self.backend, feeds, outputs, updates, "Session.run")
        except GraphError as error:
            raise GraphError(
                f"Session.run: {error} In a session the inputs are the keys of feed_dict."
            ) from error

    def close(self) -> None:
        """Nothing: a session holds no resources, and works on."""

    def as_default(self) -> Session:
        """The session itself, for a ``with`` statement."""
        return self

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"a session of kbridge has no {name!r}, only run, close and as_default: there is no "
            f"global graph, variables have their values at once, and devices are the engine's own"
        )

    def __repr__(self) -> str:
        return f"<kbridge session of the backend {self.backend.name!r}>"


def _known(leaf: Any) -> bool:
    """Whether a fetch is a size that was known before any run, even one of a placeholder."""
    return isinstance(leaf, Tensor) and leaf.fed and host.is_fully_known(leaf)


def current(backend: Backend, session: Any = None, where: str = "K.get_session") -> Session:
    """``session``, checked; the backend's own where it is None."""
    if session is None:
        state = backend.session
        if state.runner is None:
            state.runner = Session(backend)
        return state.runner  # type: ignore[no-any-return]
    if not isinstance(session, Session):
        kind = type(session)
        raise ArgumentTypeError(
            f"{where}: expected a session of kbridge, as K.get_session() returns it, got "
            f"{kind.__module__}.{kind.__qualname__}. It is the same on every engine and needs no "
            f"configuration: leave K.set_session out, and set devices and memory in the engine."
        )
    if session.backend is not backend:
        raise ArgumentError(
            f"{where}: {session!r} does not evaluate tensors of the backend {backend.name!r}; use "
            f"that of its own K.get_session()."
        )
    return session
