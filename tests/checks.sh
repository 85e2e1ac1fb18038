# source checks.sh INGOT: what the scripts that check the program share. Leaves them in a folder of their own.
# shellcheck shell=bash
set -euo pipefail
ingot=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export INGOT_THREADS=2

fail() { echo "FAILED: $*" >&2 && exit 1; }
# COMMAND | has ARGUMENTS...: grep -q that reads to the end, so that the command can write all it has to say.
has() {
  local text
  text=$(cat)
  grep -q "$@" <<<"$text"
}
with=() # variables that the next refused command sees
# refused "WORDS" ARGUMENTS...: the program fails with a sentence that has these words.
refused() {
  local words=$1 code=0
  shift
  env "${with[@]}" "$ingot" "$@" >out.txt 2>&1 </dev/null || code=$?
  [ "$code" -ne 0 ] && [ "$code" -lt 126 ] || { cat out.txt && fail "ingot $*: exit code $code"; }
  grep -qF -- "$words" out.txt || { cat out.txt && fail "ingot $*: no \"$words\" in the above"; }
}
same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }
same_weights() { python3 - "$1" "$2" <<'PYTHON'
import struct, sys
def tensors(path):
    data = open(path, "rb").read()
    return data[8 + struct.unpack("<Q", data[:8])[0]:]
assert tensors(sys.argv[1]) == tensors(sys.argv[2]), "the weights differ"
PYTHON
}
# interrupted FILE ARGUMENTS...: Ctrl-C for `ingot train ARGUMENTS`, which saves at every batch, once it has written FILE.
interrupted() {
  local file=$1 code=0
  shift
  "$ingot" train "$@" --set output.checkpoint_seconds=0 >interrupted.txt &
  local pid=$!
  while [ ! -s "$file" ]; do sleep 0.01; done
  kill -INT $pid
  wait $pid || code=$?
  [ $code -eq 130 ] || fail "interrupted: exit code $code"
}
