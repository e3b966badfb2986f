"""The real compiler works in the sandbox, and a crash ends only its own child."""

import pytest

from compiler.messages.orders import BackOrder, FrontOrder
from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

TARGET = {"backend": "cuda", "arch": 90, "warp_size": 32}
COMMON = {"options": {"enable_fp_fusion": True}, "target": TARGET, "stop_after": None}
SOURCE = """
import triton
import triton.language as tl

@triton.jit
def copy(source, target, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    BODY
    tl.store(target + offsets, tl.load(source + offsets))
"""
SPECIALIZATION = {
    "signature": {"source": "*fp32", "target": "*fp32"},
    "constexprs": {"BLOCK": {"int": "64"}},
    "hints": {},
}


async def front(pool, body="pass", deadline_s=60.0, before=""):
    header = {"task": "front", "kernel": "copy", "files": {}}
    source = SOURCE.replace("BODY", body).replace("@", f"{before}\n@").encode()
    job = header | SPECIALIZATION | COMMON
    stages = FrontOrder.stages
    return await pool.run("front", job, source, deadline_s=deadline_s, stages=stages)


async def back(pool, ttir, locations=None, deadline_s=60.0):
    header = {"task": "back", "locations": locations, **COMMON}
    stages = BackOrder.stages
    return await pool.run("back", header, ttir, deadline_s=deadline_s, stages=stages)


async def test_a_kernel_is_compiled_to_a_cubin_behind_all_walls(compiler):
    made = await front(compiler)
    assert made.ending is Ending.OK, made
    assert [stage.name for stage in made.stages] == ["source", "ttir"]
    done = await back(compiler, made.stages[-1].body, made.result["locations"])
    assert done.ending is Ending.OK, done
    assert [stage.name for stage in done.stages] == ["ttgir", "llir", "ptx", "cubin"]
    assert done.stages[-1].body.startswith(b"\x7fELF")


async def test_two_children_make_the_same_bytes(compiler):
    first, second = await front(compiler), await front(compiler)
    assert [s.body for s in first.stages] == [s.body for s in second.stages]
    cubins = [
        (await back(compiler, made.stages[-1].body, made.result["locations"])).stages[-1].body
        for made in (first, second)
    ]
    assert cubins[0] == cubins[1]


async def test_a_function_of_tritons_can_be_wrapped_where_no_file_can_be_read(compiler):
    wraps = "integer = triton.constexpr_function(tl.core.get_int_dtype)"
    made = await front(compiler, "wanted: tl.constexpr = integer(16, True)", before=wraps)
    assert made.ending is Ending.OK, made


async def test_python_smuggled_into_a_kernel_body_meets_the_same_walls(compiler):
    escape = 'tl.static_print(tl.core.builtins.__import__("os").open("/etc/passwd", 0))'
    outcome = await front(compiler, escape)
    assert outcome.ending is not Ending.OK
    assert b"root:" not in outcome.stdout


async def test_a_kernel_that_unrolls_without_end_meets_its_deadline(compiler):
    body = "for i in tl.static_range(1000000000):\n        offsets += i"
    outcome = await front(compiler, body, deadline_s=1)
    assert outcome.ending in (Ending.DEADLINE, Ending.FAILURE)


@pytest.mark.parametrize(
    "ttir",
    [
        b"",
        b"module {}",
        b"module {",
        bytes(range(256)),
        b"(" * 100_000,
        b'module { "foreign.op"() : () -> () }',
        b"module { tt.func public @copy() { tt.return } }",
    ],
    ids=["nothing", "empty", "cut", "noise", "nested", "foreign", "no parameters"],
)
async def test_no_ir_harms_more_than_its_own_child(compiler, ttir):
    outcome = await back(compiler, ttir, {"table": [], "blocks": []}, deadline_s=60)
    assert outcome.ending in (Ending.OK, Ending.FAILURE, Ending.SIGNAL), outcome
    made = await front(compiler)
    assert made.ending is Ending.OK
