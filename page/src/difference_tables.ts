// Tables of the differences between two compilations: request, resources, instructions.

import type { Both, Differences, LineDelta } from "./differences";
import { element } from "./dom";

const MOST_LINES = 12;

/** Return the tables; `kept` and `now` are the requests, as typed. */
export function tables(kept: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>, differences: Differences): HTMLElement[] {
  const names = [...new Set([...kept.keys(), ...now.keys()])];
  const asked = names.map((name) => [name, kept.get(name) ?? "", now.get(name) ?? ""] as const);
  const resources = Object.entries(differences.resources).map(([name, { a, b }]) => [name.replaceAll("_", " "), told(a), told(b)] as const);
  const rows = [...asked, ...resources].filter(([, a, b]) => a !== b);
  const shown = rows.length ? [tableOf(["what", "kept", "now"], rows)] : [];
  const { instructions } = differences;
  if (instructions?.a && instructions.b && instructions.delta) {
    const classes = Object.keys(instructions.delta.by_class).filter((name) => instructions.delta!.by_class[name]);
    const counts = [["all", instructions.a.total, instructions.b.total] as const, ...classes.map((name) => [name, instructions.a!.by_class[name] ?? 0, instructions.b!.by_class[name] ?? 0] as const)];
    if (counts.some(([, a, b]) => a !== b)) shown.push(tableOf(["instructions", "kept", "now", "more"], counts.map(([name, a, b]) => [name.replaceAll("_", " "), String(a), String(b), signed(b - a)])));
    const lines = instructions.by_line.filter(({ delta }) => delta.total).slice(0, MOST_LINES);
    if (lines.length) shown.push(tableOf(["at line", "more"], lines.map((line) => [placeOf(line), signed(line.delta.total)])));
  }
  return shown;
}

function tableOf(columns: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  const head = element("tr", {}, ...columns.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map(([name, ...cells]) => element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((text) => element("td", {}, text))));
  return element("table", { className: "numbers" }, element("thead", {}, head), element("tbody", {}, ...body));
}

function placeOf({ file, a_line, b_line }: LineDelta): string {
  if (a_line === null && b_line === null) return "no source line";
  const own = a_line === b_line || b_line === null ? `${a_line}` : a_line === null ? `${b_line}` : `${a_line}, now ${b_line}`;
  return file && file !== "user.py" ? `${file}: ${own}` : own;
}

function signed(count: number): string {
  return count > 0 ? `+${count}` : count < 0 ? `−${-count}` : "0";
}

function told(value: Both["a"]): string {
  if (value === null || value === undefined) return "none";
  if (typeof value !== "object") return String(value);
  const held = value as { ratio?: number; limited_by?: string };
  return held.ratio === undefined ? JSON.stringify(value) : `${Math.round(held.ratio * 100)} % (${held.limited_by ?? ""})`;
}
