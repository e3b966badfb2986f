// One access in words: a table of its lanes, and the values that its program computed before.

import { element } from "./dom";
import { computedBefore, indexOf, isInside, type Step, type Traced } from "./trace";
import { written } from "./value_text";

const MOST_LANES = 64;
const MOST_VALUES = 8;

/** Return the table of an access' lanes. */
export function stepTable(trace: Traced, number: number): HTMLElement {
  const access = trace.accesses[number]!;
  const shape = trace.shapes.get(access.argument) ?? [];
  const values = trace.loaded.get(number) ?? null;
  const rows = access.indices.slice(0, MOST_LANES).map((index, lane) => {
    const isWrong = index !== null && !isInside(index, shape);
    const where = index === null ? "masked" : isWrong ? `[${index.join(", ")}] out of bounds` : `[${index.join(", ")}]`;
    const value = values && lane < values.length ? written(values[lane]) : "";
    return element("tr", { className: isWrong ? "bad" : index === null ? "faint" : "" }, element("td", {}, indexOf(lane, access.shape).join(", ") || "0"), element("td", {}, where), element("td", {}, value));
  });
  const [live, wrong] = [access.indices.filter((index) => index !== null), access.indices.filter((index) => index && !isInside(index, shape))];
  const counts = [`${access.indices.length} lane${access.indices.length === 1 ? "" : "s"}`, `${access.indices.length - live.length} masked`];
  if (wrong.length) counts.push(`${wrong.length} out of bounds`);
  if (access.indices.length > MOST_LANES) counts.push(`the first ${MOST_LANES} are listed`);
  const heads = ["lane", access.argument, values ? "value" : ""].map((head) => (head ? element("th", { scope: "col" }, head) : element("td", {})));
  const table = element("table", { className: "numbers" }, element("caption", {}, counts.join(", ")), element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  return element("div", { className: "lanes", tabIndex: 0, role: "group", "aria-label": "Lanes of this step" }, table);
}

/** Return the values that the program computed since its previous access. */
export function valuesBefore(trace: Traced, number: number): HTMLElement {
  const steps = computedBefore(trace, number);
  const items = steps.map((step) => element("li", {}, element("b", {}, step.name ?? step.op), ` = ${typeOf(step)} ${shown(step)} (line ${step.line})`));
  const list = items.length ? element("ul", { className: "computed" }, ...items) : element("p", { className: "faint" }, "No stored values.");
  return element("details", {}, element("summary", {}, "Computed before this access"), list);
}

function typeOf({ dtype, shape }: Step): string {
  return shape.length ? `${dtype}[${shape.join(", ")}]` : dtype;
}

function shown({ values }: Step): string {
  return values.slice(0, MOST_VALUES).map(written).join(" ") + (values.length > MOST_VALUES ? " …" : "");
}
