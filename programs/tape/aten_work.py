"""Counts the elementary operations of an ATen op, from its shapes.

One operation is one result of an addition, a comparison, an exponential, ... of one or two
numbers. By default, an overload does one for each element of its largest tensor, so an unknown
name is never free. Views, and memory filled from scalars, are free. A copied element counts as a
sixteenth.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from programs.tape.overload_effects import argument_tensors, kind_of, name_of
from programs.tape.schema import AtenOp, TensorMeta, Value, tensors_of

COPIED = 1 / 16
"""The operations of an element that is copied, or converted to another dtype."""
_FREE_KINDS = frozenset({"uninitialized", "constant", "random", "view", "metadata"})


class _Shapes:
    """The shapes of an op's arguments and outputs."""

    def __init__(self, op: AtenOp, tensors: Sequence[TensorMeta]) -> None:
        self.op, self._tensors = op, tensors
        self.outputs = self._of(id_ for id_ in op.outputs if id_ is not None)
        self.given = self._of(argument_tensors(op))

    def _of(self, ids: Iterable[int]) -> list[tuple[int, ...]]:
        return [self._tensors[id_].shape for id_ in ids]

    def shapes_of(self, value: Value) -> list[tuple[int, ...]]:
        """Return the shapes of the tensors in an argument."""
        return self._of(tensors_of(value))

    def argument(self, position: int, name: str = "") -> Value:
        """Return an argument by position or name, None if it is not given."""
        args, kwargs = self.op.args, self.op.kwargs
        return args[position] if position < len(args) else kwargs.get(name)

    def shape(self, position: int, *names: str) -> tuple[int, ...]:
        """Return the shape of the tensor at a position or under one of these names, () if none."""
        args, kwargs = self.op.args, self.op.kwargs
        named = (kwargs[name] for name in names if name in kwargs)
        value = args[position] if position < len(args) else next(named, None)
        return next(iter(self.shapes_of(value)), ())

    @property
    def made(self) -> int:
        """The number of elements of the largest tensor that the op returns."""
        return max(map(math.prod, self.outputs), default=0)

    @property
    def largest(self) -> int:
        """The number of elements of the largest tensor that the op takes or returns."""
        return max(map(math.prod, (*self.given, *self.outputs)), default=0)

    def longest_axis(self, among: int) -> int:
        """Return the longest of the last `among` axes of all tensor arguments."""
        return max((size for shape in self.given for size in shape[-among:]), default=1)


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the broadcast shape; (0,) if the shapes do not broadcast."""
    rank = max(map(len, shapes), default=0)
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    axes = [set(sizes) - {1} for sizes in zip(*aligned, strict=True)]
    if any(len(sizes) > 1 for sizes in axes):
        return (0,)
    return tuple([sizes.pop() if sizes else 1 for sizes in axes])


def aten_work(op: AtenOp, tensors: Sequence[TensorMeta]) -> float:
    """Return the elementary operations of one call."""
    if kind_of(op) in _FREE_KINDS:
        return 0.0
    shapes = _Shapes(op, tensors)
    name = name_of(op)
    name = name if name in _RULES or name in _PER_ELEMENT else name.removesuffix("_")
    if name in _RULES:
        return float(_RULES[name](shapes))
    return float(shapes.largest * _PER_ELEMENT.get(name, 1))


def _product(first: int) -> Callable[[_Shapes], float]:
    """Return the rule of a product with factors from position `first`, after an addend if any."""

    def operations(shapes: _Shapes) -> float:
        names = ("mat1", "batch1", "mat") if first else ("self",)
        left = shapes.shape(first, *names)
        right = shapes.shape(first + 1, "mat2", "batch2", "vec", "tensor", "other")
        columns = right[-1] if len(right) > 1 and right else 1
        return 2 * math.prod(left) * columns + (shapes.made if first else 0)

    return operations


def _pairs(operations: int) -> Callable[[_Shapes], float]:
    """Return the rule of ops that broadcast two arguments, and may return a sum."""

    def of_pairs(shapes: _Shapes) -> float:
        return operations * max(shapes.largest, math.prod(_broadcast(shapes.given[:2])))

    return of_pairs


def _outer(shapes: _Shapes) -> float:
    return 2 * shapes.made


def _bilinear(shapes: _Shapes) -> float:
    """Count each row of the first factor times all weights, as in `nn.Bilinear`."""
    left, weights = shapes.shape(0, "i1"), shapes.shape(1, "i2")
    return 2 * math.prod(left[:-1]) * math.prod(weights) + 2 * shapes.made


def _convolution(shapes: _Shapes) -> float:
    transposed = shapes.argument(6, "transposed") is True
    places = math.prod(shapes.shape(0, "input")) if transposed else shapes.made
    return 2 * places * _filter(shapes.shape(1, "weight"))


def _convolution_backward(shapes: _Shapes) -> float:
    transposed = shapes.argument(7, "transposed") is True
    grad, given = shapes.shape(0, "grad_output"), shapes.shape(1, "input")
    return 4 * math.prod(given if transposed else grad) * _filter(shapes.shape(2, "weight"))


def _filter(weight: tuple[int, ...]) -> int:
    return math.prod(weight[1:])


def _attention(shapes: _Shapes) -> float:
    names = ("query", "key", "value")
    query, key, value = (shapes.shape(position, name) for position, name in enumerate(names))
    if min(map(len, (query, key, value))) < 2:
        return shapes.largest  # the replay refuses it
    batch = max(math.prod(one[:-2]) for one in (query, key, value))  # sizes of one are broadcast
    scores = batch * query[-2] * key[-2]
    return scores * (2 * query[-1] + 5 + 2 * value[-1])


def _recurrent(shapes: _Shapes) -> float:
    """Count a multiplication and an addition for each weight and row of the input."""
    rows = math.prod(shapes.shape(0, "input")[:-1])
    state = len(tensors_of(shapes.argument(1, "hx")))
    weights = [shape for shape in shapes.given[1 + state :] if len(shape) == 2]
    return max(shapes.largest, 2 * rows * sum(map(math.prod, weights)))


def _distances(shapes: _Shapes) -> float:
    left, right = shapes.shape(0, "x1"), shapes.shape(1, "x2")
    return 3 * math.prod(left) * (right[-2] if len(right) > 1 else 1)


def _gradients_of_distances(shapes: _Shapes) -> float:
    left, right = shapes.shape(1, "x1"), shapes.shape(2, "x2")
    return 3 * math.prod(left) * (right[-2] if len(right) > 1 else 1)


def _pairs_of_rows(shapes: _Shapes) -> float:
    """Count the distances between all pairs of rows of a matrix."""
    rows = shapes.shape(0, "self")
    return 3 * math.prod(rows) * (rows[0] if rows else 1) / 2


def _matrices(operations: float) -> Callable[[_Shapes], float]:
    """Return the rule of `operations` for each element, times the longer axis of the matrix."""

    def cubic(shapes: _Shapes) -> float:
        return operations * sum(map(math.prod, shapes.given)) * shapes.longest_axis(2)

    return cubic


def _sorted(shapes: _Shapes) -> float:
    return shapes.largest * max(1.0, math.log2(max(shapes.longest_axis(64), 1)))


def _selected(shapes: _Shapes) -> float:
    """Count a comparison for each element, and keeping the largest k in order."""
    number = shapes.argument(1, "k")
    kept = min(number, shapes.longest_axis(64)) if isinstance(number, int) else 1
    return shapes.largest * (1 + math.log2(max(kept, 1)))


def _transform(shapes: _Shapes) -> float:
    axes = shapes.argument(1, "dim")
    largest = max((*shapes.given, *shapes.outputs), key=math.prod, default=())
    sizes = [
        largest[axis]
        for axis in (axes if isinstance(axes, tuple) else ())
        if isinstance(axis, int) and -len(largest) <= axis < len(largest)
    ]
    return 5 * shapes.largest * max(1.0, math.log2(max(math.prod(sizes), 1)))


def _windows(shapes: _Shapes) -> float:
    """Count a window for each output; its size is the second argument."""
    window = shapes.argument(1, "kernel_size")
    sizes = [size for size in window if isinstance(size, int)] if isinstance(window, tuple) else []
    if len(sizes) == 1:  # the same along each axis
        sizes *= 3 if "3d" in shapes.op.op else 2 if "2d" in shapes.op.op else 1
    elements = math.prod([max(1, size) for size in sizes[:3]])
    return max(shapes.largest, shapes.made * min(elements, shapes.largest))


def _gathered(shapes: _Shapes) -> float:
    return shapes.made


def _put(shapes: _Shapes) -> float:
    """Count the places that the indices select, times the sizes of axes without an index."""
    whole, given = shapes.shape(0, "self"), shapes.argument(1, "indices")
    indices = given if isinstance(given, tuple) else ()
    axes = {axis for axis, index in enumerate(indices) if tensors_of(index)}
    places = _broadcast(shapes.shapes_of(indices))
    rest = [size for axis, size in enumerate(whole) if axis not in axes]
    return max(math.prod(places) * math.prod(rest), _scattered(shapes))


def _scattered(shapes: _Shapes) -> float:
    """Count the elements that are written into the first argument; copied ones do not count."""
    others = shapes.given[1:] or shapes.given
    return max(map(math.prod, others), default=0)


def _copied(shapes: _Shapes) -> float:
    return shapes.made * COPIED


def _free(_: _Shapes) -> float:
    return 0


def _targets(shapes: _Shapes) -> float:
    return math.prod(shapes.shape(1, "target"))


def _named(rule: Callable[[_Shapes], float], names: str) -> dict[str, Callable[[_Shapes], float]]:
    return dict.fromkeys(names.split(), rule)


_RULES: Mapping[str, Callable[[_Shapes], float]] = {
    **_named(_product(0), "mm bmm mv dot vdot _int_mm"),
    **_named(_product(1), "addmm baddbmm addbmm addmv _addmm_activation"),
    **_named(_outer, "addr"),
    **_named(_bilinear, "_trilinear"),
    **_named(_convolution, "convolution"),
    **_named(_convolution_backward, "convolution_backward"),
    **_named(_attention, "scaled_dot_product_attention"),
    **_named(_recurrent, "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell "
             "rnn_relu_cell"),
    **_named(_distances, "_cdist_forward _euclidean_dist"),
    **_named(_gradients_of_distances, "_cdist_backward"),
    **_named(_pairs_of_rows, "_pdist_forward"),
    **_named(_matrices(2), "cholesky cholesky_solve linalg_cholesky_ex _linalg_det "
             "_linalg_slogdet _linalg_solve_ex linalg_ldl_factor_ex linalg_lu "
             "linalg_lu_factor_ex linalg_qr linalg_inv_ex linalg_solve_triangular "
             "triangular_solve cholesky_inverse"),
    **_named(_matrices(10), "linalg_eig _linalg_eigh _linalg_svd linalg_pinv"),
    **_named(_matrices(20), "linalg_matrix_exp"),
    **_named(_sorted, "sort mode searchsorted bucketize isin"),
    **_named(_selected, "topk"),
    **_named(_transform, "_fft_c2c _fft_c2r _fft_r2c"),
    **_named(_windows, "avg_pool1d avg_pool2d avg_pool3d max_pool2d_with_indices "
             "max_pool3d_with_indices fractional_max_pool2d"),
    **_named(_gathered, "index index_select _unsafe_index gather take take_along_dim embedding "
             "cat stack repeat repeat_interleave flip roll rot90 constant_pad_nd"),
    **_named(_put, "index_put _index_put_impl_ _unsafe_index_put"),
    **_named(_scattered, "index_add index_copy put scatter scatter_add scatter_reduce "
             "select_scatter slice_scatter diagonal_scatter"),
    **_named(_copied, "clone _to_copy copy lift_fresh lift_fresh_copy view_copy expand_copy "
             "permute_copy diagonal_copy unsafe_split unsafe_split_with_sizes"),
    **_named(_free, "fill"),
    **_named(_pairs(3), "dist mse_loss"),
    **_named(_pairs(4), "smooth_l1_loss huber_loss soft_margin_loss"),
    **_named(_pairs(6), "binary_cross_entropy"),
    **_named(_pairs(8), "binary_cross_entropy_with_logits"),
    **_named(_targets, "nll_loss_forward nll_loss2d_forward"),
}  # fmt: skip


def _each(operations: int, names: str) -> dict[str, int]:
    return dict.fromkeys(names.split(), operations)


_PER_ELEMENT: Mapping[str, int] = {
    **_each(2, "lerp addcmul addcdiv hypot leaky_relu relu6 hardtanh native_dropout logaddexp "
            "logaddexp2 heaviside sinc logit mse_loss_backward special_entr"),
    **_each(3, "_weight_norm_interface std var std_mean var_mean _prelu_kernel hardshrink "
            "linalg_cross renorm kthvalue median nanmedian"),
    **_each(4, "sigmoid silu elu celu selu softplus softshrink hardsigmoid hardswish "
            "log_sigmoid_forward glu logsumexp logcumsumexp _fused_rms_norm "
            "sigmoid_backward tanh_backward silu_backward elu_backward "
            "softplus_backward softshrink_backward hardsigmoid_backward hardswish_backward "
            "log_sigmoid_backward glu_backward _prelu_kernel_backward logit_backward "
            "_native_batch_norm_legit_no_training upsample_linear1d"),
    **_each(5, "_softmax _log_softmax _safe_softmax _softmax_backward_data "
            "_log_softmax_backward_data mish"),
    **_each(6, "_weight_norm_interface_backward binary_cross_entropy_backward multi_margin_loss "
            "multilabel_margin_loss_forward smooth_l1_loss_backward huber_loss_backward "
            "affine_grid_generator"),
    **_each(8, "gelu gelu_backward mish_backward batch_norm native_batch_norm "
            "_native_batch_norm_legit native_layer_norm native_group_norm "
            "upsample_bilinear2d"),
    **_each(12, "native_batch_norm_backward native_layer_norm_backward native_group_norm_backward "
            "_fused_rms_norm_backward"),
    **_each(16, "grid_sampler_2d upsample_trilinear3d"),
    **_each(10, "_thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward_impl _thnn_fused_gru_cell "
            "_thnn_fused_gru_cell_backward"),
    **_each(32, "grid_sampler_3d upsample_bicubic2d"),
}  # fmt: skip
"""Operations per element, for ops with more than one: as many as the formula has."""
