#!/usr/bin/env bash
# check_ca.sh INGOT: automata from a recipe to a circuit that passed its exam; restarts, a run that goes on to the bit, pictures
# that are none, and the viewer on terminals of any size.
tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"
export INGOT_THREADS=1 # small work, and tests run side by side

echo "--- the Game of Life, proved on all 512 neighbourhoods"
"$ingot" train gol --out life >log.txt
grep -q "512 of 512 neighbourhoods" log.txt || { cat log.txt && fail "no proof"; }
for file in circuit.json circuit-simple.json exam.json attempts.jsonl model.safetensors report.html rollout.gif; do
  [ -s "life/$file" ] || fail "no $file"
done
grep -q "Exam" life/report.html && grep -q "image/png;base64" life/report.html && grep -q "Functions of the gates" life/report.html || fail "report"
# The circuit itself, by a reader of our own.
python3 - <<'PYTHON'
import json
exam = json.load(open("life/exam.json"))
assert exam["passed"] and exam["items"][0] | {"right": 512, "of": 512} == exam["items"][0], exam
attempts = [json.loads(line) for line in open("life/attempts.jsonl")]
assert attempts[-1]["exam"]["passed"] and attempts[-1]["simplified_gates"] < 150, attempts
PYTHON
"$ingot" eval life --json | python3 -c 'import json, sys; e = json.load(sys.stdin); assert e["loss"] == 0 and e["samples"] == 512, e'
"$ingot" info life | has "circuit-simple.json"
# On larger boards than it was trained on; a network of gates takes no other channels.
refused "the model takes samples of" eval life --set data.type=checkerboard

echo "--- Ctrl-C, and on: the same weights as in one go"
interrupted half/metrics.jsonl gol --out half --quiet
"$ingot" train half --resume --quiet
same_weights life/model.safetensors half/model.safetensors
same life/circuit-simple.json half/circuit-simple.json

echo "--- attempts: each begins with other wires, and the last one decides"
code=0
"$ingot" train gol --epochs 1 --set train.restarts=2 --out failing --json >lines.txt || code=$?
[ $code -eq 3 ] || fail "an exam that fails: exit code $code"
python3 - <<'PYTHON'
import json
lines = [json.loads(line) for line in open("lines.txt")]
assert [line["event"] for line in lines if "event" in line] == ["begin", "attempt", "begin", "attempt", "begin", "end"], lines
attempts = [json.loads(line) for line in open("failing/attempts.jsonl")]
assert [a["seed"] for a in attempts] == [0, 1, 2] and not any(a["exam"]["passed"] for a in attempts), attempts
assert "attempt = 2" in open("failing/config.toml").read()
PYTHON
"$ingot" train gol --out second --set train.seed=2 --epochs 1 --set train.restarts=0 --quiet || [ $? -eq 3 ]
same_weights failing/model.safetensors second/model.safetensors # attempt 3 is the run of seed 2
cp second/circuit-simple.json before.json
code=0
"$ingot" train second --resume --quiet || code=$? # there is nothing left to train: the exam once more
[ $code -eq 3 ] || fail "a second exam: exit code $code"
same before.json second/circuit-simple.json
[ "$(wc -l <second/attempts.jsonl)" -eq 1 ] || fail "the same exam is counted twice"
refused '"train.attempt" cannot change' train failing --resume --set train.attempt=0
refused '"train.restarts" cannot change' train failing --resume --set train.restarts=0
cp failing/attempts.jsonl lines.txt
"$ingot" train failing --resume --epochs 60 --set train.restarts=3 --quiet || fail "it does not go on after a failed exam"
head -3 failing/attempts.jsonl | cmp - lines.txt || fail "lines of attempts.jsonl are lost"
python3 - <<'PYTHON'
import json
def exams(folder): return [json.loads(line)["exam_number"] for line in open(f"{folder}/attempts.jsonl")]
assert exams("second") == [0] and exams("failing") == list(range(1, len(exams("failing")) + 1)) and len(exams("failing")) > 3
PYTHON

echo "--- pictures"
python3 - <<'PYTHON'
import struct, zlib
def png(name, w, h, colour, pixel):
    chunk = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(w)) for y in range(h))
    open(name, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, colour, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
png("dot.png", 5, 6, 0, lambda x, y: b"\xff" if 1 <= x <= 3 and 2 <= y <= 4 else b"\0")
png("colours.png", 4, 4, 2, lambda x, y: bytes([255 * (x > 1), 255 * (y > 1), 0]))
png("alpha.png", 4, 4, 6, lambda x, y: b"\0\0\0\0")
png("large.png", 300, 4, 0, lambda x, y: b"\0")
PYTHON
small=(--set model.layers.0.update=[64,32,16,8] --set model.layers.0.perception=[8,4,2,1] --set model.layers.0.repeat=2)
code=0
"$ingot" train ca --target dot.png --channels 8 --steps 3 "${small[@]}" --set train.epochs=2 --out dot --quiet || code=$?
[ $code -eq 0 ] || [ $code -eq 3 ] || fail "a picture of one's own: exit code $code"
grep -q "steps = 3" dot/config.toml && grep -q "channels = 8" dot/config.toml || fail "--steps, --channels"
"$ingot" train ca --target colours.png --channels 16 --steps 2 --epochs 1 --out colours --quiet || [ $? -eq 3 ]
"$ingot" ca view colours --frames 2 >frames.txt
refused "needs at least 3 channels" train ca --target colours.png --channels 2
refused "has transparency" train ca --target alpha.png
refused "300 × 4 pixels" train ca --target large.png
refused "No such file" train ca --target nothing.png
refused "begin as PNG" train ca --target dot/config.toml
refused "must begin with eight gates" train gol --set model.layers.0.perception=[4]
refused "end with a gate per channel" train gol --set model.layers.0.update=[64,2]
refused '"border" is zero or wrap' train gol --set model.layers.0.border=none
refused "squared_error_sum is the loss of boards" train gol --set loss.type=mse
refused "squared_error_sum is the loss of boards" train regression --set loss.type=squared_error_sum

echo "--- a classifier made of gates: its circuit decides as the model does"
cat >votes.toml <<'TOML'
[data]
type = "digits"
normalize = false
[model]
layers = [
  { type = "binarize", levels = [0.3, 0.7] },
  { type = "gate_network", widths = [400, 400], wiring = "learned", candidates = 8, pass = 0.0, noise = 1.0, harden = 0.9 },
  { type = "group_sum", tau = 3.0 },
]
[loss]
type = "cross_entropy"
[optimizer]
type = "adam"
lr = 0.1
[train]
epochs = 4
TOML
for options in "--quiet" "--quiet --set train.ema=0.9" "--quiet --set model.layers.1.wiring=random --set model.layers.1.pass=5.0"; do
  rm -rf votes
  "$ingot" train votes.toml --out votes $options || fail "gates that vote, $options: exit code $?"
  python3 - <<'PYTHON'
import json
same, right = json.load(open("votes/exam.json"))["items"]
assert same["right"] == same["of"] > 300 and right["right"] > 0.6 * right["of"], (same, right)
assert len(json.load(open("votes/circuit.json"))["gates"]) == 800
PYTHON
  "$ingot" eval votes --json | python3 -c '
import json, sys
right = json.load(open("votes/exam.json"))["items"][1]
accuracy = json.load(sys.stdin)["accuracy"]
assert abs(accuracy - right["right"] / right["of"]) < 1e-6, (accuracy, right)'
done
grep -q "Functions of the gates" votes/report.html || fail "report of a classifier"
refused "is random, unique or learned" train votes.toml --set model.layers.1.wiring=none
refused "an even number" train votes.toml --set model.layers.1.candidates=3

echo "--- a checkerboard of cells that do not move in step, one update"
"$ingot" train checkerboard-async --epochs 1 --set train.batches=1 --set train.restarts=0 --out async --quiet || [ $? -eq 3 ]
# No board of the test is left out, whatever the batch is.
"$ingot" eval async --json --set train.batch=5 --set data.test_boards=12 | python3 -c 'import json, sys; e = json.load(sys.stdin); assert e["samples"] == 12, e'

echo "--- the viewer"
[ "$("$ingot" ca view life --frames 3 --size 10x6 | grep -c "step")" -eq 3 ] || fail "frames"
refused "this is no terminal" ca view life
mkdir empty && cp life/config.toml empty
refused "has no circuit" ca view empty
refused "No such file" ca view nothing.json
refused "no start" ca view life --start nowhere
refused "write WIDTHxHEIGHT" ca view life --size 0x4 --frames 1
refused "sides up to" ca view life --size 5000x4 --frames 1
PYTHONPATH=$tests python3 - "$ingot" <<'PYTHON'
import signal, sys, terminal
def view(rows, columns, keys, end=None):
    return terminal.view([sys.argv[1], "ca", "view", "life", "--speed", "60"], rows, columns, keys, b"step", end)
code, text = view(24, 80, [b" ", b"s", b".", b"\x1b[A", b"\x1b[D", b"d", b"\r", b"r", b"+", b"-", b" ", b"q"])
assert code == 0 and "▀" in text and "paused" in text and "step 0" in text, (code, text[:300])
for rows, columns in [(1, 1), (2, 3), (3, 20), (200, 300)]:
    assert view(rows, columns, [b"s", b"d", b"q"])[0] == 0, (rows, columns)
assert view(24, 80, [b"\x03"])[0] == 0  # Ctrl-C
assert view(24, 80, [], signal.SIGTERM)[0] == 128 + signal.SIGTERM
PYTHON
echo "All is well."
