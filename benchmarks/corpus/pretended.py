"""Pretends to packages of the corpus that the machine has an H200.

Nothing is launched. Many packages define their kernels only if they find a GPU.
"""

import os
from pathlib import Path
from types import SimpleNamespace

_PROPERTIES = SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, total_memory=150 << 30,
    warp_size=32, L2_cache_size=60 << 20, shared_memory_per_block_optin=232448,
    max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536,
)  # fmt: skip
_TRITONS_PROPERTIES = {
    "multiprocessor_count": 132, "max_shared_mem": 232448, "max_num_regs": 65536, "warpSize": 32,
    "mem_clock_rate": 3201000, "mem_bus_width": 6144, "sm_clock_rate": 1980000,
}  # fmt: skip


def pretend(cache: Path) -> None:
    """Make Triton and torch report one H200, and Triton always compile, up to PTX."""
    os.environ |= {"TRITON_ALWAYS_COMPILE": "1", "TRITON_CACHE_DIR": str(cache)}
    os.environ["GEMS_VENDOR"] = "nvidia"  # otherwise flag-gems runs nvidia-smi
    _triton()
    _torch()


def _triton() -> None:
    import torch
    import triton
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend
    from triton.runtime.cache import triton_key

    target = GPUTarget("cuda", 90, 32)
    driver = SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: 0,
        get_current_stream=lambda _: 0,
        get_active_torch_device=lambda: torch.device("cuda", 0),
        get_device_interface=lambda: torch.cuda,
        get_device_capability=lambda *_: (9, 0),
        utils=SimpleNamespace(get_device_properties=lambda _: _TRITONS_PROPERTIES),
    )
    triton.runtime.driver.set_active(driver)
    backends["nvidia"].driver.is_active = staticmethod(lambda: True)
    backends["nvidia"].compiler.make_cubin = lambda *_: b""
    triton_key()  # hashes files: do it once here instead of in every child
    make_backend(target).hash()


def _torch() -> None:
    import torch

    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.get_device_capability = lambda *_: (9, 0)
    cuda.get_device_name = lambda *_: "NVIDIA H200"
    cuda.get_device_properties = lambda *_: _PROPERTIES
    torch.version.cuda = "13.0"
