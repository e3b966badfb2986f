// A launch as answered by the service, and waiting for its end.

import { ask, post, ProblemAnswered } from "./api";
import type { MismatchMap } from "./heat_map";
import { USER_FILE } from "./line_links";
import type { RequestBody } from "./request";
import type { Diagnostic } from "./wire";

export interface Finding {
  kind: string;
  message: string;
  line: number | null;
  file: string | null;
  argument: string | null;
  /** The element of the argument. */
  index: number[] | null;
  program: number[] | null;
  /** The compiler's messages for a kernel that does not compile. */
  diagnostics: Diagnostic[] | null;
}

export interface Mismatch {
  index: number[];
  actual: unknown;
  expected: unknown;
}

export interface Comparison {
  matches: boolean;
  mismatched: number;
  /** Of those that differ, those that were never written. */
  unwritten: number;
  first_mismatch: Mismatch | null;
  mismatch_map: MismatchMap | null;
  note: string | null;
  rtol: number | null;
  atol: number | null;
}

export interface Output {
  summary: Record<string, unknown> | null;
  comparison: Comparison | null;
  values?: unknown;
  /** Elements of the reference, where values were asked for. */
  expected?: unknown;
}

export interface Timing {
  median_us: number;
  interval_us: [number, number] | null;
  min_us: number;
  repeats: number;
  noisy: boolean;
  plausible: boolean | null;
}

export interface HotLine {
  file: string | null;
  line: number | null;
  samples: number;
  samples_percent: number;
  top_stall: string | null;
}

/** One run of the launch or of one of its cases. */
export interface Run {
  name?: string | null;
  verdict: string | null;
  outputs: Record<string, Output> | null;
  findings: Finding[] | null;
  timing: Timing | null;
  profile: { samples: number | null; lines: HotLine[] | null } | null;
  problem: { title: string; detail: string } | null;
}

export interface Launch extends Run {
  url: string;
  state: string;
  cases: Run[] | null;
  stdout: string;
  timings_ms: Record<string, number> | null;
  device: { model: string | null; interpreter: boolean } | null;
  compilation: { diagnostics: Diagnostic[] } | null;
}

/** Launch, and wait until it is over. Raises ProblemAnswered. */
export async function launched(body: RequestBody): Promise<Launch> {
  let launch = await begun(body);
  while (launch.state === "queued" || launch.state === "running") {
    launch = (await (await ask(`${launch.url}?wait=30`)).json()) as Launch;
  }
  return launch;
}

/** Post a launch: without checks, where its GPU has no worker with the tools for them. Raises ProblemAnswered. */
async function begun(body: RequestBody): Promise<Launch> {
  const { checks, ...unchecked } = body;
  try {
    return (await (await post("v1/launches", body)).json()) as Launch;
  } catch (error) {
    const errors = error instanceof ProblemAnswered ? (error.problem.errors ?? []) : [];
    if (!checks || !errors.some(({ pointer }) => pointer.startsWith("/checks"))) throw error;
    return begun(unchecked);
  }
}

/** Return its runs: the cases, or the launch itself. */
export function runsOf(launch: Launch): Run[] {
  return launch.cases ?? [launch];
}

/** Return true if a line is one of the posted source, and not of the reference. */
export function isOfSource({ file }: { file: string | null }): boolean {
  return (file ?? USER_FILE) === USER_FILE;
}

/** Return the result of a run in words. */
export function verdictOf({ verdict, problem }: Run): string {
  if (verdict === "not_checked") return "ran; no reference to compare with";
  return verdict?.replaceAll("_", " ") ?? (problem ? "failed" : "not run");
}

/** Return a time with its interval. */
export function timeOf({ median_us, interval_us }: Timing): string {
  const interval = interval_us ? ` (${interval_us.map((us) => us.toFixed(2)).join(" to ")} µs)` : "";
  return `${median_us.toFixed(2)} µs${interval}`;
}

/** Return what an output lacks that was never written, null if all of it was; a grid that cannot be changed is not doubted. */
export function unwrittenIn(name: string, { unwritten, mismatched, first_mismatch }: Comparison, isGridFixed = false): string | null {
  if (!unwritten) return null;
  const first = unwritten === mismatched && first_mismatch ? ` (first ${name}[${first_mismatch.index.join(", ")}])` : "";
  const words = `${unwritten} element${unwritten === 1 ? " was" : "s were"} never written${first}`;
  return isGridFixed ? `${words}.` : `${words}: does the grid cover ${unwritten === 1 ? "it" : "them"}?`;
}

const TONES: Record<string, Tone> = { passed: "good", not_checked: "faint" };

export type Tone = "good" | "faint" | "bad";

/** Return the tone of a verdict; every unknown one is bad. */
export function toneOf(verdict: string | null): Tone {
  return TONES[verdict ?? ""] ?? "bad";
}
