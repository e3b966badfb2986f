// Turns the form of a launch into the body of POST /v1/launches.

import type { ArgumentText, CaseText, LaunchText } from "./page_state";
import { constexprOf, isConstexpr, type RequestBody } from "./request";
import type { Kernel } from "./wire";

export const DTYPES = ["fp32", "fp16", "bf16", "fp64", "i32", "i64", "i16", "i8", "u8", "u32", "i1"];
export const INITS = ["uniform", "normal", "arange", "zeros", "ones", "randint", "bits", "none"];
const TIMING = { min_repeats: 20, max_ms: 200 };
const RANDINT = { low: 0, high: 10 };
/** Any 32 bits. */
const BITS = { kind: "randint", low: -(2 ** 31), high: 2 ** 31 };

/** Return the form's content for a kernel, keeping typed values; unchanged while no kernel is known. */
export function launchOf(kernel: Kernel | null, signature: Record<string, string>, before: LaunchText | null): LaunchText {
  if (!kernel && before) return before;
  const kept = before?.arguments ?? {};
  const parameters = kernel?.parameters.filter((parameter) => !isConstexpr(parameter)) ?? [];
  const pointers = parameters.filter(({ name }) => (signature[name] ?? "").startsWith("*"));
  const last = pointers.find(({ name }) => /^(o|out|output|z|c|y_out)(_|$)/i.test(name)) ?? pointers.at(-1);
  const filled = parameters.map(({ name }) => [name, kept[name] ?? firstArgument(signature[name] ?? "", name === last?.name)]);
  return {
    grid: before?.grid ?? "1",
    arguments: Object.fromEntries(filled) as Record<string, ArgumentText>,
    reference: before?.reference ?? "",
    cases: before?.cases ?? [],
  };
}

function firstArgument(type: string, isOutput: boolean): ArgumentText {
  const dtype = /^\*?(\w+)/.exec(type)?.[1] ?? "i32";
  const isPointer = type.startsWith("*");
  const isWhole = /^[iu]\d/.test(dtype);
  const init = isOutput ? "none" : isWhole ? "randint" : "uniform";
  const size = type.endsWith(":1") ? "1" : "1024";
  return { shape: isPointer ? "1024" : "", dtype, init, value: isPointer ? "" : size, output: isOutput };
}

/** Return the body; `compilation` is the forms' compile request. */
export function launchBody(launch: LaunchText, compilation: RequestBody, device: string): RequestBody {
  // as in Triton's JIT, the arguments determine the specialization
  const { signature: _, ...inferred } = compilation;
  const body: RequestBody = {
    compilation: inferred,
    device,
    // program instances that run one after another hide races
    checks: ["racecheck"],
    grid: extentsIn(launch.grid).map((text) => gridOf(text.trim())),
    arguments: argumentsOf(launch.arguments),
    return: Object.fromEntries(Object.entries(launch.arguments).filter(([, { output }]) => output).map(([name]) => [name, "summary"])),
  };
  if (launch.cases.length) {
    const further = launch.cases.map((each) => ({ name: each.name, arguments: argumentsOf(changed(launch.arguments, each)) }));
    body.cases = [{ name: "as above" }, ...further];
  }
  if (device !== "cpu") body.timing = TIMING; // a CPU answers null
  if (launch.reference.trim()) body.reference = { source: launch.reference, language: "numpy" };
  return body;
}

/** Return the body of a single case, on the CPU device. */
export function caseBody(launch: LaunchText, index: number, compilation: RequestBody): RequestBody {
  const found = launch.cases[index];
  const alone = found ? changed(launch.arguments, found) : launch.arguments;
  return launchBody({ ...launch, arguments: alone, cases: [] }, compilation, "cpu");
}

function changed(above: Record<string, ArgumentText>, { arguments: own }: CaseText): Record<string, ArgumentText> {
  const merged = Object.entries(above).map(([name, text]): [string, ArgumentText] => {
    const said = Object.entries(own[name] ?? {}).filter(([, value]) => value.trim());
    return [name, { ...text, ...Object.fromEntries(said) }];
  });
  return Object.fromEntries(merged);
}

function argumentsOf(texts: Record<string, ArgumentText>): RequestBody {
  return Object.fromEntries(Object.entries(texts).map(([name, text], index) => [name, argumentOf(text, index)]));
}

/** Split at commas outside of parentheses. */
function extentsIn(grid: string): string[] {
  const extents = [""];
  let depth = 0;
  for (const character of grid) {
    depth += character === "(" ? 1 : character === ")" ? -1 : 0;
    if (character === "," && depth <= 0) extents.push("");
    else extents[extents.length - 1] += character;
  }
  return extents;
}

function gridOf(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}

function argumentOf(text: ArgumentText, index: number): unknown {
  if (!text.shape.trim()) return constexprOf(text.value.trim(), []);
  const shape = text.shape.split(/[,x×\s]+/).filter(Boolean).map(Number);
  const buffer: Record<string, unknown> = { shape, dtype: text.dtype };
  if (text.init !== "none") {
    const isRandom = ["uniform", "normal", "randint", "bits"].includes(text.init);
    const seed = isRandom ? { seed: index + 1 } : {};
    const range = { randint: RANDINT, bits: BITS }[text.init] ?? {};
    buffer.init = { kind: text.init, ...seed, ...range };
  }
  if (text.output) buffer.output = true;
  return buffer;
}
