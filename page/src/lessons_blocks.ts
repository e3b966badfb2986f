// Lessons on programs, blocks, pointers, masks and broadcasting: the first six puzzles.

import type { Lesson } from "./lesson";

const BLOCKS = "cdiv(N0, B0), cdiv(N1, B1)";
const MATRIX_SIZES: Lesson["hidden"] = [
  { arguments: { x_ptr: [33], y_ptr: [64], z_ptr: [64, 33], N0: 33, N1: 64 } },
  { arguments: { x_ptr: [64], y_ptr: [1], z_ptr: [1, 64], N0: 64, N1: 1 } },
  { arguments: { x_ptr: [7], y_ptr: [130], z_ptr: [130, 7], N0: 7, N1: 130 } },
];

export const BLOCK_LESSONS: readonly Lesson[] = [
  {
    kernel: "add_ten",
    title: "Constant add",
    text: [
      "A Triton kernel is a function that a GPU runs many times at once; each of these runs is a program. Here there is one program. It handles a whole block of numbers together, so you write no loop over them.",
      "`x_ptr` is a pointer: the address of the first number of x. `tl.arange(0, B0)` is the block 0, 1, 2, … up to `B0 - 1`, and a pointer plus a block of offsets is a block of pointers. `tl.load` reads through all of them at once, arithmetic works on whole blocks, and `tl.store` writes a block.",
      "The size of a block is a power of two and must be known when the kernel is compiled: `tl.constexpr` marks such a value.",
    ],
    drawing: {
      says: "One program loads the block x, adds 10 to each element, and stores the block z.",
      rows: [[{ name: "x_ptr + arange(0, 8)", cells: ["00000000"], values: ["3 1 4 1 5 9 2 6"] }], ["+ 10 ="], [{ name: "z_ptr + arange(0, 8)", cells: ["00000000"], values: ["13 11 14 11 15 19 12 16"] }]],
    },
    goal: "z[i] = x[i] + 10, by one program",
    arguments: { x_ptr: [32], z_ptr: [32], N0: 32 },
    constexprs: { B0: 32 },
    grid: "1",
    reference: "def reference(x_ptr, **_):\n    return x_ptr + 10\n",
    hidden: [16, 64, 128].map((size) => ({ arguments: { x_ptr: [size], z_ptr: [size], N0: size }, constexprs: { B0: size } })) as unknown as Lesson["hidden"],
    hints: [
      "One program sees the whole vector: its offsets are `tl.arange(0, B0)`.",
      "Load through `x_ptr + offsets`, add 10, and store through `z_ptr + offsets`.",
      "`x = tl.load(x_ptr + offsets)`, and then `tl.store(z_ptr + offsets, x + 10)`.",
    ],
    solution: `
    offsets = tl.arange(0, B0)
    x = tl.load(x_ptr + offsets)
    tl.store(z_ptr + offsets, x + 10)
`,
  },
  {
    kernel: "add_ten_in_blocks",
    title: "Constant add in blocks",
    text: [
      "A vector may be longer than a block. Then several programs share the work, each with a block of its own. The grid says how many there are: `cdiv(N0, B0)`, the quotient rounded up.",
      "All programs run the same code. `tl.program_id(0)` tells a program its number, so program 3 begins after three blocks.",
      "200 is not a multiple of 32, so the last block reaches beyond the end. A mask is a block of true and false: where it is false, `tl.load` reads nothing and `tl.store` writes nothing. Without a mask, a GPU would read and overwrite memory that belongs to something else.",
    ],
    drawing: {
      says: "Three programs have a block of four offsets each; of the last block, the offsets beyond the end of x are masked.",
      rows: [
        [
          { name: "program 0", cells: ["0000"], values: ["0 1 2 3"] },
          { name: "program 1", cells: ["1111"], values: ["4 5 6 7"] },
          { name: "program 2", cells: ["22mm"], values: ["8 9 10 11"] },
        ],
        [{ name: "x, with N0 = 10", cells: ["0000111122"], values: ["0 1 2 3 4 5 6 7 8 9"] }],
      ],
    },
    goal: "z[i] = x[i] + 10, a block of B0 in each program",
    arguments: { x_ptr: [200], z_ptr: [200], N0: 200 },
    constexprs: { B0: 32 },
    grid: "cdiv(N0, B0)",
    reference: "def reference(x_ptr, **_):\n    return x_ptr + 10\n",
    hidden: [
      { arguments: { x_ptr: [1], z_ptr: [1], N0: 1 } },
      { arguments: { x_ptr: [64], z_ptr: [64], N0: 64 } },
      { arguments: { x_ptr: [99], z_ptr: [99], N0: 99 }, constexprs: { B0: 64 } },
    ],
    hints: [
      "The offsets of a program begin at its number times `B0`.",
      "Compare the offsets with `N0`: that is the mask. Both the load and the store need it.",
      "`offsets = tl.program_id(0) * B0 + tl.arange(0, B0)`, and `mask=offsets < N0` in both.",
    ],
    solution: `
    offsets = tl.program_id(0) * B0 + tl.arange(0, B0)
    mask = offsets < N0
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(z_ptr + offsets, x + 10, mask=mask)
`,
  },
  {
    kernel: "outer_sum",
    title: "Outer sum",
    text: [
      "Blocks may have two axes. `[None, :]` makes a row of a vector and `[:, None]` makes a column. An operation on a row and a column gives a matrix: both are repeated until their shapes agree, which is called broadcasting.",
      "Memory has one axis only. A matrix lies there row by row, so the element in row j and column i of a matrix with `N0` columns is at `j * N0 + i`. With a row of i and a column of j, this expression is a matrix of offsets.",
      "One store through this matrix of pointers writes the whole result.",
    ],
    drawing: {
      says: "A row of x and a column of y are broadcast to a matrix, which holds the sum of each pair.",
      rows: [
        [
          { name: "y[:, None]", cells: ["1", "1", "1"], values: ["10", "20", "30"] },
          "+",
          { name: "x[None, :]", cells: ["0000"], values: ["1 2 3 4"] },
          "=",
          { name: "z", cells: ["2222", "2222", "2222"], values: ["11 12 13 14", "21 22 23 24", "31 32 33 34"] },
        ],
      ],
    },
    goal: "z[j, i] = x[i] + y[j], by one program",
    arguments: { x_ptr: [32], y_ptr: [32], z_ptr: [32, 32], N0: 32, N1: 32 },
    constexprs: { B0: 32, B1: 32 },
    grid: "1",
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr[:, None]\n",
    hidden: [
      [16, 32],
      [64, 16],
      [8, 128],
    ].map(([across, down]) => ({
      arguments: { x_ptr: [across], y_ptr: [down], z_ptr: [down, across], N0: across, N1: down },
      constexprs: { B0: across, B1: down },
    })) as unknown as Lesson["hidden"],
    hints: [
      "You need two ranges: i along x and j along y.",
      "`tl.arange(0, B0)[None, :]` is a row, `tl.arange(0, B1)[:, None]` is a column.",
      "Load x with the row i and y with the column j, then `tl.store(z_ptr + j * N0 + i, x + y)`.",
    ],
    solution: `
    i = tl.arange(0, B0)[None, :]
    j = tl.arange(0, B1)[:, None]
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + j)
    tl.store(z_ptr + j * N0 + i, x + y)
`,
  },
  {
    kernel: "outer_sum_in_blocks",
    title: "Outer sum in blocks",
    text: [
      "A large matrix is cut into tiles, and each program computes one. The grid now has two axes: `tl.program_id(0)` counts tiles across, `tl.program_id(1)` counts tiles down.",
      "Tiles at the right edge and at the bottom reach beyond the matrix. A load of x depends on i alone and needs the mask of i; a load of y needs that of j. The store needs both: `(i < N0) & (j < N1)`, where broadcasting makes a matrix of the two masks.",
      "Mind the parentheses, since `&` binds more tightly than `<`. Python's `and` does not work on blocks.",
    ],
    drawing: {
      says: "A matrix of five rows and six columns is covered by four tiles of four by four; what reaches beyond the matrix is masked.",
      rows: [[{ name: "z, 5 by 6, in tiles of 4 by 4", cells: ["000011mm", "000011mm", "000011mm", "000011mm", "222233mm", "mmmmmmmm", "mmmmmmmm", "mmmmmmmm"], note: "program (0, 0), (1, 0), (0, 1), (1, 1)" }]],
    },
    goal: "z[j, i] = x[i] + y[j], a tile of B1 x B0 in each program",
    arguments: { x_ptr: [100], y_ptr: [90], z_ptr: [90, 100], N0: 100, N1: 90 },
    constexprs: { B0: 32, B1: 32 },
    grid: BLOCKS,
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr[:, None]\n",
    hidden: MATRIX_SIZES,
    hints: [
      "This is the last lesson with the masks of the one before, along two axes.",
      "`i = tl.program_id(0) * B0 + tl.arange(0, B0)[None, :]`, and j likewise as a column.",
      "Load with `mask=i < N0` and `mask=j < N1`; store with `mask=(i < N0) & (j < N1)`.",
    ],
    solution: `
    i = tl.program_id(0) * B0 + tl.arange(0, B0)[None, :]
    j = tl.program_id(1) * B1 + tl.arange(0, B1)[:, None]
    x = tl.load(x_ptr + i, mask=i < N0)
    y = tl.load(y_ptr + j, mask=j < N1)
    tl.store(z_ptr + j * N0 + i, x + y, mask=(i < N0) & (j < N1))
`,
  },
  {
    kernel: "outer_product_relu",
    title: "Fused multiply and ReLU",
    text: [
      "Most kernels wait for memory, not for arithmetic. A product and a ReLU in two kernels would write the product to memory, and read it back just to replace its negative numbers by zero.",
      "A fused kernel does both while the numbers are in registers, so the second operation is nearly free. This is the main reason to write kernels of your own.",
      "There is no `if` for the elements of a block. Instead, `tl.where(condition, a, b)` takes from a where the condition is true and from b elsewhere, and `tl.maximum(a, b)` is the larger one, element by element.",
    ],
    drawing: {
      says: "The product of x and y stays in registers; what is negative becomes zero before the only store.",
      rows: [
        [
          { name: "x * y", cells: ["0000"], values: ["6 -3 2 -8"], note: "in registers" },
          "→ ReLU →",
          { name: "z", cells: ["2.2."], values: ["6 0 2 0"], note: "in memory" },
        ],
      ],
    },
    goal: "z[j, i] = relu(x[i] * y[j])",
    arguments: { x_ptr: [100], y_ptr: [90], z_ptr: [90, 100], N0: 100, N1: 90 },
    constexprs: { B0: 32, B1: 32 },
    grid: BLOCKS,
    reference: "import numpy as np\n\n\ndef reference(x_ptr, y_ptr, **_):\n    return np.maximum(x_ptr * y_ptr[:, None], 0)\n",
    hidden: MATRIX_SIZES,
    hints: [
      "Only the computation differs from the last lesson.",
      "ReLU keeps what is positive and makes zero of the rest: `tl.maximum` does that for a block.",
      "`z = tl.maximum(x * y, 0.0)`, stored under both masks.",
    ],
    solution: `
    i = tl.program_id(0) * B0 + tl.arange(0, B0)[None, :]
    j = tl.program_id(1) * B1 + tl.arange(0, B1)[:, None]
    x = tl.load(x_ptr + i, mask=i < N0)
    y = tl.load(y_ptr + j, mask=j < N1)
    z = tl.maximum(x * y, 0.0)
    tl.store(z_ptr + j * N0 + i, z, mask=(i < N0) & (j < N1))
`,
  },
  {
    kernel: "product_relu_gradient",
    title: "The gradient of multiply and ReLU",
    text: [
      "Training needs the gradient of each kernel. Here z = relu(x * y), x is a matrix now, and `dz_ptr` holds the gradient of the loss with respect to z.",
      "By the chain rule, the gradient with respect to x is `dz * y` where `x * y` is positive. Elsewhere z is constant, so the gradient is zero.",
      "The kernel computes `x * y` again instead of reading it: that is cheaper than memory. Its matrices x and dz lie row by row like dx, so one matrix of offsets serves all three. Only y is a column.",
    ],
    drawing: {
      says: "Where x times y is positive, dx is dz times y; elsewhere it is zero.",
      rows: [
        [
          { name: "x * y", cells: ["0.0."], values: ["6 -3 2 -8"] },
          { name: "dz * y", cells: ["1111"], values: ["4 7 -5 1"] },
          "→",
          { name: "dx", cells: ["2.2."], values: ["4 0 -5 0"] },
        ],
      ],
    },
    goal: "dx is dz * y[j] where x * y[j] > 0, and 0 elsewhere",
    arguments: { x_ptr: [90, 100], y_ptr: [90], dz_ptr: [90, 100], dx_ptr: [90, 100], N0: 100, N1: 90 },
    constexprs: { B0: 32, B1: 32 },
    outputs: ["dx_ptr"],
    grid: BLOCKS,
    reference: "def reference(x_ptr, y_ptr, dz_ptr, **_):\n    y = y_ptr[:, None]\n    return (x_ptr * y > 0) * dz_ptr * y\n",
    hidden: [
      [33, 64],
      [64, 1],
      [7, 130],
    ].map(([across, down]) => ({
      arguments: { x_ptr: [down, across], y_ptr: [down], dz_ptr: [down, across], dx_ptr: [down, across], N0: across, N1: down },
    })) as unknown as Lesson["hidden"],
    hints: [
      "Begin with i, j and the masks of the last lesson, and name the offsets: `at = j * N0 + i`.",
      "Load x and dz at `at` with both masks, and y at j with the mask of j.",
      "`dx = tl.where(x * y > 0, dz * y, 0.0)`, stored to `dx_ptr + at`.",
    ],
    solution: `
    i = tl.program_id(0) * B0 + tl.arange(0, B0)[None, :]
    j = tl.program_id(1) * B1 + tl.arange(0, B1)[:, None]
    at = j * N0 + i
    both = (i < N0) & (j < N1)
    x = tl.load(x_ptr + at, mask=both)
    dz = tl.load(dz_ptr + at, mask=both)
    y = tl.load(y_ptr + j, mask=j < N1)
    tl.store(dx_ptr + at, tl.where(x * y > 0, dz * y, 0.0), mask=both)
`,
  },
];
