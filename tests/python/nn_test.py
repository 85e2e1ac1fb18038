"""Modules, losses, optimisers, training: against formulas in NumPy, and PyTorch where it is installed."""
import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import ingot
from ingot import data, nn, optim, schedule

RANDOM = np.random.default_rng(6)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)
        self.scale = ingot.ones((8,))
        self.blocks = [nn.Linear(8, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 3))]
        self.heads = {"a": nn.LayerNorm(3)}
        self.register_buffer("shift", ingot.zeros((8,)))
        self._hidden = ingot.ones((3,))
        self.count = ingot.tensor([1])
        self.name = "not a part"

    def forward(self, x):
        x = ingot.relu(self.fc(x)) * self.scale + self.shift
        for block in self.blocks:
            x = block(x)
        return self.heads["a"](x)


def test_a_module_written_in_python():
    net = Net()
    names = ["fc.weight", "fc.bias", "scale", "blocks.0.weight", "blocks.0.bias", "blocks.1.1.weight", "blocks.1.1.bias",
             "heads.a.weight", "heads.a.bias"]
    assert list(net.parameters()) == names and list(net.buffers()) == ["shift", "count"]
    assert net.parameter_count() == 32 + 8 + 8 + 72 + 27 + 6 and net.kind == "Net"
    assert net(ingot.tensor(normal(5, 4))).shape == (5, 3)
    assert "fc" in net.summary((5, 4)) and "blocks.1.1" in net.summary((5, 4))
    state = net.state_dict()
    other = Net()
    assert other.load_state_dict({k: v.numpy() for k, v in state.items()}) == ([], [])
    x = ingot.tensor(normal(2, 4))
    assert np.array_equal(other(x).numpy(), net(x).numpy())
    with pytest.raises(ingot.Error, match="scale"):
        other.load_state_dict({k: v for k, v in state.items() if k != "scale"})
    assert other.load_state_dict({"scale": state["scale"], "new": state["scale"]}, strict=False)[1] == ["new"]
    with pytest.raises(TypeError, match="forward"):
        nn.Module()(x)
    with pytest.raises(TypeError):
        class Mine(nn.Linear):
            pass


def test_training_moves_the_attributes_themselves():
    net = Net()
    scale = net.scale
    weight = net.fc.weight
    before = scale.numpy().copy(), weight.numpy().copy()
    step = nn.train_step(net, nn.cross_entropy, optim.Adam(lr=1e-2))
    x, y = normal(16, 4), RANDOM.integers(0, 3, 16)
    losses = [step(x, y) for _ in range(50)]
    assert losses[-1] < losses[0] * 0.8 and step.steps == 50
    assert not np.array_equal(scale.numpy(), before[0]) and not np.array_equal(weight.numpy(), before[1])
    assert np.array_equal(net.scale.numpy(), net.parameters()["scale"].numpy())
    assert net.shift.tolist() == [0] * 8  # a buffer
    step.lr = 0
    frozen = {k: v.numpy().copy() for k, v in net.parameters().items()}
    step(x, y)
    assert all(np.array_equal(v.numpy(), frozen[k]) for k, v in net.parameters().items())


def test_a_step_is_gradient_descent():
    w = normal(3, 2)
    layer = nn.Linear(2, 3, bias=False)
    layer.load_state_dict({"weight": w})
    x, t = normal(5, 2), normal(5, 3)
    step = nn.train_step(layer, nn.mse, optim.Sgd(lr=0.1))
    loss = step(x, t)
    error = x @ w.T - t
    assert loss == pytest.approx((error**2).mean(), rel=1e-5)
    gradient = 2 * error.T @ x / error.size
    np.testing.assert_allclose(step.gradients()["weight"].numpy(), gradient, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.weight.numpy(), w - 0.1 * gradient, rtol=1e-4, atol=1e-6)


def test_losses_by_function_accumulation_and_shapes():
    net = nn.Linear(4, 1)

    def loss(a, b):
        return ((net(a) - net(b)) ** 2).mean()

    step = nn.train_step(net, loss, optim.Sgd(lr=0.1), accumulate=2, inputs=[(8, 4), (8, 4)])
    assert "steps" in step.plan().describe() or step.plan().step_count > 0
    a, b = normal(8, 4), normal(8, 4)
    assert step(a, b) == step(a, b) and step.steps == 1
    assert step(a[:3], b[:3]) > 0  # another plan, the same optimiser
    with pytest.raises(ingot.Error, match="call the step"):
        step.plan()(a, b)
    assert step.profile(2, a, b).us > 0
    with pytest.raises(TypeError, match="missing"):
        step(a)
    with pytest.raises(ingot.Error, match="tensors given"):
        nn.train_step(nn.Linear(4, 1), nn.mse, optim.Sgd())(a)
    with pytest.raises(ingot.Error, match="another training step"):
        nn.train_step(net, nn.mse, optim.Sgd())
    del step
    gc.collect()
    nn.train_step(net, nn.mse, optim.Sgd())(a, b[:, :1])
    with pytest.raises(TypeError, match="loss"):
        nn.train_step(net, 3, optim.Sgd())
    mine = nn.Loss("mine", lambda y, t: abs(y - t).mean(), "f32")
    assert mine(ingot.tensor([3.0]), ingot.tensor([1.0])).item() == 2
    assert nn.mse(ingot.tensor([3.0]), ingot.tensor([1.0])).item() == 4 and nn.mse.name == "mse"


class Momentum:
    """As optim.Sgd(momentum=0.9)."""
    lr, slots = 0.05, 1

    def update(self, u):
        v = u.slot(0) * 0.9 + u.gradient()
        u.set(u.values - v * u.rate(), v)


def test_an_optimiser_written_in_python():
    x, t = normal(8, 4), normal(8, 2)
    results = []
    for rule in (Momentum(), optim.Sgd(lr=0.05, momentum=0.9)):
        nn.set_seed(3)
        net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
        step = nn.train_step(net, nn.mse, rule)
        results.append([step(x, t) for _ in range(20)])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)
    assert results[0][-1] < results[0][0]


@pytest.mark.parametrize("make", [optim.Sgd, optim.Adam, optim.AdamW, optim.RmsProp, optim.Adagrad, optim.Lion])
def test_optimisers_go_down(make):
    nn.set_seed(1)
    net = nn.Linear(3, 1)
    step = nn.train_step(net, nn.mse, make(lr=0.01))
    x = normal(32, 3)
    t = x @ np.array([[1], [2], [3]], np.float32)
    first = step(x, t)
    for _ in range(100):
        last = step(x, t)
    assert last < first


def test_training_equals_pytorch(pytorch):
    F = pytorch.nn.functional
    theirs = pytorch.nn.Sequential(pytorch.nn.Linear(6, 16), pytorch.nn.ReLU(), pytorch.nn.Linear(16, 4))
    ours = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    ours.load_state_dict({k: v.detach() for k, v in theirs.state_dict().items()})
    adam = pytorch.optim.Adam(theirs.parameters(), lr=1e-2)
    step = nn.train_step(ours, nn.cross_entropy, optim.Adam(lr=1e-2))
    for _ in range(20):
        x, y = normal(8, 6), RANDOM.integers(0, 4, 8)
        adam.zero_grad()
        loss = F.cross_entropy(theirs(pytorch.from_numpy(x)), pytorch.from_numpy(y))
        loss.backward()
        adam.step()
        assert step(x, y) == pytest.approx(loss.item(), rel=1e-4)


LAYERS = [(nn.Conv2d(2, 3, 3, padding=1), (1, 2, 5, 5), (1, 3, 5, 5)), (nn.Conv1d(2, 3, 3, stride=2), (1, 2, 7), (1, 3, 3)),
          (nn.ConvTranspose2d(2, 3, 2, stride=2), (1, 2, 4, 4), (1, 3, 8, 8)), (nn.ConvTranspose1d(2, 3, 2), (1, 2, 4), (1, 3, 5)),
          (nn.MaxPool2d(2), (1, 1, 4, 4), (1, 1, 2, 2)), (nn.AvgPool1d(2, stride=1), (1, 1, 4), (1, 1, 3)),
          (nn.AdaptiveAvgPool2d(2), (1, 1, 5, 5), (1, 1, 2, 2)), (nn.GlobalMaxPool(), (2, 3, 4), (2, 3)),
          (nn.BatchNorm1d(3), (4, 3), (4, 3)), (nn.BatchNorm2d(3), (2, 3, 2, 2), (2, 3, 2, 2)), (nn.LayerNorm((3, 2)), (4, 3, 2), (4, 3, 2)),
          (nn.RMSNorm(4), (2, 4), (2, 4)), (nn.GroupNorm(2, 4), (1, 4, 3), (1, 4, 3)), (nn.InstanceNorm2d(2), (1, 2, 3, 3), (1, 2, 3, 3)),
          (nn.LSTM(3, 5, layers=2), (7, 2, 3), (7, 2, 5)), (nn.GRU(3, 5, bidirectional=True), (7, 2, 3), (7, 2, 10)),
          (nn.MultiheadAttention(8, 2, causal=True), (2, 5, 8), (2, 5, 8)), (nn.TransformerBlock(8, 2), (2, 5, 8), (2, 5, 8)),
          (nn.SinusoidalPositions(9, 4), (2, 5, 4), (2, 5, 4)), (nn.LearnedPositions(9, 4), (2, 5, 4), (2, 5, 4)),
          (nn.Concat(1, nn.Linear(3, 2), nn.Linear(3, 4)), (5, 3), (5, 6)), (nn.Residual(nn.Linear(3, 3)), (5, 3), (5, 3)),
          (nn.Flatten(), (2, 3, 4), (2, 12)), (nn.Reshape((4, -1)), (2, 3, 4), (2, 4, 3)), (nn.Permute((0, 2, 1)), (2, 3, 4), (2, 4, 3)),
          (nn.Unsqueeze(1), (2, 3), (2, 1, 3)), (nn.Squeeze(1), (2, 1, 3), (2, 3)), (nn.Unflatten(1, (2, 3)), (4, 6), (4, 2, 3)),
          (nn.Pad((1,), (2,)), (2, 3), (2, 6)), (nn.GELU(), (3,), (3,)), (nn.Softmax(), (2, 3), (2, 3)), (nn.LeakyReLU(0.1), (3,), (3,)),
          (nn.Dropout(0.5), (3, 4), (3, 4))]


@pytest.mark.parametrize("layer, given, wanted", LAYERS, ids=[layer.kind for layer, _, _ in LAYERS])
def test_layers_have_shapes(layer, given, wanted):
    assert layer(ingot.tensor(normal(*given))).shape == wanted
    assert layer.forward(ingot.tensor(normal(*given))).shape == wanted


def test_layers_of_python_within_layers_and_their_lives():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = ingot.full((1,), 2)

        def forward(self, x):
            return x * self.w

    net = nn.Sequential(Twice(), nn.Residual(Twice()))
    gc.collect()
    assert net(ingot.ones((1,))).tolist() == [6] and isinstance(net[0], Twice) and net[1].inner.w.item() == 2
    assert list(net.parameters()) == ["0.w", "1.inner.w"] and len(net) == 2 and len(net.modules()) == 4
    with pytest.raises(IndexError):
        net[2]
    inner = weakref.ref(net[0])
    del net
    gc.collect()
    assert inner() is None
    weight = nn.Linear(2, 2).weight  # the layer is kept by its parameter
    gc.collect()
    assert weight.shape == (2, 2)


def test_copies_modes_and_sharing():
    class Forgot(nn.Module):
        def __init__(self):
            self.fc = 3

    with pytest.raises(TypeError, match="__init__"):
        Forgot()

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = ingot.tensor(normal(3, 3))
            self.b = self.a

        def forward(self, x):
            return x @ self.a @ self.b

    tied = Tied()
    assert list(tied.parameters()) == ["a"] and list(tied.state_dict()) == ["a", "b"]
    step = nn.train_step(tied, nn.mse, optim.Sgd(lr=0.01))
    step(normal(4, 3), normal(4, 3))
    assert np.array_equal(tied.a.numpy(), tied.b.numpy())
    twin = copy.deepcopy(tied)
    assert twin.a is twin.b and twin.a.tolist() == tied.a.tolist() and not twin.a.shares_memory(tied.a)
    tied.eval()
    tied.freeze()
    assert not tied.training and tied.frozen and twin.training and not twin.frozen
    drop = nn.Dropout(0.9)
    x = ingot.ones((1000,))
    assert 0 < (drop(x) == 0).to("f32").mean().item() < 1
    drop.eval()
    assert drop(x).tolist() == x.tolist()
    nn.copy_parameters(twin, tied, tau=1)
    back = pickle.loads(pickle.dumps(tied.state_dict()))
    assert back["a"].tolist() == tied.a.tolist()


def spirals(n=600):
    label = RANDOM.integers(0, 2, n)
    x = normal(n, 4)
    x[:, 0] += 3 * label
    return x, label


def test_trainer_trains_and_remembers():
    x, y = spirals()
    train, test = data.split(data.TensorDataset(x, y), 0.25, seed=1)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    trainer = nn.Trainer(net, nn.cross_entropy, optim.AdamW(lr=1e-2), epochs=4, metrics=["accuracy"], keep_best=True,
                         schedule=schedule.warm_up(5, schedule.cosine()))
    seen = []
    trainer.on_epoch = lambda e: seen.append(e["epoch"])
    assert trainer.fit(data.Loader(train, batch=32, shuffle=True), data.Loader(test, batch=64))
    assert seen == [1, 2, 3, 4] and len(trainer.history) == 4
    assert trainer.history[-1]["test"]["accuracy"] > 0.85 and trainer.history[-1]["train"]["loss"] < trainer.history[0]["train"]["loss"]
    scores = trainer.evaluate(data.Loader(test, batch=64))
    assert scores["accuracy"] == pytest.approx(trainer.history[-1]["test"]["accuracy"])
    assert trainer.predict(x[:3]).shape == (3, 2) and set(trainer.weights()) == set(net.parameters())
    with pytest.raises(ZeroDivisionError):
        trainer = nn.Trainer(nn.Linear(4, 2), nn.cross_entropy, optim.Sgd(), epochs=2)
        trainer.on_epoch = lambda e: 1 / 0
        trainer.fit(data.Loader(train))


def test_data_of_python():
    class Samples:
        def __len__(self):
            return 10

        def __getitem__(self, i):
            return np.full(3, i, np.float32), i

    loader = data.Loader(data.Dataset(Samples()), batch=4)
    batches = [(x.tolist(), y.tolist()) for x, y in loader]
    assert len(loader) == 3 and [len(y) for _, y in batches] == [4, 4, 2] and batches[2] == ([[8] * 3, [9] * 3], [8, 9])
    assert len(list(loader)) == 3  # the next epoch
    named = data.Loader(data.Dataset([{"x": [1.0], "y": 2, "weight": 0.5}] * 4), batch=2)
    assert next(iter(named))["weight"].tolist() == [0.5, 0.5]

    class Broken(Samples):
        def __getitem__(self, i):
            return super().__getitem__(i) if i < 5 else 1 / 0

    with pytest.raises((ZeroDivisionError, ingot.Error)):
        list(data.Loader(data.Dataset(Broken()), batch=4))
    with pytest.raises(ingot.Error):
        data.Dataset([])


DROPPED = """
import time
from ingot import data
class Slow:
    def __len__(self): return 64
    def __getitem__(self, i):
        time.sleep(0.0005)
        return [1.0], 2
for _ in range(100):
    loader = data.Loader(data.Dataset(Slow()), batch=4)
    next(iter(loader))
    del loader
print("dropped")
"""


def test_a_loader_may_go_while_its_thread_asks_python(run_child):
    done = run_child(DROPPED, timeout=60)
    assert done.stdout == "dropped\n", done.stderr


INTERRUPTED = """
import os, signal, threading
import numpy as np
from ingot import data, nn, optim
x, y = np.zeros((4096, 64), np.float32), np.zeros(4096, np.int64)
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
trainer = nn.Trainer(net, nn.cross_entropy, optim.Sgd(), epochs=1000000)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
dataset = data.TensorDataset(x, y)
try:
    trainer.fit(data.Loader(dataset, batch=32))
except KeyboardInterrupt:
    print("stopped in order after", len(trainer.history) >= 0, net(x[:1]).shape)
"""


def test_ctrl_c_ends_training_in_order(run_child):
    done = run_child(INTERRUPTED)
    assert done.returncode == 0 and "stopped in order" in done.stdout, done.stderr


def test_a_forked_child_works():
    a = ingot.ones((300, 300))
    a @ a
    child = os.fork()
    if child == 0:
        ok = (a @ a)[0, 0].item() == 300
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_examples_run():
    root = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python")
    for name in sorted(os.listdir(root)):
        if name.endswith(".py"):
            done = subprocess.run([sys.executable, os.path.join(root, name)], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0 and done.stdout, done.stderr
            if name == "mlp.py":
                assert float(done.stdout.split("accuracy ")[1].split(",")[0]) > 0.9, done.stdout
