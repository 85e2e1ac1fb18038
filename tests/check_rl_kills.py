#!/usr/bin/env python3
"""check_rl_kills.py INGOT KILLS: runs that learn by playing, killed again and again a moment after a checkpoint, end as they do in one
go, to the bit: weights, exam, every line of metrics. Replay, priorities, counts of visits, curriculum and pretraining are in it."""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

INGOT, KILLS = sys.argv[1], int(sys.argv[2])
RUNS = {
    "cube2-dqn": ["agent.environments=4", "agent.capacity=5000", "agent.learning_starts=500", "agent.pretrain=3000", "agent.bonus=0.1",
                  "agent.shaping=0.5", "network.hidden=[64, 32]", "environment.depth_when=0.3", "train.exam_episodes=10"],
    "mountaincar": ["agent.environments=4", "agent.prioritised=true", "agent.bonus=0.05", "network.hidden=[32]", "train.exam_episodes=10"],
}
CLOCKED = ("seconds", "samples_per_second", "charts/SPS", "charts/UPS")


def command(recipe, steps, folder):
    changes = [f"train.steps={steps}", "train.periods=10", "train.test_episodes=2", "output.checkpoint_seconds=0", "output.report=false"]
    return [INGOT, "train", recipe, "--out", folder, "--quiet", "--threads", "1",
            *(word for change in RUNS[recipe] + changes for word in ("--set", change))]


def resumed(folder):
    return [INGOT, "train", folder, "--resume", "--quiet", "--threads", "1"]


def checkpoint_of(folder):
    try:
        file = os.stat(f"{folder}/checkpoint.safetensors")
        return file.st_ino, file.st_mtime_ns
    except FileNotFoundError:
        return None


def live_shortly(words, folder):
    """Begins or goes on, and is killed soon after the next checkpoint; did the run end before that?"""
    before = checkpoint_of(folder)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while checkpoint_of(folder) in (before, None) and process.poll() is None:
        time.sleep(0.001)
    time.sleep(random.random() * 0.02)
    process.kill()
    said = process.communicate()[0]
    assert not said, said.decode()
    return process.returncode == 0


def result(folder):
    def unclocked(value):
        return {k: unclocked(v) for k, v in value.items() if k not in CLOCKED} if isinstance(value, dict) else value
    lines = [unclocked(json.loads(line)) for line in pathlib.Path(folder, "metrics.jsonl").read_text().splitlines()]
    data = pathlib.Path(folder, "model.safetensors").read_bytes()
    weights = data[8 + int.from_bytes(data[:8], "little"):]  # behind the header
    return lines, weights, pathlib.Path(folder, "exam.json").read_text()


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    for recipe in RUNS:
        steps = max(20_000, 2_000 * KILLS)
        subprocess.run(command(recipe, steps, f"{recipe}-whole"), check=True)
        folder = f"{recipe}-killed"
        for kill in range(KILLS):
            begun = os.path.exists(f"{folder}/config.toml")
            ended = live_shortly(resumed(folder) if begun else command(recipe, steps, folder), folder)
            assert not ended, f"{recipe}: it ended after {kill} of {KILLS} kills — give it more steps"
        subprocess.run(resumed(folder), check=True)
        for whole, killed, what in zip(result(f"{recipe}-whole"), result(folder), ("metrics", "weights", "exam")):
            assert whole == killed, f"{recipe}: {what} differ after {KILLS} kills"
        print(f"{recipe}: the same after {KILLS} kills")
