#!/usr/bin/env bash
# check_cube.sh INGOT: cubes scrambled, solved, drawn and refused by the program.
tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"

echo "--- scrambles of a known distance are solved in just so many turns"
for distance in 0 1 6 11 14; do
  scramble=$("$ingot" cube scramble --distance $distance --plain | head -1)
  "$ingot" cube solve "$scramble" --json >solved.json
  python3 -c 'import json, sys; s = json.load(open("solved.json")); assert s["solved"] and s["length"] == int(sys.argv[1]), s' $distance
  stickers=$("$ingot" cube scramble --distance $distance --plain | sed -n 2p)
  "$ingot" cube solve "$stickers" --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["length"] == int(sys.argv[1])' $distance
done
[ "$("$ingot" cube scramble --seed 1)" = "$("$ingot" cube scramble --seed 1)" ] || fail "the same seed, another scramble"
[ "$("$ingot" cube scramble --seed 1)" != "$("$ingot" cube scramble --seed 2)" ] || fail "another seed, the same scramble"

echo "--- the 3x3x3, and films"
"$ingot" cube solve --size 3 "R U D' L" --film film.gif | has "4 quarter turns, the fewest there are"
"$ingot" cube solve --size 3 "R U D' L" --film strip.png >/dev/null
head -c 6 film.gif | has GIF89a || fail "no animation"
[ -s strip.png ] || fail "no strip"
code=0
"$ingot" cube solve --size 3 "$("$ingot" cube scramble --size 3 | head -1)" --nodes 10000 >log.txt || code=$?
[ $code -eq 3 ] && grep -q "No solution found" log.txt || fail "a cube too far away: exit code $code"
"$ingot" cube view "R U" --frames 5 | has "0 to go" || fail "view"

echo "--- turned by keys, in terminals of any size"
PYTHONPATH=$tests python3 - "$ingot" <<'PYTHON'
import signal, sys, terminal
def view(rows, columns, keys, end=None, cube="R U"):
    return terminal.view([sys.argv[1], "cube", "view", cube], rows, columns, keys, b"r u f", end)
code, text = view(24, 100, [b" ", b"q"])
assert code == 0 and "2 to go: U' R'" in text and "▀" in text, (code, text[-300:])
code, text = view(24, 100, [b"U", b"R", b" ", b"q"])  # capitals turn back
assert code == 0 and "0 to go" in text and "2 to go" not in text, (code, text[-300:])
code, text = view(24, 100, [b"f", b" ", b"q"])
assert code == 0 and "3 to go: F' U' R'" in text, (code, text[-300:])
code, text = view(24, 100, [b"s", b"z", b" ", b"q"])  # scrambled, and as it was
assert code == 0 and "scrambled" in text and "2 to go: U' R'" in text, (code, text[-300:])
code, text = view(24, 100, [b"\x1b[A", b"\x1b[D", b"x", b" ", b"q"])  # looking around turns nothing, other keys do nothing
assert code == 0 and "2 to go: U' R'" in text, (code, text[-300:])
code, text = view(30, 100, [b"l", b" ", b"q"], cube="UUUUUUUUURRRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB")
assert code == 0 and "1 to go: L'" in text, (code, text[-300:])
for rows, columns in [(1, 1), (2, 3), (3, 20), (200, 300)]:
    assert view(rows, columns, [b"r", b" ", b"q"])[0] == 0, (rows, columns)
assert view(24, 100, [b"\x03"])[0] == 0  # Ctrl-C
assert view(24, 100, [], signal.SIGTERM)[0] == 128 + signal.SIGTERM
PYTHON

echo "--- what a run has learned"
"$ingot" train cube2 --out learned --quiet --set agent.walk_updates=400 --set agent.exam_states=20
"$ingot" eval learned --set agent.beam=16 --set agent.exam_states=7 | has "^beam 16: . of 7 solved" || fail "another exam"
grep -q "A cube being solved" learned/report.html && grep -q "data:image/gif" learned/report.html || fail "no film in the report"
scramble=$("$ingot" cube scramble --distance 6 --plain | head -1)
for search in beam astar tree both; do
  "$ingot" cube solve learned "$scramble" --search $search --json >solved.json || fail "$search: exit code $?"
  python3 -c 'import json; s = json.load(open("solved.json")); assert s["solved"] and s["length"] >= s["optimum"] == 6, s'
done
"$ingot" cube view learned "R U" --frames 9 | has "0 to go" || fail "view of a run"
refused "has learned another cube" cube solve learned UUUUUUUUURRRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB
refused "there are greedy, beam, astar, tree and both" cube solve learned "R" --search best
refused "needs what a run has learned" cube solve "R U" --search beam
refused "which cube?" cube solve learned
refused "there is no run in \"forgotten\"" cube solve forgotten "R U"
cp -r learned unfinished && rm unfinished/model.safetensors
refused "is not finished" cube solve unfinished "R U"

echo "--- a switch on and off"
ablation=$tests/../tools/rl_ablation.py
python3 "$ablation" cartpole --ingot "$ingot" --out ablation --seeds 2 --only double n_step --set train.steps=2000 --set train.exam_episodes=5 >table.md 2>log.txt || { cat log.txt && fail "ablation"; }
[ "$(grep -c "| on | .* | too few seeds |" table.md)" -eq 2 ] && [ "$(find ablation -name exam.json | wc -l)" -eq 6 ] || { cat table.md && fail "ablation's table"; }
python3 "$ablation" cartpole --ingot "$ingot" --out ablation --first-seed 7 2>log.txt && fail "seeds that settings were chosen on"
grep -q "settings were chosen" log.txt || fail "ablation's refusal"

echo "--- impossible cubes"
refused "a corner is twisted" cube solve UUUFURRRFRFFDDDDLLLLBBBB
refused "wrong colours: 5 stickers are U" cube solve UUUUURRRFFFFDDDDLLLLBBBB
refused "an edge is flipped" cube solve UUUUUUUFURRRRRRRRRFUFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB
refused "wrong parity" cube solve UUUUUUUUURFRRRRRRRFRFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB
refused '"X" is none' cube solve "R X"
refused "14 are the most" cube scramble --distance 15
refused "only the 2x2x2 has a table" cube scramble --size 3 --distance 4
refused "this is no terminal" cube view
refused "ends in .gif or .png" cube solve "R U" --film film.mp4
refused "no training step over a dataset" profile cartpole
