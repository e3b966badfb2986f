// A proof as answered by the service: whether a kernel stays in its buffers, for all sizes.

import { ask, post } from "./api";
import { caseBody, launchBody } from "./launch";
import type { ArgumentText, LaunchText } from "./page_state";
import type { RequestBody } from "./request";
import type { Problem } from "./wire";

export const CHECKS = [
  ["bounds", "In bounds"],
  ["overflow", "32-bit overflow"],
] as const;

/** The cases of a launch beyond these say nothing more. */
const MOST_CASES = 8;
/** Larger sizes are not changed. */
const MOST_SIZE = 1e6;
/** More values of a buffer are not shown. */
const MOST_RUNS = 12;

export interface Answer {
  verdict: "proved" | "refuted" | "possible" | "unknown";
  proved_under: string[];
  reason: string | null;
  line: number | null;
  expression: string | null;
  witness: Witness | null;
  replay: { message: string; sizes: Record<string, number> } | null;
  fix: { patch: string; target: string; registers: (number | null)[]; instructions: (Record<string, number> | null)[] } | null;
  /** The outcomes of the re-checks of a proof; null for other verdicts. Services before it have none. */
  rechecked?: { runs: number; bits: string } | null;
}

export interface Access {
  file: string | null;
  line: number | null;
  argument: string | null;
  kind: string;
  bounds: Answer | null;
  overflow: Answer | null;
}

export interface Proof {
  url: string;
  state: string;
  verdict: Answer["verdict"] | null;
  reason: string | null;
  contract: string | null;
  accesses: Access[];
  problem: Problem | null;
}

/** Sizes that break an access, as a launch. */
export interface Witness {
  grid: number[];
  arguments: Record<string, number | boolean | WitnessBuffer>;
}

interface WitnessBuffer {
  shape: number[];
  dtype: string;
  init?: { kind: string; values?: number[] };
  output?: boolean;
}

/** Prove, and wait until it is over. Raises ProblemAnswered. */
export async function proved(body: RequestBody): Promise<Proof> {
  let proof = (await (await post("v1/proofs", body)).json()) as Proof;
  while (proof.state === "queued" || proof.state === "running") {
    proof = (await (await ask(`${proof.url}?wait=30`)).json()) as Proof;
  }
  return proof;
}

/** True if every access is proved in bounds and free of overflow: less is no proof of the kernel. */
export function isWhole({ state, verdict, accesses }: Proof): boolean {
  const isProved = (access: Access): boolean => CHECKS.every(([check]) => access[check]?.verdict === "proved");
  return state === "completed" && verdict === "proved" && accesses.length > 0 && accesses.every(isProved);
}

/** Words for each outcome of a re-check by bit-vectors. */
const BITS = { agrees: "agrees with", timeout: "reached its limit for", not_modelled: "does not cover" };

/** Return what re-checks saw of all proofs; "" without any. */
export function recheckedText(accesses: Access[]): string {
  const seen = accesses.flatMap((access) => CHECKS.flatMap(([check]) => access[check]?.rechecked ?? []));
  if (!seen.length) return "";
  const [least, most] = [Math.min(...seen.map(({ runs }) => runs)), Math.max(...seen.map(({ runs }) => runs))];
  const outcomes = Object.entries(BITS).flatMap(([outcome, verb]) => {
    const count = seen.filter(({ bits }) => bits === outcome).length;
    return count ? [`${verb} ${count} of ${seen.length} proofs`] : [];
  });
  const compared = seen.every(({ bits }) => bits === "agrees") ? "agrees" : outcomes.join(", ");
  const unseen = seen.filter(({ runs, bits }) => !runs && bits !== "agrees").length;
  const gap = unseen ? ` ${unseen} of ${seen.length} proofs were not double-checked.` : "";
  return `Double-checked: ${least === most ? least : `${least} to ${most}`} test runs; the bit-vector check ${compared}.${gap}`;
}

/** Return a launch and its further cases, as a proof infers a contract from them; without cases, two of other sizes unless its numbers are tied. */
export function casesOf(launch: LaunchText, compilation: RequestBody): RequestBody[] {
  const constants = Object.values((compilation.constexprs ?? {}) as RequestBody).filter((value) => typeof value === "number");
  const resizes = isTied(launch, constants) ? [] : resized(launch, constants);
  const others = launch.cases.length ? launch.cases.map((_, index) => caseBody(launch, index, compilation)) : resizes.map((each) => launchBody(each, compilation, "cpu"));
  const bodies = [launchBody({ ...launch, cases: [] }, compilation, "cpu"), ...others];
  return bodies.slice(0, MOST_CASES).map(({ arguments: given, grid }) => ({ arguments: given, grid }));
}

/** True if a number equals another one, a constant or a product of such: other sizes would keep what may be chance, and the contract state it. */
function isTied(launch: LaunchText, constants: readonly number[]): boolean {
  const values = Object.values(launch.arguments).filter(({ shape, value }) => !shape.trim() && /^\d+$/.test(value));
  const numbers = values.map(({ value }) => Number(value)).filter((number) => number > 1);
  const known = [...constants, ...numbers];
  return numbers.some((number, index) => numbers.indexOf(number) !== index || constants.includes(number) || known.some((each) => each > 1 && each !== number && known.includes(number / each)));
}

/** Return two launches with other sizes: what was equal, a constant or a product stays so. */
function resized(launch: LaunchText, constants: readonly number[]): LaunchText[] {
  const texts = Object.values(launch.arguments).map(({ shape, value }) => (shape.trim() ? shape : value.replace(/.*[^\d].*/, "")));
  const listed = [...texts, launch.grid.replace(/[A-Za-z_(][^,]*/g, "")].flatMap((text) => text.match(/\d+/g) ?? []);
  const sizes = [...new Set(listed.map(Number))].filter((size) => size > 1 && size < MOST_SIZE && !constants.includes(size)).sort((a, b) => a - b);
  const used = new Set(sizes);
  return [0, 1].map(() => {
    const images = new Map([[1, 1], ...constants.map((each) => [each, each] as const)]);
    for (const size of sizes) {
      const factor = [...images.keys()].find((each) => each > 1 && images.has(size / each) && size / each > 1);
      images.set(size, factor ? images.get(factor)! * images.get(size / factor)! : primeNear(size, used));
    }
    const changed = (text: string): string => text.replace(/\d+/g, (digits) => String(images.get(Number(digits)) ?? digits));
    const given = Object.entries(launch.arguments).map(([name, text]) => [name, { ...text, shape: changed(text.shape), value: /^\d+$/.test(text.value) ? changed(text.value) : text.value }]);
    const grid = launch.grid.split(",").map((extent) => (/^\s*\d+\s*$/.test(extent) ? changed(extent) : extent)).join(",");
    return { ...launch, grid, arguments: Object.fromEntries(given) as Record<string, ArgumentText>, cases: [] };
  });
}

/** Return a prime that was not used: below a size, so that blocks still cover it, or else above. */
function primeNear(size: number, used: Set<number>): number {
  const isPrime = (n: number): boolean => n > 1 && !Array.from({ length: Math.floor(Math.sqrt(n)) - 1 }, (_, index) => index + 2).some((each) => n % each === 0);
  const isFree = (n: number): boolean => isPrime(n) && !used.has(n);
  let prime = size - 1;
  while (prime > 1 && !isFree(prime)) prime -= 1;
  if (prime <= 1) for (prime = size + 1; !isFree(prime); prime += 1);
  used.add(prime);
  return prime;
}

/** Return the form of a launch for a witness; null where a buffer lists its values, which forms cannot. */
export function launchOfWitness({ grid, arguments: given }: Witness, before: LaunchText): LaunchText | null {
  const filled: Record<string, ArgumentText> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "object") {
      filled[name] = { shape: "", dtype: before.arguments[name]?.dtype ?? "i32", init: "none", value: String(value), output: false };
    } else {
      if (value.init?.kind === "values") return null;
      filled[name] = { shape: value.shape.join(", "), dtype: value.dtype, init: value.init?.kind ?? "none", value: "", output: value.output ?? false };
    }
  }
  return { grid: grid.join(", "), arguments: { ...before.arguments, ...filled }, reference: "", cases: [] };
}

/** Return each argument of a witness, and the grid, with its value as text. */
export function argumentsOf({ grid, arguments: given }: Witness): [string, string][] {
  const texts = Object.entries(given).map(([name, value]): [string, string] => [name, typeof value === "object" ? bufferText(value) : shownNumber(value)]);
  return [...texts, ["grid", grid.map(shownNumber).join(" × ")]];
}

function bufferText({ shape, dtype, init, output }: WitnessBuffer): string {
  const holds = output ? "output" : init?.values ? runsOf(init.values) : (init?.kind ?? "");
  return `${dtype}[${shape.map(shownNumber).join(", ")}] ${holds}`.trim();
}

/** Return listed values with a count for those that repeat: `0 (3 times), 7`. */
function runsOf(values: number[]): string {
  const runs: { value: number; count: number }[] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last?.value === value) last.count += 1;
    else runs.push({ value, count: 1 });
  }
  const texts = runs.slice(0, MOST_RUNS).map(({ value, count }) => (count > 1 ? `${shownNumber(value)} (${shownNumber(count)} times)` : shownNumber(value)));
  return [...texts, ...(runs.length > MOST_RUNS ? ["…"] : [])].join(", ");
}

function shownNumber(value: number | boolean): string {
  return typeof value === "number" ? value.toLocaleString("en") : String(value);
}

/** Return a text with a unified diff applied; null if the diff is of another text. */
export function patched(source: string, patch: string): string | null {
  const old = source.split("\n");
  const made: string[] = [];
  let at = 0;
  let isHunk = false;
  for (const line of patch.split("\n")) {
    const start = /^@@ -(\d+)/.exec(line)?.[1];
    if (start) {
      made.push(...old.slice(at, Number(start) - 1));
      [at, isHunk] = [Number(start) - 1, true];
    } else if (isHunk && line && line[0] !== "\\") {
      if (line[0] === "+") made.push(line.slice(1));
      else if (old[at] !== line.slice(1)) return null;
      else if ((at += 1) && line[0] === " ") made.push(line.slice(1));
    }
  }
  return isHunk ? [...made, ...old.slice(at)].join("\n") : null;
}
