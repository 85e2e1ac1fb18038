#!/usr/bin/env python3
"""What the way through Python costs: an op on 8 floats beside NumPy's, a training step beside the same plan run from C++, import, size."""
import argparse
import json
import pathlib
import subprocess
import sys
import timeit

import numpy as np

import ingot
from ingot import nn, optim


def interleaved(candidates, number, rounds=300):
    """Nanoseconds of a call of each, measured in turns, the best of short rounds."""
    times = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, (code, names) in candidates.items():
            times[name].append(timeit.timeit(code, globals=names, number=number) / number * 1e9)
    return {name: min(t) for name, t in times.items()}


def ops():
    a = [np.ones(8, np.float32) for _ in range(3)]
    t = [ingot.ones((8,)) for _ in range(3)]
    numpy, ours = dict(zip("abc", a), add=np.add), dict(zip("abc", t), add=ingot.add)
    return interleaved({"add into, NumPy": ("add(a, b, out=c)", numpy), "add into, Ingot": ("add(a, b, out=c)", ours),
                        "a + b, NumPy": ("a + b", numpy), "a + b, Ingot": ("a + b", ours)}, 500)


def steps():
    """Microseconds of a step, the best of short rounds: who shares the machine only adds."""
    found = {}
    for name, sizes, batch in (("MLP 8-32-32-4, batch 16", (8, 32, 32, 4), 16), ("MLP 784-128-10, batch 32", (784, 128, 10), 32)):
        layers = []
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            layers += [nn.ReLU()] * (i > 0) + [nn.Linear(a, b)]
        step = nn.train_step(nn.Sequential(*layers), nn.cross_entropy, optim.Adam())
        x, y = ingot.normal((batch, sizes[0]), 1), ingot.zeros((batch,), "i64")
        for _ in range(200):
            step(x, y)
        number, python, plain = 20, [], []
        for _ in range(200):
            python.append(timeit.timeit("step(x, y)", globals=dict(step=step, x=x, y=y), number=number) / number * 1e6)
            plain.append(step.profile(number, x, y).plain_us)
        found[name] = {"from Python": min(python), "from C++": min(plain), "difference": min(python) - min(plain)}
    return found


def importing():
    times = []
    for _ in range(9):
        code = "import time; t = time.perf_counter(); import ingot; print(time.perf_counter() - t)"
        times.append(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) * 1e3)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    ingot.set_threads(options.threads)
    result = {"ops_ns": ops(), "steps_us": steps(), "import_ms": importing(),
              "module_mb": pathlib.Path(ingot._core.__file__).stat().st_size / 1e6}
    for name, ns in result["ops_ns"].items():
        print(f"{name:28} {ns:7.0f} ns")
    for name, us in result["steps_us"].items():
        print(f"{name:28} {us['from Python']:7.2f} µs, the plan from C++ {us['from C++']:.2f} µs, difference {us['difference']:.2f} µs")
    print(f"{'import ingot':28} {result['import_ms']:7.1f} ms")
    print(f"{'module':28} {result['module_mb']:7.2f} MB")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
