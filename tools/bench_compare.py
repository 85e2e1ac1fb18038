#!/usr/bin/env python3
"""Compares two builds of the benchmarks, row by row: was anything lost on the way from one to the other?

    tools/bench_compare.py OLD/build/bench build/bench train ops      # two builds, these suites
    tools/bench_compare.py --store base.json build/bench train        # measure once, to compare with later
    tools/bench_compare.py base.json build/bench train                # against what was stored

Two builds take turns, round by round, so that both meet the same machine; a row's figure is the median of its rounds, its
spread half the distance between their quartiles. A row below --least whose difference is larger than both spreads is named as
a regression, and the exit code is 1. A stored baseline was measured at another time: it suits a quiet machine only.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def measure(build, suite, extra):
    """One run of a suite: {(case, threads): microseconds of Ingot}."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [str(pathlib.Path(build) / f"bench_{suite}"), "--json", file.name, *extra]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"bench_compare: {' '.join(command)} failed:\n{done.stderr}")
        rows = [json.loads(line) for line in open(file.name)]
    return {(f"{suite}: {row['case']}", row["threads"]): row["ingot_us"] for row in rows}


def middle_and_spread(values):
    if len(values) < 4:
        return statistics.median(values), (max(values) - min(values)) / 2
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, (high - low) / 2


def table(old, new, least):
    lost = []
    print(f"{'case':56} {'threads':>7} {'old us':>11} {'new us':>11} {'old/new':>8}")
    for key in sorted(set(old) & set(new)):
        (before, spread0), (after, spread1) = middle_and_spread(old[key]), middle_and_spread(new[key])
        ratio = before / after
        worse = ratio < least and after - before > spread0 + spread1
        if worse:
            lost.append(key)
        print(f"{key[0]:56} {key[1]:7} {before:11.2f} {after:11.2f} {ratio:8.3f}{'  slower' if worse else ''}")
    for key in sorted(set(old) ^ set(new)):
        print(f"{key[0]:56} {key[1]:7} only in the {'old' if key in old else 'new'} build")
    return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="OLD NEW SUITE…", help="builds (folders) or a stored baseline, then suites")
    parser.add_argument("--store", metavar="FILE", help="measure one build and keep the figures")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.98, help="the least old/new that is no regression")
    parser.add_argument("--threads", help="as the suites take it")
    parser.add_argument("--filter", help="as the suites take it")
    parser.add_argument("--seconds", help="as the suites take it")
    args = parser.parse_args()
    extra = [word for name in ("threads", "filter", "seconds") if getattr(args, name) for word in (f"--{name}", getattr(args, name))]

    count = 1 if args.store else 2
    builds, suites = args.paths[:count], args.paths[count:]
    if not suites:
        parser.error("name at least one suite")
    stored = None
    if not args.store and pathlib.Path(builds[0]).is_file():
        stored = {(case, threads): values for case, threads, values in json.load(open(builds.pop(0)))}
    figures = [{} for _ in builds]
    for _ in range(args.rounds):
        for suite in suites:
            for build, into in zip(builds, figures):
                for key, value in measure(build, suite, extra).items():
                    into.setdefault(key, []).append(value)
    if args.store:
        json.dump([[*key, values] for key, values in figures[0].items()], open(args.store, "w"))
        return 0
    lost = table(stored if stored is not None else figures[0], figures[-1], args.least)
    if lost:
        print(f"{len(lost)} rows are slower than {args.least} of before: " + ", ".join(f"{c} ({t} threads)" for c, t in lost))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
