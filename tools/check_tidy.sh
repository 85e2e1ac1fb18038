#!/usr/bin/env bash
# check_tidy.sh BUILD_DIR [--all]: clang-tidy on the sources that changed since the main branch (or, on it, since the previous
# commit), or on all of them. Headers are looked at through the sources that include them.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1

base=$(git merge-base HEAD origin/HEAD 2>/dev/null || git merge-base HEAD origin/main 2>/dev/null || true)
if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
  base=$(git rev-parse -q --verify HEAD~1 || git hash-object -t tree /dev/null)
fi
files=()
while IFS= read -r file; do
  if [ -f "$file" ] && grep -qF "/$file\"" "$build/compile_commands.json"; then files+=("$file"); fi
done < <(if [ "${2:-}" = --all ]; then git ls-files '*.cc'; else git diff --name-only "$base" -- '*.cc'; fi)
if [ ${#files[@]} -eq 0 ]; then exit 0; fi

# Clang cannot read what GCC has precompiled: the commands without it.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
sed 's/ -Winvalid-pch -include [^ ]*cmake_pch\.hxx//' "$build/compile_commands.json" >"$commands/compile_commands.json"
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 -p "$commands" --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument 2> >(grep -v 'generated\.$\|warnings treated as\|^Error while processing' >&2)
