"""The copies that could replace launches, and the ops whose results may become noise."""

from programs.tape.kernel_effects import KernelEffects
from programs.worker.experiments import launch_copies, noisable_ops
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t


def test_a_launch_may_be_a_copy_of_what_it_reads() -> None:
    maker = TapeMaker()
    x, out = maker.tensor(), maker.empty()
    maker.launch(x, out)
    tape = maker.tape([x], [out])

    assert launch_copies(tape, dict(READS_A_WRITES_OUT)) == [[(1, out, x)]]


def test_a_launch_that_reads_other_sizes_is_no_copy() -> None:
    maker = TapeMaker()
    x, out = maker.tensor(32), maker.empty()
    maker.launch(x, out)

    assert launch_copies(maker.tape([x], [out]), dict(READS_A_WRITES_OUT)) == []


def test_a_launch_of_unknown_effects_is_only_left_out() -> None:
    maker = TapeMaker()
    x, out = maker.tensor(), maker.empty()
    maker.launch(x, out)

    assert launch_copies(maker.tape([x], [out]), {"k0": None}) == []


def test_each_choice_copies_another_tensor() -> None:
    maker = TapeMaker()
    x, out = maker.tensor(), maker.empty()
    maker.launch(x, out)
    both = {"k0": KernelEffects(frozenset({"a", "out"}), frozenset({"a", "out"}))}

    assert launch_copies(maker.tape([x], [out]), both) == [[(1, x, out), (1, out, x)]]


def test_fresh_memory_constants_and_views_are_no_work() -> None:
    maker = TapeMaker()
    x, out = maker.tensor(), maker.empty()
    maker.op("zeros.default", {"list": [64]})
    maker.part(x, 0, 32)
    square = len(maker.ops)
    maker.op("mul.Tensor", t(x), t(x))
    maker.op("copy_.default", t(out), t(x), into=out)

    assert noisable_ops(maker.tape([x], [out])) == [square, square + 1]
