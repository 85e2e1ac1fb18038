#!/usr/bin/env bash
# check_circuit.sh INGOT: a circuit's file from the command line: simplified, proved, run, exported; refusals are sentences.
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"
# says "WORDS" ARGUMENTS...: it succeeds and says these words.
says() {
  local words=$1
  shift
  "$ingot" circuit "$@" >out.txt 2>&1 || { cat out.txt && fail "ingot circuit $*"; }
  grep -qF -- "$words" out.txt || { cat out.txt && fail "ingot circuit $*: no \"$words\" in the above"; }
}

# The Game of Life by its table: a gate chain per neighbourhood, as clumsy as a circuit can be.
python3 - <<'PYTHON'
import json
gates = []
def gate(f, a, b):
    gates.append([f, a, b])
    return 8 + len(gates)
result = gate("false", 0, 0)
for bits in range(512):
    count = bin(bits & ~16).count("1")
    if count == 3 or (count == 2 and bits & 16):
        term = gate("true", 0, 0)
        for i in range(9):
            term = gate("and" if bits >> i & 1 else "and_not", term, i)
        result = gate("or", result, term)
cell = {"channels": 1, "border": "wrap"}
circuit = {"format": "ingot circuit", "version": 1, "name": "life", "inputs": 9, "cell": cell, "gates": gates, "outputs": [result]}
json.dump(circuit, open("life.json", "w"))
circuit["gates"][-1][1] = 1000000000
json.dump(circuit, open("far.json", "w"))
circuit["gates"][-1][1] = result
json.dump(circuit, open("cycle.json", "w"))
PYTHON

echo "--- simplify and verify"
says "the rule of a cell with 1 channel, border wrap, 1,541 gates" info life.json
says "gates, written to small.igc" simplify life.json --rounds 2 -o small.igc
says "equal: life.json and small.igc (all 512 assignments" verify life.json small.igc
says "all 512" verify small.igc --rule life
refused "different: small.igc and B36/S23" circuit verify small.igc --rule B36/S23
code=0
"$ingot" circuit verify small.igc --rule B36/S23 >out.txt || code=$?
[ $code -eq 3 ] || fail "different circuits: exit code $code"
sed 's/"wrap"/"zero", "fire_rate": 0.5/' life.json >slow.json
says "all 512" verify slow.json --rule life # its border and fire rate are its own
refused "do not run alike" circuit verify slow.json small.igc
says "equal" verify slow.json small.igc --all-channels
says '"equal":true' verify small.igc --rule B3/S23 --json
"$ingot" circuit info small.igc --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["gates"] < 800'

echo "--- run and export"
for file in life.json small.igc; do says '"steps":300' run $file --size 128x96 --seed 7 --png $file.png --json; done
cmp life.json.png small.igc.png || fail "the simplified rule runs differently"
says "cells on" run small.igc --start life.json.png --steps 1
says "cell/s" bench small.igc --size 64x64
for to in c verilog testbench blif aag aig dot svg json igc; do says "out.$to" export small.igc --to $to -o out.$to; done
"$ingot" circuit export small.igc --to c --main >life.c
cc -std=c99 -O1 life.c -o life
"$ingot" circuit export small.igc --to testbench --size 20x12 --steps 50 --seed 4 >test.v
iverilog -g2001 -o bench out.verilog test.v
vvp -n bench >bench.txt
grep -q "^PASS .*hash $(./life 12 20 50 4)" bench.txt || { cat bench.txt && fail "C and Verilog differ"; }
berkeley-abc -c "cec out.blif out.aig" | has "are equivalent" || fail "BLIF and AIGER differ"
says "equal" verify out.json out.igc

echo "--- refusals"
refused "cycle.json: gate 1540 reads signal 1549" circuit info cycle.json
refused "far.json: gate 1540 reads signal 1000000000" circuit simplify far.json
head -c 60 small.igc >cut.igc
refused "cut.igc: its checksum is wrong" circuit run cut.igc
refused "this is no circuit" circuit info life.c
refused "cannot be opened" circuit info nothing.json
refused "one of the two" circuit verify life.json
refused "no rule" circuit verify life.json --rule conway
refused "write WIDTHxHEIGHT" circuit run life.json --size 12
refused "no start" circuit run life.json --start sideways
refused "ends in neither" circuit simplify life.json -o small.txt
refused "no format \"xyz\"" circuit export life.json -o life.xyz
refused "no format given" circuit export life.json
refused "make the folder first" circuit export life.json -o nowhere/life.svg

[ -z "${INGOT_SANITIZED:-}" ] || exit 0 # whose own memory is in the way of what follows
echo "--- memory: what a file holds, not what it says"
python3 - "$ingot" <<'PYTHON'
import json, resource, subprocess, sys
head = '{"format": "ingot circuit", "version": 1, "inputs": 16777216, "outputs": [16777216], "gates": ['
with open("large.json", "w") as f:
    f.write(head + ",".join(['["a",0,0]'] * 1000000) + "]}")
open("wide.json", "w").write(head + '["xor",0,1]]}')
subprocess.run([sys.argv[1], "circuit", "export", "large.json", "-o", "large.igc"], check=True, stdout=subprocess.DEVNULL)
kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert kilobytes < 80000, f"{kilobytes} KB for a file of 10 MB"
PYTHON
says "equal: wide.json and wide.json (all 4 assignments" verify wide.json wide.json
(ulimit -v 30000 && refused "more memory than there is" circuit info large.json)
echo "all good"
