"""Cross-entropies on PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from kbridge.errors import ShapeError

#: No class has this number, and no label that is less than 64 bits wide can hold it.
_NONE = -(2**63)


def softmax_cost(target: Any, output: Any) -> Any:
    if target.shape != output.shape[:-1]:
        raise ShapeError(f"the sizes of {tuple(target.shape)} and {tuple(output.shape)} differ")
    if output.ndim == 2 and output.device.type == "cpu" and not torch.compiler.is_compiling():
        try:
            return F.nll_loss(
                torch.log_softmax(output, 1), target.long(), reduction="none", ignore_index=_NONE
            )
        except (IndexError, RuntimeError):  # as a transform of PyTorch's raises it
            pass  # a target is no class, which elsewhere than on the CPU would end the process
    if not output.shape[-1]:
        return output.new_full(target.shape, float("nan"))
    known = target.clamp(0, output.shape[-1] - 1)
    logs = torch.log_softmax(output, -1).gather(-1, known.long().unsqueeze(-1)).squeeze(-1)
    return torch.where(known == target, -logs, float("nan"))
