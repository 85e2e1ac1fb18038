#!/usr/bin/python3
"""Writes tests/goldens/interop: models of PyTorch's as safetensors files, and what they make of some inputs.

Run it with Debian's python3-torch when a model below changes. tests/recipe/interop_test.cc loads the weights into the same model of
Ingot's, compares what it makes of the inputs, and writes its own state: that must be the same file, byte for byte.
"""
import pathlib

import torch
from torch import nn

from golden_files import write_safetensors

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/interop"


class Tagger(nn.Module):
    """Token numbers to a tag for each: embedding, both directions of two LSTM layers, a linear layer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(10, 4)

    def forward(self, x):
        return self.out(self.lstm(self.embedding(x))[0])


class Mixer(nn.Module):
    """A residual attention block with layer norm, then a GRU."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.gru = nn.GRU(8, 3, batch_first=True)

    def forward(self, x):
        n = self.norm(x)
        return self.gru(x + self.attention(n, n, n, need_weights=False)[0])[0]


def write(name, model, x):
    model.train()
    with torch.no_grad():
        for k in range(3):  # running averages of their own
            model(x if x.dtype == torch.int64 else x * (k + 1) - 0.5)
    model.eval()
    with torch.no_grad():
        y = model(x)
    write_safetensors(FOLDER / f"{name}.safetensors", model.state_dict())
    write_safetensors(FOLDER / f"{name}_values.safetensors", {"x": x, "y": y})
    print(name, [tuple(t.shape) for t in (x, y)], len(model.state_dict()), "tensors")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    write("cnn", nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5),
                               nn.Linear(24, 10)), torch.rand(5, 1, 8, 8))
    write("tagger", Tagger(), torch.randint(0, 11, (3, 7)))
    write("mixer", Mixer(), torch.randn(2, 5, 8))


main()
