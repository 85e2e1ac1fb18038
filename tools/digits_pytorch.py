#!/usr/bin/python3
"""The recipe `digits` in PyTorch: the same data, network, batches, augmentation, optimiser, schedule and evaluation, written as a
PyTorch user would who cares for speed (tensors in memory, an epoch's augmentation in one call). The peer of `./dev bench digits`.

  tools/digits_pytorch.py [--threads N] [--seed S] [--epochs E] [--foreach] [--script]

Prints one line of JSON: accuracy at the end, seconds of training with evaluation, seconds of the whole process so far.
"""
import argparse
import gzip
import json
import pathlib
import time

START = time.perf_counter()

import numpy as np  # noqa: E402  (the time of the imports counts, as it does for whoever waits)
import torch  # noqa: E402
from torch import nn  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH, LR, HELD_BACK = 32, 0.003, 0.2


def shifted(x):
    """Every picture moved by -1, 0 or 1 pixels along both axes, zeros coming in."""
    windows = nn.functional.pad(x, (1, 1, 1, 1)).unfold(2, 8, 1).unfold(3, 8, 1)  # [n, 1, 3, 3, 8, 8]
    n = torch.arange(len(x))
    return windows[n, :, torch.randint(3, (len(x),)), torch.randint(3, (len(x),))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--foreach", action="store_true", help="Adam over lists of tensors")
    parser.add_argument("--script", action="store_true", help="the network through TorchScript")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)

    with gzip.open(ROOT / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    x = torch.from_numpy(table[:, :64]).reshape(-1, 1, 8, 8) / 16
    y = torch.from_numpy(table[:, 64]).long()
    order = torch.randperm(len(x))
    held_back = int(len(x) * HELD_BACK)
    test_x, test_y, x, y = x[order[:held_back]], y[order[:held_back]], x[order[held_back:]], y[order[held_back:]]
    mean, deviation = x.mean(), x.std()
    test_x = (test_x - mean) / deviation

    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Flatten(), nn.Dropout(0.3), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))
    if options.script:
        net = torch.jit.script(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=LR, foreach=options.foreach)
    batches = -(-len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LR, total_steps=batches * options.epochs, cycle_momentum=False)
    begin = time.perf_counter()
    for _ in range(options.epochs):
        net.train()
        order = torch.randperm(len(x))
        epoch_x, epoch_y = (shifted(x[order]) - mean) / deviation, y[order]
        total, right = 0.0, 0
        for batch_x, batch_y in zip(epoch_x.split(BATCH), epoch_y.split(BATCH)):
            logits = net(batch_x)
            loss = nn.functional.cross_entropy(logits, batch_y, label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch_x)
            right += (logits.argmax(1) == batch_y).sum().item()
        net.eval()
        with torch.inference_mode():
            logits = net(test_x)
            test_loss = nn.functional.cross_entropy(logits, test_y).item()
            accuracy = (logits.argmax(1) == test_y).float().mean().item()
    end = time.perf_counter()
    print(json.dumps({"accuracy": accuracy, "loss": test_loss, "train_seconds": end - begin, "process_seconds": end - START,
                      "threads": options.threads}))


if __name__ == "__main__":
    main()
