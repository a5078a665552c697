"""Saved models run by ONNX Runtime alone, in a process that has no kbridge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from kbridge.errors import UnsupportedError

# Runs the model with the arrays of a file by the names of inputs, and saves its outputs.
BARE = """
import sys
sys.modules["kbridge"] = sys.modules["kbridge_onnx"] = None  # importing them is an error
import numpy as np, onnxruntime
settings = onnxruntime.SessionOptions()
settings.log_severity_level = 3
session = onnxruntime.InferenceSession(sys.argv[1], settings, providers=["CPUExecutionProvider"])
outputs = session.run(None, dict(np.load(sys.argv[2])))
np.savez(sys.argv[3], **{o.name: v for o, v in zip(session.get_outputs(), outputs)})
"""


def bare(model: Path, **feeds: Any) -> dict[str, Any]:
    """The outputs by name, of a process without kbridge."""
    given, found = model.with_suffix(".in.npz"), model.with_suffix(".out.npz")
    np.savez(given, **feeds)
    subprocess.run([sys.executable, "-c", BARE, model, given, found], check=True, timeout=120)
    return dict(np.load(found))


def names(model: Path) -> tuple[list[str], list[str], set[str]]:
    """The inputs, the outputs and the initializers of a model, which must be a valid one."""
    loaded = onnx.load(model)
    onnx.checker.check_model(loaded, full_check=True)
    body = loaded.graph
    return (
        [i.name for i in body.input],
        [o.name for o in body.output],
        {i.name for i in body.initializer},
    )


def test_a_network_for_any_batch(K: Any, tmp_path: Path) -> None:
    """Inputs have the placeholders' names, weights are inside; dropout is left out."""
    rng = np.random.default_rng(0)
    image = K.placeholder((None, 8, 8, 3), name="image")
    kernel = K.variable(rng.normal(size=(3, 3, 3, 4)), name="kernel")
    weights = K.variable(rng.normal(size=(64, 10)) / 8, name="weights")
    hidden = K.pool2d(K.relu(K.conv2d(image, kernel, padding="same")), (2, 2), (2, 2))
    flat = K.batch_flatten(hidden)
    flat = K.in_train_phase(K.dropout(flat, 0.5), flat)
    f = K.function([image, K.learning_phase()], [K.softmax(K.dot(flat, weights))], name="net")
    model = tmp_path / "net.onnx"
    f.export(model)
    inputs, outputs, inside = names(model)
    assert inputs == ["image"]
    assert outputs == ["output_0"]
    assert {"kernel", "weights"} <= inside
    kinds = [node.op_type for node in onnx.load(model).graph.node]
    assert {"Conv", "MaxPool", "Softmax"} <= set(kinds)
    assert "BitShift" not in kinds  # of the random numbers
    for batch in (1, 5):
        x = rng.random((batch, 8, 8, 3), np.float32)
        np.testing.assert_allclose(bare(model, image=x)["output_0"], f([x, 0])[0], rtol=1e-5)


def test_a_recurrent_network(K: Any, tmp_path: Path) -> None:
    """A loop of as many steps as are fed."""
    rng = np.random.default_rng(1)
    x = K.placeholder((None, None, 3), name="sequence")
    w, u = (K.variable(rng.normal(size=s), name=n) for s, n in (((3, 4), "w"), ((4, 4), "u")))

    def step(now: Any, states: Any) -> Any:
        new = K.tanh(K.dot(now, w) + K.dot(states[0], u))
        return new, [new]

    last, outputs, _ = K.rnn(step, x, [K.zeros_like(K.dot(x[:, 0], w))])
    f = K.function([x], [last, outputs])
    model = tmp_path / "rnn.onnx"
    f.export(model)
    for shape in ((2, 5, 3), (1, 2, 3)):
        fed = rng.random(shape, np.float32)
        found, wanted = bare(model, sequence=fed), f([fed])
        np.testing.assert_allclose(found["output_0"], wanted[0], rtol=1e-5)
        np.testing.assert_allclose(found["output_1"], wanted[1], rtol=1e-5)


def test_a_training_step(K: Any, tmp_path: Path) -> None:
    """Gradients are part of the model; what is trained may be fed, and its new value comes out."""
    x = K.placeholder((None, 2), name="x")
    w = K.variable([[1.0], [2.0]], name="w")
    rate = K.variable(0.1, name="rate")
    loss = K.mean(K.square(K.dot(x, w)))
    (slope,) = K.gradients(loss, [w])
    f = K.function([x], [loss], updates=[(w, w - rate * slope)])
    model = tmp_path / "step.onnx"
    f.export(model)
    inputs, outputs, inside = names(model)
    assert inputs == ["x", "w"]
    assert outputs == ["output_0", "w_new"]
    assert {"w", "rate"} <= inside
    fed = np.array([[1, 0], [2, 1]], np.float32)
    losses, own = [], np.array([[1], [2]], np.float32)
    for _ in range(3):
        found = bare(model, x=fed, w=own)
        losses.append(float(found["output_0"]))
        own = found["w_new"]
    np.testing.assert_allclose(losses, [float(f([fed])[0]) for _ in range(3)], rtol=1e-5)
    np.testing.assert_allclose(own, K.get_value(w), rtol=1e-5)
    assert losses[2] < losses[0]
    np.testing.assert_allclose(bare(model, x=fed)["output_0"], losses[0])  # w as it was saved


def test_draws(K: Any, tmp_path: Path) -> None:
    """A saved model draws by positions that are fed; it begins where none is fed."""
    x = K.placeholder((None,), name="x")
    f = K.function([x], [x + K.random_uniform(K.shape(x), seed=3)])
    model = tmp_path / "draws.onnx"
    f.export(model)
    zeros = np.zeros(4, np.float32)
    wanted = [f([zeros])[0] for _ in range(2)]
    np.testing.assert_array_equal(bare(model, x=zeros)["output_0"], wanted[0])
    second = bare(model, x=zeros, draw_positions=np.array([1]))["output_0"]
    np.testing.assert_array_equal(second, wanted[1])


def test_names_are_told_apart(K: Any, tmp_path: Path) -> None:
    a, b = K.placeholder((2,), name="same"), K.placeholder((2,), name="same")
    model = tmp_path / "names.onnx"
    K.function([a, b], [a - b, b]).export(model)
    assert names(model)[:2] == (["same", "same_1"], ["output_0", "output_1"])
    one, two = np.ones(2, np.float32), np.full(2, 2, np.float32)
    assert bare(model, same=one, same_1=two)["output_0"].tolist() == [-1, -1]


def test_names_that_nodes_have(K: Any, tmp_path: Path) -> None:
    """Inputs keep them."""
    a, b = K.placeholder((2,), name="_value_0"), K.placeholder((2,), name="_value_1")
    c = K.variable([3.0, 3.0], name="_value_2")
    model = tmp_path / "names.onnx"
    K.function([a, b], [(a - b) * a * c]).export(model)
    assert names(model)[:2] == (["_value_0", "_value_1"], ["output_0"])
    one, two = np.ones(2, np.float32), np.full(2, 2, np.float32)
    assert bare(model, _value_0=two, _value_1=one)["output_0"].tolist() == [6, 6]


def test_what_cannot_be_exported(K: Any, tmp_path: Path) -> None:
    """Whatever needs a size that the placeholders leave open, or a second part."""
    image = K.placeholder((None, None, None, 3))
    f = K.function([image], [K.conv2d(image, K.ones((3, 3, 3, 1)))])
    assert f([np.ones((1, 4, 5, 3))])[0].shape == (1, 2, 3, 1)
    with pytest.raises(UnsupportedError, match="sizes that its placeholders leave open"):
        f.export(tmp_path / "open.onnx")
    x, n = K.placeholder((None, 4, 3)), K.placeholder((None,), dtype="int32")
    decoded = K.ctc_decode(x, n)[0][0]
    with pytest.raises(UnsupportedError, match="runs in two parts"):
        K.function([x, n], [decoded]).export(tmp_path / "ctc.onnx")
    assert not list(tmp_path.iterdir())
