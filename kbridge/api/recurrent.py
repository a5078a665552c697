"""Recurrence: a step function repeated over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.api.declare import graph_function
from kbridge.api.rules import TensorLike
from kbridge.errors import ArgumentError, ArgumentTypeError, ShapeError
from kbridge.symbolic import loops, structure


@graph_function
def rnn(
    K: Any,
    step_function: Any,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: TensorLike | None = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> Any:
    """Repeat a step over time; return the last output, all outputs and the last states.

    ``inputs`` have the shape (samples, time, ...), with ``time_major`` (time, samples, ...);
    several of them may be nested in lists, tuples or dictionaries. ``step_function(input,
    states)`` takes the inputs of one time step and the list of the states with the ``constants``
    behind; it returns the output and the new states, of the same shapes and dtypes. It is called
    once on the first time step, and once more to be traced into the loop; the tensors that it
    makes on the first call may be kept and used at each step.

    With ``go_backwards`` the last time step comes first, and the outputs stand in that order. A
    ``mask`` of the shape (samples, time) or (samples, time, 1) is 0 at the time steps to leave out:
    there states stay as they are, and the output is the one before (at the beginning, and with
    ``zero_output_for_mask`` everywhere, zeros). ``input_length`` may be a 1-D tensor of the number
    of time steps of each sample, which does the same where there is no mask; an integer tells
    the number of time steps where the shape does not. With ``unroll`` the steps stand one by one
    in the graph; their number must be known. Without ``return_all_outputs`` the outputs are
    those of the last step alone, (samples, 1, ...).

    Inputs of rank under 3, a mask without states, an unknown number of steps to unroll, and
    states whose shape or dtype the step changes raise errors that are ValueErrors.

    >>> def step(x, states):
    ...     total = x + states[0]
    ...     return total * 10.0, [total]
    >>> x = K.constant([[[1.0], [2.0], [3.0]]])
    >>> last, outputs, states = K.rnn(step, x, [K.zeros((1, 1))])
    >>> K.eval(outputs).ravel().tolist(), K.eval(states[0]).tolist()
    ([10.0, 30.0, 60.0], [[6.0]])
    """
    sequences = [_time_first(K, x, time_major) for x in structure.flatten(inputs)]
    lengths = input_length if _is_tensor(K, input_length) else None
    masked = mask is not None or lengths is not None
    if initial_states is None or K.is_tensor(initial_states):
        initial_states = [] if initial_states is None else [initial_states]
    carried = [loops.operand(K, state) for state in structure.flatten(initial_states)]
    if masked and not carried:
        raise ArgumentError(
            "a mask needs states: masked steps keep them. Give initial_states, or multiply the "
            "inputs by the mask"
        )
    count = loops.length(K, sequences)
    if count is None and lengths is None and input_length is not None:
        count = int(input_length)
    if unroll and not count:
        raise ArgumentError(
            f"unroll=True needs a known number of time steps, got inputs of the shape "
            f"{K.int_shape(structure.flatten(inputs)[0])}. Fix it in the placeholder's shape, or "
            f"give input_length=n"
        )
    cell = _Cell(K, step_function, inputs, initial_states, constants)
    _, first = cell(carried, [sequence[0] for sequence in sequences])
    states = list(carried)
    if masked:
        flags = _flags(K, mask, lengths, sequences[0], time_major)
        sequences.append(flags)
        if not zero_output_for_mask:
            states += [K.zeros_like(output) for output in first]
    step = _masked(K, cell, len(carried), zero_output_for_mask) if masked else cell
    if unroll and count:
        final, outputs = loops.unrolled(K, step, states, sequences, go_backwards, count)
    else:
        final, outputs = loops.loop(K, step, states, sequences, go_backwards)
    end = 0 if go_backwards else -1
    if len(final) > len(carried):
        last = final[len(carried) :]
    elif cell.states_of_outputs and not masked:
        last = [final[i] for i in cell.states_of_outputs]
    else:
        last = [output[end] for output in outputs]
    if not return_all_outputs:
        outputs = [K.expand_dims(output, 0) for output in last]
    elif go_backwards:
        outputs = [K.reverse(output, 0) for output in outputs]
    if not time_major:
        outputs = [_swapped(K, output) for output in outputs]
    if cell.uses_learning_phase:
        last = [K.identity(output) for output in last]
        for output in (*last, *outputs):
            output._uses_learning_phase = True
    return (
        cell.packed(last),
        cell.packed(outputs),
        structure.pack(initial_states, final[: len(carried)]),
    )


class _Cell:
    """The step function over flat lists."""

    def __init__(
        self, K: Any, function: Any, inputs: Any, initial_states: Any, constants: Any
    ) -> None:
        if not callable(function):
            raise ArgumentTypeError(
                f"step_function must be a function (inputs, states) -> (output, new states), not "
                f"{type(function).__name__}"
            )
        self.K = K
        self.function = function
        self.inputs = inputs
        self.states = initial_states
        self.constants = list(constants or ())
        self.output: Any = None
        self.uses_learning_phase = False
        #: Which state each output is, where each is one.
        self.states_of_outputs: list[int] = []

    def __call__(self, states: list[Any], elements: list[Any]) -> Any:
        packed = structure.pack(self.states, states)
        given = [*packed, *self.constants] if self.constants else packed
        found = self.function(structure.pack(self.inputs, elements), given)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise ArgumentTypeError(
                f"step_function must return a pair (output, new states), got {found!r:.80}"
            )
        self.output, new = found
        outputs = structure.flatten(self.output)
        new_states = [] if new is None else structure.flatten(new)
        places = {id(state): i for i, state in enumerate(new_states)}
        same = [places.get(id(output), -1) for output in outputs]
        self.states_of_outputs = [] if -1 in same else same
        flagged = (getattr(output, "_uses_learning_phase", False) for output in outputs)
        self.uses_learning_phase = self.uses_learning_phase or any(flagged)
        return new_states, outputs

    def packed(self, outputs: list[Any]) -> Any:
        return structure.pack(self.output, outputs)


def _masked(K: Any, cell: _Cell, count: int, zeros: bool) -> Any:
    """The step that keeps states and outputs where the mask, the last element, is false."""

    def step(states: list[Any], elements: list[Any]) -> Any:
        *elements, flags = elements
        before, kept = states[:count], states[count:]
        new, outputs = cell(before, elements)
        loops.check_count(before, new)
        new = [K.switch(flags, n, b) for n, b in zip(new, before, strict=True)]
        if zeros:
            return new, [K.switch(flags, o, K.zeros_like(o)) for o in outputs]
        outputs = [K.switch(flags, o, k) for o, k in zip(outputs, kept, strict=True)]
        return [*new, *outputs], outputs

    return step


def _is_tensor(K: Any, value: Any) -> bool:
    return value is not None and K.ndim(value) > 0


def _time_first(K: Any, x: TensorLike, time_major: bool) -> Any:
    x = loops.operand(K, x)
    if K.ndim(x) < 3:
        raise ShapeError(
            f"inputs must have at least rank 3, (samples, time, ...), got the shape "
            f"{K.int_shape(x)}. Add an axis with K.expand_dims(x, -1)"
        )
    return x if time_major else _swapped(K, x)


def _swapped(K: Any, x: TensorLike) -> Any:
    """Samples and time exchanged."""
    return K.permute_dimensions(x, (1, 0, *range(2, K.ndim(x))))


def _flags(K: Any, mask: Any, lengths: Any, sequence: Any, time_major: bool) -> Any:
    """The truth of the mask with time first, (time, samples)."""
    if mask is None:
        count = K.int_shape(sequence)[0]
        steps = K.arange(K.shape(sequence)[0]) if count is None else np.arange(count)
        steps = K.expand_dims(steps, 1)
        return K.less(steps, K.expand_dims(K.cast(lengths, "int32"), 0))
    mask = loops.operand(K, mask)
    sizes = K.int_shape(mask)
    if len(sizes) == 3 and sizes[2] in (1, None):
        mask = K.squeeze(mask, 2)
    elif len(sizes) != 2:
        raise ShapeError(f"mask must have the shape (samples, time) or (samples, time, 1): {sizes}")
    if K.dtype(mask) != "bool":
        mask = K.not_equal(mask, 0)
    return mask if time_major else K.transpose(mask)
