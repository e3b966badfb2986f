// A pane with a kernel's GPU resources, the times of its stages, and its output.

import type { Compiled } from "./compiled";
import { numbersOf } from "./compiled_numbers";
import { element } from "./dom";
import type { Content, Shown } from "./panes";

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

function shownOf(compiled: Compiled): HTMLElement[] {
  const { compilation } = compiled;
  const shown = [list(numbersOf(compilation))];
  const times = Object.entries(compilation.timings_ms ?? {}).map(([name, ms]) => [name, `${ms.toFixed(1)} ms`] as const);
  if (times.length) shown.push(element("h2", {}, "Compiled in"), list(new Map(times)));
  const { triton, ptxas } = compilation.toolchain;
  shown.push(element("h2", {}, "By"), list(new Map([["Triton", triton], ["ptxas", ptxas]])));
  const assumed = compilation.assumptions.map(({ line, message }) => element("li", {}, `line ${line}: ${message}`));
  if (assumed.length) shown.push(element("h2", {}, "Assumed"), element("ul", {}, ...assumed));
  if (compilation.stdout) shown.push(element("h2", {}, "Printed while it compiled"), element("pre", {}, compilation.stdout));
  return shown;
}

function list(pairs: ReadonlyMap<string, string>): HTMLElement {
  const items = [...pairs].map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return element("dl", {}, ...items);
}
