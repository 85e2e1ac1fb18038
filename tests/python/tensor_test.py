"""Tensors against NumPy: making, looking, operators, indexing, memory shared both ways."""
import copy
import gc
import itertools
import pickle
import sys
import weakref

import numpy as np
import pytest

import ingot

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "bool": np.bool_, "f16": np.float16}


def same(tensor, array):
    got = tensor.numpy()
    assert got.dtype == array.dtype and got.shape == array.shape
    np.testing.assert_array_equal(got, array)


def test_lists_become_tensors():
    assert ingot.tensor([[1, 2], [3, 4]]).dtype is ingot.i64
    assert ingot.tensor([[1, 2.5], [3, 4]]).dtype is ingot.f32
    assert ingot.tensor([True, False]).dtype is ingot.bool_
    same(ingot.tensor([[1, 2.5], [3, 4]]), np.array([[1, 2.5], [3, 4]], np.float32))
    same(ingot.tensor([[[]]]), np.zeros((1, 1, 0), np.float32))
    assert ingot.tensor(3).shape == () and ingot.tensor(3).item() == 3
    big = 2**53 + 1
    assert ingot.tensor([big]).tolist() == [big] and ingot.tensor(big).item() == big
    same(ingot.tensor([ingot.ones((2,)), np.zeros(2, np.float32)]), np.array([[1, 1], [0, 0]], np.float32))
    with pytest.raises(ingot.ShapeError, match="differ in length"):
        ingot.tensor([[1, 2], [3]])
    with pytest.raises(ingot.DTypeError, match="fraction"):
        ingot.tensor([1.5], dtype="i64")
    with pytest.raises(TypeError, match="numbers"):
        ingot.tensor(["a"])


@pytest.mark.parametrize("short", DTYPES)
def test_numpy_shares_memory_both_ways(short):
    array = np.arange(24).reshape(2, 3, 4).astype(DTYPES[short])
    tensor = ingot.from_numpy(array)
    assert str(tensor.dtype) == short and tensor.dtype == DTYPES[short]
    array[1, 2, 3] = 0
    same(tensor, array)
    assert np.shares_memory(tensor.numpy(), array)
    for view in (array[:, ::2], array[::-1], array.transpose(2, 0, 1), array[1, 2], array[0:0]):
        same(ingot.from_numpy(view), view)
    same(ingot.from_numpy(np.ascontiguousarray(array))[1, ..., ::-1], array[1, ..., ::-1])


def test_memory_lives_as_long_as_somebody_looks():
    array = np.ones(1000, np.float32)
    alive = weakref.ref(array)
    tensor = ingot.from_numpy(array)[10:20]
    del array
    gc.collect()
    assert alive() is not None and float(tensor.sum()) == 10
    del tensor
    gc.collect()
    assert alive() is None
    looking = ingot.full((1000,), 7).numpy()[3:5]  # the tensor is gone, its memory is not
    ingot.full((1000,), 1)
    assert looking.tolist() == [7, 7]


def test_what_cannot_be_shared_says_so():
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ingot.ArgumentError, match="read-only"):
        ingot.from_numpy(frozen)
    assert float((ingot.ones((3,)) + frozen).sum()) == 6  # an input may be
    view = ingot.reshape(frozen, (3, 1))
    view[0] = 5
    assert frozen[0] == 1  # but nobody writes to it by way of a view
    for odd in (np.ones(3, np.complex64), np.ones(3, np.uint16), np.array(["a"])):
        with pytest.raises(ingot.DTypeError, match="can be shared"):
            ingot.from_numpy(odd)
    with pytest.raises(ingot.DTypeError, match="big-endian"):
        ingot.from_numpy(np.ones(3, ">f4"))
    packed = np.zeros(4, np.dtype([("a", "u1"), ("b", "<f4")]))["b"]
    with pytest.raises(ingot.ArgumentError):
        ingot.from_numpy(packed)
    with pytest.raises(ingot.DTypeError, match="bf16"):
        ingot.ones((3,)).to("bf16").numpy()
    with pytest.raises(ingot.DTypeError, match="bf16"):
        np.asarray(ingot.ones((3,)).to("bf16"))


def test_dlpack_both_ways():
    tensor = ingot.arange(0, 6).reshape(2, 3)
    array = np.from_dlpack(tensor)
    tensor[0, 0] = 9
    assert array[0, 0] == 9
    back = ingot.from_dlpack(np.arange(4.0)[::2])
    assert back.tolist() == [0, 2] and back.strides == (2,)
    same(ingot.from_dlpack(tensor), array)
    capsule = tensor.T.__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(capsule)
    assert "dltensor_versioned" not in repr(tensor.__dlpack__())
    assert tensor.__dlpack_device__() == (1, 0)
    with pytest.raises(ingot.DTypeError, match="no bool"):
        ingot.tensor([True]).__dlpack__()
    before = ingot.memory_stats().bytes_in_use
    for _ in range(100):
        tensor.__dlpack__()  # nobody takes it
        ingot.zeros((1000,)).__dlpack__(max_version=(1, 0))
    assert ingot.memory_stats().bytes_in_use == before


def test_pytorch_looks_at_the_same_memory(pytorch):
    ours = ingot.zeros((2, 3))
    theirs = pytorch.from_dlpack(ours)
    theirs[1, 2] = 5
    assert ours[1, 2].item() == 5
    back = ingot.from_dlpack(theirs.t())
    assert back.shape == (3, 2) and back[2, 1].item() == 5
    assert float((ours + theirs).sum()) == 10
    half = pytorch.ones(3, dtype=pytorch.bfloat16)
    assert ingot.from_dlpack(half).dtype == "bf16"


def test_operators_are_those_of_numpy():
    a = np.array([[1.5, -2, 3]], np.float32)
    b = np.array([[2], [4]], np.float32)
    x, y = ingot.tensor(a), ingot.tensor(b)
    for left, right in itertools.product(((x, a), (2.5, 2.5)), ((y, b), (3, 3))):
        if isinstance(left[0], float) and isinstance(right[0], int):
            continue
        for op in ("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!="):
            got = eval(f"p {op} q", {"p": left[0], "q": right[0]})
            want = eval(f"p {op} q", {"p": left[1], "q": right[1]})
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    same(-x, -a)
    same(abs(x), abs(a))
    np.testing.assert_allclose((y**2).numpy(), b**2)
    np.testing.assert_allclose((2**y).numpy(), 2**b)
    np.testing.assert_allclose((y @ x).numpy(), b @ a)
    same(a + y, a + b)  # an array gives way
    same(x * b, a * b)
    assert isinstance(a + y, ingot.Tensor)
    assert (x == None) is False  # noqa: E711
    assert (x == "text") is False
    assert len({x, y, x}) == 2  # by identity
    with pytest.raises(TypeError):
        x + "text"
    kept = x
    x += 1  # a new value under the name: nobody else's tensor changes
    assert kept.tolist() == a.tolist()


def test_a_truth_value_of_one_element_only():
    assert ingot.tensor([2.0]) and not ingot.tensor(0)
    assert float(ingot.tensor([2.5])) == 2.5 and int(ingot.tensor(3)) == 3 and [1, 2][ingot.tensor(1)] == 2
    with pytest.raises(ingot.ShapeError, match="exactly one"):
        bool(ingot.ones((2,)))


def test_indexing_is_that_of_numpy():
    array = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(np.float32)
    tensor = ingot.tensor(array)
    keys = [0, -1, (1, 2), (1, 2, 3, 4), slice(None), slice(1, None), slice(None, None, -1), slice(5, 0, -2), slice(-3, -1),
            (..., 0), (0, ...), (..., slice(None, None, 2)), (None, 0), (0, None, ..., None), (slice(0, 0),), (slice(3, 1),),
            Ellipsis, None, (1, slice(None), -1, slice(-2, None)), (slice(-100, 100), slice(None, None, 7))]
    for key in keys:
        want = array[key]
        got = tensor[key]
        same(got, np.asarray(want))
        assert got.size == 0 or got.shares_memory(tensor)
    picks = np.array([[1, 0], [1, 1]])
    for key in (picks, (slice(None), picks), (0, [2, 1]), (slice(None), slice(None), ingot.tensor([0, 3]))):
        plain = tuple(k.numpy() if isinstance(k, ingot.Tensor) else k for k in key) if isinstance(key, tuple) else key
        same(tensor[key], array[plain])
    for bad in (2, (0, 3), (0, 0, 0, 0, 0), (..., ...)):
        with pytest.raises(IndexError):
            tensor[bad]
    for unclear in ((0, ..., [3, 1]), ([0], [1])):
        with pytest.raises(ingot.ArgumentError, match="index twice"):
            tensor[unclear]
    with pytest.raises(ingot.DTypeError, match="mask"):
        tensor[tensor > 3]
    with pytest.raises(TypeError):
        tensor["x"]
    assert [row.tolist() for row in ingot.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert len(tensor) == 2


def test_assignment_writes_through_views():
    array = np.zeros((3, 4), np.float32)
    tensor = ingot.tensor(array)
    for key, value in ((1, 5), ((slice(None), 0), [1, 2, 3]), ((2, slice(None, None, -1)), np.arange(4)), (slice(0, 2), 0.5),
                       ((..., 3), ingot.tensor([7, 8, 9]))):
        tensor[key] = value
        array[key] = value.numpy() if isinstance(value, ingot.Tensor) else value
        same(tensor, array)
    tensor[0] = tensor[1]
    tensor[1:] = tensor[:-1]  # as if copied first
    array[0] = array[1]
    array[1:] = array[:-1].copy()
    same(tensor, array)
    with pytest.raises(ingot.ShapeError):
        tensor[0] = [1, 2, 3]


def test_looks():
    tensor = ingot.zeros((2, 3), dtype=np.float64)
    assert (tensor.shape, tensor.ndim, tensor.size, tensor.nbytes, tensor.strides) == ((2, 3), 2, 6, 48, (3, 1))
    assert tensor.T.shape == (3, 2) and not tensor.T.is_contiguous
    assert "1.5" in repr(ingot.tensor([1.5])) and "f32" in repr(ingot.tensor([1.5]))
    assert "..." in repr(ingot.zeros((100, 100))) or "…" in repr(ingot.zeros((100, 100)))
    assert repr(ingot.f32) == "ingot.f32" and ingot.DType("float32") is not None and hash(ingot.f32) != hash(ingot.i32)
    with pytest.raises(ingot.DTypeError, match="there is no type"):
        ingot.zeros(3, dtype="f8000")
    for copied in (copy.copy(tensor), copy.deepcopy(tensor), tensor.clone(), ingot.tensor(tensor)):
        assert not copied.shares_memory(tensor)
    assert tensor.contiguous().shares_memory(tensor)


@pytest.mark.parametrize("short", [*DTYPES, "bf16"])
def test_pickles(short):
    tensor = ingot.arange(0, 6).reshape(2, 3).to(short).T
    back = pickle.loads(pickle.dumps(tensor))
    assert back.dtype == short and back.tolist() == tensor.tolist()
    assert pickle.loads(pickle.dumps(ingot.f32)) == ingot.f32


def test_errors_have_classes():
    with pytest.raises(ingot.ShapeError) as caught:
        ingot.ones((2, 3)) @ ingot.ones((4, 5))
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, ingot.Error) and "matmul" in str(caught.value)
    with pytest.raises(TypeError):
        ingot.relu(ingot.tensor([1]))
    assert issubclass(ingot.DTypeError, TypeError) and issubclass(ingot.FileError, OSError)
    assert issubclass(ingot.OutOfMemoryError, MemoryError) and issubclass(ingot.ArgumentError, ValueError)
    with pytest.raises(ingot.OutOfMemoryError):
        ingot.empty((1 << 40, 1 << 10))


def test_no_leak_over_100000_calls():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    a, b, out = ingot.ones((8,)), ingot.ones((8,)), ingot.ones((8,))
    array = np.ones(8, np.float32)

    def work(times):
        for _ in range(times):
            ingot.add(a, b, out=out)
            c = a + b
            c[2:4].numpy()
            ingot.from_numpy(array).sum(axis=0)
            ingot.sort(c)
            try:
                ingot.add(a, "text")
            except TypeError:
                pass

    work(2000)
    gc.collect()
    blocks, bytes_, memory = sys.getallocatedblocks(), ingot.memory_stats().bytes_in_use, resident()
    work(100_000 // 6)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 200
    assert ingot.memory_stats().bytes_in_use == bytes_
    assert resident() - memory < 2 << 20
