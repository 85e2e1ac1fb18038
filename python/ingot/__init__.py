"""Ingot: whole training steps, planned once and run without surprises.

    import ingot
    from ingot import nn, optim

    net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    step = nn.train_step(net, nn.cross_entropy, optim.Adam(lr=1e-3))
    loss = step(x, labels)
"""
from ._core import *  # noqa: F401,F403
from ._core import _table  # noqa: F401
from ._functions import compile, value_and_grad  # noqa: F401

# The packages, in place of the compiled modules that the star brought.
import ingot.data  # noqa: F401
import ingot.nn  # noqa: F401
import ingot.optim  # noqa: F401
import ingot.schedule  # noqa: F401
