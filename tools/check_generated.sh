#!/usr/bin/env bash
# What is generated from the table of ops is what the generator would write now.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 tools/opgen.py --check || {
  echo "Run ./dev generate."
  exit 1
}
