#!/usr/bin/env bash
# check_export.sh INGOT: a trained model as C says what `ingot predict` says, its training step learns, its plan is a file; and
# what cannot be exported is refused with a sentence.
# shellcheck source=tests/checks.sh
source "$(dirname "$0")/checks.sh" "$1"

"$ingot" train digits --epochs 1 --out digits >log.txt || fail "training: $(tail -n 5 log.txt)"
"$ingot" export digits --to c -o out >said.txt || fail "export: $(cat said.txt)"
grep -q "out/digits.c" said.txt || fail "export does not say what it wrote: $(cat said.txt)"
cat >out/main.c <<'C'
#include <stdio.h>
#include "digits.h"
int main(void) {
  float x[64], p[10];
  for (int i = 0; i < 64; i++) x[i] = (float)(i * 37 % 64) / 64;
  if (digits_run(x, p) != 0) return 1;
  for (int i = 0; i < 10; i++) printf("%.9g\n", (double)p[i]);
  return 0;
}
C
cc -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O2 out/main.c out/digits.c -lm -o out/main || fail "the file does not compile"
./out/main >c.txt || fail "the file does not run"
python3 -c "
import struct
head = b\"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 8, 8), }\"
head += b' ' * (117 - len(head)) + b'\n'
open('x.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head + struct.pack('<64f', *[i * 37 % 64 / 64 for i in range(64)]))"
"$ingot" predict digits x.npy --json >predicted.json || fail "predict"
python3 -c "
import json
expected = json.loads(open('predicted.json').readline())['probabilities']
c = [float(line) for line in open('c.txt')]
assert len(c) == 10 and max(abs(a - b) for a, b in zip(c, expected)) < 1e-5, (c, expected)" || fail "C and predict differ"

"$ingot" export digits --to c -o step --train --name step --no-math --weights-apart --callers-memory >said.txt || fail "export --train: $(cat said.txt)"
cc -std=c99 -ffreestanding -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -c step/step.c -o step/step.o || fail "the step does not compile"
cc -std=c99 -ffreestanding -Wall -Wextra -Werror -O1 -c step/step_weights.c -o step/weights.o || fail "its weights do not compile"
grep -q "float \*parameters" step/step.h || fail "the step's parameters have no name"

"$ingot" export digits --to plan -o digits.plan >said.txt || fail "export --to plan: $(cat said.txt)"
[ -s digits.plan ] || fail "there is no plan"

refused "there is no format \"onnnx\"" export digits --to onnnx
refused "nowhere" export nowhere --to c
for option in --callers-memory --weights-apart --no-math; do
  refused "$option is for C" export digits --to onnx $option
  refused "$option is for C" export digits --to plan $option
done
refused "an ONNX file takes any batch" export digits --to onnx --batch 5
refused "leave one out" export digits --to onnx --name other -o digits.onnx
refused "the batch that the model was trained with" export digits --to c --train --batch 5
