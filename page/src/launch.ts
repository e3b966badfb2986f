// Turns the form of a launch into the body of POST /v1/launches.

import type { ArgumentText, CaseText, LaunchText } from "./page_state";
import { extentsOf } from "./grid_expression";
import { constexprOf, firstText, isConstexpr, pythonText, type RequestBody } from "./request";
import type { Kernel } from "./wire";

export const DTYPES = ["fp32", "fp16", "bf16", "fp64", "i32", "i64", "i16", "i8", "u8", "u32", "i1"];
export const INITS = ["uniform", "normal", "arange", "zeros", "ones", "randint", "bits", "none"];
const TIMING = { min_repeats: 20, max_ms: 200 };
const RANDINT = { low: 0, high: 10 };
/** Any 32 bits. */
const BITS = { kind: "randint", low: -(2 ** 31), high: 2 ** 31 };

/** Guessed sizes of arrays of one axis, and of rows and columns: no multiples of a block, as they would hide what a mask lacks. */
const [SIZE, ROWS, COLUMNS, OUTER] = [1000, 90, 100, 12];
/** Columns of a kernel whose programs do not share a row: its block has to cover them. */
const FEW_COLUMNS = 50;
const STRIDE = /stride/i;

/** Return the form's content for a kernel, keeping typed values; unchanged while no kernel is known. */
export function launchOf(kernel: Kernel | null, signature: Record<string, string>, before: LaunchText | null): LaunchText {
  if (!kernel) return before ?? { grid: "1", arguments: {}, reference: "", cases: [] };
  const proposed = proposedLaunch(kernel, signature);
  const kept = Object.entries(proposed.arguments).map(([name, text]) => [name, before?.arguments[name] ?? text]);
  return { ...proposed, ...before, arguments: Object.fromEntries(kept) as Record<string, ArgumentText> };
}

/** Return the arguments of a launch, and "Grid", that are guesses: as proposed, and not from the file's own launch. */
export function guessesIn(kernel: Kernel | null, signature: Record<string, string>, launch: LaunchText): string[] {
  if (!kernel) return [];
  const proposed = proposedLaunch(kernel, signature);
  const { shapes = {}, scalars = {}, grid = null } = kernel.launch ?? {};
  const names = Object.entries(launch.arguments).flatMap(([name, text]) => {
    const guess = proposed.arguments[name];
    const isKnown = name in shapes || name in scalars || guess?.value === "1";
    return guess && !isKnown && guess.shape === text.shape && guess.value === text.value ? [name] : [];
  });
  return [...names, ...(!grid && launch.grid === proposed.grid && kernel.grid?.length ? ["Grid"] : [])];
}

/** Return the launch of the kernel's file, or one with sizes and a grid that fit the kernel's masks. */
function proposedLaunch(kernel: Kernel, signature: Record<string, string>): LaunchText {
  const { shapes = {}, scalars = {} } = kernel.launch ?? {};
  const parameters = kernel.parameters.filter((parameter) => !isConstexpr(parameter));
  const typeOf = (name: string): string => signature[name] ?? "";
  const pointers = parameters.filter(({ name }) => typeOf(name).startsWith("*"));
  const numbers = parameters.map(({ name }) => name).filter((name) => /^[iu]\d/.test(typeOf(name)) && !typeOf(name).startsWith("i1:") && typeOf(name) !== "i1");
  const bounds = kernel.grid ?? [];
  const columns = bounds.some((bound) => bound.startsWith("cdiv(")) ? COLUMNS : FEW_COLUMNS;
  const strides = stridesOf(numbers.filter((name) => STRIDE.test(name)), columns);
  const rows = bounds.filter((bound) => numbers.includes(bound));
  const isFlat = !Object.keys(strides).length && (!numbers.length || (bounds.length <= 1 && bounds.every((bound) => /^cdiv\(\w+, \w+\)$/.test(bound))));
  const most = Math.max(1, ...Object.values(strides));
  const height = rows.length ? ROWS : COLUMNS;
  const shape = isFlat ? [SIZE] : most > COLUMNS ? [most / OUTER, OUTER, OUTER] : [height, columns];
  const last = pointers.find(({ name }) => /^(o|out|output|z|c|y_out)(_|$)/i.test(name)) ?? pointers.at(-1);
  const filled = parameters.map(({ name }) => {
    const size = isFlat ? SIZE : rows.includes(name) ? ROWS : most > COLUMNS ? OUTER : columns;
    const value = pythonText(scalars[name] ?? strides[name] ?? firstNumber(name, typeOf(name), size));
    return [name, firstArgument(typeOf(name), (shapes[name] ?? shape).join(", "), value, name === last?.name)] as const;
  });
  const args = Object.fromEntries(filled);
  return { grid: gridFor(kernel, args, isFlat || !numbers.length ? 1 : shape[0]!), arguments: args, reference: "", cases: [] };
}

/** Return strides of contiguous arrays; names that differ in their end belong to one array. */
function stridesOf(names: readonly string[], columns: number): Record<string, number> {
  const stemOf = (name: string): string => name.replace(/_?[^_]$/, "");
  return Object.fromEntries(names.map((name) => {
    const own = names.filter((other) => stemOf(other) === stemOf(name));
    const inner = own.length - 1 - own.indexOf(name);
    return [name, own.length === 1 ? columns : (own.length > 2 ? OUTER : columns) ** inner];
  }));
}

function firstNumber(name: string, type: string, size: number): number | boolean {
  if (type.startsWith("i1")) return true;
  if (/^(fp|bf)/.test(type)) return /eps/i.test(name) ? 1e-6 : 0.5;
  return type.endsWith(":1") ? 1 : size;
}

function firstArgument(type: string, shape: string, value: string, isOutput: boolean): ArgumentText {
  const dtype = /^\*?(\w+)/.exec(type)?.[1] ?? "i32";
  const isPointer = type.startsWith("*");
  const init = isOutput ? "none" : /^[iu]\d/.test(dtype) ? "randint" : "uniform";
  return { shape: isPointer ? shape : "", dtype, init, value: isPointer ? "" : value, output: isOutput };
}

/** Return the grid as the kernel's masks imply it, unless the file's launch has another; `rows` for an axis without a bound. */
function gridFor(kernel: Kernel, args: Record<string, ArgumentText>, rows: number): string {
  const bounds = (kernel.grid ?? []).map((bound) => bound || String(rows));
  const launched = kernel.launch?.grid;
  if (!launched) return bounds.join(", ") || "1";
  const values = Object.fromEntries(kernel.parameters.map((parameter) => [parameter.name, isConstexpr(parameter) ? firstText(parameter, kernel) : args[parameter.name]?.value]));
  const isSame = bounds.length === launched.length && String(extentsOf(bounds, values)?.slice(0, launched.length)) === String(launched);
  return isSame ? bounds.join(", ") : launched.join(", ");
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
