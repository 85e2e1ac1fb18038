#!/usr/bin/env bash
# check_cube.sh INGOT: cubes scrambled, solved, drawn and refused by the program.
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

echo "--- what a run has learned"
"$ingot" train cube2 --out learned --quiet --set agent.walk_updates=400 --set agent.exam_states=20
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
cp -r learned unfinished && rm unfinished/model.safetensors
refused "is not finished" cube solve unfinished "R U"

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
