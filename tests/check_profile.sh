#!/usr/bin/env bash
# check_profile.sh INGOT: what `ingot profile` prints and writes can be read by those it is for, and mistakes get a sentence.
set -euo pipefail
ingot=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

for example in mlp dqn cnn chain; do
  "$ingot" profile "$example" --runs 3 --batch 16 --trace trace.json --dot plan.dot --svg plan.svg >table.txt
  grep -q "of the time is in" table.txt
  "$ingot" profile "$example" --captured --batch 16 --dot captured.dot --svg captured.svg --dump >dump.txt
  "$ingot" profile "$example" --batch 16 --dump | diff dump.txt -
  "$ingot" profile "$example" --batch 16 --describe >words.txt
  grep -q "^steps" words.txt
  "$ingot" profile "$example" --runs 3 --batch 16 --threads 1 --json >report.json
  python3 - <<'PYTHON'
import json
import xml.dom.minidom

for name in ("plan.svg", "captured.svg"):
    xml.dom.minidom.parse(name)
report = json.load(open("report.json"))
assert abs(sum(s["share"] for s in report["steps"]) + report["rest_share"] - 1) < 1e-6, report
assert all(s["us"] > 0 for s in report["steps"]) and report["threads"] == 1, report
events = json.load(open("trace.json"))["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
assert slices and all(e["dur"] >= 0 and "step" in e["args"] for e in slices), events
PYTHON
  if command -v dot >/dev/null; then
    dot -Tplain plan.dot captured.dot >/dev/null
  fi
done

# refused "WORDS" ARGUMENTS...: the program fails with a sentence that has these words.
refused() {
  local words=$1
  shift
  if "$ingot" profile "$@" >out.txt 2>&1; then
    echo "profile $* should fail" && exit 1
  fi
  grep -qF -- "$words" out.txt || { echo "profile $*: no \"$words\" in:" && cat out.txt && exit 1; }
}
refused "there is no example, recipe or file \"nope\" — there are mlp, dqn, cnn, chain, " nope
refused "0 runs — give 1 to 1000000" mlp --runs 0
refused "outside 1 to 256" mlp --threads 300
refused "not in range" mlp --batch 0
refused "the passes are cse, fold" mlp --without nope
refused "cannot write nowhere/trace.json: No such file" chain --runs 1 --trace nowhere/trace.json
refused "EXAMPLE is required"
"$ingot" profile --help >help.txt
grep -q "ui.perfetto.dev" help.txt
