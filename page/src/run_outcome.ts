// The result of a run: findings with their lines, outputs and reference, times; and a table of cases.

import { button, element } from "./dom";
import { heatMap } from "./heat_map";
import { isOfSource, timeOf, toneOf, unwrittenIn, verdictOf, type Finding, type Launch, type Output, type Run } from "./launched";
import { written } from "./value_text";

type GoTo = (line: number) => void;

/** Return the report of one run. */
export function outcome(run: Run, goTo: GoTo): HTMLElement[] {
  const shown: HTMLElement[] = [];
  if (run.problem) shown.push(element("p", { className: "error" }, `${run.problem.title}: ${run.problem.detail}`));
  const findings = run.findings ?? [];
  if (findings.length) shown.push(element("ul", { className: "diagnostics" }, ...findings.map((each) => finding(each, goTo))));
  for (const [name, output] of Object.entries(run.outputs ?? {})) shown.push(outputShown(name, output, run.verdict));
  if (run.timing) {
    const { repeats, noisy, plausible } = run.timing;
    const doubts = [noisy ? "noisy" : "", plausible === false ? "faster than this GPU can run" : ""].filter(Boolean);
    shown.push(element("p", { className: "times" }, `median ${timeOf(run.timing)}, ${repeats} repeats${doubts.length ? `: ${doubts.join(", ")}` : ""}`));
  }
  const samples = run.profile?.samples;
  if (samples) shown.push(element("p", { className: "faint" }, `Profiled: ${samples} samples, shown at their lines.`));
  return shown;
}

/** Return the device, the duration and the kernel's output. */
export function circumstances({ device, timings_ms, stdout }: Launch): HTMLElement[] {
  const shown: HTMLElement[] = [];
  if (device && timings_ms) {
    const where = device.interpreter ? "the CPU" : (device.model ?? "a GPU");
    shown.push(element("p", { className: "faint" }, `Ran on ${where} in ${((timings_ms.total ?? 0) / 1000).toFixed(1)} s.`));
  }
  if (device && !device.interpreter) shown.push(element("p", { className: "faint" }, "A GPU shows no races between program instances: run on the CPU to look for them."));
  if (stdout) shown.push(element("pre", { tabIndex: 0 }, stdout));
  return shown;
}

/** Return a table of cases, of which one is selected. */
export function caseTable(runs: readonly Run[], chosen: number, choose: (index: number) => void): HTMLElement {
  const isTimed = runs.some(({ timing }) => timing);
  const columns = ["case", "verdict", "differ", ...(isTimed ? ["median"] : [])];
  const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)));
  const rows = runs.map((run, index) => {
    const name = run.name ?? `case ${index + 1}`;
    const show = button(name, () => choose(index), { className: "small", "aria-pressed": String(index === chosen) });
    const cells = [differing(run), ...(isTimed ? [run.timing ? timeOf(run.timing) : ""] : [])];
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, show),
      element("td", { className: toneOf(run.verdict) }, verdictOf(run)),
      ...cells.map((text) => element("td", {}, text)),
    );
  });
  return element("table", { className: "numbers" }, element("thead", {}, head), element("tbody", {}, ...rows));
}

function differing({ outputs }: Run): string {
  const compared = Object.values(outputs ?? {}).flatMap(({ comparison }) => (comparison ? [comparison.mismatched] : []));
  return compared.length ? String(compared.reduce((sum, each) => sum + each, 0)) : "";
}

const COUNTS: ReadonlySet<string> = new Set(["nan", "inf", "unwritten"]);
const DIGITS = 5;
const OTHER_LINE = /(?<=at |which )line (\d+)/;

function finding(each: Finding, goTo: GoTo): HTMLElement {
  const { line } = each;
  const placed = (number: number): HTMLElement => button(`line ${number}`, () => goTo(number), { className: "place" });
  // the message of a race names the line of the other access
  const words = each.kind !== "race" ? [each.message] : each.message.split(OTHER_LINE).map((part, index) => (index % 2 ? placed(Number(part)) : part));
  const place = !line ? null : isOfSource(each) ? placed(line) : `line ${line} of the reference:`;
  return element("li", { className: "error" }, element("b", {}, each.kind.replaceAll("_", " ")), " ", place, " ", ...words);
}

function outputShown(name: string, { summary, comparison }: Output, verdict: string | null): HTMLElement {
  const shown = element("div", {}, element("h2", {}, name), element("p", { className: "faint" }, summary ? summaryOf(summary) : ""));
  const missing = Number(summary?.unwritten ?? 0);
  if (!comparison && missing && verdict === "not_checked") shown.append(element("p", { className: "warn" }, `${missing} elements were never written: does the grid cover ${name}?`));
  if (comparison) {
    const unwritten = unwrittenIn(name, comparison);
    const different = comparison.mismatched - comparison.unwritten;
    const first = unwritten ? null : comparison.first_mismatch;
    const where = first ? `, the first at [${first.index.join(", ")}]: ${written(first.actual)}, expected ${written(first.expected)}` : "";
    if (comparison.matches) shown.append(element("p", { className: "good" }, "matches the reference"));
    // an aborted run leaves elements unwritten, and that is no matter of the grid
    if (unwritten && verdict === "mismatch") shown.append(element("p", { className: "bad" }, unwritten));
    if (different) shown.append(element("p", { className: "bad" }, `${different} differ from the reference${where}`));
    if (comparison.note && !unwritten) shown.append(element("p", { className: "faint" }, comparison.note));
    if (comparison.mismatch_map) shown.append(heatMap(name, comparison.mismatch_map));
  }
  return shown;
}

/** Return an output's summary in words; counts of what is wrong only where there are any. */
function summaryOf({ shape, dtype, ...numbers }: Record<string, unknown>): string {
  const told = Object.entries(numbers).filter(([what, value]) => value !== null && !(COUNTS.has(what) && value === 0));
  const words = told.map(([what, value]) => `${what} ${typeof value === "number" ? Number(value.toPrecision(DIGITS)) : String(value)}`);
  const size = Array.isArray(shape) && shape.length ? `${shape.join(" × ")} ` : "";
  return [`${size}${String(dtype)}`, ...words].join(", ");
}
