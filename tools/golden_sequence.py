#!/usr/bin/python3
"""Writes tests/goldens/sequence.txt: what PyTorch's LSTM, GRU, MultiheadAttention and TransformerEncoderLayer give, and their
gradients.

Run it with Debian's python3-torch; tests/nn/sequence_golden_test.cc has the same cases by name and replays them in f64 and f32. One
block per case, every line with a name and a TENSOR ("f RANK SIZES... VALUES..."):

  case NAME
  state NAME TENSOR     parameters, in PyTorch's order
  in NAME TENSOR        x, h, c; q, k, v
  out NAME TENSOR       y, h, c; dy NAME TENSOR is what each is multiplied by, to make one number to differentiate
  grad NAME TENSOR      of the inputs, then of the parameters

Case "truncated" trains an LSTM for four pieces of a sequence with SGD, the state handed on detached: "loss" of each piece, and the
parameters afterwards as "after". Inputs are multiples of 1/64, exact in f32.
"""
import pathlib

import numpy as np
import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
random = np.random.RandomState(7)
lines = []


def real(*shape, scale=1.0):
    return torch.tensor(np.round(random.uniform(-1, 1, shape) * 64) / 64 * scale, dtype=torch.float64)


def put(kind, name, t):
    fields = [kind, name, "f", t.dim(), *t.shape]
    lines.append(" ".join(map(str, fields)) + "".join(f" {v:.13g}" for v in t.detach().reshape(-1).tolist()))


def prepare(name, module):
    module = module.double()
    lines.append(f"case {name}")
    for key, t in module.state_dict().items():
        t.copy_(real(*t.shape, scale=0.5))
        put("state", key, t)
    return module


def finish(module, inputs, outputs):
    total = 0
    for name, t in inputs.items():
        put("in", name, t)
    for name, t in outputs.items():
        dy = real(*t.shape)
        put("out", name, t)
        put("dy", name, dy)
        total = total + (t * dy).sum()
    total.backward()
    for name, t in inputs.items():
        put("grad", name, t.grad)
    for name, t in module.named_parameters():
        put("grad", name, t.grad)


def recurrent(name, module, x, initial=False):
    module = prepare(name, module)
    lstm = isinstance(module, nn.LSTM)
    batch = x.shape[0] if module.batch_first else x.shape[1]
    inputs = {"x": x.requires_grad_()}
    state = None
    if initial:
        shape = (module.num_layers * (2 if module.bidirectional else 1), batch, module.hidden_size)
        inputs["h"] = real(*shape).requires_grad_()
        state = inputs["h"]
        if lstm:
            inputs["c"] = real(*shape).requires_grad_()
            state = (inputs["h"], inputs["c"])
    y, last = module(x, state)
    finish(module, inputs, {"y": y, "h": last[0], "c": last[1]} if lstm else {"y": y, "h": last})


for kind in (nn.LSTM, nn.GRU):
    base = kind.__name__.lower()
    recurrent(f"{base}", kind(3, 5), real(4, 2, 3))
    recurrent(f"{base}_one", kind(1, 1), real(1, 1, 1))
    recurrent(f"{base}_state", kind(3, 9), real(3, 3, 3), initial=True)
    recurrent(f"{base}_two_bidirectional", kind(2, 3, num_layers=2, bidirectional=True, batch_first=True), real(2, 4, 2), initial=True)
    recurrent(f"{base}_no_bias", kind(2, 4, num_layers=2, bias=False), real(3, 1, 2))


def attention(name, width, heads, query, key=None, causal=False):
    module = prepare(name, nn.MultiheadAttention(width, heads, batch_first=True))
    inputs = {"q": query.requires_grad_()}
    k = v = query
    if key is not None:
        inputs["k"] = k = key.requires_grad_()
        inputs["v"] = v = real(*key.shape).requires_grad_()
    mask = torch.triu(torch.ones(query.shape[1], k.shape[1], dtype=torch.bool), 1) if causal else None
    finish(module, inputs, {"y": module(query, k, v, attn_mask=mask, need_weights=False)[0]})


attention("attention", 6, 2, real(2, 5, 6))
attention("attention_one", 2, 1, real(1, 1, 2))
attention("attention_causal", 8, 4, real(2, 7, 8), causal=True)
attention("attention_cross", 6, 3, real(2, 3, 6), real(2, 5, 6))

block = prepare("transformer_block", nn.TransformerEncoderLayer(8, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True))
x = real(2, 5, 8).requires_grad_()
finish(block, {"x": x}, {"y": block(x)})

# Truncated backpropagation through time.
lstm = prepare("truncated", nn.LSTM(2, 4))
x, target = real(12, 2, 2), real(12, 2, 4)
put("in", "x", x)
put("in", "target", target)
optimizer = torch.optim.SGD(lstm.parameters(), lr=0.5)
state, losses = None, []
for piece in range(4):
    part = slice(piece * 3, piece * 3 + 3)
    y, state = lstm(x[part], state)
    loss = ((y - target[part]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = tuple(s.detach() for s in state)
    losses.append(loss.item())
put("out", "loss", torch.tensor(losses, dtype=torch.float64))
for key, t in lstm.state_dict().items():
    put("after", key, t)

(ROOT / "tests/goldens/sequence.txt").write_text("\n".join(lines) + "\n")
