#!/usr/bin/env python3
"""check_logic.py INGOT COUNT [SEED]: random stratified programs, in both dialects, against a naive evaluator that shares nothing with
Ingot: it knows the program as data, tries every fact for every atom, and repeats until nothing is new."""
import random
import subprocess
import sys
import tempfile
import pathlib

AGGREGATES = ("count", "sum", "min", "max")


class Program:
    """Relations in layers: given facts, then groups of relations that may use each other and negate what is below them."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.souffle = self.r.random() < 0.5
        self.arity, self.facts, self.rules, self.best = {}, {}, [], {}
        self.scale = self.r.choice([1, 1, 1, 1000, 10**6, 10**10, -1])  # large and negative numbers take another form
        for i in range(self.r.randint(1, 3)):
            self.given(f"e{i}")
        below = list(self.arity)
        for layer in range(self.r.randint(1, 3)):
            names = [f"p{layer}{k}" for k in range(self.r.randint(1, 2))]
            if self.r.random() < 0.2:
                self.best_layer(names[0], below)
                below = below + names[:1]
                continue
            for name in names:
                self.arity[name] = self.r.randint(1, 3)
            for name in names:
                for _ in range(self.r.randint(1, 3)):
                    self.rules.append(self.rule(name, names, below))
            below = below + names

    def value(self):
        return self.r.randint(0, 5) * self.scale

    def given(self, name):
        n = self.arity[name] = self.r.randint(1, 3)
        self.facts[name] = {tuple(self.value() for _ in range(n)) for _ in range(self.r.choice([0, 3, 6, 10, 14]))}

    def best_layer(self, name, below):
        """Shortest ways along a relation of two columns or more, by min or max with a bound."""
        edges = [b for b in below if self.arity[b] >= 2 and b not in self.best]
        if not edges:
            self.arity[name] = 1
            self.rules.append(self.rule(name, [name], below))
            return
        e = self.r.choice(edges)
        least = self.r.random() < 0.5
        self.arity[name], self.best[name] = 3, "min" if least else "max"
        edge = [("x",), ("y",)] + [("_",)] * (self.arity[e] - 2)
        step = [("y",), ("z",)] + [("_",)] * (self.arity[e] - 2)
        self.rules.append(((name, [("x",), ("y",), (1 if least else -1,)]), [("atom", e, edge)]))
        body = [("atom", name, [("x",), ("y",), ("d",)]), ("atom", e, step)]
        if self.r.random() < 0.5:  # a bound keeps the method for shortest paths away
            body.append(("compare", "<=" if least else ">=", ("d",), (4 if least else -4,)))
        self.rules.append(((name, [("x",), ("z",), ("+", ("d",), (1 if least else -1,))]), body))

    def rule(self, head, together, below):
        r, variables, body = self.r, [], []

        def argument(fresh):
            kind = r.random()
            if kind < 0.1:
                return ("_",)
            if kind < 0.2:
                return (self.value(),)
            if variables and (not fresh or kind < 0.6):
                return (r.choice(variables),)
            variables.append("xyzuvw"[len(variables) % 6])
            return (variables[-1],)

        for _ in range(r.randint(1, 3)):
            name = r.choice(together + below * 2)
            if name in self.best and name in together:
                name = r.choice(below)
            body.append(("atom", name, [argument(True) for _ in range(self.arity[name])]))
        bound = sorted({a[0] for _, _, args in body for a in args if isinstance(a[0], str) and a[0] != "_"})
        if not bound:
            body.append(("atom", below[0], [("x",)] + [("_",)] * (self.arity[below[0]] - 1)))
            bound = ["x"]

        def known():
            return (r.choice(bound),) if r.random() < 0.8 else (self.value(),)

        if r.random() < 0.3:
            body.append(("compare", r.choice(["<", "<=", "!=", "=", ">", ">="]), known(), known()))
        if r.random() < 0.35:
            name = r.choice(below)
            body.append(("not", name, [("_",) if r.random() < 0.2 else known() for _ in range(self.arity[name])]))
        if r.random() < 0.25:
            name = r.choice(below)
            args = [("k",) if i == 0 else ("m",) if r.random() < 0.3 else known() for i in range(self.arity[name])]
            body.append(("fold", "n", r.choice(AGGREGATES), "k", [("atom", name, args)]))
            bound.append("n")
        if r.random() < 0.2:
            body.append(("compare", "=", ("t",), ("%", ("+", known(), (self.scale,)), (6 * self.scale,))))
            bound.append("t")
        r.shuffle(body)
        args = []
        for _ in range(self.arity[head]):
            a = known()
            if a[0] == "n" and not self.is_below(head, below):  # counts of counts may grow for ever
                a = (bound[0],) if bound[0] != "n" else (self.value(),)
            args.append(a)
        return (head, args), body

    def is_below(self, head, below):
        return head in below

    # As text ----------------------------------------------------------------------------------------------------------

    def term(self, t):
        if t[0] in ("+", "%") and len(t) == 3:
            return f"({self.term(t[1])} {t[0]} {self.term(t[2])})"
        return str(t[0])

    def literal(self, l):
        kind = l[0]
        if kind in ("atom", "not"):
            text = f"{l[1]}({', '.join(self.term(a) for a in l[2])})"
            return text if kind == "atom" else ("!" if self.souffle else "not ") + text
        if kind == "compare":
            return f"{self.term(l[2])} {l[1]} {self.term(l[3])}"
        _, to, fold, what, body = l
        inner = ", ".join(self.literal(b) for b in body)
        if not self.souffle:
            return f"{to} = {fold}{{ {what} : {inner} }}"
        return f"{to} = {fold} : {{ {inner} }}" if fold == "count" else f"{to} = {fold} {what} : {{ {inner} }}"

    def text(self):
        lines = []
        for name, n in self.arity.items():
            columns = [f"c{i}: number" for i in range(n)]
            lines.append(f".decl {name}({', '.join(columns)})\n.output {name}" if self.souffle else f"rel {name}({', '.join(columns)}).\noutput {name}.")
        for name, facts in self.facts.items():
            lines += [f"{name}({', '.join(map(str, f))})." for f in facts]
        for (head, args), body in self.rules:
            terms = [self.term(a) for a in args]
            if head in self.best and not self.souffle:
                terms[-1] = f"{self.best[head]}({terms[-1]})"
            arrow = ":-" if self.souffle else "<-"
            lines.append(f"{head}({', '.join(terms)}) {arrow} {', '.join(self.literal(l) for l in body)}.")
        if self.souffle:
            for name, best in self.best.items():
                lines.append(f"{name}(x, y, a) <= {name}(x, y, b) :- b {'<' if best == 'min' else '>'} a.")
        return "\n".join(lines) + "\n"

    # As facts ---------------------------------------------------------------------------------------------------------

    def evaluate(self):
        known = {name: set(self.facts.get(name, ())) for name in self.arity}
        done, names = set(self.facts), list(self.arity)
        layers = [[n for n in names if n in self.facts]]
        for n in names:
            if n in self.facts:
                continue
            if layers[-1] and layers[-1][0][:2] == n[:2] and layers[-1][0] not in done:
                layers[-1].append(n)
            else:
                layers.append([n])
        for layer in layers[1:]:
            changed = True
            while changed:
                changed = False
                for (head, args), body in self.rules:
                    if head not in layer:
                        continue
                    for b in list(self.solve(body, {}, known)):
                        changed |= self.add(known, head, tuple(self.number(a, b) for a in args))
            done |= set(layer)
        return known

    def add(self, known, head, fact):
        if head in self.best:
            for old in known[head]:
                if old[:-1] == fact[:-1]:
                    better = fact[-1] < old[-1] if self.best[head] == "min" else fact[-1] > old[-1]
                    if better:
                        known[head] = (known[head] - {old}) | {fact}
                    return better
        if fact in known[head]:
            return False
        known[head].add(fact)
        return True

    def number(self, t, b):
        if len(t) == 3:
            x, y = self.number(t[1], b), self.number(t[2], b)
            if t[0] == "+":
                return x + y
            return abs(x) % abs(y) * (1 if x >= 0 else -1)  # as C++ rounds
        return b[t[0]] if isinstance(t[0], str) else t[0]

    def solve(self, body, b, known):
        """All bindings: atoms first, then what needs them, in an order that works."""
        atoms = [l for l in body if l[0] == "atom"]
        others = [l for l in body if l[0] != "atom"]

        def join(i, b):
            if i == len(atoms):
                yield b
                return
            _, name, args = atoms[i]
            for fact in known[name]:
                bound = dict(b)
                if all(a[0] == "_" or (bound.setdefault(a[0], v) == v if isinstance(a[0], str) else a[0] == v) for a, v in zip(args, fact)):
                    yield from join(i + 1, bound)

        for b2 in join(0, b):
            yield from self.filter(others, b2, known)

    def filter(self, literals, b, known):
        waiting = list(literals)
        b = dict(b)
        while waiting:
            l = next(l for l in waiting if self.ready(l, b))
            waiting.remove(l)
            if l[0] == "not":
                if any(all(a[0] == "_" or self.number(a, b) == v for a, v in zip(l[2], f)) for f in known[l[1]]):
                    return
            elif l[0] == "fold":
                values = self.fold_values(l, b, known)
                if not values and l[2] in ("min", "max"):
                    return
                result = {"count": len, "sum": sum, "min": min, "max": max}[l[2]](values)
                if b.setdefault(l[1], result) != result:
                    return
            elif l[1] == "=" and l[2][0] not in b and isinstance(l[2][0], str) and len(l[2]) == 1:
                b[l[2][0]] = self.number(l[3], b)
            else:
                x, y = self.number(l[2], b), self.number(l[3], b)
                if not {"<": x < y, "<=": x <= y, "!=": x != y, "=": x == y, ">": x > y, ">=": x >= y}[l[1]]:
                    return
        yield b

    def fold_values(self, l, b, known):
        inner = {k: v for k, v in b.items() if k not in ("k", "m")}
        solutions = list(self.solve(l[4], inner, known))
        values = [s[l[3]] for s in solutions]
        return values if self.souffle else list(set(values))  # Ingot's own folds different values

    def ready(self, l, b):
        names = set()

        def collect(t):
            if isinstance(t, tuple):
                if len(t) == 3:
                    collect(t[1]), collect(t[2])
                elif isinstance(t[0], str) and t[0] != "_":
                    names.add(t[0])

        if l[0] == "not":
            for a in l[2]:
                collect(a)
        elif l[0] == "fold":
            for a in l[4][0][2]:
                collect(a)
            names -= {"k", "m"}
        else:
            collect(l[3])
            if not (l[1] == "=" and l[2][0] == "t"):
                collect(l[2])
        return names <= b.keys()


def output_of(ingot, program, folder):
    path = folder / ("program.dl" if program.souffle else "program.rules")
    path.write_text(program.text())
    run = subprocess.run([ingot, "logic", "run", str(path), "-D", str(folder)], capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"it was refused:\n{run.stderr}\n{program.text()}")
    separator = "\t"
    return {n: {tuple(map(int, line.split(separator))) for line in (folder / f"{n}.csv").read_text().replace(",", "\t").splitlines()} for n in program.arity}


def main():
    ingot, count = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    derived = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            program = Program(seed)
            expected = program.evaluate()
            found = output_of(ingot, program, pathlib.Path(folder))
            derived += sum(len(f) for n, f in found.items() if n not in program.facts)
            for name, facts in expected.items():
                if found[name] != facts:
                    print(f"seed {seed}, relation {name}: missing {sorted(facts - found[name])[:5]}, too many {sorted(found[name] - facts)[:5]}\n{program.text()}")
                    return 1
    print(f"{count} programs, {derived} facts derived")
    return 0 if derived > count else 1


if __name__ == "__main__":
    sys.exit(main())
