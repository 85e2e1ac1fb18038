#!/usr/bin/env bash
# check_documents.sh INGOT: the documents that the program writes are what it would write now.
set -euo pipefail
docs=$(cd "$(dirname "$0")/../docs" && pwd)
stale() { echo "$1 is not what the program says: run ./dev generate" && exit 1; }
"$1" ops --markdown | diff "$docs/ops.md" - || stale docs/ops.md
"$1" recipes --keys | diff "$docs/toml.md" - || stale docs/toml.md
picture=$(mktemp)
trap 'rm -f "$picture"' EXIT
"$1" profile mlp --threads 2 --svg "$picture" >/dev/null
cmp "$docs/mlp_plan.svg" "$picture" || stale docs/mlp_plan.svg
