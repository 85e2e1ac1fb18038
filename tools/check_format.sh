#!/usr/bin/env bash
# Every tracked source is formatted as .clang-format says.
set -euo pipefail
cd "$(dirname "$0")/.."
wrong=$(git ls-files -z '*.cc' '*.h' | xargs -0 -r clang-format-14 --dry-run --ferror-limit=1 2>&1 | sed -n 's/: warning: code should be clang-formatted.*//p')
if [ -n "$wrong" ]; then
  printf '%s\nRun ./dev format.\n' "$wrong"
  exit 1
fi
