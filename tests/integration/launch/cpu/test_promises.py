"""A hint or a descriptor that breaks the compiler's rules ends a launch at its line."""

import pytest

from tests.integration.launch.child_runs import KERNELS, Buffer, out, run_kernel, uniform

pytestmark = pytest.mark.asyncio(loop_scope="session")


def starts(*values):
    return Buffer((len(values),), "i32", {"kind": "values", "values": list(values)})


async def run(device, kernel, arguments, *, grid=(1,), **constexprs):
    return await run_kernel(
        device, "promising.py", kernel, arguments, grid=grid, constexprs=constexprs
    )


def line_of(text):
    lines = (KERNELS / "promising.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


async def finding_of(device, kernel, arguments, **options):
    (found,) = (await run(device, kernel, arguments, **options)).findings
    return found


def offset_of(step):
    return {"x_ptr": uniform(256), "out_ptr": out(128), "step": step}


async def test_a_scalar_that_is_no_multiple_of_its_hint_is_a_false_promise(device):
    found = await finding_of(device, "starts_at", offset_of(3), grid=(2,), BLOCK=64)
    assert (found["kind"], found["access"]) == ("false_promise", "read")
    assert (found["line"], found["program"]) == (line_of("start = "), [1, 0, 0])
    assert "tl.multiple_of(..., 16) does not hold: 3 is not a multiple of 16" in found["message"]


async def test_a_hint_that_holds_is_no_finding(device):
    assert (await run(device, "starts_at", offset_of(48), grid=(2,), BLOCK=64)).findings == []


async def test_the_first_lane_of_contiguous_offsets_counts(device):
    arguments = {"x_ptr": uniform(256), "starts_ptr": starts(16, 17), "out_ptr": out(128)}
    found = await finding_of(device, "looks_up_starts", arguments, grid=(2,), BLOCK=64)
    assert (found["kind"], found["line"]) == ("false_promise", line_of("offsets = tl.max_cont"))
    assert "17 is not a multiple of 16" in found["message"]


async def test_offsets_that_wrap_inside_of_a_vector_are_a_false_promise(device):
    arguments = {"x_ptr": uniform(100), "out_ptr": out(128), "n": 100}
    found = await finding_of(device, "wraps", arguments, grid=(2,), BLOCK=64)
    assert (found["kind"], found["access"]) == ("false_promise", None)
    assert "lanes 3 and 4 of a group of 16 are 99 and 0" in found["message"]


async def test_offsets_that_wrap_between_vectors_are_a_warning(device):
    arguments = {"x_ptr": uniform(96), "out_ptr": out(128), "n": 96}
    found = await finding_of(device, "wraps", arguments, grid=(2,), BLOCK=64)
    assert found["kind"] == "warning"


async def test_a_mask_that_changes_inside_of_a_group_is_a_false_promise(device):
    arguments = {"x_ptr": uniform(64), "out_ptr": out(64), "n": 37}
    found = await finding_of(device, "masks_in_groups", arguments, BLOCK=64)
    assert (found["kind"], found["access"]) == ("false_promise", None)
    assert "are True and False" in found["message"]
    whole = arguments | {"n": 48}
    assert (await run(device, "masks_in_groups", whole, BLOCK=64)).findings == []


async def test_a_hint_of_a_value_that_a_loop_carries_is_checked_in_each_round(device):
    arguments = {"x_ptr": uniform(64), "out_ptr": out(16), "step": 4}
    found = await finding_of(device, "carries_an_offset", arguments, BLOCK=16)
    assert (found["kind"], found["line"]) == ("false_promise", line_of("for _ in"))
    assert "4 is not a multiple of 8" in found["message"]


def described(start, stride):
    return {"x_ptr": uniform(1024), "out_ptr": out(8, 16), "start": start, "stride": stride}


@pytest.mark.parametrize(
    ("start", "stride", "words"),
    [(1, 16, "base is 4 bytes past a multiple of 16"), (0, 18, "stride of 18 elements is 72")],
)
async def test_a_descriptor_that_tma_refuses_is_misaligned(device, start, stride, words):
    arguments = described(start, stride)
    found = await finding_of(device, "copies_by_descriptor", arguments, ROWS=8, COLUMNS=16)
    assert (found["kind"], found["line"]) == ("misaligned_access", line_of("described = "))
    assert words in found["message"]


async def test_a_descriptor_that_tma_takes_is_no_finding(device):
    arguments = described(4, 20)
    ran = await run(device, "copies_by_descriptor", arguments, ROWS=8, COLUMNS=16)
    assert ran.findings == []
