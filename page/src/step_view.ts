// A pane that draws a launch on the CPU device: arrays as grids, and each access step by step.

import { ArrayPicture } from "./array_picture";
import { button, element, field, menu } from "./dom";
import { launchBody } from "./launch";
import { stepTable, valuesBefore } from "./step_table";
import type { Content } from "./pane_kinds";
import type { RequestBody } from "./request";
import type { RunContext } from "./run_pane";
import { wordsOf } from "./text_pane";
import { isInside, loadedBy, numberOf, outOfBounds, traced, type Access, type Traced } from "./trace";

export interface SeeContext extends RunContext {
  /** Call `draw` with each run to draw; return a function that stops it. */
  drawing(draw: (body: RequestBody, trace: Traced | null) => void): () => void;
}

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#9a8c00", "#8057c9", "#8c564b"];
const NOTHING = "Run the kernel here to see the reads and writes of its programs, step by step.";

export function see(context: SeeContext): Content {
  const pane = new SeePane(context);
  return { element: pane.element, show() {}, end: () => pane.end() };
}

class SeePane {
  readonly element: HTMLElement;
  private readonly status = element("p", { role: "status", className: "faint" }, NOTHING);
  private readonly told = element("p", { className: "told" });
  private readonly stage = element("div", {});
  private readonly pictures = element("div", { className: "arrays" });
  private readonly what = element("p", { className: "step" });
  private readonly words = element("div", {});
  private readonly slider = element("input", { type: "range", min: "1", value: "1" });
  private readonly programs = element("select");
  private readonly start = button("See", () => void this.go(() => traced(this.form())));
  private readonly stopFollowing: () => void;
  private readonly arrays = new Map<string, ArrayPicture>();
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private readonly themed = new MutationObserver(() => this.repaint());
  private readonly repaint = (): void => {
    for (const picture of [this.lanes, ...this.arrays.values()]) picture?.paint();
  };
  private lanes: ArrayPicture | null = null;
  private trace: Traced | null = null;
  /** The number of started runs. */
  private runs = 0;
  /** Numbers of the accesses to step through. */
  private chosen: number[] = [];

  constructor(private readonly context: SeeContext) {
    const back = button("◀", () => this.step(-1), { "aria-label": "Step back", title: "Left arrow" });
    const forward = button("▶", () => this.step(1), { "aria-label": "Step forward", title: "Right arrow" });
    this.slider.addEventListener("input", () => this.draw());
    this.programs.addEventListener("change", () => this.choose());
    this.stage.append(
      element("div", { className: "controls" }, back, forward, field("Step", this.slider, "beside"), field("Program", this.programs, "beside")),
      this.what,
      this.pictures,
      this.told,
      this.words,
    );
    this.stage.hidden = true;
    this.element = element("div", { className: "body scrolls", tabIndex: 0, role: "group", "aria-label": "The launch, drawn" }, element("div", { className: "controls" }, this.start), this.status, this.stage);
    this.element.addEventListener("keydown", (event) => this.pressed(event));
    this.stopFollowing = context.drawing((body, trace) => void this.go(() => (trace ? Promise.resolve(trace) : traced(body))));
    this.dark.addEventListener("change", this.repaint);
    this.themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  end(): void {
    this.stopFollowing();
    this.themed.disconnect();
    this.dark.removeEventListener("change", this.repaint);
  }

  /** The launch of the forms, without further cases. */
  private form(): RequestBody {
    return launchBody({ ...this.context.launch(), cases: [] }, this.context.body(), "cpu");
  }

  /** Draw `trace`, unless a newer run has started. */
  private async go(trace: () => Promise<Traced>): Promise<void> {
    const number = (this.runs += 1);
    this.start.disabled = true;
    this.say("Running …", "faint");
    try {
      const found = await trace();
      if (number === this.runs) this.show(found);
    } catch (error) {
      if (number !== this.runs) return;
      this.stage.hidden = true;
      this.say(wordsOf(error), "bad");
    } finally {
      if (number === this.runs) this.start.disabled = false;
    }
  }

  private show(trace: Traced): void {
    this.trace = trace;
    const wrong = outOfBounds(trace);
    const count = trace.accesses.length;
    const cut = trace.truncated ? " The trace continues; only its beginning is stored." : "";
    const unknown = trace.programs === null ? " Program (0, 0, 0) is drawn, since the size of the grid is unknown." : "";
    const some = (trace.programs ?? 1) > trace.chosen ? ` ${trace.chosen} of ${trace.programs} programs ${trace.chosen === 1 ? "is" : "are"} drawn.` : unknown;
    const went = count ? `${count} accesses.${some}${cut}` : "The kernel reads and writes nothing yet.";
    this.say(trace.problem ?? (wrong ? `Out of bounds: ${wrong.message}${some}` : went), trace.problem || wrong ? "bad" : "faint");
    this.stage.hidden = !count;
    this.arrays.clear();
    const leaves = ({ argument, indices }: Access): boolean => {
      const shape = trace.shapes.get(argument)!;
      return indices.some((index) => index && !isInside(index, shape));
    };
    const isLeft = (name: string): boolean => trace.accesses.some((access) => access.argument === name && leaves(access));
    const shapes = [...trace.shapes].map(([name, shape]) => ({ name, shape, goesBeyond: isLeft(name) }));
    // what is wrong comes first
    for (const { name, shape, goesBeyond } of shapes.sort((a, b) => Number(b.goesBeyond) - Number(a.goesBeyond))) {
      this.arrays.set(name, new ArrayPicture(name, shape, goesBeyond, (array, index) => this.tell(array, index)));
    }
    const ran = [...new Set(trace.accesses.map(({ program }) => program.join(", ")))];
    const choices = menu([["", "all, in turn"], ...ran.map((program) => [program, `(${program})`] as const)], "");
    this.programs.replaceChildren(...choices.children);
    this.programs.value = "";
    this.choose(wrong ? trace.accesses.findIndex(leaves) + 1 : 1);
  }

  private choose(at = 1): void {
    const { accesses } = this.trace!;
    const wanted = this.programs.value;
    this.chosen = [...accesses.keys()].filter((number) => !wanted || accesses[number]!.program.join(", ") === wanted);
    this.slider.max = String(this.chosen.length);
    this.slider.value = String(Math.min(at, this.chosen.length));
    this.draw();
  }

  private step(by: number): void {
    this.slider.value = String(Number(this.slider.value) + by);
    this.draw();
  }

  private pressed(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const isTaken = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (!by || isTaken || this.stage.hidden) return;
    event.preventDefault();
    this.step(by);
  }

  private draw(): void {
    const trace = this.trace!;
    const at = Number(this.slider.value) - 1;
    const number = this.chosen[at];
    if (number === undefined) return;
    const access = trace.accesses[number]!;
    const colour = this.colourOf(access);
    for (const [name, array] of this.arrays) {
      const now = name === access.argument ? access.indices.filter((index) => index !== null) : [];
      const touched = now.length ? `, ${now.length} elements accessed now` : "";
      array.draw({ before: this.before(name, at), now, colour }, `${name}, shape ${trace.shapes.get(name)!.join(" by ")}${touched}`);
    }
    this.slider.setAttribute("aria-valuetext", `${at + 1} of ${this.chosen.length}`);
    this.told.textContent = "";
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = colour;
    const { line } = access;
    const place = line ? button(`line ${line}`, () => this.context.goTo(line), { className: "place" }) : null;
    this.what.replaceChildren(swatch, ` Step ${at + 1} of ${this.chosen.length}: program (${access.program.join(", ")}), ${access.op} of ${access.argument} `, place ?? "");
    this.words.replaceChildren(stepTable(trace, number), valuesBefore(trace, number));
    this.lanes = this.lanesOf(access, colour);
    this.pictures.replaceChildren(...[...this.arrays.values(), this.lanes].map((picture) => picture.element));
  }

  /** Draw the block itself: active lanes, masked lanes, and lanes out of bounds. */
  private lanesOf(access: Access, colour: string): ArrayPicture {
    const shape = this.trace!.shapes.get(access.argument)!;
    const lanes = [...access.indices.keys()];
    const wrong = new Set(lanes.filter((lane) => access.indices[lane] && !isInside(access.indices[lane], shape)));
    const live = new Map(lanes.filter((lane) => access.indices[lane] && !wrong.has(lane)).map((lane) => [lane, colour]));
    const picture = new ArrayPicture("lanes", access.shape, false, (_, lane) => {
      const index = access.indices[numberOf(lane, access.shape)];
      this.told.textContent = `lane ${lane.join(", ") || "0"}: ${index ? `${access.argument}[${index.join(", ")}]` : "masked"}`;
    });
    const masked = lanes.length - live.size - wrong.size;
    picture.draw({ before: live, now: [], colour, wrong }, `The block's lanes: ${live.size} live, ${masked} masked, ${wrong.size} out of bounds`);
    return picture;
  }

  /** Colours of an array's elements accessed by earlier steps. */
  private before(name: string, at: number): Map<number, string> {
    const shape = this.trace!.shapes.get(name)!;
    const touched = new Map<number, string>();
    for (const number of this.chosen.slice(0, at)) {
      const access = this.trace!.accesses[number]!;
      if (access.argument !== name) continue;
      for (const index of access.indices) {
        if (index && isInside(index, shape)) touched.set(numberOf(index, shape), this.colourOf(access));
      }
    }
    return touched;
  }

  private colourOf({ program }: Access): string {
    const number = this.trace!.programOrder.get(String(program)) ?? 0;
    return COLOURS[number % COLOURS.length]!;
  }

  /** Describe the accesses to an element up to this step. */
  private tell(name: string, index: number[]): void {
    const trace = this.trace!;
    const position = numberOf(index, trace.shapes.get(name)!);
    const said: string[] = [];
    for (const number of this.chosen.slice(0, Number(this.slider.value))) {
      const access = trace.accesses[number]!;
      if (access.argument !== name) continue;
      const lane = access.indices.findIndex((each) => each !== null && String(each) === String(index));
      if (lane < 0) continue;
      const value = access.op === "load" ? loadedBy(trace, number)?.[lane] : undefined;
      said.push(`${access.op} by program (${access.program.join(", ")})${value === undefined ? "" : `: ${String(value)}`}`);
    }
    const end = trace.written.get(name)?.[position];
    const atTheEnd = end === undefined ? "" : `; ${String(end)} at the end`;
    this.told.textContent = `${name}[${index.join(", ")}]: ${said.length ? said.slice(-3).join(", ") : "not accessed so far"}${atTheEnd}`;
  }

  private say(text: string, tone: string): void {
    this.status.textContent = text;
    this.status.className = tone;
  }
}
