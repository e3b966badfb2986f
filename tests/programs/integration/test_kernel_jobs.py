"""Compile jobs for a recorded program's launches match what Triton's JIT compiles."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from jobs.deadline import Deadline, DeadlinePassed
from programs.tape.read_tape import read_tape
from programs.worker import kernel_jobs
from programs.worker.kernel_jobs import KernelJobs, TooManyKernels
from programs.worker.program_recordings import ProgramTexts
from tests.programs.unit.recorded import sent, vector_add
from tests.unit.compiler.vector_add import TOOLCHAIN
from worker.compile.compile import CompileContext
from worker.launch.kernel_source import KernelSources
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.asyncio(loop_scope="module")

KERNEL = """import triton
import triton.language as tl

@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool():
    toolchain = ZygoteToolchain(Path(sys.executable), ROOT)
    pool = Pool(toolchain, spares={"parse": 1, "front": 1})
    await pool.start()
    yield pool
    await pool.close()


@pytest.fixture
def uses(pool):
    """Return a function that gives the launches of the kernel on a tape."""

    async def find(
        tape,
        source=KERNEL,
        files=None,
        *,
        all_variants=False,
        deadline_s=60.0,
        timeout_s=60.0,
        **changes,
    ):
        nothing = cast("Any", None)
        compiling = CompileContext(pool, TOOLCHAIN, nothing, nothing, nothing)
        sources = KernelSources(compiling, Deadline(deadline_s))
        texts = ProgramTexts(source, files or {})
        jobs = KernelJobs(texts, TOOLCHAIN, "alice", sources, timeout_s, **changes)
        return await jobs.of(read_tape(sent(tape)), all_variants=all_variants)

    return find


def with_launch(**changes):
    tape = vector_add()
    for index in (1, 3):
        tape["ops"][index] |= changes
    return tape


def with_argument(name, value):
    tape = vector_add()
    for index in (1, 3):
        tape["ops"][index]["args"] |= {name: value}
    return tape


async def test_a_program_s_timeout_bounds_the_compilation_of_its_kernels(uses):
    [use] = (await uses(vector_add(), timeout_s=8.0)).all

    assert use.job.timeout_s == 8.0


async def specialization(uses, tape, **more):
    [use] = (await uses(tape, **more)).all
    assert use.problem is None, use.problem
    return {name: spec(item) for name, item in use.job.specialization.named.items()}


def spec(item):
    return item.value if item.is_constexpr else ":".join([item.type, *sorted(item.hints)])


async def test_aligned_tensors_and_a_size_are_specialized_as_the_jit_does(uses):
    assert await specialization(uses, vector_add()) == {
        "x": "*fp32:divisible_by_16",
        "y": "*fp32:divisible_by_16",
        "out": "*fp32:divisible_by_16",
        "n": "i32:divisible_by_16",
        "BLOCK": {"int": "256"},
    }


async def test_a_tensor_that_begins_between_multiples_of_16_bytes_is_not_aligned(uses):
    tape = vector_add()
    for tensor in (1, 4):
        tape["tensors"][tensor] = ["fp32", "cuda", [1020], [1], 2, tensor]
    assert (await specialization(uses, tape))["y"] == "*fp32"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "i32:equal_to_1"),
        (17, "i32"),
        (2**40, "i64:divisible_by_16"),
        (0.5, "fp32"),
        (True, "i1"),
        (None, None),
    ],
)
async def test_scalars_have_the_types_that_python_s_values_get(uses, value, expected):
    assert (await specialization(uses, with_argument("n", value)))["n"] == expected


async def test_launches_that_are_alike_share_a_job_and_one_call_s_are_counted(uses):
    found = await uses(vector_add())
    [use] = found.all
    assert use.launches == 1
    assert found.of_launch == {1: use, 3: use}
    assert (use.job.namespace, use.job.stop_after) == ("alice", "ttir")
    assert use.job.options["num_warps"] == 4


def with_numbers(numbers, **changes):
    """Return a tape that launches the kernel once with each of these as `n`."""
    tape = vector_add()
    launch = tape["ops"][1] | changes
    more = [launch | {"args": launch["args"] | {"n": number}} for number in numbers]
    tape["ops"][1:2] = more
    del tape["ops"][-1]
    return tape


async def test_what_launches_have_in_common_is_read_once(uses, monkeypatch):
    resolved = []
    resolve = kernel_jobs.resolve
    monkeypatch.setattr(
        kernel_jobs, "resolve", lambda *reported: resolved.append(1) or resolve(*reported)
    )
    found = await uses(with_numbers(range(2, 202)))
    assert [spec(use.job.specialization.named["n"]) for use in found.all] == [
        "i32", "i32:divisible_by_16",
    ]  # fmt: skip
    assert [use.launches for use in found.all] == [188, 12]
    assert len(resolved) == 1


async def test_what_is_wrong_with_options_is_found_once(uses, monkeypatch):
    resolved = []
    resolve = kernel_jobs.resolve
    monkeypatch.setattr(
        kernel_jobs, "resolve", lambda *reported: resolved.append(1) or resolve(*reported)
    )
    [use] = (await uses(with_numbers(range(2, 202), options={"num_warps": 3}))).all
    assert use.problem.slug == "invalid_argument"
    assert len(resolved) == 1


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((5, 1, 7, 1, 32, 2**40, 2**63, -3), ["i32", "i32:equal_to_1", "i32:divisible_by_16",
                                              "i64:divisible_by_16", "u64:divisible_by_16"]),
        ((0.5, 2, 0.25, True, 3, None), ["fp32", "i32", "i1", None]),
    ],
)  # fmt: skip
async def test_launches_are_alike_where_the_jit_sees_no_difference(uses, numbers, expected):
    found = (await uses(with_numbers(numbers))).all
    assert [spec(use.job.specialization.named["n"]) for use in found] == expected


async def test_numbers_that_a_kernel_takes_as_constants_are_compiled_one_by_one(uses):
    source = KERNEL.replace("n, BLOCK", "n: tl.constexpr, BLOCK")
    found = (await uses(with_numbers((5, 7, 5, 11)), source)).all
    assert [spec(use.job.specialization.named["n"]) for use in found] == [
        {"int": "5"}, {"int": "7"}, {"int": "11"},
    ]  # fmt: skip


async def test_a_number_that_does_not_fit_its_annotation_is_not_like_one_that_does(uses):
    source = KERNEL.replace("n, BLOCK", "n: tl.int8, BLOCK")
    found = (await uses(with_numbers((5, 301, 7, 303)), source)).all
    assert [use.problem and use.problem.slug for use in found] == [None, "argument_mismatch"]
    assert [use.launches for use in found] == [2, 2]


async def test_options_are_the_launch_s(uses):
    [use] = (await uses(with_launch(options={"num_warps": 8, "num_stages": 1}))).all
    assert (use.job.options["num_warps"], use.job.options["num_stages"]) == (8, 1)


async def test_each_call_runs_another_variant_of_an_autotuner_and_all_are_known_where_asked(uses):
    variants = [
        {"grid": [4, 1, 1], "constexprs": {"BLOCK": 256}, "options": {"num_warps": 4}},
        {"grid": [8, 1, 1], "constexprs": {"BLOCK": 128}, "options": {"num_warps": 2}},
    ]
    tape = with_launch(variants=variants)
    found = await uses(tape)
    ran = [found.of_launch[index].job.options["num_warps"] for index in (1, 3)]
    assert (ran, [use.launches for use in found.all]) == ([4, 2], [1, 1])
    both = (await uses(tape, all_variants=True)).all
    assert [use.job.options["num_warps"] for use in both] == [4, 2]
    assert [use.launches for use in both] == [1, 0]


async def test_a_kernel_of_a_further_file_is_compiled_from_there(uses):
    tape = vector_add()
    tape["kernels"]["k0"] |= {"file": "ops/adding.py"}
    source = "from ops import adding\n"
    [use] = (await uses(tape, source, {"ops/__init__.py": "", "ops/adding.py": KERNEL})).all
    assert use.problem is None
    assert use.job.source == "from ops.adding import add_kernel\n"
    assert not use.is_own
    assert spec(use.job.specialization.named["n"]) == "i32:divisible_by_16"


@pytest.mark.parametrize(
    ("changes", "slug", "says"),
    [
        ({"options": {"num_warps": 3}}, "invalid_argument", "num_warps"),
        ({"options": {"warps": 4}}, "invalid_argument", "unknown option"),
        ({"options": {"maxnreg": 1}}, "invalid_argument", "maxnreg"),
    ],
)
async def test_what_the_jit_would_refuse_is_the_kernel_s_problem(uses, changes, slug, says):
    [use] = (await uses(with_launch(**changes))).all
    assert (use.job, use.problem.slug) == (None, slug)
    assert says in use.problem.detail


async def test_a_tensor_on_the_cpu_is_no_argument_of_a_kernel(uses):
    tape = vector_add()
    for tensor in (1, 4):
        tape["tensors"][tensor][1] = "cpu"
    [use] = (await uses(tape)).all
    assert use.problem.slug == "argument_mismatch"
    assert "`y` is a tensor on the CPU" in use.problem.detail


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"file": "/python/lib/flash/kernels.py"}, "which is missing"),
        ({"name": "missing_kernel"}, "missing_kernel"),
    ],
)
async def test_a_kernel_that_is_not_in_the_posted_texts_is_said_to_be_missing(uses, changes, says):
    tape = vector_add()
    tape["kernels"]["k0"] |= changes
    [use] = (await uses(tape)).all
    assert use.problem.slug == "unknown_kernel"
    assert says in use.problem.detail


async def test_more_ways_to_compile_than_there_may_be_are_refused(uses, monkeypatch):
    monkeypatch.setattr(kernel_jobs, "MAX_USES", 3)
    tape = vector_add()
    launch = tape["ops"][1]
    more = [json.loads(json.dumps(launch)) for _ in range(4)]
    for number, one in enumerate(more):
        one["constexprs"]["BLOCK"] = 32 << number
    tape["ops"][2:2] = more
    with pytest.raises(TooManyKernels, match="more than 3 compilations"):
        await uses(tape)


def with_variants(launches):
    """Return a tape of a posted kernel with the most variants that one launch may have."""
    tape = vector_add()
    names = [f"p{number}" for number in range(500)]
    parameters = [{"name": name, "constexpr": False} for name in names]
    tape["kernels"]["k0"] |= {"file": "elsewhere.py", "parameters": parameters}
    one = {"grid": [1, 1, 1], "constexprs": {}, "options": {}}
    args = dict.fromkeys(names, 3) | {"p0": {"t": 0}}
    launch = tape["ops"][1] | one | {"args": args, "variants": [one] * 48}
    tape["ops"][1:2] = [launch] * launches
    del tape["ops"][-1]
    return tape


async def test_others_go_on_while_a_long_tape_is_looked_at(uses):
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    try:
        [use] = (await uses(with_variants(launches=3), all_variants=True)).all
    finally:
        beside.cancel()
    assert use.problem is not None
    assert turns > 3 * 48 / 4


async def test_a_tape_is_looked_at_until_its_program_s_deadline(uses):
    with pytest.raises(DeadlinePassed):
        await uses(with_variants(launches=3), all_variants=True, deadline_s=0.0)


@pytest.mark.parametrize("name", [".", "a b", "add_kernel."])
async def test_a_name_that_no_function_has_is_no_kernel_s(uses, name):
    tape = vector_add()
    tape["kernels"]["k0"]["name"] = name
    [use] = (await uses(tape)).all
    assert use.problem is not None
    assert use.problem.slug == "unknown_kernel"


async def test_a_kernel_without_ttir_needs_a_gpu(uses):
    gluon = "from triton.experimental import gluon\n" + KERNEL.replace("@triton.jit", "@gluon.jit")

    [on_cpu] = (await uses(vector_add(), gluon)).all
    [on_gpu] = (await uses(vector_add(), gluon, stop_after=None)).all

    assert (on_cpu.problem.slug, on_gpu.problem) == ("needs_gpu", None)
