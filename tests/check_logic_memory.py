#!/usr/bin/env python3
"""check_logic_memory.py INGOT: programs that need much memory keep to --memory, with all that joins, closures, shortest paths and
aggregates put aside meanwhile: the process never has more than the limit, the allocator's losses and a constant."""
import os
import resource
import subprocess
import sys
import tempfile

ingot = os.path.realpath(sys.argv[1])
LIMIT, REST = 64, 30  # MB: of facts; of the program and its threads
LOSSES = 1.3  # small blocks that come and go leave gaps

PROGRAMS = {
    "closure": "domain n: 30000. e(x, y) <- n(x), y = (x * 7 + 1) % 30000. e(x, y) <- n(x), y = (x * 11 + 5) % 30000.\n"
               "p(x, y) <- e(x, y). p(x, z) <- p(x, y), e(y, z).\n",
    "rounds": "domain n: 4000. e(x, y) <- n(x), y = x / 2, x > 1.\n"
              "s(x, y) <- e(x, p), e(y, p). s(x, y) <- s(a, b), e(x, a), e(y, b). t(x, y) <- s(x, y), s(y, x), n(x).\n"
              "u(x, y, z) <- t(x, y), t(y, z).\n",
    "tuples": "domain n: 3000. t(x, y, z) <- n(x), n(y), z = x * y, x < y.\n",
    "wide": "domain n: 3000. t(x, y) <- n(x), n(y), x < y. w(a, b) <- t(x, y), a = x * 1000000007, b = y * 1000000007.\n",
    "paths": "domain n: 3000. e(x, y, w) <- n(x), y = (x * 7 + 1) % 3000, w = x % 10. e(x, y, w) <- n(x), y = (x * 11 + 5) % 3000, w = x % 7.\n"
             "d(x, y, min(w)) <- e(x, y, w). d(x, z, min(a + w)) <- d(x, y, a), e(y, z, w).\n",
    "one path": "domain n: 2000000. e(x, y) <- n(x), y = x + 1. d(x, min(0)) <- n(x), x = 0. d(y, min(a + 1)) <- d(x, a), e(x, y).\n",
    "fold": "domain n: 4000. c(k) <- k = count{ s : n(x), n(y), s = x * 5000 + y }.\n",
    "texts": "domain n: 4000. t(s) <- n(x), n(y), s = cat(to_string(x), cat(\"-\", to_string(y))).\n",
    "facts": "".join(f"p({i}, {i * 7919 % 100003}).\n" for i in range(100000)) + "q(x, y, z, w) <- p(x, y), p(z, w).\n",
}


def check(name, text, threads):
    path = f"{name}.rules"
    with open(path, "w") as f:
        f.write(text)
    process = subprocess.Popen([ingot, "logic", "run", path, "--memory", f"{LIMIT}m"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env=dict(os.environ, INGOT_THREADS=str(threads)))
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    code, most = os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024
    text_bytes = len(text) * 60 / 2**20  # facts that are written in the program are a tree first
    assert most < LIMIT * LOSSES + REST + text_bytes, f"{name}: {most:.0f} MB at {threads} threads"
    assert code == 0 or "limit of" in said, f"{name}: exit code {code}: {said}"
    assert code in (0, 7), f"{name}: exit code {code}: {said}"
    return f"{name} {most:.0f} MB, exit {code}"


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for threads in (1, 3):
        print(", ".join(check(name, text, threads) for name, text in PROGRAMS.items()))
