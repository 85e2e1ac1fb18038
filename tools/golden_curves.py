#!/usr/bin/python3
"""Writes tests/goldens/curves.txt: how the losses of the recipes' networks fall when PyTorch trains them.

Run it with Debian's python3-torch when a network below changes. tests/nn/curves_golden_test.cc builds the same networks out of
modules, fills them with the same numbers by name and trains them on the same batches. The file holds

  picture PIXELS LABEL   of data/digits.csv.gz: 64 pixels 0..16 as the digits 0..9a..g
  text CHARACTERS        of data/tinyshakespeare.txt, "|" for the end of a line
  run NAME               and then its losses, step by step:
  f64 LOSSES...          in double precision: what the losses are
  f32 LOSSES...          in single precision: how far PyTorch's own rounding takes them from that

A parameter's first values come from an integer recurrence that starts with the hash of its name; they are multiples of a power of
two, so that both languages, and both precisions, start from exactly the same ones.
"""
import gzip
import pathlib

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS, BATCHES = 50, 8
DIGITS_BATCH = 32
ROWS, LENGTH = 16, 24  # of a batch of text
PIXELS = "0123456789abcdefg"


def first_values(name, shape, scale):
    """Numbers in [-scale, scale) from a linear congruential generator seeded with the FNV-1a hash of the name."""
    state = 2166136261
    for byte in name.encode():
        state = (state ^ byte) * 16777619 % 2**32
    values = []
    for _ in range(torch.Size(shape).numel()):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(((state >> 8) / 2**23 - 1) * scale)
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def fill(net):
    """Every parameter uniform within the power of two below 1 / √(inputs of an output)."""
    for name, p in net.named_parameters():
        fan_in = p[0].numel() if p.dim() > 1 else 64
        scale = 2.0 ** -((fan_in - 1).bit_length() / 2 // 1)
        p.data.copy_(first_values(name, p.shape, scale))


class DigitsNet(nn.Sequential):
    """The network of the recipe `digits` without its dropout."""

    def __init__(self):
        super().__init__(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))


class TextNet(nn.Module):
    """A character model: embedding, two layers of LSTM from zero states, a linear layer to the next character."""

    def __init__(self, characters):
        super().__init__()
        self.embedding = nn.Embedding(characters, 16)
        self.lstm = nn.LSTM(16, 48, num_layers=2, batch_first=True)
        self.head = nn.Linear(48, characters)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0]).flatten(0, 1)


def train(net, batches, lr, dtype):
    fill(net)
    net.to(dtype)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    losses = []
    for step in range(STEPS):
        x, y = batches[step % BATCHES]
        x = x.to(dtype) if x.is_floating_point() else x
        loss = nn.functional.cross_entropy(net(x), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.set_num_threads(1)
    with gzip.open(ROOT / "data" / "digits.csv.gz", "rt") as file:
        rows = [[int(v) for v in line.split(",")] for line in file][:DIGITS_BATCH * BATCHES]
    text = (ROOT / "data" / "tinyshakespeare.txt").read_text()[:ROWS * BATCHES * LENGTH + 1]
    assert "|" not in text
    out = ["picture {} {}".format("".join(PIXELS[v] for v in row[:64]), row[64]) for row in rows]
    out.append("text " + text.replace("\n", "|"))

    pictures = torch.tensor([row[:64] for row in rows], dtype=torch.float64).reshape(BATCHES, DIGITS_BATCH, 1, 8, 8) / 16
    labels = torch.tensor([row[64] for row in rows]).reshape(BATCHES, DIGITS_BATCH)
    digits = list(zip(pictures, labels))

    alphabet = sorted(set(text))
    tokens = torch.tensor([alphabet.index(c) for c in text])
    x, y = (t.reshape(ROWS, BATCHES, LENGTH).transpose(0, 1).contiguous() for t in (tokens[:-1], tokens[1:]))
    texts = list(zip(x, y))

    for name, make, batches, lr in (("digits", DigitsNet, digits, 1 / 512), ("lstm", lambda: TextNet(len(alphabet)), texts, 1 / 64)):
        out.append(f"run {name}")
        for dtype in (torch.float64, torch.float32):
            losses = train(make(), batches, lr, dtype)
            out.append(("f64 " if dtype == torch.float64 else "f32 ") + " ".join(f"{v:.17g}" for v in losses))
            print(name, dtype, losses[0], losses[-1])
    (ROOT / "tests" / "goldens" / "curves.txt").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
