"""Each reader takes twice the time for a tape of twice as many ops, tensors or keys."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.ir import Operation
from programs.replay.value_flow import kernel_effects
from programs.tape import json_fields
from programs.tape.flags import flags_of
from programs.tape.kernel_effects import KernelEffects
from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape, Tape
from tests.programs.unit.tape_maker import TapeMaker, t

FACTOR, MAX_GROWTH = 8, 24
"""Most growth of the time for this much more text: 8 is linear, 64 quadratic."""


def spent_s(call: Any) -> float:
    def once() -> float:
        started = time.process_time()
        call()
        return time.process_time() - started

    return min(once() for _ in range(3))


def test_a_key_that_is_there_twice_is_found_as_fast_as_any_is_read() -> None:
    def read(keys: int) -> None:
        text = "{" + ",".join(f'"{n}":0' for n in range(keys)) + f',"{keys - 1}":0}}'
        with pytest.raises(InvalidTape, match="twice"):
            json_fields.parsed(text.encode())

    few = spent_s(lambda: read(1_000))
    assert spent_s(lambda: read(1_000 * FACTOR)) < few * MAX_GROWTH


def test_flags_of_many_outputs_take_no_longer_for_each() -> None:
    def tape(outputs: int) -> Tape:
        maker = TapeMaker()
        inputs = [maker.tensor() for _ in range(outputs)]
        for x in inputs:
            maker.op("neg.default", t(x))
        made = maker.json(inputs, inputs, [], [])
        return read_tape(json.dumps(made).encode())

    few, many = tape(200), tape(200 * FACTOR)

    assert [flag.kind for flag in flags_of(few, {})][:2] == ["no_kernel", "returned_input"]
    assert spent_s(lambda: flags_of(many, {})) < spent_s(lambda: flags_of(few, {})) * MAX_GROWTH


def of_one_wide_op(width: int) -> bytes:
    """Return one op in place that gets and returns a tensor this many times."""
    maker = TapeMaker()
    x = maker.tensor()
    maker.op("neg_.default", {"list": [t(x)] * width}, into=x)
    maker.ops[-1]["o"] = [x] * width
    return json.dumps(maker.json([x], [x], [], [])).encode()


def of_restored_tuples(width: int) -> bytes:
    """Return a launch with a tuple of tensors that its autotuner restores by many names."""
    maker = TapeMaker()
    x = maker.tensor()
    maker.launch(x, x)
    maker.ops[-1]["args"]["a"] = {"tuple": [t(x)] * width}
    maker.ops[-1] |= {"restore_value": ["a"] * (width // 10)}
    return json.dumps(maker.json([x], [x], [], [])).encode()


@pytest.mark.parametrize("tape", [of_one_wide_op, of_restored_tuples])
def test_a_wide_op_takes_no_longer_for_each_of_its_tensors(tape: Any) -> None:
    few, many = tape(600), tape(600 * FACTOR)

    assert spent_s(lambda: read_tape(many)) < spent_s(lambda: read_tape(few)) * MAX_GROWTH


def test_the_time_to_read_effects_grows_with_the_ttir() -> None:
    """A chain of values through loops: the reader visits each value once."""

    def module(loops: int) -> Operation:
        lines, before = [], "%x"
        for number in range(loops):
            operands = f"(%n, %n, %n, {before}) : (i32, i32, i32, !tt.ptr<f32>) -> !tt.ptr<f32>"
            of_loop, types = operands.split(" : ")
            lines += [
                f'%r{number} = "scf.for"{of_loop} ({{',
                "^bb0(%i: i32, %p: !tt.ptr<f32>):",
                '"scf.yield"(%p) : (!tt.ptr<f32>) -> ()',
                f"}}) : {types}",
            ]
            before = f"%r{number}"
        store = f'"tt.store"({before}, %n) : (!tt.ptr<f32>, i32) -> ()'
        return module_of(
            "\n".join([
                '"builtin.module"() ({',
                '"tt.func"() <{sym_name = "k"}> ({',
                '^bb0(%x: !tt.ptr<f32> loc("x"(#loc)), %n: i32):',
                *lines, store, '"tt.return"() : () -> ()',
                "}) : () -> ()", "}) : () -> ()",
            ])
        )  # fmt: skip

    def seconds(read: Operation) -> float:
        start = time.process_time()
        assert kernel_effects(read) == KernelEffects(frozenset(), frozenset({"x"}))
        return time.process_time() - start

    times = [min(seconds(read) for _ in range(3)) for read in (module(2000), module(16000))]
    assert times[1] < 8 * 4 * times[0] + 0.05
