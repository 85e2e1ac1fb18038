#!/usr/bin/env python3
"""Writes what follows from the op blocks of a room (INGOT_OP, INGOT_ELEMENTWISE in src/ROOM/*.cc), its only source.

    opgen.py                      the public headers, which are committed: users read them
    opgen.py --check              only says whether they are up to date
    opgen.py --table ROOM FILE    the functions' definitions and the room's span of ops: made when the room is built

A signature such as "sum(x, axes:ints={}, keepdim:bool=false)" becomes the allocating function and the `_into` form. Its grammar is
that of Signature (include/ingot/ops/signature.h); the table asserts that both read it alike. Ops with `.plumbing = true` are
declared in a header of their own.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = {"int": "int64_t", "real": "double", "bool": "bool", "ints": "const Dims&", "dtype": "DType",
         "text": "std::string_view", "pointer": "const void*"}
FAMILIES = ["arithmetic", "comparison", "activation"]  # these first, the rest by name


class Room:
    def __init__(self, name, namespace, public, plumbing, span):
        self.name, self.namespace, self.public, self.plumbing, self.span = name, namespace, public, plumbing, span


ROOMS = [Room("ops", "ingot", "ingot/ops/ops.h", "ingot/ops/plumbing.h", "core_ops"),
         Room("gates", "ingot::gates", "ingot/gates/ops.h", "ingot/gates/plumbing.h", "ops"),
         Room("logic", "ingot::logic", "ingot/logic/ops.h", "ingot/logic/plumbing.h", "ops")]


class Op:
    def __init__(self, identifier, signature, doc, family, plumbing):
        self.id, self.signature, self.doc, self.family, self.plumbing = identifier, signature, doc, family, plumbing
        match = re.fullmatch(r"(\w+)\((.*)\)(?:\s*->\s*(.*))?", signature)
        if not match:
            sys.exit(f"opgen: cannot read the signature of {identifier}: {signature}")
        self.function = match[1]
        self.outputs = [o.strip() for o in match[3].split(",")] if match[3] else ["dst"]
        self.inputs, self.attrs, self.variadic = [], [], None
        for part in split_arguments(match[2]):
            if ":" in part:
                name, kind = part.split(":", 1)
                kind, _, default = kind.partition("=")
                self.attrs.append((name.strip(), kind.strip(), default.strip()))
            elif part.endswith("..."):
                self.variadic = part[:-3]
            else:
                self.inputs.append((part.rstrip("?"), part.endswith("?")))

    def parameters(self, defaults=False):
        """(type, name, default) of every parameter."""
        result = [("Tensors", self.variadic, "")] if self.variadic else []
        result += [("const Tensor&", name, "{}" if optional else "") for name, optional in self.inputs]
        result += [(KINDS.get(kind, f"const {kind}&"), name, default) for name, kind, default in self.attrs]
        return ", ".join(f"{cpp} {name}" + (f" = {default}" if defaults and default else "") for cpp, name, default in result)

    def destinations(self):
        return "".join(f"const Tensor& {o}, " for o in self.outputs)

    def result_type(self):
        """A struct with the names of the signature where people meet it."""
        if len(self.outputs) == 1:
            return "Tensor"
        if self.plumbing:
            return f"std::array<Tensor, {len(self.outputs)}>"
        return "".join(word[0].upper() + word[1:] for word in self.function.split("_")) + "Result"

    def result_struct(self):
        if len(self.outputs) == 1 or self.plumbing:
            return ""
        names, pointers = (", ".join(mark.format(o) for o in self.outputs) for mark in ('"{}"', "&{}"))
        return (f"struct {self.result_type()} {{\n"
                f"  Tensor {', '.join(self.outputs)};\n"
                f"  static constexpr const char* kNames[] = {{{names}}};\n"
                f"  const Tensor& operator[](size_t i) const {{ return result_at({{{pointers}}}, i); }}\n"
                f"}};\n")

    def declarations(self):
        into = (self.destinations() + self.parameters(True)).removesuffix(", ")
        return (f"{self.result_struct()}/// {self.doc}\n"
                f"INGOT_API {self.result_type()} {self.function}({self.parameters(True)});\n"
                f"INGOT_API void {self.function}_into({into});\n")

    def assertions(self):
        """That Signature reads the text as this program does, and that the header declares the function."""
        names = ([self.variadic] if self.variadic else []) + [n for n, _ in self.inputs]
        read = "|".join(",".join(part) for part in (names, [n for n, _, _ in self.attrs], self.outputs))
        return (f'static_assert(reads_as(Signature("{self.signature}"), "{read}"));\n'
                f"static_assert(is_declared<{self.result_type()}({self.parameters()})>({self.function}));\n")

    def body(self):
        lines = []
        if self.variadic:
            lines.append(f"const InputList in({self.variadic}, {{{', '.join('&' + n for n, _ in self.inputs)}}});")
        elif self.inputs:
            lines.append(f"const Tensor* in[] = {{{', '.join('&' + n for n, _ in self.inputs)}}};")
        else:
            lines.append("const std::span<const Tensor* const> in;")
        lines.append("Attrs attrs;")
        for name, kind, _ in self.attrs:
            lines.append(f'attrs.set("{name}", {name});' if kind in KINDS else f"{name}.put(attrs);")
        return "\n  ".join(lines)

    def definitions(self):
        into = (self.destinations() + self.parameters()).removesuffix(", ")
        if len(self.outputs) == 1:
            result = f"Tensor result;\n  call_counted(op_{self.id}, in, attrs, {{&result, 1}});\n  return result;"
        else:
            count = len(self.outputs)
            moved = ", ".join(f"std::move(results[{i}])" for i in range(count))
            result = (f"std::array<Tensor, {count}> results;\n  call_counted(op_{self.id}, in, attrs, results);\n"
                      f"  return {{{moved}}};")
        outs = ", ".join("&" + o for o in self.outputs)
        return (f"{self.result_type()} {self.function}({self.parameters()}) {{\n  {self.body()}\n  {result}\n}}\n"
                f"void {self.function}_into({into}) {{\n  {self.body()}\n"
                f"  const Tensor* out[] = {{{outs}}};\n  call_into_counted(op_{self.id}, in, attrs, out);\n}}\n")


def split_arguments(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "{(" and 1 or c in "})" and -1 or 0
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()] if text.strip() else []


def field(block, name):
    match = re.search(r"\." + name + r"\s*=\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)", block)
    return "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", match[1])) if match else None


def read_ops(room):
    ops = []
    for path in sorted((ROOT / "src" / room.name).rglob("*.cc")):
        text = path.read_text()
        starts = list(re.finditer(r"^INGOT_(?:OP|ELEMENTWISE)\(\s*(\w+)", text, re.M))
        for i, start in enumerate(starts):
            block = text[start.start():starts[i + 1].start() if i + 1 < len(starts) else len(text)]
            signature, doc = field(block, "signature"), field(block, "doc")
            if not signature or not doc:
                sys.exit(f"opgen: {path.name}: op {start[1]} needs .signature and .doc as string literals")
            ops.append(Op(start[1], signature, doc, path.stem, ".plumbing = true" in block))
    rank = {f: i for i, f in enumerate(FAMILIES)}
    return sorted(ops, key=lambda op: (rank.get(op.family, len(rank)), op.family if op.family not in rank else ""))


def header(room, ops, plumbing):
    about = ("// What gradients and fused forms are made of. Plans put these in; nobody needs to call them.\n" if plumbing else
             "// Every op has two forms: the first returns a new tensor; `_into` writes to a destination of exactly the result's shape\n"
             "// and type and allocates nothing.\n")
    includes = ["ingot/base/export.h", "ingot/base/tensor.h", "ingot/ops/functions.h", "ingot/ops/options.h"]
    if room.name != "ops" and not plumbing:
        includes.append("ingot/ops/op.h")
    out = [f"// Written by tools/opgen.py from the blocks in src/{room.name}: change those and run `./dev generate`.\n" + about +
           "// clang-format off\n#pragma once\n#include <array>\n#include <span>\n#include <string_view>\n\n" +
           "".join(f'#include "{i}"\n' for i in includes) + f"\nnamespace {room.namespace} {{\n"]
    if room.name != "ops" and not plumbing:
        out.append(f"/// All ops of this library, for add_ops().\nINGOT_API std::span<const Op* const> {room.span}();\n")
    family = None
    for op in ops:
        if op.plumbing != plumbing:
            continue
        if op.family != family:
            family = op.family
            out.append("// " + family.replace("_", " ") + " " + "-" * (116 - len(family)) + "\n")
        out.append(op.declarations())
    return "\n".join(out) + f"\n}}  // namespace {room.namespace}\n"


def table(room, ops):
    out = [f"// Written by tools/opgen.py from the blocks in src/{room.name} when the room is built.\n"
           f'#include "{room.public}"\n#include "{room.plumbing}"\n#include "ingot/ops/generated.h"\n\nnamespace {room.namespace} {{\n']
    out.append("".join(f"extern const Op op_{op.id};\n" for op in ops))
    out.append("".join(op.assertions() for op in ops))
    out.append("namespace {\nconstexpr const Op* kOps[] = {\n" + "".join(f"    &op_{op.id},\n" for op in ops) + "};\n}  // namespace\n")
    out.append(f"std::span<const Op* const> {room.span}() {{ return kOps; }}\n")
    out.extend(op.definitions() for op in ops)
    return "\n".join(out) + f"\n}}  // namespace {room.namespace}\n"


def write(path, text):
    """Leaves a file alone that is as it should be, so that nothing is compiled again."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(arguments):
    if arguments[:1] == ["--table"]:
        room = next(r for r in ROOMS if r.name == arguments[1])
        return write(pathlib.Path(arguments[2]), table(room, read_ops(room)))
    stale = []
    for room in ROOMS:
        ops = read_ops(room)
        for name, plumbing in ((room.public, False), (room.plumbing, True)):
            path, text = ROOT / "include" / name, header(room, ops, plumbing)
            if not path.exists() or path.read_text() != text:
                stale.append(str(path.relative_to(ROOT)))
                if "--check" not in arguments:
                    write(path, text)
    if stale and "--check" in arguments:
        sys.exit("opgen: out of date: " + ", ".join(stale) + " — run ./dev generate")


main(sys.argv[1:])
