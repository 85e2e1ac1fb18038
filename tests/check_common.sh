# source check_common.sh INGOT: an empty folder to work in, and what the checks of the program share.
set -euo pipefail
ingot=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export INGOT_THREADS=2

fail() { echo "FAILED: $*" >&2 && exit 1; }
# refused "WORDS" ARGUMENTS...: the program fails with a sentence that has these words.
refused() {
  local words=$1 code=0
  shift
  "$ingot" "$@" >out.txt 2>&1 </dev/null || code=$?
  [ "$code" -ne 0 ] && [ "$code" -lt 126 ] || { cat out.txt && fail "ingot $*: exit code $code"; }
  grep -qF -- "$words" out.txt || { cat out.txt && fail "ingot $*: no \"$words\" in the above"; }
}
