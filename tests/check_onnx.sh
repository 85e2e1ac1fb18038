#!/usr/bin/env bash
# check_onnx.sh INGOT: ONNX files on the command line: looked at, run, checked, converted, measured; and a run's model written as one.
models=$(cd "$(dirname "$0")/goldens/onnx" && pwd)
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"

# Small models, field by field: one that divides by the size of its second axis, some that declare what is not so, and arrays.
python3 - <<'PYTHON'
import struct
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def number(field, n):
    return varint(field << 3) + varint(n)
def part(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data
def value(name, kind, dims):
    shape = b"".join(part(1, part(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return part(1, name) + part(2, part(1, number(1, kind) + part(2, shape)))
def node(op, inputs, output, attributes=b""):
    return b"".join(part(1, i) for i in inputs) + part(2, output) + part(4, op) + attributes
def model(path, nodes, x, y, opset=13, more=b""):
    graph = b"".join(part(1, n) for n in nodes) + part(11, x) + part(12, y) + more
    open(path, "wb").write(number(1, 8) + part(7, graph) + part(8, number(2, opset)))
def array(path, *shape):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}".encode()
    head += b" " * (117 - len(head)) + b"\n"
    count = 1
    for size in shape:
        count *= size
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(4 * count))
FLOAT, INT64 = 1, 7
one = part(5, number(1, 1) + number(2, INT64) + part(8, "one") + part(9, struct.pack("<q", 1)))
to_float = part(5, part(1, "to") + number(3, FLOAT) + number(20, 2))
model("mean.onnx", [node("Shape", ["x"], "s"), node("Gather", ["s", "one"], "n"), node("Cast", ["n"], "f", to_float), node("Div", ["x", "f"], "y")],
      value("x", FLOAT, ["b", "n"]), value("y", FLOAT, ["b", "n"]), more=one)
for name, kind, dims, opset in (("size", FLOAT, [3], 13), ("type", INT64, [2], 13), ("name", FLOAT, ["b", "b"], 13), ("later", FLOAT, ["b"], 99)):
    model(name + ".onnx", [node("Neg", ["x"], "y")], value("x", FLOAT, ["b", 4] if name == "name" else [2]), value("y", kind, dims), opset)
array("x34.npy", 3, 4)
array("x25.npy", 2, 5)
PYTHON

echo "--- look"
"$ingot" onnx info "$models/unet.onnx" | has "BatchNormalization 5"
"$ingot" onnx info "$models/unet.onnx" --json | python3 -c "import json, sys; m = json.load(sys.stdin); assert m['ops']['Conv'] == 6 and m['inputs'][0]['shape'][0] == 'batch', m"
"$ingot" info "$models/mlp.onnx" | has "weights in"

echo "--- run"
"$ingot" onnx run "$models/mlp.onnx" --size batch=3 | has "f32 \[3, 2\]"
"$ingot" onnx run "$models/mlp.onnx" --size batch=3 -o y.npz | has "1 result written"
"$ingot" info y.npz | has "\[3, 2\]"
"$ingot" onnx run "$models/mlp.onnx" --size batch=3 -o y.npy | has "1 result written"
[ "$(head -c 6 y.npy | tail -c 5)" = NUMPY ] || fail "y.npy is none"
"$ingot" onnx run "$models/mlp.onnx" --size batch=3 -o y.safetensors | has "1 result written"
"$ingot" info y.safetensors | has "\[3, 2\]"
"$ingot" onnx run mean.onnx x34.npy --size b=3 | has "f32 \[3, 4\]"
"$ingot" onnx check later.onnx >said.txt
has "opset 99 is later than 17" <said.txt && has "all is well" <said.txt || fail "check of a later opset: $(cat said.txt)"
for model in mlp resnet lstm gru encoder unet; do
  "$ingot" onnx check "$models/$model.onnx" --size batch=3 | has "all is well" || fail "check $model"
done
"$ingot" onnx check "$models/mlp.onnx" --bound 0.001 --as-written | has "all is well"
"$ingot" onnx bench "$models/mlp.onnx" --size batch=8 --runs 5 | has "a run on"

echo "--- write"
"$ingot" onnx convert "$models/gru.onnx" -o weights.safetensors >said.txt
"$ingot" info weights.safetensors | has "layer.weight_hh_l0" || "$ingot" info weights.safetensors | has "weight"
"$ingot" onnx convert "$models/resnet.onnx" -o again.onnx >said.txt
"$ingot" onnx info again.onnx | has "opset 17"
"$ingot" onnx check again.onnx --size batch=5 | has "all is well"
"$ingot" onnx convert mean.onnx -o mean4.onnx --size n=4 >said.txt
"$ingot" onnx info mean4.onnx | has "x: f32 \[batch, 4\]"
"$ingot" train digits --out run --set train.epochs=1 >said.txt
"$ingot" export run --to onnx -o digits.onnx | has "any batch"
"$ingot" onnx check digits.onnx --size batch=4 | has "all is well"

echo "--- refuse"
refused "is it an ONNX file" onnx info run/config.toml
refused "give NAME=N" onnx run "$models/mlp.onnx" --size batch
refused 'did you mean "batch"' onnx run "$models/mlp.onnx" --size bach=3
refused "write weights to .safetensors" onnx convert "$models/mlp.onnx" -o x.txt
refused "no training step" export run --to onnx --train
refused "inputs are .npy or .pb" onnx run "$models/mlp.onnx" x.csv
refused "the model takes x: f32 [b, 4]: axis 1 has 5 places, not 4" onnx run name.onnx x25.npy
refused "with --size, the model takes another shape: axis 0 has 3 places, not b = 2" onnx run mean.onnx x34.npy --size b=2
refused "results are written to .npz or .safetensors" onnx run mean.onnx x34.npy -o y.csv
[ ! -e y.csv ] || fail "y.csv is there"
refused "give its size: --size n=" onnx convert mean.onnx -o again.onnx
refused "give its size: --size n=" onnx convert mean.onnx -o again.onnx --size b=2
refused "y  is f32 [2], but the file says y: f32 [3]: axis 0 has 2 places, not 3" onnx check size.onnx
refused "the file says y: i64 [2]: the type is another" onnx check type.onnx
refused "the file says y: f32 [b, b]: axis 1 has 4 places, not b = 1" onnx check name.onnx
refused "the file contradicts itself" onnx check name.onnx
refused "--bound" onnx check "$models/mlp.onnx" --bound -1
refused "nan is no number" onnx check "$models/mlp.onnx" --bound nan
echo "all is well"
