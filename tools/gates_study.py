#!/usr/bin/env python3
"""Trains an automaton recipe over many seeds, one process each, and prints a row of docs/gates.md: how often it works, how soon,
how small the circuits are.

    tools/gates_study.py gol --seeds 20
    tools/gates_study.py checkerboard --seeds 20 --jobs 2 --set train.restarts=0
    tools/gates_study.py gol --seeds 20 --published --json study.jsonl

Runs go to --out/RECIPE-HASH-SEED, HASH of the complete configuration, and are not repeated when they are there and finished.
Medians are over all seeds that passed. Updates and seconds are sums over a seed's attempts; seconds are those of the whole process,
with making the data, simplifying and examining."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import tomllib

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
EXAM_FAILED = 3  # the exit code of `ingot train`
HEADER = ["automaton", "seeds", "passed in a single run", "passed with restarts", "updates to hard loss 0", "to stay there", "in all",
          "wall seconds", "CPU seconds", "active gates", "simplified", "smallest"]


def settings(args):
    return (EVERYWHERE + PUBLISHED[args.recipe] if args.published else []) + args.set


def config_hash(args):
    """Of all that decides a run but its seed: the recipe without its prose, the changes, the threads."""
    file = pathlib.Path(args.recipe)
    text = file.read_text() if file.is_file() else subprocess.check_output([args.ingot, "recipes", "--show", args.recipe], text=True)
    recipe = {key: value for key, value in tomllib.loads(text).items() if key not in ("about", "reaches", "takes")}
    return hashlib.sha256(json.dumps([recipe, settings(args), args.threads], sort_keys=True).encode()).hexdigest()[:8]


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def finished(folder):
    """Was the model written, is the last attempt the one that decided, and is it known what the process took?"""
    if not all((folder / name).is_file() for name in ("model.safetensors", "attempts.jsonl", "config.toml", "seconds.json")):
        return False
    last = lines(folder / "attempts.jsonl")[-1]
    restarts = tomllib.loads((folder / "config.toml").read_text())["train"].get("restarts", 0)
    return last["exam"]["passed"] or last["attempt"] >= restarts


def train(args, folder, seed):
    if finished(folder):
        if os.path.getmtime(args.ingot) > os.path.getmtime(folder / "model.safetensors"):
            print(f"warning: {args.ingot} is newer than the run in {folder}", file=sys.stderr)
        return
    if (folder / "config.toml").is_file():  # half a run: its seconds would be those of half a run
        shutil.rmtree(folder)
    changes = [word for change in settings(args) for word in ("--set", change)]
    command = [args.ingot, "train", args.recipe, "--out", folder, "--quiet", "--threads", args.threads, "--seed", seed, *changes]
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command])
    _, status, usage = os.wait4(process.pid, 0)  # what this child used, whatever runs beside it
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, EXAM_FAILED):
        raise subprocess.CalledProcessError(process.returncode, process.args)
    seconds = {"wall": time.monotonic() - begin, "cpu": usage.ru_utime + usage.ru_stime}
    (folder / "seconds.json").write_text(json.dumps(seconds))


def hard_zeros(folder):
    """The parts of the last attempt after which the hard loss was 0 for the first time, and from which on it stayed so."""
    losses = [row["test"]["loss"] for row in lines(folder / "metrics.jsonl") if "test" in row]
    first = next((i for i, loss in enumerate(losses) if loss == 0), None)
    stable = max((i + 1 for i, loss in enumerate(losses) if loss != 0), default=0)
    return (None if first is None else (first + 1) / len(losses),
            None if stable == len(losses) else (stable + 1) / len(losses))


def study(args, label, number):
    seed = 1000 * number  # attempts count on from their seed
    folder = pathlib.Path(args.out) / f"{label}-{number}"
    train(args, folder, seed)
    attempts = lines(folder / "attempts.jsonl")
    last = attempts[-1]
    before = sum(a["updates"] for a in attempts[:-1])
    first, stable = (None if part is None else before + round(part * last["updates"]) for part in hard_zeros(folder))
    seconds = json.loads((folder / "seconds.json").read_text())
    row = {"run": folder.name, "seed": seed, "passed": last["exam"]["passed"], "attempts": len(attempts), "first_zero": first,
           "stable_zero": stable, "updates": before + last["updates"], "wall_seconds": round(seconds["wall"], 3),
           "cpu_seconds": round(seconds["cpu"], 3), "active_gates": last["active_gates"], "simplified_gates": last["simplified_gates"]}
    print(" ", json.dumps(row), file=sys.stderr, flush=True)
    if args.json:
        with open(args.json, "a") as file:
            file.write(json.dumps({**row, "recipe": args.recipe, "settings": settings(args)}) + "\n")
    return row


def rate(count, of):
    return f"{count}/{of} ({count / of:.0%})"


def markdown(args, rows):
    passed = [row for row in rows if row["passed"]]

    def middle(key, digits=0):
        values = [row[key] for row in passed if row[key] is not None]
        return f"{statistics.median(values):,.{digits}f}" if values else "–"
    changes = " ".join((["published"] if args.published else []) + args.set)
    return [f"{args.recipe} ({changes})" if changes else args.recipe, str(len(rows)),
            rate(sum(row["attempts"] == 1 for row in passed), len(rows)), rate(len(passed), len(rows)),
            middle("first_zero"), middle("stable_zero"), middle("updates"), middle("wall_seconds", 1), middle("cpu_seconds", 1),
            middle("active_gates"), middle("simplified_gates"), str(min((row["simplified_gates"] for row in passed), default="–"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="a recipe or a file.toml")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="seeds that run side by side; wall seconds mean little above 1")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="a change of the recipe, as `ingot train` takes it")
    parser.add_argument("--published", action="store_true", help="the published settings")
    parser.add_argument("--json", metavar="FILE", help="append a line of JSON per seed to this file")
    parser.add_argument("--out", default="build/study")
    parser.add_argument("--ingot", default=str(ROOT / "build/release/ingot"))
    args = parser.parse_args()
    label = f"{pathlib.Path(args.recipe).stem}-{config_hash(args)}"
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        numbers = range(args.first_seed, args.first_seed + args.seeds)
        rows = list(pool.map(lambda number: study(args, label, number), numbers))
    print("Medians over all seeds that passed:", file=sys.stderr)
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|", file=sys.stderr)
    print("| " + " | ".join(markdown(args, rows)) + " |")


if __name__ == "__main__":
    main()
