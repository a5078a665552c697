"""Choosing by a condition, and the search of ``K.ctc_decode``."""

from __future__ import annotations

from typing import Any

from pytensor.ifelse import ifelse

from kbridge.binding import host_functions
from kbridge_pytensor.elementwise import truth
from kbridge_pytensor.engine import contract
from kbridge_pytensor.host import Host


@contract
def choose(condition: Any, x: Any, y: Any) -> Any:
    sizes = tuple(p if p == q else None for p, q in zip(x.type.shape, y.type.shape, strict=True))
    kind = x.type.clone(shape=sizes)
    return ifelse(truth(condition), kind.filter_variable(x), kind.filter_variable(y))


@contract
def ctc_search(
    y_pred: Any,
    input_length: Any,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool,
    epsilon: float,
) -> Any:
    def search(y_pred: Any, input_length: Any) -> Any:
        how = (beam_width, top_paths, merge_repeated, epsilon)
        return host_functions()["ctc_search"](y_pred, input_length, *how)

    return Host(search, y_pred.type.dtype, (None, None, None))(y_pred, input_length)


@contract
def ctc_trim(paths: Any) -> Any:
    return Host(host_functions()["ctc_trim"], paths.type.dtype, (None, None))(paths)
