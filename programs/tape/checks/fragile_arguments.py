"""Checks arguments that torch does not check itself before it reads and writes memory.

torch's public wrappers check them, but a tape calls the overloads below. They were found by calling
every allowed overload with nonsense arguments of the right types: those that ended the process are
checked here, or no longer allowed. Raises `NotDerivable`; only shapes are checked.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from programs.tape.checks.derived_outputs import Arguments, NotDerivable
from programs.tape.overload_effects import name_of
from programs.tape.schema import MAX_DEGREE, AtenOp, TensorMeta, TensorRef, Value, tensors_of

Tensors = Sequence[TensorMeta]
_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
_MAX_LAYERS = 1_000
_MIN_SCALE = 2**-20
_FLOATS = frozenset({"fp16", "bf16", "fp32", "fp64"})


def check_fragile(op: AtenOp, tensors: Tensors) -> None:
    """Raise `NotDerivable` for arguments that would crash or corrupt the process."""
    check = _CHECKS.get(name_of(op))
    if check is not None:
        _need(not op.kwargs, "its arguments have names, but a recorder passes them by position")
        check(Arguments(op), tensors)


def _need(is_right: bool, message: str) -> None:
    if not is_right:
        raise NotDerivable(message)


def _tensor(arguments: Arguments, position: int, tensors: Tensors) -> TensorMeta:
    value = arguments.any(position, "", None)
    if not isinstance(value, TensorRef):
        message = f"its argument {position} is not a tensor"
        raise NotDerivable(message)
    return tensors[value.id]


def _fourier(arguments: Arguments, tensors: Tensors) -> None:
    rank = len(_tensor(arguments, 0, tensors).shape)
    dims = arguments.integers(1, "dim")
    _need(all(-rank <= dim < rank for dim in dims), f"its dim {list(dims)} is not below {rank}")
    _need(len({dim % max(rank, 1) for dim in dims}) == len(dims), "its dim names one twice")
    _need(arguments.integer(2, "normalization") in (0, 1, 2), "its normalization is unknown")
    if name_of(arguments.op) == "_fft_c2c":
        return
    shape = _tensor(arguments, 0, tensors).shape
    _need(bool(dims), "it has no dim")
    size = arguments.any(3, "last_dim_size", None)
    if name_of(arguments.op) == "_fft_c2r" and isinstance(size, int):
        has = shape[dims[-1]]
        _need(0 < size <= 2 * (has - 1) + 1, f"{has} frequencies do not make {size} elements")


def _softmax_gradient(arguments: Arguments, tensors: Tensors) -> None:
    gradient, output = _tensor(arguments, 0, tensors), _tensor(arguments, 1, tensors)
    _need(gradient.shape == output.shape, "its gradient and output have different shapes")
    rank = max(len(output.shape), 1)
    _need(-rank <= arguments.integer(2, "dim") < rank, "it has no such dim")


def _batch_norm(arguments: Arguments, tensors: Tensors) -> None:
    is_always_evaluating = name_of(arguments.op) == "_native_batch_norm_legit_no_training"
    trains = not is_always_evaluating and arguments.any(5, "training", None)
    _need(isinstance(trains, bool), "its training is neither true nor false")
    _channels(arguments, tensors, 0, range(1, 5))
    has_statistics = all(isinstance(arguments.any(at, "", None), TensorRef) for at in (3, 4))
    _need(trains is True or has_statistics, "without statistics it has to train")


def _batch_norm_gradient(arguments: Arguments, tensors: Tensors) -> None:
    trains = arguments.any(7, "train", None)
    _channels(arguments, tensors, 1, (2, 5, 6) if trains else range(2, 5))
    gradient, data = _tensor(arguments, 0, tensors).shape, _tensor(arguments, 1, tensors).shape
    _need(gradient == data and 0 not in data, "its gradient is of another shape, or of none")
    used = (5, 6) if trains else (3, 4)
    are_there = all(isinstance(arguments.any(at, "", None), TensorRef) for at in used)
    _need(isinstance(trains, bool) and are_there, "it has no statistics")


def _channels(arguments: Arguments, tensors: Tensors, of: int, positions: Iterable[int]) -> None:
    shape = _tensor(arguments, of, tensors).shape
    _need(len(shape) > 1, "its input has fewer than two dimensions")
    for position in positions:
        if isinstance(arguments.any(position, "", None), TensorRef):
            has_each = _tensor(arguments, position, tensors).shape == (shape[1],)
            _need(has_each, f"its argument {position} does not have {shape[1]} elements")


def _batch_norm_without_statistics(arguments: Arguments, tensors: Tensors) -> None:
    _need(arguments.any(3, "training", None) is True, "without statistics it has to train")
    _channels(arguments, tensors, 0, (1, 2))


def _legit_batch_norm(arguments: Arguments, tensors: Tensors) -> None:
    is_without = arguments.op.op.endswith(".no_stats")
    (_batch_norm_without_statistics if is_without else _batch_norm)(arguments, tensors)


def _layer_norm_gradient(arguments: Arguments, tensors: Tensors) -> None:
    gradient, data = _tensor(arguments, 0, tensors).shape, _tensor(arguments, 1, tensors).shape
    normalized = arguments.integers(2, "normalized_shape")
    rows = len(data) - len(normalized)
    _need(gradient == data, "its gradient is of another shape than its input")
    _need(bool(normalized) and data[max(rows, 0) :] == normalized, "it normalizes another shape")
    for position in (3, 4):
        elements = math.prod(_tensor(arguments, position, tensors).shape)
        _need(elements == math.prod(data[:rows]), "its statistics are not one of each row")
    for position in (5, 6):
        if isinstance(arguments.any(position, "", None), TensorRef):
            shape = _tensor(arguments, position, tensors).shape
            _need(shape == normalized, "its weight or bias has another shape than it normalizes")


def _group_norm(arguments: Arguments, tensors: Tensors) -> None:
    elements = math.prod(_tensor(arguments, 0, tensors).shape)
    batch, channels, rest, groups = (
        arguments.integer(position, name)
        for position, name in enumerate(("N", "C", "HxW", "group"), 3)
    )
    _need(min(batch, channels, rest) >= 0, "a size is negative")
    _need(batch * channels * rest == elements, f"its sizes do not make {elements} elements")
    _need(groups > 0 and channels % groups == 0, f"{channels} channels are no {groups} groups")


def _adaptive_pool_gradient(arguments: Arguments, tensors: Tensors) -> None:
    gradient, data = _tensor(arguments, 0, tensors).shape, _tensor(arguments, 1, tensors).shape
    sizes = 3 if "3d" in arguments.op.op else 2
    _need(len(gradient) == len(data) > sizes, "its gradient has another rank than its input")
    _need(gradient[:-sizes] == data[:-sizes], "its gradient is of other channels")
    _need(0 not in (*gradient, *data), "its gradient or its input is of no elements")


def _average_pool_gradient(arguments: Arguments, tensors: Tensors) -> None:
    gradient, data = _tensor(arguments, 0, tensors).shape, _tensor(arguments, 1, tensors).shape
    sizes = 3 if "3d" in arguments.op.op else 2
    _need(len(gradient) == len(data) > sizes, "its gradient has another rank than its input")
    _need(gradient[:-sizes] == data[:-sizes], "its gradient is of other channels")


def _padding_gradient(arguments: Arguments, tensors: Tensors) -> None:
    gradient, data = _tensor(arguments, 0, tensors).shape, _tensor(arguments, 1, tensors).shape
    padding = arguments.integers(2, "padding")
    sizes = 2 if "2d" in arguments.op.op else 1
    _need(len(padding) == 2 * sizes, f"its padding is not {2 * sizes} numbers")
    _need(len(data) in (sizes + 1, sizes + 2), f"its input has {len(data)} dimensions")
    padded = list(data)
    for at in range(sizes):
        padded[-1 - at] += sum(padding[2 * at : 2 * at + 2])
    _need(0 not in data and min(padded) > 0, "its gradient or its input is of no elements")
    _need(gradient == tuple(padded), f"its gradient is not of shape {padded}")


def _embedding_gradient(arguments: Arguments, tensors: Tensors) -> None:
    gradient, indices = _tensor(arguments, 0, tensors).shape, _tensor(arguments, 1, tensors).shape
    _need(gradient[:-1] == indices and bool(gradient), "its gradient has other rows than indices")
    _need(arguments.any(4, "scale_grad_by_freq", None) is False, "it scales by frequency")


def _weight_norm(arguments: Arguments, tensors: Tensors) -> None:
    """Check the weight, and a norm for each of its rows, or of its columns."""
    is_gradient = name_of(arguments.op).endswith("_backward")
    weight = _tensor(arguments, 1 if is_gradient else 0, tensors)
    norms = [_tensor(arguments, at, tensors) for at in ((2, 3) if is_gradient else (1,))]
    dim, rank = arguments.integer(4 if is_gradient else 2, "dim", 0), len(weight.shape)
    _need(rank > 0 and dim in (0, rank - 1) and 0 not in weight.shape, "its dim is unusable")
    expected = tuple([size if at == dim else 1 for at, size in enumerate(weight.shape)])
    _need(all(norm.shape == expected for norm in norms), f"its norms are not of shape {expected}")
    dense = all(norm.strides[dim] == 1 or norm.shape[dim] == 1 for norm in norms)
    _need(dense, "its norms do not lie one behind the other")
    if is_gradient:
        gradient = _tensor(arguments, 0, tensors)
        _need(gradient.shape == weight.shape, "its gradient is of another shape")
    else:
        _need(norms[0].dtype == weight.dtype, "its norms are of another element type")


def _rows_in_pairs(arguments: Arguments, tensors: Tensors) -> None:
    _need(len(_tensor(arguments, 0, tensors).shape) == 2, "it takes distances of no matrix")


def _distance_gradient(arguments: Arguments, tensors: Tensors) -> None:
    gradient, distances = (_tensor(arguments, at, tensors).shape for at in (0, 4))
    left, right = (_tensor(arguments, at, tensors).shape for at in (1, 2))
    _need(len(left) > 1 and len(right) == len(left), "it has no two matrices")
    _need(left[:-2] == right[:-2] and left[-1] == right[-1], "its matrices do not fit")
    _need(gradient == distances == (*left[:-1], right[-2]), "its distances are of another shape")


def _polynomial(arguments: Arguments, _tensors: Tensors) -> None:
    degree = arguments.any(1, "n", None)
    is_small = isinstance(degree, (int, float)) and degree <= MAX_DEGREE
    _need(is_small, f"its degree is above {MAX_DEGREE}")


def _recurrent(arguments: Arguments, tensors: Tensors) -> None:
    name = name_of(arguments.op)
    data = _tensor(arguments, 0, tensors)
    states = [tensors[id_] for id_ in tensors_of(arguments.any(1, "hx", None))]
    weights = [tensors[id_] for id_ in tensors_of(arguments.any(2, "params", None))]
    flags = [arguments.any(position, "", None) for position in (3, 6, 7, 8)]
    _need(all(isinstance(flag, bool) for flag in flags), "it is not of the form `input`")
    has_biases, _, two_ways, batch_first = flags
    layers = arguments.integer(4, "num_layers")
    _need(0 < layers <= _MAX_LAYERS, f"it has {layers} layers")
    _need(len(states) == (2 if name == "lstm" else 1), "it has another number of states")
    _need(
        all(len(tensor.shape) == 3 for tensor in (data, *states)),
        "input and states need three sizes",
    )
    everything = {tensor.dtype for tensor in (data, *states, *weights)}
    _need(
        len(everything) == 1 and everything <= _FLOATS,
        "its element types differ, or are not floats",
    )
    directions = layers * (2 if two_ways else 1)
    batch = data.shape[0 if batch_first else 1]
    _need(
        all(state.shape[:2] == (directions, batch) for state in states), "a state has another shape"
    )
    shapes = [weight.shape for weight in weights]
    hidden, out = states[-1].shape[2], states[0].shape[2]
    expected = _weight_shapes(name, data.shape[2], hidden, out, layers, bool(two_ways))
    _need(
        shapes == [s for s in expected if has_biases or len(s) == 2], "a weight has another shape"
    )


def _weight_shapes(
    name: str, size: int, hidden: int, out: int, layers: int, two_ways: bool
) -> list[tuple[int, ...]]:
    """Return the shapes of all weights and biases; `out` differs from `hidden` if projected."""
    rows = _GATES[name] * hidden
    shapes: list[tuple[int, ...]] = []
    for layer in range(layers):
        columns = size if layer == 0 else out * (2 if two_ways else 1)
        for _ in range(2 if two_ways else 1):
            shapes += [(rows, columns), (rows, out), (rows,), (rows,)]
            shapes += [(out, hidden)] if out != hidden else []
    return shapes


_RESIZING = (
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d",
    "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
)  # fmt: skip


def _scales(arguments: Arguments, _tensors: Tensors) -> None:
    """Check scales: torch divides by them and rounds to an index, however large that is."""
    scales = [scale for value in arguments.op.args[2:] for scale in _numbers(value)]
    _need(
        all(_MIN_SCALE <= scale <= 1 / _MIN_SCALE for scale in scales), "its scale is out of range"
    )


def _numbers(value: Value) -> list[float]:
    if isinstance(value, tuple):
        return [number for item in value for number in _numbers(item)]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return [value] if is_number else []  # type: ignore[list-item]


_CHECKS: Mapping[str, Callable[[Arguments, Tensors], None]] = {
    "_fft_c2c": _fourier, "_fft_c2r": _fourier, "_fft_r2c": _fourier,
    "_softmax_backward_data": _softmax_gradient, "_log_softmax_backward_data": _softmax_gradient,
    "batch_norm": _batch_norm, "native_batch_norm": _batch_norm,
    "native_batch_norm_backward": _batch_norm_gradient,
    "_native_batch_norm_legit": _legit_batch_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "native_layer_norm_backward": _layer_norm_gradient,
    "native_group_norm": _group_norm,
    "avg_pool2d_backward": _average_pool_gradient,
    "avg_pool3d_backward": _average_pool_gradient,
    "_adaptive_avg_pool2d_backward": _adaptive_pool_gradient,
    "_adaptive_avg_pool3d_backward": _adaptive_pool_gradient,
    "replication_pad1d_backward": _padding_gradient,
    "replication_pad2d_backward": _padding_gradient,
    "embedding_dense_backward": _embedding_gradient,
    "special_chebyshev_polynomial_t": _polynomial,
    "_weight_norm_interface": _weight_norm, "_weight_norm_interface_backward": _weight_norm,
    "_pdist_forward": _rows_in_pairs, "_cdist_backward": _distance_gradient,
    **dict.fromkeys(_RESIZING, _scales),
    "lstm": _recurrent, "gru": _recurrent, "rnn_tanh": _recurrent, "rnn_relu": _recurrent,
}  # fmt: skip
"""Checks by the op's name."""
