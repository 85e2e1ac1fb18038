#!/usr/bin/env bash
# build_aarch64.sh BUILD_DIR: cross-compiles the tests of preset aarch64 into BUILD_DIR.
set -eu
cmake --preset aarch64 -B "$1" >"$1.log" 2>&1 || { cat "$1.log"; exit 1; }
cmake --build "$1" --target ingot_tests -- --quiet
