"""The request that the tests of this folder vary, and a toolchain like that of Triton 3.9."""

from typing import Any

from compiler.job import CompileJob
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from compiler.toolchain import OptionSpec, Toolchain

WARPS = OptionSpec(type="int", default=4, minimum=1, maximum=32, choices=[1, 2, 4, 8, 16, 32])
CLUSTER = OptionSpec(type="int", default=1, minimum=1, maximum=16, choices=[1, 2, 4, 8, 16])
STAGES = OptionSpec(type="int", default=3, minimum=1, maximum=16)
FUSION = OptionSpec(type="bool", default=True)

TOOLCHAIN = Toolchain(
    id="0123456789abcdef",
    triton="3.9.0",
    ptxas="12.9/13.4",
    host_arch="x86_64",
    targets=["cuda:80", "cuda:90", "hip:gfx942"],
    options={
        "cuda": {
            "num_warps": WARPS,
            "num_ctas": CLUSTER,
            "num_stages": STAGES,
            "maxnreg": OptionSpec(type="int", minimum=16, maximum=255),
            "enable_fp_fusion": FUSION,
            "default_dot_input_precision": OptionSpec(
                type="str", default="tf32", choices=["tf32", "tf32x3", "ieee"]
            ),
            "max_num_imprecise_acc_default": OptionSpec(type="int", minimum=0),
        },
        "hip": {
            "num_warps": WARPS,
            "num_ctas": CLUSTER,
            "num_stages": STAGES,
            "schedule_hint": OptionSpec(type="str", default=""),
        },
    },
    sandbox="standard",
)

VECTOR_ADD: dict[str, Any] = {
    "source": "@triton.jit\ndef add_kernel(x_ptr, n_elements, BLOCK_SIZE: tl.constexpr): ...\n",
    "kernel": "add_kernel",
    "signature": {"x_ptr": "*fp32:16", "n_elements": "i32"},
    "constexprs": {"BLOCK_SIZE": 1024},
    "target": "cuda:90",
    "options": {"num_warps": 4},
}


def job(toolchain: Toolchain = TOOLCHAIN, namespace: str = "", **changes: Any) -> CompileJob:
    """Return the job of VECTOR_ADD with some fields changed."""
    request = CompileRequest.model_validate(VECTOR_ADD | changes)
    return resolve(request, toolchain, namespace)


def key(toolchain: Toolchain = TOOLCHAIN, namespace: str = "", **changes: Any) -> str:
    """Return the compile key of VECTOR_ADD with some fields changed."""
    return job(toolchain, namespace, **changes).key
