#!/usr/bin/env python3
"""check_logic_worlds.py INGOT COUNT [SEED]: random programs some of whose facts have probabilities, against the sum over all worlds,
each computed by the naive evaluator of check_logic.py."""
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

from check_logic import Program


class Worlds(Program):
    """A program of Ingot's dialect without folds and best values, and facts that are there by chance."""

    def __init__(self, seed):
        super().__init__(seed)
        self.usable = not self.best and not any(l[0] == "fold" for _, body in self.rules for l in body)
        self.souffle = False
        given = [(n, f) for n, facts in sorted(self.facts.items()) for f in sorted(facts)]
        self.coins = {fact: self.r.randint(1, 99) / 100 for fact in self.r.sample(given, min(len(given), self.r.randint(1, 6)))}

    def with_coins(self):
        lines = []
        for line in self.text().splitlines():
            for (name, fact), weight in self.coins.items():
                if line == f"{name}({', '.join(map(str, fact))}).":
                    line = f"{weight} :: {line}"
            if not line.startswith("output"):
                lines.append(line)
        for name, n in self.arity.items():
            lines.append(f"{name}({', '.join(f'q{i}' for i in range(n))})?")
        return "\n".join(lines) + "\n"

    def expected(self):
        everything, sums = {n: set(f) for n, f in self.facts.items()}, {}
        for world in itertools.product([False, True], repeat=len(self.coins)):
            weight = 1.0
            self.facts = {n: set(f) for n, f in everything.items()}
            for ((name, fact), p), holds in zip(self.coins.items(), world):
                weight *= p if holds else 1 - p
                if not holds:
                    self.facts[name].discard(fact)
            for name, facts in self.evaluate().items():
                for fact in facts:
                    sums[name, fact] = sums.get((name, fact), 0) + weight
        self.facts = everything
        return sums


def main():
    ingot, count = sys.argv[1], int(sys.argv[2])
    seed, done, uncertain = int(sys.argv[3]) if len(sys.argv) > 3 else 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.rules"
        while done < count:
            seed += 1
            program = Worlds(seed)
            if not program.usable:
                continue
            done += 1
            path.write_text(program.with_coins())
            run = subprocess.run([ingot, "logic", "run", str(path), "--json", *(["--proofs", "100000"] if seed % 3 == 0 else [])], capture_output=True, text=True)
            if run.returncode != 0:
                raise SystemExit(f"it was refused:\n{run.stderr}\n{path.read_text()}")
            found = {}
            for name, answer in zip(program.arity, json.loads(run.stdout)["answers"]):
                for i, row in enumerate(answer["rows"]):
                    found[name, tuple(map(int, row))] = answer["probabilities"][i] if "probabilities" in answer else 1.0
            expected = program.expected()
            uncertain += sum(0 < p < 1 for p in expected.values())
            for fact in expected.keys() | found.keys():
                if abs(expected.get(fact, 0) - found.get(fact, 0)) > 1e-9:
                    print(f"seed {seed}: {fact} has {found.get(fact, 0)} instead of {expected.get(fact, 0)}\n{path.read_text()}")
                    return 1
    print(f"{count} programs, {uncertain} uncertain facts")
    return 0 if uncertain > count else 1


if __name__ == "__main__":
    sys.exit(main())
