"""The ATen overloads that a tape may call, in families, each with its reason.

A new overload must read and write only its arguments (no files, sockets, processes or generator
states). Its arguments and outputs must bound its time and memory, and the shapes of its outputs
must follow from shapes. It must keep no memory. So these stay out: `from_file`, `set_`, `resize_`,
`record_stream`, `_local_scalar_dense`; sparse, quantized and nested tensors; and overloads whose
shapes depend on values (`nonzero`, `unique`, `masked_select`, `bincount`). If the time grows with
the *value* of an argument (polynomials), add a bound to `fragile_arguments`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["uninitialized", "constant", "random", "view", "metadata", "overwrite", "compute"]
"""The kind of an overload's outputs.

- `uninitialized`: new memory, nothing written; `constant`, `random`: new memory, or all of its
  first argument, written without reading tensor values;
- `view`: tensors over the storage of the first argument; `metadata`: the same in place;
- `overwrite`: all of the first argument, written from the others;
- `compute`: new tensors, computed from the arguments.
"""


@dataclass(frozen=True, slots=True)
class OverloadFamily:
    """Overloads that are allowed for the same reason and treated alike."""

    kind: Kind
    reason: str
    overloads: str
    elementwise: bool = False
    """The output has the shape of all tensor arguments broadcast together."""


FAMILIES = (
    OverloadFamily(
        "uninitialized",
        "allocations; the replay fills them with poison, so they show no earlier contents",
        "empty.memory_format empty_like.default empty_strided.default new_empty.default "
        "new_empty_strided.default",
    ),
    OverloadFamily(
        "constant",
        "allocations with values that follow from scalars",
        "zeros.default zeros_like.default new_zeros.default ones.default ones_like.default "
        "new_ones.default full.default full_like.default new_full.default eye.default eye.m "
        "arange.default arange.start arange.start_step linspace.default logspace.default "
        "scalar_tensor.default zero_.default fill_.Scalar tril_indices.default "
        "triu_indices.default",
    ),
    OverloadFamily(
        "compute",
        "windows, which follow from scalars; periodic ones are a part of one more element",
        "bartlett_window.default bartlett_window.periodic blackman_window.default "
        "blackman_window.periodic hamming_window.default hamming_window.periodic "
        "hamming_window.periodic_alpha hamming_window.periodic_alpha_beta hann_window.default "
        "hann_window.periodic kaiser_window.default kaiser_window.periodic kaiser_window.beta",
    ),
    OverloadFamily(
        "random",
        "draws from the generator that the replay seeds; their size is that of the output",
        "rand.default rand.generator rand_like.default randn.default randn.generator "
        "randn_like.default randint.default randint.low randint.generator randint.low_generator "
        "randint_like.default randint_like.low_dtype randperm.default randperm.generator "
        "normal_.default normal.float_float uniform_.default "
        "bernoulli_.float random_.default random_.from random_.to exponential_.default "
        "log_normal_.default geometric_.default cauchy_.default",
    ),
    OverloadFamily(
        "view",
        "other shapes of memory that is there; their bytes are checked against the storage's",
        "view.default view.dtype _unsafe_view.default _reshape_alias.default alias.default "
        "detach.default expand.default permute.default transpose.int t.default unsqueeze.default "
        "squeeze.default squeeze.dim squeeze.dims select.int slice.Tensor split.Tensor "
        "split_with_sizes.default unbind.int unfold.default diagonal.default as_strided.default "
        "view_as_real.default view_as_complex.default",
    ),
    OverloadFamily(
        "metadata",
        "the same, of a tensor in place: none of its values changes",
        "as_strided_.default squeeze_.default squeeze_.dim squeeze_.dims unsqueeze_.default "
        "transpose_.default t_.default detach_.default",
    ),
    OverloadFamily(
        "overwrite",
        "copies into memory that is there",
        "copy_.default fill_.Tensor",
    ),
    OverloadFamily(
        "compute",
        "arithmetic, comparisons and logic, element by element",
        "add.Scalar add.Tensor sub.Scalar sub.Tensor rsub.Scalar rsub.Tensor mul.Scalar "
        "mul.Tensor div.Scalar div.Tensor div.Scalar_mode div.Tensor_mode fmod.Scalar fmod.Tensor "
        "remainder.Scalar remainder.Tensor remainder.Scalar_Tensor pow.Scalar pow.Tensor_Scalar "
        "pow.Tensor_Tensor neg.default abs.default sign.default sgn.default reciprocal.default "
        "sqrt.default rsqrt.default ceil.default floor.default round.default round.decimals "
        "trunc.default frac.default maximum.default minimum.default fmax.default fmin.default "
        "clamp.default clamp.Tensor clamp_min.default clamp_min.Tensor clamp_max.default "
        "clamp_max.Tensor eq.Scalar eq.Tensor ne.Scalar ne.Tensor lt.Scalar lt.Tensor le.Scalar "
        "le.Tensor gt.Scalar gt.Tensor ge.Scalar ge.Tensor logical_and.default logical_or.default "
        "logical_xor.default logical_not.default bitwise_and.Scalar bitwise_and.Tensor "
        "bitwise_or.Scalar bitwise_or.Tensor bitwise_xor.Scalar bitwise_xor.Tensor "
        "bitwise_not.default bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar "
        "bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar __lshift__.Scalar "
        "__lshift__.Tensor __rshift__.Scalar __rshift__.Tensor isnan.default isinf.default "
        "isposinf.default isneginf.default nan_to_num.default signbit.default copysign.Tensor "
        "copysign.Scalar where.self masked_fill.Scalar masked_fill.Tensor lerp.Scalar lerp.Tensor "
        "addcmul.default addcdiv.default gcd.default lcm.default nextafter.default "
        "heaviside.default hypot.default floor_divide.default",
        elementwise=True,
    ),
    OverloadFamily(
        "compute",
        "functions of one number or two, element by element, by series of bounded length",
        "exp.default exp2.default expm1.default log.default log2.default log10.default "
        "log1p.default logaddexp.default logaddexp2.default xlogy.Tensor xlogy.Scalar_Other "
        "xlogy.Scalar_Self sin.default cos.default tan.default asin.default acos.default "
        "atan.default atan2.default sinh.default cosh.default tanh.default asinh.default "
        "acosh.default atanh.default sinc.default erf.default erfc.default erfinv.default "
        "lgamma.default digamma.default i0.default deg2rad.default rad2deg.default logit.default "
        "special_i0e.default special_i1.default special_i1e.default special_entr.default "
        "special_erfcx.default special_ndtri.default special_log_ndtr.default "
        "special_bessel_j0.default special_bessel_j1.default special_airy_ai.default "
        "special_bessel_y0.default special_bessel_y1.default special_modified_bessel_i0.default "
        "special_modified_bessel_i1.default special_modified_bessel_k0.default "
        "special_modified_bessel_k1.default special_scaled_modified_bessel_k0.default "
        "special_scaled_modified_bessel_k1.default special_spherical_bessel_j0.default "
        "special_xlog1py.default special_xlog1py.other_scalar special_xlog1py.self_scalar "
        "special_zeta.default special_zeta.other_scalar special_zeta.self_scalar "
        "igamma.default igammac.default frexp.Tensor "
        "polygamma.default special_chebyshev_polynomial_t.n_scalar "
        "angle.default conj_physical.default ldexp.Tensor",
        elementwise=True,
    ),
    OverloadFamily(
        "compute",
        "activations and their gradients, element by element",
        "relu.default relu6.default sigmoid.default silu.default gelu.default elu.default "
        "celu.default selu.default mish.default softplus.default softshrink.default "
        "hardshrink.default hardsigmoid.default hardswish.default hardtanh.default "
        "leaky_relu.default threshold.default log_sigmoid_forward.default _prelu_kernel.default "
        "threshold_backward.default sigmoid_backward.default tanh_backward.default "
        "silu_backward.default gelu_backward.default mish_backward.default elu_backward.default "
        "softplus_backward.default softshrink_backward.default hardshrink_backward.default "
        "hardsigmoid_backward.default hardswish_backward.default hardtanh_backward.default "
        "leaky_relu_backward.default log_sigmoid_backward.default glu.default "
        "glu_backward.default _prelu_kernel_backward.default logit_backward.default",
    ),
    OverloadFamily(
        "compute",
        "the same in place: the output is the first argument",
        "add_.Scalar add_.Tensor sub_.Scalar sub_.Tensor mul_.Scalar mul_.Tensor div_.Scalar "
        "div_.Tensor div_.Scalar_mode div_.Tensor_mode fmod_.Scalar fmod_.Tensor "
        "remainder_.Scalar remainder_.Tensor pow_.Scalar pow_.Tensor neg_.default abs_.default "
        "sign_.default reciprocal_.default sqrt_.default rsqrt_.default ceil_.default "
        "floor_.default round_.default trunc_.default frac_.default clamp_.default clamp_.Tensor "
        "clamp_min_.default clamp_min_.Tensor clamp_max_.default clamp_max_.Tensor eq_.Scalar "
        "eq_.Tensor ne_.Scalar ne_.Tensor lt_.Scalar lt_.Tensor le_.Scalar le_.Tensor gt_.Scalar "
        "gt_.Tensor ge_.Scalar ge_.Tensor logical_and_.default logical_or_.default "
        "logical_xor_.default logical_not_.default bitwise_and_.Scalar bitwise_and_.Tensor "
        "bitwise_or_.Scalar bitwise_or_.Tensor bitwise_xor_.Scalar bitwise_xor_.Tensor "
        "bitwise_not_.default nan_to_num_.default masked_fill_.Scalar masked_fill_.Tensor "
        "lerp_.Scalar lerp_.Tensor addcmul_.default addcdiv_.default exp_.default exp2_.default "
        "expm1_.default log_.default log2_.default log10_.default log1p_.default sin_.default "
        "cos_.default tan_.default tanh_.default atan_.default sinh_.default cosh_.default "
        "erf_.default erfc_.default erfinv_.default xlogy_.Tensor relu_.default "
        "sigmoid_.default silu_.default elu_.default celu_.default mish_.default "
        "hardsigmoid_.default hardswish_.default hardtanh_.default leaky_relu_.default "
        "threshold_.default tril_.default triu_.default cumsum_.default cumprod_.default "
        "floor_divide_.Tensor",
    ),
    OverloadFamily(
        "compute",
        "the same into a tensor given as `out`, whose shape the replay checks first",
        "add.out sub.out mul.out div.out exp.out log.out sqrt.out sigmoid.out tanh.out maximum.out "
        "minimum.out sum.IntList_out cat.out mm.out bmm.out addmm.out",
    ),
    OverloadFamily(
        "compute",
        "copies, in another type, device, order or shape",
        "clone.default _to_copy.default copy.default cat.default stack.default repeat.default "
        "flip.default roll.default tril.default triu.default constant_pad_nd.default "
        "reflection_pad1d.default reflection_pad2d.default reflection_pad3d.default "
        "replication_pad1d.default replication_pad2d.default replication_pad3d.default "
        "unsafe_split.Tensor unsafe_split_with_sizes.default diag_embed.default "
        "diagonal_copy.default pixel_shuffle.default pixel_unshuffle.default "
        "channel_shuffle.default im2col.default col2im.default rot90.default fill.Scalar "
        "fill.Tensor lift_fresh.default lift_fresh_copy.default complex.default polar.default "
        "repeat_interleave.self_int repeat_interleave.Tensor logspace.Tensor_Tensor "
        "select_backward.default slice_backward.default "
        "unfold_backward.default diagonal_backward.default "
        "replication_pad1d_backward.default "
        "replication_pad2d_backward.default view_copy.default expand_copy.default "
        "permute_copy.default block_diag.default",
    ),
    OverloadFamily(
        "compute",
        "reads and writes by index: torch checks each on the CPU; on a GPU a wrong one ends only "
        "the replay's own process",
        "index.Tensor index_select.default index_put.default index_put_.default "
        "_index_put_impl_.default _unsafe_index.Tensor _unsafe_index_put.default "
        "index_add.default index_add_.default index_copy.default index_copy_.default "
        "index_fill.int_Scalar index_fill_.int_Scalar gather.default gather_backward.default "
        "scatter.src scatter.value scatter_.src scatter_.value scatter_add.default "
        "scatter_add_.default scatter.reduce scatter.value_reduce scatter_.reduce "
        "scatter_.value_reduce scatter_reduce.two scatter_reduce_.two select_scatter.default "
        "slice_scatter.default diagonal_scatter.default embedding.default "
        "embedding_dense_backward.default embedding_renorm_.default take.default "
        "take_along_dim.default masked_scatter.default searchsorted.Tensor bucketize.Tensor "
        "isin.Tensor_Tensor isin.Tensor_Scalar isin.Scalar_Tensor put.default put_.default",
    ),
    OverloadFamily(
        "compute",
        "reductions, scans and sorts, whose outputs are no larger than their input",
        "sum.default sum.dim_IntList mean.default mean.dim prod.default prod.dim_int all.default "
        "all.dim all.dims any.default any.dim any.dims amax.default amin.default aminmax.default "
        "max.default max.dim min.default min.dim argmax.default argmin.default logsumexp.default "
        "std.correction var.correction std_mean.correction var_mean.correction var.dim std.dim "
        "norm.Scalar norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype linalg_vector_norm.default "
        "count_nonzero.default count_nonzero.dim_IntList nansum.default median.default median.dim "
        "mode.default kthvalue.default cumsum.default cumprod.default cummax.default "
        "cummin.default logcumsumexp.default sort.default sort.stable topk.default dist.default "
        "histc.default renorm.default nanmedian.default nanmedian.dim",
    ),
    OverloadFamily(
        "compute",
        "normalizations, softmax and dropout, with their gradients",
        "_softmax.default _softmax_backward_data.default _log_softmax.default "
        "_log_softmax_backward_data.default _safe_softmax.default batch_norm.default "
        "native_batch_norm.default native_batch_norm_backward.default "
        "_native_batch_norm_legit.default _native_batch_norm_legit.no_stats "
        "_native_batch_norm_legit_no_training.default native_layer_norm.default "
        "native_layer_norm_backward.default native_group_norm.default "
        "native_group_norm_backward.default _fused_rms_norm.default "
        "_fused_rms_norm_backward.default native_dropout.default native_dropout_backward.default "
        "bernoulli.default bernoulli.p multinomial.default normal.Tensor_Tensor "
        "normal.Tensor_float normal.float_Tensor _weight_norm_interface.default "
        "_weight_norm_interface_backward.default",
    ),
    OverloadFamily(
        "compute",
        "pooling, sampling and resizing: loops over windows that lie within their input",
        "avg_pool1d.default avg_pool2d.default avg_pool2d_backward.default avg_pool3d.default "
        "avg_pool3d_backward.default max_pool2d_with_indices.default "
        "max_pool2d_with_indices_backward.default max_pool3d_with_indices.default "
        "max_pool3d_with_indices_backward.default adaptive_avg_pool1d.default "
        "_adaptive_avg_pool2d.default _adaptive_avg_pool2d_backward.default "
        "_adaptive_avg_pool3d.default _adaptive_avg_pool3d_backward.default "
        "adaptive_max_pool2d.default adaptive_max_pool3d.default fractional_max_pool2d.default "
        "max_unpool2d.default grid_sampler_2d.default grid_sampler_3d.default "
        "affine_grid_generator.default upsample_nearest1d.default upsample_nearest1d.vec "
        "upsample_nearest2d.default upsample_nearest2d.vec upsample_nearest3d.default "
        "upsample_nearest3d.vec _upsample_nearest_exact1d.default _upsample_nearest_exact1d.vec "
        "_upsample_nearest_exact2d.default _upsample_nearest_exact2d.vec "
        "_upsample_nearest_exact3d.default _upsample_nearest_exact3d.vec "
        "upsample_bilinear2d.default upsample_bilinear2d.vec "
        "upsample_bicubic2d.default upsample_bicubic2d.vec upsample_linear1d.default "
        "upsample_linear1d.vec upsample_trilinear3d.default upsample_trilinear3d.vec",
    ),
    OverloadFamily(
        "compute",
        "losses and their gradients",
        "mse_loss.default mse_loss_backward.default smooth_l1_loss.default "
        "smooth_l1_loss_backward.default huber_loss.default huber_loss_backward.default "
        "binary_cross_entropy.default binary_cross_entropy_backward.default "
        "binary_cross_entropy_with_logits.default nll_loss_forward.default "
        "nll_loss_backward.default nll_loss2d_forward.default nll_loss2d_backward.default "
        "soft_margin_loss.default multi_margin_loss.default multilabel_margin_loss_forward.default "
        "_cdist_forward.default _cdist_backward.default _euclidean_dist.default "
        "_pdist_forward.default",
    ),
    OverloadFamily(
        "compute",
        "linear algebra and Fourier transforms of small matrices, by LAPACK and pocketfft; never "
        "ops that take pivots, which LAPACK uses as indices without a check",
        "cholesky.default cholesky_solve.default linalg_cholesky_ex.default linalg_eig.default "
        "_linalg_eigh.default _linalg_det.default _linalg_slogdet.default "
        "_linalg_solve_ex.default _linalg_svd.default linalg_ldl_factor_ex.default "
        "linalg_lu.default linalg_lu_factor_ex.default linalg_qr.default linalg_inv_ex.default "
        "linalg_solve_triangular.default triangular_solve.default trace.default "
        "linalg_pinv.atol_rtol_tensor linalg_matrix_exp.default cholesky_inverse.default "
        "linalg_cross.default _fft_c2c.default _fft_c2r.default _fft_r2c.default",
    ),
    OverloadFamily(
        "compute",
        "checks of values: they return nothing, and the replay ends with the error that torch "
        "raises",
        "_assert_async.default _assert_async.msg _linalg_check_errors.default",
    ),
    OverloadFamily(
        "compute",
        "matrix products",
        "mm.default bmm.default addmm.default baddbmm.default mv.default addmv.default "
        "dot.default vdot.default addbmm.default addr.default _int_mm.default "
        "addmm_.default baddbmm_.default _addmm_activation.default _trilinear.default",
    ),
    OverloadFamily(
        "compute",
        "convolutions",
        "convolution.default convolution_backward.default",
    ),
    OverloadFamily(
        "compute",
        "attention, as one op if no gradient is needed, so that each device picks its kernel",
        "scaled_dot_product_attention.default",
    ),
    OverloadFamily(
        "compute",
        "recurrent networks, also as one op, and their cells",
        "lstm.input gru.input rnn_tanh.input rnn_relu.input lstm_cell.default gru_cell.default "
        "rnn_tanh_cell.default rnn_relu_cell.default _thnn_fused_lstm_cell.default "
        "_thnn_fused_lstm_cell_backward_impl.default _thnn_fused_gru_cell.default "
        "_thnn_fused_gru_cell_backward.default",
    ),
)

VALUE_CHECKS = frozenset(
    {"aten._assert_async.default", "aten._assert_async.msg", "aten._linalg_check_errors.default"}
)
"""Overloads without results that raise an error for some values."""

ALLOWED: Mapping[str, OverloadFamily] = {
    f"aten.{name}": family for family in FAMILIES for name in family.overloads.split()
}
"""The family of each overload, by its full name."""
