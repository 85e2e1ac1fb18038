#!/usr/bin/python3
"""The recipe `digits` from the command line to its report, against the same training in PyTorch (tools/digits_pytorch.py): rounds in
turn, the best of each. At two threads PyTorch may use one or two, whichever is faster.

  digits        the whole `ingot train digits` against PyTorch's training alone: no imports, no reading of the data
  digits-whole  both as whole processes
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETTINGS = {"eager": [], "foreach": ["--foreach"], "script": ["--script"]}


def timed(command, threads):
    """Output, wall seconds and processor seconds of a process; OpenBLAS and OpenMP get no more threads than asked for."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_ingot(threads, seed):
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        _, seconds, cpu = timed([str(ROOT / "build/release/ingot"), "train", "digits", "--quiet", "--out", run, "--threads",
                                 str(threads), "--seed", str(seed)], threads)
        lines = pathlib.Path(run, "metrics.jsonl").read_text().splitlines()
        scores = [json.loads(line) for line in lines]
    return {"whole": seconds, "train": seconds, "cpu": cpu, "scores": scores[-1]}


def run_pytorch(threads, seed, setting):
    out, seconds, cpu = timed([str(ROOT / "tools/digits_pytorch.py"), "--threads", str(threads), "--seed", str(seed), *SETTINGS[setting]], threads)
    result = json.loads(out)
    return {"whole": seconds, "train": result["train_seconds"], "cpu": cpu, "scores": result}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, action="append", choices=(1, 2))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    counts = options.threads or [1, 2]
    ours = {n: [] for n in counts}
    peers = {(n, s): [] for n in (1, 2) if n <= max(counts) for s in SETTINGS}
    for seed in range(options.rounds):
        for n in counts:
            ours[n].append(run_ingot(n, seed))
        for n, setting in peers:
            peers[n, setting].append(run_pytorch(n, seed, setting))

    rows = []
    print(f"{'case':14}{'threads':>8}{'ingot s':>10}{'cpu s':>8}   {'pytorch s':>10}{'cpu s':>8}{'ratio':>8}   its best setting")
    for n in counts:
        for case, what in (("digits", "train"), ("digits-whole", "whole")):
            mine = min(ours[n], key=lambda r: r[what])
            (threads, setting), results = min(((k, v) for k, v in peers.items() if k[0] <= n), key=lambda p: min(r[what] for r in p[1]))
            theirs = min(results, key=lambda r: r[what])
            ratio = theirs[what] / mine[what]
            note = f"{setting}, {threads} thread{'s' if threads > 1 else ''}"
            print(f"{case:14}{n:8}{mine[what]:10.2f}{mine['cpu']:8.2f}   {theirs[what]:10.2f}{theirs['cpu']:8.2f}{ratio:8.2f}   {note}")
            rows.append({"suite": "digits", "case": case, "threads": n, "ingot_us": mine[what] * 1e6, "peer": "pytorch",
                         "peer_us": theirs[what] * 1e6, "ratio": ratio, "setting": note})
    print("ingot's last epochs:", json.dumps([r["scores"] for r in ours[counts[0]]]))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
