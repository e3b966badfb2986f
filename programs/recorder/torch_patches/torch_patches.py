"""Changes torch where fake tensors say too little, too much, or what is not so on a GPU.

Once in a process that records; what gives a value, an address or a generator's state is refused.
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

from programs.recorder.known_values import MAX_ELEMENTS
from programs.recorder.recording import current, refused
from programs.recorder.torch_patches import (
    moved_modules,
    opaque_scalar,
    own_generators,
    truncated_normals,
)

_CUDA_ONLY = ("silu_backward", "mish_backward", "_fused_rms_norm")
"""Ops with a kernel for CUDA and one made of others: a CPU build would take them apart."""
_COPYING = "torch/_tensor.py"
_kept: list[Any] = []


def install() -> None:
    """Change torch, and the classes of fake tensors."""
    fake_tensors.CONSTANT_NUMEL_LIMIT = MAX_ELEMENTS
    fake_tensors.init_gpu_context = _nothing
    mode: Any = FakeTensorMode
    mode.__deepcopy__ = _itself  # a copied tensor is of the same mode
    mode.avoid_device_init = property(_yes)  # constants never travel to the device
    torch.backends.cudnn.enabled = False  # a CUDA build would choose its RNNs here
    rnn_base: Any = torch.nn.RNNBase
    rnn_base.flatten_parameters = _nothing
    moved_modules.install()
    _hide_composites()
    _give_shapes()
    _refuse_values()
    _replay_seeds()
    _refuse_states()
    _replace_inductor_allocation()
    own_generators.install()
    truncated_normals.install()
    torch.compile = _uncompiled


def _hide_composites() -> None:
    """Let torch know of CUDA kernels that this build lacks; on fake tensors none is called."""
    library = torch.library.Library("aten", "IMPL")
    _kept.append(library)
    for name in _CUDA_ONLY:
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CUDA"):
            library.impl(name, _refusing("unsupported_op", f"a real {name}"), "CUDA")


def _give_shapes() -> None:
    """Say what ops return of which torch does not, or not what they do on a GPU.

    torch says nothing of GRU cells on CUDA, fails for LSTM cells there without a bias, and says of
    log_sigmoid_forward that its buffer has elements, as on CPUs alone.
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
    """Return a decomposition of log_sigmoid_forward; torch looks at its name and module, too."""

    @wraps(parts)
    def without_buffer(given: Any) -> Any:
        return parts(given)[0], given.new_empty(0)

    return without_buffer


def _lstm_cell(
    input_gates: Any, hidden_gates: Any, cell: Any, input_bias: Any = None, hidden_bias: Any = None
) -> Any:
    del hidden_gates, input_bias, hidden_bias
    made = [
        torch.empty_like(one, memory_format=torch.contiguous_format)
        for one in (cell, cell, input_gates)
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
    opaque_scalar.install()
    tensor.__dlpack__ = _refusing("value_dependent", "it exports a tensor with DLPack")
    storage: Any = torch.UntypedStorage
    storage.data_ptr = _refusing("data_pointer", "it asks for the address of a storage")
    tensor.__cuda_array_interface__ = property(
        _refusing("data_pointer", "it asks for the address of a tensor")
    )


def _data_ptr(_: Any) -> int:
    """Refuse, but for torch's own copying of tensors, which needs no true address."""
    if not sys._getframe(1).f_code.co_filename.endswith(_COPYING):
        refused("data_pointer", "it asks for the address of a tensor")
    return 0


def _replay_seeds() -> None:
    """Write seedings down: a replay does them again."""
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
            setattr(cuda, name, _refusing("random_state", f"torch.cuda.{name}() is never the same"))
        asks = "it asks for the seed of CUDA's random generator"
        cuda.initial_seed = _refusing("random_state", asks)
    torch.seed = module.seed = _refusing("random_state", "torch.seed() is never the same")
    asks = "it asks for the seed of torch's random generator"
    torch.initial_seed = module.initial_seed = _refusing("random_state", asks)


def _write_seed(seed: int, device: str | None = None) -> None:
    recording = current()
    if recording is None or recording.muted:
        return
    caller = sys._getframe(2).f_code.co_filename
    if not caller.endswith("torch/random.py"):  # torch.manual_seed seeds each device by these
        recording.draws += 1
        entry: dict[str, Any] = {"op": "seed", "seed": seed}
        recording.tape.write(entry if device is None else {**entry, "device": device})


def _refuse_states() -> None:
    """Let a state of a generator be put back only where nothing was drawn since it was taken."""
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
    """Let programs that Inductor wrote allocate as all others do."""
    guards: Any = torch._C._dynamo.guards

    def empty_strided_cuda(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty_strided(size, stride, dtype=dtype, device="cuda")

    guards._empty_strided_cuda = empty_strided_cuda


class GeneratorState:
    """Stands for the state of torch's generators after so many draws."""

    def __init__(self, draws: int) -> None:
        self.draws = draws

    def clone(self) -> GeneratorState:
        """Return itself: it does not change."""
        return self

    cpu = cuda = clone


def _state(*_: Any, **__: Any) -> Any:
    recording = current()
    return GeneratorState(0 if recording is None else recording.draws)


def _set_state(state: Any, *_: Any, **__: Any) -> None:
    recording = current()
    drawn = 0 if recording is None else recording.draws
    if not isinstance(state, GeneratorState) or state.draws != drawn:
        refused("random_state", "it puts a random generator back to an earlier state")


def _set_states(states: Any) -> None:
    for state in states:
        _set_state(state)


def _itself(self: Any, _: Any) -> Any:
    return self


def _yes(_: Any) -> bool:
    return True


def _nothing(*_: Any, **__: Any) -> None: ...


def _uncompiled(model: Any = None, **_: Any) -> Any:
    """Return what `torch.compile` is given: its ops are recorded as eager torch runs them."""
    return model if model is not None else lambda function: function


def _refusing(reason: str, detail: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        refused(reason, detail)

    return refuse
