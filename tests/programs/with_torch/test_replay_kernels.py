"""Launches of a replay: kernels over the program's own storages, every access checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from compiler.diagnostic import Failure
from tests.programs.with_torch.eager_recording import EagerRecording
from tests.programs.with_torch.replaying import Replayed, replayed

BLOCK = 32
LANES = f"tensor<{BLOCK}xi32>"
POINTERS = f"tensor<{BLOCK}x!tt.ptr<f32>>"
AT_LOAD, AT_STORE = 'loc("/kernel/user.py":12:8)', 'loc("/kernel/user.py":13:4)'


def doubling(*, mask: bool = True, extra: str = "", step: str = "%size") -> str:
    """Return TTIR of z = 2 x, a block per program; `step` is the distance between blocks."""
    masked = ", %mask" if mask else ""
    return f"""module {{
  tt.func public @double(%x_ptr: !tt.ptr<f32>, %z_ptr: !tt.ptr<f32>, %n: i32) {{
    %size = arith.constant {BLOCK} : i32
    %none = arith.constant 0 : i32
    %two = arith.constant dense<2.0> : tensor<{BLOCK}xf32>
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, {step} : i32
    %range = tt.make_range {{start = 0 : i32, end = {BLOCK} : i32}} : {LANES}
    %firsts = tt.splat %first : i32 -> {LANES}
    %lanes = arith.addi %firsts, %range : {LANES}
    %ns = tt.splat %n : i32 -> {LANES}
    %mask = arith.cmpi slt, %lanes, %ns : {LANES}
    %xs = tt.splat %x_ptr : !tt.ptr<f32> -> {POINTERS}
    %from = tt.addptr %xs, %lanes : {POINTERS}, {LANES}
    %x = tt.load %from{masked} : {POINTERS} {AT_LOAD}
    %y = arith.mulf %x, %two : tensor<{BLOCK}xf32>
    {extra}
    %zs = tt.splat %z_ptr : !tt.ptr<f32> -> {POINTERS}
    %to = tt.addptr %zs, %lanes : {POINTERS}, {LANES}
    tt.store %to, %y{masked} : {POINTERS} {AT_STORE}
    tt.return
  }}
}}
"""


NAMES = ("x_ptr", "z_ptr", "n")
KERNEL = {"file": "user.py", "name": "double", "line": 9, "parameters": [
    {"name": name, "constexpr": False} for name in NAMES
]}  # fmt: skip


class LaunchingProgram(EagerRecording):
    """A hand-written program with launches."""

    def launch(self, grid: int, x: torch.Tensor, z: torch.Tensor, n: int, **more: Any) -> None:
        """Append a launch."""
        args = {"x_ptr": self.reported(x), "z_ptr": self.reported(z), "n": n}
        self.ops.append({
            "op": "launch", "kernel": "k0", "grid": [grid, 1, 1], "args": args, "constexprs": {},
            "options": {}, "phase": self.phase, "line": "user.py:20", **more,
        })  # fmt: skip

    def replayed(
        self, outputs: Sequence[torch.Tensor], text: str | None = None, **asked: Any
    ) -> Replayed:
        """Replay it with one kernel."""
        launches = ["k"] * sum(op["op"] == "launch" for op in self.ops)
        structure = {"tuple": [self.reported(one) for one in outputs]}
        tape = self.tape(outputs=structure, kernels={"k0": KERNEL})
        kernels = {"k": (text or doubling(), NAMES)}
        return replayed(tape, kernels, launches, **asked)


@pytest.fixture
def program() -> LaunchingProgram:
    made = LaunchingProgram()
    made.phase = "run"
    return made


def test_a_kernel_runs_over_what_torch_made(program: LaunchingProgram) -> None:
    with program:
        x = torch.arange(100, dtype=torch.float32)
        z = torch.empty(100)
    program.launch(4, x, z, 100)
    with program:
        total = z.sum()

    found = program.replayed([z, total])

    assert found.report.findings == []
    assert found.outputs(0)[0].tolist() == [2.0 * n for n in range(100)]
    assert found.outputs(0)[1].item() == 9900.0


def test_a_view_begins_at_its_offset(program: LaunchingProgram) -> None:
    with program:
        x = torch.arange(100, dtype=torch.float32)
        z = torch.zeros(2, 50)
        from_x, to_z = x[40:], z[1]
    program.launch(2, from_x, to_z, 50)

    [row, _] = program.replayed([z]).outputs(0)[0].flip(0)

    assert row.tolist() == [2.0 * n for n in range(40, 90)]


def test_a_pointer_reaches_all_of_its_storage(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.ones(64), torch.zeros(64)
        from_x, to_z = x[:1], z[:1]
    program.launch(2, from_x, to_z, 64)

    found = program.replayed([z])

    assert (found.kinds, found.outputs(0)[0].sum().item()) == ([], 128.0)


def test_an_access_beyond_the_storage_is_found_at_its_line(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.ones(40), torch.zeros(64)
    program.launch(2, x, z, 64)

    [finding] = program.replayed([z]).report.findings

    assert (finding.kind, finding.file, finding.line) == ("out_of_bounds", "user.py", 12)
    assert finding.argument == "x_ptr"
    assert "past its end" in finding.message


def test_what_follows_a_wrong_access_is_not_run(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.ones(40), torch.zeros(64)
    program.launch(2, x, z, 64)

    assert program.replayed([z]).sent == {}


def test_elements_that_no_kernel_wrote_are_reported(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.ones(64), torch.empty(64)
    program.launch(2, x, z, 60)

    found = program.replayed([z])

    assert found.sent["unwritten:0:0"] == bytes([0] * 7 + [0b00001111])
    assert found.outputs(0)[0][60:].isnan().all()


def test_what_two_kernels_write_together_is_written(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.ones(64), torch.empty(64)
        rest = z[32:]
    program.launch(1, x, z, 32)
    program.launch(1, x, rest, 32)

    assert "unwritten:0:0" not in program.replayed([z]).sent


def test_the_poison_may_be_what_a_kernel_means(program: LaunchingProgram) -> None:
    with program:
        x = torch.full((64,), -1, dtype=torch.int32).view(torch.float32)
        z = torch.empty(64)
    program.launch(2, x, z, 64)

    assert "unwritten:0:0" not in program.replayed([z]).sent


def test_a_load_of_unwritten_memory_is_found_when_asked_for(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.empty(64), torch.zeros(64)
        x[:32] = 1.0
    program.launch(2, x, z, 64)

    [finding] = program.replayed([z], checks=("initcheck",)).report.findings

    assert (finding.kind, finding.line, finding.index) == ("uninitialized", 12, [32])
    assert program.replayed([z]).report.findings == []


def test_programs_that_race_are_found_where_asked_for(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.arange(32, dtype=torch.float32), torch.zeros(32)
    program.launch(4, x, z, 32)
    text = doubling(step="%none", extra=_PID_ADDED)

    [finding] = program.replayed([z], text, checks=("racecheck",)).report.findings

    assert (finding.kind, finding.line) == ("race", 13)
    assert program.replayed([z], text).report.findings == []


def test_a_race_is_found_though_there_is_no_time_for_all(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.arange(32, dtype=torch.float32), torch.zeros(32)
    program.launch(4, x, z, 32)
    text = doubling(step="%none", extra=_PID_ADDED)

    [finding] = program.replayed([z], text, checks=("racecheck",), limit_s=0.0).report.findings

    assert (finding.kind, finding.line) == ("race", 13)
    assert "There was time to look for races among" in finding.message


_PID_ADDED = f"""%number = arith.sitofp %pid : i32 to f32
    %numbers = tt.splat %number : f32 -> tensor<{BLOCK}xf32>
    %other = arith.addf %y, %numbers : tensor<{BLOCK}xf32>
    %all = tt.splat %z_ptr : !tt.ptr<f32> -> {POINTERS}
    %there = tt.addptr %all, %range : {POINTERS}, {LANES}
    tt.store %there, %other : {POINTERS} {AT_STORE}"""


def test_order_that_shows_is_nondeterministic(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.arange(32, dtype=torch.float32), torch.zeros(32)
    program.launch(4, x, z, 0)
    text = doubling(step="%none", extra=_PID_ADDED)

    found = program.replayed([x, z], text, checks=("determinism",))

    assert found.report.deterministic is False
    assert [(one.kind, one.argument) for one in found.report.findings] == [("order_dependent", "1")]


def test_an_assertion_of_a_kernel_that_fails_is_found(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.zeros(32), torch.zeros(32)
    program.launch(1, x, z, 32)
    text = doubling(extra='tt.assert %mask, "n is too small" : ' + f"tensor<{BLOCK}xi1> {AT_LOAD}")
    program.ops[-1]["args"]["n"] = 30

    [finding] = program.replayed([z], text).report.findings

    assert (finding.kind, finding.line) == ("assertion_failed", 12)
    assert "n is too small" in finding.message


def test_what_a_kernel_prints_is_printed(
    program: LaunchingProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    with program:
        x, z = torch.zeros(32), torch.zeros(32)
    program.launch(2, x, z, 32)
    printed = 'tt.print "pid" {hex = false, isSigned = array<i32: 1>} : %pid : i32'

    program.replayed([z], doubling(extra=printed))

    assert capsys.readouterr().out == "(0, 0, 0) pid 0\n(1, 0, 0) pid 1\n"


def test_a_kernel_in_place_begins_again_from_what_was_there(program: LaunchingProgram) -> None:
    """Batched programs run until two conflict; then the memory is restored and they run again."""
    with program:
        x = torch.ones(33)
        rest = x[1:]
    program.launch(2, x, rest, 32)

    found = program.replayed([x])

    assert found.report.findings == []
    assert found.outputs(0)[0].tolist() == [1.0, *[2.0] * 32]


def test_an_autotuned_accumulator_is_zeroed_first(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.ones(32), torch.full((40,), 7.0)
    program.launch(1, x, z, 32, reset_to_zero=["z_ptr"])

    assert program.replayed([z]).outputs(0)[0].tolist() == [2.0] * 32 + [0.0] * 8


def test_recorded_strides_are_those_that_a_kernel_meets(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.ones(2, 16), torch.empty(32)
        made = x + torch.arange(16.0)
    index = program.reported(made)["t"]
    program.tensors[index][3] = [1, 2]  # as if the device had laid it out by columns
    program.launch(1, made, z, 32)

    found = program.replayed([z])

    assert found.outputs(0)[0][:4].tolist() == [2.0, 2.0, 4.0, 4.0]


def test_ir_without_a_kernel_is_refused(program: LaunchingProgram) -> None:
    with program:
        x, z = torch.zeros(32), torch.zeros(32)
    program.launch(1, x, z, 32)

    with pytest.raises(Failure) as raised:
        program.replayed([z], "module {}")
    assert raised.value.slug == "unknown_kernel"
