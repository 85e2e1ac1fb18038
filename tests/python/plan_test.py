"""Functions as plans: caching, structure, gradients, files, threads."""
import pickle
import threading

import numpy as np
import pytest

import ingot

RANDOM = np.random.default_rng(5)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def test_a_compiled_function_runs_as_a_plan():
    calls = []

    @ingot.compile
    def f(x, w):
        """What it says."""
        calls.append((x.shape, x.is_symbolic, ingot.capturing()))
        return ingot.relu(x @ w) + 1

    x, w = normal(3, 4), normal(4, 2)
    for given in ((x, w), (ingot.tensor(x), ingot.tensor(w)), (x * 2, w)):
        np.testing.assert_allclose(f(*given).numpy(), np.maximum(np.asarray(given[0]) @ w, 0) + 1, rtol=1e-5, atol=1e-6)
    assert calls == [((3, 4), True, True)] and not ingot.capturing()
    assert f(normal(5, 4), w).shape == (5, 2) and len(f.plans) == 2 and len(calls) == 2
    assert f.__name__ == "f" and f.__doc__ == "What it says."
    first = f(x, w)
    second = f(x + 1, w)
    assert not first.shares_memory(second)  # results are the caller's


def test_arguments_and_results_have_structure():
    @ingot.compile
    def f(pair, *, scale, flip=False):
        a, (b, c) = pair["a"], pair["rest"]
        total = (a + b * c) * scale
        return {"total": -total if flip else total, "list": [a, 3, None], "tuple": (b,)}

    a, b, c = normal(2), normal(2), normal(2)
    result = f({"a": a, "rest": [b, c]}, scale=2)
    np.testing.assert_allclose(result["total"].numpy(), (a + b * c) * 2, rtol=1e-5)
    assert result["list"][0].tolist() == a.tolist() and result["list"][1:] == [3, None] and len(result["tuple"]) == 1
    np.testing.assert_allclose(f({"a": a, "rest": [b, c]}, scale=2, flip=True)["total"].numpy(), -(a + b * c) * 2, rtol=1e-5)
    assert len(f.plans) == 2
    f({"a": a, "rest": [b, c]}, scale=2)
    assert len(f.plans) == 2
    assert ingot.compile(lambda x: ingot.sort(x))(a).values.tolist() == sorted(a.tolist())


def test_the_oldest_plan_gives_way():
    made = []

    @ingot.compile(most=2)
    def f(x):
        made.append(x.shape)
        return x * 2

    for n in (1, 2, 1, 3, 1, 2):
        f(ingot.ones((n,)))
    assert made == [(1,), (2,), (3,), (2,)] and len(f.plans) == 2


def test_tensors_found_elsewhere_are_read_at_every_run():
    w = ingot.ones((2,))
    live, frozen = ingot.compile(lambda x: x * ingot.exp(w)), ingot.compile(lambda x: x * ingot.exp(w), frozen=True)
    x = ingot.tensor([1.0, 2.0])
    assert live(x).tolist() == frozen(x).tolist() == pytest.approx([np.e, 2 * np.e])
    w[0] = 0
    assert live(x).tolist() == pytest.approx([1, 2 * np.e])
    assert frozen(x).tolist() == pytest.approx([np.e, 2 * np.e])  # was promised not to happen: exp(w) is computed once


def test_methods_and_plans_within_plans():
    class Doubler:
        factor = 2

        @ingot.compile
        def __call__(self, x):
            return x * self.factor

    double = Doubler()
    inner = ingot.compile(lambda x: x + 1)
    outer = ingot.compile(lambda x: inner(double(x)))
    assert outer(ingot.tensor([1.0])).tolist() == [3] and len(inner.plans) == 0


def test_what_goes_wrong_comes_out():
    class Mine(Exception):
        pass

    @ingot.compile
    def f(x, how):
        if how == "mine":
            raise Mine("hello")
        if how == "shape":
            return x @ ingot.ones((7, 7))
        if how == "value":
            return x.item()
        if how == "branch":
            return x if x.sum() > 0 else -x
        return x.numpy()

    x = ingot.ones((3, 3))
    with pytest.raises(Mine, match="hello"):
        f(x, "mine")
    with pytest.raises(ingot.ShapeError, match="matmul"):
        f(x, "shape")
    for how in ("value", "branch", "numpy"):
        with pytest.raises(ingot.Error):
            f(x, how)
    assert not ingot.capturing() and len(f.plans) == 0
    with pytest.raises(TypeError, match="no option 'speed'"):
        ingot.compile(f, speed=1)


def test_a_plan_can_be_looked_at():
    f = ingot.compile(lambda x: ingot.softmax(ingot.relu(x) * 2), name="looked")
    plan = f.plan(ingot.ones((16, 16)))
    bytes_ = plan.bytes()
    assert bytes_["outputs"] == 16 * 16 * 4 and bytes_["own"] == sum(bytes_[k] for k in ("arena", "scratch", "outputs", "constants"))
    assert "looked" in plan.describe() and plan.step_count >= 1 and plan.threads >= 1
    assert plan.svg().startswith("<svg") and plan._repr_svg_() == plan.svg() and "digraph" in plan.dot() and plan.dump()
    profile = plan.profile(3)
    assert profile.us > 0 and len(profile.steps) == plan.step_count and profile.steps[0].name in profile.table()
    assert "softmax" in repr(profile) and profile.chrome_trace().startswith(("{", "["))


def test_plans_as_files_and_pickles(tmp_path):
    w = ingot.tensor(normal(3, 2))
    f = ingot.compile(lambda x: x @ w, frozen=True)
    x = normal(4, 3)
    plan = f.plan(x)
    plan.save(tmp_path / "f.plan")
    for other in (ingot.Plan.load(tmp_path / "f.plan"), pickle.loads(pickle.dumps(plan))):
        assert np.array_equal(other(x).numpy(), plan(x).numpy())
    (tmp_path / "broken.plan").write_bytes((tmp_path / "f.plan").read_bytes()[:50])
    with pytest.raises(ingot.FileError):
        ingot.Plan.load(tmp_path / "broken.plan")
    with pytest.raises(ingot.FileError):
        ingot.Plan.load(tmp_path / "missing.plan")
    batch = np.stack([x, x + 1])
    assert np.array_equal(plan.run_batch(batch)[0].numpy(), np.stack([plan(b).numpy() for b in batch]))


def test_the_fast_form_allocates_nothing():
    plan = ingot.compile(lambda x: ingot.relu(x) + 1).plan(ingot.ones((8,)))
    x = ingot.ones((8,))
    plan.run(x)
    before = ingot.memory_stats().allocations
    for _ in range(100):
        y = plan.run(x)
    assert ingot.memory_stats().allocations == before and y.tolist() == [2] * 8
    del plan
    assert y.tolist() == [2] * 8  # the result keeps its memory


def test_gradients_are_finite_differences():
    def f(x, w):
        return ingot.sum(ingot.tanh(x @ w))

    x, w = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(4, 2))
    value, (dx, dw) = ingot.value_and_grad(f, argnums=(0, 1))(x, w)
    np.testing.assert_allclose(value.item(), np.tanh(x @ w).sum())
    for at, got in ((0, dx), (1, dw)):
        given = (x, w)[at]
        want = np.zeros_like(given)
        for place in np.ndindex(*given.shape):
            shifted = given.copy(), given.copy()
            shifted[0][place] += 1e-6
            shifted[1][place] -= 1e-6
            up, down = [np.tanh((s if at == 0 else x) @ (s if at == 1 else w)).sum() for s in shifted]
            want[place] = (up - down) / 2e-6
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-8)


def test_gradients_by_a_dict_with_more_results_and_of_gradients():
    def f(p, x):
        y = p["a"] * x + p["b"]
        return (y * y).sum(), y

    p = {"a": ingot.tensor([2.0]), "b": ingot.tensor([1.0])}
    (loss, y), grads = ingot.value_and_grad(f)(p, ingot.tensor([3.0]))
    assert loss.item() == 49 and y.tolist() == [7] and grads["a"].tolist() == [42] and grads["b"].tolist() == [14]
    slope = ingot.value_and_grad(lambda x: (x * x * x).sum())
    second = ingot.value_and_grad(lambda x: slope(x)[1].sum())
    assert second(ingot.tensor([2.0]))[1].tolist() == [12]
    assert ingot.value_and_grad(lambda x: ingot.checkpoint(lambda t: ingot.exp(t).sum(), x))(ingot.zeros((2,)))[1].tolist() == [1, 1]
    with pytest.raises(ingot.ShapeError, match="scalar"):
        ingot.value_and_grad(lambda x: x)(ingot.ones((2,)))
    with pytest.raises(ingot.Error):  # nothing depends on it
        ingot.value_and_grad(lambda x: ingot.ones((2,)).sum())(ingot.ones((2,)))
    with pytest.raises(ingot.Error, match="capture|function|compile"):
        ingot.gradients(ingot.ones(()), [ingot.ones(())])


def test_threads_of_python_run_plans_at_once():
    f = ingot.compile(lambda x: ingot.tanh(x @ x).sum())
    inputs = [normal(32, 32) for _ in range(4)]
    want = [f(x).item() for x in inputs]
    wrong = []

    def work(k):
        for _ in range(50):
            for x, y in zip(inputs, want):
                if f(x).item() != y:
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_python_goes_on_while_a_plan_runs():
    """The lock is free during a run: another thread counts meanwhile, while one long run is under way."""
    f = ingot.compile(lambda x: (x @ x) @ (x @ x))
    x = normal(700, 700)
    f(x)
    seen, done = [], threading.Event()

    def count():
        while not done.is_set():
            seen.append(state["running"])

    state = {"running": False}
    other = threading.Thread(target=count)
    other.start()
    plan = f.plan(x)
    for _ in range(3):
        state["running"] = True
        plan.run(x)
        state["running"] = False
    done.set()
    other.join()
    assert seen.count(True) > 100
