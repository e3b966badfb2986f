"""A program's kernel in a language without TTIR: the CPU device does not run its other IR."""

from types import SimpleNamespace

from compiler.compilation import Compilation
from jobs.deadline import Deadline
from programs.worker.kernel_compiles import KernelCompiles
from programs.worker.kernel_jobs import KernelUse
from store.jobs.types import Priority

GLUON = Compilation(
    key="k",
    url="/v1/compilations/k",
    state="succeeded",
    kernel="k",
    target="cuda:90",
    stop_after="ttir",
    options={},
    toolchain={"id": "t", "triton": "3.9.0", "ptxas": "", "sandbox": "strict"},
    artifacts={"source": {"digest": "d", "size_bytes": 1, "media_type": "m", "url": "/"}},
    parameters=[],
    abi=None,
    metadata=None,
    resources=None,
    timings_ms=None,
    diagnostics=[],
    stdout="",
    problem=None,
)


class Records:
    """Replaces the compilations in a store: it has one record."""

    async def read(self, _):
        return GLUON.model_dump_json().encode()


async def test_it_has_no_ir_for_the_cpu_device():
    compiles = KernelCompiles(
        None, Records(), None, "alice", Priority.BATCH, Deadline(60), readers=None
    )

    built = await compiles.all({"k": KernelUse("k", SimpleNamespace(key="k"))})

    assert (built["k"].ir, built["k"].problem) == (None, None)
