#!/usr/bin/env bash
# build.sh BUILD_DIR: builds the fuzz targets of preset asan into BUILD_DIR.
set -eu
cmake --preset asan -B "$1" >"$1.log" 2>&1 || { cat "$1.log"; exit 1; }
cmake --build "$1" --target fuzz -- --quiet
