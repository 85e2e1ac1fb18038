#!/usr/bin/python3
"""Writes tests/goldens/layers.txt and losses.txt: what PyTorch's layers and losses give, and their gradients.

Run it with Debian's python3-torch when a layer or loss is added; tests/nn/layer_golden_test.cc and loss_golden_test.cc have the
same cases by name and replay them in f64 and f32. One block per case:

  case NAME train|eval
  state NAME TENSOR      before, in the order of state_dict(); an "after NAME TENSOR" for each buffer that the call changed
  in TENSOR              dy TENSOR: what the result is multiplied by, to make one number to differentiate
  out TENSOR
  grad TENSOR            of the input (none for integers)
  dparam NAME TENSOR     of the parameters

A loss has the lines in, target, out and grad. A TENSOR is "TYPE RANK SIZES... VALUES...", as in ops.txt. Inputs are multiples of
1/64, exact in f32.
"""
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
random = np.random.RandomState(4)
lines = []


def real(*shape, low=-2.0, high=2.0):
    """Multiples of 1/64 without zero."""
    values = np.round(random.uniform(low, high, shape) * 64) / 64
    return torch.tensor(np.where(values == 0, 1 / 64, values), dtype=torch.float64)


def distinct(*shape):
    """No ties: for layers that choose the largest."""
    n = int(np.prod(shape))
    return torch.tensor((random.permutation(n) - n // 2) / 16 + 1 / 64, dtype=torch.float64).reshape(shape)


def number(v):
    return repr(int(v)) if float(v).is_integer() and abs(v) < 1e15 else f"{float(v):.13g}"


def put(kind, t):
    if t is None:
        lines.append(f"{kind} none")
        return
    fields = [kind, "f" if t.is_floating_point() else "i", t.dim(), *t.shape]
    lines.append(" ".join(map(str, fields)) + "".join(" " + number(v) for v in t.detach().reshape(-1).tolist()))


def case(name, layer, x, modes=("eval",)):
    for mode in modes:
        layer = layer.double()
        for key, t in layer.state_dict().items():  # the module's memory
            if t.is_floating_point():
                t.copy_(real(*t.shape, low=0.25, high=2) if key.endswith("running_var") else real(*t.shape, low=-1, high=1))
            else:
                t.fill_(3)
            if isinstance(layer, nn.Embedding) and layer.padding_idx is not None:
                t[layer.padding_idx] = 0
        layer.train(mode == "train")
        before = {k: t.clone() for k, t in layer.state_dict().items()}
        lines.append(f"case {name} {mode}")
        for k, t in before.items():
            put(f"state {k}", t)
        x = x.detach().clone().requires_grad_(x.is_floating_point())
        y = layer(x)
        dy = real(*y.shape, low=-1, high=1)
        layer.zero_grad()
        (y * dy).sum().backward()
        put("in", x), put("out", y), put("dy", dy), put("grad", x.grad)
        for k, p in layer.named_parameters():
            put(f"dparam {k}", p.grad)
        for k, t in layer.state_dict().items():
            if not torch.equal(t, before[k]):
                put(f"after {k}", t)


class Call(nn.Module):
    """A function as a layer."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


class RMSNorm(nn.Module):
    def __init__(self, shape, eps):
        super().__init__()
        self.weight, self.eps, self.axes = nn.Parameter(torch.ones(shape)), eps, tuple(range(-len(shape), 0))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(self.axes, keepdim=True) + self.eps) * self.weight


class Concat(nn.ModuleList):
    def __init__(self, axis, *branches):
        super().__init__(branches)
        self.axis = axis

    def forward(self, x):
        return torch.cat([b(x) for b in self], self.axis)


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def layers():
    both = ("train", "eval")
    case("linear", nn.Linear(5, 3), real(4, 5))
    case("linear_batch1", nn.Linear(7, 1), real(1, 7))
    case("linear_sequence", nn.Linear(3, 4, bias=False), real(2, 3, 3))
    case("embedding", nn.Embedding(6, 3), torch.tensor([[0, 5, 2], [2, 2, 1]]))
    case("embedding_padding", nn.Embedding(5, 2, padding_idx=1), torch.tensor([1, 4, 1, 0, 3, 3, 1]))
    case("dropout", nn.Dropout(0.4), real(3, 5))

    case("conv1d", nn.Conv1d(2, 3, 3), real(2, 2, 7))
    case("conv1d_all", nn.Conv1d(4, 6, 3, stride=2, padding=3, dilation=2, groups=2), real(1, 4, 9))
    case("conv2d", nn.Conv2d(2, 3, 3), real(2, 2, 5, 7))
    case("conv2d_padded", nn.Conv2d(1, 2, 3, stride=2, padding=1), real(1, 1, 6, 5))
    case("conv2d_rectangular", nn.Conv2d(2, 2, (3, 1), stride=(1, 2), padding=(1, 0), dilation=(2, 1)), real(2, 2, 6, 5))
    case("conv2d_groups", nn.Conv2d(4, 2, 2, groups=2, bias=False), real(2, 4, 3, 4))
    case("conv2d_depthwise", nn.Conv2d(3, 6, 3, padding=1, groups=3), real(1, 3, 4, 5))
    case("conv_transpose1d", nn.ConvTranspose1d(2, 3, 3), real(2, 2, 4))
    case("conv_transpose1d_all", nn.ConvTranspose1d(4, 2, 3, stride=3, padding=1, output_padding=2, groups=2, dilation=2),
         real(1, 4, 3))
    case("conv_transpose2d", nn.ConvTranspose2d(2, 3, 2, stride=2), real(2, 2, 3, 2))
    case("conv_transpose2d_all",
         nn.ConvTranspose2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), output_padding=(1, 0), groups=2, bias=False),
         real(1, 2, 3, 4))

    case("max_pool1d", nn.MaxPool1d(2), distinct(2, 2, 7))
    case("max_pool1d_all", nn.MaxPool1d(3, stride=2, padding=1, dilation=2, ceil_mode=True), distinct(1, 3, 8))
    case("max_pool2d", nn.MaxPool2d(2), distinct(2, 2, 5, 4))
    case("max_pool2d_all", nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 0), ceil_mode=True), distinct(1, 2, 6, 5))
    case("avg_pool1d", nn.AvgPool1d(3), real(2, 2, 7))
    case("avg_pool1d_all", nn.AvgPool1d(3, stride=2, padding=1, count_include_pad=False), real(1, 2, 8))
    case("avg_pool2d", nn.AvgPool2d(2), real(2, 2, 4, 5))
    case("avg_pool2d_all", nn.AvgPool2d((3, 2), stride=2, padding=1, ceil_mode=True), real(1, 2, 6, 5))
    case("adaptive_avg_pool1d", nn.AdaptiveAvgPool1d(3), real(2, 2, 7))
    case("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((2, 3)), real(1, 2, 5, 7))
    case("adaptive_avg_pool2d_square", nn.AdaptiveAvgPool2d(2), real(2, 1, 3, 4))
    case("adaptive_max_pool1d", nn.AdaptiveMaxPool1d(3), distinct(2, 2, 7))
    case("adaptive_max_pool2d", nn.AdaptiveMaxPool2d((2, 3)), distinct(1, 2, 5, 7))
    case("global_avg_pool", Call(lambda x: x.mean((2, 3))), real(2, 3, 3, 4))
    case("global_max_pool", Call(lambda x: x.amax(2)), distinct(2, 3, 5))

    case("batch_norm1d", nn.BatchNorm1d(3), real(5, 3), both)
    case("batch_norm1d_sequence", nn.BatchNorm1d(2, eps=0.1, momentum=0.25), real(3, 2, 5), both)
    case("batch_norm1d_batch1", nn.BatchNorm1d(2), real(1, 2, 5), both)
    case("batch_norm2d", nn.BatchNorm2d(3), real(2, 3, 3, 4), both)
    case("batch_norm2d_plain", nn.BatchNorm2d(2, affine=False), real(1, 2, 3, 3), both)
    case("layer_norm", nn.LayerNorm(6), real(4, 6))
    case("layer_norm_image", nn.LayerNorm((2, 3), eps=0.1), real(2, 3, 2, 3))
    case("layer_norm_plain", nn.LayerNorm(5, elementwise_affine=False), real(1, 5))
    case("rms_norm", RMSNorm((6,), torch.finfo(torch.float32).eps), real(4, 6))
    case("rms_norm_image", RMSNorm((2, 3), 0.1), real(3, 2, 3))
    case("group_norm", nn.GroupNorm(2, 4), real(2, 4, 3, 3))
    case("group_norm_plain", nn.GroupNorm(3, 3, affine=False), real(1, 3, 5))
    case("instance_norm2d", nn.InstanceNorm2d(3), real(2, 3, 3, 2))
    case("instance_norm2d_affine", nn.InstanceNorm2d(2, eps=0.1, affine=True), real(1, 2, 3, 3))

    # (Hardsigmoid itself multiplies by a 1/6 of single precision.)
    points = torch.cat([real(40, low=-4, high=4), real(10, low=-12, high=12)]).reshape(5, 10)
    for name, layer in [("relu", nn.ReLU()), ("relu6", nn.ReLU6()), ("leaky_relu", nn.LeakyReLU(0.125)), ("elu", nn.ELU(0.5)),
                        ("selu", nn.SELU()), ("softplus", nn.Softplus(threshold=40)), ("silu", nn.SiLU()), ("gelu", nn.GELU()),
                        ("gelu_tanh", nn.GELU("tanh")), ("sigmoid", nn.Sigmoid()), ("tanh", nn.Tanh()),
                        ("hard_sigmoid", Call(lambda x: F.relu6(x + 3) / 6)), ("softmax", nn.Softmax(-1)), ("log_softmax", nn.LogSoftmax(-1)),
                        ("identity", nn.Identity())]:
        case(name, layer, points)
    case("softmax_channels", nn.Softmax(1), real(2, 3, 4))
    case("log_softmax_channels", nn.LogSoftmax(1), real(2, 3, 4))

    case("flatten", nn.Flatten(), real(2, 3, 2, 2))
    case("flatten_middle", nn.Flatten(1, 2), real(2, 3, 2, 2))
    case("unflatten", nn.Unflatten(1, (2, 3)), real(2, 6, 2))
    case("reshape", Call(lambda x: x.reshape(x.shape[0], 3, 2, 2)), real(2, 12))
    case("squeeze", Call(lambda x: x.squeeze(2)), real(2, 3, 1))
    case("unsqueeze", Call(lambda x: x.unsqueeze(-1)), real(2, 3))
    case("permute", Call(lambda x: x.permute(0, 2, 3, 1)), real(2, 3, 2, 2))
    case("permuted_flat", Call(lambda x: x.permute(0, 2, 1).flatten(1)), real(2, 3, 4))
    case("pad", nn.ConstantPad2d((1, 2, 0, 3), 0.5), real(1, 2, 2, 3))
    case("concat", Concat(1, nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Identity()), real(2, 3))
    case("residual", Residual(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 4))), real(3, 4))
    case("network",
         nn.Sequential(nn.Conv2d(1, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
                       Residual(nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.GELU())), nn.Flatten(),
                       nn.Sequential(nn.Linear(12, 5), nn.LayerNorm(5), nn.LogSoftmax(-1))), real(3, 1, 4, 4), both)


def loss(name, fn, result, target):
    x = result.clone().requires_grad_()
    y = fn(x, target)
    y.sum().backward()
    lines.append(f"case {name} eval")
    put("in", x), put("target", target), put("out", y), put("grad", x.grad)


def probabilities(*shape):
    return torch.softmax(real(*shape), -1)


def losses():
    a, b = real(3, 5), real(3, 5)
    for reduction in ("mean", "sum", "none"):
        loss(f"mse_{reduction}", lambda x, t: F.mse_loss(x, t, reduction=reduction), a, b)
        loss(f"mae_{reduction}", lambda x, t: F.l1_loss(x, t, reduction=reduction), a, b)
        loss(f"huber_{reduction}", lambda x, t: F.huber_loss(x, t, delta=0.7, reduction=reduction), a, b)
    loss("mse_batch1", F.mse_loss, real(1, 1), real(1, 1))
    loss("huber_default", F.huber_loss, a, b)

    logits, labels = real(4, 6), torch.tensor([5, 0, 3, 3])
    weight = torch.tensor([0.5, 1, 2, 0.25, 1, 1.5], dtype=torch.float64)
    for reduction in ("mean", "sum", "none"):
        loss(f"cross_entropy_{reduction}", lambda x, t: F.cross_entropy(x, t, reduction=reduction), logits, labels)
        loss(f"cross_entropy_smooth_{reduction}",
             lambda x, t: F.cross_entropy(x, t, reduction=reduction, label_smoothing=0.125), logits, labels)
        loss(f"cross_entropy_weighted_{reduction}",
             lambda x, t: F.cross_entropy(x, t, weight=weight, reduction=reduction), logits, labels)
        loss(f"cross_entropy_both_{reduction}",
             lambda x, t: F.cross_entropy(x, t, weight=weight, reduction=reduction, label_smoothing=0.125), logits, labels)
        loss(f"nll_{reduction}", lambda x, t: F.nll_loss(x, t, reduction=reduction), torch.log_softmax(logits, 1), labels)
    skipping = torch.tensor([5, -100, 3, -100])
    loss("cross_entropy_skip", F.cross_entropy, logits, skipping)
    loss("cross_entropy_skip_both", lambda x, t: F.cross_entropy(x, t, weight=weight, label_smoothing=0.125), logits, skipping)
    loss("cross_entropy_sequence", lambda x, t: F.cross_entropy(x.transpose(1, 2), t), real(2, 3, 4),
         torch.tensor([[0, 3, 1], [2, 2, 0]]))
    loss("cross_entropy_batch1", F.cross_entropy, real(1, 2), torch.tensor([1]))
    loss("cross_entropy_extreme", lambda x, t: F.cross_entropy(x, t, reduction="none"),
         torch.tensor([[1e4, -1e4, 0], [1e4, -1e4, 0], [-1e4, -1e4, -1e4]], dtype=torch.float64), torch.tensor([0, 1, 2]))
    loss("cross_entropy_soft", F.cross_entropy, logits, probabilities(4, 6))
    loss("cross_entropy_soft_both", lambda x, t: F.cross_entropy(x, t, weight=weight, label_smoothing=0.125), logits,
         probabilities(4, 6))
    loss("cross_entropy_on_probabilities", lambda x, t: F.nll_loss(x.log(), t), probabilities(4, 6), labels)

    p, t = real(3, 4, low=0.05, high=0.95), real(3, 4, low=0.05, high=0.95)
    for reduction in ("mean", "sum", "none"):
        loss(f"bce_{reduction}", lambda x, y: F.binary_cross_entropy(x, y, reduction=reduction), p, t)
        loss(f"bce_with_logits_{reduction}",
             lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction=reduction), real(3, 4), t)
        loss(f"kl_div_{reduction}", lambda x, y: F.kl_div(x, y, reduction=reduction), torch.log(probabilities(3, 4)),
             probabilities(3, 4))
    f64 = torch.float64
    # At p = t = 0 or 1, PyTorch's gradient is 0; the derivative is ±1, and ours. The others are PyTorch's.
    loss("bce_extreme", lambda x, y: F.binary_cross_entropy(x, y, reduction="none"),
         torch.tensor([0, 1, 0, 1], dtype=f64), torch.tensor([1, 0, 0.5, 0.25], dtype=f64))
    loss("bce_with_logits_extreme", lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
         torch.tensor([1e4, -1e4, 1e4, -1e4, 0, 30, -30], dtype=f64), torch.tensor([1, 0, 0, 1, 1, 1, 0.5], dtype=f64))
    loss("kl_div_batchmean", lambda x, y: F.kl_div(x, y, reduction="batchmean"), torch.log(probabilities(3, 4)),
         torch.tensor([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]], dtype=f64))


def main():
    torch.set_num_threads(1)
    for name, write in (("layers", layers), ("losses", losses)):
        lines.clear()
        write()
        path = ROOT / f"tests/goldens/{name}.txt"
        path.write_text("\n".join(lines) + "\n")
        print(f"{path.relative_to(ROOT)}: {sum(l.startswith('case') for l in lines)} cases, {path.stat().st_size} bytes")


main()
