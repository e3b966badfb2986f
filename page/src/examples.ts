// The examples in the menu.

import type { ArgumentText, LaunchText, RequestText } from "./page_state";
import { STANDARD_TARGET } from "./targets";

export interface Example {
  title: string;
  request: RequestText;
  /** The launch that checks it. */
  launch: LaunchText;
}

/** The launch of an example: shapes of its arrays, the last one its output, or values, by parameter. */
interface Checked {
  arguments: Record<string, readonly number[] | number>;
  output: string;
  grid: string;
  reference: string;
}

const HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n";

function example(
  title: string,
  source: string,
  signature: Record<string, string>,
  constexprs: Record<string, string>,
  options: Record<string, string>,
  checked: Checked,
): Example {
  const request = { language: "python", source: HEAD + source, kernel: null, signature, constexprs, options, target: STANDARD_TARGET, triton: null } as const;
  return { title, request, launch: launchOf(signature, checked) };
}

function launchOf(signature: Record<string, string>, { arguments: given, output, grid, reference }: Checked): LaunchText {
  const texts = Object.entries(given).map(([name, value]): [string, ArgumentText] => {
    const dtype = /\w+/.exec(signature[name] ?? "")?.[0] ?? "fp32";
    const isOutput = name === output;
    if (typeof value === "number") return [name, { shape: "", dtype, init: "none", value: String(value), output: false }];
    return [name, { shape: value.join(", "), dtype, init: isOutput ? "none" : "normal", value: "", output: isOutput }];
  });
  return { grid, arguments: Object.fromEntries(texts), reference, cases: [] };
}

const P = "*fp32:16";

export const EXAMPLES: readonly Example[] = [
  example(
    "Vector add",
    `def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    # each program adds one block; the last one may reach past the end, so it is masked
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)
`,
    { x_ptr: P, y_ptr: P, output_ptr: P, n_elements: "i32:16" },
    { BLOCK_SIZE: "1024" },
    {},
    {
      arguments: { x_ptr: [4000], y_ptr: [4000], output_ptr: [4000], n_elements: 4000 },
      output: "output_ptr",
      grid: "cdiv(n_elements, BLOCK_SIZE)",
      reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n",
    },
  ),
  example(
    "Softmax",
    `def softmax_kernel(output_ptr, input_ptr, row_stride, n_columns, BLOCK_SIZE: tl.constexpr):
    # one program holds one row
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_columns
    # masked elements must not affect the maximum, and add exp(-inf) = 0 to the sum
    values = tl.load(input_ptr + row * row_stride + columns, mask=mask, other=-float("inf"))
    numerator = tl.exp(values - tl.max(values, axis=0))
    tl.store(output_ptr + row * row_stride + columns, numerator / tl.sum(numerator, axis=0), mask=mask)
`,
    { output_ptr: P, input_ptr: P, row_stride: "i32:16", n_columns: "i32:16" },
    { BLOCK_SIZE: "128" },
    {},
    {
      arguments: { output_ptr: [32, 112], input_ptr: [32, 112], row_stride: 112, n_columns: 112 },
      output: "output_ptr",
      grid: "32",
      reference:
        "import numpy as np\n\n\ndef reference(input_ptr, **_):\n" +
        "    e = np.exp(input_ptr - input_ptr.max(1, keepdims=True))\n" +
        "    return e / e.sum(1, keepdims=True)\n",
    },
  ),
  example(
    "Matrix multiplication",
    `def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = inner[None, :] + start
        down = inner[:, None] + start
        a = tl.load(a_ptr + rows[:, None] * stride_am + left, mask=(rows[:, None] < M) & (left < K), other=0.0)
        b = tl.load(b_ptr + down * stride_bk + columns[None, :], mask=(down < K) & (columns[None, :] < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], accumulator.to(tl.float16), mask=inside)
`,
    { a_ptr: "*fp16:16", b_ptr: "*fp16:16", c_ptr: "*fp16:16", M: "i32:16", N: "i32:16", K: "i32:16", stride_am: "i32:16", stride_bk: "i32:16", stride_cm: "i32:16" },
    { BLOCK_M: "128", BLOCK_N: "128", BLOCK_K: "64" },
    { num_warps: "8" },
    {
      arguments: { a_ptr: [160, 96], b_ptr: [96, 144], c_ptr: [160, 144], M: 160, N: 144, K: 96, stride_am: 96, stride_bk: 144, stride_cm: 144 },
      output: "c_ptr",
      grid: "cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)",
      reference: "import numpy as np\n\n\ndef reference(a_ptr, b_ptr, **_):\n    return (a_ptr.astype(np.float32) @ b_ptr.astype(np.float32)).astype(np.float16)\n",
    },
  ),
  example(
    "Attention",
    `def attention_kernel(
    q_ptr, k_ptr, v_ptr, output_ptr, n_context, scale,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    # the softmax is kept up to date while keys and values pass by (online softmax)
    head = tl.program_id(1) * n_context * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    features = tl.arange(0, HEAD)
    q = tl.load(q_ptr + head + rows[:, None] * HEAD + features[None, :], mask=rows[:, None] < n_context, other=0.0)
    highest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    accumulator = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, n_context, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + head + columns[None, :] * HEAD + features[:, None], mask=columns[None, :] < n_context, other=0.0)
        scores = tl.where(columns[None, :] < n_context, tl.dot(q, k) * scale, -float("inf"))
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        correction = tl.exp(highest - new_highest)
        weights = tl.exp(scores - new_highest[:, None])
        total = total * correction + tl.sum(weights, 1)
        v = tl.load(v_ptr + head + columns[:, None] * HEAD + features[None, :], mask=columns[:, None] < n_context, other=0.0)
        accumulator = tl.dot(weights.to(tl.float16), v, accumulator * correction[:, None])
        highest = new_highest
    result = accumulator / total[:, None]
    tl.store(output_ptr + head + rows[:, None] * HEAD + features[None, :], result.to(tl.float16), mask=rows[:, None] < n_context)
`,
    { q_ptr: "*fp16:16", k_ptr: "*fp16:16", v_ptr: "*fp16:16", output_ptr: "*fp16:16", n_context: "i32:16", scale: "fp32" },
    { HEAD: "64", BLOCK_M: "64", BLOCK_N: "64" },
    {},
    {
      arguments: { q_ptr: [2, 112, 64], k_ptr: [2, 112, 64], v_ptr: [2, 112, 64], output_ptr: [2, 112, 64], n_context: 112, scale: 0.125 },
      output: "output_ptr",
      grid: "cdiv(n_context, BLOCK_M), 2",
      reference:
        "import numpy as np\n\n\ndef reference(q_ptr, k_ptr, v_ptr, scale, **_):\n" +
        "    q, k, v = (each.astype(np.float32) for each in (q_ptr, k_ptr, v_ptr))\n" +
        "    scores = scale * q @ k.transpose(0, 2, 1)\n" +
        "    weights = np.exp(scores - scores.max(2, keepdims=True))\n" +
        "    return (weights / weights.sum(2, keepdims=True) @ v).astype(np.float16)\n",
    },
  ),
];
