#!/usr/bin/env python3
"""docs/requirements.md has one true line per requirement, the README's examples are those that are compiled, relative links in
the documents lead somewhere, and files stay readable in a sitting."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTED = (("T", 6), ("L", 7), ("G", 11), ("R", 5), ("C", 5), ("E", 5), ("X", 4), ("M", 2))
IDS = [f"{letter}{i}" for letter, count in LISTED for i in range(1, count + 1)]
LONG = 800  # lines

ROW = re.compile(r"^\| ([A-Z]\d+) \| (.*?) \| (.*?) \|$", re.M)


def requirement_ids():
    """The ids of the full list where it is at hand, else those known here."""
    source = ROOT.parent / "shared" / "REQUIREMENTS.md"
    return re.findall(r"^\| ([A-Z]\d+) \|", source.read_text(), re.M) if source.is_file() else IDS


def check_requirements():
    rows = ROW.findall((ROOT / "docs/requirements.md").read_text())
    listed = [row[0] for row in rows]
    for missing in [i for i in requirement_ids() if i not in listed]:
        yield f"docs/requirements.md: no line for {missing}"
    for double in sorted({i for i in listed if listed.count(i) > 1}):
        yield f"docs/requirements.md: more than one line for {double}"
    for name, _, shown in rows:
        places = re.findall(r"`((?:tests|bench|examples|tools)/[^`]*)`", shown)
        for place in places:
            if fault := fault_of(place):
                yield f"docs/requirements.md: {name} is said to be shown by {place}, but {fault}"
        if not places and "open" not in re.findall(r"\w+", shown):
            yield f"docs/requirements.md: {name} names neither a test or benchmark nor \"open\""


def fault_of(place):
    """What is wrong with `tests/room/file_test.cc:Suite.Name` or with the path of a script or benchmark, if anything is."""
    path, _, test = place.partition(":")
    if not (ROOT / path).is_file():
        return "there is no such file"
    if not path.endswith("_test.cc"):
        return None
    suite, _, name = test.partition(".")
    if not name:
        return "it does not say which test of the file"
    return None if re.search(rf"^T\w+\(\s*{suite},\s*{name}\)", (ROOT / path).read_text(), re.M) else "that file has no such test"


def check_readme():
    blocks = re.findall(r"^```cpp\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    if not blocks:
        yield "README.md: no ```cpp example"
    compiled = [path.read_text() for path in (ROOT / "examples").glob("*.cc")]
    for block in blocks:
        if not any(block.strip() in text for text in compiled):
            yield f"README.md: the example that begins with `{block.split(chr(10))[0]}` is in no file of examples/"


def check_links(files):
    for name in files:
        if name.endswith(".md"):
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", (ROOT / name).read_text()):
                if "://" not in target and not (ROOT / name).parent.joinpath(target).exists():
                    yield f"{name}: the link to {target} leads nowhere"


def warn_long(files):
    for name in files:
        if name.endswith((".cc", ".h", ".py", ".sh", ".cmake")) or name == "dev":
            text = (ROOT / name).read_text()
            lines = text.count("\n")
            if lines > LONG and "enerated by" not in text[:400]:
                print(f"warning: {name} has {lines} lines; is there a seam?")


def main():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    files = [name for name in tracked if name and (ROOT / name).is_file()]
    warn_long(files)
    problems = [*check_requirements(), *check_readme(), *check_links(files)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
