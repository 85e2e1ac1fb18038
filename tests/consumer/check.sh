#!/usr/bin/env bash
# check.sh BUILD_DIR WORK_DIR CXX IO RL RECIPE SYSTEMS: installs Ingot from BUILD_DIR, then builds and runs the consumer against the installed
# tree, by CMake and by pkg-config, static and shared; with IO=ON, that of the files library, too; with RL=ON, an environment of
# its own; with RECIPE=ON, a system of its own; with SYSTEMS=ON, a program on all of them.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
build=$1 work=$2 cxx=$3 io=$4 rl=$5 recipe=$6 systems=$7
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"  # an installed tree may move
prefix=$work/prefix
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ingot.pc)")
libdir=$(pkg-config --variable=libdir ingot)

needs() { readelf -d "$1" | grep -o "NEEDED.*$2"; }
uses_shared() { needs "$1" libingot >/dev/null; }
expect() {  # expect KIND PROGRAM: it runs, and it is linked as KIND says
  local linked=static
  if uses_shared "$2"; then linked=shared; fi
  [ "$linked" = "$1" ] || { echo "$2 is linked to the $linked library, not the $1 one"; exit 1; }
  LD_LIBRARY_PATH=$libdir "$2"
}

for kind in static shared; do
  cmake -G Ninja -S "$source" -B "$work/$kind" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" -DINGOT_KIND=$kind -DINGOT_WITH_IO="$io" -DINGOT_WITH_RL="$rl" -DINGOT_WITH_RECIPE="$recipe" -DINGOT_WITH_SYSTEMS="$systems" >"$work/$kind.log"
  cmake --build "$work/$kind" >>"$work/$kind.log" || { cat "$work/$kind.log"; exit 1; }
  expect $kind "$work/$kind/consumer"
  if [ "$io" = ON ]; then expect $kind "$work/$kind/consumer_io"; fi
  if [ "$rl" = ON ]; then expect $kind "$work/$kind/consumer_rl"; fi
  if [ "$recipe" = ON ]; then expect $kind "$work/$kind/consumer_system"; fi
  if [ "$systems" = ON ]; then expect $kind "$work/$kind/consumer_systems"; fi
done
# Words of pkg-config's answers are options: splitting them is the point.
# shellcheck disable=SC2046
"$cxx" -std=c++20 $(pkg-config --cflags ingot) "$source/main.cc" -o "$work/pc-shared" $(pkg-config --libs ingot)
expect shared "$work/pc-shared"
# shellcheck disable=SC2046
"$cxx" -std=c++20 -static $(pkg-config --cflags ingot) "$source/main.cc" -o "$work/pc-static" $(pkg-config --static --libs ingot)
expect static "$work/pc-static"
if needs "$libdir/libingot.so" 'lib\(z\|png\)'; then echo "the core library needs what only files do" && exit 1; fi
if [ "$io" = ON ]; then
  # shellcheck disable=SC2046
  "$cxx" -std=c++20 $(pkg-config --cflags ingot_io) "$source/io.cc" -o "$work/pc-io-shared" $(pkg-config --libs ingot_io)
  expect shared "$work/pc-io-shared"
  # shellcheck disable=SC2046
  "$cxx" -std=c++20 -static $(pkg-config --cflags ingot_io) "$source/io.cc" -o "$work/pc-io-static" $(pkg-config --static --libs ingot_io)
  expect static "$work/pc-io-static"
fi
if [ "$rl" = ON ]; then
  # shellcheck disable=SC2046
  "$cxx" -std=c++20 $(pkg-config --cflags ingot_rl) "$source/rl.cc" -o "$work/pc-rl-shared" $(pkg-config --libs ingot_rl)
  expect shared "$work/pc-rl-shared"
  # shellcheck disable=SC2046
  "$cxx" -std=c++20 -static $(pkg-config --cflags ingot_rl) "$source/rl.cc" -o "$work/pc-rl-static" $(pkg-config --static --libs ingot_rl)
  expect static "$work/pc-rl-static"
fi
if [ "$systems" = ON ]; then
  doors=(ingot_gates_door ingot_rl_door ingot_logic_door)
  # shellcheck disable=SC2046
  "$cxx" -std=c++20 $(pkg-config --cflags "${doors[@]}") "$source/systems.cc" -o "$work/pc-systems-shared" $(pkg-config --libs "${doors[@]}")
  expect shared "$work/pc-systems-shared"
fi
if [ -x "$prefix/bin/ingot" ]; then "$prefix/bin/ingot" --version; fi
