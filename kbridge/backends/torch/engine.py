"""PyTorch as an engine: it records on a tape, and runs plans as they are.

A variable's storage is a leaf tensor that requires a gradient, so that ``loss.backward()`` fills
``variable.value.grad``. Functions run without recording, except between the sources and the
loss of a gradient; a function that updates a variable gives it a new leaf, so that calls in other
threads keep the values that they began with.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from kbridge.api.declare import Operation
from kbridge.backends.engine import Engine
from kbridge.backends.torch.random import key
from kbridge.backends.torch.values import TORCH
from kbridge.errors import ArgumentError
from kbridge.symbolic import dtypes

_set_recording = torch._C._set_grad_enabled  # what torch.no_grad() calls, without its object
_is_inference = torch.is_inference_mode_enabled


class TorchEngine(Engine):
    """Eager PyTorch on the CPU, or wherever the operands are."""

    name = "torch"
    title = "PyTorch"
    tensor_class = torch.Tensor
    subclasses = (torch.nn.Parameter,)
    autodiff = "tape"
    #: ``compile``: True, or a dictionary of options of ``torch.compile``.
    options = MappingProxyType({"compile": False})

    def __init__(self) -> None:
        super().__init__()
        self.plan_names.update(tracing=tracing, track=track, differentiate=differentiate)

    # --- values ---------------------------------------------------------------------------------

    def from_numpy(self, array: Any, dtype: str) -> Any:
        return _tensor(np.array(array, dtypes.to_numpy(dtype), order="C"))

    def to_numpy(self, native: Any) -> Any:
        if isinstance(native, np.ndarray):  # sizes, which stay on the host
            return np.array(native)
        if native.dtype is torch.bfloat16:  # which NumPy does not know by itself
            bits = native.detach().cpu().view(torch.int16)
            return np.array(bits.numpy()).view(dtypes.to_numpy("bfloat16"))
        return np.array(native.numpy(force=True))

    def from_feed(self, array: Any, dtype: str) -> Any:
        flags = array.flags
        if not (flags.writeable and flags.forc):  # else PyTorch warns, or refuses
            array = np.array(array, order="C")
        return _tensor(array)

    def cast(self, native: Any, dtype: str) -> Any:
        return native.to(TORCH[dtype])

    # --- variables ------------------------------------------------------------------------------

    def storage(self, array: Any, dtype: str, name: str) -> Any:
        return self.from_numpy(array, dtype).requires_grad_(dtypes.is_float(dtype))

    def assign(self, variable: Any, native: Any, copy: bool) -> None:
        if native.requires_grad:
            native = native.detach()
        if copy:
            native = native.clone(memory_format=torch.contiguous_format)
        variable.storage = native.requires_grad_(variable.storage.requires_grad)

    def set_value(self, variable: Any, array: Any) -> None:
        # In place: an optimizer that holds the tensor goes on with the new value.
        with torch.no_grad():
            variable.storage.copy_(self.from_numpy(array, variable.dtype))

    def copy(self, native: Any) -> Any:
        return native.clone()

    # --- functions ------------------------------------------------------------------------------

    def compile(
        self,
        plan: Any,
        feeds: Sequence[Any],
        count: int,
        targets: Sequence[tuple[Any, bool]],
        options: dict[str, Any],
    ) -> Callable[[list[Any]], list[Any]]:
        return _unrecorded(super().compile(plan, feeds, count, targets, options))

    def jit(self, plan: Any, feeds: Sequence[Any], options: dict[str, Any]) -> Callable[..., Any]:
        chosen = options["compile"]
        if not chosen:
            return plan.run
        if chosen is not True and not isinstance(chosen, dict):
            raise ArgumentError(
                f"K.function: compile must be True, False or a dictionary of options of "
                f"torch.compile, not {chosen!r}."
            )
        return _compiled(plan.run, {} if chosen is True else chosen)

    def run_now(self, plan: Any, variables: list[Any], keys: list[int]) -> list[Any]:
        if plan.differentiates and _is_inference():
            with torch.inference_mode(False):
                return plan.run((), variables, keys)
        return plan.run((), variables, keys)

    @contextlib.contextmanager
    def no_gradients(self) -> Iterator[None]:
        with _own_mode(), torch.no_grad():
            yield

    # --- random ---------------------------------------------------------------------------------

    def draw_key(self, seed: int, position: int) -> int:
        return key(seed, position)

    # --- dispatch -------------------------------------------------------------------------------

    def dtype_guards(self, op: Operation, names: Sequence[str]) -> list[str]:
        promoted = [name for name in names if op.parameters.index(name) in op.promoted]
        guards = [f"{name}.dtype is {promoted[0]}.dtype" for name in promoted[1:]]
        if op.floating:
            guards.append(self.float_guard(names[0]))
        return guards

    def float_guard(self, name: str) -> str:
        return f"{name}.is_floating_point()"


def _tensor(array: Any) -> Any:
    """A tensor over the memory of a NumPy array, never one of inference mode.

    Such a tensor could take no part in a gradient later.
    """
    if _is_inference():
        with _own_mode():
            return _tensor(array)
    if array.dtype.kind == "V":  # bfloat16
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


# --- recording --------------------------------------------------------------------------------


def tracing(on: bool) -> bool:
    """Switch recording on or off; return whether it was on."""
    before = torch.is_grad_enabled()
    _set_recording(on)
    return before


def _unrecorded(program: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    """A program that runs outside the caller's recording, inference mode and autocast."""

    @functools.wraps(program)
    def run(natives: list[Any]) -> list[Any]:
        if _is_inference() or _autocast():
            with _own_mode():
                return run(natives)
        before = tracing(False)
        try:
            return program(natives)
        finally:
            _set_recording(before)

    return run


def _autocast() -> list[str]:
    """The devices on which PyTorch now changes dtypes by itself."""
    return [device for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)]


@contextlib.contextmanager
def _own_mode() -> Iterator[None]:
    """Outside inference mode, whose tensors no gradient can use, and outside autocast."""
    with contextlib.ExitStack() as stack:
        if _is_inference():
            stack.enter_context(torch.inference_mode(False))
        for device in _autocast():
            stack.enter_context(torch.autocast(device, enabled=False))
        yield


#: Prefixes of what torch.compile must not look into: sizes on the host, draws, the tape.
_OPAQUE = ("h_", "f_shape", "f_size", "f_random", "f_truncated", "from_host", "draw_key")
_TAPE = ("tracing", "track", "differentiate")


def _compiled(run: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """The function of a plan, compiled in pieces between what cannot be compiled."""
    names = run.__globals__  # the plan's own
    for name, value in names.items():
        if name.startswith((*_OPAQUE, *_TAPE)):
            names[name] = torch.compiler.disable(value)
    compiled: Callable[..., Any] = torch.compile(run, **options)
    return compiled


def track(x: Any) -> Any:
    """``x`` as a tensor whose gradient can be asked for."""
    if x.requires_grad:
        return x
    return (x.clone() if x.is_inference() else x.detach()).requires_grad_()


def differentiate(loss: Any, sources: Sequence[Any], higher: bool, again: bool) -> Sequence[Any]:
    """The gradients of the sum of ``loss``.

    ``higher``: they will be differentiated themselves; ``again``: parts of the tape serve
    another gradient.
    """
    if not loss.requires_grad:  # at run time another branch was taken
        return [torch.zeros_like(source) for source in sources]
    return torch.autograd.grad(
        loss,
        sources,
        None if loss.dim() == 0 else torch.ones_like(loss),
        retain_graph=again or higher,
        create_graph=higher,
        allow_unused=True,
        materialize_grads=True,
    )
