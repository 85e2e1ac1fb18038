"""Three spirals told apart: a network, a training step that is one plan, and no allocation in the loop."""
import numpy as np

from ingot import nn, optim

random = np.random.default_rng(1)
label = random.integers(0, 3, 6400)
radius = random.uniform(0.1, 1, 6400)
angle = 4 * radius + label * 2.1 + random.normal(0, 0.1, 6400)
x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32)

net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
step = nn.train_step(net, nn.cross_entropy, optim.Adam(lr=3e-3))
for i in range(500):
    batch = slice(i % 100 * 64, i % 100 * 64 + 64)
    loss = step(x[batch], label[batch])
print(f"loss {loss:.4f}, accuracy {(net(x).numpy().argmax(1) == label).mean():.3f}, {step.plan().bytes()['own']} bytes")
