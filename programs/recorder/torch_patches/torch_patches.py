"""Patches torch where fake tensors lack results, or have others than a GPU.

Applied once in a process that records. Refuses reads of values, addresses and generator states.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import torch
import torch._subclasses.fake_tensor as fake_tensors
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensorMode

from programs.recorder.recording import MAX_ELEMENTS, current, refused
from programs.recorder.torch_patches import (
    fake_generators,
    fake_tensor_patches,
    opaque_values,
)

_CUDA_ONLY = ("silu_backward", "mish_backward", "_fused_rms_norm")
"""Ops with a CUDA kernel that a CPU build would decompose."""
_COPYING = "torch/_tensor.py"
_kept: list[Any] = []


def install() -> None:
    """Patch torch, and its classes of fake tensors."""
    fake_tensors.CONSTANT_NUMEL_LIMIT = MAX_ELEMENTS
    fake_tensors.init_gpu_context = _nothing
    mode: Any = FakeTensorMode
    mode.__deepcopy__ = _itself  # a copy of a tensor belongs to the same mode
    mode.avoid_device_init = property(_yes)  # else constants are copied to the device
    torch.backends.cudnn.enabled = False  # else a CUDA build calls cuDNN's RNNs
    rnn_base: Any = torch.nn.RNNBase
    rnn_base.flatten_parameters = _nothing
    _hide_composites()
    _give_shapes()
    _refuse_values()
    _replay_seeds()
    _refuse_states()
    _replace_inductor_allocation()
    fake_generators.install()
    fake_tensor_patches.install()
    torch.compile = _uncompiled


def _hide_composites() -> None:
    """Register CUDA kernels that this build lacks, against decomposition. None is ever called."""
    library = torch.library.Library("aten", "IMPL")
    _kept.append(library)
    for name in _CUDA_ONLY:
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CUDA"):
            detail = f"it calls {name} on a tensor that is not fake"
            library.impl(name, _refusing("unsupported_op", detail), "CUDA")


def _give_shapes() -> None:
    """Register fake implementations that torch lacks, or has for CPUs only.

    torch has none for GRU cells on CUDA. That for LSTM cells on CUDA fails without a bias. That for
    log_sigmoid_forward returns a buffer with elements, which only the CPU's kernel does.
    """
    library = torch.library.Library("aten", "IMPL")
    _kept.append(library)
    library.impl("_thnn_fused_lstm_cell", _lstm_cell, "Meta", allow_override=True)
    logarithm = torch.ops.aten.log_sigmoid_forward.default
    decomposition_table[logarithm] = _without_buffer(decomposition_table[logarithm])
    for name, shapes in (
        ("_thnn_fused_gru_cell", _gru_cell),
        ("_thnn_fused_gru_cell_backward", _gru_cell_backward),
    ):
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "Meta"):
            library.impl(name, shapes, "Meta")


def _without_buffer(parts: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return log_sigmoid_forward with an empty buffer; `wraps`, as torch reads name and module."""

    @wraps(parts)
    def without_buffer(tensor: Any) -> Any:
        return parts(tensor)[0], tensor.new_empty(0)

    return without_buffer


def _lstm_cell(
    input_gates: Any, hidden_gates: Any, cell: Any, input_bias: Any = None, hidden_bias: Any = None
) -> Any:
    del hidden_gates, input_bias, hidden_bias
    made = [
        torch.empty_like(tensor, memory_format=torch.contiguous_format)
        for tensor in (cell, cell, input_gates)
    ]
    return tuple(made)


def _gru_cell(
    input_gates: Any, hidden_gates: Any, hidden: Any, input_bias: Any = None,
    hidden_bias: Any = None,
) -> Any:  # fmt: skip
    del input_gates, hidden_gates, input_bias, hidden_bias
    workspace = hidden.new_empty((hidden.shape[0], hidden.shape[1] * 5))
    return torch.empty_like(hidden, memory_format=torch.contiguous_format), workspace


def _gru_cell_backward(gradient: Any, workspace: Any, has_bias: bool) -> Any:
    rows, width = gradient.shape
    gates = [workspace.new_empty((rows, 3 * width)) for _ in range(2)]
    biases = [workspace.new_empty((3 * width,)) if has_bias else None for _ in range(2)]
    hidden = torch.empty_like(gradient, memory_format=torch.contiguous_format)
    return (*gates, hidden, *biases)


def _refuse_values() -> None:
    tensor: Any = torch.Tensor
    tensor.data_ptr = _data_ptr
    opaque_values.install()
    tensor.__dlpack__ = _refusing("value_dependent", "it exports a tensor with DLPack")
    storage: Any = torch.UntypedStorage
    storage.data_ptr = _refusing("data_pointer", "it calls data_ptr() of a storage")
    tensor.__cuda_array_interface__ = property(
        _refusing("data_pointer", "it reads __cuda_array_interface__ of a tensor")
    )


def _data_ptr(_: Any) -> int:
    """Refuse, except for `Tensor.__deepcopy__`, which does not use the address."""
    if not sys._getframe(1).f_code.co_filename.endswith(_COPYING):
        refused("data_pointer", "it calls data_ptr() of a tensor")
    return 0


def _replay_seeds() -> None:
    """Write seedings to the tape, as a replay repeats them."""
    real = torch.manual_seed

    def manual_seed(seed: Any) -> torch.Generator:
        recording = current()
        if recording is not None:
            _write_seed(int(seed))
        return real(int(seed))

    def manual_seed_of_device(seed: Any) -> None:
        if current() is not None:
            _write_seed(int(seed), "cuda")

    module: Any = torch.random
    torch.manual_seed = module.manual_seed = manual_seed
    for cuda in (torch.cuda, torch.cuda.random):
        for name in ("manual_seed", "manual_seed_all"):
            setattr(cuda, name, manual_seed_of_device)
        for name in ("seed", "seed_all"):
            detail = f"torch.cuda.{name}() differs in each run: use torch.cuda.manual_seed"
            setattr(cuda, name, _refusing("random_state", detail))
        detail = "it reads the seed of CUDA's random generator"
        cuda.initial_seed = _refusing("random_state", detail)
    detail = "torch.seed() differs in each run: use torch.manual_seed"
    torch.seed = module.seed = _refusing("random_state", detail)
    detail = "it reads the seed of torch's random generator"
    torch.initial_seed = module.initial_seed = _refusing("random_state", detail)


def _write_seed(seed: int, device: str | None = None) -> None:
    recording = current()
    if recording is None or recording.muted:
        return
    caller = sys._getframe(2).f_code.co_filename
    if not caller.endswith("torch/random.py"):  # torch.manual_seed calls this for each device
        recording.draws += 1
        entry: dict[str, Any] = {"op": "seed", "seed": seed}
        recording.tape.write(entry if device is None else {**entry, "device": device})


def _refuse_states() -> None:
    """Allow restoring a generator's state only if nothing was drawn since it was read."""
    module: Any = torch.random
    torch.get_rng_state = module.get_rng_state = _state
    torch.set_rng_state = module.set_rng_state = _set_state
    for cuda in (torch.cuda, torch.cuda.random):
        states: Any = cuda
        states.get_rng_state = _state
        states.set_rng_state = _set_state
        states.get_rng_state_all = lambda: [_state()]
        states.set_rng_state_all = _set_states


def _replace_inductor_allocation() -> None:
    """Replace Inductor's own allocator, so that programs which it wrote are recorded, too."""
    guards: Any = torch._C._dynamo.guards

    def empty_strided_cuda(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty_strided(size, stride, dtype=dtype, device="cuda")

    guards._empty_strided_cuda = empty_strided_cuda


class GeneratorState:
    """Replaces the state of torch's generators after a number of draws."""

    def __init__(self, draws: int) -> None:
        self.draws = draws

    def clone(self) -> GeneratorState:
        """Return the same object, which is immutable."""
        return self

    cpu = cuda = clone


def _state(*_: Any, **__: Any) -> Any:
    recording = current()
    return GeneratorState(0 if recording is None else recording.draws)


def _set_state(state: Any, *_: Any, **__: Any) -> None:
    recording = current()
    drawn = 0 if recording is None else recording.draws
    if not isinstance(state, GeneratorState) or state.draws != drawn:
        refused("random_state", "it restores an earlier state of a random generator")


def _set_states(states: Any) -> None:
    for state in states:
        _set_state(state)


def _itself(self: Any, _: Any) -> Any:
    return self


def _yes(_: Any) -> bool:
    return True


def _nothing(*_: Any, **__: Any) -> None: ...


def _uncompiled(model: Any = None, **_: Any) -> Any:
    """Replace `torch.compile`: return the function itself, whose eager ops are recorded."""
    return model if model is not None else lambda function: function


def _refusing(reason: str, detail: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        refused(reason, detail)

    return refuse
