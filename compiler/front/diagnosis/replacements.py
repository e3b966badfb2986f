"""Replacements for names that triton.language does not have, or no longer has.

They are those that people bring from torch, NumPy, CUDA and Python (`x` is their tensor), and those
of old kernels. What every release from 3.6 on lacks is looked for in libdevice; what some still
have is named with those releases, so that a request may choose one.
"""

from triton.language.extra import libdevice

DESCRIPTORS = (
    "make a tensor descriptor (tl.make_tensor_descriptor) and use its .load(offsets) and "
    ".store(offsets, value)"
)
BLOCK_POINTERS = (
    "Block pointers were removed in Triton 3.9; the kernel compiles on 3.6 to 3.8 "
    '("triton" in the request names one, where it is offered). On 3.9, '
    f"{DESCRIPTORS}, or use plain pointers with masks."
)
_OF_BLOCK_POINTERS = frozenset({"advance", "make_block_ptr", "boundary_check", "padding_option"})
_NEWER = {
    "aggregate_replace": "3.8", "atomic_load": "3.9", "atomic_poll": "3.9", "atomic_store": "3.9",
    "expect_zero": "3.8", "squeeze": "3.7", "to_tensor": "3.7", "unsqueeze": "3.7",
}  # fmt: skip
_IMPORT_LIBDEVICE = "`from triton.language.extra import libdevice`"


def advice(name: str) -> str | None:
    """Return where `name` of triton.language is to be had, `None` for a name that never was."""
    if name in _OF_BLOCK_POINTERS:
        return BLOCK_POINTERS
    if "experimental_descriptor" in name or "experimental_make_tensor_descriptor" in name:
        return f"This was replaced before Triton 3.6: {DESCRIPTORS}."
    if name == "libdevice":
        return f"libdevice moved: {_IMPORT_LIBDEVICE}, and call libdevice.<function>."
    if name in _NEWER:
        return f"tl.{name} is there from Triton {_NEWER[name]} on."
    if callable(getattr(libdevice, name, None)):
        return f"It is in libdevice: {_IMPORT_LIBDEVICE}, and call libdevice.{name}."
    return None


_POINTER = "A pointer knows no sizes: pass them as parameters of the kernel."
_DTYPES = {
    "float": "float32", "half": "float16", "double": "float64", "bool": "int1", "boolean": "int1",
    "int": "int32", "short": "int16", "long": "int64", "char": "int8", "byte": "uint8",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "f32": "float32",
    "f16": "float16", "f64": "float64", "i1": "int1", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "fp8": "float8e4nv", "float8": "float8e4nv", "float8_e4m3fn": "float8e4nv",
    "float8_e5m2": "float8e5", "fp8e4nv": "float8e4nv", "fp8e5": "float8e5",
}  # fmt: skip
_CALLS = {
    "relu": "tl.maximum(x, 0.0)",
    "relu_": "tl.maximum(x, 0.0)",
    "leaky_relu": "tl.where(x > 0, x, slope * x)",
    "gelu": "0.5 * x * (1.0 + tl.erf(x * 0.70710678))",
    "silu": "x * tl.sigmoid(x)",
    "swish": "x * tl.sigmoid(x)",
    "elu": "tl.where(x > 0, x, tl.exp(x) - 1.0)",
    "softplus": "tl.log(1.0 + tl.exp(x))",
    "log_softmax": "tl.log(tl.softmax(x))",
    "mean": "tl.sum(x, axis) / N",
    "var": "tl.sum((x - mean) * (x - mean), axis) / N",
    "std": "tl.sqrt(variance)",
    "norm": "tl.sqrt(tl.sum(x * x, axis))",
    "prod": "tl.reduce(x, axis, multiply), with a jit function that multiplies",
    "cumprod": "tl.cumprod(x, axis)",
    "amax": "tl.max(x, axis)",
    "amin": "tl.min(x, axis)",
    "any": "tl.max(condition.to(tl.int32), axis) != 0",
    "all": "tl.min(condition.to(tl.int32), axis) != 0",
    "matmul": "tl.dot(a, b)",
    "mm": "tl.dot(a, b)",
    "bmm": "tl.dot(a, b)",
    "einsum": "tl.dot(a, b), or tl.sum(a * b, axis)",
    "inner": "tl.sum(a * b)",
    "outer": "a[:, None] * b[None, :]",
    "transpose": "tl.trans(x)",
    "concat": "tl.cat(a, b), or tl.join(a, b)",
    "concatenate": "tl.cat(a, b), or tl.join(a, b)",
    "stack": "tl.join(a, b)",
    "chunk": "tl.split(x)",
    "tile": "tl.broadcast_to(x, shape)",
    "expand": "tl.broadcast_to(x, shape)",
    "repeat": "tl.broadcast_to(x, shape)",
    "ones": "tl.full(shape, 1.0, dtype)",
    "ones_like": "tl.full(x.shape, 1.0, x.dtype)",
    "full_like": "tl.full(x.shape, value, x.dtype)",
    "empty": "tl.zeros(shape, dtype)",
    "empty_like": "tl.zeros_like(x)",
    "eye": "(tl.arange(0, N)[:, None] == tl.arange(0, N)[None, :]).to(dtype)",
    "linspace": "start + step * tl.arange(0, N)",
    "clip": "tl.clamp(x, low, high)",
    "square": "x * x",
    "pow": "x * x, tl.exp2(p * tl.log2(x)), or libdevice.pow from triton.language.extra",
    "power": "x * x, tl.exp2(p * tl.log2(x)), or libdevice.pow from triton.language.extra",
    "reciprocal": "1.0 / x",
    "neg": "-x",
    "sign": "tl.where(x > 0, 1, tl.where(x < 0, -1, 0))",
    "absolute": "tl.abs(x)",
    "fabs": "tl.abs(x)",
    "mod": "x % y",
    "remainder": "x % y",
    "floor_divide": "x // y",
    "isnan": "x != x",
    "logical_and": "a & b",
    "logical_or": "a | b",
    "logical_not": "a == 0, or ~mask",
    "masked_fill": "tl.where(mask, value, x)",
    "masked_load": "tl.load(pointer, mask=mask, other=0.0)",
    "masked_store": "tl.store(pointer, value, mask=mask)",
    "inf": 'float("inf")',
    "nan": 'float("nan")',
    "pi": "3.141592653589793",
    "block_id": "tl.program_id(0)",
    "blockIdx": "tl.program_id(0)",
    "pid": "tl.program_id(0)",
    "get_program_id": "tl.program_id(0)",
    "grid_dim": "tl.num_programs(0)",
    "gridDim": "tl.num_programs(0)",
    "num_blocks": "tl.num_programs(0)",
    "syncthreads": "tl.debug_barrier(), which is seldom needed",
    "barrier": "tl.debug_barrier(), which is seldom needed",
    "sync": "tl.debug_barrier(), which is seldom needed",
    "print": "tl.device_print(text, x), or tl.static_print at compile time",
    "printf": "tl.device_print(text, x)",
    "assume_aligned": "tl.multiple_of(x, 16)",
}
_WORDS = {
    "thread_id": "A program works on whole blocks: tl.arange(0, BLOCK) takes the place of threads.",
    "threadIdx": "A program works on whole blocks: tl.arange(0, BLOCK) takes the place of threads.",
    "shared_memory": "Shared memory is managed by Triton: load into a tensor and use that.",
    "shared": "Shared memory is managed by Triton: load into a tensor and use that.",
    "local_memory": "Registers are managed by Triton: a tensor is held in them.",
    "size": _POINTER,
    "stride": _POINTER,
    "data_ptr": 'A parameter with a type such as "*fp32" is the pointer itself: leave it out.',
    "contiguous": "Strides are the kernel's own arithmetic here: leave it out.",
    "clone": "A tensor in a kernel never changes: leave it out.",
    "detach": "There are no gradients in a kernel: leave it out.",
    "cuda": "A kernel's tensors are on the GPU already: leave it out.",
    "cpu": "A kernel runs on the GPU: store the tensor with tl.store and read it on the host.",
    "numpy": "A kernel runs on the GPU: store the tensor with tl.store and read it on the host.",
    "tolist": "A kernel runs on the GPU: store the tensor with tl.store and read it on the host.",
    "copy_": "A tensor cannot be changed in place: assign, or write with tl.store.",
    "fill_": "A tensor cannot be changed in place: x = tl.full(x.shape, value, x.dtype).",
    "zero_": "A tensor cannot be changed in place: x = tl.zeros_like(x).",
    "add_": "A tensor cannot be changed in place: x = x + y.",
    "mul_": "A tensor cannot be changed in place: x = x * y.",
    "softmax_": "A tensor cannot be changed in place: x = tl.softmax(x).",
    "manual_seed": "Random numbers are tl.rand(seed, offsets) and tl.randn(seed, offsets).",
    "random": "Random numbers are tl.rand(seed, offsets) and tl.randn(seed, offsets).",
    "format": "Strings are for tl.static_print and tl.device_print only.",
}  # fmt: skip


def of_name(name: str) -> str | None:
    """Return advice for `tl.<name>`, `None` for a name that nothing is known of."""
    if (dtype := _DTYPES.get(name)) is not None:
        return f"Did you mean tl.{dtype}?"
    return _advice(name)


def of_method(name: str) -> str | None:
    """Return advice for the method `name` of a tensor, `None` where nothing is known of it."""
    if (kind := dtype(name)) is not None:
        return f"Write .to(tl.{kind})."
    return _advice(name)


def dtype(name: str) -> str | None:
    """Return Triton's name of the dtype that others call `name` ("half", "torch.float16")."""
    last = name.rsplit(".", 1)[-1]
    if last in _DTYPES:
        return _DTYPES[last]
    return last if last in _DTYPES.values() else None


def _advice(name: str) -> str | None:
    if name in _CALLS:
        return f"Write {_CALLS[name]}."
    return _WORDS.get(name)
