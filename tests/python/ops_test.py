"""Every public op of the table is there, is called as its signature says, and does what NumPy does where NumPy has it."""
import inspect
import re

import numpy as np
import pytest

import ingot


def arguments(signature):
    """Names in a signature's parentheses."""
    inside = re.match(r"\w+\((.*?)\)(?: ->|$)", signature)[1]
    return [re.split(r"[:?.]", part.strip())[0] for part in re.split(r",\s*(?![^{]*\})", inside) if part]


@pytest.mark.parametrize("name", sorted(ingot._table))
def test_op_is_there_with_its_arguments(name):
    function = getattr(ingot, name)
    rows = ingot._table[name]
    for signature, doc, _ in rows:
        assert doc in function.__doc__
    names = [n for n in inspect.signature(function).parameters if n != "out"]
    wanted = arguments(rows[0][0])
    if "options" in wanted:  # options are keywords here
        assert names[:wanted.index("options")] == wanted[:wanted.index("options")] and "stride" in names
    else:
        assert names == wanted


UNARY = {"exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "sqrt": np.sqrt, "square": np.square,
         "abs": np.abs, "negative": np.negative, "sign": np.sign, "reciprocal": np.reciprocal, "floor": np.floor}


@pytest.mark.parametrize("name", [n for n in UNARY if hasattr(ingot, n)])
def test_unary(name):
    x = np.random.default_rng(1).uniform(0.5, 3, (3, 5)).astype(np.float32)
    for given in (ingot.tensor(x), x, ingot.tensor(x).T):
        want = UNARY[name](np.asarray(given))
        np.testing.assert_allclose(getattr(ingot, name)(given).numpy(), want, rtol=1e-5)
    np.testing.assert_allclose(getattr(ingot.tensor(x), name)().numpy(), UNARY[name](x), rtol=1e-5)


REDUCTIONS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    x = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
    t = ingot.tensor(x)
    want = REDUCTIONS[name]
    np.testing.assert_allclose(getattr(t, name)().numpy(), want(x), rtol=1e-5)
    np.testing.assert_allclose(getattr(t, name)(axis=1).numpy(), want(x, axis=1), rtol=1e-5)
    np.testing.assert_allclose(getattr(ingot, name)(t, (0, 2), keepdim=True).numpy(), want(x, axis=(0, 2), keepdims=True), rtol=1e-5)


def test_out_is_written_and_returned():
    a, b, c = ingot.ones((8,)), ingot.full((8,), 2), ingot.zeros((8,))
    assert ingot.add(a, b, out=c) is c and c.tolist() == [3] * 8
    assert ingot.add(c, 1, out=c) is c and c.tolist() == [4] * 8
    values, indices = ingot.empty((8,)), ingot.empty((8,), "i64")
    given = ingot.sort(ingot.arange(0, 8), descending=True, out=(values, indices))
    assert given[0] is values and indices.tolist() == list(range(7, -1, -1))
    before = ingot.memory_stats().allocations
    for _ in range(100):
        ingot.add(a, b, out=c)
    assert ingot.memory_stats().allocations == before
    for wrong in (ingot.zeros((7,)), ingot.zeros((8,), "f64")):
        with pytest.raises(ingot.Error, match="add"):
            ingot.add(a, b, out=wrong)
    with pytest.raises(TypeError, match="out"):
        ingot.add(a, b, out=np.zeros(8, np.float32))
    with pytest.raises(TypeError, match="tuple of 2"):
        ingot.sort(a, out=a)


def test_several_results_have_names():
    result = ingot.topk(ingot.tensor([3.0, 1.0, 2.0]), 2)
    assert result.values.tolist() == [3, 2] and result.indices.tolist() == [0, 2]
    values, indices = result
    assert values is result[0] and indices is result[1]


def test_lists_options_and_optional_inputs():
    x = np.random.default_rng(3).normal(size=(1, 2, 5, 5)).astype(np.float32)
    w = np.random.default_rng(4).normal(size=(3, 2, 3, 3)).astype(np.float32)
    got = ingot.conv2d(x, w, stride=2, padding=[1, 1]).numpy()
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    want = np.array([[[(padded[0, :, i:i + 3, j:j + 3] * w[o]).sum() for j in (0, 2, 4)] for i in (0, 2, 4)] for o in range(3)])
    np.testing.assert_allclose(got[0], want, rtol=1e-4, atol=1e-5)
    biased = ingot.conv2d(x, w, bias=ingot.ones((3,)), stride=2, padding=1).numpy()
    np.testing.assert_allclose(biased, got + 1, rtol=1e-5, atol=1e-5)
    assert ingot.concat([x, x], axis=1).shape == (1, 4, 5, 5)
    assert ingot.stack([ingot.ones((2,)), np.zeros(2, np.float32)]).tolist() == [[1, 1], [0, 0]]
    np.testing.assert_allclose(ingot.einsum([w, w], "oihw,oihw->o").numpy(), (w * w).sum((1, 2, 3)), rtol=1e-5)
    assert ingot.tensor(x).reshape(2, -1).shape == (2, 25) and ingot.reshape(x, (5, 10)).shape == (5, 10)
    assert ingot.tensor(x).permute(0, 2, 3, 1).shape == (1, 5, 5, 2)


def test_numbers_take_the_type_of_their_neighbours():
    x = ingot.tensor([1.0, -1.0], dtype="f64")
    assert ingot.maximum(x, 0).dtype == "f64" and ingot.maximum(0, x).tolist() == [1, 0]
    assert ingot.where(x > 0, x, 0).tolist() == [1, 0]
    assert ingot.add(ingot.tensor([1, 2]), 3).dtype == "i64"
    with pytest.raises(ingot.Error):
        ingot.add(ingot.tensor([1, 2]), 0.5)


@pytest.mark.parametrize("call, sentence", [
    (lambda x: ingot.add(x), "'b' is missing"), (lambda x: ingot.add(x, x, x), "3 arguments where it takes 2"),
    (lambda x: ingot.relu(x, x=x), "given twice"), (lambda x: ingot.relu(x, slope=1), "no argument 'slope'"),
    (lambda x: x.reshape(x), "integer"), (lambda x: ingot.relu("text"), "'x' must be a tensor"), (lambda x: ingot.softmax(x, axis=1.5), "'axis' must be an integer"),
    (lambda x: ingot.sum(x, axes="a"), "list of integers"), (lambda x: ingot.concat(x), "list of tensors"),
    (lambda x: ingot.leaky_relu(x, slope="a"), "'slope' must be a number"), (lambda x: ingot.concat(["a"]), "tensor or an array"),
    (lambda x: ingot.einsum([x], 3), "must be a text")])
def test_misuse_says_what_to_write(call, sentence):
    with pytest.raises(TypeError, match=re.escape(sentence).replace("\\ ", " ")):
        call(ingot.ones((3,)))


def test_hostile_arguments_never_crash():
    things = [None, 0, -1, 2**70, float("nan"), "x", b"bytes", [], [[]], (1, 2), {}, object(), np.ones(3), np.array("a"),
              ingot.ones((0,)), ingot.ones((2, 2)), ingot.tensor([1]), ingot.f32, ...]
    for name in ingot._table:
        function = getattr(ingot, name)
        if name in ("full", "arange", "linspace", "eye", "uniform", "normal", "bernoulli", "permutation", "one_hot"):
            continue  # numbers may ask for memory that the machine has
        for a in things:
            for b in things:
                for arguments in ((a,), (a, b), (a, b, a)):
                    try:
                        function(*arguments)
                    except (ingot.Error, TypeError, ValueError, IndexError, OverflowError):
                        pass
