// Settings to try instead of those of a compilation: each is compiled next to it, timed where a GPU of its
// target can run it, and written into the forms by a click.

import { ask, ProblemAnswered } from "./api";
import { compile, type Compiled } from "./compiled";
import { percent } from "./compiled_numbers";
import { deltaOf } from "./comparison_table";
import { button, element } from "./dom";
import { launchBody } from "./launch";
import { launched, timeOf, verdictOf, type Timing } from "./launched";
import type { LaunchText, RequestText } from "./page_state";
import { constexprOf, type RequestBody } from "./request";
import { wordsOf } from "./text_pane";
import type { Explanation } from "./wire";

const MOST_SETTINGS = 8;
const MOST_WARPS = 16;
const LEAST_BLOCK = 16;
/** Registers of a thread at which more warps fit on NVIDIA's multiprocessors. */
const REGISTER_STEPS = [168, 128, 96, 80, 64, 48, 40, 32];
const HEADS = ["setting", "", "registers", "spills", "shared", "occupancy", "instructions"];
const UNTIMED = "Compared by what the compiler reports. Nothing is timed: fewer registers or instructions need not be faster. Instructions are counted per warp, so counts with other warps or blocks are not comparable.";

/** A text to write into a field of the forms. */
export interface Change {
  part: "signature" | "constexprs" | "options";
  name: string;
  text: string;
}

export interface Setting {
  words: string;
  why: string;
  changes: readonly Change[];
}

export interface TrialContext {
  launch(): LaunchText;
  /** Write a setting into the forms, and compile. */
  apply(changes: readonly Change[]): void;
}

/** The numbers of a compilation and of its run; null where there is none. */
interface Measured {
  registers: number | null;
  spills: number | null;
  shared: number | null;
  occupancy: number | null;
  instructions: number | null;
  timing: Timing | null;
  /** Why there is no time, though there is a GPU. */
  untimed: string;
}

/** Return the settings that may help: hints first, which change no work, then options, then smaller blocks. */
export function settingsFor({ request, compilation }: Compiled, { not_vectorised }: Explanation): Setting[] {
  const settings: Setting[] = request.language === "python" && not_vectorised.length ? hints(request) : [];
  const { num_warps: warps, num_stages: stages } = (compilation.metadata ?? {}) as Record<string, number | undefined>;
  const option = (name: string, before: number | string, value: number, why: string): void => {
    settings.push({ words: `${name} ${before} → ${value}`, why, changes: [{ part: "options", name, text: String(value) }] });
  };
  if (warps && warps * 2 <= MOST_WARPS) option("num_warps", warps, warps * 2, "fewer values per thread");
  if (warps && warps > 1) option("num_warps", warps, warps / 2, "more values per thread, fewer threads to synchronise");
  if (stages) option("num_stages", stages, stages + 1, "loads of later iterations start earlier, in more shared memory");
  if (stages && stages > 1) option("num_stages", stages, stages - 1, "less shared memory");
  const { registers, occupancy } = (compilation.resources ?? {}) as { registers?: number; occupancy?: { limited_by: string } | null };
  const step = REGISTER_STEPS.find((each) => each < (registers ?? 0));
  if (compilation.target.startsWith("cuda") && step && occupancy?.limited_by === "registers") option("maxnreg", request.options.maxnreg ?? "unset", step, "more warps at a time; values that do not fit are spilled");
  for (const [name, text] of Object.entries(request.constexprs)) {
    const half = Number(text) / 2;
    if (Number.isInteger(Math.log2(half)) && half >= LEAST_BLOCK) settings.push({ words: `${name} ${text} → ${half}`, why: "less work per program", changes: [{ part: "constexprs", name, text: String(half) }] });
  }
  return settings.slice(0, MOST_SETTINGS);
}

/** Hints that allow wide accesses, if all arguments keep them. */
function hints({ signature }: RequestText): Setting[] {
  const hinted = (pattern: RegExp, why: string): Setting[] => {
    const names = Object.keys(signature).filter((name) => pattern.test(signature[name]!));
    const changes = names.map((name) => ({ part: "signature", name, text: `${signature[name]}:16` }) as const);
    return names.length ? [{ words: `${names.join(", ")} divisible by 16`, why, changes }] : [];
  };
  return [...hinted(/^[iu]\d+$/, "allows wide loads and stores, if it holds for every launch"), ...hinted(/^\*\w+$/, "aligned addresses allow wide loads and stores")];
}

/** The table of settings to try instead of those of `compiled`. */
export class Trials {
  private readonly table = element("tbody");
  private readonly note = element("p", { className: "faint" }, UNTIMED);
  private readonly heads = element("tr");
  readonly element = element("section", { "aria-label": "Settings to try" });
  private readonly stopped = new AbortController();
  /** The model of a GPU that can time the kernel, "" for none, as far as `lookedFor` is over. */
  private model = "";
  private lookedFor: Promise<void> = Promise.resolve();
  private now: Promise<Measured> | null = null;

  constructor(
    private readonly compiled: Compiled,
    settings: readonly Setting[],
    private readonly context: TrialContext,
  ) {
    if (!settings.length) return;
    const rows = settings.map((setting) => {
      const row = element("tr");
      this.offer(row, setting);
      return [row, setting] as const;
    });
    const base = element("tr", {}, element("th", { scope: "row" }, "current"), element("td"), element("td", { className: "faint", colSpan: HEADS.length - 2 }, "measured with the first try"));
    this.table.append(base, ...rows.map(([row]) => row));
    const all = button("Try all", () => void Promise.all(rows.map(([row, setting]) => this.go(row, setting, base))), { className: "small" });
    for (const [row, setting] of rows) row.querySelector("button")!.addEventListener("click", () => void this.go(row, setting, base));
    const caption = element("caption", {}, "Settings to try ", all);
    this.head();
    this.element.append(element("table", { className: "numbers explained trials" }, caption, element("thead", {}, this.heads), this.table), this.note);
    this.lookedFor = this.findGpu();
  }

  /** Withdraw what is being compiled. */
  end(): void {
    this.stopped.abort();
  }

  private head(): void {
    this.heads.replaceChildren(...[...HEADS, ...(this.model ? ["time"] : [])].map((name) => (name ? element("th", { scope: "col" }, name) : element("td"))));
  }

  private offer(row: HTMLElement, { words, why }: Setting): void {
    const start = button("Try", () => {}, { className: "small", "aria-label": `Try ${words}` });
    row.replaceChildren(element("th", { scope: "row" }, words), element("td", {}, start), element("td", { className: "faint", colSpan: HEADS.length - 2 }, why));
  }

  /** Look for a GPU that can time the kernel. */
  private async findGpu(): Promise<void> {
    try {
      const { devices } = (await (await ask("v1/devices", { signal: this.stopped.signal })).json()) as { devices: { target: string; model: string; count: number }[] };
      this.model = devices.find(({ target, count }) => target === this.compiled.compilation.target && count > 0)?.model ?? "";
    } catch {
      return; // without a GPU, numbers of the compiler are compared
    }
    if (!this.model) return;
    this.head();
    this.note.textContent = `Timed on ${this.model}, with the launch in the Run pane; a time counts as better or worse only if the intervals do not overlap.`;
  }

  private async go(row: HTMLElement, { words, changes }: Setting, base: HTMLElement): Promise<void> {
    const head = element("th", { scope: "row" }, words);
    row.replaceChildren(head, element("td"), element("td", { className: "faint", colSpan: HEADS.length - 2 }, "Compiling …"));
    const apply = button("Apply", () => this.context.apply(changes), { className: "small", "aria-label": `Apply ${words}` });
    try {
      await this.lookedFor;
      this.now ??= this.measured(this.compiled, []);
      const [now, tried] = await Promise.all([this.now, this.compiledWith(changes).then((made) => this.measured(made, changes))]);
      base.replaceChildren(element("th", { scope: "row" }, "current"), element("td"), ...this.cells(now, now, true));
      const isSameWork = changes.every(({ part, name }) => part !== "constexprs" && name !== "num_warps");
      row.replaceChildren(head, element("td", {}, apply), ...this.cells(tried, now, isSameWork));
    } catch (error) {
      this.now = null; // perhaps it was the one that failed
      if (!this.stopped.signal.aborted) row.replaceChildren(head, element("td"), element("td", { className: "bad", colSpan: HEADS.length - 1 }, wordsOf(error)));
    }
  }

  /** Compile with other settings. Raises ProblemAnswered where that fails. */
  private async compiledWith(changes: readonly Change[]): Promise<Compiled> {
    const [request, body] = [structuredClone(this.compiled.request), structuredClone(this.compiled.body)];
    for (const { part, name, text } of changes) {
      request[part][name] = text;
      body[part] = { ...(body[part] as RequestBody | undefined), [name]: part === "signature" ? text : constexprOf(text, []) };
    }
    const made = await compile(request, body, () => {}, this.stopped.signal, this.compiled.assumed);
    const { problem, state } = made.compilation;
    if (state !== "succeeded") throw new ProblemAnswered(problem ?? { slug: "", title: "Not compiled", detail: state });
    return made;
  }

  private async measured(made: Compiled, changes: readonly Change[]): Promise<Measured> {
    const [counts, timed] = await Promise.all([made.instructions(), this.timed(made, changes)]);
    const resources = (made.compilation.resources ?? {}) as Record<string, number | null | undefined> & { occupancy?: { ratio: number } | null };
    const isAmd = made.compilation.target.startsWith("hip");
    return {
      registers: resources[isAmd ? "vgpr" : "registers"] ?? null,
      spills: isAmd ? (resources.vgpr_spills ?? null) : (resources.spill_store_bytes ?? null),
      shared: resources.shared_bytes ?? null,
      occupancy: resources.occupancy?.ratio ?? null,
      instructions: counts?.total ?? null,
      ...timed,
    };
  }

  /** Time a kernel with the launch of the forms, on a GPU of its target. */
  private async timed({ compilation, body }: Compiled, changes: readonly Change[]): Promise<Pick<Measured, "timing" | "untimed">> {
    if (!this.model) return { timing: null, untimed: "" };
    const text = { ...this.context.launch(), cases: [] };
    const block = changes.find(({ part, name }) => part === "constexprs" && !new RegExp(`\\b${name}\\b`).test(text.grid));
    if (block) return { timing: null, untimed: `not timed: the grid does not depend on ${block.name}` };
    // the binary that is shown, whatever hints the arguments would imply; checks would slow it down
    const { compilation: _, checks: __, ...launch } = launchBody(text, body, "gpu");
    try {
      const run = await launched({ ...launch, compilation_key: compilation.key });
      const isTimed = run.timing !== null && ["passed", "not_checked"].includes(run.verdict ?? "");
      return { timing: isTimed ? run.timing : null, untimed: isTimed ? "" : `not timed: ${run.problem?.detail ?? verdictOf(run)}` };
    } catch (error) {
      return { timing: null, untimed: `not timed: ${wordsOf(error)}` };
    }
  }

  /** The numbers, with their changes; those of instructions are judged only if a warp does the same work. */
  private cells(tried: Measured, now: Measured, isSameWork: boolean): HTMLElement[] {
    const less = (name: "registers" | "spills" | "shared" | "instructions", better = -1): HTMLElement => element("td", {}, tried[name] === null ? "" : String(tried[name]), deltaOf(tried[name], now[name], better));
    const occupancy = element("td", {}, tried.occupancy === null ? "" : percent(tried.occupancy));
    const change = (tried.occupancy ?? 0) - (now.occupancy ?? 0);
    if (change) occupancy.classList.add(change > 0 ? "good" : "bad");
    const cells = [less("registers"), less("spills"), less("shared"), occupancy, less("instructions", isSameWork ? -1 : 0)];
    return this.model ? [...cells, timeCell(tried, now)] : cells;
  }
}

/** A time; good or bad only where the intervals do not overlap. */
function timeCell({ timing, untimed }: Measured, { timing: now }: Measured): HTMLElement {
  if (!timing) return element("td", { className: "faint" }, untimed);
  const [low, high] = timing.interval_us ?? [timing.median_us, timing.median_us];
  const [least, most] = now?.interval_us ?? [Infinity, -Infinity];
  const tone = !now?.interval_us || !timing.interval_us ? "" : high < least ? "good" : low > most ? "bad" : "";
  return element("td", { className: tone }, timeOf(timing));
}
