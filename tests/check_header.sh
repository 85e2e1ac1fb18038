#!/usr/bin/env bash
# check_header.sh CXX INCLUDE_DIR HEADER: <ingot/HEADER> compiles alone, twice in one file, and includes no foreign library.
set -euo pipefail
cxx=$1 include=$2 header=$3
source="#include <ingot/$header>
#include <ingot/$header>
int main() {}"
options=(-std=c++20 -O0 -Wall -Wextra -Wshadow -Wpedantic -Werror -I "$include" -x c++ -)
included=$(mktemp)
trap 'rm -f "$included"' EXIT
"$cxx" -fsyntax-only -MD -MF "$included" "${options[@]}" <<<"$source"
if foreign=$(grep -oE '[^ ]*/(hwy|fmt|nlohmann|toml\+\+|CLI|google)/[^ ]*|[^ ]*cblas[^ ]*|[^ ]*/(zlib|png|pngconf)\.h|[^ ]*/src/[^ ]*' "$included"); then
  printf 'ingot/%s lets something in that users do not have:\n%s\n' "$header" "$foreign"
  exit 1
fi
