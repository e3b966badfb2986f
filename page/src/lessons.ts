// The lessons: the puzzles, and three common kernels, each with three hints.

import { PUZZLES, type Exercise } from "./puzzles";

export interface Lesson extends Exercise {
  /** From a first step to nearly the whole solution. */
  hints: readonly [string, string, string];
  /** The wrong specification in the puzzle's original notebook, and its error. */
  stub?: { text: string; fault: string };
}

const SOFTMAX = "import numpy as np\n\n\ndef reference(x_ptr, **_):\n    e = np.exp(x_ptr - x_ptr.max(1, keepdims=True))\n    return e / e.sum(1, keepdims=True)\n";

const OF_PUZZLES: readonly Pick<Lesson, "hints" | "stub">[] = [
  {
    hints: [
      "One program sees the whole vector: its offsets are tl.arange(0, B0).",
      "A pointer plus a block of offsets is a block of pointers. Load through it, add, and store through one into z_ptr.",
      "x = tl.load(x_ptr + offsets), and then tl.store(z_ptr + offsets, x + 10).",
    ],
  },
  {
    hints: [
      "Each program has a number, tl.program_id(0). The block of program 3 begins after three blocks.",
      "200 elements are six blocks of 32 and a quarter of one. Mask the offsets beyond the end, in the load and in the store.",
      "offsets = tl.program_id(0) * B0 + tl.arange(0, B0), and mask=offsets < N0 in both.",
    ],
  },
  {
    hints: [
      "Two ranges: i along x and j along y. Broadcasting a row and a column gives a matrix.",
      "tl.arange(0, B0)[None, :] is a row, tl.arange(0, B1)[:, None] a column. z lies row by row, each N0 long.",
      "Load x with the row i and y with the column j; tl.store(z_ptr + j * N0 + i, x + y).",
    ],
  },
  {
    hints: [
      "This is puzzle 3 with the masks of puzzle 2. The grid has two axes, so there are two program numbers.",
      "i = tl.program_id(0) * B0 + a row, j = tl.program_id(1) * B1 + a column. Each load needs the mask of its own range.",
      "The store needs both masks: mask=(i < N0) & (j < N1). Keep the parentheses: & binds more tightly than <.",
    ],
  },
  {
    hints: [
      "Only the computation differs from puzzle 4.",
      "ReLU keeps positive values: tl.maximum or tl.where does that for whole blocks.",
      "z = tl.maximum(x * y, 0.0), stored under both masks.",
    ],
  },
  {
    hints: [
      "By the chain rule, dx is dz * y where x * y is positive, and zero elsewhere.",
      "x and dz are matrices here: load both at j * N0 + i with both masks. y is a column as before.",
      "dx = tl.where(x * y > 0, dz * y, 0.0), stored to dx_ptr + j * N0 + i.",
    ],
  },
  {
    hints: [
      "A row does not fit into a block, so loop over it: for start in range(0, TN1, B1).",
      "Three passes: the maximum; the sum of exp(x - maximum); the quotients, which are stored. Masked elements must not affect them: load with other=-float(\"inf\").",
      "Start with highest = -float(\"inf\") and total = 0.0. In the first loop highest = tl.maximum(highest, tl.max(x, 0)), in the second total += tl.sum(tl.exp(x - highest), 0).",
    ],
  },
  {
    hints: [
      "Each program has one image of H x W. Load the whole kernel k once: a column of KH and a row of KW.",
      "For each i and j of the image, load the window at (i + rows) * W + (j + columns). Right of and below the image there are zeros: use a mask with other=0.0.",
      "The mask is (i + rows < H) & (j + columns < W). Then tl.store(z_ptr + image + i * W + j, tl.sum(window * k)), where image is tl.program_id(0) * H * W.",
    ],
    stub: { text: "def conv2d_spec(x, k):\n    return x", fault: "it returns the images unchanged, so a correct kernel does not match it" },
  },
  {
    hints: [
      "A block of z is the sum of products of blocks: of x along its row of blocks, of y along its column. tl.dot multiplies two blocks.",
      "for start in range(0, MID, B0): x at [rows, start + k], y at [start + k, columns], both of matrix tl.program_id(2). Start with tl.zeros((B0, B1), tl.float32).",
      "By default, tl.dot rounds fp32 to TF32. Turn that off: total = tl.dot(x, y, total, input_precision=\"ieee\").",
    ],
  },
  {
    hints: [
      "Compute a block of w first, then multiply as in puzzle 9. MID fits into one block here: m = tl.arange(0, B_MID).",
      "Number m of a row is in word m // 8 of weight, (m % 8) * 4 bits from the right. Its group is m // 16, the index of its scale, and of its 4 bits in the row's single offset word.",
      "weight = (tl.load(weight_ptr + r * (MID // 8) + m // 8) >> (m % 8) * 4) & 15; offset = (tl.load(offset_ptr + r) >> (m // 16) * 4) & 15, with r as a column and m as a row. w is scale * (weight - offset).",
    ],
    stub: {
      text: "def quant_dot_spec(scale, offset, weight, activation):\n    return (scale * (weight - offset[:, :, None].expand(32, 4, 8).view(32, 32))) @ activation",
      fault: "it unpacks no bits, and its shapes do not match",
    },
  },
];

const KERNELS: readonly Lesson[] = [
  {
    title: "Kernel 1: vector add",
    task: "z[i] = x[i] + y[i]. Each program computes a block of BLOCK; 1000 is not a multiple of 128.",
    kernel: "vector_add",
    arguments: { x_ptr: [1000], y_ptr: [1000], z_ptr: [1000], n: 1000 },
    constexprs: { BLOCK: 128 },
    grid: "cdiv(n, BLOCK)",
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n",
    hints: [
      "A program's block begins at tl.program_id(0) * BLOCK.",
      "offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), and mask = offsets < n.",
      "Two loads and one store, each with mask=mask.",
    ],
  },
  {
    title: "Kernel 2: softmax",
    task: "The softmax of each row of n_columns elements, which fit into one block.",
    kernel: "softmax",
    arguments: { x_ptr: [16, 100], z_ptr: [16, 100], n_columns: 100 },
    constexprs: { BLOCK: 128 },
    grid: "16",
    reference: SOFTMAX,
    hints: [
      "Each program has one row, which begins at tl.program_id(0) * n_columns.",
      "Masked elements must not count: load with other=-float(\"inf\"), whose exponential is zero.",
      "e = tl.exp(x - tl.max(x, 0)); store e / tl.sum(e, 0) with the mask.",
    ],
  },
  {
    title: "Kernel 3: matrix multiplication",
    task: "z = x @ y, of M x K and K x N. Each program computes a block of BM x BN, BK at a time. No size is a multiple of its block.",
    kernel: "matmul",
    arguments: { x_ptr: [50, 70], y_ptr: [70, 60], z_ptr: [50, 60], M: 50, N: 60, K: 70 },
    constexprs: { BM: 16, BN: 16, BK: 32 },
    grid: "cdiv(M, BM), cdiv(N, BN)",
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr @ y_ptr\n",
    hints: [
      "This is puzzle 9 without the batch: rows as a column of BM, columns as a row of BN, and k = start + tl.arange(0, BK) in a loop over K.",
      "Elements beyond K would be added to the sum. Load them as zero, with mask=(rows < M) & (k[None, :] < K), other=0.0, and do the same for y.",
      "total = tl.dot(x, y, total, input_precision=\"ieee\"), stored to z_ptr + rows * N + columns where (rows < M) & (columns < N).",
    ],
  },
];

export const LESSONS: readonly Lesson[] = [...PUZZLES.map((puzzle, index) => ({ ...puzzle, ...OF_PUZZLES[index]! })), ...KERNELS];
