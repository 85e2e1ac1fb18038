#!/usr/bin/env bash
# run.sh BUILD_DIR READER SECONDS [OPTION...]: fuzzes one reader, starting from what our writers and other programs write. Fails on a crash,
# a sanitizer's report, a hang, or memory that the input does not justify; the input that did it stays in BUILD_DIR/found.
set -euo pipefail
build=$1 reader=$2 seconds=$3
shift 3
goldens=$(cd "$(dirname "$0")/../goldens/io" && pwd)
corpus=$build/corpus/$reader
rm -rf "$corpus"
mkdir -p "$corpus/$reader" "$build/found"
"$build/tests/fuzz/seeds" "$corpus" # of all readers; this one takes its own
find "$goldens" -name "*.$reader*" -exec cp {} "$corpus/$reader" \;
if [ "$reader" = csv ]; then  # the target takes its options from the first byte
  for file in "$corpus/$reader"/*; do { printf '\0' && cat "$file"; } >"$file.seed" && rm "$file"; done
fi
if [ "$reader" = rules ]; then  # the first byte is the dialect, or says that it is a theory
  for file in "$goldens"/../../../examples/logic/*; do
    { case $file in *.dl) printf '\1' ;; *.theory) printf '\377' ;; *) printf '\0' ;; esac && cat "$file"; } >"$corpus/rules/$(basename "$file")"
  done
fi
longest=4096
if [ "$reader" = plan ]; then longest=16384; fi  # every number takes eight bytes
"$build/tests/fuzz/${reader}_fuzz" -max_total_time="$seconds" -max_len=$longest -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=16 \
  -verbosity=0 -print_funcs=0 -print_final_stats=1 -artifact_prefix="$build/found/$reader-" "$@" "$corpus/$reader"
