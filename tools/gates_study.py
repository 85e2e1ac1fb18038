#!/usr/bin/env python3
"""Trains an automaton recipe over many seeds, one process each, and prints a row of docs/gates.md: how often it works, how soon,
how small the circuits are.

    tools/gates_study.py gol --seeds 20
    tools/gates_study.py checkerboard --seeds 20 --set train.restarts=0
    tools/gates_study.py gol --seeds 20 --published

Runs go to --out/NAME-LABEL-SEED and are not repeated when they are there."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The published settings, as far as a recipe's own differ: logit 10 for "a", no hardening, one attempt, the whole budget.
PUBLISHED = {
    "gol": ["optimizer.lr=0.05", "train.epochs=60"],
    "checkerboard": ["optimizer.lr=0.05", "train.epochs=25"],
    "checkerboard-async": ["optimizer.lr=0.05", "train.epochs=40"],
    "lizard": ["optimizer.lr=0.06", "train.epochs=140"],
    "g": ["optimizer.lr=0.06", "train.epochs=120"],
}
EVERYWHERE = ["model.layers.0.pass=10", "model.layers.0.harden=0", "train.restarts=0", "train.zeros=0"]


def train(args, seed, label):
    folder = pathlib.Path(args.out) / f"{args.recipe}-{label}-{seed}"
    attempts = folder / "attempts.jsonl"
    if not attempts.is_file():
        sets = list(args.set)
        if args.published:
            sets = EVERYWHERE + PUBLISHED[args.recipe] + sets
        command = [args.ingot, "train", args.recipe, "--out", folder, "--quiet", "--threads", args.threads, "--seed", seed,
                   *(word for s in sets for word in ("--set", s))]
        subprocess.run([str(word) for word in command], check=True)
    return folder, [json.loads(line) for line in attempts.read_text().splitlines()]


def first_zero(folder):
    """Updates until the hard loss was zero at an evaluation for the first time, and from when on it stayed so."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = [row["test"]["loss"] for row in rows]
    first = next((i for i, loss in enumerate(losses) if loss == 0), None)
    if not losses or losses[-1] != 0:
        return len(losses), first, None
    stable = len(losses)
    while stable > 0 and losses[stable - 1] == 0:
        stable -= 1
    return len(losses), first, stable


def middle(values, digits=0):
    return f"{statistics.median(values):,.{digits}f}" if values else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="a change of the recipe, as `ingot train` takes it")
    parser.add_argument("--published", action="store_true", help="the published settings")
    parser.add_argument("--out", default="build/study")
    parser.add_argument("--ingot", default=str(ROOT / "build/release/ingot"))
    args = parser.parse_args()
    label = "published" if args.published else "-".join(s.replace("=", "-") for s in args.set) or "recipe"

    passed = single = 0
    seconds, firsts, stables, active, simple = [], [], [], [], []
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        folder, attempts = train(args, 1000 * seed, label)  # attempts count on from their seed
        last = attempts[-1]
        epochs, first, stable = first_zero(folder)
        per_epoch = last["updates"] / max(1, epochs)
        ok = last["exam"]["passed"]
        took = sum(a["seconds"] for a in attempts)
        print(f"  seed {seed}: {'passed' if ok else 'failed'} in attempt {len(attempts)}, {last['updates']} updates, {took:.1f} s, "
              f"{last['active_gates']} active gates, {last['simplified_gates']} simplified", file=sys.stderr, flush=True)
        single += len(attempts) == 1 and ok
        if not ok:
            continue
        passed += 1
        seconds.append(took)
        active.append(last["active_gates"])
        simple.append(last["simplified_gates"])
        if first is not None:
            firsts.append((first + 1) * per_epoch)
        if stable is not None:
            stables.append((stable + 1) * per_epoch)
    smallest = min(simple) if simple else "–"
    print(f"| {args.recipe} ({label}) | {args.seeds} | {single} | {passed} | {middle(firsts)} | {middle(stables)} | {middle(seconds, 1)} | "
          f"{middle(active)} | {middle(simple)} | {smallest} |")


if __name__ == "__main__":
    main()
