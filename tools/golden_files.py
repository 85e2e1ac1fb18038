#!/usr/bin/python3
"""Writes tests/goldens/io: small files of every format that Ingot reads, made by other programs (NumPy, PyTorch's number formats,
Python's zipfile and gzip, Debian's python3-pil for PNG). tests/io reads them, and compares what it writes itself with them.

Run it with Debian's python3-torch, python3-numpy and python3-pil when a format is added. Debian has no safetensors package: the
writer below follows the format's definition, with its reference implementation's order of tensors (wide types first, then by name).
"""
import json
import pathlib
import struct

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/io"

# Wide types first: the order in which the reference implementation lays tensors down.
SAFETENSORS_TYPES = [("I64", torch.int64), ("F64", torch.float64), ("F32", torch.float32), ("I32", torch.int32),
                     ("BF16", torch.bfloat16), ("F16", torch.float16), ("U8", torch.uint8), ("BOOL", torch.bool)]


def tensor_bytes(t):
    """The elements in memory order, for types that NumPy does not know as well."""
    return bytes(t.contiguous().flatten().view(torch.uint8).numpy()) if t.dtype != torch.bool else bytes(t.flatten().numpy())


def write_safetensors(path, tensors, metadata=None):
    names = {dtype: (i, name) for i, (name, dtype) in enumerate(SAFETENSORS_TYPES)}
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, t in sorted(tensors.items(), key=lambda item: (names[item[1].dtype][0], item[0])):
        raw = tensor_bytes(t)
        header[name] = {"dtype": names[t.dtype][1], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def safetensors_files():
    tensors = {
        "layer.0.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 4 - 1,
        "layer.0.bias": torch.tensor([0.5, -0.0, float("inf")]),
        "double": torch.tensor([1e-300, 2.5, -1 / 3], dtype=torch.float64),
        "step": torch.tensor(123456789012345, dtype=torch.int64),
        "int": torch.tensor([[-1], [2**31 - 1]], dtype=torch.int32),
        "half": torch.tensor([1.5, -65504, 6e-8], dtype=torch.float16),
        "brain": torch.tensor([1.5, 3.0e38, -0.25], dtype=torch.bfloat16),
        "bytes": torch.tensor([0, 7, 255], dtype=torch.uint8),
        "mask": torch.tensor([True, False, True]),
        "nothing": torch.zeros((0, 4)),
        "名前 \"quoted\"\n": torch.tensor([3.25]),
    }
    write_safetensors(FOLDER / "all_types.safetensors", tensors, {"epoch": "3", "note": "grün \\ \t"})


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    safetensors_files()


if __name__ == "__main__":
    main()
