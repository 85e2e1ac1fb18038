#!/usr/bin/env bash
# check_hostile.sh INGOT: the program's bad days: files that nobody wrote in good faith, signals, closed descriptors, full disks.
# Each gets a sentence and an exit code by kind, soon and without much memory.
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../data
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"
has_circuits=$("$ingot" --help | grep -c '^ *circuit ' || true)

# ends CODE "WORDS" ARGUMENTS...: the program ends with this code and says these words, in at most 2,000 characters.
ends() {
  local wanted=$1 words=$2 code=0
  shift 2
  local what="ingot ${*:1}"
  what=${what:0:100}
  env "${with[@]}" "$ingot" "$@" >out.txt 2>&1 </dev/null || code=$?
  [ "$code" -eq "$wanted" ] || { head -c 2000 out.txt && fail "$what: exit code $code, not $wanted"; }
  grep -qF -- "$words" out.txt || { head -c 2000 out.txt && fail "$what: no \"$words\" in the above"; }
  [ "$(wc -c <out.txt)" -lt 20000 ] || fail "$what: $(wc -c <out.txt) bytes of words"
  if grep -q "json.exception\|filesystem error" out.txt; then cat out.txt && fail "$what: another library's words"; fi
}
# no_escapes FILE: nothing in it controls a terminal.
no_escapes() {
  python3 - "$1" <<'PYTHON'
import sys
text = open(sys.argv[1], "rb").read()
bad = [c for c in text.decode("utf-8", "replace") if (ord(c) < 32 and c not in "\n\t\r") or 127 <= ord(c) < 160]
assert not bad, (bad[:3], text[:500])
PYTHON
}

cat >small.toml <<'TOML'
[data]
type = "digits"
[model]
layers = [{ type = "flatten" }, { type = "linear", out = 16 }, { type = "relu" }, { type = "linear" }]
[train]
epochs = 2
[output]
report = false
TOML
cat >table.toml <<TOML
[data]
type = "csv"
file = "table.csv"
[model]
layers = [{ type = "linear", out = 4 }, { type = "relu" }, { type = "linear" }]
[loss]
type = "mse"
[train]
epochs = 2
[output]
report = false
TOML
"$ingot" train small.toml --out small --quiet

echo "--- numbers that are none, in what is trained on and in what is tested with; folders and layers that do not fit"
printf 'a,b,y\n1,nan,2\n2,3,4\n1,2,3\n' >unknown.csv
printf 'a,b,y\n1,2,2\n2,3,4\n1,2,3\n' >known.csv
ends 8 "the inputs hold numbers that are not finite" train table.toml --set data.file=unknown.csv
ends 8 "the inputs hold numbers that are not finite" train table.toml --set data.file=known.csv --set data.test_file=unknown.csv
printf 'a,b,y\n1,2,inf\n2,3,4\n1,2,3\n' >unknown.csv
ends 8 "the targets hold numbers that are not finite" train table.toml --set data.file=known.csv --set data.test_file=unknown.csv
"$ingot" train table.toml --set data.file=known.csv --out known --quiet
ends 8 "not finite" eval known --set data.file=unknown.csv
mkdir empty
ends 4 "has no subfolders" train small.toml --set 'data={type="png_folder",folder="empty"}'
ends 5 "LSTM: x is [2, 1, 8, 8] — it must be" train small.toml --set 'model.layers=[{type="lstm",hidden=4},{type="linear"}]'

echo "--- what one can do"
"$ingot" >out.txt
grep -q "train " out.txt && grep -q "For instance" out.txt || fail "ingot alone"
"$ingot" data >out.txt
grep -q "ingot data get mnist" out.txt || fail "ingot data alone"
ends 2 "\`ingot train --help\`" train
ends 2 "\`ingot predict --help\`" predict small --length abc
ends 2 "\`ingot --help\`" --nope
ends 2 "all cores here" eval small --threads 999
commands=(train eval predict info recipes data "data get" profile doctor ops completion)
[ "$has_circuits" -eq 0 ] || commands+=(circuit "circuit info" "circuit verify" ca "ca view")
for command in "${commands[@]}"; do
  # shellcheck disable=SC2086
  "$ingot" $command --help >out.txt
  grep -q "ingot ${command%% *}" out.txt || fail "$command --help has no example of its own"
  ! grep -q "what this machine can do" out.txt || fail "$command --help has the examples of all"
done

echo "--- descriptions"
python3 - <<'PYTHON'
open("dots.toml", "w").write("a" + ".a" * 50000 + " = 1\n")
open("long.toml", "w").write('name = "' + "x" * 2000000 + '" nonsense\n')
open("key.toml", "w").write("k" * 2000000 + " = 1\n")
PYTHON
ends 2 "nested too deeply" train dots.toml
ends 2 "nonsense" train long.toml
ends 2 "there is no section or key" train key.toml
ends 2 "nested too deeply" train small.toml --set "$(python3 -c 'print("a" + ".a" * 50000 + "=1")')"
ends 2 "control characters" train small.toml --set "name=$(printf 'a\033[2J')"
ends 4 "there is no" train "$(printf 'x%.0s' {1..5000})"
ends 4 "there is no" info "$(printf 'x%.0s' {1..5000})"
ends 4 "cannot be made" train small.toml --out "$(printf 'x%.0s' {1..5000})"
with=(INGOT_THREADS=abc)
ends 2 "ingot: INGOT_THREADS" train small.toml --out never
with=()

echo "--- model files"
cat >damage.py <<'PYTHON'
import json, struct, sys
source, target, old, new = sys.argv[1:]
data = open(source, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
meta = header["__metadata__"]
for key, text in meta.items():
    if old in text:
        meta[key] = text.replace(old, eval(new))
        break
else:
    raise SystemExit(f"{old} is nowhere")
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(target, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
cat >modest.py <<'PYTHON'
# modest.py MEGABYTES COMMAND...: the command fails with a sentence and takes at most so much memory.
import os, resource, subprocess, sys
run = subprocess.run(sys.argv[2:], capture_output=True, timeout=120)
words = (run.stdout + run.stderr).decode("utf-8", "replace")
assert 0 < run.returncode < 126 and words.startswith("ingot: "), (run.returncode, words[-500:])
megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
assert "INGOT_SANITIZED" in os.environ or megabytes < float(sys.argv[1]), (megabytes, words)  # the sanitizer takes its own
PYTHON
damaged() { # OLD NEW: the model with another description or task, refused in little memory
  python3 damage.py small/model.safetensors damaged.safetensors "$1" "$2"
  python3 modest.py "${limit:-1500}" "$ingot" predict damaged.safetensors "$data/seven.png" || fail "a model with $2"
}
damaged 'name = ' '"a" + ".a" * 50000 + " = 1\nname = "'
damaged 'out = 16' '"out = 10000000"'
damaged 'type = "flatten"' '"type = \"pad\", before = [0, 16000, 16000], after = [0, 0, 0] }, { type = \"flatten\""'
limit=800 damaged '"target":[]' '"\"target\":[67108864]"'
python3 - <<'PYTHON'
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
side = 14000
open("large.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
    chunk(b"IDAT", zlib.compress(bytes(side * 3 + 1) * side, 9)) + chunk(b"IEND", b""))
PYTHON
python3 modest.py 120 "$ingot" predict small large.png || fail "a large picture"
ends 5 "14000 x 14000 pixels, the model takes 8 x 8" predict small large.png
"$ingot" train digits --epochs 2 --out digits --quiet
"$ingot" predict digits "$data/seven.png" | has " 7 " || fail "seven.png is no seven"

echo "--- names"
printf 'h\344user,b,y\n%s' "$(seq 1 60 | sed 's/.*/&,&,&/')" >latin.csv
ends 4 "is no UTF-8" train table.toml --set data.file=latin.csv --out latin
[ ! -e latin ] || fail "a folder, though the names are refused"
mkdir "$(printf 'h\344user')"
seq 1 60 | sed 's/.*/&,&,&/' | tee table.csv >"$(printf 'h\344user')/table.csv"
ends 2 "is no UTF-8" train table.toml --set data.file="$(printf 'h\344user')/table.csv" --out latin
"$ingot" train table.toml --out tables --quiet
for class in a "$(printf 'h\344')"; do mkdir -p "pictures/$class" && cp "$data/seven.png" "pictures/$class"; done
ends 4 "the name of class 1" train small.toml --set data.type=png_folder --set data.folder=pictures --set data.held_back=0 --out latin
[ ! -e latin ] || fail "a folder, though the names are refused"
escape=$(printf 'x\033[31m\302\2332J')
"$ingot" train small.toml --out "run$escape" >out.txt
no_escapes out.txt
"$ingot" train small.toml --json --out "json$escape" >out.txt
no_escapes out.txt
cp table.csv "in$escape.csv"
cp "$data/seven.png" "in$escape.png"
for words in "info run$escape" "eval run$escape" "eval run$escape --json" "predict run$escape in$escape.png" "info in$escape.csv" \
  "info run$escape/model.safetensors" "info run$escape --json" "predict tables in$escape.csv"; do
  # shellcheck disable=SC2086
  "$ingot" $words >out.txt 2>&1 || { cat -v out.txt && fail "ingot $words"; }
  no_escapes out.txt
done
for words in "eval none$escape" "--none$escape" "train none$escape" "info none$escape"; do
  # shellcheck disable=SC2086
  "$ingot" $words >out.txt 2>&1 && fail "ingot $words"
  no_escapes out.txt
done

echo "--- tables and pictures"
tr , ';' <table.csv >semicolons.csv
"$ingot" train table.toml --set data.file=semicolons.csv --out semicolons >out.txt
grep -qF 'columns are separated by ";", it seems' out.txt || fail "a guess that is not told"
same_weights tables/model.safetensors semicolons/model.safetensors
"$ingot" predict tables semicolons.csv | sed 's/^[^ ]*//' >semicolons.txt
"$ingot" predict tables table.csv | sed 's/^[^ ]*//' | cmp - semicolons.txt || fail "a table with other separators"
printf 'a,b,y\n1,2,2\n2,nan,4\n' >unknown.csv
ends 8 "there is no answer for sample 1, which holds numbers that are not finite" predict tables unknown.csv
ends 2 "nan is no number" predict tables table.csv --temperature nan
sed 's/,/ /g' table.csv >blanks.csv
ends 4 'blanks.csv: line 2' train table.toml --set data.file=blanks.csv --set data.header=yes --out never
ends 4 'Set "separator"' train table.toml --set data.file=blanks.csv --set data.header=yes --out never
ends 4 "--set data.file=nowhere.csv: load_csv: $folder/nowhere.csv: cannot be opened" train table.toml --set data.file=nowhere.csv
cp table.toml broken.toml
sed -i 's/table.csv/broken.csv/' broken.toml
printf 'a,b,c\n1,2,3\n1,x,3\n' >broken.csv
ends 4 "broken.toml:3:8: load_csv: $folder/broken.csv: line 3, column 2 (\"b\"): \"x\" is not a number" train broken.toml
"$ingot" info table.csv | has "60 x\|\[60, 3\]" || fail "info of a table"
"$ingot" info "$data/seven.png" | has "PNG picture" || fail "info of a picture"
ends 4 "does not begin as safetensors files do" info small.toml
printf 'abc\303\251\n%.0s' {1..400} >text.txt
printf 'abc\303\274\n%.0s' {1..400} >other.txt
cat >text.toml <<'TOML'
[data]
type = "text"
file = "text.txt"
length = 8
[model]
layers = [{ type = "embedding", width = 8 }, { type = "linear" }]
[train]
epochs = 1
batches = 20
[output]
report = false
TOML
"$ingot" train text.toml --out text --quiet
ends 2 'never seen the character "ü"' predict text --prompt ü
ends 2 'never seen the character "ü"' eval text --set data.file=other.txt

echo "--- a run goes on as it began, whoever edits its description"
cp -r small edited
sed -i 's/^held_back = .*/held_back = 0.5/' edited/config.toml
ends 2 "a run goes on as it began" train edited --resume
cp -r small edited_epochs
sed -i 's/^epochs = .*/epochs = 3/' edited_epochs/config.toml
"$ingot" train edited_epochs --resume --quiet
[ "$(wc -l <edited_epochs/metrics.jsonl)" -eq 3 ] || fail "more epochs by an edit"
cat >counter.py <<'PYTHON'
import json, struct, sys
path, key, value = sys.argv[1:]
data = open(path, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
assert key in header["__metadata__"], header["__metadata__"].keys()
header["__metadata__"][key] = value
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(path, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
for key in epoch position.epoch position.batch updates batches worse_epochs; do
  rm -rf counted && cp -r small counted
  python3 counter.py counted/checkpoint.safetensors $key 9223372036854775807
  ends 4 "the checkpoint is damaged" train counted --resume --epochs 3
done
"$ingot" train small.toml --seed 9223372036854775807 --out seeded --quiet

echo "--- signals"
# A test that takes much longer than what is trained on: nearly all of the time is spent in it.
cat >tested.toml <<'TOML'
[data]
type = "digits"
held_back = 0.9
[model]
layers = [{ type = "conv2d", out = 32 }, { type = "relu" }, { type = "conv2d", out = 32 }, { type = "flatten" }, { type = "linear" }]
[train]
epochs = 2
batch = 1
batches = 2
[output]
report = false
checkpoint_seconds = 0
TOML
"$ingot" train tested.toml --out tested --quiet
for signal in INT TERM HUP; do
  rm -rf stopped
  "$ingot" train tested.toml --out stopped >stopped.txt &
  pid=$!
  while [ ! -s stopped/checkpoint.safetensors ]; do sleep 0.005; done
  kill -$signal $pid
  [ $signal = INT ] || kill -$signal $pid # a second one does not keep it from saving
  code=0
  wait $pid || code=$?
  [ $code -eq 130 ] || { cat stopped.txt && fail "SIG$signal: exit code $code"; }
  grep -q "everything is saved" stopped.txt || { cat stopped.txt && fail "SIG$signal: nothing is saved"; }
  "$ingot" train stopped --resume --quiet
  same_weights tested/model.safetensors stopped/model.safetensors
  [ "$(wc -l <stopped/metrics.jsonl)" -eq 2 ] || fail "SIG$signal: metrics"
done

echo "--- descriptors, limits, files that shrink"
"$ingot" train small.toml --tensorboard --out closed --quiet
for closed in "0<&-" "1>&-" "2>&-" "0<&- 1>&-" "0<&- 1>&- 2>&-"; do
  rm -rf closed_now
  code=0
  eval "\"\$ingot\" train small.toml --tensorboard --out closed_now $closed" >/dev/null 2>err.txt || code=$?
  [ -f closed_now/model.safetensors ] || fail "closed $closed: exit code $code"
  same_weights closed/model.safetensors closed_now/model.safetensors
  ! grep -aq "epoch 1/" closed_now/* || fail "closed $closed: words in a file"
done
code=0
(ulimit -f 1 && "$ingot" train small.toml --out limited --quiet) >out.txt 2>&1 || code=$?
[ $code -eq 4 ] || { cat out.txt && fail "ulimit -f: exit code $code"; }
grep -q "ulimit -f\|too large" out.txt || { cat out.txt && fail "ulimit -f: no sentence"; }
python3 - <<'PYTHON'
import struct
def npy(name, shape):
    text = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        f.truncate(f.tell() + 4 * shape[0] * shape[1])
npy("x.npy", (60000, 64))
npy("y.npy", (60000, 1))
PYTHON
sed -e 's/type = "csv"/type = "npy"\nx = "x.npy"\ny = "y.npy"\nnormalize = false/' -e '/^file/d' -e 's/epochs = 2/epochs = 100000/' table.toml >mapped.toml
"$ingot" train mapped.toml --out mapped --set output.checkpoint_seconds=0 >out.txt 2>&1 &
pid=$!
while [ ! -s mapped/checkpoint.safetensors ]; do sleep 0.01; done
truncate -s 4096 x.npy
code=0
wait $pid || code=$?
[ $code -eq 4 ] || { tail -n 3 out.txt && fail "a file that shrinks: exit code $code"; }
grep -q "became shorter" out.txt || { tail -n 3 out.txt && fail "a file that shrinks: no sentence"; }
"$ingot" info mapped/checkpoint.safetensors >/dev/null

echo "--- terminals"
cat >terminal.py <<'PYTHON'
# terminal.py VARIABLE=VALUE... -- COMMAND...: what the command writes to a terminal.
import os, pty, sys
split = sys.argv.index("--")
def child():
    for pair in sys.argv[1:split]:
        os.environ.__setitem__(*pair.split("=", 1))
    os.execvp(sys.argv[split + 1], sys.argv[split + 1:])
pid, terminal = pty.fork()
if pid == 0:
    child()
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
for variable in TERM=dumb NO_COLOR=1; do
  python3 terminal.py TERM=xterm $variable -- "$ingot" train small.toml --out "terminal-$variable" >out.txt
  ! grep -q $'\033' out.txt || fail "$variable: escape codes"
done
python3 terminal.py TERM=xterm -- "$ingot" train small.toml --out terminal >out.txt
grep -q $'\033\[1m' out.txt || fail "no colours on a terminal"

printf 'ab\033[31m\302\233%.0s' {1..400} >text.txt # a model that has learned to write escape codes
"$ingot" train text.toml --out controls --quiet
python3 terminal.py TERM=xterm -- "$ingot" predict controls --prompt a --length 200 >out.txt
no_escapes out.txt

[ "$has_circuits" -ne 0 ] || { echo "all good" && exit 0; }
echo "--- circuits"
python3 - <<'PYTHON'
import json
def circuit(name, inputs, gates, outputs, **more):
    json.dump({"format": "ingot circuit", "version": 1, "inputs": inputs, "outputs": outputs, "gates": gates, **more}, open(name, "w"))
def multiplier(name, bits, turned):
    """Shift and add; `turned`: the operands change places, which no search for equal parts sees through."""
    gates, inputs = [], 2 * bits
    def gate(f, a, b):
        gates.append([f, a, b])
        return inputs + len(gates) - 1
    a, b = list(range(bits)), list(range(bits, 2 * bits))
    if turned: a, b = b, a
    zero = gate("false", 0, 0)
    total = [zero] * (2 * bits)
    for i in range(bits):
        carry = zero
        for j in range(2 * bits - i):
            if j >= bits and carry == zero: break
            x, y = total[i + j], gate("and", a[i], b[j]) if j < bits else zero
            s = gate("xor", x, y)
            total[i + j], carry = gate("xor", s, carry), gate("or", gate("and", x, y), gate("and", s, carry))
    circuit(name, inputs, gates, total)
multiplier("times.json", 14, False)
multiplier("semit.json", 14, True)
circuit("outputs.json", 4, [["and", 0, 1]], [i % 5 for i in range(100000)])
cell = {"border": "wrap", "fire_rate": 1, "visible": 1, "steps": 5}
circuit("wide.json", 9, [["and", 0, 1]], [9], cell={**cell, "channels": 1, "height": 100000, "width": 100000})
many = 100000  # channels, of which each reads the next
circuit("channels.json", 9 * many, [["and", 0, 0]], [min(9 * (c + 1), 9 * many - 1) for c in range(many)], cell={**cell, "channels": many, "height": 8, "width": 8})
PYTHON
ends 9 "not decided" circuit verify times.json semit.json --seconds 1
ends 9 '"decided":false' circuit verify times.json semit.json --seconds 1 --json
python3 terminal.py TERM=xterm -- "$ingot" circuit verify times.json semit.json --seconds 3 >out.txt || true
grep -q "outputs proved equal, [12]" out.txt || { cat -v out.txt && fail "no progress"; }
ends 2 "say --size" circuit run wide.json
timeout 20 "$ingot" circuit export outputs.json -o outputs.svg >/dev/null || fail "an SVG of many outputs"
timeout 20 "$ingot" circuit verify channels.json channels.json >/dev/null || fail "a rule of many channels"
timeout 20 "$ingot" circuit info channels.json >/dev/null || fail "a rule of many channels"
code=0 # the next seed behind the largest
"$ingot" train gol --seed 9223372036854775807 --set train.attempt=1 --epochs 1 --out largest --quiet >out.txt 2>&1 || code=$?
[ $code -eq 3 ] || { cat out.txt && fail "the largest seed: exit code $code"; }
cp wide.json "wide$escape.json"
"$ingot" circuit info "wide$escape.json" >out.txt
no_escapes out.txt
"$ingot" circuit export outputs.json --to json >/dev/full 2>err.txt && fail "an export to a full disk"
grep -q "could not be written" err.txt
echo "all good"
