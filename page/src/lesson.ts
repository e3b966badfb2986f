// A lesson: what it teaches, a kernel to write, and the launches that judge it.

import { launchBody } from "./launch";
import type { Drawing } from "./lesson_drawing";
import type { ArgumentText, LaunchText, RequestText } from "./page_state";
import { bodyOf, type RequestBody } from "./request";
import { STANDARD_TARGET } from "./targets";

/** The values of some arguments: shapes of buffers, and numbers. */
type Sizes = Record<string, number[] | number>;

export interface Lesson {
  /** The kernel's name, which also names the lesson in links and in the browser's storage. */
  kernel: string;
  title: string;
  /** Paragraphs; texts in backticks are code. */
  text: readonly string[];
  drawing: Drawing;
  /** The task in one line. */
  goal: string;
  /** Buffers whose names are in `outputs` are written. */
  arguments: Sizes;
  constexprs: Record<string, number>;
  /** The grid, where `ROWS` is the first extent of x_ptr. */
  grid: string;
  reference: string;
  /** Further sizes that the kernel is judged with; the learner does not see them. */
  hidden: readonly [Trial, Trial, Trial];
  /** From a first step to nearly the whole solution. */
  hints: readonly [string, string, string];
  /** The body of the kernel, or all that follows the imports, from its decorators on. */
  solution: string;
  /** The same to begin with, if it is not empty. */
  start?: string;
  /** The default: z_ptr. */
  outputs?: readonly string[];
  /** Initialisers of buffers that do not hold normal numbers; outputs among them are updated in place. */
  inits?: Record<string, string>;
  /** The types of arguments, if they are not fp32 buffers and i32 numbers. */
  dtypes?: Record<string, string>;
  /** True if its task is about races, and so its text names them. */
  isRaceFree?: boolean;
  /** The contract under which the kernel must be proved; see docs/reference/proofs.md. */
  contract?: string;
  /** The fewest configurations of its autotuner, all of which are judged. */
  configurations?: number;
}

/** Changes of a lesson's sizes. */
export interface Trial {
  arguments?: Sizes;
  constexprs?: Record<string, number>;
}

const IMPORTS = "import triton\nimport triton.language as tl\n\n\n";
export const EMPTY = "pass  # your turn, then Run";
const WIDEST = 62;
const WIDEST_COMMENT = 52;

/** Return the text that a lesson begins with. */
export function startOf(lesson: Lesson): string {
  return sourceOf(lesson, lesson.start ?? `${comment(lesson.goal)}    ${EMPTY}\n`);
}

/** Return the text that solves a lesson. */
export function solutionOf(lesson: Lesson): string {
  return sourceOf(lesson, lesson.solution);
}

/** A comment of lines that are read without scrolling. */
function comment(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1)!.length + word.length > WIDEST_COMMENT) lines.push("");
    lines[lines.length - 1] += ` ${word}`;
  }
  return lines.map((line) => `    #${line}\n`).join("");
}

function sourceOf(lesson: Lesson, code: string): string {
  const text = code.replace(/^\n/, "");
  if (text.startsWith("@")) return IMPORTS + text;
  const values = Object.keys(lesson.arguments).join(", ");
  const constexprs = Object.keys(lesson.constexprs).map((name) => `${name}: tl.constexpr`).join(", ");
  const parameters = [values, constexprs].filter(Boolean).join(", ");
  const isLong = `def ${lesson.kernel}(${parameters}):`.length > WIDEST;
  const written = isLong ? `\n    ${values},\n    ${constexprs},\n` : parameters;
  return `${IMPORTS}@triton.jit\ndef ${lesson.kernel}(${written}):\n${text}`;
}

/** Return what the explorer's forms would hold for `source` at the sizes of a trial. */
export function requestOf(lesson: Lesson, source: string, trial: Trial = {}): RequestText {
  const types = Object.entries(lesson.arguments).map(([name, value]) => [name, Array.isArray(value) ? `*${dtypeOf(lesson, name)}:16` : dtypeOf(lesson, name)]);
  const constexprs = Object.entries({ ...lesson.constexprs, ...trial.constexprs }).map(([name, value]) => [name, String(value)]);
  return {
    language: "python",
    source,
    kernel: lesson.kernel,
    signature: Object.fromEntries(types) as Record<string, string>,
    constexprs: Object.fromEntries(constexprs) as Record<string, string>,
    options: {},
    target: STANDARD_TARGET,
    triton: null,
  };
}

/** Return the launch of a lesson, or of one of its trials. */
export function launchOf(lesson: Lesson, trial: Trial = {}): LaunchText {
  const outputs = lesson.outputs ?? ["z_ptr"];
  const sizes = { ...lesson.arguments, ...trial.arguments };
  const rows = Array.isArray(sizes.x_ptr) ? sizes.x_ptr[0] : 1;
  const given = Object.entries(sizes).map(([name, value]): [string, ArgumentText] => {
    const isOutput = outputs.includes(name);
    const dtype = dtypeOf(lesson, name);
    if (!Array.isArray(value)) return [name, { shape: "", dtype, init: "none", value: String(value), output: false }];
    const init = lesson.inits?.[name] ?? (isOutput ? "none" : "normal");
    return [name, { shape: value.join(", "), dtype, init, value: "", output: isOutput }];
  });
  return { grid: lesson.grid.replace("ROWS", String(rows)), arguments: Object.fromEntries(given), reference: lesson.reference, cases: [] };
}

/** Return the body of POST /v1/launches for `source` at the sizes of a trial. */
export function trialBody(lesson: Lesson, source: string, trial: Trial = {}): RequestBody {
  return launchBody(launchOf(lesson, trial), bodyOf(requestOf(lesson, source, trial)), "cpu");
}

/** Return the body of POST /v1/proofs for a lesson with a contract. */
export function proofBody(lesson: Lesson, source: string): RequestBody {
  const { compilation, arguments: given } = trialBody(lesson, source) as { compilation: RequestBody; arguments: RequestBody };
  const signature = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value && typeof value === "object" ? `*${(value as { dtype: string }).dtype}` : "i32"]));
  return { ...compilation, signature, contract: lesson.contract };
}

/** Return the body of POST /v1/sweeps that runs all configurations of the kernel's autotuner at all sizes. */
export function sweepBody(lesson: Lesson, source: string): RequestBody {
  const base = trialBody(lesson, source) as { compilation: RequestBody };
  const { constexprs: _, ...compilation } = base.compilation;
  const labelled = Object.fromEntries([{}, ...lesson.hidden].map((trial, index) => [index ? `hidden sizes ${index}` : "sizes of the lesson", trialBody(lesson, source, trial).arguments]));
  return { base: { ...base, compilation }, space: { autotune: true, arguments: labelled } };
}

/** Return the type of an argument. */
export function dtypeOf(lesson: Lesson, name: string): string {
  return lesson.dtypes?.[name] ?? (Array.isArray(lesson.arguments[name]) ? "fp32" : "i32");
}

/** Return the sizes of a trial in words. */
export function sizesOf(lesson: Lesson, trial: Trial): string {
  const shapes = Object.entries({ ...lesson.arguments, ...trial.arguments }).map(([name, value]) => (Array.isArray(value) ? `${name} [${value.join(", ")}]` : `${name} = ${value}`));
  const constexprs = Object.entries({ ...lesson.constexprs, ...trial.constexprs }).map(([name, value]) => `${name} = ${value}`);
  return [...shapes, ...constexprs].join(", ");
}
