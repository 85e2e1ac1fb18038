"""Factors of the learning rate."""
from ._core.schedule import *  # noqa: F401,F403
