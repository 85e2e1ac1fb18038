#!/usr/bin/env python3
"""The rules between rooms: a room includes only rooms to its left, public headers include nothing from src/, and kernels see
no tensor, allocate nothing and throw nothing; what is a library or a program of its own stands on the public headers of others,
and no room says words of a system."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORDER = ["base", "kernels", "ops", "graph"]
LEFT = {room: set(ORDER[:i]) for i, room in enumerate(ORDER)}
LEFT["data"] = set(ORDER)
LEFT["nn"] = set(ORDER) | {"data"}
LEFT["io"] = {"base"}  # files need no op
SYSTEMS = ("gates", "rl", "logic")
CORE = set(ORDER) | {"data", "nn"}  # rooms of one library, libingot; every other room is a library of its own
for system in SYSTEMS:  # siblings that never include each other
    LEFT[system] = set(ORDER) | {"data", "nn", "io"}
LEFT["exchange"] = set(ORDER) | {"data", "nn", "io"}
LEFT["recipe"] = set(ORDER) | {"data", "nn", "io"}  # it knows kinds of jobs, and no system
for system in SYSTEMS:  # a system's door is what recipe and the program see of it
    LEFT[f"{system}_door"] = LEFT[system] | {system, "recipe"}
LEFT["cli"] = set(LEFT) | {"everything"}

# Words of a system, which only it may say: what it means by them is known behind its door. (Its ops are told apart by file.)
WORDS_OF = {"gates": re.compile(r"\b(?:automat(?:on|a)|cellular|boards?|restarts|attempts?|squared_error_sum|gate_network|circuits?)\b", re.I),
            "rl": re.compile(r"\b(?:episodes?|puzzles?|scrambles?|facelets?|replay|autoreset|cubies?|agents?|stickers?)\b", re.I),
            "logic": re.compile(r"\b(?:datalog|souffl[eé]|stratum|strata|semi-naive|predicates?)\b", re.I)}
SAYS_ANYWAY = {"gates.h"}

# What kernels may not even reach through other headers, and may not write.
KERNELS_MAY_NOT_SEE = {"tensor.h", "error.h"}
KERNELS_MAY_NOT_SAY = re.compile(r"\b(?:throw|new|malloc|calloc|aligned_alloc|std::vector|std::string|std::unique_ptr)\b")

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def resolve(path, included):
    """The project's file that an #include names, or None for somebody else's."""
    for folder in (path.parent, ROOT / "include", ROOT / "src"):
        candidate = folder / included
        if candidate.is_file() and ROOT in candidate.resolve().parents:
            return candidate.resolve()
    return None


def room_of(path):
    """base, kernels, ... for what lives in src/ or include/ingot/; None elsewhere."""
    parts = path.relative_to(ROOT).parts
    if parts[0] == "src":
        return f"{parts[1]}_door" if parts[1] in SYSTEMS and parts[2] == "door" else parts[1]
    if parts[:2] == ("include", "ingot"):
        if parts[-1] == "door.h":
            return f"{parts[2]}_door"
        # ingot/nn/module.h belongs to nn, and so does ingot/nn.h, which includes all of it.
        return parts[2].removesuffix(".h") if parts[2] != "ingot.h" else "everything"
    return None


def includes(path, cache={}):
    if path not in cache:
        found = ((name, resolve(path, name)) for name in INCLUDE.findall(path.read_text()))
        cache[path] = [(name, target) for name, target in found if target]
    return cache[path]


def reach(path):
    """Every file of the project that `path` includes, directly or not."""
    seen, todo = set(), [path]
    while todo:
        for _, target in includes(todo.pop()):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def check_file(path):
    room = room_of(path)
    if room is None or room not in LEFT:
        return
    public = "include" in path.relative_to(ROOT).parts
    for name, target in includes(path):
        other = room_of(target)
        if public and "src" in target.relative_to(ROOT).parts:
            yield f"a public header includes {name} from src/"
        elif other is None:
            yield f"includes {name}, which is neither in src/ nor in include/ingot/"
        elif other != room and other not in LEFT[room]:
            yield f"{room} includes {name} of {other}, which is not to its left"
        elif other != room and not {room, other} <= CORE and "src" in target.relative_to(ROOT).parts:
            yield f"includes {name} of src/{other}, a private header of another library"
    for system, words in WORDS_OF.items():
        if room not in (system, f"{system}_door") and path.name not in SAYS_ANYWAY:
            for word in sorted(set(words.findall(path.read_text()))):
                yield f"`{word}` is a word of {system}, which {room} knows nothing of"
    if room == "kernels":
        for target in reach(path):
            if target.name in KERNELS_MAY_NOT_SEE:
                yield f"kernels may not see {target.relative_to(ROOT)}"
        code = COMMENT_OR_STRING.sub(" ", INCLUDE.sub("", path.read_text()))
        for word in sorted(set(KERNELS_MAY_NOT_SAY.findall(code))):
            yield f"kernels never allocate and never throw, but here is `{word}`"


def main():
    files = [p for folder in ("src", "include") for p in sorted((ROOT / folder).rglob("*")) if p.suffix in (".cc", ".h", ".inc")]
    problems = [f"{path.relative_to(ROOT)}: {problem}" for path in files for problem in check_file(path)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
