#!/usr/bin/env python3
"""Writes include/ingot/ops.h and src/ops/table.inc from the op blocks in src/ops/*.cc.

The blocks are the only source: a signature such as "sum(x, axes:ints={}, keepdim:bool=false)" becomes the allocating function,
the `_into` form and the entry of the table. `--check` only says whether the files are up to date.

Signature: name(inputs…, attributes…) [-> outputs…]
  x          a tensor            x?         an optional tensor         xs...      any number of tensors
  n:int  p:real  b:bool  s:ints  d:dtype  t:text  o:SomeOptions, each with an optional =default
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = {"int": "int64_t", "real": "double", "bool": "bool", "ints": "const Dims&", "dtype": "DType",
         "text": "std::string_view", "pointer": "const void*"}
FAMILIES = ["arithmetic", "comparison", "activation"]  # these first, the rest by name


class Op:
    def __init__(self, identifier, signature, doc, family):
        self.id, self.signature, self.doc, self.family = identifier, signature, doc, family
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

    def parameters(self, defaults):
        result = []
        for name, optional in self.inputs:
            result.append(f"const Tensor& {name}" + (" = {}" if defaults and optional else ""))
        if self.variadic:
            result.insert(0, f"Tensors {self.variadic}")
        for name, kind, default in self.attrs:
            cpp = KINDS.get(kind, f"const {kind}&")
            result.append(f"{cpp} {name}" + (f" = {default}" if defaults and default else ""))
        return result

    def result_type(self):
        return "Tensor" if len(self.outputs) == 1 else f"std::array<Tensor, {len(self.outputs)}>"

    def declarations(self):
        parameters = self.parameters(True)
        destinations = [f"const Tensor& {o}" for o in self.outputs]
        return (f"/// {self.doc}\n"
                f"{self.result_type()} {self.function}({', '.join(parameters)});\n"
                f"void {self.function}_into({', '.join(destinations + parameters)});\n")

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
        parameters = self.parameters(False)
        destinations = [f"const Tensor& {o}" for o in self.outputs]
        if len(self.outputs) == 1:
            result = f"Tensor result;\n  call_counted(op_{self.id}, in, attrs, {{&result, 1}});\n  return result;"
        else:
            result = (f"{self.result_type()} results;\n  call_counted(op_{self.id}, in, attrs, results);\n  return results;")
        outs = ", ".join("&" + o for o in self.outputs)
        return (f"{self.result_type()} {self.function}({', '.join(parameters)}) {{\n  {self.body()}\n  {result}\n}}\n"
                f"void {self.function}_into({', '.join(destinations + parameters)}) {{\n  {self.body()}\n"
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


def read_ops():
    ops = []
    for path in sorted((ROOT / "src/ops").glob("*.cc")):
        text = path.read_text()
        starts = list(re.finditer(r"^INGOT_(?:OP|ELEMENTWISE)\(\s*(\w+)", text, re.M))
        for i, start in enumerate(starts):
            block = text[start.start():starts[i + 1].start() if i + 1 < len(starts) else len(text)]
            signature, doc = field(block, "signature"), field(block, "doc")
            if not signature or not doc:
                sys.exit(f"opgen: {path.name}: op {start[1]} needs .signature and .doc as string literals")
            ops.append(Op(start[1], signature, doc, path.stem))
    rank = {f: i for i, f in enumerate(FAMILIES)}
    return sorted(ops, key=lambda op: (rank.get(op.family, len(rank)), op.family if op.family not in rank else ""))


def header(ops):
    out = ["// Written by tools/opgen.py from the blocks in src/ops: change those and run `./dev generate`.\n"
           "// Every op has two forms: the first returns a new tensor; `_into` writes to a destination of exactly the result's shape\n"
           "// and type and allocates nothing.\n"
           "// clang-format off\n"
           "#pragma once\n#include <array>\n#include <string_view>\n\n#include \"ingot/functions.h\"\n"
           "#include \"ingot/options.h\"\n#include \"ingot/tensor.h\"\n\nnamespace ingot {\n"]
    family = None
    for op in ops:
        if op.family != family:
            family = op.family
            out.append("// " + family.replace("_", " ") + " " + "-" * (116 - len(family)) + "\n")
        out.append(op.declarations())
    return "\n".join(out) + "\n}  // namespace ingot\n"


def table(ops):
    out = ["// Written by tools/opgen.py from the blocks in src/ops: change those and run `./dev generate`.\n"]
    out.append("".join(f"extern const Op op_{op.id};\n" for op in ops))
    out.append("namespace {\nconstexpr const Op* kTable[] = {\n" + "".join(f"    &op_{op.id},\n" for op in ops) + "};\n}  // namespace\n")
    out.extend(op.definitions() for op in ops)
    return "\n".join(out)


def main():
    ops = read_ops()
    stale = []
    for path, text in ((ROOT / "include/ingot/ops.h", header(ops)), (ROOT / "src/ops/table.inc", table(ops))):
        if path.exists() and path.read_text() == text:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if "--check" not in sys.argv:
            path.write_text(text)
    if stale and "--check" in sys.argv:
        sys.exit("opgen: out of date: " + ", ".join(stale) + " — run ./dev generate")


main()
