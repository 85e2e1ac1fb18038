"""Layers, losses, training steps and the trainer."""
from ._core.nn import *  # noqa: F401,F403
