"""ONNX Runtime as an engine: NumPy arrays are its tensors, compiled functions are ONNX models."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from kbridge.api.declare import Operation
from kbridge.backends.numpy import sparse as matrices
from kbridge.backends.numpy.engine import NumPyEngine
from kbridge.errors import ArgumentError, IndexRangeError, ShapeError, UnsupportedError
from kbridge.symbolic import dtypes
from kbridge_onnx import control, graph, random
from kbridge_onnx.graph import (
    Graph,
    Unsized,
    Value,
    as_array,
    as_value,
    building,
    declared,
    emit,
    needed,
    to,
    traced,
)


class OnnxEngine(NumPyEngine):
    """A plan is run once on the values of a graph; ONNX Runtime runs what that builds.

    What is outside compiled functions (single calls on arrays, ``K.eval``) is NumPy's: a session
    for one operation takes thousands of times as long as the operation.
    """

    name = "onnx"
    title = "ONNX Runtime"
    sparse = matrices
    fixed_shapes = True
    #: Which of ONNX Runtime's providers run a function, by preference.
    options = MappingProxyType({"providers": ("CPUExecutionProvider",)})

    def __init__(self) -> None:
        super().__init__()
        self.plan_names.update(from_host=self.from_host)

    def is_native(self, value: Any) -> bool:
        return isinstance(value, (np.ndarray, Value))

    def from_host(self, value: Any, dtype: str) -> Any:
        return to(value, dtype) if isinstance(value, Value) else self.from_numpy(value, dtype)

    def dtype(self, native: Any) -> str:
        return dtypes.normalize(native.dtype)

    def entry(self, op: Operation, native: Callable[..., Any]) -> Callable[..., Any]:
        return graph.NUMPY[op.name]

    def host_primitive(self, name: str, backend: Any) -> Callable[..., Any]:
        on_host, native = super().host_primitive(name, backend), backend.native[name]
        return lambda *args: native(*args) if traced(args) else on_host(*args)

    def choose(self, condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
        return control.branch(condition, first, second)

    def loop(
        self,
        step: Callable[..., Any],
        states: list[Any],
        sequences: list[Any],
        reverse: bool,
        specs: Any = None,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        if graph.current(None) is None:
            return self.unrolled_loop(step, states, sequences, reverse, specs)
        return control.looped(step, states, [as_value(s) for s in sequences], reverse)

    def draw_key(self, seed: int, position: Any) -> Any:
        return random.key_of(seed, position)

    # --- functions --------------------------------------------------------------------------------

    def compile(
        self,
        plan: Any,
        feeds: Sequence[Any],
        count: int,
        targets: Sequence[tuple[Any, bool]],
        options: dict[str, Any],
    ) -> Callable[[list[Any]], list[Any]]:
        variables = [variable for variable, _ in targets]
        return Compiled(plan, feeds, count, variables, _providers(options["providers"]))

    def export(self, compiled: Any, path: str | os.PathLike[str]) -> None:
        """Save a compiled function as an ONNX model, with the variables' present values."""
        onnx.save(compiled.exported(), os.fspath(path))


def _providers(given: Any) -> list[Any]:
    """What ``providers=`` names; of unknown ones the runtime only prints, and takes the CPU."""
    known = onnxruntime.get_all_providers()
    named = list(given) if isinstance(given, (list, tuple)) else [given]
    for each in named:
        name = each[0] if isinstance(each, tuple) and each else each
        if name not in known:
            raise ArgumentError(
                f"K.function: providers must be a list of names of ONNX Runtime's providers, or of "
                f"(name, options), not {given!r:.80}. There are {', '.join(known)}."
            )
    return named


class Compiled:
    """A plan as a model; where the model needs sizes that are open, one for each set of shapes."""

    def __init__(
        self, plan: Any, feeds: Sequence[Any], count: int, targets: Sequence[Any], providers: Any
    ) -> None:
        self.plan = plan
        self.providers = providers
        self.feeds = feeds
        self.count = count
        self.targets = targets
        self.models: dict[Any, Model] = {}
        try:
            self.open: Model | None = self.built([feed.shape for feed in feeds])
        except Unsized:
            self.open = None

    def built(self, shapes: Sequence[Any]) -> Model:
        return Model(self.plan, self.feeds, shapes, self.count, self.targets, self.providers)

    def model(self, natives: Sequence[Any]) -> Model:
        """The model for what is fed."""
        # Of a loop over nothing the runtime knows no shape.
        if self.open is not None and all(0 not in native.shape for native in natives):
            return self.open
        shapes = tuple(native.shape for native in natives)
        if shapes not in self.models:
            try:
                self.models[shapes] = self.built(shapes)
            except Unsized as error:
                raise UnsupportedError(
                    f"K.function: ONNX Runtime needs a size that only the data tell: {error}"
                ) from error
        return self.models[shapes]

    def __call__(self, natives: list[Any]) -> list[Any]:
        results = self.model(natives).run(natives)
        outputs, updates = results[: self.count], results[self.count :]
        for variable, value in zip(self.targets, updates, strict=True):
            if value.shape != variable.shape:
                raise ShapeError(
                    f"K.update: the variable {variable.name!r} has the shape {variable.shape}, "
                    f"its new value {value.shape}; an update keeps the shape."
                )
        for variable, value in zip(self.targets, updates, strict=True):
            value.flags.writeable = False
            variable.storage = value
        return outputs

    def exported(self) -> Any:
        """The model with the variables' values inside."""
        if self.open is None:
            raise UnsupportedError(
                "this function needs sizes that its placeholders leave open (None), such as those "
                "of an image or of a convolution's kernel. Give the placeholders these sizes; that "
                "of the batch may stay open."
            )
        return self.open.exported()


class Model:
    """One ONNX model with its session.

    Its inputs are the placeholders, the variables and, where it draws, a position in the stream
    of each draw; its outputs the results and the variables' new values.
    """

    def __init__(
        self,
        plan: Any,
        feeds: Sequence[Any],
        shapes: Sequence[Any],
        count: int,
        targets: Sequence[Any],
        providers: list[Any],
    ) -> None:
        self.plan = plan
        self.targets = targets
        self.taken: set[str] = set()
        given = {each.name for each in (*feeds, *plan.variables)}
        with building(Graph(given)) as scope, np.errstate(all="ignore"):
            self.scope = scope
            self.given = [
                self.input(feed.name or "input", feed.dtype, shape)
                for feed, shape in zip(feeds, shapes, strict=True)
            ]
            self.held = [self.input(v.name or "variable", v.dtype, v.shape) for v in plan.variables]
            keys: Any = ()
            if plan.draws:
                positions = self.input("draw_positions", "int64", (len(plan.draws),))
                self.drawn = positions.name
                keys = [emit("Gather", positions, i) for i in range(len(plan.draws))]
            results = [as_value(result) for result in plan.run(self.given, self.held, keys)]
            names = [f"output_{i}" for i in range(count)]
            names += [f"{variable.name}_new" for variable in targets]
            self.dtypes = [dtypes.to_numpy(result.dtype) for result in results]
            self.outputs = [self.output(*pair) for pair in zip(results, names, strict=True)]
            self.shown = [self.output(value, "printed") for value, _ in scope.printed]
        self.proto = self.built(scope.inputs, scope.initializers)
        if not (self.outputs or self.shown):
            return  # nothing to run
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4  # what fails is an exception
        self.session = onnxruntime.InferenceSession(
            self.proto.SerializeToString(),
            settings,
            providers=providers,
            disabled_optimizers={"ReshapeFusion"},  # it makes -1 of a size, which then fits always
        )

    def unique(self, wanted: str) -> str:
        """The name, with a number if another input or output has it."""
        numbered = (f"{wanted}_{i}" for i in itertools.count(1))
        name = next(n for n in itertools.chain([wanted], numbered) if n not in self.taken)
        self.taken.add(name)
        return name

    def input(self, name: str, dtype: str, shape: Any) -> Any:
        """An input; NumPy has no bfloat16 to hand to the runtime, which takes float32 instead."""
        outside = _OUTSIDE.get(dtype, dtype)
        value = self.scope.input(self.unique(name), outside, shape)
        inside = to(value, dtype)
        inside.fed = value.name
        return inside

    def output(self, value: Value, name: str) -> Value:
        made = emit("Identity", to(value, _OUTSIDE.get(value.dtype, value.dtype)))
        node = self.scope.nodes[-1]
        made.name = node.output[0] = self.unique(name)
        return made

    def built(self, inputs: Sequence[Any], initializers: Sequence[Any]) -> Any:
        results = (*self.outputs, *self.shown)
        used = {v.name for v in results}
        nodes = needed(self.scope.nodes, used)
        kept = [i for i in initializers if i.name in used]
        body = helper.make_graph(nodes, "kbridge", inputs, list(map(declared, results)), kept)
        return helper.make_model(
            body,
            opset_imports=[helper.make_opsetid("", graph.OPSET)],
            ir_version=graph.IR_VERSION,
            producer_name="kbridge-onnx",
        )

    def run(self, natives: Sequence[Any]) -> list[Any]:
        if not (self.outputs or self.shown):
            return []
        fed = dict(zip([v.fed for v in self.given], natives, strict=True))
        for value, variable in zip(self.held, self.plan.variables, strict=True):
            fed[value.fed] = variable.storage
        fed = {name: _outside(array) for name, array in fed.items()}
        if self.plan.draws:
            fed[self.drawn] = np.array(self.plan.keys(), np.int64)
        try:
            results = self.session.run(None, fed)
        except _FAILURES as error:
            raise _cleared(error) from error
        count = len(self.outputs)
        for (_, show), value in zip(self.scope.printed, results[count:], strict=True):
            show(value)
        pairs = zip(results[:count], self.dtypes, strict=True)
        return [r if r.dtype == dtype else r.astype(dtype) for r, dtype in pairs]

    def exported(self) -> Any:
        names = {value.fed: v for value, v in zip(self.held, self.plan.variables, strict=True)}
        # What an update changes stays an input as well, whose value is the default.
        inputs = [i for i in self.scope.inputs if names.get(i.name) in (None, *self.targets)]
        values = {name: _outside(v.storage) for name, v in names.items()}
        if self.plan.draws:
            values[self.drawn] = np.zeros(len(self.plan.draws), np.int64)
        made = [numpy_helper.from_array(a, name) for name, a in values.items()]
        model = self.built(inputs, [*self.scope.initializers, *made])
        onnx.checker.check_model(model)
        return model


#: What stands for a dtype that NumPy and the runtime cannot exchange.
_OUTSIDE = {"bfloat16": "float32"}

_FAILURES = tuple(
    getattr(onnxruntime.capi.onnxruntime_pybind11_state, name)
    for name in ("Fail", "InvalidArgument", "RuntimeException")
)


def _outside(array: Any) -> Any:
    array = as_array(array)
    outside = _OUTSIDE.get(array.dtype.name)
    return array.astype(outside) if outside else array


def _cleared(error: Exception) -> Exception:
    """The contract's error for an index outside of what it picks from."""
    found = re.search(r"idx=(-?\d+) must be within .* range \[-?\d+,(-?\d+)\]", str(error))
    if found is None:
        return error
    index, rows = int(found[1]), int(found[2]) + 1
    index = index + rows if index < -rows else index  # K.gather moved it there
    return IndexRangeError(
        f"K.gather: the index {index} is outside the valid range [0, {rows}) of the reference."
    )
