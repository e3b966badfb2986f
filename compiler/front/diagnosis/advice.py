"""Advice for errors by their message alone: patterns, first match wins."""

ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"'(?:append|extend|insert|pop|remove)' is not in list",
        "A list in a kernel is a compile-time tuple: it cannot be appended to or changed.",
    ),
    (
        r"Return type mismatch|Inconsistent return types",
        "Every return of a jit function must give the same type: convert with `.to(...)`.",
    ),
    (
        r"incompatible dimensions|Cannot broadcast|rank mismatch",
        "Sizes that meet must be equal or 1: add dimensions with [:, None] and [None, "
        ":], or load equal blocks.",
    ),
    (
        r"`return` statements inside",
        "A loop cannot be left early: use `while` with a condition, or mask the rest "
        "of the loop's body.",
    ),
    (
        r"Boolean value of Tensor with more than one value",
        "An `if` decides once per program, not per element: choose elements with "
        "tl.where(condition, a, b) or mask the loads and stores.",
    ),
    (
        r"input and other must have equal ranks|Both inputs must be either 2D or 3D|"
        r"dot operands must be block",
        "tl.dot multiplies blocks of two or three dimensions; for vectors write tl.sum(a * b).",
    ),
    (
        r"Both operands must be same dtype",
        "Convert one operand of tl.dot, such as `b.to(a.dtype)`.",
    ),
    (
        r"Unsupported (?:lhs|rhs) dtype fp8",
        "tl.dot multiplies fp8 only by fp8: convert the other operand to an fp8 type, or this one, "
        "such as a.to(tl.float16).",
    ),
    (
        r"Unsupported (?:lhs|rhs) dtype",
        "tl.dot takes int8, fp16, bf16, fp32 and fp64, or two operands of fp8: convert its "
        "operands, such as a.to(tl.float16).",
    ),
    (
        r"Expected dtype \[.*'fp\d+'.*\] but got",
        "This function takes fp32 and fp64 only: convert with .to(tl.float32).",
    ),
    (
        r"non-constexpr conversion values",
        "An f-string is made at compile time, of tl.constexpr values. To see a value of the "
        'running kernel write tl.device_print("name: ", value).',
    ),
    (
        r"only tuple comprehensions are supported",
        "A comprehension runs over a tuple only: write the elements one by one, or a loop over "
        "tl.static_range(...).",
    ),
    (
        r"Ternary expression with dynamic condition",
        "`a if condition else b` decides once per program: for each element write "
        "tl.where(condition, a, b); for a scalar give both the same type.",
    ),
    (
        r"unsupported operand type\(s\) for \*\*",
        "Kernels have no `**` of tensors: write x * x, tl.exp2(p * tl.log2(x)), or libdevice.pow "
        "(`from triton.language.extra import libdevice`).",
    ),
    (
        r"NoneType",
        "Something here is None: a parameter that is null, a function without `return`, or a "
        "variable that was set to None.",
    ),
    (
        r"cannot unpack non-iterable|values to unpack",
        "The left side needs as many names as there are values on the right (tl.max and tl.min "
        "give two with return_indices=True).",
    ),
    (
        r"trans invoked with a 0- or 1-dim|permute dims must have the same length",
        "A tensor of one dimension has no transpose: add one with x[:, None] or x[None, :].",
    ),
    (
        r"end argument must be greater than the start|arange must fit in int32",
        "tl.arange(start, end) counts up from start to end - 1; both are constants from 0 on.",
    ),
    (
        r"axis must be 0, 1, or 2",
        "A grid has three dimensions at most: 0, 1 and 2. For more divide one with // and %.",
    ),
    (
        r"atomic_\w+ does not support|atomic_\w+ not supported for",
        "Use a buffer of another type for this: fp32, int32 and int64 have all atomic operations.",
    ),
    (
        r"index must be an integer tensor",
        "Convert the index with .to(tl.int32).",
    ),
    (
        r"expected \d+ offsets, but got|expected value shape",
        "A descriptor is given one offset for each dimension of its block, and values of its "
        "block's shape.",
    ),
    (
        r"at least 16 bytes in the last dimension",
        "Make the last side of the descriptor's block longer: 16 bytes are 4 fp32 or 8 fp16.",
    ),
    (
        r"Nonrepresentable integer",
        "Integers have 64 bits at most: write a float, such as 1e30, or compute in parts.",
    ),
    (
        r"wrong type argument to unary",
        "Conditions and integers have ~, numbers have -; convert with .to(...) first.",
    ),
    (
        r"(?:list|tuple) index out of range",
        "There are fewer items, counted from 0.",
    ),
    (
        r"expected, not constexpr|not 'constexpr'$",
        "A host function cannot take values of a kernel: call it outside of the kernel, and "
        "pass the result as a tl.constexpr.",
    ),
    (
        r"Mask must have boolean scalar type",
        "A mask is a condition: compare, such as mask != 0 or offsets < n.",
    ),
    (
        r"Input shapes should have M",
        "Use larger blocks: every side of a tl.dot must reach the sizes the message names.",
    ),
    (
        r"__setitem__ is not supported",
        "A tensor cannot be changed in place: use x = tl.where(mask, value, x), or "
        "tl.store to memory.",
    ),
    (
        r"unsupported tensor index",
        "A tensor is indexed with None and : only, which add dimensions. For a part of "
        "it use masks with tl.where, tl.reshape, tl.split or tl.gather.",
    ),
    (
        r"Cannot store to a constant pointer",
        'The parameter is a const pointer: leave out the k in its type ("*fp32" '
        'instead of "*kfp32") or tl.const.',
    ),
    (
        r"exceeds triton maximum tensor numel",
        "A block may have 1048576 elements at most: use smaller blocks and more programs.",
    ),
    (
        r"Mask argument cannot be block|Value argument cannot be block|"
        r"Other argument cannot be block",
        "The pointer is a single address: add the offsets of a block to it, such as ptr + offsets.",
    ),
    (
        r"`other` cannot be provided without `mask`",
        "Give tl.load a mask too, or leave out `other`.",
    ),
    (
        r"cannot reassign constexpr",
        "A tl.constexpr keeps its value: assign to another variable, or drop the "
        "tl.constexpr annotation.",
    ),
    (
        r"Loop carried variable (\w+) is not a triton value",
        "Start the variable as a tensor, such as tl.full((), 0, tl.int32).",
    ),
    (
        r"Only `range` and `static_range`",
        "Loop over range(...), tl.range(...) or tl.static_range(...).",
    ),
    (
        r"Did you forget to add @triton.jit",
        "A function that uses triton.language needs @triton.jit above it.",
    ),
    (
        r"Attribute assignment is not supported",
        "Assign to a plain variable instead.",
    ),
    (
        r"nested function definitions are not allowed",
        "Move the function to module level and put @triton.jit above it.",
    ),
    (
        r"expression could not be determined|could not be determined at compile-time",
        "Only tl.constexpr values are known at compile time; use tl.device_assert for "
        "run-time values.",
    ),
    (
        r"For loop bounds and step must all be ints",
        "Convert the bounds with .to(tl.int32), or use //.",
    ),
    (
        r"For (lower|upper) bound must be a scalar|For step must be a scalar",
        "A loop runs once for the whole block: its bounds must be single values, not tensors.",
    ),
    (
        r"has no form for arguments of type",
        "Functions of libdevice take floating-point numbers of one type: convert with "
        "x.to(tl.float32) or x.to(tl.float64).",
    ),
    (
        r"Cannot use /, #, or %|cannot add pointers together",
        "Check the types of both operands.",
    ),
    (
        r"maximum recursion depth exceeded|KeyError: '?[\w.]+__",
        "A jit function cannot call itself: use a loop.",
    ),
    (
        r"unsupported operand type\(s\) for",
        "Check that both operands are numbers or tensors.",
    ),
    (
        r"invalid function identifier",
        "Machine code knows ASCII names only: give the function one of letters, digits and _.",
    ),
)
