#!/usr/bin/env bash
# check_result.sh INGOT RECIPE: a recipe trains to the result that it states. MNIST must have been fetched before (`ingot data get
# mnist`, which needs a network): without it, the recipe is skipped, and says so.
recipe=$2
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"

options=()
case $recipe in
  mnist) what='e["accuracy"] >= 0.992' ;;
  gates-mnist) what='e["accuracy"] >= 0.96' options=(--epochs 7 --set model.layers.1.harden_over=2600) ;; # the recipe's forty reach 98.3 %
  checkerboard) what='json.load(open("run/exam.json"))["passed"]' ;;
  text) what='e["loss"] <= 1.70' ;;
  *) fail "no result is known for $recipe" ;;
esac
if [[ $recipe == *mnist ]] && ! "$ingot" data get mnist >get.txt 2>&1; then
  echo "SKIPPED, there is no MNIST here: $(tail -n 1 get.txt)" && exit 77
fi
"$ingot" train "$recipe" "${options[@]}" --out run >log.txt || { code=$?; tail -n 20 log.txt && fail "$recipe: exit code $code"; }
"$ingot" eval run --json >result.json
echo "$recipe: $(cat result.json)"
python3 -c "
import json
e = json.load(open('result.json'))
assert $what, ('''$what''', e)" || fail "$recipe: worse than stated"
