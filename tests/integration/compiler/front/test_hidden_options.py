"""A front end makes the same bytes with and without the options hidden from it."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.request.options import BACK_OPTIONS, split_options
from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, all_in, read

OTHER_VALUES: dict[str, dict[str, Any]] = {
    "cuda": {
        "num_warps": 8, "num_ctas": 2, "num_stages": 1, "maxnreg": 32, "ptx_version": 84,
        "min_shared_mem": 1024, "enable_reflect_ftz": False, "sched4reg": True,
        "launch_cooperative_grid": True, "launch_pdl": True, "clc": True,
    },
    "hip": {
        "num_warps": 2, "num_ctas": 2, "num_stages": 1, "waves_per_eu": 2,
        "matrix_instr_nonkdim": 16, "allow_flush_denorm": True, "launch_cooperative_grid": True,
    },
}  # fmt: skip
TARGETS = {
    "cuda": {"backend": "cuda", "arch": 100, "warp_size": 32},
    "hip": {"backend": "hip", "arch": "gfx1250", "warp_size": 32},
}


def options_of(children: Children, backend: str) -> dict[str, Any]:
    """Return all options of a backend that a request can set, with their defaults."""
    offered = children.run({"task": "describe"}, b"").result["options"][backend]
    return {name: spec["default"] for name, spec in offered.items()}


def front_stages(children: Children, name: str, backend: str, **given: Any) -> dict[str, bytes]:
    kernel = read(KERNELS / "good" / f"{name}.py")
    request = kernel.request
    files, functions = request.get("files", {}), request.get("functions", [])
    named = {"kernel": request.get("kernel"), "files": files, "functions": functions}
    reading = children.run({"task": "read", **named}, kernel.text.encode()).result
    constexprs = {
        name: {"int": str(value)} if type(value) is int else value
        for name, value in request.get("constexprs", {}).items()
    }
    header = {
        "task": "front", "kernel": reading["kernel"], "files": files,
        "signature": request.get("signature", {}),
        "constexprs": constexprs, "hints": request.get("hints", {}),
        "target": TARGETS[backend], "stop_after": "ttir",
    }  # fmt: skip
    front = children.run(header | given, kernel.text.encode())
    assert front.result["kind"] == "result"
    return front.stages


@pytest.mark.parametrize("backend", TARGETS)
@pytest.mark.parametrize(
    "name", slow_except(("matmul", "scan"), [kernel.path.stem for kernel in all_in("good")])
)
def test_a_front_end_without_them_makes_the_same(
    children: Children, name: str, backend: str
) -> None:
    options = options_of(children, backend)
    visible, hidden = split_options(options)

    without = front_stages(children, name, backend, options=visible, hidden=hidden)
    everything = front_stages(
        children, name, backend, options=options | OTHER_VALUES[backend] | visible
    )

    assert set(OTHER_VALUES[backend]) == set(hidden)
    assert without == everything


@pytest.mark.parametrize("backend", TARGETS)
def test_no_hidden_option_decides_a_visible_one(children: Children, backend: str) -> None:
    """Triton derives options from others, so a hidden one must not affect visible ones."""
    ended = children.run(
        {
            "task": "front", "kernel": "kernel", "files": {}, "signature": {"x_ptr": "*i32"},
            "constexprs": {}, "hints": {}, "target": TARGETS[backend], "stop_after": "source",
            "options": options_of(children, backend) | OTHER_VALUES[backend],
        },
        _shows(backend),
    )  # fmt: skip

    assert ended.result["kind"] == "result"
    assert ended.stdout == "[]\n"


def _shows(backend: str) -> bytes:
    """Return a kernel that prints the visible options that differ from their defaults."""
    target, hidden = TARGETS[backend], set(OTHER_VALUES[backend])
    return f"""
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend

@tl.core.builtin
def show(_semantic=None):
    given = vars(_semantic.builder.options)
    backend = make_backend(GPUTarget(*{list(target.values())!r}))
    usual = vars(backend.parse_options({{"enable_fp_fusion": True}}))
    print([n for n in usual if n not in {hidden!r} and given[n] != usual[n]])
    return tl.constexpr(0)

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, show())
""".encode()


def test_reading_a_hidden_one_is_noticed(children: Children) -> None:
    text = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.extra.cuda.num_threads())
"""
    ended = children.run(
        {
            "task": "front", "kernel": "kernel", "files": {}, "signature": {"x_ptr": "*i32"},
            "constexprs": {}, "hints": {}, "target": TARGETS["cuda"], "stop_after": None,
            "options": {"enable_fp_fusion": True}, "hidden": sorted(BACK_OPTIONS),
        },
        text.encode(),
    )  # fmt: skip

    assert ended.last is not None
    assert (ended.last["slug"], ended.stages) == ("option_asked", {})
