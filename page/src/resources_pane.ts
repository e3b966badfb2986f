// A pane with a kernel's GPU resources: what limits it first; the times of its stages, and its output.

import { guessBadge } from "./assumed";
import type { Compiled } from "./compiled";
import { numbersOf, percent } from "./compiled_numbers";
import { element } from "./dom";
import type { Content, Shown } from "./pane_kinds";
import { inPageWords, type Compilation } from "./wire";

/** The most registers that a thread can have: vector ones on AMD, with those for accumulation. */
const MOST_REGISTERS: readonly [RegExp, number][] = [[/^hip:gfx9(?:0a|4|5)/, 512], [/^hip:gfx125/, 1024], [/^hip/, 256], [/^/, 255]];

interface Occupancy {
  ratio: number;
  limited_by: string;
}

/** A number that decides how fast a kernel can be; `share` is its part of what there is. */
interface Fact {
  name: string;
  value: string;
  note: string;
  share: number | null;
  isHigh: boolean;
}

export function resources(): Content {
  const body = element("div", { className: "body scrolls", tabIndex: 0, role: "group", "aria-label": "Resources" });
  return {
    element: body,
    show({ compiled }: Shown) {
      body.replaceChildren(...(compiled ? shownOf(compiled) : [element("p", { className: "faint" }, "Nothing compiled yet.")]));
    },
    end() {},
  };
}

function shownOf({ compilation, assumed: guesses }: Compiled): HTMLElement[] {
  const shown = [...guessBadge(guesses), limitsOf(compilation)];
  if (compilation.stdout) shown.push(element("h2", {}, "Printed while it compiled"), element("pre", { tabIndex: 0 }, compilation.stdout));
  const assumed = compilation.assumptions.map(({ line, message }) => element("li", {}, `line ${line}: ${inPageWords(message)}`));
  if (assumed.length) shown.push(element("h2", {}, "Assumed"), element("ul", {}, ...assumed));
  const { triton, ptxas } = compilation.toolchain;
  const times = Object.entries(compilation.timings_ms ?? {}).map(([name, ms]) => [name, `${ms.toFixed(1)} ms`] as const);
  shown.push(folded("All numbers", numbersOf(compilation)));
  if (times.length) shown.push(folded(`${compilation.state === "succeeded" ? "Compiled in" : "Ran for"} ${Math.round(compilation.timings_ms?.total ?? 0)} ms`, new Map(times)));
  shown.push(folded(`By Triton ${triton}`, new Map([["Triton", triton], ["ptxas", ptxas]])));
  return shown;
}

/** Return the numbers that decide how fast a kernel can be, and what limits it. */
export function limitsOf({ resources, target }: Compilation): HTMLElement {
  const facts = factsOf(resources ?? {}, target);
  if (!facts.length) return element("p", { className: "faint" }, "Available once the kernel compiles.");
  return element("dl", { className: "first" }, ...facts.map(factShown));
}

function factsOf(resources: NonNullable<Compilation["resources"]>, target: string): Fact[] {
  const number = (name: string): number | null => (typeof resources[name] === "number" ? (resources[name] as number) : null);
  const facts: Fact[] = [];
  const registers = number("registers") ?? number("vgpr");
  if (registers !== null) {
    const most = MOST_REGISTERS.find(([targets]) => targets.test(target))![1];
    facts.push({ name: target.startsWith("hip") ? "VGPRs" : "Registers", value: String(registers), note: `per thread, max ${most}`, share: registers / most, isHigh: registers > 0.75 * most });
  }
  const [stored, loaded] = [number("spill_store_bytes") ?? 0, number("spill_load_bytes") ?? 0];
  const isSpilled = stored + loaded > 0;
  facts.push({ name: "Spills", value: isSpilled ? bytes(stored) : "0", note: isSpilled ? `stored, ${bytes(loaded)} loaded per thread` : "none", share: null, isHigh: isSpilled });
  const [shared, limit] = [number("shared_bytes"), number("shared_limit_bytes")];
  if (shared !== null) facts.push({ name: "Shared memory", value: bytes(shared), note: limit ? `of ${bytes(limit)}` : "", share: limit ? shared / limit : null, isHigh: Boolean(limit && shared > 0.9 * limit) });
  const occupancy = resources.occupancy as Occupancy | null | undefined;
  if (occupancy) facts.push({ name: "Occupancy", value: percent(occupancy.ratio), note: `limited by ${occupancy.limited_by.replaceAll("_", " ")}`, share: occupancy.ratio, isHigh: false });
  return resources.backend ? facts : [];
}

function factShown({ name, value, note, share, isHigh }: Fact): HTMLElement {
  const bar = element("span", { className: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", `${Math.min(100, Math.round(100 * (share ?? 0)))}%`);
  return element("div", { className: isHigh ? "high" : "" }, element("dt", {}, name), element("dd", {}, value, element("small", {}, note), ...(share === null ? [] : [bar])));
}

function folded(title: string, pairs: ReadonlyMap<string, string>): HTMLElement {
  const items = [...pairs].map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return element("details", { className: "more" }, element("summary", {}, title), element("dl", {}, ...items));
}

function bytes(count: number): string {
  return count < 10_000 ? `${count} B` : `${(count / 1024).toFixed(count % 1024 ? 1 : 0)} KiB`;
}
