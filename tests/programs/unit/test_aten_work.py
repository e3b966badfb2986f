"""The work of ATen ops, from their shapes alone."""

from __future__ import annotations

import pytest

from programs.tape.allowed_overloads import ALLOWED
from programs.tape.aten_work import _PER_ELEMENT, _RULES, COPIED, aten_work
from programs.tape.schema import AtenOp, TensorMeta, TensorRef, Value

pytestmark = pytest.mark.unit


def work(name: str, shapes: list[tuple[int, ...]], made: tuple[int, ...], *more: Value) -> float:
    """Return the work of an op on tensors of these shapes, followed by `more` arguments."""
    tensors = [
        TensorMeta("fp32", "cuda", shape, (1,) * len(shape), 0, at)
        for at, shape in enumerate([*shapes, made])
    ]
    args = (*(TensorRef(at) for at in range(len(shapes))), *more)
    return aten_work(AtenOp(f"aten.{name}", args, {}, (len(shapes),), "run", None), tensors)


@pytest.mark.parametrize(
    ("name", "shapes", "made", "operations"),
    [
        ("mm.default", [(3, 5), (5, 7)], (3, 7), 2 * 3 * 5 * 7),
        ("bmm.default", [(2, 3, 5), (2, 5, 7)], (2, 3, 7), 2 * 2 * 3 * 5 * 7),
        ("addmm.default", [(7,), (3, 5), (5, 7)], (3, 7), 2 * 3 * 5 * 7 + 3 * 7),
        ("addmm_.default", [(3, 7), (3, 5), (5, 7)], (3, 7), 2 * 3 * 5 * 7 + 3 * 7),
        ("mv.default", [(3, 5), (5,)], (3,), 2 * 3 * 5),
        ("dot.default", [(5,), (5,)], (), 2 * 5),
        ("_cdist_forward.default", [(3, 5), (7, 5)], (3, 7), 3 * 3 * 5 * 7),
        (
            "scaled_dot_product_attention.default",
            [(2, 8, 16), (2, 9, 16), (2, 9, 4)],
            (2, 8, 4),
            2 * 8 * 9 * (2 * 16 + 5 + 2 * 4),
        ),
        ("relu.default", [(6, 4)], (6, 4), 24),
        ("add.Tensor", [(6, 1), (1, 4)], (6, 4), 24),
        ("sum.dim_IntList", [(6, 4)], (6,), 24),
        ("cumsum.default", [(6, 4)], (6, 4), 24),
        ("sort.default", [(6, 64)], (6, 64), 6 * 64 * 6),
        ("linalg_inv_ex.default", [(100, 8, 8)], (100, 8, 8), 2 * 100 * 8**3),
        ("mse_loss.default", [(6, 1), (4,)], (), 3 * 24),
        ("median.default", [(6, 64)], (), 3 * 6 * 64),
        ("embedding.default", [(1000, 4), (6,)], (6, 4), 24),
        ("index_add.default", [(1000, 4), (6,), (6, 4)], (1000, 4), 24),
        ("clone.default", [(64, 4)], (64, 4), 256 * COPIED),
        ("_to_copy.default", [(64, 4)], (64, 4), 256 * COPIED),
        ("copy_.default", [(64, 4), (64, 4)], (64, 4), 256 * COPIED),
        ("view.default", [(64, 4)], (256,), 0),
        ("zero_.default", [(64, 4)], (64, 4), 0),
        ("empty_like.default", [(64, 4)], (64, 4), 0),
    ],
)
def test_an_op_does_so_many_operations(
    name: str, shapes: list[tuple[int, ...]], made: tuple[int, ...], operations: float
) -> None:
    assert work(name, shapes, made) == operations


def test_arguments_given_by_name_count_as_well() -> None:
    tensors = [
        TensorMeta("fp32", "cuda", shape, (1, 1), 0, at)
        for at, shape in enumerate([(3, 5), (5, 7), (3, 7)])
    ]
    named = {"mat2": TensorRef(1), "self": TensorRef(0)}
    op = AtenOp("aten.mm.default", (), named, (2,), "run", None)
    assert aten_work(op, tensors) == 2 * 3 * 5 * 7


def test_the_largest_k_take_their_order() -> None:
    assert work("topk.default", [(6, 64)], (6, 1), 1) == 6 * 64
    assert work("topk.default", [(6, 64)], (6, 8), 8) == 6 * 64 * (1 + 3)


def test_indices_name_places_together() -> None:
    tensors = [
        TensorMeta("fp32", "cuda", shape, (1,) * len(shape), 0, at)
        for at, shape in enumerate([(100, 100, 5), (9, 1), (1, 7), (), (100, 100, 5)])
    ]
    args = (TensorRef(0), (TensorRef(1), TensorRef(2)), TensorRef(3), True)
    op = AtenOp("aten.index_put_.default", args, {}, (4,), "run", None)
    assert aten_work(op, tensors) == 9 * 7 * 5


def convolution(transposed: bool, made: tuple[int, ...]) -> float:
    more = (None, (1, 1), (0, 0), (1, 1), transposed, (0, 0), 2)
    return work("convolution.default", [(1, 4, 10, 10), (8, 2, 3, 3)], made, *more)


def test_a_convolution_multiplies_its_filter_at_each_place() -> None:
    assert convolution(False, (1, 8, 8, 8)) == 2 * (8 * 8 * 8) * (2 * 3 * 3)


def test_a_transposed_convolution_multiplies_its_filter_at_each_place_of_its_input() -> None:
    more = (None, (1, 1), (0, 0), (1, 1), True, (0, 0), 1)
    found = work("convolution.default", [(1, 4, 10, 10), (4, 8, 3, 3)], (1, 8, 12, 12), *more)
    assert found == 2 * (4 * 10 * 10) * (8 * 3 * 3)


def test_a_recurrent_network_multiplies_its_weights_at_each_step() -> None:
    tensors = [
        TensorMeta("fp32", "cuda", shape, (1,) * len(shape), 0, at)
        for at, shape in enumerate([(5, 2, 3), (1, 2, 4), (12, 3), (12, 4), (5, 2, 4), (1, 2, 4)])
    ]
    args = (TensorRef(0), TensorRef(1), (TensorRef(2), TensorRef(3)), False, 1, 0.0)
    op = AtenOp("aten.gru.input", args, {}, (4, 5), "run", None)
    assert aten_work(op, tensors) == 2 * (5 * 2) * (12 * 3 + 12 * 4)


def test_a_transform_takes_the_logarithm_of_its_axes() -> None:
    found = work("_fft_c2c.default", [(6, 64)], (6, 64), (1,), 0, True)
    assert found == 5 * 6 * 64 * 6


@pytest.mark.parametrize("window", [(3, 3), (3,)])
def test_a_pool_looks_at_its_windows(window: tuple[int, ...]) -> None:
    found = work("max_pool2d_with_indices.default", [(2, 10, 10)], (2, 8, 8), window, (1, 1))
    assert found == 2 * 8 * 8 * 9


def test_whatever_computes_is_work_by_its_largest_tensor(subtests: pytest.Subtests) -> None:
    """Even for arguments that make no sense: only a replay tries them."""
    shapes = [(4, 8, 16, 16)] * 3
    free = {"uninitialized", "constant", "random", "view", "metadata"}
    for overload, allowed in ALLOWED.items():
        name = overload.removeprefix("aten.")
        with subtests.test(overload=overload):
            found = work(name, shapes, (4, 8, 16, 16), None, None, None, None, None)
            if allowed.kind in free or name.startswith("fill"):
                assert found == 0
            else:
                assert found >= 4 * 8 * 16 * 16 * COPIED
            for nonsense in ([], [()], [()] * 4, [(0, 3)]):
                assert work(name, nonsense, ()) >= 0


def test_rules_are_of_ops_that_tapes_may_have() -> None:
    names = {overload.split(".")[1] for overload in ALLOWED}
    assert (_RULES.keys() | _PER_ELEMENT.keys()) <= names | {
        name.removesuffix("_") for name in names
    }
