// Lessons on loops, reductions and products: the last six puzzles.

import type { Lesson } from "./lesson";

const NUMPY = "import numpy as np\n\n\n";
const ROWS: Lesson["hidden"] = [
  { arguments: { x_ptr: [3, 1], z_ptr: [3, 1], N0: 3, T: 1 } },
  { arguments: { x_ptr: [2, 96], z_ptr: [2, 96], N0: 2, T: 96 } },
  { arguments: { x_ptr: [5, 77], z_ptr: [5, 77], N0: 5, T: 77 }, constexprs: { B1: 64 } },
];

export const LOOP_LESSONS: readonly Lesson[] = [
  {
    kernel: "long_sum",
    title: "Long sum",
    text: [
      "A reduction makes one number of many: `tl.sum`, `tl.max` and `tl.min` reduce a block along an axis. `tl.sum(x, 0)` of a vector is a number, and `tl.sum(x, 1)` of a matrix is a vector with one number for each row.",
      "A row may be longer than a block. Then a program loops over it, block by block, and keeps what it needs from one step to the next: `for start in range(0, T, B1)`.",
      "A loop of a kernel may run as often as an argument says, but the block keeps its size. So the last step needs a mask, and masked elements must not change the sum: `other=0.0` is what `tl.load` returns for them.",
    ],
    drawing: {
      says: "A program goes over its row in three steps of four elements and adds them to a total; beyond the end it loads zeros.",
      rows: [
        [
          { name: "start = 0", cells: ["0000"], values: ["3 1 4 1"] },
          { name: "start = 4", cells: ["1111"], values: ["5 9 2 6"] },
          { name: "start = 8", cells: ["22mm"], values: ["5 3 0 0"] },
        ],
        ["total:", { name: "", cells: ["0"], values: ["9"] }, "→", { name: "", cells: ["1"], values: ["31"] }, "→", { name: "", cells: ["2"], values: ["39"] }],
      ],
    },
    goal: "z[r] is the sum of row r of x, a row in each program",
    arguments: { x_ptr: [4, 200], z_ptr: [4], N0: 4, T: 200 },
    constexprs: { B1: 32 },
    grid: "N0",
    reference: "def reference(x_ptr, **_):\n    return x_ptr.sum(axis=1)\n",
    hidden: [
      { arguments: { x_ptr: [3, 1], z_ptr: [3], N0: 3, T: 1 } },
      { arguments: { x_ptr: [2, 96], z_ptr: [2], N0: 2, T: 96 } },
      { arguments: { x_ptr: [5, 77], z_ptr: [5], N0: 5, T: 77 }, constexprs: { B1: 64 } },
    ],
    hints: [
      "A program's row begins at `tl.program_id(0) * T`. Start with `total = 0.0`.",
      "In the loop, `i = start + tl.arange(0, B1)`. Load x there with a mask and `other=0.0`.",
      "`total += tl.sum(x, 0)` in the loop; after it, `tl.store(z_ptr + tl.program_id(0), total)`.",
    ],
    solution: `
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, T, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row * T + i, mask=i < T, other=0.0)
        total += tl.sum(x, 0)
    tl.store(z_ptr + row, total)
`,
  },
  {
    kernel: "long_softmax",
    title: "Long softmax",
    text: [
      "Softmax makes probabilities of a row: the exponential of each number, divided by the sum of all exponentials. The exponential of a large number is infinite, so one subtracts the largest number of the row first, which leaves the quotients as they are.",
      "That takes three loops over the row: one for the largest number, one for the sum of `tl.exp(x - highest)`, and one that stores the quotients.",
      "Masked elements must not count. The neutral element of a maximum is minus infinity, and its exponential is zero, so `other=-float(\"inf\")` suits both.",
      "You may also do with two loops: whenever the largest number grows, multiply the sum so far by `tl.exp(old - new)`. The next lesson needs this trick.",
    ],
    drawing: {
      says: "Three passes over a row: the largest number, the sum of exponentials, and the quotients.",
      rows: [
        [{ name: "1: the largest", cells: ["0001"], values: ["1 2 0 3"], note: "3" }, { name: "2: exp(x - 3)", cells: ["2222"], values: [".14 .37 .05 1"], note: "sum 1.55" }],
        [{ name: "3: quotients", cells: ["3333"], values: [".09 .24 .03 .64"] }],
      ],
    },
    goal: "z is the softmax of each row of x, a row in each program",
    arguments: { x_ptr: [4, 200], z_ptr: [4, 200], N0: 4, T: 200 },
    constexprs: { B1: 32 },
    grid: "N0",
    reference: NUMPY + "def reference(x_ptr, **_):\n    e = np.exp(x_ptr - x_ptr.max(axis=1, keepdims=True))\n    return e / e.sum(axis=1, keepdims=True)\n",
    hidden: ROWS,
    hints: [
      "Start with `highest = -float(\"inf\")` and `total = 0.0`. Each loop loads the row as in the last lesson.",
      "In the first loop `highest = tl.maximum(highest, tl.max(x, 0))`, in the second one `total += tl.sum(tl.exp(x - highest), 0)`.",
      "In the third loop, store `tl.exp(x - highest) / total` with the mask. Load with `other=-float(\"inf\")` in all three.",
    ],
    solution: `
    row = tl.program_id(0) * T
    highest = -float("inf")
    total = 0.0
    for start in range(0, T, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row + i, mask=i < T, other=-float("inf"))
        highest = tl.maximum(highest, tl.max(x, 0))
    for start in range(0, T, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row + i, mask=i < T, other=-float("inf"))
        total += tl.sum(tl.exp(x - highest), 0)
    for start in range(0, T, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row + i, mask=i < T, other=-float("inf"))
        tl.store(z_ptr + row + i, tl.exp(x - highest) / total, mask=i < T)
`,
  },
  {
    kernel: "scalar_attention",
    title: "Attention with scalars",
    text: [
      "Attention compares each query with all keys and averages the values by the softmax of the scores. Here queries, keys and values are numbers, so the score of query i and key j is `q[i] * k[j]`.",
      "The matrix of scores may be far too large for memory, so it is never stored. A program has a block of queries and loops over blocks of keys; it keeps the highest score so far, the sum of exponentials and the weighted sum of values.",
      "When a step finds a higher score, what was added before is too large by the factor `tl.exp(new - old)`. Multiply both sums by `tl.exp(old - new)`, then add those of this step. This is online softmax, the heart of flash attention.",
      "Keys beyond the end must weigh nothing: give them a score of minus infinity with `tl.where`.",
    ],
    drawing: {
      says: "A program has a block of queries, goes over the keys block by block, and keeps three numbers for each query.",
      rows: [
        [
          { name: "q", cells: ["0", "0", "0"] },
          { name: "scores with k, block by block", cells: ["11112222333", "11112222333", "11112222333"] },
          { name: "kept", cells: ["444", "444", "444"], note: "max, sum, z" },
        ],
      ],
    },
    goal: "z[i] is the sum over j of softmax(q[i] * k)[j] * v[j]",
    arguments: { q_ptr: [100], k_ptr: [120], v_ptr: [120], z_ptr: [100], N0: 100, T: 120 },
    constexprs: { B0: 32, B1: 32 },
    grid: "cdiv(N0, B0)",
    reference:
      NUMPY +
      "def reference(q_ptr, k_ptr, v_ptr, **_):\n" +
      "    scores = q_ptr[:, None] * k_ptr\n" +
      "    e = np.exp(scores - scores.max(axis=1, keepdims=True))\n" +
      "    return e @ v_ptr / e.sum(axis=1)\n",
    hidden: [
      { arguments: { q_ptr: [1], k_ptr: [1], v_ptr: [1], z_ptr: [1], N0: 1, T: 1 } },
      { arguments: { q_ptr: [64], k_ptr: [33], v_ptr: [33], z_ptr: [64], N0: 64, T: 33 } },
      { arguments: { q_ptr: [40], k_ptr: [96], v_ptr: [96], z_ptr: [40], N0: 40, T: 96 }, constexprs: { B0: 16, B1: 64 } },
    ],
    hints: [
      "Keep three vectors of B0: `highest`, which starts at `tl.full((B0,), -float(\"inf\"), tl.float32)`, and `total` and `z`, which start at `tl.zeros((B0,), tl.float32)`.",
      "In each step: `scores = tl.where(j[None, :] < T, q[:, None] * k[None, :], -float(\"inf\"))` and `new = tl.maximum(highest, tl.max(scores, 1))`.",
      "`e = tl.exp(scores - new[:, None])`, `scale = tl.exp(highest - new)`; then `total = total * scale + tl.sum(e, 1)`, `z = z * scale + tl.sum(e * v[None, :], 1)`, `highest = new`. Store `z / total`.",
    ],
    solution: `
    i = tl.program_id(0) * B0 + tl.arange(0, B0)
    q = tl.load(q_ptr + i, mask=i < N0, other=0.0)
    highest = tl.full((B0,), -float("inf"), tl.float32)
    total = tl.zeros((B0,), tl.float32)
    z = tl.zeros((B0,), tl.float32)
    for start in range(0, T, B1):
        j = start + tl.arange(0, B1)
        k = tl.load(k_ptr + j, mask=j < T, other=0.0)
        v = tl.load(v_ptr + j, mask=j < T, other=0.0)
        scores = tl.where(j[None, :] < T, q[:, None] * k[None, :], -float("inf"))
        new = tl.maximum(highest, tl.max(scores, 1))
        e = tl.exp(scores - new[:, None])
        scale = tl.exp(highest - new)
        total = total * scale + tl.sum(e, 1)
        z = z * scale + tl.sum(e * v[None, :], 1)
        highest = new
    tl.store(z_ptr + i, z / total, mask=i < N0)
`,
  },
  {
    kernel: "convolution",
    title: "Convolution",
    text: [
      "A convolution slides a small matrix k over an image. At each place it multiplies k with the window of the image below it, element by element, and adds up the products.",
      "Each program has one image of `H` by `W`. It loads k once, as a block of `KH` by `KW`, and loops over the places i and j: a `for` within a `for`.",
      "A window that begins near the right edge or the bottom reaches beyond the image. There the image counts as zero: a mask with `other=0.0`. Without the mask you would read the next row, or the next image, and notice nothing.",
      "`tl.sum` of a matrix without an axis adds up all of its elements.",
    ],
    drawing: {
      says: "A window of two by two slides over an image; at the edge, its elements outside the image are zero.",
      rows: [
        [
          { name: "x, with a window", cells: ["00..", "00..", "....", "...."] },
          "×",
          { name: "k", cells: ["11", "11"] },
          "→",
          { name: "z", cells: ["2...", "....", "....", "...."] },
          { name: "at the edge", cells: ["...0m", "...0m", "....."] },
        ],
      ],
    },
    goal: "z[n, i, j] is the sum of x[n, i + a, j + b] * k[a, b]",
    arguments: { x_ptr: [4, 8, 8], k_ptr: [4, 4], z_ptr: [4, 8, 8], N0: 4, H: 8, W: 8 },
    constexprs: { KH: 4, KW: 4 },
    grid: "N0",
    reference:
      NUMPY +
      "def reference(x_ptr, k_ptr, **_):\n" +
      "    down, across = k_ptr.shape\n" +
      "    padded = np.pad(x_ptr, ((0, 0), (0, down - 1), (0, across - 1)))\n" +
      "    windows = np.lib.stride_tricks.sliding_window_view(padded, k_ptr.shape, axis=(1, 2))\n" +
      '    return np.einsum("nijab,ab->nij", windows, k_ptr)\n',
    hidden: [
      { arguments: { x_ptr: [1, 3, 5], k_ptr: [4, 4], z_ptr: [1, 3, 5], N0: 1, H: 3, W: 5 } },
      { arguments: { x_ptr: [2, 9, 4], k_ptr: [2, 4], z_ptr: [2, 9, 4], N0: 2, H: 9, W: 4 }, constexprs: { KH: 2, KW: 4 } },
      { arguments: { x_ptr: [3, 6, 7], k_ptr: [4, 2], z_ptr: [3, 6, 7], N0: 3, H: 6, W: 7 }, constexprs: { KH: 4, KW: 2 } },
    ],
    hints: [
      "The image of a program begins at `tl.program_id(0) * H * W`. Make a column `rows` of KH and a row `columns` of KW, and load k at `rows * KW + columns`.",
      "For each i and j, the window is at `(i + rows) * W + (j + columns)` of the image.",
      "Its mask is `(i + rows < H) & (j + columns < W)`, with `other=0.0`. Store `tl.sum(window * k)` at `i * W + j` of the image.",
    ],
    solution: `
    image = tl.program_id(0) * H * W
    rows = tl.arange(0, KH)[:, None]
    columns = tl.arange(0, KW)[None, :]
    k = tl.load(k_ptr + rows * KW + columns)
    for i in range(0, H):
        for j in range(0, W):
            inside = (i + rows < H) & (j + columns < W)
            at = image + (i + rows) * W + (j + columns)
            window = tl.load(x_ptr + at, mask=inside, other=0.0)
            tl.store(z_ptr + image + i * W + j, tl.sum(window * k))
`,
  },
  {
    kernel: "batched_matmul",
    title: "Matrix multiplication",
    text: [
      "Matrix products are what GPUs are built for. `tl.dot(a, b)` multiplies two blocks on their matrix units, and `tl.dot(a, b, total)` adds the product to a block of sums.",
      "A program computes one tile of z. For that it needs a whole row of tiles of x and a whole column of tiles of y: it loops over `MID`, loads one tile of each, and adds their product to the total.",
      "There are `N2` pairs of matrices, and the third axis of the grid counts them. Matrix n of x begins at `n * N0 * MID`. All sizes are multiples of the block's here, so no masks are needed.",
      "By default `tl.dot` rounds fp32 to TF32, which keeps 10 bits of the fraction. `input_precision=\"ieee\"` keeps them all.",
    ],
    drawing: {
      says: "A tile of z is the sum of products of tiles along a row of x and along a column of y.",
      rows: [
        [
          { name: "x", cells: ["....", "0123", "....", "...."] },
          "@",
          { name: "y", cells: ["..0.", "..1.", "..2.", "..3."] },
          "=",
          { name: "z", cells: ["....", "..4.", "....", "...."], note: "0·0 + 1·1 + 2·2 + 3·3" },
        ],
      ],
    },
    goal: "z[n] = x[n] @ y[n], a tile of B0 x B1 in each program",
    arguments: { x_ptr: [4, 32, 32], y_ptr: [4, 32, 32], z_ptr: [4, 32, 32], N0: 32, N1: 32, N2: 4, MID: 32 },
    constexprs: { B0: 16, B1: 16, B2: 16 },
    grid: "cdiv(N0, B0), cdiv(N1, B1), N2",
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr @ y_ptr\n",
    hidden: [
      { arguments: { x_ptr: [1, 16, 64], y_ptr: [1, 64, 32], z_ptr: [1, 16, 32], N0: 16, N1: 32, N2: 1, MID: 64 } },
      { arguments: { x_ptr: [3, 48, 16], y_ptr: [3, 16, 16], z_ptr: [3, 48, 16], N0: 48, N1: 16, N2: 3, MID: 16 } },
      { arguments: { x_ptr: [2, 32, 96], y_ptr: [2, 96, 64], z_ptr: [2, 32, 64], N0: 32, N1: 64, N2: 2, MID: 96 }, constexprs: { B0: 32, B1: 16, B2: 32 } },
    ],
    hints: [
      "Make a column `rows` of B0 from program 0, a row `columns` of B1 from program 1, and `total = tl.zeros((B0, B1), tl.float32)`.",
      "In a loop over MID in steps of B2, with `k = start + tl.arange(0, B2)`: x is at `rows * MID + k[None, :]`, y at `k[:, None] * N1 + columns`, both of matrix `tl.program_id(2)`.",
      "`total = tl.dot(x, y, total, input_precision=\"ieee\")`; after the loop, store it at `rows * N1 + columns` of matrix n.",
    ],
    solution: `
    rows = tl.program_id(0) * B0 + tl.arange(0, B0)[:, None]
    columns = tl.program_id(1) * B1 + tl.arange(0, B1)[None, :]
    n = tl.program_id(2)
    total = tl.zeros((B0, B1), tl.float32)
    for start in range(0, MID, B2):
        k = start + tl.arange(0, B2)
        x = tl.load(x_ptr + n * N0 * MID + rows * MID + k[None, :])
        y = tl.load(y_ptr + n * MID * N1 + k[:, None] * N1 + columns)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(z_ptr + n * N0 * N1 + rows * N1 + columns, total)
`,
  },
  {
    kernel: "quantized_matmul",
    title: "Quantized matrix multiplication",
    text: [
      "Large models keep their weights in few bits, since reading them takes most of the time. Here a weight has 4 bits: a number from 0 to 15. Eight of them share a 32-bit integer, the first one in the lowest bits.",
      "A group of 16 neighbours of a row shares a scale and an offset, and `w = scale * (weight - offset)`. The offsets have 4 bits, too, and those of a row share one integer.",
      "To get weight m of a row, load word `m // 8`, shift it right by `(m % 8) * 4` bits, and keep the lowest 4 with `& 15`. Many lanes load the same word, and that is fine: the cache serves them.",
      "A program makes a block of w in registers and multiplies it right away. The real matrix of weights is never in memory.",
    ],
    drawing: {
      says: "Eight numbers of four bits are unpacked from one 32-bit integer: shift right, then keep the lowest four bits.",
      rows: [
        [{ name: "one word: 0x73F0A215", cells: ["01234567"], values: ["5 1 2 A 0 F 3 7"], note: "lowest bits first" }],
        ["(word >> 4 * (m % 8)) & 15 =", { name: "m = 3", cells: ["3"], values: ["10"] }],
      ],
    },
    goal: "z[n] = w @ y[n], where w = scale * (weight - offset)",
    arguments: { scale_ptr: [64, 4], offset_ptr: [64], weight_ptr: [64, 8], y_ptr: [4, 64, 32], z_ptr: [4, 64, 32], N0: 64, N1: 32, N2: 4, MID: 64 },
    dtypes: { offset_ptr: "i32", weight_ptr: "i32" },
    inits: { offset_ptr: "bits", weight_ptr: "bits" },
    constexprs: { B0: 16, B1: 16, B_MID: 64 },
    grid: "cdiv(N0, B0), cdiv(N1, B1), N2",
    reference:
      NUMPY +
      "def nibbles(packed):\n" +
      "    return (packed[..., None] >> 4 * np.arange(8)) & 15\n\n\n" +
      "def reference(scale_ptr, offset_ptr, weight_ptr, y_ptr, **_):\n" +
      "    rows, groups = scale_ptr.shape\n" +
      "    weight = nibbles(weight_ptr).reshape(rows, -1)\n" +
      "    offset = nibbles(offset_ptr)[:, :groups]\n" +
      "    w = scale_ptr.repeat(16, 1) * (weight - offset.repeat(16, 1))\n" +
      "    return w @ y_ptr\n",
    hidden: [
      { arguments: { scale_ptr: [16, 4], offset_ptr: [16], weight_ptr: [16, 8], y_ptr: [1, 64, 16], z_ptr: [1, 16, 16], N0: 16, N1: 16, N2: 1 } },
      { arguments: { scale_ptr: [32, 4], offset_ptr: [32], weight_ptr: [32, 8], y_ptr: [2, 64, 48], z_ptr: [2, 32, 48], N0: 32, N1: 48, N2: 2 } },
      {
        arguments: { scale_ptr: [32, 8], offset_ptr: [32], weight_ptr: [32, 16], y_ptr: [2, 128, 16], z_ptr: [2, 32, 16], N0: 32, N1: 16, N2: 2, MID: 128 },
        constexprs: { B_MID: 128 },
      },
    ],
    hints: [
      "Make a block of w first, then multiply as in the last lesson. MID fits into one block: `m = tl.arange(0, B_MID)`, so there is no loop.",
      "With a column r of rows and a row m: `weight = (tl.load(weight_ptr + r * (MID // 8) + m // 8) >> (m % 8) * 4) & 15`.",
      "`offset = (tl.load(offset_ptr + r) >> (m // 16) * 4) & 15`, and the scale is at `r * (MID // 16) + m // 16`. Then `tl.dot(scale * (weight - offset), y, input_precision=\"ieee\")`.",
    ],
    solution: `
    r = tl.program_id(0) * B0 + tl.arange(0, B0)[:, None]
    columns = tl.program_id(1) * B1 + tl.arange(0, B1)[None, :]
    n = tl.program_id(2)
    k = tl.arange(0, B_MID)
    m = k[None, :]
    weight = (tl.load(weight_ptr + r * (MID // 8) + m // 8) >> (m % 8) * 4) & 15
    offset = (tl.load(offset_ptr + r) >> (m // 16) * 4) & 15
    scale = tl.load(scale_ptr + r * (MID // 16) + m // 16)
    y = tl.load(y_ptr + n * MID * N1 + k[:, None] * N1 + columns)
    z = tl.dot(scale * (weight - offset), y, input_precision="ieee")
    tl.store(z_ptr + n * N0 * N1 + r * N1 + columns, z)
`,
  },
];
