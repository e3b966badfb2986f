"""A cached reading counts at least the memory it takes, for any source."""

import dataclasses
import gc
import json
import tracemalloc

import pytest

from compiler.messages.orders import ReadOrder
from compiler.reading.read_source import read_source
from worker.compile.child_task import size_bytes
from worker.compile.reports import ReadReport

KERNEL = """import triton
import triton.language as tl

@triton.jit
def kernel(x):
    tl.store(x, 1)

"""
TUPLES = "()," * 4000
PARAMETERS = ", ".join(f"a{number}" for number in range(2000))
SOURCES = {
    "the kernel alone": KERNEL,
    "another with very many parameters": f"{KERNEL}@triton.jit\ndef other({PARAMETERS}): pass\n",
    "another with a default of tuples": f"{KERNEL}@triton.jit\ndef other(a=({TUPLES})): pass\n",
    "very many others": KERNEL
    + "".join(map("@triton.jit\ndef other_{}(): pass\n".format, range(500))),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_a_reading_counts_what_it_takes(source: str) -> None:
    reading = read_source(ReadOrder(kernel="kernel", files={}, functions=[]), source.encode())
    report = json.dumps(dataclasses.asdict(reading))
    gc.collect()
    tracemalloc.start()
    try:
        found = ReadReport.read(json.loads(report))
        gc.collect()
        taken_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert size_bytes(found) >= taken_bytes
