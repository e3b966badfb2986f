"""The task of reading what kernels do to their parameters, for children of a small zygote.

The zygote runs no user code, and has no torch.
"""

import gc

from compiler.back import contexts, triton_api
from compiler.diagnostic import Failure
from compiler.messages.wire import Send, Task, task_of
from compiler.target import STANDARD_TARGET, parse_target
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.task import read_ir
from programs.replay.value_flow import kernel_effects
from programs.tape.effects_messages import EffectsOrder, EffectsReport
from programs.tape.kernel_effects import KernelEffects

__all__ = ["TASKS", "prewarm", "warm_up"]

_STAGE = "ttir"
_KERNEL = """module {
  tt.func public @copy(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
    %v = tt.load %x : !tt.ptr<f32>
    tt.store %out, %v : !tt.ptr<f32>
    tt.return
  }
}
"""


def read_effects(order: EffectsOrder, body: bytes, _: Send) -> EffectsReport:
    """Return the effects of the kernels in `body`, in order."""
    by_kernel: list[list[list[str]] | None] = []
    at = 0
    for size_bytes in order.sizes_bytes:
        text = bytes(body[at : at + size_bytes]).decode(errors="replace")
        at += size_bytes
        effects = _effects_of(text, order)
        by_kernel.append(
            None if effects is None else [sorted(effects.reads), sorted(effects.writes)]
        )
    return EffectsReport(effects=by_kernel)


def _effects_of(text: str, order: EffectsOrder) -> KernelEffects | None:
    try:
        return kernel_effects(read_ir(text, order.target, _STAGE))
    except (Untranslatable, Failure, RecursionError):  # text that MLIR or its reader refuses
        return None


TASKS: dict[str, Task] = dict([task_of(EffectsOrder, read_effects)])


def warm_up() -> None:
    """Read a small kernel, and leave what is loaded out of later collections."""
    target = parse_target(STANDARD_TARGET)
    kernel_effects(read_ir(_KERNEL, target, _STAGE))
    contexts.prepare(triton_api.make_backend(triton_api.target_of(target)))
    gc.collect()


def prewarm(_: str) -> None:
    """Do nothing: children are started one by one, when a program asks for them."""
