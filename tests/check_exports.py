#!/usr/bin/env python3
"""check_exports.py INCLUDE_DIR LIBRARY...: the shared libraries export what the public headers mark INGOT_API, all of it and nothing
else."""
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r"//[^\n]*|^#[^\n]*", re.M)
CLASS = re.compile(r"\b(?:class|struct) (INGOT_API|INGOT_PRIVATE) (\w+)")
LAYER = re.compile(r"^INGOT_(?:POOL|ADAPTIVE_POOL|PLAIN_LAYER)\((\w+)\);", re.M)  # classes that a macro of nn/layers.h writes
FUNCTION = re.compile(r"(?<!class )(?<!struct )\bINGOT_API (?:const )?[\w:&* ]*?(operator[^\s\w(]+|\w+)\(")
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>;{}]*>")
VARIABLES = re.compile(r"\bextern INGOT_API const \w+ ([\w,\s]+);")
ABOUT_A_TYPE = re.compile(r"^(?:typeinfo name for|typeinfo for|vtable for|VTT for|non-virtual thunk to|virtual thunk to) ")


def marked(include):
    classes, functions, private = set(), set(), set()
    for path in include.rglob("*.h"):
        text = COMMENT.sub("", path.read_text())
        for kind, name in CLASS.findall(text):
            (classes if kind == "INGOT_API" else private).add(name)
        classes.update(LAYER.findall(text))
        while TEMPLATE_ARGUMENTS.search(text):
            text = TEMPLATE_ARGUMENTS.sub("", text)
        functions.update(FUNCTION.findall(text))
        for names in VARIABLES.findall(text):
            functions.update(re.split(r",\s*", names.strip()))
    return classes - {"Name"}, functions, private


def path_of(symbol):
    """ingot::nn::Trainer::fit(ingot::data::Loader&) -> [ingot, nn, Trainer, fit]"""
    symbol = ABOUT_A_TYPE.sub("", symbol).replace("[abi:cxx11]", "")
    operator = re.search(r"operator[^\w\s]+?(?=\(|$)", symbol)
    head = symbol[: operator.start()] if operator else symbol.split("(")[0]
    while "<" in head:
        head = re.sub(r"<[^<>]*>", "", head) if re.search(r"<[^<>]*>", head) else head.replace("<", "")
    parts = [part for part in head.split(" ")[-1].split("::") if part]
    return parts + [operator[0]] if operator else parts


def main():
    classes, functions, private = marked(pathlib.Path(sys.argv[1]))
    problems, seen = [], set()
    for library in sys.argv[2:]:
        lines = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
        for symbol in (line.split(" ", 2)[2] for line in lines):
            parts = path_of(symbol)
            seen.update(parts)
            if not (classes & set(parts) or parts[-1] in functions) or private & set(parts):
                problems.append(f"{pathlib.Path(library).name} exports {symbol}, which no public header marks")
        print(f"{pathlib.Path(library).name}: {len(lines)} symbols")
    problems += [f"{name} is marked INGOT_API, but no library exports it" for name in sorted((classes | functions) - seen)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
