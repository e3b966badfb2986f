"""Initializers make the same elements on every platform, by a documented recipe."""

import numpy as np
import pytest

from launch.buffers import initial_values, npy
from launch.buffers.initial_values import BadInitialiser


def made(kind, count=4, dtype="fp32", **fields):
    return initial_values.elements({"kind": kind, **fields}, count, dtype, b"").tolist()


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ({"kind": "uniform", "seed": 1}, [0.06680201, 0.07901298, 0.00577712, 0.8065567]),
        (
            {"kind": "uniform", "seed": 1, "low": -2, "high": 2},
            [-1.7327919, -1.6839481, -1.9768915, 1.2262268],
        ),
        ({"kind": "normal", "seed": 2}, [-1.0670621, 1.1868508, 0.09910781, -1.2912972]),
        ({"kind": "randint", "seed": 3, "low": -5, "high": 5}, [1, -5, -3, -4]),
    ],
)
def test_random_elements_are_the_same_for_all_time(init, expected):
    assert initial_values.elements(init, 4, "fp32", b"") == pytest.approx(expected, rel=1e-6)


def test_random_elements_are_made_in_full_width_and_then_cast():
    wide = np.random.Generator(np.random.Philox(7)).normal(1, 3, 50)
    narrow = initial_values.elements(
        {"kind": "normal", "seed": 7, "mean": 1, "std": 3}, 50, "fp16", b""
    )
    assert np.array_equal(narrow, wide.astype(np.float16))


def test_plain_kinds():
    assert made("zeros") == [0, 0, 0, 0]
    assert made("ones", dtype="bf16") == [1, 1, 1, 1]
    assert made("full", value=2.5) == [2.5] * 4
    assert made("full", value="NaN", count=1) != made("full", value="NaN", count=1)
    assert made("arange") == [0, 1, 2, 3]
    assert made("arange", start=5, step=-2, dtype="i8") == [5, 3, 1, -1]
    assert made("arange", start=0.5, step=0.25) == [0.5, 0.75, 1.0, 1.25]


def test_values_may_be_nested_and_as_big_as_64_bits():
    assert made("values", values=[[1, 2], [3, 4]], dtype="i32") == [1, 2, 3, 4]
    big = [str(2**63), {"int": "18446744073709551615"}]
    assert made("values", 2, "u64", values=big) == [2**63, 2**64 - 1]
    assert made("values", 3, values=["-Infinity", {"float": "0x1.8p+1"}, 7]) == [-np.inf, 3, 7]


def test_as_many_values_as_elements():
    with pytest.raises(BadInitialiser, match="needs 4 values"):
        made("values", values=[1, 2, 3])


def test_an_upload_gives_its_elements_in_logical_order():
    matrix = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    elements = initial_values.elements({"kind": "tensor"}, 6, "fp32", npy.write(matrix))
    assert elements.tolist() == [0, 1, 2, 3, 4, 5]


def test_an_upload_of_another_size():
    with pytest.raises(BadInitialiser, match=r"has shape \[3\], but the argument has 4 elements"):
        initial_values.elements({"kind": "tensor"}, 4, "fp32", npy.write(np.zeros(3, np.float32)))


def test_an_unknown_kind():
    with pytest.raises(BadInitialiser, match="unknown kind of initialiser: 'random'"):
        made("random")


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "i8", "i64", "u64", "i1"])
@pytest.mark.parametrize(
    ("start", "step"), [(0, 1), (-7, 3), (2**63 - 5, 2**62), (0.25, 1 / 3), (1e300, -1e299)]
)
def test_a_long_arange_is_made_in_pieces(dtype, start, step, monkeypatch):
    init = {"kind": "arange", "start": start, "step": step}
    whole = initial_values.elements(init, 50, dtype, b"")
    monkeypatch.setattr(initial_values, "PIECE", 7)

    assert initial_values.elements(init, 50, dtype, b"").tobytes() == whole.tobytes()


def test_elements_are_new_each_time():
    for init in ({"kind": "full", "value": 1}, {"kind": "zeros"}, {"kind": "ones"}):
        first = initial_values.elements(init, 3, "i32", b"")
        first[:] = 9
        assert initial_values.elements(init, 3, "i32", b"").tolist() != [9, 9, 9]
