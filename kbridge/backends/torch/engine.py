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
from kbridge.backends.torch import linalg
from kbridge.backends.torch import sparse as matrices
from kbridge.backends.torch.fusions import FUSIONS
from kbridge.backends.torch.random import at_step, key
from kbridge.backends.torch.values import TORCH
from kbridge.errors import ArgumentError
from kbridge.symbolic import dtypes, sections

_set_recording = torch._C._set_grad_enabled  # what torch.no_grad() calls, without its object
_is_recording = torch.is_grad_enabled
_is_inference = torch.is_inference_mode_enabled
# Whether autocast is on for any device; its name is not documented.
_may_cast = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)


class TorchEngine(Engine):
    """Eager PyTorch on the CPU, or wherever the operands are."""

    name = "torch"
    title = "PyTorch"
    tensor_class = torch.Tensor
    subclasses = (torch.nn.Parameter,)
    autodiff = "tape"
    split = staticmethod(torch.split)
    sparse = matrices
    in_plans = MappingProxyType({linalg.dot: linalg.dot_in_plans})
    fusions = FUSIONS
    #: ``compile``: True, or a dictionary of options of ``torch.compile``.
    options = MappingProxyType({"compile": False, "device": None})

    def __init__(self) -> None:
        super().__init__()
        self.plan_names.update(
            tracing=tracing, track=track, untrack=torch.detach, differentiate=differentiate
        )
        self.feed_names = {
            **self.feed_names,
            "from_numpy": torch.from_numpy,
            "is_inference": _is_inference,
        }

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

    def quick_feed(self, dtype: str) -> tuple[str, str]:
        if dtype == "bfloat16":
            return super().quick_feed(dtype)
        test = "(flags := {0}.flags).writeable and flags.forc and not is_inference()"
        return test, "from_numpy({})"

    def hand_out(self, results: list[Any]) -> list[Any]:
        try:
            return [np.array(result.numpy()) for result in results]
        except (AttributeError, RuntimeError, TypeError):  # not a plain tensor on the host
            return super().hand_out(results)

    def hand_over(self, results: list[Any]) -> list[Any]:
        try:
            return [result.numpy() for result in results]
        except (AttributeError, RuntimeError, TypeError):
            return super().hand_out(results)

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
        chosen, device = options["compile"], options["device"]
        if device is not None:
            return _on_device(self.compiled(plan.run, chosen), plan.run, self.device(device))
        return self.compiled(plan.run, chosen)

    def device(self, given: Any) -> Any:
        """The option ``device`` as PyTorch's own object."""
        try:
            return torch.empty(0, device=given).device
        except (AssertionError, RuntimeError, TypeError) as error:
            known = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
            raise self.no_device(given, known) from error

    def compiled(self, run: Callable[..., Any], chosen: Any) -> Callable[..., Any]:
        """A plan's function as the option ``compile`` asks."""
        if not chosen:
            return run
        if chosen is not True and not isinstance(chosen, dict):
            raise ArgumentError(
                f"K.function: compile must be True, False or a dictionary of options of "
                f"torch.compile, not {chosen!r}."
            )
        return _compiled(run, {} if chosen is True else chosen)

    def run_now(self, plan: Any, variables: list[Any], keys: list[int]) -> list[Any]:
        if plan.differentiates and _is_inference():
            with torch.inference_mode(False):
                return plan.run((), variables, keys)
        return plan.run((), variables, keys)

    @contextlib.contextmanager
    def no_gradients(self) -> Iterator[None]:
        with _own_mode(), torch.no_grad():
            yield

    # --- loops ----------------------------------------------------------------------------------

    def unstack(self, native: Any) -> Sequence[Any]:
        if native.dim() > 1 and native.stride(0) < native.stride(1):
            # The gradients of the parts are put together as the whole lies in memory.
            return native.transpose(0, 1).unbind(1)
        return native.unbind()

    stack = staticmethod(torch.stack)

    # --- random ---------------------------------------------------------------------------------

    def draw_key(self, seed: int, position: Any) -> int:
        return key(seed, at_step(*position) if type(position) is tuple else position)

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
        if _is_inference() or (_may_cast() and _autocast()):
            with _own_mode():
                return run(natives)
        if not _is_recording():
            return program(natives)
        _set_recording(False)
        try:
            return program(natives)
        finally:
            _set_recording(True)

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
_OPAQUE = (
    *("h_", "f_shape", "f_size", "f_random", "f_truncated", "f_print"),
    *("f_sparse", "from_host", "draw_key"),
)
_TAPE = ("tracing", "track", "untrack", "differentiate")


def _compiled(run: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """The function of a plan, compiled in pieces between what cannot be compiled."""
    names = run.__globals__  # the plan's own
    for name, value in names.items():
        if name.startswith((*_OPAQUE, *_TAPE)):
            names[name] = torch.compiler.disable(value)
    compiled: Callable[..., Any] = torch.compile(run, **options)
    return compiled


def _on_device(
    run: Callable[..., Any], plan_run: Callable[..., Any], device: Any
) -> Callable[..., Any]:
    """The function of a plan, with its constants and all that it is given on ``device``."""
    for names in sections.namespaces(plan_run):
        for name, value in names.items():
            if isinstance(value, torch.Tensor):
                names[name] = value.to(device)

    def placed(feeds: Any, variables: Any, keys: Any) -> Any:
        with device:  # what primitives make anew
            return run([f.to(device) for f in feeds], [v.to(device) for v in variables], keys)

    return placed


def track(x: Any) -> Any:
    """``x`` as a tensor whose gradient can be asked for."""
    # A view of a variable made without recording says that it requires a gradient, and gets none.
    if x.requires_grad and (x.grad_fn is not None or not x._is_view()):
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
