// Lessons on kernels of models: layer norm and its gradient, flash attention, scans, autotuning.

import type { Lesson } from "./lesson";

const NUMPY = "import numpy as np\n\n\n";
const NORMAL =
  "def normal(x, epsilon):\n" +
  "    x = x.astype(np.float64)\n" +
  "    centred = x - x.mean(axis=1, keepdims=True)\n" +
  "    rstd = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon)\n" +
  "    return centred * rstd, rstd\n\n\n";

export const MODEL_LESSONS: readonly Lesson[] = [
  {
    kernel: "layer_norm",
    title: "Layer norm",
    text: [
      "Layer norm gives each row a mean of 0 and a variance of 1, then scales and shifts its columns by w and b. Nearly every transformer does this twice a layer.",
      "A row fits into one block here, so it is read once and all else happens in registers. The mean is `tl.sum(x, 0) / n_columns`: divide by the number of columns, not by the size of the block.",
      "The variance is the mean of the squares of `x - mean`. Beware of masked elements: they were loaded as 0, so `x - mean` is not 0 there. `tl.where(mask, x - mean, 0.0)` puts that right.",
      "`epsilon` keeps the root away from zero: the row is multiplied by `1 / tl.sqrt(variance + epsilon)`.",
    ],
    drawing: {
      says: "A row with a masked tail: after the mean is subtracted, the tail must be set to zero again before squares are added.",
      rows: [
        [
          { name: "x", cells: ["000mm"], values: ["2 4 6 0 0"] },
          "− 4 =",
          { name: "wrong", cells: ["000xx"], values: ["-2 0 2 -4 -4"] },
        ],
        ["where(mask, x − mean, 0) =", { name: "right", cells: ["111mm"], values: ["-2 0 2 0 0"] }],
      ],
    },
    goal: "z = (x - mean) / sqrt(variance + epsilon) * w + b, for each row",
    arguments: { x_ptr: [8, 100], w_ptr: [100], b_ptr: [100], z_ptr: [8, 100], n_columns: 100, epsilon: 1e-5 },
    dtypes: { epsilon: "fp32" },
    constexprs: { BLOCK: 128 },
    grid: "ROWS",
    reference: NUMPY + NORMAL + "def reference(x_ptr, w_ptr, b_ptr, epsilon, **_):\n    return normal(x_ptr, epsilon)[0] * w_ptr + b_ptr\n",
    hidden: [
      { arguments: { x_ptr: [1, 2], w_ptr: [2], b_ptr: [2], z_ptr: [1, 2], n_columns: 2 } },
      { arguments: { x_ptr: [3, 128], w_ptr: [128], b_ptr: [128], z_ptr: [3, 128], n_columns: 128 } },
      { arguments: { x_ptr: [5, 70], w_ptr: [70], b_ptr: [70], z_ptr: [5, 70], n_columns: 70, epsilon: 0.1 }, constexprs: { BLOCK: 256 } },
    ],
    hints: [
      "Load the row of `tl.program_id(0)` with `other=0.0`, and w and b with the same mask.",
      "`mean = tl.sum(x, 0) / n_columns`; `centred = tl.where(mask, x - mean, 0.0)`.",
      "`variance = tl.sum(centred * centred, 0) / n_columns`; store `centred / tl.sqrt(variance + epsilon) * w + b`.",
    ],
    solution: `
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    at = tl.program_id(0) * n_columns + columns
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    w = tl.load(w_ptr + columns, mask=mask)
    b = tl.load(b_ptr + columns, mask=mask)
    mean = tl.sum(x, 0) / n_columns
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, 0) / n_columns
    tl.store(z_ptr + at, centred / tl.sqrt(variance + epsilon) * w + b, mask=mask)
`,
  },
  {
    kernel: "layer_norm_backward",
    title: "The gradient of layer norm",
    text: [
      "Call the normalised row n, so that z = n * w + b. Given dz, this kernel computes the gradients of x and of w.",
      "Each element of x moves the mean and the variance of its row, so the gradient has three terms. With `g = dz * w`, it is `dx = (g - mean(g) - n * mean(g * n)) * rstd`, where rstd is `1 / sqrt(variance + epsilon)` and mean is over the row.",
      "All rows share w, so its gradient is a sum over rows: `dw = sum(dz * n)`. The rows belong to different programs, and so they add their parts with `tl.atomic_add` to `dw_ptr`, which starts as zeros.",
      "Mean and rstd are computed again from x. As before, masked elements must be zero before they are added up.",
    ],
    drawing: {
      says: "Each program has a row and writes its row of dx; all programs add to the one dw by atomic operations.",
      rows: [
        [
          { name: "x, dz", cells: ["0000", "1111", "2222"] },
          "→",
          { name: "dx", cells: ["0000", "1111", "2222"] },
          "atomic_add ↓",
        ],
        [{ name: "dw: the sum over rows", cells: ["3333"] }],
      ],
    },
    goal: "dx and dw of z = n * w + b, where n is the normalised x",
    arguments: { dz_ptr: [8, 100], x_ptr: [8, 100], w_ptr: [100], dx_ptr: [8, 100], dw_ptr: [100], n_columns: 100, epsilon: 1e-5 },
    outputs: ["dx_ptr", "dw_ptr"],
    inits: { dw_ptr: "zeros" },
    dtypes: { epsilon: "fp32" },
    constexprs: { BLOCK: 128 },
    grid: "ROWS",
    reference:
      NUMPY +
      NORMAL +
      "def reference(dz_ptr, x_ptr, w_ptr, epsilon, **_):\n" +
      "    n, rstd = normal(x_ptr, epsilon)\n" +
      "    g = dz_ptr * w_ptr\n" +
      "    mean, slope = (each.mean(axis=1, keepdims=True) for each in (g, g * n))\n" +
      '    return {"dx_ptr": (g - mean - n * slope) * rstd, "dw_ptr": (dz_ptr * n).sum(axis=0)}\n',
    hidden: [
      { arguments: { dz_ptr: [1, 3], x_ptr: [1, 3], w_ptr: [3], dx_ptr: [1, 3], dw_ptr: [3], n_columns: 3 } },
      { arguments: { dz_ptr: [5, 128], x_ptr: [5, 128], w_ptr: [128], dx_ptr: [5, 128], dw_ptr: [128], n_columns: 128 } },
      { arguments: { dz_ptr: [6, 77], x_ptr: [6, 77], w_ptr: [77], dx_ptr: [6, 77], dw_ptr: [77], n_columns: 77, epsilon: 0.1 }, constexprs: { BLOCK: 256 } },
    ],
    isRaceFree: true,
    hints: [
      "Begin with layer norm up to `rstd = 1 / tl.sqrt(variance + epsilon)`, and let `n = centred * rstd`.",
      "Load dz with `other=0.0` and let `g = dz * w`, so g and n are zero where masked. `mean = tl.sum(g, 0) / n_columns`, `slope = tl.sum(g * n, 0) / n_columns`.",
      "Store `(g - mean - n * slope) * rstd` to dx. Then `tl.atomic_add(dw_ptr + columns, dz * n, mask=mask)`.",
    ],
    solution: `
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    at = tl.program_id(0) * n_columns + columns
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    dz = tl.load(dz_ptr + at, mask=mask, other=0.0)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0)
    centred = tl.where(mask, x - tl.sum(x, 0) / n_columns, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n_columns + epsilon)
    n = centred * rstd
    g = dz * w
    mean = tl.sum(g, 0) / n_columns
    slope = tl.sum(g * n, 0) / n_columns
    tl.store(dx_ptr + at, (g - mean - n * slope) * rstd, mask=mask)
    tl.atomic_add(dw_ptr + columns, dz * n, mask=mask)
`,
  },
  {
    kernel: "flash_attention",
    title: "Flash attention",
    text: [
      "This is attention as models use it: queries, keys and values are vectors of `D` numbers, so q, k and v are matrices with a row for each token. The scores of a block of queries and a block of keys are a product of matrices, `q @ k.T * scale`.",
      "Online softmax works as in the lesson with scalars. What it keeps of the values is now a block of `BM` by `D`, and `tl.dot` adds to it: `z = tl.dot(e, v, z * factor[:, None])`.",
      "The attention is causal: a token sees only itself and those before it. Scores with `j > i` are minus infinity, and so are those beyond the end.",
      "A block of keys that lies wholly after the queries adds nothing, so the loop may end at `tl.minimum(T, last query + 1)`. That halves the work.",
      "`k.T` needs no copy: load the block with its axes exchanged, a column for D and a row for j.",
    ],
    drawing: {
      says: "The scores of causal attention: a program has a block of queries and goes over the blocks of keys up to its diagonal; the rest is never computed.",
      rows: [[{ name: "scores: queries down, keys across", cells: ["0mmmmm..", "00mmmm..", "1111mm..", "11111m..", "22222222", "22222222"], note: "dashed: minus infinity" }, { name: "z", cells: ["00", "00", "11", "11", "22", "22"] }]],
    },
    goal: "z = softmax(q @ k.T * scale) @ v, where query i sees keys up to i",
    arguments: { q_ptr: [100, 16], k_ptr: [100, 16], v_ptr: [100, 16], z_ptr: [100, 16], T: 100, scale: 0.25 },
    dtypes: { scale: "fp32" },
    constexprs: { D: 16, BM: 32, BN: 32 },
    grid: "cdiv(T, BM)",
    reference:
      NUMPY +
      "def reference(q_ptr, k_ptr, v_ptr, scale, **_):\n" +
      "    scores = q_ptr.astype(np.float64) @ k_ptr.T * scale\n" +
      "    scores[np.triu_indices(len(scores), 1)] = -np.inf\n" +
      "    e = np.exp(scores - scores.max(axis=1, keepdims=True))\n" +
      "    return e / e.sum(axis=1, keepdims=True) @ v_ptr\n",
    hidden: [
      { arguments: { q_ptr: [1, 16], k_ptr: [1, 16], v_ptr: [1, 16], z_ptr: [1, 16], T: 1 } },
      { arguments: { q_ptr: [64, 32], k_ptr: [64, 32], v_ptr: [64, 32], z_ptr: [64, 32], T: 64, scale: 0.5 }, constexprs: { D: 32 } },
      { arguments: { q_ptr: [77, 16], k_ptr: [77, 16], v_ptr: [77, 16], z_ptr: [77, 16], T: 77 }, constexprs: { BM: 16, BN: 64 } },
    ],
    hints: [
      "Load q once, at `i[:, None] * D + d[None, :]`. In the loop, load k at `j[None, :] * D + d[:, None]`, which is transposed, and v at `j[:, None] * D + d[None, :]`; mask all by their tokens, with `other=0.0`.",
      "`scores = tl.dot(q, k, input_precision=\"ieee\") * scale`, and `tl.where((j[None, :] <= i[:, None]) & (j[None, :] < T), scores, -float(\"inf\"))`.",
      "With `new`, `e`, `factor` and `total` as in the lesson with scalars: `z = tl.dot(e, v, z * factor[:, None], input_precision=\"ieee\")`. Store `z / total[:, None]`.",
    ],
    solution: `
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    at = i[:, None] * D + d[None, :]
    q = tl.load(q_ptr + at, mask=i[:, None] < T, other=0.0)
    highest = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    z = tl.zeros((BM, D), tl.float32)
    for start in range(0, tl.minimum(T, (tl.program_id(0) + 1) * BM), BN):
        j = start + tl.arange(0, BN)
        k = tl.load(k_ptr + j[None, :] * D + d[:, None], mask=j[None, :] < T, other=0.0)
        v = tl.load(v_ptr + j[:, None] * D + d[None, :], mask=j[:, None] < T, other=0.0)
        scores = tl.dot(q, k, input_precision="ieee") * scale
        seen = (j[None, :] <= i[:, None]) & (j[None, :] < T)
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(highest, tl.max(scores, 1))
        e = tl.exp(scores - new[:, None])
        factor = tl.exp(highest - new)
        total = total * factor + tl.sum(e, 1)
        z = tl.dot(e, v, z * factor[:, None], input_precision="ieee")
        highest = new
    tl.store(z_ptr + at, z / total[:, None], mask=i[:, None] < T)
`,
  },
  {
    kernel: "running_sum",
    title: "Scans",
    text: [
      "A scan keeps every step of a reduction: the running sum of 3, 1, 4 is 3, 4, 8. It seems to need one step after the other, but a tree of additions does it in a few steps for a whole block, and `tl.cumsum(x, 0)` is that tree.",
      "Samplers sum up probabilities so, sparse formats find where rows begin, and state-space models are scans with another operation: `tl.associative_scan` takes any function for which the order of brackets does not matter.",
      "A row may be longer than a block. Then carry the sum from one block to the next: add it to the scan of the block, and let it grow by `tl.sum(x, 0)`.",
      "Only the carry makes the blocks of a row depend on each other, so a program does a row alone. Other rows are other programs.",
    ],
    drawing: {
      says: "The running sums of two blocks; the second block begins with the carry of the first.",
      rows: [
        [
          { name: "x", cells: ["0000"], values: ["3 1 4 1"] },
          { name: "", cells: ["1111"], values: ["5 9 2 6"] },
        ],
        [
          { name: "z", cells: ["0000"], values: ["3 4 8 9"] },
          "carry 9 →",
          { name: "", cells: ["1111"], values: ["14 23 25 31"] },
        ],
      ],
    },
    goal: "z[r, i] is the sum of x[r, 0] to x[r, i]",
    arguments: { x_ptr: [4, 200], z_ptr: [4, 200], N0: 4, T: 200 },
    constexprs: { BLOCK: 32 },
    grid: "N0",
    reference: NUMPY + "def reference(x_ptr, **_):\n    return np.cumsum(x_ptr, axis=1)\n",
    hidden: [
      { arguments: { x_ptr: [3, 1], z_ptr: [3, 1], N0: 3, T: 1 } },
      { arguments: { x_ptr: [2, 96], z_ptr: [2, 96], N0: 2, T: 96 } },
      { arguments: { x_ptr: [5, 77], z_ptr: [5, 77], N0: 5, T: 77 }, constexprs: { BLOCK: 64 } },
    ],
    hints: [
      "The loop is that of the long sum; start with `carry = 0.0`.",
      "Load with `other=0.0`, so that masked elements do not change the carry.",
      "In the loop, store `tl.cumsum(x, 0) + carry` with the mask, and then `carry += tl.sum(x, 0)`.",
    ],
    solution: `
    row = tl.program_id(0) * T
    carry = 0.0
    for start in range(0, T, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + i, mask=i < T, other=0.0)
        tl.store(z_ptr + row + i, tl.cumsum(x, 0) + carry, mask=i < T)
        carry += tl.sum(x, 0)
`,
  },
  {
    kernel: "tuned_row_sum",
    title: "Autotuning",
    text: [
      "Which block is fastest depends on the GPU and on the sizes. `@triton.autotune` tries a list of configurations the first time, measures each, and keeps the fastest for later calls with the same `key`.",
      "A `triton.Config` sets constexprs, and options such as `num_warps`: how many groups of 32 threads work on a block. A large block with few warps needs many registers; a small one leaves threads idle.",
      "The kernel must be right for every configuration, since you do not know which one wins. Look for numbers in it that silently assume a block: the one in the editor was written for 128.",
      "Two traps: a kernel that adds to its output runs many times while it is tuned, so name the output in `reset_to_zero`. And each configuration is compiled, so list a handful that differ, not hundreds.",
      "This lesson wants four configurations or more, and runs all of them.",
    ],
    drawing: {
      says: "A loop in steps of four adds some elements twice when the block has eight, and is right when it has four.",
      rows: [
        [{ name: "BLOCK = 4, step 4", cells: ["00001111"], note: "right" }],
        [{ name: "BLOCK = 8, step 4", cells: ["0000xxxx"], note: "red: added twice" }],
      ],
    },
    goal: "z[r] is the sum of row r, right for four configurations or more",
    arguments: { x_ptr: [6, 500], z_ptr: [6], N0: 6, n_columns: 500 },
    constexprs: { BLOCK: 128 },
    grid: "N0",
    reference: "def reference(x_ptr, **_):\n    return x_ptr.sum(axis=1)\n",
    hidden: [
      { arguments: { x_ptr: [1, 1], z_ptr: [1], N0: 1, n_columns: 1 } },
      { arguments: { x_ptr: [2, 256], z_ptr: [2], N0: 2, n_columns: 256 } },
      { arguments: { x_ptr: [3, 1001], z_ptr: [3], N0: 3, n_columns: 1001 } },
    ],
    configurations: 4,
    hints: [
      "How far does `start` move in each step, and how many elements does a step load?",
      "Make the step of the loop `BLOCK`.",
      "Add configurations such as `triton.Config({\"BLOCK\": 512}, num_warps=8)` to the list, until there are four.",
    ],
    start: `@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=2),
        triton.Config({"BLOCK": 256}, num_warps=4),
    ],
    key=["n_columns"],
)
@triton.jit
def tuned_row_sum(x_ptr, z_ptr, N0, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n_columns, 128):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_columns + columns, mask=columns < n_columns, other=0.0)
        total += tl.sum(x, 0)
    tl.store(z_ptr + row, total)
`,
    solution: `@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=2),
        triton.Config({"BLOCK": 256}, num_warps=4),
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
    ],
    key=["n_columns"],
)
@triton.jit
def tuned_row_sum(x_ptr, z_ptr, N0, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_columns + columns, mask=columns < n_columns, other=0.0)
        total += tl.sum(x, 0)
    tl.store(z_ptr + row, total)
`,
  },
];
