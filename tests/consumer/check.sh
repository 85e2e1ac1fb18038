#!/usr/bin/env bash
# check.sh BUILD_DIR WORK_DIR CXX: installs Ingot from BUILD_DIR, then builds and runs the consumer against the installed
# tree, by CMake and by pkg-config, static and shared.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
build=$1 work=$2 cxx=$3
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"  # an installed tree may move
prefix=$work/prefix
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ingot.pc)")
libdir=$(pkg-config --variable=libdir ingot)

uses_shared() { readelf -d "$1" | grep -q 'NEEDED.*libingot'; }
expect() {  # expect KIND PROGRAM: it runs, and it is linked as KIND says
  local linked=static
  if uses_shared "$2"; then linked=shared; fi
  [ "$linked" = "$1" ] || { echo "$2 is linked to the $linked library, not the $1 one"; exit 1; }
  LD_LIBRARY_PATH=$libdir "$2"
}

for kind in static shared; do
  cmake -G Ninja -S "$source" -B "$work/$kind" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" -DINGOT_KIND=$kind >"$work/$kind.log"
  cmake --build "$work/$kind" >>"$work/$kind.log" || { cat "$work/$kind.log"; exit 1; }
  expect $kind "$work/$kind/consumer"
done
# Words of pkg-config's answers are options: splitting them is the point.
# shellcheck disable=SC2046
"$cxx" -std=c++20 $(pkg-config --cflags ingot) "$source/main.cc" -o "$work/pc-shared" $(pkg-config --libs ingot)
expect shared "$work/pc-shared"
# shellcheck disable=SC2046
"$cxx" -std=c++20 -static $(pkg-config --cflags ingot) "$source/main.cc" -o "$work/pc-static" $(pkg-config --static --libs ingot)
expect static "$work/pc-static"
if [ -x "$prefix/bin/ingot" ]; then "$prefix/bin/ingot" --version; fi
