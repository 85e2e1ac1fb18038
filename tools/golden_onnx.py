#!/usr/bin/env python3
"""Writes tests/goldens/onnx: models that PyTorch exported, with inputs, results, and the losses of some steps of SGD from there on, as
PyTorch makes them. Needs Debian's python3-torch and python3-onnx; run it by hand when a model is added.

Each model is NAME.onnx with NAME.safetensors beside it: inputs x0, x1, …, results y0, y1, … in evaluation mode, the target of the
training, and the losses of mean((y0 - target)²) before each of the steps in training mode."""
import copy
import json
import pathlib
import struct
import sys
import warnings

import numpy as np
import torch
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "onnx"
STEPS, RATE = 10, 0.05


class Sequence(nn.Module):
    """A recurrent layer of two directions and what is made of its last step."""

    def __init__(self, kind):
        super().__init__()
        self.layer = kind(6, 8, num_layers=2, bidirectional=True)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        return self.out(self.layer(x)[0][-1])


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.a = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                               nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))
        self.b = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                               nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16))
        self.short = nn.Conv2d(8, 16, 1, stride=2)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        x = self.stem(x)
        x = torch.relu(self.a(x) + x)
        x = torch.relu(self.b(x) + self.short(x))
        return self.out(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        def block(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.SiLU())
        self.first, self.second, self.third = block(1, 6), block(6, 12), block(12, 12)
        self.up1, self.up2 = nn.ConvTranspose2d(12, 12, 2, stride=2), nn.ConvTranspose2d(12, 6, 2, stride=2)
        self.back, self.last = block(24, 12), block(12, 6)
        self.out = nn.Conv2d(6, 1, 1)

    def forward(self, x):
        a = self.first(x)
        b = self.second(nn.functional.max_pool2d(a, 2))
        c = self.third(nn.functional.avg_pool2d(b, 2))
        b = self.back(torch.cat([self.up1(c), b], 1))
        return self.out(self.last(torch.cat([self.up2(b), a], 1)))


class Attention(nn.Module):
    """An encoder layer, written out as exporters see it."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = torch.softmax(q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5, -1)
        x = x + self.proj((a @ v).transpose(1, 2).reshape(n, t, c))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.place = nn.Parameter(torch.randn(1, 10, 16) * 0.1)
        self.layers = nn.Sequential(Attention(), Attention())
        self.out = nn.Linear(16, 5)

    def forward(self, tokens):
        x = self.embed(tokens) + self.place[:, :tokens.shape[1]]
        return self.out(self.layers(x).mean(1))


def models():
    torch.manual_seed(7)
    yield "mlp", nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2)), torch.randn(6, 5), 0
    yield "resnet", ResNet(), torch.randn(4, 3, 12, 12), 0
    yield "lstm", Sequence(nn.LSTM), torch.randn(7, 4, 6), 1
    yield "gru", Sequence(nn.GRU), torch.randn(7, 4, 6), 1
    yield "encoder", Encoder(), torch.randint(0, 20, (4, 10)), 0
    yield "unet", UNet(), torch.randn(3, 1, 16, 16), 0


TYPES = {np.dtype("float32"): "F32", np.dtype("int64"): "I64", np.dtype("float64"): "F64"}


def save(path, arrays):
    header, data = {}, b""
    for name, a in sorted(arrays.items(), key=lambda kv: (-kv[1].dtype.itemsize, kv[0])):
        raw = np.ascontiguousarray(a).tobytes()
        header[name] = {"dtype": TYPES[a.dtype], "shape": list(a.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    FOLDER.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name, model, x, batch_axis in models():
        torch.manual_seed(1)
        for p in model.parameters():  # batch norms and biases that are not all alike
            if p.dim() == 1:
                p.data += torch.randn_like(p) * 0.1
        model.train()
        with torch.no_grad():
            if x.is_floating_point():
                model(x)  # running averages that are not 0 and 1
        exported = copy.deepcopy(model)
        torch.onnx.export(exported, x, str(FOLDER / f"{name}.onnx"), opset_version=16, input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {batch_axis: "batch"}, "y": {0: "batch"}},
                          training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
        model.load_state_dict(exported.state_dict())  # the exporter ran it once: its running averages are in the file
        model.eval()
        with torch.no_grad():
            y = model(x)
        arrays = {"x0": x.numpy(), "y0": y.numpy()}
        target = torch.randn_like(y)
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = ((model(x) - target) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        arrays |= {"target": target.numpy(), "losses": np.array(losses, dtype="float64")}
        save(FOLDER / f"{name}.safetensors", arrays)
        print(name, (FOLDER / f"{name}.onnx").stat().st_size, losses[0], losses[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
