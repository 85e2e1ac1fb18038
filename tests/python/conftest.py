"""PYTHONPATH says where the built package is: ./dev python sets it."""
import signal
import subprocess
import sys

import pytest

try:
    import torch
except ImportError:
    torch = None


@pytest.fixture
def pytorch():
    """PyTorch, for what is compared with it; the rest of a test needs none."""
    if torch is None:
        pytest.skip("PyTorch is not installed")
    return torch


@pytest.fixture
def run_child():
    """Runs a program that interrupts itself, in a Python that hears it: what is started in the background inherits deaf ears."""
    def run(code, *arguments, timeout=120):
        return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=timeout,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return run
