// The numbers of several compilations side by side; the others are compared with the first one.

import type { Compiled, InstructionCounts } from "./compiled";
import type { LineDelta } from "./differences";
import { button, element } from "./dom";
import type { RequestText } from "./page_state";

const MOST_LINES = 12;
/** Numbers of which less is better, and more is better; of others neither is. */
const LESS = new Set(["registers", "vgpr", "sgpr", "spill store bytes", "spill load bytes", "vgpr spills", "sgpr spills", "stack bytes", "shared bytes", "instructions"]);
const MORE = new Set(["occupancy"]);
/** The numbers that are shown even where all are alike. */
const ALWAYS = new Set(["registers", "vgpr", "spill store bytes", "shared bytes", "occupancy", "instructions", "instructions per warp"]);

/** One column: a kept compilation by its letter, or the current one. */
export interface Column {
  name: string;
  compiled: Compiled;
  instructions: InstructionCounts | null;
  forget: (() => void) | null;
}

interface Row {
  name: string;
  texts: (string | null)[];
  numbers: (number | null)[];
}

/** Return the table: the requests, resources, and instructions by class. */
export function comparisonTable(columns: readonly Column[]): HTMLElement {
  const asked = rowsOf(columns.map(({ compiled }) => askedOf(compiled)));
  const parameters = rowsOf(columns.map(({ compiled: { request } }) => ({ ...request.signature, ...request.constexprs })), "none");
  const options = rowsOf(columns.map(({ compiled }) => compiled.request.options), "default");
  const sources = columns.map(({ compiled }) => compiled.request.source);
  const source: Row = { name: "source", texts: sources.map((each) => (each === sources[0] ? `as ${columns[0]!.name}` : "changed")), numbers: columns.map(() => null) };
  const used = columns.map(({ compiled }) => resourcesOf(compiled));
  const classes = columns.map(({ instructions }) => Object.fromEntries(Object.entries(instructions?.by_class ?? {}).map(([name, count]) => [name.replaceAll("_", " "), count])));
  // a warp with other work has other counts, which are neither better nor worse
  const isSameWork = columns.every(({ compiled: { request } }) => ["target", "num_warps", "constexprs"].every((name) => workOf(request, name) === workOf(columns[0]!.compiled.request, name)));
  const total: Row = { name: isSameWork ? "instructions" : "instructions per warp", texts: [], numbers: columns.map(({ instructions }) => instructions?.total ?? null) };
  const parts: [string, Row[]][] = [
    ["Request", [source, ...asked, ...parameters, ...options]],
    ["Resources", rowsOf(used)],
    ["Instructions", [total, ...rowsOf(classes)]],
  ];
  const head = element("tr", {}, element("td"), ...columns.map(headOf));
  const bodies = parts.map(([title, rows]) => [title, rows.filter(isShown)] as const).filter(([, rows]) => rows.length);
  return element(
    "table",
    { className: "numbers compared" },
    element("thead", {}, head),
    ...bodies.map(([title, rows]) => element("tbody", {}, element("tr", { className: "part" }, element("th", { colSpan: columns.length + 1, scope: "rowgroup" }, title)), ...rows.map(rowShown))),
  );
}

/** Return the source lines of which two compilations have most unlike numbers of instructions. */
export function lineTable(lines: readonly LineDelta[]): HTMLElement | null {
  const shown = lines.filter(({ delta }) => delta.total).slice(0, MOST_LINES);
  if (!shown.length) return null;
  const rows = shown.map((line) => element("tr", {}, element("th", { scope: "row" }, placeOf(line)), element("td", { className: line.delta.total < 0 ? "good" : "bad" }, signed(line.delta.total))));
  const head = element("tr", {}, element("th", { scope: "col" }, "at line"), element("th", { scope: "col" }, "instructions"));
  return element("table", { className: "numbers" }, element("thead", {}, head), element("tbody", {}, ...rows));
}

function headOf({ name, forget }: Column): HTMLElement {
  const head = element("th", { scope: "col" }, name);
  if (forget) head.append(button("×", forget, { className: "head", "aria-label": `Forget ${name}` }));
  return head;
}

function rowShown({ name, texts, numbers }: Row): HTMLElement {
  const first = numbers[0] ?? null;
  const cells = numbers.map((number, index) => {
    const cell = element("td", {}, texts[index] ?? (number === null ? "none" : String(number)));
    const delta = index ? deltaOf(number, first, LESS.has(name) ? -1 : MORE.has(name) ? 1 : 0) : null;
    if (delta) cell.append(" ", delta);
    return cell;
  });
  return element("tr", {}, element("th", { scope: "row" }, name), ...cells);
}

/** Return the change from `first`, null for none; `better` is its sign where it is good, 0 where no change is. */
export function deltaOf(number: number | null, first: number | null, better: number): HTMLElement | null {
  const more = number === null || first === null ? 0 : number - first;
  if (!more) return null;
  const tone = better ? (more * better > 0 ? " good" : " bad") : "";
  return element("span", { className: `delta${tone}` }, signed(more));
}

function isShown({ name, texts, numbers }: Row): boolean {
  const values = numbers.map((number, index) => texts[index] ?? number);
  return values.some((value) => value !== values[0]) || (ALWAYS.has(name) && values[0] !== null);
}

/** Return a row for each name that any column has; `lacking` stands for what a column has not. */
function rowsOf(columns: readonly Record<string, string | number>[], lacking: string | null = null): Row[] {
  const names = [...new Set(columns.flatMap((each) => Object.keys(each)))];
  return names.map((name) => {
    const values = columns.map((each) => each[name] ?? lacking);
    const texts = values.map((value) => (typeof value === "string" ? value : name === "occupancy" && value !== null ? `${value} %` : null));
    return { name, texts, numbers: values.map((value) => (typeof value === "number" ? value : null)) };
  });
}

/** Return a part of a request that decides how much each warp does. */
function workOf({ target, options, constexprs }: RequestText, part: string): string {
  return part === "target" ? target : part === "num_warps" ? (options.num_warps ?? "") : JSON.stringify(constexprs);
}

/** Return what a request has in addition to parameters and options. */
function askedOf({ request, compilation }: Compiled): Record<string, string> {
  return { kernel: compilation.kernel ?? "none", target: request.target, triton: compilation.toolchain.triton };
}

function resourcesOf({ compilation }: Compiled): Record<string, string | number> {
  const { occupancy, ...rest } = compilation.resources ?? {};
  const numbers = Object.entries(rest).filter(([, value]) => typeof value === "number" || typeof value === "string");
  const held = occupancy as { ratio: number; limited_by: string } | null | undefined;
  const ratio: Record<string, string | number> = held ? { occupancy: Number((held.ratio * 100).toFixed(1)), "limited by": held.limited_by } : {};
  return { ...Object.fromEntries(numbers.map(([name, value]) => [name.replaceAll("_", " "), value as number])), ...ratio };
}

function placeOf({ file, a_line, b_line }: LineDelta): string {
  if (a_line === null && b_line === null) return "no source line";
  const own = a_line === b_line || b_line === null ? `${a_line}` : a_line === null ? `${b_line}` : `${a_line}, now ${b_line}`;
  return file && file !== "user.py" ? `${file}: ${own}` : own;
}

function signed(count: number): string {
  return count > 0 ? `+${count}` : `−${-count}`;
}
