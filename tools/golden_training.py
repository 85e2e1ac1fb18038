#!/usr/bin/python3
"""Writes tests/goldens/training.txt: the losses of a few networks that PyTorch trains from given weights on given batches.

Run it with Debian's python3-torch when a network or an optimiser below changes. tests/nn/training_golden_test.cc builds the same
networks, fills them with the same numbers and trains them with TrainStep. One block per run:

  run NAME
  f64 LOSSES...     in double precision: what the losses are
  f32 LOSSES...     in single precision: how far PyTorch's own rounding takes them from that

All numbers (weights, inputs) come from one integer recurrence and are multiples of 2^-24, so that both languages, and both
precisions, start from exactly the same ones.
"""
import pathlib

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH, BATCHES = 128, 8


class Numbers:
    """Numbers in [-scale, scale) from a linear congruential generator; in row-major order."""

    def __init__(self, seed):
        self.state = seed

    def next(self, scale=1.0):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return ((self.state >> 8) / 2**23 - 1) * scale

    def tensor(self, dtype, shape, scale):
        count = int(torch.Size(shape).numel())
        return torch.tensor([self.next(scale) for _ in range(count)], dtype=torch.float64).reshape(shape).to(dtype)


class Mlp:
    """The network of examples/train_mlp.cc: 2-128-128-3, relu, cross-entropy."""

    def __init__(self, dtype):
        n = Numbers(1)
        self.parameters = []
        for out, size, scale in ((128, 2, 1.0), (128, 128, 0.125), (3, 128, 0.125)):
            self.parameters += [n.tensor(dtype, (out, size), scale), n.tensor(dtype, (out,), 0.125)]

    def loss(self, x, label):
        w1, b1, w2, b2, w3, b3 = self.parameters
        return F.cross_entropy(F.linear(F.relu(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)), w3, b3), label)

    @staticmethod
    def batches(dtype):
        n = Numbers(2)
        for _ in range(BATCHES):
            points = [(n.next(), n.next()) for _ in range(BATCH)]
            # a disk in the middle, and around it two pairs of opposite quarters
            label = [0 if x * x + y * y < 0.5 else 1 if x * y < 0 else 2 for x, y in points]
            yield torch.tensor(points, dtype=torch.float64).to(dtype), torch.tensor(label)


class Dqn:
    """A small value network with layer norm and dueling heads, trained on the values of the actions taken by Huber's loss."""

    ACTIONS = 6

    def __init__(self, dtype):
        n = Numbers(3)
        self.parameters = []
        for out, size in ((96, 32), (64, 96)):
            self.parameters += [n.tensor(dtype, (out, size), 0.25), n.tensor(dtype, (out,), 0.125)]
            self.parameters += [1 + n.tensor(dtype, (out,), 0.125), n.tensor(dtype, (out,), 0.125)]
        for out in (1, self.ACTIONS):
            self.parameters += [n.tensor(dtype, (out, 64), 0.25), n.tensor(dtype, (out,), 0.125)]

    def loss(self, state, action, target):
        w1, b1, g1, c1, w2, b2, g2, c2, wv, bv, wa, ba = self.parameters
        h = F.relu(F.layer_norm(F.linear(state, w1, b1), (96,), g1, c1))
        h = F.relu(F.layer_norm(F.linear(h, w2, b2), (64,), g2, c2))
        a = F.linear(h, wa, ba)
        q = F.linear(h, wv, bv) + a - a.mean(1, keepdim=True)
        return F.huber_loss(q.gather(1, action[:, None])[:, 0], target)

    @classmethod
    def batches(cls, dtype):
        n = Numbers(4)
        for _ in range(BATCHES):
            state = n.tensor(dtype, (BATCH, 32), 1.0)
            action = torch.tensor([int((n.next() + 1) * cls.ACTIONS / 2) for _ in range(BATCH)])
            yield state, action, n.tensor(dtype, (BATCH,), 4.0)  # beyond 1: both branches of the loss


class Lion(torch.optim.Optimizer):
    """The update of the paper (Chen et al. 2023, algorithm 2); PyTorch has none."""

    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            slow, fast = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                direction = (slow * m + (1 - slow) * p.grad).sign()
                m.copy_(fast * m + (1 - fast) * p.grad)
                p.sub_(group["lr"] * (direction + group["weight_decay"] * p))


def train(network, make_optimizer, steps, clip_norm, dtype):
    net = network(dtype)
    for p in net.parameters:
        p.requires_grad_()
    optimizer = make_optimizer(net.parameters)
    batches, losses, clipped = list(network.batches(dtype)), [], 0
    for i in range(steps):
        optimizer.zero_grad()
        loss = net.loss(*batches[i % BATCHES])
        loss.backward()
        if clip_norm is not None:
            clipped += float(torch.nn.utils.clip_grad_norm_(net.parameters, clip_norm)) > clip_norm
        optimizer.step()
        losses.append(loss.item())
    return losses, clipped


# Learning rates are exact in f32, as TrainStep takes them.
RUNS = [
    ("mlp_adam", Mlp, lambda p: torch.optim.Adam(p, lr=2**-8), 200, None),
    ("mlp_sgd_momentum", Mlp, lambda p: torch.optim.SGD(p, lr=2**-4, momentum=0.9), 200, None),
    ("mlp_adamw_clipped", Mlp, lambda p: torch.optim.AdamW(p, lr=2**-8, weight_decay=0.01), 100, 0.25),
    ("mlp_rmsprop", Mlp, lambda p: torch.optim.RMSprop(p, lr=2**-10, eps=1e-3, weight_decay=0.01), 100, None),
    ("mlp_rmsprop_momentum", Mlp, lambda p: torch.optim.RMSprop(p, lr=2**-11, eps=1e-3, momentum=0.5), 100, 0.25),
    ("mlp_adagrad", Mlp, lambda p: torch.optim.Adagrad(p, lr=2**-6, weight_decay=0.01), 100, None),
    ("mlp_lion", Mlp, lambda p: Lion(p, lr=2**-10, weight_decay=0.1), 100, None),
    ("dqn_adam", Dqn, lambda p: torch.optim.Adam(p, lr=2**-10), 50, None),
]


def main():
    torch.set_num_threads(1)
    lines = []
    for name, network, optimizer, steps, clip_norm in RUNS:
        exact, clipped = train(network, optimizer, steps, clip_norm, torch.float64)
        rounded, _ = train(network, optimizer, steps, clip_norm, torch.float32)
        lines += [f"run {name}", "f64 " + " ".join(map(repr, exact)), "f32 " + " ".join(f"{v:.9g}" for v in rounded)]
        off = max(abs(a - b) / a for a, b in zip(exact, rounded))
        print(f"{name}: loss {exact[0]:.4f} to {exact[-1]:.4f}, f32 off by at most {off:.1e}; clipped {clipped} of {steps}")
    path = ROOT / "tests/goldens/training.txt"
    path.write_text("\n".join(lines) + "\n")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


main()
