#!/usr/bin/python3
"""datalog_peers.py PEER CASE FOLDER: the processor seconds that another program needs for a case of bench/datalog_bench.cc, its facts
loaded before, and how many facts it finds. Facts are FOLDER/RELATION.tsv. Says nothing if the peer cannot say the case (or is not
installed), if it needs more than LONGEST seconds, or more than MEMORY bytes.

  sqlite    SQLite, of Python; recursive queries: one recursion, linear, no least values
  swi       SWI-Prolog with tabling, least values by mode-directed tabling
  gringo    the grounder of clingo: what it needs with rules less what it needs without; no recursive least values
  duckdb    DuckDB, of npm (build/peers): recursive queries, least values by USING KEY
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

LONGEST, MEMORY = 30, 6 << 30
PEERS = pathlib.Path(__file__).resolve().parent.parent / "build/peers"

CLOSURE = "WITH RECURSIVE path(x, y) AS (SELECT x, y FROM edge UNION SELECT p.x, e.y FROM path p JOIN edge e ON p.y = e.x)"
GENERATION = """WITH RECURSIVE sg(x, y) AS (SELECT a.x, b.x FROM par a JOIN par b ON a.y = b.y WHERE a.x <> b.x
  UNION SELECT a.x, b.x FROM sg JOIN par a ON a.y = sg.x JOIN par b ON b.y = sg.y)"""
TRIANGLES = "SELECT count(*) FROM e a JOIN e b ON a.y = b.x JOIN e c ON c.x = a.x AND c.y = b.y"
SQL = {
    "closure": CLOSURE + " SELECT count(*) FROM path",
    "sg12": GENERATION + " SELECT count(*) FROM sg",
    "tri5k": TRIANGLES,
    "unreach2k": CLOSURE + " SELECT count(*) FROM (SELECT a.x, b.x AS y FROM node a, node b EXCEPT SELECT x, y FROM path)",
}
KEYED = {  # DuckDB's least values
    "sp2k": """WITH RECURSIVE d(x, y, c) USING KEY (x, y) AS (SELECT x, y, min(w) FROM e GROUP BY x, y UNION
  SELECT d.x, e.y, min(d.c + e.w) FROM d JOIN e ON d.y = e.x LEFT JOIN recurring.d AS r ON r.x = d.x AND r.y = e.y
  WHERE r.c IS NULL OR d.c + e.w < r.c GROUP BY d.x, e.y) SELECT count(*) FROM d""",
    "cc200k": """WITH RECURSIVE sides AS MATERIALIZED (SELECT x, y FROM e UNION ALL SELECT y, x FROM e),
  l(x, c) USING KEY (x) AS (SELECT x, x FROM node UNION
  SELECT e.y, min(l.c) FROM l JOIN sides AS e ON l.x = e.x JOIN recurring.l AS r ON r.x = e.y WHERE l.c < r.c GROUP BY e.y)
  SELECT count(*) FROM l""",
}
PROLOG = {
    "closure": (":- table path/2.\npath(X, Y) :- edge(X, Y).\npath(X, Z) :- path(X, Y), edge(Y, Z).\n", "path(_, _)"),
    "sg12": (":- table sg/2.\nsg(X, Y) :- par(X, P), par(Y, P), X \\= Y.\nsg(X, Y) :- sg(A, B), par(X, A), par(Y, B).\n", "sg(_, _)"),
    "pts20k": (":- table pt/2.\npt(V, O) :- addr(V, O).\npt(V, O) :- copy(V, W), pt(W, O).\n"
               "pt(V, O) :- load(V, P), pt(P, Q), pt(Q, O).\npt(Q, O) :- store(P, W), pt(P, Q), pt(W, O).\n", "pt(_, _)"),
    "tri5k": ("tri(X, Y, Z) :- e(X, Y), e(Y, Z), e(X, Z).\n", "tri(_, _, _)"),
    "unreach2k": (":- table path/2.\npath(X, Y) :- edge(X, Y).\npath(X, Z) :- path(X, Y), edge(Y, Z).\n"
                  "un(X, Y) :- node(X), node(Y), \\+ path(X, Y).\n", "(path(_, _), fail ; un(_, _))"),
    "sp2k": (":- table d(_, _, min).\nd(X, Y, W) :- e(X, Y, W).\nd(X, Z, C) :- d(X, Y, D), e(Y, Z, W), C is D + W.\n", "d(_, _, _)"),
    "cc200k": (":- table l(_, min).\nl(X, X) :- node(X).\nl(Y, C) :- l(X, C), (e(X, Y) ; e(Y, X)).\n", "l(_, _)"),
}
GRINGO = {
    "closure": "path(X,Y) :- edge(X,Y). path(X,Z) :- path(X,Y), edge(Y,Z).",
    "sg12": "sg(X,Y) :- par(X,P), par(Y,P), X != Y. sg(X,Y) :- sg(A,B), par(X,A), par(Y,B).",
    "pts20k": "pt(V,O) :- addr(V,O). pt(V,O) :- copy(V,W), pt(W,O). pt(V,O) :- load(V,P), pt(P,Q), pt(Q,O). "
              "pt(Q,O) :- store(P,W), pt(P,Q), pt(W,O).",
    "tri5k": "tri(X,Y,Z) :- e(X,Y), e(Y,Z), e(X,Z).",
    "unreach2k": "path(X,Y) :- edge(X,Y). path(X,Z) :- path(X,Y), edge(Y,Z). un(X,Y) :- node(X), node(Y), not path(X,Y).",
}


def kind(case, known):
    return case if case in known else "closure" if case.startswith(("cycle", "full", "grid", "rnd", "chain")) else None


def facts_of(folder):
    for path in sorted(pathlib.Path(folder).glob("*.tsv")):
        yield path.stem, [tuple(line.split("\t")) for line in path.read_text().splitlines()]


def columns(width):
    return "xyw"[:width]


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(command, **more):
    """What a process says and its processor seconds; None if it was stopped or failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=limited, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None, 0
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sqlite(case, folder):
    import sqlite3
    query = SQL.get(kind(case, SQL))
    if query is None:
        return None
    limited()
    base = sqlite3.connect(":memory:")
    for name, facts in facts_of(folder):
        names = columns(len(facts[0]))
        base.execute(f"CREATE TABLE {name}({', '.join(c + ' INTEGER' for c in names)})")
        base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})", facts)
        for order in (names, names[::-1]) if len(names) > 1 else (names,):
            base.execute(f"CREATE INDEX {name}_{order} ON {name}({', '.join(order)})")
    begin = time.process_time()
    count = base.execute(query).fetchone()[0]
    return time.process_time() - begin, count


def swi(case, folder):
    program = PROLOG.get(kind(case, PROLOG))
    if program is None or shutil.which("swipl") is None:
        return None
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work, "program.pl")
        with open(path, "w") as f:
            f.write(":- set_prolog_flag(table_space, 6000000000).\n:- set_prolog_flag(stack_limit, 6000000000).\n" + program[0])
            for name, facts in facts_of(folder):
                f.writelines(f"{name}({', '.join(fact)}).\n" for fact in facts)
        # Indices are made when they are first asked for: that is part of the query, as it is ours.
        goal = f"statistics(cputime, A), aggregate_all(count, {program[1]}, N), statistics(cputime, B), T is B - A, print(T-N), nl"
        out, _ = run(["swipl", "-q", "-g", goal, "-t", "halt", str(path)])
    if not out or "-" not in out:
        return None
    seconds, count = out.strip().rsplit("-", 1)
    return float(seconds), int(count)


def gringo(case, folder):
    rules = GRINGO.get(kind(case, GRINGO))
    if rules is None or shutil.which("gringo") is None:
        return None
    with tempfile.TemporaryDirectory() as work:
        path, program = pathlib.Path(work, "facts.lp"), pathlib.Path(work, "rules.lp")
        with open(path, "w") as f:
            for name, facts in facts_of(folder):
                f.writelines(f"{name}({','.join(fact)}).\n" for fact in facts)
        program.write_text(rules + "\n")
        seconds = []
        for files in ([path], [path, program]):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(["gringo", "--output=smodels", *map(str, files)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limited)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode != 0:
                return None
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return seconds[1] - seconds[0], -1


DUCK = """
const duck = require('@duckdb/node-api');
const job = JSON.parse(process.argv[1]);
(async () => {
  const c = await (await duck.DuckDBInstance.create(':memory:')).connect();
  await c.run('SET threads = 1');
  for (const [name, file, columns] of job.tables)
    await c.run(`CREATE TABLE ${name} AS SELECT * FROM read_csv('${file}', delim='\\t', header=false, columns=${columns})`);
  const begin = process.cpuUsage();
  const result = await c.runAndReadAll(job.query);
  const used = process.cpuUsage(begin);
  console.log((used.user + used.system) * 1e-6, Number(result.getRows()[0][0]));
})();
"""


def duckdb(case, folder):
    query = KEYED.get(case) or SQL.get(kind(case, SQL))
    if query is None or not (PEERS / "node_modules/@duckdb/node-api").exists():
        return None
    tables = []
    for name, facts in facts_of(folder):
        types = ", ".join(f"'{c}': 'INTEGER'" for c in columns(len(facts[0])))
        tables.append([name, str(pathlib.Path(folder, name + ".tsv").resolve()), "{" + types + "}"])
    global MEMORY
    MEMORY = resource.RLIM_INFINITY  # node reserves more addresses than there is memory
    out, _ = run(["node", "-e", DUCK, json.dumps({"tables": tables, "query": query})], cwd=PEERS)
    return None if not out else (float(out.split()[0]), int(out.split()[1]))


def main():
    peer, case, folder = sys.argv[1:]
    try:
        found = {"sqlite": sqlite, "swi": swi, "gringo": gringo, "duckdb": duckdb}[peer](case, folder)
    except MemoryError:
        return
    if found is not None:
        print(f"{found[0]:.6f} {found[1]}")


main()
