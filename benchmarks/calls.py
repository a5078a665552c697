"""What a call of a ``K.function`` costs beside the same program compiled by hand.

Both take a NumPy array and return a new one. By hand that is ``jax.jit``, ``tf.function``, the
plain program on PyTorch and on NumPy: one flat function over the engine's own functions, without
a check of what is fed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.engines import child, installed, modules
from benchmarks.paired import ratios
from benchmarks.report import Row

#: Arrays of SIZE rows and columns.
SIZE = 32
#: What the nodes of a chain do, in turns: with a matrix, with a vector, alone.
_STEPS = ("dot({}, w)", "add({}, b)", "tanh({})")
#: By engine: the functions by which the native program is written.
_NATIVE = {
    "numpy": ("np.dot", "np.add", "np.tanh"),
    "torch": ("torch.matmul", "torch.add", "torch.tanh"),
    "jax": ("jnp.dot", "jnp.add", "jnp.tanh"),
    "tensorflow": ("tf.matmul", "tf.add", "tf.tanh"),
}
CASES = {"1 node": 1, "10 nodes": 10, "100 nodes": 100, "200 variables": 0}


def steps(nodes: int) -> list[str]:
    """The lines of a chain of so many nodes, or of 200 that add a variable each (0)."""
    if not nodes:
        return [f"add({{}}, v[{i}])" for i in range(200)]
    return list(itertools.islice(itertools.cycle(_STEPS), nodes))


def written(lines: list[str], names: dict[str, Any]) -> Callable[..., Any]:
    """A flat function ``program(x, w, b, v)`` of these lines."""
    body = "".join(f"    x = {line.format('x')}\n" for line in lines)
    space = dict(names)
    exec(f"def program(x, w, b, v):\n{body}    return x", space)
    program: Callable[..., Any] = space["program"]
    return program


def values() -> dict[str, Any]:
    """The arrays: a feed, a matrix, a vector, and 200 matrices."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=(SIZE, SIZE)) / SIZE**0.5
    found = {
        "x": rng.normal(size=(SIZE, SIZE)),
        "w": w,
        "b": rng.normal(size=SIZE),
        "v": rng.normal(size=(200, SIZE, SIZE)),
    }
    return {name: value.astype("float32") for name, value in found.items()}


def by_kbridge(K: Any, nodes: int) -> Callable[[Any], Any]:
    """The chain as a K.function; variables are only those that it reads."""
    given = values()
    x = K.placeholder((None, SIZE))
    w, b = K.variable(given["w"]), K.variable(given["b"])
    v = [K.variable(value) for value in given["v"]] if not nodes else []
    functions = {"dot": K.dot, "add": lambda a, b: a + b, "tanh": K.tanh}
    made: Callable[[Any], Any] = K.function([x], [written(steps(nodes), functions)(x, w, b, v)])
    return made


def by_hand(K: Any, nodes: int) -> Callable[[Any], Any]:
    """The same with the engine alone, from a NumPy array to a new one."""
    given, engine = values(), K.name
    names = modules(engine)
    functions = dict(
        zip(("dot", "add", "tanh"), (eval(f, names) for f in _NATIVE[engine]), strict=True)
    )
    program = written(steps(nodes), functions)
    if engine == "numpy":
        w, b, v = given["w"], given["b"], list(given["v"])
        return lambda x: program(x, w, b, v)
    if engine == "torch":
        torch = names["torch"]
        w, b = torch.from_numpy(given["w"]), torch.from_numpy(given["b"])
        v = [torch.from_numpy(value) for value in given["v"]]
        return lambda x: program(torch.from_numpy(x), w, b, v).numpy()
    if engine == "jax":
        jax = names["jax"]
        w, b = jax.device_put(given["w"]), jax.device_put(given["b"])
        v = [jax.device_put(value) for value in given["v"]] if not nodes else []
        compiled = jax.jit(program)
        return lambda x: np.array(compiled(x, w, b, v))
    tf = names["tf"]
    w, b = tf.Variable(given["w"]), tf.Variable(given["b"])
    v = [tf.Variable(value) for value in given["v"]]
    graph = tf.function(
        lambda x: program(x, w, b, v), input_signature=[tf.TensorSpec((None, SIZE), tf.float32)]
    )
    return lambda x: graph(tf.constant(x)).numpy()


def measure(engine: str, seconds: float) -> dict[str, Any]:
    """By case: seconds by hand, and how many times as long K.function takes."""
    import kbridge

    K = kbridge.load_backend(engine)
    x = values()["x"]
    table = {}
    for case, nodes in CASES.items():
        hand, own = by_hand(K, nodes), by_kbridge(K, nodes)
        np.testing.assert_allclose(own([x])[0], hand(x), rtol=1e-4, atol=1e-5)
        names = {"hand": hand, "own": own, "x": x}
        table[case] = ratios(["hand(x)", "own([x])"], names, seconds)[1]
    return table


def rows(quick: bool) -> list[Row]:
    found = []
    for engine in installed():
        for case, row in child("calls", "measure", engine, engine, 0.2 if quick else 2.0).items():
            goal = (1.25 if engine == "numpy" else 1.10) if case == "10 nodes" else None
            found.append(Row("call of a K.function", engine, case, "by hand", goal=goal, **row))
    return found
