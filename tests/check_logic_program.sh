#!/usr/bin/env bash
# check_logic_program.sh INGOT: what `ingot logic` prints for the examples, and its exit codes.
set -euo pipefail
ingot=$(readlink -f "$1")
cd "$(dirname "$0")/../examples/logic"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}
# expect TEXT COMMAND...: the output is exactly that.
expect() {
  local found
  found=$("${@:2}") || fail "failed: ${*:2}"
  [ "$found" = "$1" ] || fail "${*:2} printed
$found
instead of
$1"
}
# mentions TEXT COMMAND...: the output has it somewhere.
mentions() {
  "${@:2}" >"$work/shown" 2>&1 || true
  grep -qF -- "$1" "$work/shown" || fail "${*:2} does not mention $1: $(cat "$work/shown")"
}
# exits CODE COMMAND...
exits() {
  local code=0
  "${@:2}" >"$work/shown" 2>&1 || code=$?
  [ "$code" = "$1" ] || fail "${*:2} exits with $code instead of $1"
}

mentions 'ancestor("ann", "gus")   by line 9' "$ingot" logic run family.rules
mentions '└─ parent("fay", "gus")   given' "$ingot" logic run family.rules
mentions 'x = fay' "$ingot" logic run family.rules
expect 'distance("A", x, d)?
  x = A, d = 11
  x = B, d = 4
  x = C, d = 3
  x = D, d = 6' "$ingot" logic run shortest.rules
expect 'unreachable(2, x)?
  x = 3
  x = 4
  x = 5
dead_end(x)?
  x = 4
  x = 5' "$ingot" logic run unreachable.rules
expect 'points_to	5' "$ingot" logic run points_to.dl -D "$work"
[ "$(cat "$work/points_to.csv")" = $'p\ta\na\tb\nq\tb\nr\ta\ns\tb' ] || fail "points_to.csv is $(cat "$work/points_to.csv")"
expect 'points_to	5
points_to("s", x)?
  x = b' "$ingot" logic run points_to.dl -D "$work" --query 'points_to("s", x)?'

mentions 'missing is parent("gus", "ann")' "$ingot" logic explain family.rules 'ancestor(gus, ann)'
exits 3 "$ingot" logic explain family.rules 'ancestor(gus, ann)'
exits 0 "$ingot" logic explain family.rules 'ancestor(ann, gus)'
mentions 'by components' "$ingot" logic run family.rules --plan
mentions 'rounds' "$ingot" logic run family.rules --profile
"$ingot" logic run family.rules --json | python3 -c '
import json, sys
result = json.load(sys.stdin)
assert result["relations"]["ancestor"] == 11, result
assert result["answers"][0] == {"query": "same_generation(dan, x)", "names": ["x"], "rows": [["eve"], ["fay"]]}, result'

grep -v explain network.rules >"$work/network.rules"
expect 'way(home, x)?
  x = tower   0.935
  x = city   0.8488
  x = relay   0.7
  x = sea   0.8488
alone(home)?
  yes   0.1212
late(home)?
  yes   0.04244' "$ingot" logic run "$work/network.rules"
mentions 'x = city   0.72' "$ingot" logic run network.rules --proofs 1
mentions 'It fails most probably, 0.08: there is no link("tower", "city"), there is no link("relay", "city")' "$ingot" logic run network.rules
mentions 'link("home", "tower")   given, probability 0.9' "$ingot" logic explain network.rules 'way(home, city)'
printf '0.5 :: p(1). q(x) <- p(x). output q.\n' >"$work/coin.rules"
"$ingot" logic run "$work/coin.rules" -D "$work"
[ "$(cat "$work/q.csv")" = '1,0.5' ] || fail "q.csv is $(cat "$work/q.csv")"

mentions 'ancestor(ann, x)?' "$ingot" logic learn embedding.theory
mentions '  1.0000  x = dan' "$ingot" logic learn embedding.theory --query 'ancestor(ann, x)'
printf 'rel p. param rel q. 0.5 :: p. assert known: p -> q. assert not q or q. q?\n' >"$work/small.theory"
"$ingot" logic learn "$work/small.theory" --steps 300 >"$work/shown"
grep -q '^0.9[0-9]*  known$' "$work/shown" || fail "small.theory: $(cat "$work/shown")"
exits 2 "$ingot" logic learn "$work/small.theory" --query 'r?'
mentions 'question:1:1: nothing says what "r" is' "$ingot" logic learn "$work/small.theory" --query 'r'
exits 2 "$ingot" logic learn game.theory --query 'x'
mentions 'q?  0.5' "$ingot" logic run "$work/small.theory"
mentions 'no semantics "godle"' "$ingot" logic run "$work/small.theory" --semantics godle
mentions 'has exact rules' "$ingot" logic learn family.rules
mentions 'is for exact rules' "$ingot" logic run "$work/small.theory" --memory 1g
mentions 'q   0.99' "$ingot" logic learn "$work/small.theory" --steps 300 --save "$work/q.safetensors" --explain q
mentions 'learned' "$ingot" logic explain "$work/small.theory" q --load "$work/q.safetensors"
mentions 'q?  0.99' "$ingot" logic run "$work/small.theory" --load "$work/q.safetensors"
"$ingot" logic run "$work/small.theory" --json | python3 -c '
import json, sys
result = json.load(sys.stdin)
assert [a["name"] for a in result["assertions"]] == ["known", "not q or q"], result
assert result["answers"][0]["query"] == "q" and len(result["answers"][0]["truths"]) == 1, result'

# A theory whose domain and facts come from files, and whose results go to one.
printf 'ann,bob\nbob,"cid"\ncid,dan,0.5\n' >"$work/parents.csv"
printf 'semantics godel. domain person = "parents.csv" 1, 2.\nrel parent(person, person) "parents.csv".
ancestor(x, y) <- parent(x, y).\nancestor(x, z) <- ancestor(x, y), parent(y, z).\noutput ancestor. ancestor(ann, x)?\n' >"$work/family.theory"
mentions '0.5000  x = dan' "$ingot" logic run "$work/family.theory" -F "$work" -D "$work"
[ "$(head -2 "$work/ancestor.csv")" = $'"ann","bob",1\n"ann","cid",1' ] || fail "ancestor.csv is $(cat "$work/ancestor.csv")"
expect 'ancestor(ann, cid)   1   by line 4
├─ ancestor(ann, bob)   1   by line 3
│  └─ parent(ann, bob)   1   given
└─ parent(bob, cid)   1   given' "$ingot" logic explain "$work/family.theory" 'ancestor(ann, cid)' -F "$work"
exits 4 "$ingot" logic run "$work/family.theory" -F /nowhere

# Samples of a batch: rounds of a game, from NumPy.
python3 - "$work/games.npz" <<'PY'
import random, struct, sys, zipfile
random.seed(1)
wins = {(0, 2), (0, 3), (1, 0), (1, 4), (2, 1), (2, 3), (3, 1), (3, 4), (4, 0), (4, 2)}
n = 200
first, second, score = [0.0] * (n * 15), [0.0] * (n * 15), [0.0] * (n * 4)
for m in range(n):
    won = 0
    for r in range(3):
        a, b = random.randrange(5), random.randrange(5)
        first[m * 15 + r * 5 + a] = second[m * 15 + r * 5 + b] = 1.0
        won += (a, b) in wins
    score[m * 4 + won] = 1.0
def npy(values, shape):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * ((64 - (len(head) + 11) % 64) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values)
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for name, values, shape in ("first", first, (n, 3, 5)), ("second", second, (n, 3, 5)), ("score", score, (n, 4)):
        z.writestr(name + ".npy", npy(values, shape))
PY
"$ingot" logic learn game.theory --batch "$work/games.npz" --steps 200 --lr 0.1 --query 'beats(rock, scissors)' --query 'won(m, 0)' \
  --explain 'right(5)' >"$work/shown" || fail "game.theory: $(cat "$work/shown")"
grep -q 'beats(rock, scissors)?  0.9' "$work/shown" || fail "the game was not learned: $(cat "$work/shown")"
grep -q '  m = 199' "$work/shown" || fail "no answer for each sample: $(cat "$work/shown")"
grep -q 'score(5, .) *1 *in the batch' "$work/shown" || fail "no proof of a sample: $(cat "$work/shown")"
exits 2 "$ingot" logic run family.rules --batch "$work/games.npz"
printf 'ann;bob\n' >"$work/parents.csv"
mentions 'parents.csv:1: there is no column 2' "$ingot" logic run "$work/family.theory" -F "$work"
exits 2 "$ingot" logic run family.rules --semantics godel
mentions 'x = city   0.72' "$ingot" logic run network.rules --semantics 'proofs 1'

# What is no number, or no truth, is never printed as one.
cd "$work"
printf 'domain person = {ann, bob, cid}. param rel s(person). assert a: forall x: s(x). s(x)?\n' >n.theory
exits 2 "$ingot" logic learn n.theory --lr nan --steps 3
"$ingot" logic learn n.theory --steps 3 --save new/folder/s.safetensors >shown
"$ingot" logic learn n.theory --steps 3 --load new/folder/s.safetensors --save new/folder/s.safetensors >shown
python3 - new/folder/s.safetensors nan.safetensors <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
begin = 8 + struct.unpack("<Q", data[:8])[0]
open(sys.argv[2], "wb").write(data[:begin] + struct.pack("<3f", 0, float("nan"), 1))
PY
exits 8 "$ingot" logic learn n.theory --steps 0 --load nan.safetensors
printf 'domain n: 3. param tensor W[n]. tensor y[n]. y[i] = log(0 - W[i] * W[i]). assert a: forall i in n: y[i].\n' >log.theory
exits 8 "$ingot" logic run log.theory
exits 8 "$ingot" logic learn log.theory --steps 3
mentions 'assertion "a" in line 1 comes to nan' "$ingot" logic learn log.theory --steps 3
printf 'domain n: 1. tensor W[n]. tensor y[n]. W[0] = 1. y[i] = 3 * W[i]. assert a: forall i in n: y[i].\n' >three.theory
exits 8 "$ingot" logic run three.theory
mentions 'put sig' "$ingot" logic run three.theory
printf 'domain person = {ann, bob, cid}. rel s(person). 0.2 :: s(ann). assert e: exists x: s(x).\n' >large.theory
mentions '0.1979  e' "$ingot" logic run large.theory --semantics 'ltn 100'

# Nothing is written over what was read.
printf '1,2\n' >r.csv
printf 'input rel r(number, number) "r.csv". r(2, 3). output r "r.csv".\n' >over.rules
exits 2 "$ingot" logic run over.rules
[ "$(cat r.csv)" = '1,2' ] || fail "r.csv was written over"
printf 'p(1). output p "self.rules".\n' >self.rules
mentions 'is read by this run' "$ingot" logic run self.rules
"$ingot" logic run self.rules -D deep/folder
[ "$(cat deep/folder/self.rules)" = 1 ] || fail "-D makes no folder"
printf 'ann\n' >s0.csv
printf 'domain person = {ann, bob}. param rel s(person) "s0.csv". assert a: s(bob). output s "s0.csv".\n' >s0.theory
exits 2 "$ingot" logic learn s0.theory --steps 1
exits 2 "$ingot" logic learn s0.theory --steps 1 -D deep/folder --save s0.theory
exits 0 "$ingot" logic learn s0.theory --steps 1 -D deep/folder

printf 'domain n: 3. param rel s(n). param tensor W[n]. assert a: forall x: s(x).\n' >unused.theory
mentions 'unused.theory:1:43: "W" is learned, and used by no assertion' "$ingot" logic learn unused.theory
mentions 'it lacks W — this one learns s, W' "$ingot" logic learn unused.theory --load new/folder/s.safetensors
cd "$OLDPWD"
mentions 'give it: --batch FILE' "$ingot" logic learn game.theory

printf 'p(x) <- q(x).\n' >"$work/wrong.rules"
exits 2 "$ingot" logic run "$work/wrong.rules"
mentions 'wrong.rules:1:9: nothing says what "q" is' "$ingot" logic run "$work/wrong.rules"
exits 4 "$ingot" logic run "$work/missing.rules"
printf 'p(0, 0). p(x, z) <- p(x, y), z = y + 1.\n' >"$work/endless.rules"
exits 7 "$ingot" logic run "$work/endless.rules" --memory 1m
exits 2 "$ingot" logic run family.rules --memory much
expect 'path(1, x)?
  x = 2
  x = 3' "$ingot" logic repl <<'TEXT'
edge(1, 2). edge(2, 3).
path(x, y) <- edge(x, y).
path(x, z) <- path(x, y),
              edge(y, z).
path(1, x)?
:quit
TEXT
code=0
printf 'p(1' | "$ingot" logic repl >"$work/shown" || code=$?
[ "$code" = 2 ] && grep -q 'end of the text' "$work/shown" || fail "an unfinished statement: $code, $(cat "$work/shown")"
