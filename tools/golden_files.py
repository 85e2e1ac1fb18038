#!/usr/bin/python3
"""Writes tests/goldens/io: small files of every format that Ingot reads, made by other programs (NumPy, PyTorch's number formats,
Python's zipfile and gzip, Debian's python3-pil for PNG). tests/io reads them, and compares what it writes itself with them.

Run it with Debian's python3-torch, python3-numpy, python3-pil and python3-protobuf when a format is added. Debian has no safetensors package: the
writer below follows the format's definition, with its reference implementation's order of tensors (wide types first, then by name).
"""
import gzip
import json
import pathlib
import struct
import zipfile
import zlib

import numpy as np
import torch
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from PIL import Image

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


NPY_TYPES = {"f4": np.float32, "f8": np.float64, "i4": np.int32, "i8": np.int64, "u1": np.uint8, "b1": np.bool_, "f2": np.float16}


def npy_files():
    """type_F.npy holds (arange(6) - 2) / 2 as [2, 3], the same for every type up to what the type can hold."""
    base = (np.arange(6).reshape(2, 3) - 2) / 2
    for name, dtype in NPY_TYPES.items():
        np.save(FOLDER / f"type_{name}.npy", np.abs(base).astype(dtype) if name == "u1" else base.astype(dtype))
    np.save(FOLDER / "scalar.npy", np.float32(2.5))
    np.save(FOLDER / "vector.npy", np.arange(5, dtype=np.int64))
    np.save(FOLDER / "empty.npy", np.zeros((0, 3), np.float32))
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for version in (1, 2, 3):
        with open(FOLDER / f"fortran_v{version}.npy", "wb") as out:
            np.lib.format.write_array(out, np.asfortranarray(cube), version=(version, 0))
    np.save(FOLDER / "big_endian.npy", base.astype(">f4"))
    np.save(FOLDER / "complex.npy", base.astype(np.complex64))
    np.save(FOLDER / "structured.npy", np.zeros(2, [("a", "<f4"), ("b", "<i4")]))
    arrays = {"weight": cube, "labels": np.arange(5), "mask": np.array([True, False])}
    np.savez(FOLDER / "stored.npz", **arrays)
    np.savez_compressed(FOLDER / "deflated.npz", **arrays)
    limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 16  # as if the archive had more than 4 GiB
    np.savez(FOLDER / "zip64.npz", **arrays)
    zipfile.ZIP64_LIMIT = limit
    # What Ingot itself writes (tests/io/npy_test.cc compares): NumPy must read it.
    written = np.load(FOLDER / "written.npz")
    assert list(written) == ["weight", "labels", "mask", "ä", "none"]
    for name in arrays:
        assert written[name].dtype == arrays[name].dtype and np.array_equal(written[name], arrays[name]), name
    assert written["ä"].dtype == np.float16 and written["none"].shape == (0, 2)


def data_files():
    table = "length,width,\"class, or so\"\n1.5,2,0\n-3e-2,+4,1\r\n\n\"7\",.5,2\n"
    (FOLDER / "table.csv").write_bytes(table.encode())
    (FOLDER / "table.csv.gz").write_bytes(gzip.compress(table.encode(), mtime=0))
    pixels = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    idx = struct.pack(">HBBIII", 0, 8, 3, 2, 3, 4) + pixels.tobytes()
    (FOLDER / "pixels.idx").write_bytes(idx)
    (FOLDER / "pixels.idx.gz").write_bytes(gzip.compress(idx, mtime=0))
    for code, kind in ((9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")):
        values = np.array([-2, 0, 1, 100]).astype(kind)
        (FOLDER / f"type_{code}.idx").write_bytes(struct.pack(">HBBI", 0, code, 1, 4) + values.tobytes())


def picture_files():
    """Pictures of 5 × 4 pixels: grey is 10 y + x, colours are 10 y + x + 50 c."""
    y, x = np.mgrid[0:4, 0:5]
    grey = (10 * y + x).astype(np.uint8)
    planes = [grey + np.uint8(50 * c) for c in range(4)]
    Image.fromarray(grey).save(FOLDER / "grey.png")
    Image.fromarray(np.dstack(planes[:2]), "LA").save(FOLDER / "grey_alpha.png")
    Image.fromarray(np.dstack(planes[:3])).save(FOLDER / "colours.png")
    Image.fromarray(np.dstack(planes)).save(FOLDER / "colours_alpha.png")
    palette = Image.fromarray((grey % 4), "P")
    palette.putpalette([0, 0, 0, 10, 20, 30, 40, 50, 60, 255, 254, 253])
    palette.save(FOLDER / "palette.png", bits=2)
    Image.fromarray((grey % 2).astype(bool)).save(FOLDER / "bits.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(FOLDER / "sixteen.png")


def interlaced_picture():
    """The grey picture in Adam7's order, which Pillow does not write."""
    y, x = np.mgrid[0:4, 0:5]
    grey = (10 * y + x).astype(np.uint8)
    raw = b""
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        for row in grey[y0::dy, x0::dx]:
            raw += b"\0" + row.tobytes() if row.size else b""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 5, 4, 8, 0, 0, 0, 1)
    (FOLDER / "interlaced.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def event_class():
    """TensorBoard's Event, as far as scalars need it, for Google's own protobuf to encode."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="tensorboard")

    def message(name, *fields):
        m = file.message_type.add(name=name)
        for number, label, kind, type_name, repeated in fields:
            m.field.add(name=label, number=number, type=kind, type_name=type_name,
                        label=field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL)

    message("Value", (1, "tag", field.TYPE_STRING, None, False), (2, "simple_value", field.TYPE_FLOAT, None, False))
    message("Summary", (1, "value", field.TYPE_MESSAGE, ".tensorboard.Value", True))
    message("Event", (1, "wall_time", field.TYPE_DOUBLE, None, False), (2, "step", field.TYPE_INT64, None, False),
            (3, "file_version", field.TYPE_STRING, None, False), (5, "summary", field.TYPE_MESSAGE, ".tensorboard.Summary", False))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("tensorboard.Event"))


def event_files():
    """Two scalars, without the first record, whose time is that of the run."""
    assert crc32c(b"123456789") == 0xE3069283  # the checksum's published test value
    Event, out = event_class(), b""
    for tag, value, step, seconds in (("loss", 0.25, 0, 1700000000.5), ("test/accuracy", 0.9921875, 300, 1700000001.0)):
        event = Event(wall_time=seconds, step=step)
        event.summary.value.add(tag=tag, simple_value=value)
        if step == 0:
            event.step = 0
        data = event.SerializeToString()
        for part in (struct.pack("<Q", len(data)), data):
            crc = crc32c(part)
            out += part + struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
    (FOLDER / "scalars.tfevents").write_bytes(out)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    safetensors_files()
    npy_files()
    data_files()
    picture_files()
    interlaced_picture()
    event_files()


if __name__ == "__main__":
    main()
