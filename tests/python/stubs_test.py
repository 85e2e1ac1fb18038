"""The committed type stubs are what the module says of itself, and mypy reads them."""
import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

RIGHT = '''
import ingot
from ingot import nn, optim
x: ingot.Tensor = ingot.relu(ingot.ones((2, 3))) + 1
y = ingot.sort(x, descending=True).indices
z = ingot.conv2d(x, x, stride=2, padding=[1, 1])
step = nn.train_step(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.cross_entropy, optim.Adam(lr=1e-3))
loss: float = step(x, y)
shape = x.reshape(3, 2).T[0, ..., None].sum(axis=0, keepdim=True).shape
'''
WRONG = '''
import ingot
ingot.relu()
ingot.ones((2,)).colour
ingot.softmax(ingot.ones((2,)), axis="last")
'''


def test_stubs_are_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "tools/python_stubs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_reads_them(tmp_path):
    for name, code in (("right.py", RIGHT), ("wrong.py", WRONG)):
        (tmp_path / name).write_text(code)
    mypy = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--no-error-summary"]
    env = {"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([*mypy, str(tmp_path / "right.py")], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([*mypy, str(tmp_path / "wrong.py")], capture_output=True, text=True, env=env)
    assert done.stdout.count("wrong.py") == 3, done.stdout
