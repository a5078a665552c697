"""What an eager K function costs over the engine's own function, on small arrays.

For each engine and operation: the shortest native program with the same value, dtype and
errors, the K function, and, where they are installed, Keras 3's ``keras.ops``, ``autoray`` and
``tensorly``, each in turns with the native call in a process of its own. The result is the time
added per call, in microseconds; the spread is that of the operations. Those that must read their
data to check it are listed apart: their cost is the reading.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import statistics
from typing import Any

from benchmarks.engines import child, installed, modules
from benchmarks.paired import compare
from benchmarks.report import Row

READING = ("gather",)
PEERS = ("keras", "autoray", "tensorly")

# K's program, then the native one of each engine; None: see _NATIVE.
_OPERATIONS = {
    "abs": "abs(x)",
    "square": "square(x)",
    "exp": "exp(x)",
    "sign": "sign(x)",
    "sin": "sin(x)",
    "tanh": "tanh(x)",
    "sigmoid": "sigmoid(x)",
    "relu": "relu(x)",
    "softmax": "softmax(x)",
    "maximum": "maximum(x, y)",
    "equal": "equal(x, y)",
    "greater": "greater(x, y)",
    "sum": "sum(x, 1)",
    "mean": "mean(x, 1)",
    "max": "max(x, 1)",
    "all": "all(b)",
    "dot": "dot(x, z)",
    "transpose": "transpose(x)",
    "reshape": "reshape(x, (8, 4))",
    "expand_dims": "expand_dims(x, 1)",
    "log": "log(p)",
    "cos": "cos(x)",
    "minimum": "minimum(x, y)",
    "not_equal": "not_equal(x, y)",
    "greater_equal": "greater_equal(x, y)",
    "less": "less(x, y)",
    "less_equal": "less_equal(x, y)",
    "prod": "prod(x, 1)",
    "min": "min(x, 1)",
    "any": "any(b)",
    "cumsum": "cumsum(x, 1)",
    "batch_dot": "batch_dot(m, n)",
    "bias_add": "bias_add(x, v)",
    "permute_dimensions": "permute_dimensions(m, (0, 2, 1))",
    "squeeze": "squeeze(c, 1)",
    "flatten": "flatten(x)",
    "batch_flatten": "batch_flatten(m)",
    "concatenate": "concatenate([x, y], 1)",
    "stack": "stack([x, y], 0)",
    "tile": "tile(x, (2, 1))",
    "gather": "gather(x, i)",
}

# Where the engine would broadcast what is an error in the contract, sizes are compared first.
_NATIVE = {
    "numpy": {
        "abs": "np.absolute(x)",
        "square": "np.square(x)",
        "exp": "np.exp(x)",
        "sign": "np.sign(x)",
        "sin": "np.sin(x)",
        "tanh": "np.tanh(x)",
        "sigmoid": "own['sigmoid'](x)",
        "relu": "np.maximum(x, 0)",
        "softmax": "own['softmax'](x)",
        "maximum": "np.maximum(x, y)",
        "equal": "np.equal(x, y)",
        "greater": "np.greater(x, y)",
        "sum": "np.sum(x, 1)",
        "mean": "np.mean(x, 1)",
        "max": "np.max(x, 1)",
        "all": "np.all(b)",
        "dot": "np.dot(x, z)",
        "transpose": "np.transpose(x)",
        "reshape": "np.reshape(x, (8, 4))",
        "expand_dims": "np.expand_dims(x, 1)",
        "log": "np.log(p)",
        "cos": "np.cos(x)",
        "minimum": "np.minimum(x, y)",
        "not_equal": "np.not_equal(x, y)",
        "greater_equal": "np.greater_equal(x, y)",
        "less": "np.less(x, y)",
        "less_equal": "np.less_equal(x, y)",
        "prod": "np.prod(x, 1)",
        "min": "np.min(x, 1)",
        "any": "np.any(b)",
        "cumsum": "np.cumsum(x, 1)",
        "batch_dot": "np.matmul(m, n) if len(m) == len(n) else None",
        "bias_add": "np.add(x, v) if len(v) == x.shape[1] else None",
        "permute_dimensions": "np.transpose(m, (0, 2, 1))",
        "squeeze": "np.squeeze(c, 1)",
        "flatten": "np.reshape(x, (-1,))",
        "batch_flatten": "np.reshape(m, (m.shape[0], -1))",
        "concatenate": "np.concatenate([x, y], 1)",
        "stack": "np.stack([x, y], 0)",
        "tile": "np.tile(x, (2, 1))",
        "gather": "np.take(x, i, 0)",
    },
    "torch": {
        "abs": "torch.abs(x)",
        "square": "torch.square(x)",
        "exp": "torch.exp(x)",
        "sign": "torch.sign(x)",
        "sin": "torch.sin(x)",
        "tanh": "torch.tanh(x)",
        "sigmoid": "torch.sigmoid(x)",
        "relu": "torch.relu(x)",
        "softmax": "torch.softmax(x, -1)",
        "maximum": "torch.maximum(x, y)",
        "equal": "torch.eq(x, y)",
        "greater": "torch.gt(x, y)",
        "sum": "torch.sum(x, 1)",
        "mean": "torch.mean(x, 1)",
        "max": "torch.amax(x, 1)",
        "all": "torch.all(b)",
        "dot": "torch.matmul(x, z)",
        "transpose": "x.permute(1, 0)",
        "reshape": "torch.reshape(x, (8, 4))",
        "expand_dims": "torch.unsqueeze(x, 1)",
        "log": "torch.log(p)",
        "cos": "torch.cos(x)",
        "minimum": "torch.minimum(x, y)",
        "not_equal": "torch.ne(x, y)",
        "greater_equal": "torch.ge(x, y)",
        "less": "torch.lt(x, y)",
        "less_equal": "torch.le(x, y)",
        "prod": "torch.prod(x, 1)",
        "min": "torch.amin(x, 1)",
        "any": "torch.any(b)",
        "cumsum": "torch.cumsum(x, 1)",
        "batch_dot": "torch.bmm(m, n)",
        "bias_add": "torch.add(x, v) if v.shape[0] == x.shape[1] else None",
        "permute_dimensions": "torch.permute(m, (0, 2, 1))",
        "squeeze": "torch.squeeze(c, 1)",
        "flatten": "torch.reshape(x, (-1,))",
        "batch_flatten": "torch.reshape(m, (m.shape[0], -1))",
        "concatenate": "torch.cat([x, y], 1)",
        "stack": "torch.stack([x, y], 0)",
        "tile": "torch.tile(x, (2, 1))",
        "gather": "torch.index_select(x, 0, i)",
    },
    "jax": {
        "abs": "jnp.abs(x)",
        "square": "jnp.square(x)",
        "exp": "jnp.exp(x)",
        "sign": "jnp.sign(x)",
        "sin": "jnp.sin(x)",
        "tanh": "jnp.tanh(x)",
        "sigmoid": "jax.nn.sigmoid(x)",
        "relu": "jax.nn.relu(x)",
        "softmax": "jax.nn.softmax(x, -1)",
        "maximum": "jnp.maximum(x, y)",
        "equal": "jnp.equal(x, y)",
        "greater": "jnp.greater(x, y)",
        "sum": "jnp.sum(x, 1)",
        "mean": "jnp.mean(x, 1)",
        "max": "jnp.max(x, 1)",
        "all": "jnp.all(b)",
        "dot": "jnp.dot(x, z)",
        "transpose": "jnp.transpose(x)",
        "reshape": "jnp.reshape(x, (8, 4))",
        "expand_dims": "jnp.expand_dims(x, 1)",
        "log": "jnp.log(p)",
        "cos": "jnp.cos(x)",
        "minimum": "jnp.minimum(x, y)",
        "not_equal": "jnp.not_equal(x, y)",
        "greater_equal": "jnp.greater_equal(x, y)",
        "less": "jnp.less(x, y)",
        "less_equal": "jnp.less_equal(x, y)",
        "prod": "jnp.prod(x, 1)",
        "min": "jnp.min(x, 1)",
        "any": "jnp.any(b)",
        "cumsum": "jnp.cumsum(x, 1)",
        "batch_dot": "jnp.matmul(m, n) if m.shape[0] == n.shape[0] else None",
        "bias_add": "jnp.add(x, v) if v.shape[0] == x.shape[1] else None",
        "permute_dimensions": "jnp.transpose(m, (0, 2, 1))",
        "squeeze": "jnp.squeeze(c, 1)",
        "flatten": "jnp.reshape(x, (-1,))",
        "batch_flatten": "jnp.reshape(m, (m.shape[0], -1))",
        "concatenate": "jnp.concatenate([x, y], 1)",
        "stack": "jnp.stack([x, y], 0)",
        "tile": "jnp.tile(x, (2, 1))",
        "gather": "jnp.take(x, i, 0)",
    },
    "tensorflow": {
        "abs": "tf.abs(x)",
        "square": "tf.square(x)",
        "exp": "tf.exp(x)",
        "sign": "tf.sign(x)",
        "sin": "tf.sin(x)",
        "tanh": "tf.tanh(x)",
        "sigmoid": "tf.sigmoid(x)",
        "relu": "tf.nn.relu(x)",
        "softmax": "tf.nn.softmax(x, -1)",
        "maximum": "tf.maximum(x, y)",
        "equal": "tf.equal(x, y)",
        "greater": "tf.greater(x, y)",
        "sum": "tf.reduce_sum(x, 1)",
        "mean": "tf.reduce_mean(x, 1)",
        "max": "tf.reduce_max(x, 1)",
        "all": "tf.reduce_all(b)",
        "dot": "tf.matmul(x, z)",
        "transpose": "tf.transpose(x)",
        "reshape": "tf.reshape(x, (8, 4))",
        "expand_dims": "tf.expand_dims(x, 1)",
        "log": "tf.math.log(p)",
        "cos": "tf.cos(x)",
        "minimum": "tf.minimum(x, y)",
        "not_equal": "tf.not_equal(x, y)",
        "greater_equal": "tf.greater_equal(x, y)",
        "less": "tf.less(x, y)",
        "less_equal": "tf.less_equal(x, y)",
        "prod": "tf.reduce_prod(x, 1)",
        "min": "tf.reduce_min(x, 1)",
        "any": "tf.reduce_any(b)",
        "cumsum": "tf.cumsum(x, 1)",
        "batch_dot": "tf.matmul(m, n)",
        "bias_add": "tf.nn.bias_add(x, v)",
        "permute_dimensions": "tf.transpose(m, (0, 2, 1))",
        "squeeze": "tf.squeeze(c, 1)",
        "flatten": "tf.reshape(x, (-1,))",
        "batch_flatten": "tf.reshape(m, (m.shape[0], -1))",
        "concatenate": "tf.concat([x, y], 1)",
        "stack": "tf.stack([x, y], 0)",
        "tile": "tf.tile(x, (2, 1))",
        "gather": "tf.gather(x, i)",
    },
}

#: How NumPy, and with it ``keras.ops`` and ``autoray``, spell what K spells otherwise; the rest
#: is K's program. What a peer lacks is left out.
_SPELLED = {
    "dot": "matmul(x, z)",
    "gather": "take(x, i, 0)",
    "batch_dot": "matmul(m, n)",
    "bias_add": "add(x, v)",
    "permute_dimensions": "transpose(m, (0, 2, 1))",
    "flatten": "reshape(x, (-1,))",
    "batch_flatten": "reshape(m, (m.shape[0], -1))",
}


def measure(engine: str, who: str, seconds: float) -> dict[str, dict[str, float]]:
    """By operation, in this process: microseconds of the native call, and what ``who`` adds."""
    import numpy as np

    import kbridge

    K = kbridge.load_backend(engine)
    rng = np.random.default_rng(0)
    arrays = {
        "x": rng.normal(size=(4, 8)),
        "y": rng.normal(size=(4, 8)),
        "z": rng.normal(size=(8, 4)),
        "p": rng.uniform(1, 2, size=(4, 8)),
        "v": rng.normal(size=8),
        "m": rng.normal(size=(4, 2, 3)),
        "n": rng.normal(size=(4, 3, 2)),
        "c": rng.normal(size=(4, 1, 8)),
    }
    arrays = {key: value.astype("float32") for key, value in arrays.items()}
    arrays["b"] = rng.normal(size=(4, 8)) > 0
    arrays["i"] = np.array([0, 2, 3], "int32")
    names: dict[str, Any] = {
        key: K.engine.from_numpy(value, str(value.dtype)) for key, value in arrays.items()
    }
    names.update(own=K.native, **modules(engine))
    find = functools.partial(getattr, K) if who == "kbridge" else _peer(who, engine)
    table = {}
    for name, program in _OPERATIONS.items():
        spelled = program if who == "kbridge" else _SPELLED.get(name, program)
        statement = f"k{_arguments(spelled)}"
        try:
            names["k"] = find(spelled.partition("(")[0])
            eval(statement, dict(names))
        except Exception:
            if who == "kbridge":
                raise
            continue  # the peer has no such function, or takes no such operands
        (native, _), (_, added) = compare([_NATIVE[engine][name], statement], names, seconds)
        table[name] = {"native": native * 1e6, "added": added * 1e6}
    return table


def _arguments(program: str) -> str:
    return program[program.index("(") :]


def _peer(who: str, engine: str) -> Any:
    """How to find a peer's function of a name."""
    module = importlib.import_module(who)
    if who == "keras":
        return functools.partial(getattr, module.ops)
    if who == "autoray":
        return lambda name: functools.partial(module.do, name)
    module.set_backend("pytorch" if engine == "torch" else engine)
    return functools.partial(getattr, module)


def rows(quick: bool) -> list[Row]:
    found = []
    peers = [name for name in PEERS if importlib.util.find_spec(name) is not None]
    for engine in installed():
        for who in ("kbridge", *peers):
            seconds = 0.05 if quick else 0.4 if who == "kbridge" else 0.1
            try:
                table = child("dispatch", "measure", engine, engine, who, seconds)
            except RuntimeError:
                if who == "kbridge":
                    raise
                continue  # the peer does not work with this release of the engine
            found += _rows(engine, who, table)
    return found


def _rows(engine: str, who: str, table: dict[str, dict[str, float]]) -> list[Row]:
    """The median and the worst operation, and those that read their data."""
    counted = {name: row["added"] for name, row in table.items() if name not in READING}
    values = sorted(counted.values())
    if not values:
        return []
    own, worst = who == "kbridge", max(counted, key=lambda name: counted[name])
    native = statistics.median(row["native"] for row in table.values())
    quarter = len(values) // 4
    cases = [
        (f"{who}, median of {len(values)}", statistics.median(values), native, 0.1),
        (f"{who}, worst: {worst}", values[-1], table[worst]["native"], 0.25),
    ]
    if own:
        cases += [
            (f"{who}, {name} (reads its data)", table[name]["added"], table[name]["native"], None)
            for name in READING
        ]
    made = []
    for case, added, base, goal in cases:
        row = Row("eager dispatch", engine, case, "native", what="us added")
        row.ratio, row.low, row.high = added, values[quarter], values[-1 - quarter]
        row.base, row.goal = base * 1e-6, goal if own else None
        made.append(row)
    return made
