// A launch on the CPU device with its trace: the accesses and values of its programs.

import { ask } from "./api";
import { extentsOf } from "./grid_expression";
import { launched, type Finding, type Launch, type Output } from "./launched";
import type { RequestBody } from "./request";

const MOST_PROGRAMS = 64;
const MOST_ACCESSES = 4000;
/** The maximum number of requested elements of an output. */
const MOST_VALUES = 16_384;

/** A load, store or atomic operation, with the index of each lane in the argument; null if masked. */
export interface Access {
  program: number[];
  line: number | null;
  op: string;
  argument: string;
  shape: number[];
  indices: (number[] | null)[];
  mask: boolean[];
}

/** A value that a program computed after `accesses` accesses in total. */
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
  /** True if later accesses are not stored. */
  truncated: boolean;
  findings: Finding[];
  /** By buffer. */
  shapes: Map<string, number[]>;
  /** The final elements of outputs, in order, and those that the reference expects. */
  written: Map<string, unknown[]>;
  expected: Map<string, unknown[]>;
  /** By output, the numbers of the elements that do not match the reference. */
  wrong: Map<string, Set<number>>;
  /** By access, the loaded values of its lanes, if stored. */
  loaded: Map<number, unknown[]>;
  /** By output, the last access that wrote each element. */
  writers: Map<string, Map<number, number>>;
  /** The number of programs in the grid, and of traced ones. */
  programs: number | null;
  chosen: number;
  problem: string | null;
  /** The number of each program with accesses, in order. */
  programOrder: Map<string, number>;
}

/** The trace that the service stores for a launch. */
interface Kept {
  accesses: Access[];
  steps: Step[];
  truncated: boolean;
  steps_truncated: boolean;
}

const NOTHING_KEPT: Kept = { accesses: [], steps: [], truncated: false, steps_truncated: false };

/** Return a launch that traces the first programs of its grid on the CPU device. */
export function tracing(body: RequestBody, programs = programsOf(extents(body))): RequestBody {
  const small = buffersOf(body).filter(({ shape, output }) => output && sizeOf(shape) <= MOST_VALUES);
  return {
    ...body,
    device: "cpu",
    trace: { programs, max_accesses: MOST_ACCESSES, values: true },
    return: { ...(body.return as object | undefined), ...Object.fromEntries(small.map(({ name }) => [name, "values"])) },
  };
}

/** Launch `body` on the CPU device and return its trace. Raises ProblemAnswered. */
export async function traced(body: RequestBody): Promise<Traced> {
  const { reference: _, timing: __, profile: ___, ...plain } = body;
  return tracedOf(plain, await launched(tracing(plain)));
}

/** Return the trace of a launch of `tracing(body)`. Raises ProblemAnswered. */
export async function tracedOf(body: RequestBody, launch: Launch): Promise<Traced> {
  const chosen = programsOf(extents(body));
  const trace = await read(body, launch, chosen);
  const bad = badAccess(trace);
  if (!bad?.program || accessOf(trace, bad) >= 0) return trace;
  // the error is in a program or after so many accesses that it was not stored
  return read(body, await launched(tracing(body, [bad.program])), [bad.program]);
}

/** Return the first finding that is about one access: it leaves its array, or races with another. */
export function badAccess({ findings }: Traced): Finding | undefined {
  return findings.find(({ kind }) => kind === "out_of_bounds" || kind === "race");
}

/** Return the number of the access that a finding is about, -1 if it is not stored. */
export function accessOf({ accesses }: Traced, { program, line, argument, index }: Finding): number {
  const isOfFinding = (access: Access): boolean => String(access.program) === String(program) && access.line === line && access.argument === argument;
  return accesses.findIndex((access) => isOfFinding(access) && access.indices.some((each) => String(each) === String(index)));
}

async function read(body: RequestBody, launch: Launch, chosen: number[][]): Promise<Traced> {
  const kept = launch.problem ? NOTHING_KEPT : ((await (await ask(`${launch.url}/trace`)).json()) as Kept);
  const all = extents(body);
  const outputs = Object.entries(launch.outputs ?? {});
  const shapes = new Map(buffersOf(body).map(({ name, shape }) => [name, shape]));
  return {
    accesses: kept.accesses,
    steps: kept.steps,
    truncated: kept.truncated,
    findings: launch.findings ?? [],
    shapes,
    written: new Map(outputs.map(([name, { values }]) => [name, flat(values)])),
    expected: new Map(outputs.map(([name, { expected }]) => [name, flat(expected)])),
    wrong: new Map(outputs.map(([name, output]) => [name, wrongIn(output)])),
    loaded: loadedBy(kept),
    writers: writersOf(kept, shapes),
    programs: all && sizeOf(all),
    chosen: chosen.length,
    problem: launch.problem ? `${launch.problem.title}: ${launch.problem.detail}` : null,
    programOrder: new Map([...new Set(kept.accesses.map(({ program }) => String(program)))].map((program, index) => [program, index])),
  };
}

/** Return the numbers of the elements that are off, as the service compares them. */
function wrongIn({ values, expected, comparison }: Output): Set<number> {
  if (!comparison || comparison.matches) return new Set();
  const [ours, theirs] = [flat(values).map(Number), flat(expected).map(Number)];
  const isRight = (own: number, right: number): boolean => own === right || Math.abs(own - right) <= (comparison.atol ?? 0) + (comparison.rtol ?? 0) * Math.abs(right);
  return new Set(theirs.flatMap((right, number) => (isRight(ours[number]!, right) ? [] : [number])));
}

/** The first step of a program after a load is its result. */
function loadedBy({ accesses, steps }: Kept): Map<number, unknown[]> {
  const loaded = new Map<number, unknown[]>();
  for (const { accesses: count, program, op, values } of steps) {
    const number = count - 1;
    if (/load|atomic/.test(op) && !loaded.has(number) && String(accesses[number]?.program) === String(program)) loaded.set(number, values);
  }
  return loaded;
}

function writersOf({ accesses }: Kept, shapes: Traced["shapes"]): Traced["writers"] {
  const writers = new Map([...shapes.keys()].map((name) => [name, new Map<number, number>()]));
  accesses.forEach(({ argument, op, indices }, number) => {
    if (op === "load") return;
    const shape = shapes.get(argument)!;
    for (const index of indices) {
      if (index && isInside(index, shape)) writers.get(argument)!.set(numberOf(index, shape), number);
    }
  });
  return writers;
}

function extents(body: RequestBody): number[] | null {
  const { constexprs } = body.compilation as { constexprs?: Record<string, unknown> };
  return extentsOf(body.grid as (number | string)[], { ...(body.arguments as object), ...constexprs });
}

function buffersOf(body: RequestBody): { name: string; shape: number[]; output: boolean }[] {
  const given = body.arguments as Record<string, { shape?: number[]; output?: boolean } | number | null>;
  return Object.entries(given).flatMap(([name, value]) => (value && typeof value === "object" && value.shape ? [{ name, shape: value.shape, output: value.output ?? false }] : []));
}

/** Return the steps of an access's program since its previous access. */
export function computedBefore(trace: Traced, number: number): Step[] {
  const program = String(trace.accesses[number]?.program);
  return trace.steps.filter((step) => step.accesses === number && String(step.program) === program);
}

/** Return true if an index is within an array of this shape. */
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

/** Return the index of an element by its number in row-major order. */
export function indexOf(number: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  let left = number;
  for (const extent of [...shape].reverse()) {
    index.unshift(left % extent);
    left = Math.floor(left / extent);
  }
  return index;
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
