// Lessons on memory that programs share: edges, bounds for all sizes, races, atomics, split-k.

import type { Lesson } from "./lesson";

const MATMUL = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr @ y_ptr\n";

export const MEMORY_LESSONS: readonly Lesson[] = [
  {
    kernel: "matmul",
    title: "Matrix multiplication with edges",
    text: [
      "Real matrices are seldom multiples of the block. Rows and columns beyond the edge are masked when the tile is stored, as before.",
      "The loop over `K` needs more care: elements beyond `K` would be multiplied and added to every sum. Loads must replace them by zero, with a mask of k and `other=0.0`, in x as well as in y.",
      "A tile of x has the mask `(rows < M) & (k[None, :] < K)`, a tile of y has `(k[:, None] < K) & (columns < N)`. A GPU leaves masked elements undefined where you give no `other`, so a kernel that forgets it may pass on one machine and fail on another.",
    ],
    drawing: {
      says: "The last tiles of x and y along K reach beyond the matrix; what they load there is zero.",
      rows: [
        [
          { name: "x", cells: ["000011mm", "000011mm"] },
          "@",
          { name: "y", cells: ["00", "00", "00", "00", "11", "11", "mm", "mm"] },
          "=",
          { name: "z", cells: ["22", "22"] },
        ],
      ],
    },
    goal: "z = x @ y, where no size is a multiple of its block",
    arguments: { x_ptr: [50, 70], y_ptr: [70, 60], z_ptr: [50, 60], M: 50, N: 60, K: 70 },
    constexprs: { BM: 16, BN: 16, BK: 32 },
    grid: "cdiv(M, BM), cdiv(N, BN)",
    reference: MATMUL,
    hidden: [
      { arguments: { x_ptr: [1, 1], y_ptr: [1, 1], z_ptr: [1, 1], M: 1, N: 1, K: 1 } },
      { arguments: { x_ptr: [17, 100], y_ptr: [100, 31], z_ptr: [17, 31], M: 17, N: 31, K: 100 } },
      { arguments: { x_ptr: [64, 33], y_ptr: [33, 9], z_ptr: [64, 9], M: 64, N: 9, K: 33 }, constexprs: { BM: 32, BN: 16, BK: 16 } },
    ],
    hints: [
      "This is the lesson on matrix multiplication without the batch, with `k = start + tl.arange(0, BK)` in a loop over K.",
      "Load x with `mask=(rows < M) & (k[None, :] < K), other=0.0`, and y likewise.",
      "`total = tl.dot(x, y, total, input_precision=\"ieee\")`, stored to `z_ptr + rows * N + columns` where `(rows < M) & (columns < N)`.",
    ],
    solution: `
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    columns = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        below, across = k[:, None], k[None, :]
        x = tl.load(x_ptr + rows * K + across, mask=(rows < M) & (across < K), other=0.0)
        y = tl.load(y_ptr + below * N + columns, mask=(below < K) & (columns < N), other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(z_ptr + rows * N + columns, total, mask=(rows < M) & (columns < N))
`,
  },
  {
    kernel: "scale_rows",
    title: "Bounds for all sizes",
    text: [
      "Tests show that a kernel is right at a few sizes. This lesson asks for all of them: tritond proves that no access leaves its buffer, whatever the sizes, as long as a contract is kept.",
      "The rows of x lie `stride` elements apart, and only the first `n_columns` of each count. So x has `rows * stride` elements, and the contract says `n_columns <= stride`.",
      "The kernel in the editor passes every test here, and still is wrong. `tl.program_id` is a 32-bit integer, and so is `row * stride`. With 100,000 rows of 100,000 elements the product is 10 billion, which does not fit: it wraps around, and the address is somewhere else.",
      "`.to(tl.int64)` makes a block or a number 64 bits wide. It must happen before the product. Run the kernel to see which accesses are not proved, and with which sizes they fail.",
    ],
    drawing: {
      says: "Rows of x are stride elements apart and only their first elements count; z has no gaps.",
      rows: [
        [
          { name: "x, stride = 6", cells: ["0000..", "1111..", "2222.."] },
          "× s =",
          { name: "z, n_columns = 4", cells: ["0000", "1111", "2222"] },
        ],
        ["row * stride in 32 bits: at most 2147483647"],
      ],
    },
    goal: "z[r, c] = x[r, c] * s[r], proved for all sizes",
    arguments: { x_ptr: [5, 100], s_ptr: [5], z_ptr: [5, 90], stride: 100, n_columns: 90 },
    constexprs: { BLOCK: 64 },
    grid: "ROWS",
    reference: "def reference(x_ptr, s_ptr, n_columns, **_):\n    return x_ptr[:, :n_columns] * s_ptr[:, None]\n",
    hidden: [
      { arguments: { x_ptr: [1, 1], s_ptr: [1], z_ptr: [1, 1], stride: 1, n_columns: 1 } },
      { arguments: { x_ptr: [3, 200], s_ptr: [3], z_ptr: [3, 128], stride: 200, n_columns: 128 } },
      { arguments: { x_ptr: [7, 65], s_ptr: [7], z_ptr: [7, 65], stride: 65, n_columns: 65 } },
    ],
    contract: "sizes rows\nx_ptr: rows * stride\ns_ptr: rows\nz_ptr: rows * n_columns\nn_columns <= stride\ngrid: rows\n",
    hints: [
      "All that is multiplied by a size must be 64 bits wide before the product.",
      "Change one line: the one that makes `row`.",
      "`row = tl.program_id(0).to(tl.int64)`.",
    ],
    start: `
    row = tl.program_id(0)
    s = tl.load(s_ptr + row)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_columns
        x = tl.load(x_ptr + row * stride + columns, mask=mask)
        tl.store(z_ptr + row * n_columns + columns, x * s, mask=mask)
`,
    solution: `
    row = tl.program_id(0).to(tl.int64)
    s = tl.load(s_ptr + row)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_columns
        x = tl.load(x_ptr + row * stride + columns, mask=mask)
        tl.store(z_ptr + row * n_columns + columns, x * s, mask=mask)
`,
  },
  {
    kernel: "sum_of_neighbours",
    title: "Races",
    text: [
      "Programs run at once and in any order. If two of them touch one element, and at least one writes it, the result depends on luck: that is a race. A race may hide for a thousand runs.",
      "The kernel in the editor scatters: each program adds its block of x to z at the left neighbour, at the same place, and at the right neighbour. At the borders of blocks, two programs read an element of z, add to it and write it back. If both read before either writes, one addition is lost.",
      "Gather instead of scattering: each program reads what it needs, wherever that is, and writes only elements of its own. Any number of programs may read the same element.",
      "The CPU device runs programs one after the other, so the result looks right here. The check for races sees it all the same.",
    ],
    drawing: {
      says: "When blocks scatter to their neighbours, two programs write the element at the border; when they gather, each writes its own.",
      rows: [
        [{ name: "scatter: z", cells: ["000xx111"], note: "both write the red ones" }],
        [{ name: "gather: read x", cells: ["00000..."] }, "→", { name: "write z", cells: ["0000...."] }],
      ],
    },
    goal: "z[i] = x[i - 1] + x[i] + x[i + 1], and nothing at the ends",
    arguments: { x_ptr: [100], z_ptr: [100], n: 100 },
    inits: { z_ptr: "zeros" },
    constexprs: { BLOCK: 32 },
    grid: "cdiv(n, BLOCK)",
    reference: "import numpy as np\n\n\ndef reference(x_ptr, **_):\n    padded = np.pad(x_ptr, 1)\n    return padded[:-2] + padded[1:-1] + padded[2:]\n",
    hidden: [
      { arguments: { x_ptr: [1], z_ptr: [1], n: 1 } },
      { arguments: { x_ptr: [64], z_ptr: [64], n: 64 } },
      { arguments: { x_ptr: [77], z_ptr: [77], n: 77 }, constexprs: { BLOCK: 16 } },
    ],
    isRaceFree: true,
    hints: [
      "Let a program own the elements i of z, and load x three times: at `i - 1`, i and `i + 1`.",
      "A place outside of x counts as zero: `mask=(at >= 0) & (at < n), other=0.0`.",
      "`total = tl.zeros((BLOCK,), tl.float32)` and, in the loop, `total += tl.load(x_ptr + i + shift, …)`. After it, one store of `total` at i with `mask=i < n`.",
    ],
    start: `
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    for shift in tl.static_range(-1, 2):
        at = i + shift
        inside = (i < n) & (at >= 0) & (at < n)
        z = tl.load(z_ptr + at, mask=inside)
        tl.store(z_ptr + at, z + x, mask=inside)
        tl.debug_barrier()  # within a program, one shift after the other
`,
    solution: `
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for shift in tl.static_range(-1, 2):
        at = i + shift
        total += tl.load(x_ptr + at, mask=(at >= 0) & (at < n), other=0.0)
    tl.store(z_ptr + i, total, mask=i < n)
`,
  },
  {
    kernel: "count_numbers",
    title: "Atomic operations",
    text: [
      "Some results need many programs to write one element, and there is nothing to gather. A histogram is such a case: each number of x adds one to a bin, and to which is not known beforehand.",
      "`tl.atomic_add(pointer, value)` reads, adds and writes in one step that nothing can come between. Then no addition is lost, neither between programs nor between lanes of one block that have the same bin.",
      "Two things to know: atomic operations on one address wait for each other, so a busy bin is slow. And floats are added in any order, so their last bits may differ from run to run; integers are exact.",
      "If this becomes the bottleneck, count within the block first, with `tl.histogram`, and add whole bins atomically.",
    ],
    drawing: {
      says: "Two programs add to bins by atomic operations; several lanes may add to one bin.",
      rows: [
        [
          { name: "x of program 0", cells: ["0000"], values: ["2 0 2 1"] },
          { name: "x of program 1", cells: ["1111"], values: ["0 2 3 2"] },
        ],
        ["atomic_add →", { name: "bins 0, 1, 2, 3", cells: ["2222"], values: ["2 1 4 1"] }],
      ],
    },
    goal: "z[b] is how often b occurs in x",
    arguments: { x_ptr: [200], z_ptr: [10], n: 200 },
    dtypes: { x_ptr: "i32", z_ptr: "i32" },
    inits: { x_ptr: "randint", z_ptr: "zeros" },
    constexprs: { BLOCK: 64 },
    grid: "cdiv(n, BLOCK)",
    reference: "import numpy as np\n\n\ndef reference(x_ptr, **_):\n    return np.bincount(x_ptr, minlength=10)\n",
    hidden: [
      { arguments: { x_ptr: [1], n: 1 } },
      { arguments: { x_ptr: [128], n: 128 } },
      { arguments: { x_ptr: [333], n: 333 }, constexprs: { BLOCK: 32 } },
    ],
    isRaceFree: true,
    hints: [
      "The numbers of x are offsets into z: `z_ptr + x` is a block of pointers.",
      "Replace the load, the addition and the store by one operation.",
      "`tl.atomic_add(z_ptr + x, 1, mask=i < n)`.",
    ],
    start: `
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    count = tl.load(z_ptr + x, mask=i < n)
    tl.store(z_ptr + x, count + 1, mask=i < n)
`,
    solution: `
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.atomic_add(z_ptr + x, 1, mask=i < n)
`,
  },
  {
    kernel: "split_k_matmul",
    title: "Split-k",
    text: [
      "A product with a small result and a long sum has few tiles: here there are four, and a GPU with a hundred multiprocessors would idle. Split-k cuts the sum itself, so that `SPLIT` programs share one tile.",
      "The third axis of the grid says which part a program has. Program p starts at block p of K and goes on in steps of `SPLIT` blocks, so the parts differ by at most one block.",
      "Each program has only a part of each sum, so the parts must be added up in memory: with `tl.atomic_add` to z, which starts as zeros. A plain store would leave the part of the program that came last.",
      "The price is more traffic to z, and sums whose last bits depend on the order. It pays when K is long and the grid is small.",
    ],
    drawing: {
      says: "Two programs share a tile of z: one adds up the even blocks of K, the other one the odd blocks.",
      rows: [
        [
          { name: "x", cells: ["010101"] },
          "@",
          { name: "y", cells: ["0", "1", "0", "1", "0", "1"] },
          "atomic_add →",
          { name: "z", cells: ["2"], note: "part 0 + part 1" },
        ],
      ],
    },
    goal: "z = x @ y, where SPLIT programs share a tile",
    arguments: { x_ptr: [32, 300], y_ptr: [300, 32], z_ptr: [32, 32], M: 32, N: 32, K: 300 },
    inits: { z_ptr: "zeros" },
    constexprs: { BM: 16, BN: 16, BK: 32, SPLIT: 4 },
    grid: "cdiv(M, BM), cdiv(N, BN), SPLIT",
    reference: MATMUL,
    hidden: [
      { arguments: { x_ptr: [16, 20], y_ptr: [20, 16], z_ptr: [16, 16], M: 16, N: 16, K: 20 } },
      { arguments: { x_ptr: [20, 256], y_ptr: [256, 40], z_ptr: [20, 40], M: 20, N: 40, K: 256 }, constexprs: { SPLIT: 2 } },
      { arguments: { x_ptr: [9, 500], y_ptr: [500, 7], z_ptr: [9, 7], M: 9, N: 7, K: 500 }, constexprs: { SPLIT: 3 } },
    ],
    isRaceFree: true,
    hints: [
      "Take the kernel of the lesson with edges. Only its loop and its store change.",
      "`for start in range(tl.program_id(2) * BK, K, SPLIT * BK):` gives each program its blocks of K.",
      "`tl.atomic_add(z_ptr + rows * N + columns, total, mask=(rows < M) & (columns < N))` instead of the store.",
    ],
    solution: `
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    columns = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(tl.program_id(2) * BK, K, SPLIT * BK):
        k = start + tl.arange(0, BK)
        below, across = k[:, None], k[None, :]
        x = tl.load(x_ptr + rows * K + across, mask=(rows < M) & (across < K), other=0.0)
        y = tl.load(y_ptr + below * N + columns, mask=(below < K) & (columns < N), other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.atomic_add(z_ptr + rows * N + columns, total, mask=(rows < M) & (columns < N))
`,
  },
];
