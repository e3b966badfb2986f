// The puzzles: exercises that run on the CPU device and say whether they are solved.

import type { ArgumentText, LaunchText, RequestText } from "./page_state";

interface Puzzle {
  title: string;
  task: string;
  kernel: string;
  /** Shapes of buffers (z_ptr and dx_ptr are written), numbers for the rest. */
  arguments: Record<string, number[] | number>;
  constexprs: Record<string, number>;
  grid: string;
  reference: string;
}

const B = { B0: 32, B1: 32 };
const SIZES = { N0: 100, N1: 90 };
const BLOCKS = "cdiv(N0, B0), cdiv(N1, B1)";
const NUMPY = "import numpy as np\n\n\n";

const PUZZLES: readonly Puzzle[] = [
  {
    title: "Puzzle 1: constant add",
    task: "z[i] = x[i] + 10, by one program; B0 is as large as the vector.",
    kernel: "add_ten",
    arguments: { x_ptr: [32], z_ptr: [32], N0: 32 },
    constexprs: { B0: 32 },
    grid: "1",
    reference: "def reference(x_ptr, **_):\n    return x_ptr + 10\n",
  },
  {
    title: "Puzzle 2: constant add in blocks",
    task: "z[i] = x[i] + 10, each program a block of B0; 200 is no multiple of 32.",
    kernel: "add_ten_in_blocks",
    arguments: { x_ptr: [200], z_ptr: [200], N0: 200 },
    constexprs: { B0: 32 },
    grid: "cdiv(N0, B0)",
    reference: "def reference(x_ptr, **_):\n    return x_ptr + 10\n",
  },
  {
    title: "Puzzle 3: outer sum",
    task: "z[j, i] = x[i] + y[j], by one program.",
    kernel: "outer_sum",
    arguments: { x_ptr: [32], y_ptr: [32], z_ptr: [32, 32], N0: 32, N1: 32 },
    constexprs: B,
    grid: "1",
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr[:, None]\n",
  },
  {
    title: "Puzzle 4: outer sum in blocks",
    task: "z[j, i] = x[i] + y[j], each program a block of B1 x B0.",
    kernel: "outer_sum_in_blocks",
    arguments: { x_ptr: [100], y_ptr: [90], z_ptr: [90, 100], ...SIZES },
    constexprs: B,
    grid: BLOCKS,
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr[:, None]\n",
  },
  {
    title: "Puzzle 5: fused multiply and ReLU",
    task: "z[j, i] = relu(x[i] * y[j]).",
    kernel: "outer_product_relu",
    arguments: { x_ptr: [100], y_ptr: [90], z_ptr: [90, 100], ...SIZES },
    constexprs: B,
    grid: BLOCKS,
    reference: NUMPY + "def reference(x_ptr, y_ptr, **_):\n    return np.maximum(x_ptr * y_ptr[:, None], 0)\n",
  },
  {
    title: "Puzzle 6: its gradient",
    task: "dx is the gradient of relu(x[j, i] * y[j]) by x, where dz comes from behind.",
    kernel: "product_relu_gradient",
    arguments: { x_ptr: [90, 100], y_ptr: [90], dz_ptr: [90, 100], dx_ptr: [90, 100], ...SIZES },
    constexprs: B,
    grid: BLOCKS,
    reference: "def reference(x_ptr, y_ptr, dz_ptr, **_):\n    y = y_ptr[:, None]\n    return (x_ptr * y > 0) * dz_ptr * y\n",
  },
  {
    title: "Puzzle 7: long softmax",
    task: "The softmax of each row of TN1 elements, of which a program sees B1 at a time.",
    kernel: "long_softmax",
    arguments: { x_ptr: [4, 200], z_ptr: [4, 200], N0: 4, N1: 32, TN1: 200 },
    constexprs: { B0: 1, B1: 32 },
    grid: "N0",
    reference: NUMPY + "def reference(x_ptr, **_):\n    e = np.exp(x_ptr - x_ptr.max(1, keepdims=True))\n    return e / e.sum(1, keepdims=True)\n",
  },
  {
    title: "Puzzle 8: convolution",
    task: "z[n, i, j] is the sum of x[n, i + k, j + l] * k[k, l]; outside of x is zero.",
    kernel: "convolution",
    arguments: { x_ptr: [4, 8, 8], k_ptr: [4, 4], z_ptr: [4, 8, 8], N0: 4, H: 8, W: 8 },
    constexprs: { KH: 4, KW: 4 },
    grid: "N0",
    reference:
      NUMPY +
      "def reference(x_ptr, k_ptr, **_):\n" +
      "    padded = np.pad(x_ptr, ((0, 0), (0, 3), (0, 3)))\n" +
      "    windows = np.lib.stride_tricks.sliding_window_view(padded, (4, 4), axis=(1, 2))\n" +
      '    return np.einsum("nijkl,kl->nij", windows, k_ptr)\n',
  },
  {
    title: "Puzzle 9: batched matrix multiplication",
    task: "z[n] = x[n] @ y[n], each program a block of B0 x B1; MID is what is summed over.",
    kernel: "dot_kernel",
    arguments: { x_ptr: [4, 32, 32], y_ptr: [4, 32, 32], z_ptr: [4, 32, 32], N0: 32, N1: 32, N2: 4, MID: 32 },
    constexprs: { B0: 16, B1: 16, B2: 1 },
    grid: "cdiv(N0, B0), cdiv(N1, B1), N2",
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr @ y_ptr\n",
  },
];

/** The puzzles as examples, each with the launch that tries it. */
export const PUZZLE_EXAMPLES = PUZZLES.map((puzzle) => ({
  title: puzzle.title,
  request: requestOf(puzzle),
  launch: launchOf(puzzle),
}));

function requestOf(puzzle: Puzzle): RequestText {
  const constexprs = Object.keys(puzzle.constexprs).map((name) => `${name}: tl.constexpr`);
  const parameters = [...Object.keys(puzzle.arguments), ...constexprs].join(", ");
  const source =
    `import triton\nimport triton.language as tl\n\n\n@triton.jit\n` +
    `def ${puzzle.kernel}(${parameters}):\n    # ${puzzle.task}\n    pass  # your turn; then “Run”\n`;
  const types = Object.entries(puzzle.arguments).map(([name, value]) => [name, Array.isArray(value) ? "*fp32:16" : "i32"]);
  return {
    language: "python",
    source,
    kernel: null,
    signature: Object.fromEntries(types) as Record<string, string>,
    constexprs: texts(puzzle.constexprs),
    options: {},
    target: "cuda:90",
    triton: null,
  };
}

function launchOf(puzzle: Puzzle): LaunchText {
  const given = Object.entries(puzzle.arguments).map(([name, value]): [string, ArgumentText] => {
    const isOutput = name === "z_ptr" || name === "dx_ptr";
    const shape = Array.isArray(value) ? value.join(", ") : "";
    const dtype = shape ? "fp32" : "i32";
    return [name, { shape, dtype, init: isOutput ? "none" : "normal", value: shape ? "" : String(value), output: isOutput }];
  });
  return { grid: puzzle.grid, arguments: Object.fromEntries(given), reference: puzzle.reference };
}

function texts(values: Record<string, number>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}
