"""What an eager K function costs over the engine's own function, on small arrays.

For each engine and operation: the shortest native program with the same value, dtype and
errors, the K function, and Keras 3's ``keras.ops`` where it is installed, in turns in one
process. Printed is the time added per call, in microseconds. Operations that must read their
data to check it are listed apart: their cost is the reading.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.paired import compare

ENGINES = ("numpy", "torch", "jax", "tensorflow")
READING = ("gather",)

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
    "gather": "gather(x, i)",
}

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
        "gather": "tf.gather(x, i)",
    },
}

_KERAS = {
    "dot": "matmul(x, z)",
    "gather": "take(x, i, 0)",
}


def measure(engine: str) -> dict[str, dict[str, float]]:
    """Microseconds per operation in this process: native, added by kbridge, by Keras 3."""
    import numpy as np

    import kbridge

    K = kbridge.load_backend(engine)
    rng = np.random.default_rng(0)
    arrays = {
        "x": rng.normal(size=(4, 8)).astype("float32"),
        "y": rng.normal(size=(4, 8)).astype("float32"),
        "z": rng.normal(size=(8, 4)).astype("float32"),
        "b": rng.normal(size=(4, 8)) > 0,
        "i": np.array([0, 2, 3], "int32"),
    }
    names: dict[str, Any] = {
        key: K.engine.from_numpy(value, str(value.dtype)) for key, value in arrays.items()
    }
    names.update(np=np, own=K.native, **_modules(engine))
    keras_ops = _keras_ops()
    table = {}
    for name, program in _OPERATIONS.items():
        names["k"] = getattr(K, name)
        arguments = program[program.index("(") :]
        statements = [_NATIVE[engine][name], f"k{arguments}"]
        if keras_ops is not None:
            other = _KERAS.get(name, program)
            names["o"] = getattr(keras_ops, other[: other.index("(")])
            statements.append("o" + other[other.index("(") :])
        native, own, *rest = compare(statements, names)
        table[name] = {"native": native[0] * 1e6, "kbridge": own[1] * 1e6}
        if rest:
            table[name]["keras"] = rest[0][1] * 1e6
    return table


def _modules(engine: str) -> dict[str, Any]:
    if engine == "torch":
        import torch

        return {"torch": torch}
    if engine == "jax":
        import jax

        return {"jax": jax, "jnp": jax.numpy}
    if engine == "tensorflow":
        import tensorflow as tf

        return {"tf": tf}
    return {}


def _keras_ops() -> Any:
    if importlib.util.find_spec("keras") is None:
        return None
    import keras

    return keras.ops


def run(engine: str) -> dict[str, dict[str, float]]:
    """:func:`measure` in a process of its own, with Keras 3 on the same engine."""
    code = (
        "import json; from benchmarks import dispatch; "
        f"print(json.dumps(dispatch.measure({engine!r})))"
    )
    env = {**os.environ, "KERAS_BACKEND": engine, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the benchmark of {engine} failed:\n{done.stderr[-2000:]}")
    result: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return result


def show(engine: str, table: dict[str, dict[str, float]]) -> None:
    """Print one engine's table, its median and worst case."""
    print(f"\n{engine}: microseconds added per eager call")
    print(f"{'operation':14}{'native':>9}{'kbridge':>10}{'keras.ops':>11}")
    for name, row in table.items():
        keras = f"{row['keras']:+11.2f}" if "keras" in row else f"{'-':>11}"
        apart = "  (reads its data)" if name in READING else ""
        print(f"{name:14}{row['native']:9.2f}{row['kbridge']:+10.2f}{keras}{apart}")
    counted = [row["kbridge"] for name, row in table.items() if name not in READING]
    others = [row["keras"] for n, row in table.items() if n not in READING and "keras" in row]
    print(f"median of {len(counted)}: {statistics.median(counted):+.3f}", end="")
    print(f", worst {max(counted):+.3f}", end="")
    print(f"; keras.ops median {statistics.median(others):+.2f}" if others else "")


def main() -> None:
    """Measure and print every installed engine."""
    for engine in ENGINES:
        if importlib.util.find_spec(engine) is not None:
            show(engine, run(engine))


if __name__ == "__main__":
    main()
