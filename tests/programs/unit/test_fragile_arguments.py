"""Arguments that would crash the replay's process: each of them did before it was refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape
from tests.programs.unit.tape_maker import TapeMaker, t

pytestmark = pytest.mark.unit


def with_shapes(name: str, shapes: list[list[int]], *args: Any) -> tuple[TapeMaker, int]:
    """Return a tape with one op; `t(0)`, `t(1)`, ... name tensors of its shapes."""
    maker = TapeMaker()
    for shape in [*shapes, [1]]:
        made = maker.tensor(4096)
        strides = [1] * len(shape)
        maker.tensors[made][2:4] = shape, strides
    maker.op(name, *args, into=len(shapes))
    return maker, len(shapes)


def read(name: str, shapes: list[list[int]], *args: Any) -> None:
    maker, output = with_shapes(name, shapes, *args)
    read_tape(json.dumps(maker.json(list(range(output)), [output], [], [])).encode())


def ints(*values: int) -> dict[str, Any]:
    return {"list": list(values)}


LSTM = (t(0), {"list": [t(1), t(2)]}, {"list": [t(3), t(4)]}, False, 1, 0.0, False, False, False)
LSTM_SHAPES = [[5, 2, 3], [1, 2, 4], [1, 2, 4], [16, 3], [16, 4]]


@pytest.mark.parametrize(
    ("name", "shapes", "args", "what"),
    [
        ("_fft_r2c.default", [[4, 8]], (t(0), ints(7), 0, True), "is not below 2"),
        ("_fft_c2c.default", [[4, 8]], (t(0), ints(1, -1), 0, True), "names one twice"),
        ("_fft_c2r.default", [[4, 8]], (t(0), ints(1), 9, 8), "normalization is unknown"),
        ("_log_softmax_backward_data.default", [[4, 0], [2, 3]], (t(0), t(1), 1, 8),
         "different shapes"),
        ("_native_batch_norm_legit.no_stats", [[2, 4]], (t(0), None, None, False, 0.1, 1e-5),
         "it has to train"),
        ("batch_norm.default", [[2, 4], [3]], (t(0), t(1), None, None, None, True, 0.1, 1e-5),
         "does not have 4 elements"),
        ("native_batch_norm.default", [[2, 4]], (t(0), None, None, None, None, False, 0.1, 1e-5),
         "it has to train"),
        ("batch_norm.default", [[2, 4], [4]], (t(0), None, None, t(1), t(1), 1, 0.1, 1e-5),
         "neither true nor false"),
        ("native_batch_norm_backward.default", [[2, 4], [2, 0]],
         (t(0), t(1), None, None, None, t(0), t(0), True, 0.1, {"list": [True, True, True]}),
         "does not have 0 elements"),
        ("native_group_norm.default", [[2, 4]], (t(0), None, None, 2, 4, 1000, 2, 1e-5),
         "do not make 8 elements"),
        ("native_group_norm.default", [[2, 4]], (t(0), None, None, 2, 4, 1, 3, 1e-5),
         "4 channels are no 3 groups"),
        ("_adaptive_avg_pool2d_backward.default", [[1, 4, 4], [0, 4, 4]], (t(0), t(1)),
         "of other channels"),
        ("native_layer_norm_backward.default", [[0], [1], [1]],
         (t(0), t(1), ints(1), t(2), t(2), None, None, {"list": [True, True, True]}),
         "its gradient is of another shape"),
        ("native_layer_norm_backward.default", [[4, 8], [4, 1], [3, 1]],
         (t(0), t(0), ints(8), t(1), t(2), None, None, {"list": [True, True, True]}),
         "statistics are not one of each row"),
        ("_adaptive_avg_pool3d_backward.default", [[8, 4, 3, 7], [8, 4, 0, 7]], (t(0), t(1)),
         "of no elements"),
        ("avg_pool3d_backward.default", [[1, 2, 5, 5, 5], [2, 2, 4, 4, 4]],
         (t(0), t(1), ints(2, 2, 2), ints(1, 1, 1), ints(1, 1, 1), True, False, 2),
         "of other channels"),
        ("replication_pad1d_backward.default", [[1, 3, 6], [2, 3, 3]], (t(0), t(1), ints(1, 2)),
         "its gradient is not of shape"),
        ("replication_pad2d_backward.default", [[5, 1, 4, 5], [5, 3, 4, 4]],
         (t(0), t(1), ints(-4, 5, 0, 0)), "its gradient is not of shape"),
        ("_fft_c2r.default", [[5, 6, 7]], (t(0), ints(-2), 0, 13), "do not make 13 elements"),
        ("_fft_r2c.default", [[5, 6, 7]], (t(0), ints(), 0, True), "has no dim"),
        ("embedding_dense_backward.default", [[5, 8, 2], [3, 4]], (t(0), t(1), 64, 1, False),
         "other rows than indices"),
        ("special_chebyshev_polynomial_t.n_scalar", [[4]], (t(0), 2**40), "degree is above 1000"),
        ("_weight_norm_interface.default", [[4, 3], [3, 1]], (t(0), t(1), 0), "norms are not of"),
        ("_weight_norm_interface.default", [[4, 3, 2], [1, 3, 1]], (t(0), t(1), 1), "its dim is"),
        ("_weight_norm_interface.default", [[0, 3], [0, 1]], (t(0), t(1)), "its dim is unusable"),
        ("_weight_norm_interface_backward.default", [[4, 3], [4, 1], [3, 1]],
         (t(0), t(0), t(1), t(2), 0), "norms are not of"),
        ("_weight_norm_interface_backward.default", [[4, 3], [4, 1], [4]],
         (t(2), t(0), t(1), t(1), 0), "its gradient is of another shape"),
        ("_pdist_forward.default", [[5, 2, 0]], (t(0), 2.0), "distances of no matrix"),
        ("_cdist_backward.default", [[3, 2], [4, 2], [3, 4], [4, 3]],
         (t(3), t(0), t(1), 2.0, t(2)), "its distances are of another shape"),
        ("_cdist_backward.default", [[3, 2], [4, 3], [3, 4]],
         (t(2), t(0), t(1), 2.0, t(2)), "its matrices do not fit"),
        ("upsample_bilinear2d.default", [[1, 2, 1, 1]], (t(0), ints(3, 7), False, 1e-30, 1.0),
         "its scale is out of range"),
        ("upsample_linear1d.vec", [[1, 2, 1]], (t(0), None, False, {"list": [1e-30]}),
         "its scale is out of range"),
        ("upsample_nearest1d.default", [[1, 2, 1]], (t(0), ints(3), {"float": "nan"}),
         "its scale is out of range"),
        ("lstm.input", LSTM_SHAPES, (*LSTM[:2], {"list": []}, *LSTM[3:]), "weight has another"),
        ("lstm.input", LSTM_SHAPES, (t(0), {"list": [t(1)]}, *LSTM[2:]), "number of states"),
        ("lstm.input", LSTM_SHAPES, (*LSTM[:4], 2**40, *LSTM[5:]), "layers"),
        ("lstm.input", [[5, 2, 3], [1, 2, 9], [1, 2, 4], [16, 3], [16, 4]], LSTM,
         "weight has another"),
    ],
)  # fmt: skip
def test_arguments_without_sense_are_refused(
    name: str, shapes: list[list[int]], args: tuple[Any, ...], what: str
) -> None:
    with pytest.raises(InvalidTape, match=what):
        read(name, shapes, *args)


def test_arguments_are_not_hidden_by_their_names() -> None:
    """torch writes running statistics of any size, by the number of channels."""
    maker, output = with_shapes("native_batch_norm.default", [[2, 64], [1]], t(0), None, None)
    maker.ops[-1]["k"] = {"running_mean": t(1), "running_var": t(1), "training": True}
    with pytest.raises(InvalidTape, match="its arguments have names"):
        read_tape(json.dumps(maker.json([0, 1], [output], [], [])).encode())


def test_norms_that_share_memory_are_refused() -> None:
    """torch allocates what they need together, and writes one after the other."""
    maker, output = with_shapes("_weight_norm_interface.default", [[4, 3], [4, 1]], t(0), t(1))
    maker.tensors[1][3] = [0, 1]
    with pytest.raises(InvalidTape, match="one behind the other"):
        read_tape(json.dumps(maker.json([0, 1], [output], [], [])).encode())


def test_arguments_that_fit_are_not() -> None:
    read("lstm.input", LSTM_SHAPES, *LSTM)
    read("_fft_c2c.default", [[4, 8]], t(0), ints(0, -1), 2, True)
    read("_weight_norm_interface.default", [[4, 3], [4, 1]], t(0), t(1))
    read("upsample_linear1d.vec", [[1, 2, 1]], t(0), None, False, {"list": [2.0]})
    read("_cdist_backward.default", [[3, 2], [4, 2], [3, 4]], t(2), t(0), t(1), 2.0, t(2))
    read("native_group_norm.default", [[2, 4]], t(0), None, None, 2, 4, 1, 2, 1e-5)
