# Written by tools/python_stubs.py: change the bindings and run `./dev python --stubs`.
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from typing import overload

from . import DType, Plan, Profile, Tensor  # noqa
from .nn import Module  # noqa



Input = Union[Tensor, float, Any]  # a tensor, an array (NumPy, PyTorch, …), a number beside tensors

def load_safetensors(path: Any) -> dict: ...
def map_safetensors(path: Any) -> dict: ...
def save_safetensors(path: Any, tensors: dict, metadata: Dict[str, str] = ...) -> None: ...
def load_png(path: Any) -> Tensor: ...
def save_png(path: Any, picture: Input) -> None: ...
