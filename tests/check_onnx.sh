#!/usr/bin/env bash
# check_onnx.sh INGOT: ONNX files on the command line: looked at, run, checked, converted, measured; and a run's model written as one.
models=$(cd "$(dirname "$0")/goldens/onnx" && pwd)
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"

echo "--- look"
"$ingot" onnx info "$models/unet.onnx" | has "BatchNormalization 5"
"$ingot" onnx info "$models/unet.onnx" --json | python3 -c "import json, sys; m = json.load(sys.stdin); assert m['ops']['Conv'] == 6 and m['inputs'][0]['shape'][0] == 'batch', m"
"$ingot" info "$models/mlp.onnx" | has "weights in"

echo "--- run"
"$ingot" onnx run "$models/mlp.onnx" --size batch=3 | has "f32 \[3, 2\]"
"$ingot" onnx run "$models/mlp.onnx" --size batch=3 -o y.npz | has "1 result written"
"$ingot" info y.npz | has "\[3, 2\]"
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
echo "all is well"
