"""The task of references in torch. It has a separate zygote, so that no other child loads torch.

Inputs and results are tensors. bf16 and fp8 cross as their bits, because NumPy lacks these dtypes.
The zygote needs `launch_children.TORCH_ENVIRONMENT`.
"""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch

from compiler.messages.wire import task_of
from launch.buffers.element_types import Array, readable, stored
from launch.messages import ReferenceOrder
from launch.reference import libraries as numbers
from launch.reference.reference import reference
from launch.reference.reference_language import Language, preserved_numpy_state

_OWN: Mapping[str, torch.dtype] = {
    "bf16": torch.bfloat16,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5": torch.float8_e5m2,
    "fp8e5b16": torch.float8_e5m2fnuz,
}
"""The dtypes that torch has and NumPy lacks, by Triton's names."""


def tensor_of(elements: Array, dtype: str) -> torch.Tensor:
    """Return stored elements as a contiguous tensor of the torch dtype for a Triton type."""
    if dtype not in _OWN:
        return torch.from_numpy(np.array(readable(elements, dtype), order="C"))
    bits = np.dtype(f"u{stored(dtype).itemsize}")
    return torch.from_numpy(np.array(elements, order="C").view(bits)).view(_OWN[dtype])


def plain(returned: Any) -> Any:
    """Return a reference's result with tensors as NumPy arrays, bf16 and fp8 as float32.

    Raises `TypeError` for any other dtype that NumPy lacks.
    """
    if isinstance(returned, dict):
        return {name: plain(value) for name, value in returned.items()}
    if not isinstance(returned, torch.Tensor):
        return returned
    tensor = returned.detach().to("cpu").resolve_conj().resolve_neg()
    if tensor.dtype in _OWN.values():
        tensor = tensor.to(torch.float32)
    return tensor.numpy()


def modified_in_place(inputs: Mapping[str, Any]) -> str | None:
    """Describe an input that was changed in place: torch counts changes but cannot forbid them."""
    for name, tensor in _tensors(inputs):
        if tensor._version:
            return f"the reference changed its input {name!r} in place: change a clone() instead"
    return None


def _tensors(inputs: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, tuple):
            yield from _tensors({f"{name}.{index}": item for index, item in enumerate(value)})


@contextmanager
def preserved_state() -> Iterator[None]:
    """Restore the global generators and the default dtype afterwards."""
    kind = torch.get_default_dtype()
    try:
        with preserved_numpy_state(), torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_default_dtype(kind)


TORCH = Language(
    "torch",
    argument=tensor_of,
    returned=plain,
    modified_in_place=modified_in_place,
    preserved_state=preserved_state,
    of_numbers=lambda numbers: torch.from_numpy(np.array(numbers, order="C")),
)


TASKS = dict([task_of(ReferenceOrder, partial(reference, language=TORCH))])

_ALSO = (
    "numpy.fft", "numpy.linalg", "numpy.random", "torch.fft", "torch.func", "torch.linalg",
    "torch.nn.functional", "torch.special", "torch.utils",
)  # fmt: skip


def libraries() -> dict[str, str]:
    """Return the libraries that affect the results of a torch reference. Call it in its zygote."""
    capability = torch.backends.cpu.get_cpu_capability()
    return numbers.libraries() | {"torch": torch.__version__, "capability": capability}


def warm_up() -> None:
    """Import the modules that a reference may need: its child cannot open files later."""
    for name in _ALSO:
        importlib.import_module(name)
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    rows = torch.ones(8, 8)
    weights = torch.ones(2, 1, 3, 3)
    functions = torch.nn.functional
    functions.conv2d(rows[None, None], weights)
    functions.scaled_dot_product_attention(rows[None], rows[None], rows[None])
    torch.einsum("ij,jk->ik", rows, torch.softmax(rows, dim=1))
    repr(rows)
