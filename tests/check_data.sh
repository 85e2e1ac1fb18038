#!/usr/bin/env bash
# check_data.sh INGOT: a model sees data in use as it saw it in training: scales, columns, classes and characters are the
# model's. Data and model files that make no sense get a sentence.
data=$(cd "$(dirname "$0")/../data" && pwd)
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"
# is "PYTHON" ARGUMENTS...: what the program prints as JSON lines (a list of them, `said`) makes this true.
is() {
  local what=$1
  shift
  "$ingot" "$@" --json >said.txt
  python3 -c "
import json
said = [json.loads(line) for line in open('said.txt')]
assert $what, ('''$what''', said[:3])" || fail "ingot $*"
}
python3 - "$data/heating.csv" <<'PYTHON'
import csv, random, struct, sys
rows = list(csv.reader(open(sys.argv[1])))
head, rows = rows[0], rows[1:]
write = lambda name, rows: csv.writer(open(name, "w")).writerows(rows)
write("backwards.csv", [line[::-1] for line in [head] + rows])         # the same, columns in another order
write("target_first.csv", [line[-1:] + line[:-1] for line in rows])    # no header, the target in front
middle = sorted(rows, key=lambda line: float(line[-1]))
write("large.csv", [head] + middle[-len(rows) // 8:])                  # of another distribution
random.seed(1)
points = [(random.gauss(0, 1), random.gauss(5, 3)) for _ in range(400)]
write("binary.csv", [(a, b, int(a + (b - 5) / 3 > 0)) for a, b in points])
write("tiny.csv", [(a * 1e-8, 1e6 + b, a + b) for a, b in points])     # small units, large means
write("classes.csv", [(a, b, i % 3) for i, (a, b) in enumerate(points)])
write("two_classes.csv", [(a, b, i % 2) for i, (a, b) in enumerate(points)])
write("four_classes.csv", [(a, b, i % 4) for i, (a, b) in enumerate(points)])
def npy(name, kind, shape, numbers):
    text = repr({"descr": {"d": "<f8", "f": "<f4"}[kind], "fortran_order": False, "shape": shape})
    text = text.ljust(117) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(numbers)}{kind}", *numbers))
npy("x.npy", "f", (64, 2), [n for p in points[:64] for n in p])
npy("nothing.npy", "f", (64, 0), [])
npy("sum.npy", "d", (64,), [a + b for a, b in points[:64]])
open("abc.txt", "w").write("abcabc, " * 900)
open("abd.txt", "w").write("abdabd, " * 900)
PYTHON
layers='[{ type = "linear", out = 16 }, { type = "relu" }, { type = "linear" }]'
cat >table.toml <<TOML
[data]
type = "csv"
file = "$data/heating.csv"
[model]
layers = $layers
[loss]
type = "mse"
[train]
epochs = 15
[optimizer]
lr = 0.01
[output]
report = false
TOML
cat >text.toml <<'TOML'
[data]
type = "text"
file = "abc.txt"
length = 8
[model]
layers = [{ type = "embedding", width = 8 }, { type = "linear" }]
[train]
epochs = 1
batches = 20
[output]
report = false
sample_length = 9
TOML

echo "--- tables: the model's scale and columns"
"$ingot" train table.toml --out table --quiet
is 'said[0]["loss"] < 0.1' eval table
is 'said[0]["loss"] < 0.1' eval table --set data.file=backwards.csv --set data.target=heating_kw
refused "is an input of the model" eval table --set data.file=backwards.csv
is 'said[0]["loss"] < 0.2' eval table --set data.file=large.csv --set data.held_back=0
"$ingot" predict table "$data/heating.csv" --json | sed 's/.*prediction//' >forwards.txt
"$ingot" predict table backwards.csv --json | sed 's/.*prediction//' | cmp - forwards.txt || fail "columns by their names"
first=(--set data.file=target_first.csv --set data.target=0)
"$ingot" train table.toml "${first[@]}" --out first --quiet
python3 -c 'import csv; csv.writer(open("inputs.csv", "w")).writerows(line[1:] for line in csv.reader(open("target_first.csv")))'
"$ingot" predict first inputs.csv --json | sed 's/.*prediction//' >without.txt
"$ingot" predict first target_first.csv --json | sed 's/.*prediction//' | cmp - without.txt || fail "a target in front"
"$ingot" train table.toml --set data.file=tiny.csv --out tiny --quiet
is 'said[0]["loss"] < 0.1' eval tiny

echo "--- shares: not scaled, and predicted as shares"
binary=(--set data.file=binary.csv --set loss.type=bce_with_logits)
"$ingot" train table.toml "${binary[@]}" --out binary --quiet
is '0 < said[0]["loss"] < 0.25' eval binary
"$ingot" predict binary binary.csv --json >said.txt
python3 - <<'PYTHON'
import csv, json
truth = [float(line[-1]) for line in csv.reader(open("binary.csv"))]
said = [json.loads(line)["prediction"][0] for line in open("said.txt")]
assert all(0 <= p <= 1 for p in said), said
right = sum((p > 0.5) == (t > 0.5) for p, t in zip(said, truth)) / len(truth)
assert len(said) == len(truth) and right > 0.9, right
PYTHON
refused "the loss needs targets from 0 to 1" train table.toml --set loss.type=bce

echo "--- classes and characters: the model's"
"$ingot" train table.toml --set loss.type=cross_entropy --set data.file=classes.csv --out classes --quiet --epochs 1
is '"accuracy" in said[0]' eval classes --set data.file=two_classes.csv
refused "the model knows 3 classes" eval classes --set data.file=four_classes.csv
refused "needs samples of positions" train table.toml --set 'model.layers=[{ type = "learned_positions" }, { type = "linear" }]'
"$ingot" train text.toml --out text >text.txt # without a line break: samples begin as the text does
grep -q "^a" text.txt || fail "a sample of text"
refused 'ingot: --set data.file=abd.txt: the model has never seen the character "d"' eval text --set data.file=abd.txt
refused "sample_prompt=x: " train text.toml --set output.sample_prompt=x --out prompt
[ ! -e prompt ] || fail "a folder, though the prompt is refused"

refused "takes no file" predict text binary.csv
for ahead in '[{ type = "embedding", width = 8 }, { type = "gru", hidden = 8, bidirectional = true }, { type = "linear" }]' \
  '[{ type = "embedding", width = 8 }, { type = "attention", heads = 2, causal = false }, { type = "linear" }]'; do
  refused "sees the characters that it is to predict" train text.toml --set "model.layers=$ahead" --out ahead
done

echo "--- arrays"
array=(--set data.type=npy --set data.x=x.npy --set data.y=sum.npy)
sed 's/^file = .*//' table.toml >array.toml
"$ingot" train array.toml "${array[@]}" --out array --quiet # one number per sample, as [n]
refused "no whole number" train array.toml "${array[@]}" --set loss.type=cross_entropy
refused "without numbers" train array.toml "${array[@]}" --set data.x=nothing.npy

echo "--- runs"
norm='[{ type = "linear", out = 8 }, { type = "batch_norm1d" }, { type = "linear" }]'
"$ingot" train table.toml --set data.file=classes.csv --set data.held_back=0 --set "model.layers=$norm" --batch 133 --epochs 1 --out norm --quiet # 400 = 3 * 133 + 1
sed -i 's/^report = .*/report = true/' table.toml
"$ingot" train table.toml --set data.file=classes.csv --set train.patience=2 --set train.ema=0.9 --set optimizer.lr=0.1 --epochs 40 --out patient >patient.txt
grep -q "(the weights after epoch [0-9]*)" patient.txt || fail "it does not say which weights it keeps"
weights() { tail -c +9 "$1" | python3 -c 'import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[data.rindex(b"}") + 1:])'; }
best=$(python3 -c 'import json; print(min(json.loads(line)["test"]["loss"] for line in open("patient/metrics.jsonl")))')
[ "$(wc -l <patient/metrics.jsonl)" -lt 40 ] || fail "it did not stop early"
is "abs(said[0]['loss'] - $best) < 1e-5" eval patient
cp patient/model.safetensors before.safetensors
"$ingot" train patient --resume --quiet # at its end already
cmp <(weights patient/model.safetensors) <(weights before.safetensors) || fail "resumed: not the best weights"
refused "is the checkpoint of a run" predict patient/checkpoint.safetensors binary.csv
refused 'is one of "table", not of "digits"' train digits --resume --out patient
"$ingot" train table.toml --out busy --quiet --epochs 100000 &
pid=$!
while [ ! -s busy/config.toml ]; do sleep 0.01; done
refused "another process is at work" train busy --resume
kill -KILL $pid && wait $pid 2>/dev/null || true
refused "a run goes on as it began" train busy --resume --set train.batch=7 # the lock is gone with its process
refused "epochs already" train patient --resume --epochs 1
refused '"ema" must be below 1' train table.toml --set train.ema=1
refused '"beta1" must be below 1' train table.toml --set optimizer.beta1=1
refused '"eps" must be above 0' train table.toml --set optimizer.eps=0
refused "table.toml:1:1: " train table.toml --set 'data.transforms=[{ type = "flip" }]'
refused "/dev/zero" train /dev/zero

echo "--- hostile models"
cat >damage.py <<'PYTHON'
import json, struct, sys
source, target, key, value = sys.argv[1:]
data = open(source, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
task = json.loads(header["__metadata__"]["ingot.task"])
task[key] = json.loads(value)
header["__metadata__"]["ingot.task"] = json.dumps(task)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(target, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
damaged() { # MODEL KEY VALUE [ARGUMENTS]: predictions are refused
  python3 damage.py "$1/model.safetensors" damaged.safetensors "$2" "$3"
  refused "what the model says about its data" predict damaged.safetensors "${@:4}"
}
damaged table target_deviation '[]' "$data/heating.csv"
damaged table target_mean '[1, 2, 3]' "$data/heating.csv"
damaged table deviation '[0, 0, 0, 0, 0, 0, 0, 0]' "$data/heating.csv"
damaged table input '[0]' "$data/heating.csv"
damaged table input '[4000000000, 4000000000]' "$data/heating.csv"
damaged table input '"x"' "$data/heating.csv"
damaged first column_numbers '[0, 99]' "$data/heating.csv"
damaged classes class_names '["one"]' "$data/heating.csv"
damaged classes classes -3 "$data/heating.csv"
damaged text vocabulary '[97]' --prompt a
damaged text vocabulary '[97, 98, 99, 1000, 3]' --prompt a
damaged text input '[]' --prompt a
damaged text rows -1 --prompt a
echo "all good"
