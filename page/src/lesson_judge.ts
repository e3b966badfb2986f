// Judges a lesson's kernel: at its own sizes, at hidden ones, and where it asks for more.

import { ask, post } from "./api";
import { launched, verdictOf, type Launch } from "./launched";
import { proofBody, sizesOf, sweepBody, trialBody, type Lesson, type Trial } from "./lesson";
import type { RequestBody } from "./request";
import { tracedOf, tracing, type Traced } from "./trace";

/** The judgement of a lesson's kernel, and the run to look at: the lesson's own or one that failed. */
export interface Judgement {
  isSolved: boolean;
  said: string;
  /** Findings beyond the run, with lines of the source. */
  details: readonly { text: string; line: number | null }[];
  launch: Launch;
  trace: Traced;
}

interface Proof {
  url: string;
  state: string;
  verdict: string | null;
  reason: string | null;
  accesses: { line: number | null; argument: string | null; kind: string; bounds: Answer | null; overflow: Answer | null }[];
  problem: { title: string; detail: string } | null;
}

interface Answer {
  verdict: string;
  reason: string | null;
  line: number | null;
  replay: { message: string; sizes: Record<string, number> } | null;
}

interface Sweep {
  url: string;
  state: string;
  rows: { values: Record<string, unknown>; verdict: string | null; problem: { detail: string } | null }[];
  problem: { title: string; detail: string } | null;
}

type Found = Pick<Judgement, "said" | "details">;

/** Run the kernel of a lesson and judge it. Raises ProblemAnswered. */
export async function judge(lesson: Lesson, source: string): Promise<Judgement> {
  const own = await run(lesson, source, {});
  const failed = (said: string, details: Judgement["details"] = [], shown = own): Judgement => ({ isSolved: false, said, details, ...shown });
  if (own.launch.verdict !== "passed") return failed(wordsOf(own.launch));
  const hidden = await Promise.all(lesson.hidden.map((trial) => launched(trialBody(lesson, source, trial))));
  const wrong = hidden.findIndex(({ verdict }) => verdict !== "passed");
  if (wrong >= 0) {
    const trial = lesson.hidden[wrong]!;
    const said = `Right at the sizes of the lesson, but ${verdictOf(hidden[wrong]!)} at others: ${sizesOf(lesson, trial)}`;
    return failed(said, [], await run(lesson, source, trial));
  }
  const found = (lesson.contract && (await unproved(lesson, source))) || (lesson.configurations && (await untuned(lesson, source)));
  if (found) return failed(found.said, found.details);
  return { isSolved: true, said: "Right at the sizes of the lesson and at three others.", details: [], ...own };
}

/** Launch the kernel at the sizes of a trial, with its trace. */
async function run(lesson: Lesson, source: string, trial: Trial): Promise<Pick<Judgement, "launch" | "trace">> {
  const body = trialBody(lesson, source, trial);
  const launch = await launched(tracing(body));
  return { launch, trace: await tracedOf(body, launch) };
}

/** Return what is not proved for all sizes, null if all is. */
async function unproved(lesson: Lesson, source: string): Promise<Found | null> {
  const proof = await finished<Proof>("v1/proofs", proofBody(lesson, source));
  if (proof.problem) return { said: `${proof.problem.title}: ${proof.problem.detail}`, details: [] };
  if (proof.verdict === "proved") return null;
  const details = proof.accesses.flatMap(({ line, argument, kind, bounds, overflow }) =>
    Object.entries({ bounds, overflow }).flatMap(([what, answer]) => {
      if (!answer || answer.verdict === "proved") return [];
      const sizes = answer.replay ? ` with ${Object.entries(answer.replay.sizes).map(([name, value]) => `${name} = ${value}`).join(", ")}` : "";
      return [{ line: answer.line ?? line, text: `${what} of the ${kind} of ${argument ?? "memory"}: ${answer.verdict}${sizes}. ${answer.replay?.message ?? answer.reason ?? ""}` }];
    }),
  );
  return { said: `Right at the sizes tried, but not proved for all: ${proof.reason ?? proof.verdict ?? proof.state}`, details };
}

/** Return the configurations of the kernel's autotuner that are wrong, null if there are enough and all are right. */
async function untuned(lesson: Lesson, source: string): Promise<Found | null> {
  const sweep = await finished<Sweep>("v1/sweeps", sweepBody(lesson, source));
  if (sweep.problem) return { said: `${sweep.problem.title}: ${sweep.problem.detail}`, details: [] };
  const wrong = sweep.rows.filter(({ verdict }) => verdict !== "passed");
  const named = (values: Record<string, unknown>): string => Object.entries(values).filter(([name]) => !/num_ctas|num_stages/.test(name)).map(([name, value]) => (name === "arguments" ? String(value) : `${name.split(".").at(-1)} ${String(value)}`)).join(", ");
  if (wrong.length) return { said: `${wrong.length} of ${sweep.rows.length} runs of its configurations are wrong.`, details: wrong.slice(0, 4).map(({ values, verdict, problem }) => ({ line: null, text: `${named(values)}: ${verdict ?? problem?.detail ?? "failed"}` })) };
  const count = sweep.rows.length / (1 + lesson.hidden.length);
  return count < lesson.configurations! ? { said: `Right, but has only ${count} configurations; list at least ${lesson.configurations!}.`, details: [] } : null;
}

/** Post a job and wait for its end. */
async function finished<T extends { url: string; state: string }>(path: string, body: RequestBody): Promise<T> {
  let job = (await (await post(path, body)).json()) as T;
  while (job.state === "queued" || job.state === "running") job = (await (await ask(`${job.url}?wait=30`)).json()) as T;
  return job;
}

/** Return whether errors at the lines of the kernel say why it did not run. */
export function isUncompiled({ compilation }: Launch): boolean {
  return compilation?.diagnostics.some(({ severity, line }) => severity === "error" && line !== null) ?? false;
}

function wordsOf(launch: Launch): string {
  if (isUncompiled(launch)) return "Not solved yet: the kernel does not compile.";
  return launch.problem ? `${launch.problem.title}: ${launch.problem.detail}` : `Not solved yet: ${verdictOf(launch)}.`;
}
