"""Compiles the kernel of matmul.py in several configurations at once, and compares resources.

One batch: the service distributes the work to its workers, and earlier compilations are hits.
Registers, spills and occupancy show which configurations are worth measuring on a GPU.
"""

import itertools
import os
from pathlib import Path

import tritonc

SOURCE = (Path(__file__).parent / "matmul.py").read_text()
POINTERS = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16:16")
SIZES = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32:16")
ONES = dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1)


def request(block_m: int, block_n: int, num_warps: int) -> dict:
    blocks = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": 32, "GROUP_M": 8}
    return tritonc.compile_request(
        SOURCE,
        kernel="matmul_kernel",
        signature=POINTERS | SIZES,
        constexprs=ONES | blocks,
        options={"num_warps": num_warps, "num_stages": 3},
        target="cuda:90",
    )


def main(url: str, sizes: tuple[int, ...] = (64, 128), warps: tuple[int, ...] = (4, 8)) -> None:
    configurations = list(itertools.product(sizes, sizes, warps))
    with tritonc.Client(url) as client:
        batch = client.batches.compile([request(*one) for one in configurations])
    print(
        f"{'block':>9} {'warps':>5} {'registers':>9} {'spills':>6} {'shared':>7} {'occupancy':>9}"
    )
    for (m, n, num_warps), item in zip(configurations, batch.items, strict=True):
        block = f"{m} x {n}"
        if not item.good:
            print(f"{block:>9} {num_warps:>5} {item.problem or item.result.problem}")
            continue
        takes = item.result.resources
        print(
            f"{block:>9} {num_warps:>5} {takes['registers']:>9} {takes['spill_store_bytes']:>6} "
            f"{takes['shared_bytes']:>7} {takes['occupancy']['ratio']:>9.0%}"
        )


if __name__ == "__main__":
    main(os.environ.get("TRITOND_URL", "http://127.0.0.1:8000"))
