#!/usr/bin/env bash
# check_size.sh LIBRARY BYTES: the stripped library is no larger than BYTES.
set -euo pipefail
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1"
size=$(stat -c %s "$stripped")
echo "$(basename "$1"): $size bytes stripped, $2 allowed"
((size <= $2))
