"""Batched programs have the findings and outputs of an independent implementation.

Triton's interpreter made `expected_findings.json`, running one program after the other with the
same checks. Outputs are recorded as SHA-256.
"""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from tests.integration.launch.child_runs import Buffer, View, out, uniform
from tests.integration.launch.cpu.device_runs import DeviceLaunch, findings_of

EXPECTED = json.loads(Path(__file__).with_name("expected_findings.json").read_text())
ARANGE = {"kind": "arange"}
NUMBERS = Buffer((16,), "i32", ARANGE)


def zeros(*shape, dtype="i32"):
    return Buffer(shape, dtype, {"kind": "zeros"}, output=True)


def numbers(count):
    return Buffer((count,), "i32", ARANGE, output=True)


FAULTY = {
    "reads_past_the_end": (
        {"x_ptr": uniform(100), "y_ptr": uniform(100), "out_ptr": out(100), "n": 100},
        {"BLOCK": 32},
    ),
    "writes_past_the_end": (
        {"x_ptr": uniform(100), "out_ptr": out(4, 10), "n": 100},
        {"BLOCK": 32},
    ),
    "looks_behind": ({"x_ptr": uniform(32), "out_ptr": out(32), "n": 32}, {"BLOCK": 32}),
    "masks_one_too_many": ({"x_ptr": uniform(40), "out_ptr": out(40), "n": 40}, {"BLOCK": 32}),
    "masks_by_another_size": (
        {"x_ptr": uniform(100), "out_ptr": out(10), "n": 100},
        {"BLOCK": 128},
    ),
    "describes_too_much": ({"x_ptr": uniform(8, 32), "out_ptr": out(32)}, {}),
    "counts_beyond": ({"x_ptr": NUMBERS, "counts_ptr": zeros(12)}, {"BLOCK": 16}),
    "swaps_beyond": ({"flag_ptr": zeros(3)}, {}),
    "stores_in_rows": ({"out_ptr": out(5, 10), "n_rows": 5, "n_columns": 10}, {"BLOCK": 16}),
    "reads_in_a_helper": ({"x_ptr": uniform(32), "out_ptr": out(32)}, {"BLOCK": 32}),
    "reads_wild": (
        {
            "x_ptr": Buffer((1,), "i64", {"kind": "full", "value": {"int": "4096"}}),
            "out_ptr": out(1),
        },
        {},
    ),
    "reads_between": ({"x_ptr": uniform(4), "out_ptr": out(1)}, {}),
    "accumulates": ({"out_ptr": out(8)}, {"BLOCK": 8}),
}
RACING = {
    "writes_its_number": ({"out_ptr": out(2, 2, dtype="i32")}, {}),
    "writes_the_same": ({"out_ptr": out(4, dtype="i32")}, {}),
    "overlaps": ({"x_ptr": NUMBERS, "out_ptr": out(16, dtype="i32")}, {"STEP": 3, "BLOCK": 4}),
    "shifts_in_place": ({"x_ptr": numbers(17)}, {"BLOCK": 4}),
    "reads_its_neighbour": ({"x_ptr": zeros(16), "out_ptr": out(16, dtype="i32")}, {"BLOCK": 4}),
    "adds_up": ({"x_ptr": NUMBERS, "out_ptr": zeros(1)}, {"BLOCK": 4}),
    "adds_up_atomically": ({"x_ptr": NUMBERS, "out_ptr": zeros(1)}, {"BLOCK": 4}),
    "adds_up_under_a_lock": (
        {"x_ptr": NUMBERS, "out_ptr": zeros(1), "lock_ptr": zeros(1)}, {"BLOCK": 4},
    ),
    "the_last_one_adds_up": (
        {"x_ptr": NUMBERS, "parts_ptr": zeros(4), "count_ptr": zeros(1), "out_ptr": zeros(1)},
        {"BLOCK": 4},
    ),
    "adds_atomically_and_reads": ({"count_ptr": zeros(1), "out_ptr": out(4, dtype="i32")}, {}),
    "lanes_meet": ({"x_ptr": NUMBERS, "out_ptr": out(8, dtype="i32")}, {"BLOCK": 16}),
    "writes_bytes": ({"out_ptr": zeros(1)}, {}),
    "waits_for_its_predecessor": ({"flags_ptr": zeros(4), "out_ptr": out(4, dtype="i32")}, {}),
}  # fmt: skip
CASES = [
    *(("faulty.py", kernel, *case, "initcheck") for kernel, case in FAULTY.items()),
    *(("racing.py", kernel, *case, "racecheck") for kernel, case in RACING.items()),
]


@pytest.mark.parametrize(
    ("file", "kernel", "arguments", "constexprs", "check"), CASES, ids=[case[1] for case in CASES]
)
def test_findings(children, file, kernel, arguments, constexprs, check):
    ran = DeviceLaunch(children, file, kernel, arguments, (4,), **constexprs).run(check)

    found = [{name: v for name, v in one.items() if v is not None} for one in findings_of(ran)]
    buffers = [name for name, value in arguments.items() if isinstance(value, Buffer)]
    held = {
        name: sha256(ran.allocations[leaf].memory.tobytes()).hexdigest()
        for leaf, name in enumerate(buffers)
        if arguments[name].output
    }
    assert {"findings": found, "outputs": held} == EXPECTED[kernel]


@pytest.mark.parametrize("kernel", [k for k in RACING if k != "waits_for_its_predecessor"])
def test_outcomes_do_not_depend_on_how_many_run_at_once(children, kernel):
    arguments, constexprs = RACING[kernel]
    launch = DeviceLaunch(children, "racing.py", kernel, arguments, (4,), **constexprs)
    gather_limited, one_by_one = launch.run(), launch.run_one_by_one()
    for quick, slow in zip(gather_limited.allocations, one_by_one.allocations, strict=True):
        assert np.array_equal(quick.memory, slow.memory)


PRINTS_THEN_FAILS = """
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, out_ptr):
    tl.device_print("at", tl.program_id(0))
    tl.store(out_ptr + tl.program_id(0), tl.load(x_ptr + tl.program_id(0)))
"""


def test_what_was_printed_before_a_fault_is_printed_once(children, capsys):
    arguments = {"x_ptr": Buffer((3,), "i32", ARANGE), "out_ptr": out(4, dtype="i32")}
    ran = DeviceLaunch(children, PRINTS_THEN_FAILS, "k", arguments, (4,)).run()
    assert ran.stopped.index == [3]
    assert capsys.readouterr().out.count("(0, 0, 0)  at") == 1


def test_a_finding_has_its_column(children):
    arguments, constexprs = FAULTY["reads_past_the_end"]
    ran = DeviceLaunch(children, "faulty.py", "reads_past_the_end", arguments, (4,), **constexprs)
    found = ran.run().stopped
    assert (found.line, found.column) == (11, 9)


def test_aliases_are_one_memory(children):
    arguments = {"x_ptr": numbers(16), "out_ptr": View("x_ptr", (8,), offset=8, output=True)}
    clean = DeviceLaunch(children, "racing.py", "overlaps", arguments, (4,), STEP=2, BLOCK=2)
    assert findings_of(clean.run("racecheck")) == []
    meeting = DeviceLaunch(children, "racing.py", "overlaps", arguments, (5,), STEP=2, BLOCK=2)
    found = findings_of(meeting.run("racecheck"))[0]
    assert (found["kind"], found["argument"], found["index"]) == ("race", "x_ptr", [8])
    assert found["program"] == [4, 0, 0]


STRAYING = {
    "tl.load(x + d + i)": ("read", "x", 1 << 38),
    "tl.load(x + d + i, mask=i < 3)": ("read", "x", 1 << 38),
    "tl.load(x + d)": ("read", "x", 1 << 38),
    "tl.load(x + tl.where(i == 5, d, 0) + i)": ("read", "x", (1 << 38) + 5),
    "tl.load((x.to(tl.pointer_type(tl.int8)) + 4 * d).to(tl.pointer_type(tl.int32)) + i)": (
        "read", "x", 1 << 38,
    ),
    "tl.load((x.to(tl.pointer_type(tl.int8)) + 4 * d) + i)": ("read", "x", 1 << 38),
    "tl.load(x + (huge << 55) + i)": ("read", "x", 1 << 62),
    "tl.load(x - (huge << 55) + i)": ("read", "x", -(1 << 62)),
    "tl.make_tensor_descriptor(x + d, [16], [1], [16]).load([0])": ("read", "x", 1 << 38),
    "tl.store(y - d + i, i)": ("write", "y", -(1 << 38)),
    "tl.atomic_add(y - d + i, i)": ("write", "y", -(1 << 38)),
    "tl.store(out, tl.atomic_add(y - d, 1))": ("write", "y", -(1 << 38)),
    "tl.atomic_cas(y - d, 0, 1)": ("write", "y", -(1 << 38)),
}  # fmt: skip
STRAYS = """
import triton
import triton.language as tl

@triton.jit
def k(x, y, out, n):
    i = tl.arange(0, 16)
    d, huge = (y.to(tl.int64) - x.to(tl.int64)) // 4, n.to(tl.int64)
    {}
"""


@pytest.mark.parametrize("checks", [(), ("racecheck", "initcheck")], ids=["plain", "checked"])
@pytest.mark.parametrize("what", STRAYING)
def test_an_offset_that_leads_to_another_argument_is_out_of_bounds(children, what, checks):
    arguments = {"x": numbers(16), "y": numbers(16), "out": out(16, dtype="i32"), "n": 128}
    statement = what if "store" in what or "atomic" in what else f"tl.store(out + i, {what})"
    ran = DeviceLaunch(children, STRAYS.format(statement), "k", arguments, (2,)).run(*checks)

    access, argument, element = STRAYING[what]
    found = ran.stopped
    assert (found.kind, found.line, found.program) == ("out_of_bounds", 9, [0, 0, 0])
    assert (found.access, found.argument, found.index) == (access, argument, [element])
    assert ran.access_checker.findings == []


def test_a_strayed_access_says_where_a_gpu_comes_to(children):
    arguments = {"x": numbers(16), "y": numbers(16), "out": out(16, dtype="i32"), "n": 128}
    away, around = (
        DeviceLaunch(children, STRAYS.format(f"tl.store(out + i, {load})"), "k", arguments).run()
        for load in ("tl.load(x + d + i)", "tl.load(x + (huge << 55) + i)")
    )
    assert "it has 16 elements. On a GPU that address is in y" in away.stopped.message
    assert "overflows 64 bits" in around.stopped.message


def test_a_pointer_made_from_an_address_belongs_to_the_argument_there(children):
    arguments = {"x": numbers(16), "y": numbers(16), "out": out(16, dtype="i32"), "n": 128}
    load = "tl.load((x.to(tl.int64) + 4 * d).to(tl.pointer_type(tl.int32)) + i)"
    ran = DeviceLaunch(
        children, STRAYS.format(f"tl.store(out + i, {load})"), "k", arguments, (2,)
    ).run("racecheck")
    assert ran.stopped is None
    assert ran.allocations[2].memory.tolist() == list(range(16))


READS_AND_WRITES_PAST_THE_END = """
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x + y)
"""


def test_the_store_behind_a_failed_load_is_reported_as_well(children):
    arguments = {"x_ptr": numbers(6), "y_ptr": numbers(6), "out_ptr": out(6, dtype="i32")}
    ran = DeviceLaunch(children, READS_AND_WRITES_PAST_THE_END, "k", arguments, (3,), B=4).run()

    found = findings_of(ran)
    assert [(one["access"], one["argument"], one["line"]) for one in found] == [
        ("read", "x_ptr", 8),
        ("read", "y_ptr", 9),
        ("write", "out_ptr", 10),
    ]
    assert {tuple(one["program"]) for one in found} == {(1, 0, 0)}
    assert "The read at line 8 failed before" in found[-1]["message"]
    # the program that failed writes nothing, and the ones behind it do not run
    assert ran.allocations[2].memory.view(np.int32)[:4].tolist() == [0, 2, 4, 6]
    assert ran.allocations[2].memory.view(np.int32)[4] != 8


GOES_ON_WITH_A_WRONG_VALUE = """
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, out_ptr, n):
    x = tl.load(x_ptr + n)
    tl.device_assert(x > 0, "x is not a count")
    while x < 1:
        x = x * 2
    tl.store(out_ptr, x)
"""


@pytest.mark.parametrize(
    "text",
    [GOES_ON_WITH_A_WRONG_VALUE, GOES_ON_WITH_A_WRONG_VALUE.replace("tl.device_assert", "# ")],
)
def test_what_a_failed_load_gave_makes_no_finding_and_no_endless_loop(children, text):
    arguments = {"x_ptr": numbers(4), "out_ptr": out(1, dtype="i32"), "n": 4}
    found = findings_of(DeviceLaunch(children, text, "k", arguments, (1,)).run())

    assert [(one["kind"], one["line"]) for one in found] == [("out_of_bounds", 7)]
