#!/usr/bin/env python3
"""Type stubs of the Python module, from what it says of itself: the table's signatures for ops, pybind11's first lines for the rest.

    PYTHONPATH=build/release/python /usr/bin/python3 tools/python_stubs.py           writes python/ingot/_core/*.pyi
    PYTHONPATH=build/release/python /usr/bin/python3 tools/python_stubs.py --check   only says whether they are up to date
"""
import inspect
import pathlib
import re
import sys

import ingot
from ingot import _core

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "python/ingot/_core"
HEADER = '''# Written by tools/python_stubs.py: change the bindings and run `./dev python --stubs`.
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

'''
TYPES = {"int": "int", "real": "float", "bool": "bool", "ints": "Union[int, Sequence[int]]", "dtype": "Any", "text": "str"}
REAL = {"__add__", "__sub__", "__mul__", "__truediv__", "__matmul__", "__pow__", "__radd__", "__rsub__", "__rmul__", "__rtruediv__",
        "__rmatmul__", "__rpow__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
SPECIAL = {"__call__", "__getitem__", "__setitem__", "__len__", "__iter__", "__next__", "__enter__", "__exit__", "__bool__", "__float__",
           "__int__", "__index__", "__init__"}


def op_signature(name, text, doc, method):
    """One overload of an op, as a def."""
    inside, _, results = re.fullmatch(r"\w+\((.*)\)\s*(?:(->)\s*(.*))?", text).groups()
    arguments = []
    for argument in re.split(r",\s*(?![^{]*\})", inside) if inside else []:
        if ":" not in argument:
            kind = "Sequence[Input]" if argument.endswith("...") else "Optional[Input] = None" if argument.endswith("?") else "Input"
            arguments.append(f"{argument.rstrip('.?')}: {kind}")
            continue
        attribute, kind = argument.split(":")
        kind, equals, _ = kind.partition("=")
        if kind.endswith("Options"):
            fields = inspect.signature(getattr(ingot, name)).parameters
            known = [a.split(":")[0] for a in arguments]
            for field in fields:
                if field not in known and field != "out":
                    kind = {"groups": "int", "ceil_mode": "bool", "count_include_pad": "bool"}.get(field, TYPES["ints"])
                    arguments.append(f"{field}: {kind} = ...")
                elif field in ("output_padding",):
                    break
            continue
        arguments.append(f"{attribute}: {TYPES[kind]}{' = ...' if equals else ''}")
    unique = list({a.split(":")[0]: a for a in arguments}.values())
    # What has no default stands in front, as in the signature; several results are a tuple with names.
    several = results is not None and "," in results
    out = f"Optional[Tuple[{', '.join(['Tensor'] * len(results.split(',')))}]]" if several else "Optional[Tensor]"
    if method:
        unique = ["self", *unique[1:]]
    star = "*more: int" if unique and unique[-1].partition(": ")[2].startswith(TYPES["ints"]) and "Options" not in text else "*"
    keywords = [f"axis: {TYPES['ints']} = ..."] if any(a.startswith("axes:") for a in unique) else []  # as NumPy calls it
    given = f"{name}_result" if several else "Tensor"
    return f"def {name}({', '.join([*unique, star, *keywords, f'out: {out} = None'])}) -> {given}: ..."


def op_lines(name, indent, method):
    rows = ingot._table[name]
    lines = []
    for signature, doc, _ in rows:
        if len(rows) > 1:
            lines.append("@overload")
        lines.append(op_signature(name, signature, doc, method))
    return [indent + line for line in lines]


def result_classes():
    for name, rows in ingot._table.items():
        results = re.search(r"->\s*(.*)", rows[0][0])
        if results and "," in results[1]:
            yield f"class {name}_result(NamedTuple):"
            yield from (f"    {field.strip()}: Tensor" for field in results[1].split(","))
            yield ""


def typed(text, module):
    """A type as pybind11 writes it, as a stub does."""
    text = text.replace(f"{module.__name__}.", "").replace("ingot._core.", "")
    text = re.sub(r"\b(?:nn|optim|data|schedule|io|gates|logic)\.(\w+)", r"\1", text)
    text = text.replace("Dims", "Union[int, Sequence[int]]").replace("handle", "Any").replace("object", "Any")
    text = re.sub(r"\b(?:std|ingot)::[\w:<>, ]+", "Any", text)
    return re.sub(r"\b(buffer|function|capsule|numpy\.\w+)\b", "Any", text)


def split_arguments(text):
    depth, parts, part = 0, [], ""
    for c in text:
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in [*parts, part.strip()] if p]


def pybind_line(name, line, module):
    match = re.fullmatch(r"\w+\((.*)\) -> (.*)", line)
    if not match:
        return f"def {name}(self, *args: Any, **kwargs: Any) -> {'None' if name == '__init__' else 'Any'}: ..."
    arguments = []
    for argument in split_arguments(match[1]):
        argument = re.sub(r"=.*$", "= ...", argument.replace(" = ", "=", 1)) if "=" in argument else argument
        word, colon, kind = argument.partition(":")
        if word == "self":
            arguments.append("self")
        elif word.startswith("*"):
            arguments.append(f"{word}: Any")
        elif colon:
            kind, equals, _ = kind.partition("=")
            kind = typed(kind.strip(), module)
            arguments.append(f"{word}: {'Input' if kind == 'Tensor' else kind}{' = ...' if equals else ''}")
        else:
            arguments.append(argument)
    return f"def {name}({', '.join(arguments)}) -> {typed(match[2], module)}: ..."


def lines_of_function(name, function, module, indent="", static=False):
    if isinstance(function, _core.Op):
        return op_lines(name, indent, bool(indent))
    doc = (function.__doc__ or "").strip().splitlines()
    found = [line[3:] for line in doc if re.match(r"\d\. \w+\(", line)] or doc[:1]
    lines = []
    for line in found:
        if len(found) > 1:
            lines.append(f"{indent}@overload")
        if static:
            lines.append(f"{indent}@staticmethod")
        lines.append(indent + pybind_line(name, line, module))
    return lines


def lines_of_class(name, cls, module):
    bases = [b.__name__ for b in cls.__bases__ if b.__module__.startswith("ingot")]
    if issubclass(cls, Exception):
        also = [b.__name__ for b in cls.__bases__]
        return [f"class {name}({', '.join(also)}): ...", ""]
    lines = [f"class {name}{'(' + ', '.join(bases) + ')' if bases else ''}:"]
    if cls is _core.Tensor:
        lines += [f"    def {op}(self, other: Any) -> {'Tensor'}: ...  # type: ignore[override]" for op in sorted(REAL)]
        lines += [f"    def {op}(self) -> Tensor: ..." for op in ("__neg__", "__pos__", "__abs__")]
    for key, value in sorted(vars(cls).items()):
        if key.startswith("_") and key not in SPECIAL or key in REAL:
            continue
        if isinstance(value, property):
            doc = (value.fget.__doc__ or "").strip().splitlines()
            kind = re.search(r"-> (.*)", doc[0]) if doc else None
            kind = typed(kind[1], module) if kind else "Any"
            lines += ["    @property", f"    def {key}(self) -> {kind}: ..."]
            if value.fset is not None:
                lines += [f"    @{key}.setter", f"    def {key}(self, value: {kind}) -> None: ..."]
        elif isinstance(value, staticmethod):
            lines += lines_of_function(key, value.__func__, module, "    ", static=True)
        elif callable(value):
            lines += lines_of_function(key, value, module, "    ")
    return lines + (["    ..."] if len(lines) == 1 else []) + [""]


def stub(module):
    top = module is _core
    lines = ["from typing import overload", ""]
    if top:
        lines += ["from . import " + ", ".join(sorted(k for k, v in vars(module).items() if inspect.ismodule(v))) + "  # noqa", "from .nn import Sequential  # noqa", ""]
    else:
        lines += ["from . import DType, Plan, Profile, Tensor  # noqa", "from .nn import Module  # noqa" if module.__name__ != "ingot._core.nn" else "",
                  "from .optim import Optimizer  # noqa" if module.__name__ == "ingot._core.nn" else "",
                  "from .data import Loader  # noqa" if module.__name__ == "ingot._core.nn" else "", ""]
    lines += ["Input = Union[Tensor, float, Any]  # a tensor, an array (NumPy, PyTorch, …), a number beside tensors", ""]
    if top:
        lines += ["_table: Dict[str, List[Tuple[str, str, str]]]", ""] + list(result_classes())
        lines += ["class Op:", "    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...", ""]
    for name, value in vars(module).items():
        if name.startswith("_") and name != "_table" or inspect.ismodule(value) or value is _core.Op or name == "_table":
            continue
        if inspect.isclass(value):
            lines += lines_of_class(name, value, module)
        elif callable(value) and (isinstance(value, _core.Op) or inspect.isbuiltin(value)):
            lines += lines_of_function(name, value, module)
        else:
            lines.append(f"{name}: {type(value).__name__}")
    return HEADER + "\n".join(lines).rstrip() + "\n"


def main():
    wanted = {"__init__.pyi": stub(_core)}
    wanted.update({f"{name}.pyi": stub(value) for name, value in vars(_core).items() if inspect.ismodule(value)})
    stale = [name for name, text in wanted.items() if not (FOLDER / name).is_file() or (FOLDER / name).read_text() != text]
    if "--check" in sys.argv:
        print("".join(f"python/ingot/_core/{name} is not what the module says — run ./dev python --stubs\n" for name in stale), end="")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        (FOLDER / name).write_text(wanted[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
