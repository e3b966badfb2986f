"""Cheats as tapes show them, and honest programs without flags."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from programs.tape.flags import flags_of
from programs.tape.schema import Tape
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t

pytestmark = pytest.mark.unit

Call = Callable[[TapeMaker, int], int]


def called_twice(call: Call, second: Call | None = None, make: TapeMaker | None = None) -> Tape:
    """Return the tape of a program that gets one vector and returns what `call` returns."""
    maker = make or TapeMaker()
    x, x2 = maker.tensor(), maker.tensor()
    maker.phase = "run"
    out = call(maker, x)
    maker.phase, maker.line = "run2", 10
    out2 = (second or call)(maker, x2)
    return maker.tape([x], [out], [x2], [out2])


def kinds(tape: Tape, reference: Tape | None = None) -> list[str]:
    return sorted({flag.kind for flag in flags_of(tape, READS_A_WRITES_OUT, reference)})


def honest(maker: TapeMaker, x: int) -> int:
    out = maker.empty()
    maker.launch(x, out)
    return out


def torch_only(maker: TapeMaker, x: int) -> int:
    return maker.op("relu.default", t(x))


def decoy_launch(maker: TapeMaker, x: int) -> int:
    maker.launch(x, maker.empty())
    return torch_only(maker, x)


def decoy_that_is_overwritten(maker: TapeMaker, x: int) -> int:
    out = honest(maker, x)
    return maker.op("copy_.default", t(out), t(torch_only(maker, x)), into=out)


def decoy_of_no_programs(maker: TapeMaker, x: int) -> int:
    out = torch_only(maker, x)
    maker.launch(x, out, grid=0)
    return out


def returned_input(maker: TapeMaker, x: int) -> int:
    maker.launch(x, maker.empty())
    return x


def returned_view(maker: TapeMaker, x: int) -> int:
    return maker.op("alias.default", t(x), into=maker.tensor(of=x))


def constant(maker: TapeMaker, x: int) -> int:
    return maker.op("zeros.default", {"list": [64]})


def constant_by_a_kernel(maker: TapeMaker, x: int) -> int:
    out = maker.empty()
    maker.launch(maker.op("zeros.default", {"list": [64]}), out)
    return out


def unwritten(maker: TapeMaker, x: int) -> int:
    return maker.empty()


def random(maker: TapeMaker, x: int) -> int:
    return maker.op("randn.default", {"list": [64]})


@pytest.mark.parametrize(
    ("cheat", "shown"),
    [
        (torch_only, ["no_kernel"]),
        (decoy_launch, ["dead_launch", "no_kernel"]),
        (decoy_that_is_overwritten, ["dead_launch", "no_kernel"]),
        (decoy_of_no_programs, ["dead_launch", "no_kernel"]),
        (returned_input, ["dead_launch", "no_kernel", "returned_input"]),
        (returned_view, ["no_kernel", "returned_input"]),
        (constant, ["constant_output", "no_kernel"]),
        (constant_by_a_kernel, ["constant_output"]),
        (random, ["constant_output", "no_kernel"]),
        (unwritten, ["no_kernel", "unwritten_output"]),
    ],
)
def test_a_cheat_is_shown(cheat: Call, shown: list[str]) -> None:
    assert kinds(called_twice(cheat)) == shown


def test_a_decoy_that_writes_a_buffer_of_the_module_is_no_work_either() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    buffer = maker.op("zeros.default", {"list": [64]})
    maker.params = [["buffer", buffer]]

    def call(maker: TapeMaker, x: int) -> int:
        maker.launch(x, buffer)
        return torch_only(maker, x)

    assert kinds(called_twice(call, make=maker)) == ["no_kernel"]


def test_numbers_drawn_before_the_call_from_a_seed_of_its_own_are_shown() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    maker.seed(42)
    table = maker.op("randn.default", {"list": [64]})

    def call(maker: TapeMaker, x: int) -> int:
        out = maker.empty()
        maker.launch(maker.op("add.Tensor", t(x), t(table)), out)
        return out

    tape = called_twice(call, make=maker)

    assert ("precomputed", 12) in [
        (flag.kind, flag.line) for flag in flags_of(tape, READS_A_WRITES_OUT)
    ]
    assert "precomputed" not in [flag.kind for flag in flags_of(tape, READS_A_WRITES_OUT, tape)]


def test_a_result_that_was_computed_before_the_call_is_shown() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    table = maker.op("randn.default", {"list": [64]})

    def call(maker: TapeMaker, x: int) -> int:
        out = maker.empty()
        maker.launch(table, out)
        return out

    (flag,) = flags_of(called_twice(call, make=maker), READS_A_WRITES_OUT)

    assert (flag.kind, flag.file, flag.line) == ("precomputed", "user.py", 13)
    assert flag.message == (
        "output 0 depends on no input, only on what was computed before the call: compute it from "
        "the inputs"
    )


def test_a_result_that_is_kept_for_the_next_call_is_shown() -> None:
    results: list[int] = []

    def cached(maker: TapeMaker, x: int) -> int:
        if not results:
            results.append(honest(maker, x))
        return results[0]

    messages = [flag.message for flag in flags_of(called_twice(cached), READS_A_WRITES_OUT)]
    assert messages == [
        "output 0 of the second call depends on the inputs of the first: do not keep results for "
        "the next call",
        "the first call does a launch of copy_kernel[1, 1, 1], but the second, with inputs of the "
        "same shapes, does nothing more: do the same work in each call",
    ]


def test_a_result_that_is_kept_in_a_buffer_is_shown() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    buffer = maker.op("zeros.default", {"list": [64]})
    maker.params = [["buffer", buffer]]

    def first(maker: TapeMaker, x: int) -> int:
        maker.launch(x, buffer)
        return buffer

    def second(maker: TapeMaker, x: int) -> int:
        torch_only(maker, x)
        return buffer

    tape = called_twice(first, second, make=maker)
    messages = [flag.message for flag in flags_of(tape, READS_A_WRITES_OUT)]

    assert messages[0].startswith("output 0 of the second call depends on none of its inputs")


def test_running_statistics_are_no_cheat() -> None:
    """In training, a batch normalization writes them and reads its batch."""
    maker = TapeMaker()
    maker.phase = "init"
    mean, var = (maker.op("zeros.default", {"list": [64]}) for _ in range(2))

    def call(maker: TapeMaker, x: int) -> int:
        out = honest(maker, x)
        batch, made = maker.tensor(of=out), maker.tensor()
        for tensor in (batch, made):
            maker.tensors[tensor][2:4] = [1, 64], [64, 1]
        maker.op("view.default", t(out), {"list": [1, 64]}, into=batch)
        arguments = (t(batch), None, None, t(mean), t(var), True, 0.1, 1e-5)
        return maker.op("batch_norm.default", *arguments, into=made)

    assert kinds(called_twice(call, make=maker)) == []


def test_a_state_that_the_reference_keeps_as_well_is_no_cheat() -> None:
    def stateful() -> Tape:
        states: list[int] = []

        def call(maker: TapeMaker, x: int) -> int:
            state = maker.op("add.Tensor", t(x), t(states[-1])) if states else x
            states.append(honest(maker, state))
            return states[-1]

        return called_twice(call)

    assert kinds(stateful()) == ["cached_result"]
    assert kinds(stateful(), stateful()) == []


def test_half_of_the_work_kept_for_the_next_call_is_shown() -> None:
    halves: list[int] = []

    def half_cached(maker: TapeMaker, x: int) -> int:
        if not halves:
            halves.append(honest(maker, x))
        return honest(maker, maker.op("add.Tensor", t(x), t(halves[0])))

    assert kinds(called_twice(half_cached)) == ["cached_result"]


def test_less_work_in_the_second_call_is_shown() -> None:
    def twice(maker: TapeMaker, x: int) -> int:
        return honest(maker, honest(maker, x))

    assert kinds(called_twice(twice, honest)) == ["cached_result"]


def test_an_honest_program_shows_nothing() -> None:
    assert kinds(called_twice(honest)) == []


def test_weights_made_ready_in_the_first_call_are_no_cheat() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    weight = maker.op("randn.default", {"list": [64]})
    maker.params = [["weight", weight]]
    ready: list[int] = []

    def lazy(maker: TapeMaker, x: int) -> int:
        if not ready:
            ready.append(maker.op("clone.default", t(weight)))
        return honest(maker, maker.op("mul.Tensor", t(x), t(ready[0])))

    assert kinds(called_twice(lazy, make=maker)) == []


def test_what_the_reference_returns_likewise_is_no_cheat() -> None:
    reference = called_twice(returned_view)

    def same(maker: TapeMaker, x: int) -> int:
        out = honest(maker, x)
        assert out
        return returned_view(maker, x)

    assert kinds(called_twice(same), reference) == ["dead_launch", "no_kernel"]


def test_one_constant_beside_a_result_is_no_cheat_unless_the_reference_computes_it() -> None:
    def both(constant_first: bool) -> Tape:
        maker = TapeMaker()
        x = maker.tensor()
        first = constant(maker, x) if constant_first else honest(maker, x)
        return maker.tape([x], [first, honest(maker, x)])

    assert kinds(both(constant_first=True)) == []
    assert kinds(both(constant_first=True), both(constant_first=False)) == ["constant_output"]


def test_an_input_written_in_place_is_a_result() -> None:
    def in_place(maker: TapeMaker, x: int) -> int:
        maker.launch(x, x)
        return x

    assert kinds(called_twice(in_place)) == []


def test_a_view_that_reaches_half_of_a_result_renews_none_of_it() -> None:
    def wiped(maker: TapeMaker, x: int) -> int:
        out = honest(maker, x)
        view = maker.tensor(64, out)
        maker.tensors[view][2:4] = [[2, 32], [1, 1]]
        maker.op("as_strided.default", t(out), {"list": [2, 32]}, {"list": [1, 1]}, into=view)
        maker.op("zero_.default", t(view), into=view)
        return out

    assert kinds(called_twice(wiped)) == []


def test_a_kernel_of_which_nothing_is_known_may_do_anything() -> None:
    """No launch is called dead if its text hides its effect."""
    assert flags_of(called_twice(honest), {}) == ()


def cast(maker: TapeMaker, vector: int, dtype: str) -> int:
    other = maker.tensor()
    maker.tensors[other][0] = dtype
    maker.storages[-1] *= 2
    return maker.op("_to_copy.default", t(vector), into=other, dtype={"dtype": dtype})


def widened(maker: TapeMaker, vector: int) -> int:
    return maker.op("_to_copy.default", t(vector), dtype={"dtype": "fp32"})


def rounds_first(maker: TapeMaker, x: int) -> int:
    return honest(maker, widened(maker, cast(maker, x, "fp16")))


def rounds_between(maker: TapeMaker, x: int) -> int:
    half = maker.empty()
    maker.tensors[half][0] = "bf16"
    maker.storages[-1] //= 2
    maker.ops[-1]["k"]["dtype"] = {"dtype": "bf16"}
    out = maker.empty()
    maker.launch(x, half)
    maker.launch(half, out)
    return out


@pytest.mark.parametrize("call", [rounds_first, rounds_between])
def test_less_precision_than_any_tensor_of_the_reference_has_is_a_flag(call: Call) -> None:
    tape = called_twice(call)

    assert kinds(tape, called_twice(torch_only)) == ["precision_downgrade"]
    assert kinds(tape, called_twice(call)) == []
    assert kinds(tape) == []


def test_a_rounded_vector_that_no_output_depends_on_is_no_flag() -> None:
    def call(maker: TapeMaker, x: int) -> int:
        cast(maker, x, "fp16")
        return honest(maker, x)

    assert kinds(called_twice(call), called_twice(torch_only)) == []


def test_more_precision_and_back_is_no_flag() -> None:
    def call(maker: TapeMaker, x: int) -> int:
        return honest(maker, widened(maker, cast(maker, x, "fp64")))

    assert kinds(called_twice(call), called_twice(torch_only)) == []
