"""K functions inside PyTorch programs, and PyTorch's tape inside K functions."""

from __future__ import annotations

import operator
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import kbridge  # noqa: E402
from kbridge import errors  # noqa: E402

K = kbridge.load_backend("torch")
RNG = np.random.default_rng(0)


def normal(*shape, dtype="float32"):
    return RNG.normal(size=shape).astype(dtype)


# --- operators between tensors of both kinds ---------------------------------------------------

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.lt, operator.le, operator.gt, operator.ge),
]
OTHERS = {
    "native": torch.tensor([[0.5, 2.0], [1.5, 0.25]]),
    "parameter": torch.nn.Parameter(torch.tensor([[0.5, 2.0], [1.5, 0.25]])),
    "array": np.array([[0.5, 2.0], [1.5, 0.25]], "float32"),
    "scalar": np.float64(1.5),
    "number": 1.5,
}


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("made", ["variable", "placeholder"])
def test_operators_with_the_tensor_on_either_side(function, kind, made):
    value, other = np.array([[1.0, 2.0], [3.0, 0.5]], "float32"), OTHERS[kind]
    number = other.detach().numpy() if isinstance(other, torch.Tensor) else np.float32(other)
    tensor = K.variable(value) if made == "variable" else K.placeholder((2, 2))
    for left in (True, False):
        result = function(tensor, other) if left else function(other, tensor)
        now = made == "variable" and isinstance(other, torch.Tensor)
        assert isinstance(result, torch.Tensor) if now else K.is_symbolic(result)
        if made == "placeholder":
            result = K.function([tensor], [result])([value])[0]
        want = function(value, number) if left else function(number, value)
        got = K.eval(result)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_matrix_product_and_truth_operators_on_either_side():
    w, m = normal(3, 3), torch.from_numpy(normal(3, 3))
    v = K.variable(w)
    np.testing.assert_allclose((m @ v).detach(), m.numpy() @ w, rtol=1e-5)
    np.testing.assert_allclose((v @ m).detach(), w @ m.numpy(), rtol=1e-5)
    truth, other = K.greater(v, 0.0), m > 0
    for function in (operator.and_, operator.or_, operator.xor):
        want = function(w > 0, other.numpy())
        assert np.array_equal(function(truth, other), want)
        assert np.array_equal(function(other, truth), want)


def test_augmented_assignment_makes_a_new_tensor():
    v, x = K.variable([1.0, 2.0]), torch.tensor([10.0, 20.0])
    y = x
    y += v
    assert x.tolist() == [10.0, 20.0]
    assert y.tolist() == [11.0, 22.0]


# --- PyTorch's autograd through K functions ----------------------------------------------------


def test_backward_fills_the_gradient_of_a_variable():
    x, w0 = normal(5, 3), normal(3, 2)
    w = K.variable(w0)
    loss = K.mean(K.square(K.dot(torch.from_numpy(x), w)))
    loss.backward()
    hand = torch.from_numpy(w0).requires_grad_()
    torch.square(torch.from_numpy(x) @ hand).mean().backward()
    assert torch.equal(w.value.grad, hand.grad)
    assert w.value.is_leaf


def test_k_functions_inside_a_module():
    class Model(torch.nn.Module):
        def __init__(self, api):
            super().__init__()
            torch.manual_seed(0)
            self.w = torch.nn.Parameter(torch.randn(4, 3))
            self.b = torch.nn.Parameter(torch.zeros(3))
            self.api = api

        def forward(self, x):
            if self.api:
                return K.softmax(K.bias_add(K.dot(K.relu(x), self.w), self.b))
            return torch.softmax(torch.relu(x) @ self.w + self.b, -1)

    x, y = torch.from_numpy(normal(6, 4)), torch.eye(3)[[0, 1, 2, 2, 1, 0]]
    models = [Model(True), Model(False)]
    for model in models:
        optimizer = torch.optim.SGD(model.parameters(), 0.5)
        for _ in range(3):
            optimizer.zero_grad()
            if model.api:
                K.mean(K.categorical_crossentropy(y, model(x))).backward()
            else:
                (-(y * model(x).log()).sum(-1)).mean().backward()
            optimizer.step()
    for ours, theirs in zip(*(m.parameters() for m in models), strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-6)


def test_an_optimizer_of_pytorch_trains_variables_and_set_value_keeps_it():
    w, target = K.variable(np.zeros(3)), np.array([1.0, -2.0, 3.0], "float32")
    optimizer = torch.optim.SGD([w.value], 0.25)
    for step in range(60):
        if step == 30:
            K.set_value(w, np.zeros(3))
            assert w.value is optimizer.param_groups[0]["params"][0]
        optimizer.zero_grad()
        K.sum(K.square(w.value - torch.from_numpy(target))).backward()
        optimizer.step()
    np.testing.assert_allclose(K.get_value(w), target, atol=1e-5)


def test_a_stale_graph_is_an_error_not_a_wrong_gradient():
    w = K.variable([2.0])
    loss = K.sum(K.square(w.value))
    K.set_value(w, [3.0])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_recorded_tensors_beside_native_ones_pass_gradients_on():
    w = K.variable([1.0, 2.0])
    recorded = K.exp(w * 0.5)
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    K.sum(K.multiply(x, recorded)).backward()
    root = np.exp([0.5, 1.0])
    np.testing.assert_allclose(x.grad, root, rtol=1e-6)
    np.testing.assert_allclose(w.value.grad, 0.5 * root * [3.0, 4.0], rtol=1e-6)


def test_dropout_of_a_native_tensor():
    x = torch.ones(1000, requires_grad=True)
    y = K.dropout(x, 0.25, seed=3)
    y.sum().backward()
    assert torch.equal(x.grad, y)
    assert set(np.unique(y.detach()).tolist()) == {0.0, np.float32(1 / 0.75)}
    assert 0.7 < float((y > 0).float().mean()) < 0.8


def test_vmap_and_func_grad_go_through():
    x = torch.from_numpy(normal(4, 3))

    def loss(row):
        return K.sum(K.softplus(K.square(row)))

    got = torch.func.vmap(torch.func.grad(loss))(x)
    np.testing.assert_allclose(got, 2 * x * torch.sigmoid(x * x), rtol=1e-5)


def test_torch_compile_traces_k_functions():
    x, w = torch.from_numpy(normal(5, 3)), torch.from_numpy(normal(3, 2))

    @torch.compile(backend="eager", fullgraph=True)
    def f(x, w):
        return K.sum(K.relu(K.dot(x, w)) * K.clip(x[:, :1], 0.0, 1.0), axis=1)

    want = (torch.relu(x @ w) * x[:, :1].clamp(0, 1)).sum(1)
    for weight in (w, torch.nn.Parameter(w)):
        np.testing.assert_allclose(f(x, weight).detach(), want, rtol=1e-5)


# --- gradients inside K.function ---------------------------------------------------------------


def test_training_function_equals_hand_written_pytorch():
    x0, y0, w0 = normal(8, 4), normal(8, 2), normal(4, 2)
    x, y = K.placeholder((None, 4)), K.placeholder((None, 2))
    w, m, n = K.variable(w0), K.variable(np.zeros((4, 2))), K.variable(0, dtype="int64")
    loss = K.mean(K.square(K.tanh(K.dot(x, w)) - y))
    (g,) = K.gradients(loss, [w])
    momentum = 0.9 * m + g
    f = K.function(
        [x, y], [loss, g], [K.update(m, momentum), (w, w - 0.1 * momentum), K.update_add(n, 1)]
    )
    hand, speed = torch.from_numpy(w0.copy()).requires_grad_(), torch.zeros(4, 2)
    for _ in range(5):
        value, slope = f([x0, y0])
        error = (torch.tanh(torch.from_numpy(x0) @ hand) - torch.from_numpy(y0)).square().mean()
        (own,) = torch.autograd.grad(error, hand)
        np.testing.assert_allclose(value, error.item(), rtol=1e-5)
        np.testing.assert_allclose(slope, own, atol=1e-6)
        speed = 0.9 * speed + own
        hand = (hand - 0.1 * speed).detach().requires_grad_()
    np.testing.assert_allclose(K.get_value(w), hand.detach(), atol=1e-6)
    assert K.get_value(n) == 5
    assert not w.value.grad_fn
    assert w.value.requires_grad
    assert not n.value.requires_grad


def test_second_order_gradients():
    x = K.placeholder((3,), dtype="float64")
    (first,) = K.gradients(K.sum(K.pow(x, 4)), [x])
    (second,) = K.gradients(K.sum(first), [x])
    (third,) = K.gradients(second, [x])
    value = np.array([1.0, -2.0, 0.5])
    got = K.function([x], [first, second, third])([value])
    for result, want in zip(got, (4 * value**3, 12 * value**2, 24 * value), strict=True):
        np.testing.assert_allclose(result, want, rtol=1e-12)


def test_gradients_by_a_variable_what_follows_from_it_and_the_input():
    x, w0 = K.placeholder((None, 3)), normal(3, 2)
    w = K.variable(w0)
    hidden = K.dot(x, w)
    grads = K.gradients(K.sum(K.square(hidden)), [w, hidden, x])
    value = normal(4, 3)
    got = K.function([x], grads)([value])
    inner = 2 * value @ w0
    for result, want in zip(got, (value.T @ inner, inner, inner @ w0.T), strict=True):
        np.testing.assert_allclose(result, want, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_the_branch_not_taken_is_zero():
    v, flag = K.variable([2.0]), K.placeholder((), dtype="bool")
    chosen = K.switch(flag, lambda: v * v, lambda: K.constant([7.0]))
    f = K.function([flag], [chosen, K.gradients(K.sum(chosen), [v])[0]])
    assert [r.tolist() for r in f([True])] == [[4.0], [4.0]]
    assert [r.tolist() for r in f([False])] == [[7.0], [0.0]]


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("outer", ["plain", "no_grad", "inference"])
def test_functions_neither_see_nor_change_the_callers_recording(recording, outer):
    scope = {
        "plain": torch.enable_grad,
        "no_grad": torch.no_grad,
        "inference": torch.inference_mode,
    }
    with scope[outer]():
        v = K.variable([1.0, 2.0])
        loss = K.sum(K.square(v))
        updates = [K.update_sub(v, 0.25 * K.gradients(loss, [v])[0])] if recording else []
        f = K.function([], [loss], updates)
        before = torch.is_grad_enabled()
        assert f([])[0] == 5.0
        assert torch.is_grad_enabled() == before
        fails = K.function([x := K.placeholder((None,))], [K.dot(x, v)], updates)
        with pytest.raises(errors.ShapeError, match=r"^K\.dot: "):
            fails([np.ones(3)])
        assert torch.is_grad_enabled() == before
    K.sum(K.multiply(torch.ones(2), v)).backward()  # a variable made in any mode is a plain leaf
    assert v.value.grad.tolist() == [1.0, 1.0]


def test_autocast_does_not_reach_into_functions():
    x, v = K.placeholder((2, 3)), K.variable(normal(3, 3))
    product = K.dot(x, v)
    f = K.function([x], [product], [K.update(v, K.dot(v, v))])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert f([np.ones((2, 3))])[0].dtype == "float32"
        assert K.eval(K.dot(v, v)).dtype == "float32"
        assert K.dot(torch.ones(2, 3), torch.ones(3, 2)).dtype is torch.bfloat16  # the caller's
    assert v.value.dtype is torch.float32


def test_nothing_is_recorded_outside_gradients():
    seen = []

    def double(t):
        seen.append(torch.is_grad_enabled())
        return t * 2.0

    watched = K.lift(double, shape=(2,), dtype="float32")
    v = K.variable([1.0, 2.0])
    K.function([], [watched(v)])([])
    K.eval(watched(v))
    assert seen == [False, False]
    loss = K.sum(watched(v))
    K.function([], K.gradients(loss, [v]))([])
    assert seen == [False, False, True]


# --- variables ---------------------------------------------------------------------------------


def test_swap_and_threads_and_a_failing_call():
    a, b = K.variable(1.0), K.variable(2.0)
    swap = K.function([], [], [(a, b), (b, a)])
    for _ in range(3):
        swap([])
    assert (K.get_value(a), K.get_value(b)) == (2.0, 1.0)

    count = K.variable(0.0)
    f = K.function([], [count], [K.update_add(count, 1.0)])
    threads = [threading.Thread(target=lambda: [f([]) for _ in range(300)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert K.get_value(count) == 2400

    x, table = K.placeholder((None,), dtype="int32"), K.variable(normal(3, 2))
    g = K.function([x], [K.gather(table, x)], [K.update_add(count, 1.0)])
    for bad in (3, -1):
        with pytest.raises(errors.IndexRangeError, match=rf"{bad} .*\[0, 3\)"):
            g([np.array([bad])])
    assert K.get_value(count) == 2400


def test_variables_never_share_memory():
    a, b, c = (K.variable(np.zeros(2)) for _ in range(3))
    constant, x = K.constant([3.0, 4.0]), K.placeholder((2,))
    loss = K.sum(a + b)
    ga, gb = K.gradients(loss, [a, b])
    cases = {
        "variable": [(a, c)],
        "constant": [(a, constant)],
        "feed": [(a, K.reshape(x, (2,)))],
        "twice": [(a, shared := x * 2.0), (b, shared)],
        "gradients": [(a, ga), (b, gb)],
        "view": [(a, (wide := K.stack([x, x]))[0]), (b, wide[0])],
    }
    for name, updates in cases.items():
        f = K.function([x], [], updates)
        fed = np.array([1.0, 2.0], "float32")
        f([fed])
        rest = [K.get_value(v) for v in (b, c)]
        with torch.no_grad():
            a.value.add_(100.0)  # as an optimizer of PyTorch does
        assert fed.tolist() == [1.0, 2.0], name
        assert K.eval(constant).tolist() == [3.0, 4.0], name
        for variable, before in zip((b, c), rest, strict=True):
            assert np.array_equal(K.get_value(variable), before), name
        first = K.get_value(a)
        f([fed])
        assert np.array_equal(K.get_value(a), first - 100.0), name


def test_updates_leave_a_frozen_variable_frozen_and_a_reader_its_value():
    v = K.variable([1.0])
    v.value.requires_grad_(False)
    kept = v.value
    K.function([], [], [K.update_add(v, 1.0)])([])
    assert kept.tolist() == [1.0]
    assert v.value.tolist() == [2.0]
    assert not v.value.requires_grad


def test_a_target_that_is_no_class_under_vmap():
    """A transform of PyTorch's raises another error for it than PyTorch itself."""
    target, output = torch.tensor([[0, 2, 5, -1]]), torch.zeros(1, 4, 3)
    cost = torch.func.vmap(lambda t, x: K.sparse_categorical_crossentropy(t, x, from_logits=True))
    np.testing.assert_allclose(cost(target, output)[0], [np.log(3)] * 2 + [np.nan] * 2, rtol=1e-6)
