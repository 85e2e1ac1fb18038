#!/usr/bin/env python3
"""What each part of deep Q-learning is worth: every switch on and off, over many seeds, one process each; prints a table of docs/rl.md.

    tools/rl_ablation.py cube2-dqn --seeds 10 --jobs 2
    tools/rl_ablation.py cartpole --seeds 10 --only double n_step
    tools/rl_ablation.py cube2-dqn --seeds 2 --only bonus --set train.steps=8000

A recipe is compared with itself, one switch changed at a time. Seeds are those from --first-seed on; settings were chosen on seeds
below 100, so these are refused. Both sides of a switch are played with the same seeds. The interquartile mean, its 95 % bootstrap
interval, and that of the difference on - off, in which seeds stay in pairs; a difference whose interval has 0 in it is none that
these seeds show. Scores: of cubes, the share of all states at --distance that greedy play solves; else the return of the exam.

Runs go to --out/RECIPE-HASH-SEED, HASH of the complete configuration, and are not repeated when they are there and finished."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHOSEN_BELOW = 100  # seeds that settings were chosen on
FEW = 5             # below so many, an interval says nothing
CUBE, COUNTED = ["cube2"], ["cube2", "mountaincar"]
# switch: what on and off are ({}: as the recipe has it), and for which environments
SWITCHES = {
    "double": ({"agent.double": True}, {"agent.double": False}, None),
    "dueling": ({"network.dueling": True}, {"network.dueling": False}, None),
    "n_step": ({}, {"agent.n_step": 1}, None),
    "all_actions": ({"agent.all_actions": True, "agent.n_step": 1}, {"agent.all_actions": False, "agent.n_step": 1}, CUBE),
    "prioritised": ({"agent.prioritised": True}, {"agent.prioritised": False}, None),
    "layer_norm": ({"network.layer_norm": True}, {"network.layer_norm": False}, None),
    "huber": ({"agent.huber": True}, {"agent.huber": False}, None),
    "polyak": ({"agent.copy_every": 0}, {"agent.copy_every": 500}, None),
    "falling_epsilon": ({}, {"agent.epsilon_start": "agent.epsilon_end"}, None),
    "hold": ({"agent.hold": 16}, {"agent.hold": 1}, ["mountaincar"]),
    "curriculum": ({}, {"environment.depth": "environment.depth_end"}, CUBE),
    "mixed": ({}, {"environment.mixed": 0.0}, CUBE),
    "shaping": ({"agent.shaping": 1.0}, {"agent.shaping": 0.0}, COUNTED),
    "bonus": ({"agent.bonus": 0.1}, {"agent.bonus": 0.0}, COUNTED),
    "pretrain_walks": ({"agent.pretrain": 5000, "agent.labels": "walks"}, {"agent.pretrain": 0}, CUBE),
    "pretrain_exact": ({"agent.pretrain": 5000, "agent.labels": "exact"}, {"agent.pretrain": 0}, CUBE),
    "attention": ({"network.net": "attention", "network.hidden": [64, 64]}, {"network.net": "layers"}, CUBE),
}
HEADER = ["switch", "in the recipe", "on", "off", "on − off", "verdict"]


def interquartile_mean(values):
    cut = len(values) // 4
    middle = sorted(values)[cut:len(values) - cut]
    return sum(middle) / len(middle)


def bootstrap(count, statistic, resamples=10_000):
    """The 95 % interval of statistic(seeds), seeds drawn with replacement."""
    draw = random.Random(1)
    values = sorted(statistic([draw.randrange(count) for _ in range(count)]) for _ in range(resamples))
    return values[int(0.025 * resamples)], values[int(0.975 * resamples) - 1]


def value_of(config, key):
    section, name = key.split(".")
    return config[section][name]


def resolved(config, settings):
    """A value that is a key stands for what the recipe has there."""
    return {key: value_of(config, value) if isinstance(value, str) and "." in value else value for key, value in settings.items()}


class Study:
    def __init__(self, args):
        self.args = args
        file = pathlib.Path(args.recipe)
        text = file.read_text() if file.is_file() else subprocess.check_output([args.ingot, "recipes", "--show", args.recipe], text=True)
        self.recipe = {key: value for key, value in tomllib.loads(text).items() if key not in ("about", "reaches", "takes")}
        self.pool = concurrent.futures.ThreadPoolExecutor(args.jobs)
        self.seeds = range(args.first_seed, args.first_seed + args.seeds)
        self.runs = {}

    def read_config(self):
        """Lets the first seed run as the recipe is: its folder has every key."""
        self.runs["{}"] = [self.pool.submit(self.run, {}, seed) for seed in self.seeds]
        self.runs["{}"][0].result()
        self.config = tomllib.loads((self.folder({}, self.args.first_seed) / "config.toml").read_text())

    def folder(self, settings, seed):
        about = json.dumps([self.recipe, self.args.set, settings, self.args.threads], sort_keys=True)
        label = f"{pathlib.Path(self.args.recipe).stem}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"
        return pathlib.Path(self.args.out) / f"{label}-{seed}"

    def words(self, settings):
        changes = self.args.set + [f"{key}={json.dumps(value)}" for key, value in settings.items()]
        return [word for change in changes for word in ("--set", change)]

    def is_recipe(self, settings):
        return all(value_of(self.config, key) == value for key, value in settings.items())

    def begin(self, settings):
        """Lets all seeds run with these settings, if they do not yet."""
        key = json.dumps({} if self.is_recipe(settings) else settings, sort_keys=True)
        if key not in self.runs:
            self.runs[key] = [self.pool.submit(self.run, json.loads(key), seed) for seed in self.seeds]
        return self.runs[key]

    def run(self, settings, seed):
        args = self.args
        folder = self.folder(settings, seed)
        if not (folder / "exam.json").is_file():
            shutil.rmtree(folder, ignore_errors=True)  # half a run
            command = [args.ingot, "train", args.recipe, "--out", folder, "--quiet", "--threads", args.threads, "--seed", seed]
            subprocess.run([str(word) for word in [*command, *self.words(settings)]], check=True)
        elif os.path.getmtime(args.ingot) > os.path.getmtime(folder / "exam.json"):
            print(f"warning: {args.ingot} is newer than the run in {folder}", file=sys.stderr)
        exam = json.loads((folder / "exam.json").read_text())
        score = exam["by_distance"]["greedy"]["share_by_distance"][args.distance - 1] if "by_distance" in exam else exam["return"]
        row = {"recipe": args.recipe, "settings": settings, "seed": seed, "score": score, "run": folder.name}
        print(" ", json.dumps(row), file=sys.stderr, flush=True)
        if args.json:
            with open(args.json, "a") as file:
                file.write(json.dumps(row) + "\n")
        return score

    def text(self, value):
        return f"{100 * value:.1f} %" if self.config["environment"]["type"] == "cube2" else f"{value:.1f}"

    def with_interval(self, scores):
        low, high = bootstrap(len(scores), lambda seeds: interquartile_mean([scores[i] for i in seeds]))
        return f"{self.text(interquartile_mean(scores))} ({self.text(low)} to {self.text(high)})"

    def row(self, name, on_settings, off_settings):
        on = [run.result() for run in self.begin(on_settings)]
        off = [run.result() for run in self.begin(off_settings)]

        def difference(seeds):
            return interquartile_mean([on[i] for i in seeds]) - interquartile_mean([off[i] for i in seeds])
        low, high = bootstrap(len(on), difference)
        verdict = "too few seeds" if len(on) < FEW else "helps" if low > 0 else "hurts" if high < 0 else "no difference seen"
        has = "on" if self.is_recipe(on_settings) else "off" if self.is_recipe(off_settings) else "other"
        change = f"{self.text(difference(range(len(on))))} ({self.text(low)} to {self.text(high)})"
        return [name, has, self.with_interval(on), self.with_interval(off), change, verdict]


def switches(args, config):
    """Those asked for, of this environment, that change something."""
    for name, (on, off, environments) in SWITCHES.items():
        if args.only and name not in args.only or environments and config["environment"]["type"] not in environments:
            continue
        on, off = resolved(config, on), resolved(config, off)
        if on or any(value_of(config, key) != value for key, value in off.items()):
            yield name, on, off
        else:
            print(f"{name}: the recipe has it off, and does not say how to have it on", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="a recipe of a DQN, or a file.toml")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--only", nargs="+", metavar="SWITCH", choices=SWITCHES, help=" ".join(SWITCHES))
    parser.add_argument("--distance", type=int, default=4, help="of a cube's states that are the score")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="a change of the recipe on both sides, as `ingot train` takes it")
    parser.add_argument("--json", metavar="FILE", help="append a line of JSON per run to this file")
    parser.add_argument("--out", default="build/ablation")
    parser.add_argument("--ingot", default=str(ROOT / "build/release/ingot"))
    args = parser.parse_args()
    if args.first_seed < CHOSEN_BELOW:
        parser.error(f"settings were chosen on seeds below {CHOSEN_BELOW}: begin with that one or a later one")
    study = Study(args)
    if study.recipe.get("agent", {}).get("type") != "dqn":
        parser.error(f"{args.recipe} is no deep Q-learning: its switches are not these")
    study.read_config()
    todo = list(switches(args, study.config))
    for _, on, off in todo:  # all of them wait in one line
        study.begin(on), study.begin(off)
    rows = [study.row(*switch) for switch in todo]
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
