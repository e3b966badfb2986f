// The values that a request has only since the source proposes them: guesses, until somebody changes them.

import { element } from "./dom";
import { EXAMPLES } from "./examples";
import type { RequestText } from "./page_state";
import { firstText, isConstexpr, pythonText } from "./request";
import type { Kernel, Parameter } from "./wire";

/** A parameter with its proposed type, or with an example for its value. */
export interface Assumed {
  name: string;
  text: string;
  isConstexpr: boolean;
}

const HINTS: Readonly<Record<string, string>> = { "16": " divisible by 16", "1": " equal to 1" };

/** An assumption, or what the user chose instead, with the other choices: texts, each with its words. */
export interface Assumption extends Assumed {
  choices: readonly (readonly [string, string])[];
  why: string;
}

const DTYPES = ["fp32", "fp16", "bf16", "fp8e4nv", "fp8e5", "i32", "i64", "i16", "i8", "i1"];
const SCALARS = ["i32", "i32:16", "i32:1", "i64", "i64:16", "fp32", "fp16", "i1"];
const POWERS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096].map(String);
const MOST_FACTOR = 8;
/** The part of an example's lines by which a text is still that example. */
const LEAST_KEPT = 0.75;

/** Return what a request assumes: what is as proposed, and neither annotated, a default, of an example nor in `typed`. */
export function assumedIn(kernel: Kernel | null, request: RequestText, typed: ReadonlySet<string>): Assumed[] {
  if (!kernel || request.language !== "python") return [];
  const example = EXAMPLES.find((each) => isStill(each.request.source, request.source))?.request;
  return kernel.parameters.flatMap((parameter) => {
    const { name } = parameter;
    const isValue = isConstexpr(parameter);
    const text = request[isValue ? "constexprs" : "signature"][name];
    const isExample = example !== undefined && text === example[isValue ? "constexprs" : "signature"][name];
    const isGuess = Boolean(text) && !isExample && isOpen(parameter) && text === firstText(parameter, kernel) && !typed.has(name);
    return isGuess ? [{ name, text: text!, isConstexpr: isValue }] : [];
  });
}

/** Return whether a text is an example's, perhaps edited here and there. */
function isStill(example: string, source: string): boolean {
  const present = new Set(source.split("\n"));
  const lines = example.split("\n").filter((line) => line.trim());
  return lines.filter((line) => present.has(line)).length >= LEAST_KEPT * lines.length;
}

/** Return what a request assumes, and what was chosen instead for the parameters in `changed`, in the kernel's order. */
export function assumptionsIn(kernel: Kernel | null, request: RequestText, typed: ReadonlySet<string>, changed: ReadonlySet<string>): Assumption[] {
  const assumed = new Set(assumedIn(kernel, request, typed).map(({ name }) => name));
  const listed = kernel?.parameters.filter(({ name }) => assumed.has(name) || changed.has(name)) ?? [];
  return listed.map((parameter) => {
    const { name, proposal } = parameter;
    const isValue = isConstexpr(parameter);
    const text = request[isValue ? "constexprs" : "signature"][name] ?? "";
    const texts = [...new Set([text, ...choicesOf(parameter, text, firstText(parameter, kernel!))])].filter(Boolean);
    const why = proposal ? `Line ${proposal.line}: ${name} ${proposal.reason}` : "";
    return { name, text, isConstexpr: isValue, choices: texts.map((each) => [each, isValue ? each : wordsOfType(each)]), why };
  });
}

/** Return the line of the source's own launch, if the request has types or values of it; null if not. */
export function launchLineOf(kernel: Kernel | null, request: RequestText): number | null {
  if (!kernel?.launch || request.language !== "python") return null;
  const isAsLaunched = (parameter: Parameter): boolean => {
    const text = request[isConstexpr(parameter) ? "constexprs" : "signature"][parameter.name];
    return Boolean(parameter.proposal?.passed) && text === firstText(parameter, kernel);
  };
  return kernel.parameters.some(isAsLaunched) ? kernel.launch.line : null;
}

/** True if nothing but a proposal says what a parameter is. */
function isOpen(parameter: Parameter): boolean {
  const { proposal, annotation } = parameter;
  if (!proposal) return false;
  return isConstexpr(parameter) ? proposal.confidence === "low" : annotation === null && !proposal.passed;
}

function choicesOf(parameter: Parameter, text: string, first: string): string[] {
  if (!isConstexpr(parameter)) return first.startsWith("*") ? [first, first.split(":")[0]!, ...DTYPES.map((dtype) => `*${dtype}:16`)] : [first, ...SCALARS];
  const values = [first, ...(parameter.proposal?.values ?? []).map(pythonText)];
  if (["True", "False"].includes(first)) return ["True", "False"];
  const isNear = (power: string): boolean => Number(power) <= MOST_FACTOR * Number(text) && Number(text) <= MOST_FACTOR * Number(power);
  return [...values, ...(POWERS.includes(text) ? POWERS.filter(isNear) : [])].sort((a, b) => Number(a) - Number(b));
}

/** Return a type with its hint in words: `i32, divisible by 16`. */
function wordsOfType(text: string): string {
  const [type, hint] = text.split(":");
  if (text.startsWith("*")) return hint ? type! : `${type}, unaligned`;
  return hint ? `${type},${HINTS[hint] ?? ""}` : type!;
}

/** Say it in a line: `assumes *fp32 x_ptr; i32 n divisible by 16; for example BLOCK=64`; "" for nothing. */
export function sentenceOf(assumed: readonly Assumed[]): string {
  const byType = new Map<string, string[]>();
  for (const { name, text } of assumed.filter((each) => !each.isConstexpr)) {
    const type = text.startsWith("*") ? text.split(":")[0]! : text;
    byType.set(type, [...(byType.get(type) ?? []), name]);
  }
  const types = [...byType].map(([text, names]) => {
    const [type, hint = ""] = text.split(":");
    return `${type} ${names.join(", ")}${HINTS[hint] ?? ""}`;
  });
  const values = assumed.filter((each) => each.isConstexpr).map(({ name, text }) => `${name}=${text}`);
  const parts = [...types, ...(values.length ? [`for example ${values.join(", ")}`] : [])];
  return parts.length ? `assumes ${parts.join("; ")}` : "";
}

/** Return a badge for numbers that rest on a guess; none without one. */
export function guessBadge(sentence: string): HTMLElement[] {
  if (!sentence) return [];
  const badge = element("strong", { className: "guessed" }, "guessed");
  return [element("p", { className: "faint guess", title: sentence }, badge, ` These numbers ${sentence.replace(/^assumes/, "assume")}.`)];
}
