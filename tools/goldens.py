#!/usr/bin/python3
"""Writes tests/goldens/ops.txt: what PyTorch and NumPy say the ops give, and their gradients; and optim.txt: what PyTorch's
optimisers make of some parameters in several steps.

Run it with Debian's python3-torch and python3-numpy when an op is added or its meaning changes; tests/ops/golden_test.cc and
optim_golden_test.cc replay the files in f64 and f32. One case per block:

  op NAME
  attr NAME int|real|ints|text|dtype VALUE...     (lists start with their length; dtype F is the floating type under test)
  in|out|dy|grad TYPE RANK SIZES... VALUES...     (type f: floating, i: i64, n: i32, b: bool; "none" is an absent tensor)

in, out and dy come in order; so do the grads, one per input if there are any. Inputs are multiples of 1/64, exact in f32.
In optim.txt the inputs are the parameters, the gradients of every step, the learning rate and the norm to clip to (or none); the
outputs are the parameters after every step, and the state after the last.
"""
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
torch.manual_seed(0)
random = np.random.RandomState(20)
lines = []


class DType:
    """The value of a dtype attribute; F is the floating type under test."""

    def __init__(self, name):
        self.name = name


FLOAT, I64, BOOL = DType("F"), DType("i64"), DType("bool")


def real(*shape, low=-2.0, high=2.0):
    """Distinct enough, never a tie: multiples of 1/64 without zero."""
    values = np.round(random.uniform(low, high, shape) * 64) / 64
    return torch.tensor(np.where(values == 0, 1 / 64, values), dtype=torch.float64)


def distinct(*shape):
    n = int(np.prod(shape))
    return torch.tensor((random.permutation(n) - n // 2) / 16 + 1 / 64, dtype=torch.float64).reshape(shape)


def integers(*shape, low=0, high):
    return torch.tensor(random.randint(low, high, shape), dtype=torch.int64)


def number(v):
    return repr(int(v)) if float(v).is_integer() and abs(v) < 1e15 else f"{float(v):.13g}"


def write(kind, t):
    if t is None:
        lines.append(f"{kind} none")
        return
    letter = "f" if t.is_floating_point() else {torch.bool: "b", torch.int32: "n"}.get(t.dtype, "i")
    fields = [kind, letter, t.dim(), *t.shape]
    lines.append(" ".join(map(str, fields)) + "".join(" " + number(v) for v in t.detach().reshape(-1).tolist()))


def write_attr(name, value):
    if isinstance(value, DType):
        lines.append(f"attr {name} dtype {value.name}")
    elif isinstance(value, (bool, int)):
        lines.append(f"attr {name} int {int(value)}")
    elif isinstance(value, float):
        lines.append(f"attr {name} real {value!r}")
    elif isinstance(value, str):
        lines.append(f"attr {name} text {value or '-'}")
    else:
        lines.append(" ".join(map(str, ["attr", name, "ints", len(value), *value])))


def case(op, inputs, fn, gradient=True, **attrs):
    """One call: fn computes the results from the inputs (None where one is absent)."""
    inputs = [t if t is None or not t.is_floating_point() else t.clone().requires_grad_(gradient) for t in inputs]
    results = fn(*inputs)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    lines.append(f"op {op}")
    for name, value in attrs.items():
        write_attr(name, value)
    for t in inputs:
        write("in", t)
    for t in results:
        write("out", t)
    wanted = [t for t in inputs if t is not None and t.is_floating_point()]
    if not gradient or not wanted or not any(t.requires_grad for t in results):
        return
    weights = [real(*t.shape) if t.is_floating_point() else None for t in results]
    total = sum((t * w).sum() for t, w in zip(results, weights) if w is not None)
    found = iter(torch.autograd.grad(total, wanted, allow_unused=True))
    for w in weights:
        write("dy", w)
    for t in inputs:
        if t is None or not t.is_floating_point():
            write("grad", None)
        else:
            slope = next(found)
            write("grad", torch.zeros_like(t) if slope is None else slope)


# Element-wise -------------------------------------------------------------------------------------------------------------

def elementwise():
    shapes = [((3, 5), (5,)), ((2, 1, 3), (4, 1))]
    binary = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "minimum": torch.minimum,
              "maximum": torch.maximum}
    for name, fn in binary.items():
        for a, b in shapes:
            case(name, [real(*a), real(*b, low=0.5)], fn)
    case("pow", [real(3, 5, low=0.25), real(5)], torch.pow)
    case("add_scaled", [real(4, 1), real(3)], lambda a, b: a + 0.75 * b, factor=0.75)
    scalar = {"add_scalar": torch.add, "subtract_scalar": torch.sub, "multiply_scalar": torch.mul, "divide_scalar": torch.div}
    for name, fn in scalar.items():
        case(name, [real(2, 5)], lambda x, fn=fn: fn(x, 1.5), value=1.5)
    case("pow_scalar", [real(9, low=0.25)], lambda x: torch.pow(x, 2.5), exponent=2.5)
    case("clamp", [real(9)], lambda x: torch.clamp(x, -0.7, 1.1), low=-0.7, high=1.1)
    unary = {"negative": torch.neg, "abs": torch.abs, "sign": torch.sign, "square": torch.square, "exp": torch.exp, "sin": torch.sin,
             "cos": torch.cos, "erf": torch.erf, "relu": F.relu, "relu6": F.relu6, "selu": F.selu, "softplus": F.softplus,
             "sigmoid": torch.sigmoid, "tanh": torch.tanh, "hard_sigmoid": lambda x: torch.clamp(x / 6 + 0.5, 0, 1), "silu": F.silu,
             "gelu_erf": F.gelu, "gelu": lambda x: F.gelu(x, approximate="tanh")}
    for name, fn in unary.items():
        case(name, [real(11, low=-7, high=7)], fn)
    for name, fn in {"sqrt": torch.sqrt, "log": torch.log, "reciprocal": torch.reciprocal}.items():
        case(name, [real(11, low=0.1, high=6)], fn)
    case("leaky_relu", [real(7)], lambda x: F.leaky_relu(x, 0.2), slope=0.2)
    case("elu", [real(7)], lambda x: F.elu(x, 1.5), alpha=1.5)
    x = torch.tensor([-1.0, 0.5, 0.5, 2.0, 0.0], dtype=torch.float64)
    y = torch.tensor([[0.5], [2.0]], dtype=torch.float64)
    comparisons = {"equal": torch.eq, "not_equal": torch.ne, "greater": torch.gt, "greater_equal": torch.ge, "less": torch.lt,
                   "less_equal": torch.le}
    for name, fn in comparisons.items():
        case(name, [x, y], fn, gradient=False)
        case(name + "_scalar", [x], lambda a, fn=fn: fn(a, 0.5), gradient=False, value=0.5)
    case("where", [integers(4, 1, high=2).bool(), real(3), real(4, 3)], torch.where)
    integer = integers(3, 4, low=-9, high=9)
    for name in ("add", "subtract", "multiply", "minimum", "maximum"):
        case(name, [integer, integers(4, low=-9, high=9)], binary[name])


# Reductions, softmax, norms -----------------------------------------------------------------------------------------------

def over(x, axes):
    return tuple(axes) if axes else tuple(range(x.dim()))


def prod_over(x, axes, keepdim):
    for a in sorted((a % x.dim() for a in over(x, axes)), reverse=True):
        x = x.prod(a, keepdim=keepdim)
    return x


def arg_over(fn, x, axes, keepdim):
    """The index within the flattened axes, which torch has only for one axis or all."""
    axes = sorted(a % x.dim() for a in over(x, axes))
    rest = [a for a in range(x.dim()) if a not in axes]
    flat = fn(x.permute(*rest, *axes).reshape([x.shape[a] for a in rest] + [-1]), dim=-1)
    return flat.reshape([1 if a in axes else x.shape[a] for a in range(x.dim())]) if keepdim else flat


def reductions():
    for shape, axes, keep in [((3, 4, 5), [], False), ((3, 4, 5), [1], False), ((3, 4, 5), [-1], True), ((3, 4, 5), [0, 2], True),
                              ((17,), [], False)]:
        attrs = dict(axes=axes, keepdim=keep)
        x = distinct(*shape)
        case("sum", [x], lambda x: x.sum(over(x, axes), keepdim=keep), **attrs)
        case("mean", [x], lambda x: x.mean(over(x, axes), keepdim=keep), **attrs)
        case("prod", [real(*shape)], lambda x: prod_over(x, axes, keep), **attrs)
        case("max", [x], lambda x: torch.amax(x, over(x, axes), keepdim=keep), **attrs)
        case("min", [x], lambda x: torch.amin(x, over(x, axes), keepdim=keep), **attrs)
        case("argmax", [x], lambda x: arg_over(torch.argmax, x, axes, keep), gradient=False, **attrs)
        case("argmin", [x], lambda x: arg_over(torch.argmin, x, axes, keep), gradient=False, **attrs)
        for correction in (0, 1):
            case("var", [x], lambda x: torch.var(x, over(x, axes), correction=correction, keepdim=keep), **attrs, correction=correction)
        for p in (1, 2):
            case("norm", [x], lambda x: torch.linalg.vector_norm(x, p, over(x, axes), keepdim=keep), **attrs, p=p)
        case("logsumexp", [x], lambda x: torch.logsumexp(x, over(x, axes), keepdim=keep), **attrs)
    for axis in (0, 1, -1):
        case("softmax", [real(3, 4, 5)], lambda x: F.softmax(x, axis), axis=axis)
        case("log_softmax", [real(3, 4, 5)], lambda x: F.log_softmax(x, axis), axis=axis)
    case("softmax_cross_entropy", [real(6, 5), integers(6, high=5)], lambda x, y: F.cross_entropy(x, y, reduction="none"))
    for axis in (0, 1):
        case("cumsum", [real(3, 4)], lambda x: torch.cumsum(x, axis), axis=axis, reverse=False)
        case("cumsum", [real(3, 4)], lambda x: x.flip(axis).cumsum(axis).flip(axis), axis=axis, reverse=True)


def rms(x, weight, axes, eps):
    y = x / torch.sqrt((x * x).mean(tuple(range(-axes, 0)), keepdim=True) + eps)
    return y if weight is None else y * weight


def batch_norm(x, weight, bias, eps):
    axes = [0, *range(2, x.dim())]
    return F.batch_norm(x, None, None, weight, bias, True, eps=eps), x.mean(axes), x.var(axes, unbiased=False)


def norms():
    for axes, shape in [(1, (4, 6)), (2, (2, 3, 5))]:
        inner = shape[-axes:]
        for w, b in [(real(*inner), real(*inner)), (None, None)]:
            case("layer_norm", [real(*shape), w, b], lambda x, w, b: F.layer_norm(x, inner, w, b, 1e-3), axes=axes, eps=1e-3)
        for w in (real(*inner), None):
            case("rms_norm", [real(*shape), w], lambda x, w: rms(x, w, axes, 1e-3), axes=axes, eps=1e-3)
    for shape in [(3, 4, 5), (2, 4, 3, 2)]:
        for w, b in [(real(4), real(4)), (None, None)]:
            case("group_norm", [real(*shape), w, b], lambda x, w, b: F.group_norm(x, 2, w, b, 1e-3), groups=2, eps=1e-3)
            case("instance_norm", [real(*shape), w, b], lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-3), eps=1e-3)
            case("batch_norm", [real(*shape), w, b], lambda x, w, b: batch_norm(x, w, b, 1e-3), eps=1e-3)


# Products and convolutions ------------------------------------------------------------------------------------------------

def products():
    for a, b in [((4, 6), (6, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)), ((3, 4, 5), (5, 2)), ((1, 7), (7, 1))]:
        case("matmul", [real(*a), real(*b)], torch.matmul)
    case("matvec", [real(4, 6), real(6)], torch.mv)
    case("dot", [real(9), real(9)], torch.dot)
    case("outer", [real(4), real(5)], torch.outer)
    for b in (real(5), None):
        case("linear", [real(3, 6), real(5, 6), b], F.linear)
    equations = [("ij,jk->ik", (3, 4), (4, 5)), ("ij,kj", (3, 4), (5, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ii->i", (4, 4)),
                 ("ii", (4, 4)), ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("i,j->ij", (3,), (4,)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
                 ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("ij,ij->i", (3, 4), (3, 4)),
                 ("i,i->", (5,), (5,)), ("ijk,il,jm->klm", (2, 3, 4), (2, 2), (3, 2)), ("iij,jk->ik", (3, 3, 4), (4, 2)),
                 ("...a->...", (2, 3, 4)), ("b...,b...->b...", (2, 3), (2, 3))]
    for equation, *shapes in equations:
        case("einsum", [real(*s) for s in shapes], lambda *xs: torch.einsum(equation, *xs), equation=equation, most_bytes=0)


def convolutions():
    def options(stride=(), padding=(), dilation=(), groups=1):
        return dict(stride=stride, padding=padding, dilation=dilation, groups=groups)

    def torch_options(o, axes):
        return dict(stride=tuple(o["stride"]) or 1, padding=tuple(o["padding"]) or 0, dilation=tuple(o["dilation"]) or 1,
                    groups=o["groups"])

    forward = [("conv1d", F.conv1d, (2, 3, 9), (4, 3, 3), options()),
               ("conv1d", F.conv1d, (2, 4, 11), (6, 2, 3), options([2], [1], [2], 2)),
               ("conv2d", F.conv2d, (2, 3, 5, 6), (4, 3, 3, 3), options()),
               ("conv2d", F.conv2d, (1, 4, 6, 7), (4, 4, 3, 2), options([2, 1], [1, 1], [1, 2])),
               ("conv2d", F.conv2d, (2, 4, 5, 5), (4, 1, 3, 3), options([], [1, 1], [], 4)),
               ("conv2d", F.conv2d, (1, 4, 5, 5), (6, 2, 1, 1), options([2, 2], [], [], 2)),
               ("conv3d", F.conv3d, (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), options([1, 2, 1], [1, 1, 0], [1, 1, 2]))]
    for name, fn, x, w, o in forward:
        for bias in (real(w[0]), None):
            case(name, [real(*x), real(*w), bias], lambda x, w, b: fn(x, w, b, **torch_options(o, 0)), **o)
        x, w = real(*x), real(*w)
        y = fn(x, w, **torch_options(o, 0))
        conv = {1: torch.nn.grad.conv1d_input, 2: torch.nn.grad.conv2d_input, 3: torch.nn.grad.conv3d_input}[x.dim() - 2]
        kernel = {1: torch.nn.grad.conv1d_weight, 2: torch.nn.grad.conv2d_weight, 3: torch.nn.grad.conv3d_weight}[x.dim() - 2]
        dy = real(*y.shape)
        case("conv_grad_input", [dy, w], lambda dy, w: conv(x.shape, w, dy, **torch_options(o, 0)), size=list(x.shape[2:]), **o)
        case("conv_grad_kernel", [x, dy], lambda x, dy: kernel(x, w.shape, dy, **torch_options(o, 0)), kernel=list(w.shape[2:]), **o)
    transposed = [("conv_transpose1d", F.conv_transpose1d, (2, 3, 5), (3, 4, 3), options(), []),
                  ("conv_transpose1d", F.conv_transpose1d, (1, 4, 5), (4, 3, 3), options([2], [1], [], 2), [1]),
                  ("conv_transpose2d", F.conv_transpose2d, (1, 3, 3, 4), (3, 2, 3, 2), options([2, 1], [1, 0], [1, 2]), [1, 0]),
                  ("conv_transpose2d", F.conv_transpose2d, (2, 4, 3, 3), (4, 1, 2, 2), options([], [], [], 4), [])]
    for name, fn, x, w, o, extra in transposed:
        for bias in (real(w[1] * o["groups"]), None):
            case(name, [real(*x), real(*w), bias],
                 lambda x, w, b: fn(x, w, b, output_padding=tuple(extra) or 0, **torch_options(o, 0)), **o, output_padding=extra)
    im2col = dict(kernel=[3, 2], stride=[2, 1], padding=[1, 0], dilation=[1, 2])
    arguments = ((3, 2), (1, 2), (1, 0), (2, 1))
    case("im2col", [real(2, 3, 5, 6)], lambda x: F.unfold(x, *arguments), **im2col)
    case("col2im", [real(2, 18, 12)], lambda c: F.fold(c, (5, 6), *arguments), size=[5, 6], **im2col)


def pooling():
    def options(kernel, stride=(), padding=(), dilation=(), ceil_mode=False, count_include_pad=True):
        return dict(kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode, count_include_pad=count_include_pad)

    for shape, o in [((2, 3, 9), options([3])), ((2, 3, 10), options([3], [2], [1], [2])), ((1, 2, 10), options([3], [2], [], [], True)),
                     ((2, 3, 6, 7), options([2, 2])), ((1, 2, 7, 8), options([3, 2], [2, 1], [1, 0], [1, 2])),
                     ((1, 2, 7, 8), options([3, 3], [2, 2], [1, 1], [], True))]:
        axes = len(shape) - 2
        fn = F.max_pool1d if axes == 1 else F.max_pool2d
        case(f"max_pool{axes}d", [distinct(*shape)],
             lambda x: fn(x, o["kernel"], o["stride"] or None, o["padding"] or 0, o["dilation"] or 1, o["ceil_mode"], True), **o)
        if o["dilation"]:
            continue
        average = F.avg_pool1d if axes == 1 else F.avg_pool2d
        for include in (True, False):
            o["count_include_pad"] = include
            case(f"avg_pool{axes}d", [real(*shape)],
                 lambda x: average(x, o["kernel"], o["stride"] or None, o["padding"] or 0, o["ceil_mode"], include), **o)
    for size in (1, 3, 4):
        case("adaptive_avg_pool1d", [real(2, 3, 7)], lambda x: F.adaptive_avg_pool1d(x, size), size=[size])
        case("adaptive_max_pool1d", [distinct(2, 3, 7)], lambda x: F.adaptive_max_pool1d(x, size, True), size=[size])
        case("adaptive_avg_pool2d", [real(1, 2, 5, 7)], lambda x: F.adaptive_avg_pool2d(x, (size, 2)), size=[size, 2])
        case("adaptive_max_pool2d", [distinct(1, 2, 5, 7)], lambda x: F.adaptive_max_pool2d(x, (size, 2), True), size=[size, 2])


# Moving data --------------------------------------------------------------------------------------------------------------

def movement():
    x = real(3, 4, 5)
    case("reshape", [x], lambda x: x.reshape(5, -1), shape=[5, -1])
    case("permute", [x], lambda x: x.permute(2, 0, 1), axes=[2, 0, 1])
    case("transpose", [x], lambda x: x.transpose(0, 2), a=0, b=2)
    case("broadcast_to", [real(4, 1)], lambda x: x.expand(3, 4, 2), shape=[3, 4, 2])
    case("squeeze", [real(1, 3, 1)], lambda x: x.squeeze(), axes=[])
    case("unsqueeze", [real(3, 2)], lambda x: x.unsqueeze(1), axis=1)
    case("diagonal", [real(3, 4, 3)], lambda x: torch.diagonal(x, 0, 0, 2), a=0, b=2)
    case("select", [x], lambda x: x.select(1, -2), axis=1, index=-2)
    case("slice", [x], lambda x: x[:, 1:4:2], axis=1, start=1, stop=4, step=2)
    case("slice", [x], lambda x: x[..., -3:-1], axis=-1, start=-3, stop=-1, step=1)
    case("copy", [x], lambda x: x.clone())
    case("concat", [real(2, 3), real(2, 1), real(2, 4)], lambda *xs: torch.cat(xs, 1), axis=1)
    case("stack", [real(2, 3), real(2, 3)], lambda *xs: torch.stack(xs, 1), axis=1)
    case("pad", [real(2, 3)], lambda x: F.pad(x, (1, 2, 0, 3), value=1.5), before=[0, 1], after=[3, 2], value=1.5)
    case("unpad", [real(5, 6)], lambda x: x[0:2, 1:4], before=[0, 1], after=[3, 2])
    rows = integers(4, high=3)
    case("index_select", [x, integers(6, high=4)], lambda x, i: x.index_select(1, i), axis=1)
    case("index_select_grad", [real(2, 4, 3), rows], lambda d, i: torch.zeros(2, 3, 3).double().index_add(1, i, d), axis=1, size=3)
    case("gather", [x, integers(2, 4, 3, high=5)], lambda x, i: x.gather(2, i), axis=2)
    case("scatter_add", [x, integers(2, 4, 3, high=3), real(2, 4, 3)], lambda x, i, s: x.scatter_add(0, i, s), axis=0)
    case("embedding", [real(7, 3), integers(2, 5, high=7)], lambda t, i: F.embedding(i, t))
    case("embedding_grad", [real(4, 3), rows], lambda d, i: torch.zeros(3, 3).double().index_add(0, i, d), rows=3)
    case("one_hot", [integers(5, high=4)], lambda i: F.one_hot(i, 4).double(), gradient=False, classes=4, dtype=FLOAT)
    case("to", [torch.tensor([1.75, -1.75, 0, 3], dtype=torch.float64)], lambda x: x.long(), gradient=False, dtype=I64)
    case("to", [torch.tensor([1.75, -0.5, 0, 3], dtype=torch.float64)], lambda x: x.bool(), gradient=False, dtype=BOOL)
    for descending in (False, True):
        for axis in (0, 1):
            case("sort", [distinct(5, 6)], lambda x: torch.sort(x, axis, descending), axis=axis, descending=descending)
    for axis in (0, 1):
        case("topk", [distinct(7, 9)], lambda x: torch.topk(x, 3, axis), k=3, axis=axis)


def creation():
    case("full", [], lambda: torch.full((2, 3), 1.5).double(), shape=[2, 3], value=1.5, dtype=FLOAT)
    case("arange", [], lambda: torch.arange(-1.0, 2.0, 0.25).double(), start=-1.0, stop=2.0, step=0.25, dtype=FLOAT)
    case("arange", [], lambda: torch.arange(7, 0, -2), start=7.0, stop=0.0, step=-2.0, dtype=I64)
    case("linspace", [], lambda: torch.linspace(-1, 3, 7, dtype=torch.float64), start=-1.0, stop=3.0, count=7, dtype=FLOAT)
    case("eye", [], lambda: torch.eye(3, 5).double(), n=3, m=5, dtype=FLOAT)


def bags():
    case("embedding_bag", [real(7, 3), integers(5, 4, high=7)], lambda t, i: F.embedding_bag(i, t, mode="sum"))
    rows = integers(4, 2, high=3)
    case("embedding_bag_grad", [real(4, 3), rows], lambda d, i: sum(torch.zeros(3, 3).double().index_add(0, i[:, e], d) for e in range(2)), rows=3)


# Gates --------------------------------------------------------------------------------------------------------------------

def gate_wires(inputs, gates, rows):
    """Every gate reads two signals before its own; rows are shared where there are fewer than gates."""
    return torch.tensor([[random.randint(inputs + g), random.randint(inputs + g), random.randint(rows)] for g in range(gates)],
                        dtype=torch.int32)


def run_gates(signals, coefficients, wires):
    """A list of signals, one tensor each, with the gates' results behind them."""
    signals = list(signals)
    for a, b, row in wires.tolist():
        w = coefficients[row]
        signals.append(w[0] + w[1] * signals[a] + w[2] * signals[b] + w[3] * signals[a] * signals[b])
    return signals


def run_automaton(state, coefficients, wires, fire, steps, wrap):
    states = [state]
    for step in range(steps):
        pad = F.pad(states[-1], (1, 1, 1, 1), mode="circular") if wrap else F.pad(states[-1], (1, 1, 1, 1))
        height, width = state.shape[2:]
        around = [pad[:, c, y:y + height, x:x + width] for c in range(state.shape[1]) for y in range(3) for x in range(3)]
        next = torch.stack(run_gates(around, coefficients, wires)[-state.shape[1]:], 1)
        states.append(next if fire is None else torch.where(fire[step].unsqueeze(1), next, states[-1]))
    return torch.stack(states)


def gates():
    for batch, inputs, count, outputs, rows in [(3, 4, 9, 3, 9), (5, 6, 20, 4, 7)]:
        case("gate_network", [real(batch, inputs, low=0.0, high=1.0), real(rows, 4, low=-0.5, high=0.5), gate_wires(inputs, count, rows)],
             lambda x, w, wires, outputs=outputs: torch.stack(run_gates(x.unbind(1), w, wires)[-outputs:], 1), outputs=outputs)
    for steps, channels, wrap, fires in [(3, 1, True, False), (2, 2, False, True), (3, 2, True, True)]:
        state, fire = real(2, channels, 3, 4, low=0.0, high=1.0), torch.tensor(random.rand(steps, 2, 3, 4) < 0.6) if fires else None
        case("gate_automaton", [state, real(8, 4, low=-0.5, high=0.5), gate_wires(9 * channels, 12, 8), fire],
             lambda s, w, wires, fire, steps=steps, wrap=wrap: run_automaton(s, w, wires, fire, steps, wrap), steps=steps, wrap=wrap)


# Optimisers ---------------------------------------------------------------------------------------------------------------

def training(op, optimizer, state, steps=6, lr=0.125, clip_norm=None, **attrs):
    """Steps of one of PyTorch's optimisers; `state` names what it keeps per parameter."""
    start, gradients, after = real(3, 7), real(steps, 3, 7), []
    p = start.clone().requires_grad_()
    running = optimizer([p], lr)
    for g in gradients:
        p.grad = g.clone()
        if attrs["clip_value"] > 0:
            torch.nn.utils.clip_grad_value_([p], attrs["clip_value"])
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_([p], clip_norm)
        running.step()
        after.append(p.detach().clone())
    lines.append(f"op {op}")
    for name, value in attrs.items():
        write_attr(name, value)
    for t in (start, gradients, torch.tensor(lr).double(), None if clip_norm is None else torch.tensor(clip_norm).double()):
        write("in", t)
    for t in (torch.stack(after), *(running.state[p][name] for name in state)):
        write("out", t)


def optimizers():
    for decay, clip_value, clip_norm in [(0.0, 0.0, None), (0.25, 0.0, None), (0.0, 1.5, None), (0.125, 0.0, 2.0), (0.0, 0.0, 100.0)]:
        common = dict(weight_decay=decay, clip_value=clip_value, clip_norm=clip_norm)
        training("sgd_step", lambda p, lr: torch.optim.SGD(p, lr, weight_decay=decay), [], **common)
        for nesterov in (False, True):
            training("sgd_momentum_step",
                     lambda p, lr: torch.optim.SGD(p, lr, momentum=0.875, weight_decay=decay, nesterov=nesterov),
                     ["momentum_buffer"], momentum=0.875, nesterov=nesterov, **common)
        for decoupled, optimizer in ((False, torch.optim.Adam), (True, torch.optim.AdamW)):
            for betas, eps in (((0.9, 0.999), 1e-8), ((0.5, 0.75), 0.125)):
                training("adam_step", lambda p, lr: optimizer(p, lr, betas=betas, eps=eps, weight_decay=decay),
                         ["exp_avg", "exp_avg_sq"], beta1=betas[0], beta2=betas[1], eps=eps, decoupled=decoupled, **common)


def save(name):
    path = ROOT / "tests/goldens" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    print(f"{path.relative_to(ROOT)}: {sum(line.startswith('op ') for line in lines)} cases, {path.stat().st_size} bytes")
    lines.clear()


def main():
    for family in (elementwise, reductions, norms, products, convolutions, pooling, movement, creation, bags):
        family()
    save("ops.txt")
    gates()
    save("gates.txt")
    optimizers()
    save("optim.txt")


main()
