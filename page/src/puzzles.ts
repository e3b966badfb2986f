// The puzzles: exercises that run on the CPU device and are checked by a reference.

import type { ArgumentText, LaunchText, RequestText } from "./page_state";
import { STANDARD_TARGET } from "./targets";

/** A kernel to write, and the launch that checks it. */
export interface Exercise {
  title: string;
  task: string;
  kernel: string;
  /** Shapes of buffers (z_ptr and dx_ptr are outputs), and numbers. */
  arguments: Record<string, number[] | number>;
  /** Buffers of 32-bit integers, which hold any bits. */
  packed?: readonly string[];
  constexprs: Record<string, number>;
  grid: string;
  reference: string;
}

const B = { B0: 32, B1: 32 };
const SIZES = { N0: 100, N1: 90 };
const BLOCKS = "cdiv(N0, B0), cdiv(N1, B1)";
const NUMPY = "import numpy as np\n\n\n";

export const PUZZLES: readonly Exercise[] = [
  {
    title: "Puzzle 1: constant add",
    task: "z[i] = x[i] + 10, by one program. B0 is the size of the vector.",
    kernel: "add_ten",
    arguments: { x_ptr: [32], z_ptr: [32], N0: 32 },
    constexprs: { B0: 32 },
    grid: "1",
    reference: "def reference(x_ptr, **_):\n    return x_ptr + 10\n",
  },
  {
    title: "Puzzle 2: constant add in blocks",
    task: "z[i] = x[i] + 10. Each program computes a block of B0; 200 is not a multiple of 32.",
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
    task: "z[j, i] = x[i] + y[j]. Each program computes a block of B1 x B0.",
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
    task: "dx is the gradient of relu(x[j, i] * y[j]) with respect to x, given the gradient dz of the result.",
    kernel: "product_relu_gradient",
    arguments: { x_ptr: [90, 100], y_ptr: [90], dz_ptr: [90, 100], dx_ptr: [90, 100], ...SIZES },
    constexprs: B,
    grid: BLOCKS,
    reference: "def reference(x_ptr, y_ptr, dz_ptr, **_):\n    y = y_ptr[:, None]\n    return (x_ptr * y > 0) * dz_ptr * y\n",
  },
  {
    title: "Puzzle 7: long softmax",
    task: "The softmax of each row of TN1 elements. A program loads B1 of them at a time.",
    kernel: "long_softmax",
    arguments: { x_ptr: [4, 200], z_ptr: [4, 200], N0: 4, N1: 32, TN1: 200 },
    constexprs: { B0: 1, B1: 32 },
    grid: "N0",
    reference: NUMPY + "def reference(x_ptr, **_):\n    e = np.exp(x_ptr - x_ptr.max(1, keepdims=True))\n    return e / e.sum(1, keepdims=True)\n",
  },
  {
    title: "Puzzle 8: convolution",
    task: "z[n, i, j] is the sum of x[n, i + k, j + l] * k[k, l]. Outside of x there are zeros.",
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
    task: "z[n] = x[n] @ y[n]. Each program computes a block of B0 x B1; MID is the length of the sum.",
    kernel: "dot_kernel",
    arguments: { x_ptr: [4, 32, 32], y_ptr: [4, 32, 32], z_ptr: [4, 32, 32], N0: 32, N1: 32, N2: 4, MID: 32 },
    constexprs: { B0: 16, B1: 16, B2: 1 },
    grid: "cdiv(N0, B0), cdiv(N1, B1), N2",
    reference: "def reference(x_ptr, y_ptr, **_):\n    return x_ptr @ y_ptr\n",
  },
  {
    title: "Puzzle 10: quantized matrix multiplication",
    task: "z[n] = w @ y[n], where w[r, m] = scale[r, m // 16] * (weight - offset); both are 4-bit numbers, 8 in an i32, lowest bits first.",
    kernel: "quantized_dot",
    arguments: { scale_ptr: [64, 4], offset_ptr: [64], weight_ptr: [64, 8], y_ptr: [4, 64, 32], z_ptr: [4, 64, 32], N0: 64, N1: 32, MID: 64 },
    packed: ["offset_ptr", "weight_ptr"],
    constexprs: { B0: 16, B1: 16, B_MID: 64 },
    grid: "cdiv(N0, B0), cdiv(N1, B1), 4",
    reference:
      NUMPY +
      "def nibbles(packed):\n" +
      "    return (packed[..., None] >> 4 * np.arange(8)) & 15\n\n\n" +
      "def reference(scale_ptr, offset_ptr, weight_ptr, y_ptr, **_):\n" +
      "    weight = nibbles(weight_ptr).reshape(64, 64)\n" +
      "    offset = nibbles(offset_ptr)[:, :4]  # one of each group of 16\n" +
      "    w = scale_ptr.repeat(16, 1) * (weight - offset.repeat(16, 1))\n" +
      "    return w @ y_ptr\n",
  },
];

/** Return the initial state of an exercise: an empty kernel. */
export function exampleOf(exercise: Exercise): { title: string; request: RequestText; launch: LaunchText } {
  return { title: exercise.title, request: requestOf(exercise), launch: launchOf(exercise) };
}

function requestOf(exercise: Exercise): RequestText {
  const constexprs = Object.keys(exercise.constexprs).map((name) => `${name}: tl.constexpr`);
  const parameters = [...Object.keys(exercise.arguments), ...constexprs].join(", ");
  const source =
    `import triton\nimport triton.language as tl\n\n\n@triton.jit\n` +
    `def ${exercise.kernel}(${parameters}):\n    # ${exercise.task}\n    pass  # your turn; then “Run”\n`;
  const types = Object.entries(exercise.arguments).map(([name, value]) => [name, Array.isArray(value) ? `*${dtypeOf(exercise, name)}:16` : "i32"]);
  return {
    language: "python",
    source,
    kernel: null,
    signature: Object.fromEntries(types) as Record<string, string>,
    constexprs: texts(exercise.constexprs),
    options: {},
    target: STANDARD_TARGET,
    triton: null,
  };
}

function launchOf(exercise: Exercise): LaunchText {
  const given = Object.entries(exercise.arguments).map(([name, value]): [string, ArgumentText] => {
    const isOutput = name === "z_ptr" || name === "dx_ptr";
    const shape = Array.isArray(value) ? value.join(", ") : "";
    const dtype = shape ? dtypeOf(exercise, name) : "i32";
    const init = isOutput ? "none" : dtype === "i32" ? "bits" : "normal";
    return [name, { shape, dtype, init, value: shape ? "" : String(value), output: isOutput }];
  });
  return { grid: exercise.grid, arguments: Object.fromEntries(given), reference: exercise.reference, cases: [] };
}

function texts(values: Record<string, number>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

function dtypeOf(exercise: Exercise, name: string): string {
  return exercise.packed?.includes(name) ? "i32" : "fp32";
}
