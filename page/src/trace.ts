// A launch on the CPU device with its trace: each access of its programs, and what they computed.

import { ask, post } from "./api";
import { extentsOf } from "./grid_expression";
import type { Finding } from "./run_pane";
import type { RequestBody } from "./request";

const MOST_PROGRAMS = 64;
const MOST_ACCESSES = 4000;
/** Elements of an output whose values are asked for. */
const MOST_VALUES = 16_384;

/** A load, store or atomic operation; of each lane its index in the argument, null where it is masked. */
export interface Access {
  program: number[];
  line: number | null;
  op: string;
  argument: string;
  shape: number[];
  indices: (number[] | null)[];
  mask: boolean[];
}

/** A value that a program made, after so many `accesses` of all. */
export interface Step {
  accesses: number;
  program: number[];
  line: number;
  op: string;
  name: string | null;
  dtype: string;
  shape: number[];
  values: unknown[];
}

export interface Traced {
  accesses: Access[];
  steps: Step[];
  truncated: boolean;
  findings: Finding[];
  /** Of the buffers. */
  shapes: Map<string, number[]>;
  /** The elements of outputs when all was over, in their order. */
  written: Map<string, unknown[]>;
  /** Programs of the grid, of which so many were chosen. */
  programs: number | null;
  chosen: number;
  problem: string | null;
  /** The number of each program of the accesses, in their order. */
  programOrder: Map<string, number>;
}

/** What the service kept of a launch. */
interface Kept {
  accesses: Access[];
  steps: Step[];
  truncated: boolean;
  steps_truncated: boolean;
}

const NOTHING_KEPT: Kept = { accesses: [], steps: [], truncated: false, steps_truncated: false };

interface Answer {
  url: string;
  state: string;
  findings: Finding[];
  outputs: Record<string, { values?: unknown }> | null;
  problem: { title: string; detail: string } | null;
}

/** Launch `body` on the CPU device and return what happened. Raises ProblemAnswered. */
export async function traced(body: RequestBody): Promise<Traced> {
  const { constexprs } = body.compilation as { constexprs?: Record<string, unknown> };
  const extents = extentsOf(body.grid as (number | string)[], { ...(body.arguments as object), ...constexprs });
  const programs = extents && sizeOf(extents);
  const trace = await tracedOf(body, programsOf(extents), programs);
  const wrong = outOfBounds(trace)?.program;
  if (!wrong || String(trace.accesses.at(-1)?.program) === String(wrong)) return trace;
  // what is wrong is in a program, or behind so many accesses, that it was not kept
  return tracedOf(body, [wrong], programs);
}

/** Return what says that an access was out of bounds. */
export function outOfBounds({ findings }: Traced): Finding | undefined {
  return findings.find(({ kind }) => kind === "out_of_bounds");
}

async function tracedOf(body: RequestBody, chosen: number[][], programs: number | null): Promise<Traced> {
  const given = body.arguments as Record<string, { shape?: number[]; output?: boolean } | number>;
  const buffers = Object.entries(given).flatMap(([name, value]) => (typeof value === "object" && value?.shape ? [{ name, shape: value.shape, output: value.output }] : []));
  const small = buffers.filter(({ shape, output }) => output && sizeOf(shape) <= MOST_VALUES);
  const { reference: _, timing: __, ...plain } = body;
  const answer = await launched({
    ...plain,
    device: "interpreter",
    trace: { programs: chosen, max_accesses: MOST_ACCESSES, values: true },
    return: Object.fromEntries(small.map(({ name }) => [name, "values"])),
  });
  const kept = answer.problem ? NOTHING_KEPT : ((await (await ask(`${answer.url}/trace`)).json()) as Kept);
  return {
    accesses: kept.accesses,
    steps: kept.steps,
    truncated: kept.truncated || kept.steps_truncated,
    findings: answer.findings ?? [],
    shapes: new Map(buffers.map(({ name, shape }) => [name, shape])),
    written: new Map(Object.entries(answer.outputs ?? {}).map(([name, { values }]) => [name, flat(values)])),
    programs,
    chosen: chosen.length,
    problem: answer.problem ? `${answer.problem.title}: ${answer.problem.detail}` : null,
    programOrder: new Map([...new Set(kept.accesses.map(({ program }) => String(program)))].map((program, index) => [program, index])),
  };
}

async function launched(launch: RequestBody): Promise<Answer> {
  let answer = (await (await post("v1/launches", launch)).json()) as Answer;
  while (answer.state === "queued" || answer.state === "running") {
    answer = (await (await ask(`${answer.url}?wait=30`)).json()) as Answer;
  }
  return answer;
}

/** Return the values that a load got, by lane, where they were kept. */
export function loadedBy(trace: Traced, number: number): unknown[] | null {
  const program = String(trace.accesses[number]?.program);
  const made = trace.steps.find((step) => step.accesses === number + 1 && String(step.program) === program);
  return made && /load|atomic/.test(made.op) ? made.values : null;
}

/** Return what the program of an access computed since its access before. */
export function computedBefore(trace: Traced, number: number): Step[] {
  const program = String(trace.accesses[number]?.program);
  return trace.steps.filter((step) => step.accesses === number && String(step.program) === program);
}

/** Whether an index is one of an array of this shape. */
export function isInside(index: readonly number[], shape: readonly number[]): boolean {
  return index.length === shape.length && index.every((each, axis) => each >= 0 && each < shape[axis]!);
}

/** Return the number of elements. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, extent) => size * extent, 1);
}

/** Return an element's number in row-major order. */
export function numberOf(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((number, each, axis) => number * shape[axis]! + each, 0);
}

function programsOf(extents: number[] | null): number[][] {
  const [x, y, z] = extents ?? [1, 1, 1];
  const programs: number[][] = [];
  for (let number = 0; number < Math.min(x! * y! * z!, MOST_PROGRAMS); number += 1) {
    programs.push([number % x!, Math.floor(number / x!) % y!, Math.floor(number / (x! * y!))]);
  }
  return programs;
}

function flat(values: unknown): unknown[] {
  return Array.isArray(values) ? (values.flat(Infinity) as unknown[]) : [];
}
