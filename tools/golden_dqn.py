#!/usr/bin/env python3
"""Whole runs of deep Q-learning in PyTorch, written without a look at Ingot's loop: the corridor, replay (uniform, by priority), n-step
returns, dueling and double Q values, Huber and squared loss, Adam, a target network that follows. The losses of 500 updates go to
tests/goldens/dqn.txt, where tests/rl/dqn_test.cc finds them. Only the random numbers (Philox4x32-10) are defined to be the same."""
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENVS, BATCH, CAPACITY, STARTS, TOTAL, UPDATES = 2, 16, 600, 60, 2000, 500
DISCOUNT, TAU, CLIP, ALPHA, BETA, LEAST, SEED = 0.9, 0.05, 10.0, 0.6, 0.4, 1e-2, 11
LR = float(np.float32(1e-3))
CELLS, LIMIT, ACTIONS = 8, 12, 2
HIDDEN = (32, 24)
WORD = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & WORD, (p0 >> 32) ^ c[3] ^ k[1], p0 & WORD]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


def uniform(stream, index):
    """Number `index` of a stream, 53 bits in [0, 1); two per block."""
    block, half = divmod(index, 2)
    w = philox((block & WORD, block >> 32, stream & WORD, stream >> 32), (SEED, 0))
    return w[2 * half + 1] * 2.0**-32 + (w[2 * half] >> 11) * 2.0**-53


def stream(name):
    return int.from_bytes(name.encode(), "big")


class Corridor:
    def __init__(self, index):
        self.index, self.episodes = index, 0
        self.reset()

    def reset(self):
        w = philox((self.index, 0, self.episodes, 0), (SEED, 0))
        self.at, self.steps, self.episodes = ((w[1] << 32) | w[0]) % (CELLS - 1), 0, self.episodes + 1

    def step(self, action):
        """State, action, reward, next state, terminated, truncated; a new episode begins at once."""
        before = self.at
        self.at = max(0, self.at + (1 if action == 1 else -1))
        end = self.at == CELLS - 1
        self.steps += not end
        cut = not end and self.steps == LIMIT
        row = (before, action, np.float32(1.0 if end else -0.1), self.at, end, cut)
        if end or cut:
            self.reset()
        return row


class Net:
    def __init__(self, dueling):
        self.dueling, self.p, size = dueling, {}, CELLS
        for i, width in enumerate(HIDDEN):
            self.p |= {f"trunk.{3 * i}.weight": (width, size), f"trunk.{3 * i}.bias": (width,)}
            self.p |= {f"trunk.{3 * i + 1}.weight": (width,), f"trunk.{3 * i + 1}.bias": (width,)}
            size = width
        self.p |= {"advantage.weight": (ACTIONS, size), "advantage.bias": (ACTIONS,)}
        if dueling:
            self.p |= {"value.weight": (1, size), "value.bias": (1,)}
        for name, shape in self.p.items():
            values = [0.3 * math.sin(k * 1.7 + len(name)) for k in range(1, math.prod(shape) + 1)]
            self.p[name] = torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()

    def __call__(self, cells):
        x = F.one_hot(torch.tensor(cells), CELLS).double()
        for i, width in enumerate(HIDDEN):
            x = F.linear(x, self.p[f"trunk.{3 * i}.weight"], self.p[f"trunk.{3 * i}.bias"])
            x = F.relu(F.layer_norm(x, (width,), self.p[f"trunk.{3 * i + 1}.weight"], self.p[f"trunk.{3 * i + 1}.bias"]))
        a = F.linear(x, self.p["advantage.weight"], self.p["advantage.bias"])
        return F.linear(x, self.p["value.weight"], self.p["value.bias"]) + a - a.mean(1, keepdim=True) if self.dueling else a


def window(histories, env, i, n_step):
    """The n-step return from entry i of an environment's history, and the share of the value that follows."""
    total = np.float32(0)
    for k, (_, _, reward, after, end, cut) in enumerate(histories[env][i : i + n_step]):
        total = np.float32(total + np.float32(DISCOUNT**k * float(reward)))
        share = np.float32(0 if end else DISCOUNT ** (k + 1))
        if end or cut:
            break
    return total, share, after


def run(dueling, double, prioritised, huber, n_step):
    online, target = Net(dueling), Net(dueling)
    adam = torch.optim.Adam(online.p.values(), lr=LR)
    envs = [Corridor(i) for i in range(ENVS)]
    histories, priority, largest, draws, losses, steps = [[] for _ in envs], {}, 1.0, 0, [], 0

    def line(a, b, share):
        return a + (b - a) * min(steps / (share * TOTAL), 1)

    while len(losses) < UPDATES:
        epsilon = line(0.5, 0.05, 0.5)
        best = online([e.at for e in envs]).argmax(1)
        for i, env in enumerate(envs):
            chance = uniform(stream("explore"), steps + i)
            histories[i].append(env.step(int(chance / epsilon * ACTIONS) if chance < epsilon else int(best[i])))
            priority[(len(histories[i]) - 1, i)] = largest
        steps += ENVS
        if len(priority) > CAPACITY:
            for key in sorted(priority)[: len(priority) - CAPACITY]:
                del priority[key]
        if (steps - STARTS) * 0.5 < len(losses) + 1:
            continue
        # The ring's order: where an entry lies decides which number of a draw finds it.
        slots = sorted(priority, key=lambda k: (k[0] % (CAPACITY // ENVS), k[1]))
        numbers = [uniform(stream("replay"), draws + j) for j in range(BATCH)]
        draws += BATCH
        if prioritised:
            p = np.array([priority[s] for s in slots])
            sums = np.cumsum(p)
            drawn = [int(np.searchsorted(sums, (j + u) / BATCH * sums[-1], side="right")) for j, u in enumerate(numbers)]
            weight = (len(slots) * p[drawn] / sums[-1]) ** -line(BETA, 1, 1)
            weight = (weight / weight.max()).astype(np.float32)
        else:
            drawn, weight = [int(u * len(slots)) for u in numbers], np.ones(BATCH, np.float32)
        chosen = [slots[d] for d in drawn]
        windows = [window(histories, env, i, n_step) for i, env in chosen]
        reward, share = (torch.tensor(np.array([w[c] for w in windows])).double() for c in (0, 1))
        after = [w[2] for w in windows]
        state, action = ([histories[env][i][c] for i, env in chosen] for c in (0, 1))
        with torch.no_grad():
            values = target(after)
            worth = values.gather(1, online(after).argmax(1, keepdim=True))[:, 0] if double else values.max(1).values
            y = reward + share * worth
        q = online(state).gather(1, torch.tensor(action)[:, None])[:, 0]
        each = F.huber_loss(q, y, reduction="none") if huber else F.mse_loss(q, y, reduction="none")
        loss = (torch.tensor(weight).double() * each).mean()
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(online.p.values(), CLIP)
        adam.step()
        with torch.no_grad():
            for name, p in target.p.items():
                p += TAU * (online.p[name] - p)
        losses.append(loss.item())
        for s, error in zip(chosen, (y - q).detach().numpy().astype(np.float32)):
            priority[s] = (abs(float(error)) + LEAST) ** ALPHA
            largest = max(largest, priority[s])
    return losses


def main():
    torch.set_num_threads(1)
    lines = []
    for name, *switches in [("all", 1, 1, 1, 1, 2), ("plain", 0, 0, 0, 0, 1), ("double", 0, 1, 0, 1, 3), ("priorities", 1, 0, 1, 0, 3)]:
        losses = run(*switches)
        print(f"{name}: loss {losses[0]:.4f} to {losses[-1]:.4f}")
        lines += [" ".join(map(str, [name, *switches])), " ".join(f"{v:.12g}" for v in losses)]
    (ROOT / "tests/goldens/dqn.txt").write_text("\n".join(lines) + "\n")


main()
