"""Invalid tapes, failing programs and missing memory each get a named refusal."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from compiler.diagnostic import Failure
from tests.programs.with_torch.eager_recording import Eager, recorded
from tests.programs.with_torch.replaying import Replayed, replayed, same_bits

Tape = dict[str, Any]


def rows() -> Sequence[torch.Tensor]:
    return [torch.randn(6, 8)]


def a_network() -> Eager:
    def program(weights: torch.Tensor, x: torch.Tensor) -> Sequence[torch.Tensor]:
        hidden = torch.relu(x @ weights)
        return [hidden[1:], hidden.sum(0)]

    return recorded(rows, program, lambda: torch.randn(8, 4))


def op_of(tape: Tape, name: str) -> dict[str, Any]:
    return next(op for op in tape["ops"] if op["op"] == name)


def tensor_of(tape: Tape, name: str) -> list[Any]:
    found: list[Any] = tape["tensors"][op_of(tape, name)["o"][0]]
    return found


def _claim_dtype(tape: Tape) -> None:
    tensor_of(tape, "aten.mm.default")[0] = "fp16"


def _claim_shape(tape: Tape) -> None:
    tensor_of(tape, "aten.mm.default")[2] = [4, 6]


def _claim_own_memory(tape: Tape) -> None:
    tensor = tensor_of(tape, "aten.slice.Tensor")
    tensor[4], tensor[5] = 0, len(tape["storages"])
    tape["storages"].append(80)


def _claim_view(tape: Tape) -> None:
    tensor_of(tape, "aten.relu.default")[5] = tensor_of(tape, "aten.mm.default")[5]


def _claim_place(tape: Tape) -> None:
    tensor_of(tape, "aten.slice.Tensor")[4] = 0


def _claim_overlap(tape: Tape) -> None:
    tensor_of(tape, "aten.relu.default")[3] = [0, 1]


def _claim_larger_storage(tape: Tape) -> None:
    tape["storages"][tensor_of(tape, "aten.relu.default")[5]] = 4096


def _leave_storage(tape: Tape) -> None:
    tensor_of(tape, "aten.slice.Tensor")[4] = 1000


def _use_before(tape: Tape) -> None:
    ops = tape["ops"]
    place = ops.index(op_of(tape, "aten.relu.default"))
    ops[place - 1], ops[place] = ops[place], ops[place - 1]


def _leave_out_output(tape: Tape) -> None:
    op_of(tape, "aten.sum.dim_IntList")["o"] = []


def _call_nothing(tape: Tape) -> None:
    op_of(tape, "aten.relu.default")["op"] = "aten.no_such_thing.default"


def _call_wrongly(tape: Tape) -> None:
    op_of(tape, "aten.relu.default")["a"] = []


def _go_back(tape: Tape) -> None:
    tape["ops"].append({**tape["ops"][0], "phase": "init"})


def _constant_too_short(tape: Tape) -> None:
    index = op_of(tape, "aten.mm.default")["a"][1]["t"]
    tape["ops"] = [op for op in tape["ops"] if index not in op["o"]]
    tape["constants"][str(index)] = "AAAA"


FORGERIES = (
    _claim_dtype, _claim_shape, _claim_own_memory, _claim_view, _claim_place, _claim_overlap,
    _claim_larger_storage, _leave_storage, _use_before, _leave_out_output, _call_nothing,
    _call_wrongly, _go_back, _constant_too_short,
)  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_tape_is_refused(forge: Callable[[Tape], None]) -> None:
    tape = copy.deepcopy(a_network().tape)
    forge(tape)

    with pytest.raises(Failure) as raised:
        replayed(tape)
    assert raised.value.slug == "forged_tape"


def test_strides_of_another_device_are_kept() -> None:
    """A tape recorded for a GPU may use other strides than the CPU would."""
    eager = a_network()
    tensor_of(eager.tape, "aten.mm.default")[3] = [1, 6]

    found = replayed(eager.tape)

    assert same_bits(found.outputs(0), eager.outputs[0])


def failing(program: Callable[..., Any], make: Callable[[], Any] = rows, **asked: Any) -> Replayed:
    return replayed(recorded(make, program).tape, **asked)


def test_tensors_that_do_not_fit_are_named_before_they_are_made() -> None:
    eager = recorded(rows, lambda x: (x[:, :1] * 2).sum())
    tape = eager.tape
    line = op_of(tape, "aten.mul.Tensor")["line"]
    for entry in tape["tensors"]:
        entry[2] = [1 << 34 if extent == 6 else extent for extent in entry[2]]
    for op in tape["ops"]:
        if op["op"] == "aten.randn.default":
            op["a"] = [{"list": [1 << 34, 8]}]
    tape["storages"] = [size if size < 24 else 1 << 39 for size in tape["storages"]]

    found = replayed(tape)

    [finding] = found.report.findings
    assert found.report.ending == "out_of_memory"
    assert (finding.kind, found.sent) == ("out_of_memory", {})
    assert f"{finding.file}:{finding.line}" <= line
    assert (
        "bytes at one time, but a replay on the CPU device has only 1,073,741,824"
        in finding.message
    )


def test_outputs_that_are_too_large_to_compare_are_named() -> None:
    found = failing(lambda x: x[0, 0].expand(1 << 14, 1 << 14))

    assert found.report.ending == "out_of_memory"
    assert "outputs of both calls take 2,147,483,648 bytes" in found.report.findings[0].message


def test_memory_is_counted_while_it_is_needed() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        for _ in range(50):
            x = x + 1
        return x.sum()

    found = failing(program, lambda: [torch.ones(1 << 18)])

    mib = 1 << 20
    assert found.report.findings == []
    assert 3 * mib <= found.report.peak_bytes < 5 * mib


def test_an_index_out_of_range_is_found_at_its_line() -> None:
    eager = recorded(lambda: [torch.zeros(3, dtype=torch.int64)], _embedded)
    makes = [op for op in eager.tape["ops"] if op["op"] == "aten.zeros.default"]
    for op in makes:
        op["op"], op["a"] = "aten.full.default", [*op["a"], 7]
    embedding = op_of(eager.tape, "aten.embedding.default")

    [finding] = replayed(eager.tape).report.findings

    assert finding.kind == "out_of_bounds"
    assert f"{finding.file}:{finding.line}" == embedding["line"]
    assert "aten.embedding.default" in finding.message


def _embedded(index: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.embedding(index, torch.ones(4, 2))


def test_indices_that_atens_kernel_would_write_at_are_checked() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        pooled, indices = torch.ops.aten.max_pool2d_with_indices(x, [2, 2])
        shift = indices + 0
        return torch.ops.aten.max_pool2d_with_indices_backward(
            pooled, x, [2, 2], [2, 2], [0, 0], [1, 1], False, shift
        )

    eager = recorded(lambda: [torch.randn(1, 1, 4, 4)], program)
    assert replayed(eager.tape).report.findings == []
    for op in eager.tape["ops"]:
        if op["op"] == "aten.add.Tensor":
            op["a"][1] = 1 << 40

    [finding] = replayed(eager.tape).report.findings

    assert finding.kind == "out_of_bounds"
    assert "indices is out of range" in finding.message


def test_an_op_that_fails_is_named_with_its_line() -> None:
    eager = recorded(lambda: [torch.ones(3)], lambda x: torch.multinomial(x, 1))
    for op in eager.tape["ops"]:
        if op["op"] == "aten.ones.default":
            op["op"] = "aten.zeros.default"

    found = replayed(eager.tape)

    [finding] = found.report.findings
    assert (found.report.ending, finding.kind) == ("crashed", "crashed")
    assert (
        "aten.multinomial.default failed on the CPU device: invalid multinomial" in finding.message
    )
    assert f"{finding.file}:{finding.line}" == op_of(eager.tape, "aten.multinomial.default")["line"]


def test_ops_that_read_unwritten_memory_are_found_when_asked_for() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        made = torch.empty(4, 8)
        made[:2] = x[:2]
        return made[:2].sum() + made.sum()

    [finding, again] = failing(program, checks=("initcheck",)).report.findings

    assert finding.kind == again.kind == "uninitialized"  # each call has other lines here
    assert "torch.empty" in finding.message
    assert failing(program).report.findings == []


def test_memory_that_is_only_seen_anew_stays_unwritten() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.empty(8, 4).t_().sum() + x.sum()

    [finding, again] = failing(program, checks=("initcheck",)).report.findings

    assert finding.kind == again.kind == "uninitialized"


def test_what_was_made_empty_is_poison() -> None:
    def program(x: torch.Tensor) -> Sequence[torch.Tensor]:
        made = torch.empty(3, 2), torch.empty_like(x, dtype=torch.int32), x.new_empty(2)
        made[0][1] = 1.0
        return made

    found = failing(program)

    floats, numbers, others = found.outputs(0)
    assert floats.isnan().tolist() == [[True, True], [False, False], [True, True]]
    assert {value & 0xFF for value in numbers.reshape(-1).tolist()} == {0xAB}
    assert others.isnan().all()
    assert found.sent["unwritten:0:0"] == bytes([0b11001100])


def test_in_the_second_call_what_was_made_empty_is_large_numbers_of_both_signs() -> None:
    def program(x: torch.Tensor) -> Sequence[torch.Tensor]:
        kinds = torch.float16, torch.float64, torch.int32, torch.complex64
        made = [torch.empty(4, dtype=kind) for kind in kinds]
        return [*(one.real for one in made), torch.empty(4, dtype=torch.bool)]

    *numbers, truths = failing(program).outputs(1)

    for found in numbers:
        assert found.double().abs().min() > 1e4
        assert found.double().sign().tolist() == [1, -1, 1, -1]
    assert truths.tolist() == [False, True, False, True]


def test_before_each_op_its_number_is_sent_where_asked_for() -> None:
    found = failing(lambda x: x + 1, announce=True)

    reported = [name for name in found.sent if name.startswith("op:")]
    assert reported == [f"op:{number}" for number in range(len(found.tape["ops"]))]
