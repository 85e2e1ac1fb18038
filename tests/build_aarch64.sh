#!/usr/bin/env bash
# build_aarch64.sh BUILD_DIR [TARGET...]: cross-compiles targets of preset aarch64, all its tests unless told otherwise.
set -eu
cmake --preset aarch64 -B "$1" >"$1.log" 2>&1 || { cat "$1.log"; exit 1; }
build=$1
shift
[ $# -gt 0 ] || set -- ingot_tests
cmake --build "$build" --target "$@" -- --quiet
