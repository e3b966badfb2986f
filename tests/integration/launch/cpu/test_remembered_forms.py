"""Cases of a launch that alternate between specializations translate each to NumPy once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from launch.cpu.run_kernel import translated
from launch.messages import RunOrder
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, compile_kernel
from tests.integration.launch.cpu.forms import TARGET

SOURCE = """import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
"""
ORDER = RunOrder(
    ir=(0, 0), stage="source", target=TARGET, files=["user.py"], allocations=[], arguments={},
    parameters=["x_ptr"], grid=(1, 1, 1),
)  # fmt: skip


def ir_of(children: Children, block: int) -> str:
    request = {"kernel": "kernel", "signature": {"x_ptr": "*fp32"}, "constexprs": {"B": block}}
    made = compile_kernel(children, Kernel(Path("user.py"), SOURCE, request), stop_after="ttir")
    return made.stages["source"].decode()


def test_what_takes_turns_is_translated_once_each(children: Children) -> None:
    texts = [ir_of(children, 8), ir_of(children, 16)]

    first = [translated(ORDER, text) for text in texts]
    again = [translated(ORDER, text) for text in [*texts, *texts]]

    assert [one is other for one, other in zip(first * 2, again, strict=True)] == [True] * 4
    assert first[0] is not first[1]


def test_each_input_of_a_form_makes_another_form(children: Children) -> None:
    text = ir_of(children, 8)

    others = (
        replace(ORDER, parameters=["other"]),
        replace(ORDER, files=["a.py"]),
        replace(ORDER, fp_fusion=False),
    )
    forms = [translated(order, text) for order in (ORDER, *others)]

    assert len({id(form) for form in forms}) == 4
