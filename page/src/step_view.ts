// A launch on the CPU device, drawn: arrays as grids, and each access step by step.

import { ArrayPicture, sharedSide } from "./array_picture";
import { button, element, field, menu } from "./dom";
import type { Finding } from "./launched";
import { stepTable, valuesBefore } from "./step_table";
import { accessOf, badAccess, indexOf, isInside, numberOf, type Access, type Traced } from "./trace";
import { written } from "./value_text";

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#9a8c00", "#8057c9", "#8c564b"];
/** Steps in a second. */
const SPEEDS = [["1", "slow"], ["4", "normal"], ["16", "fast"]] as const;
const MOST_WRONG = 6;

export class StepView {
  readonly element: HTMLElement;
  private readonly status = element("p", { role: "status", className: "faint" });
  private readonly told = element("p", { className: "told" });
  private readonly stage = element("div", { className: "stage" });
  private readonly pictures = element("div", { className: "arrays" });
  private readonly what = element("p", { className: "step" });
  private readonly words = element("div", {});
  private readonly wrong = element("div", {});
  private readonly slider = element("input", { type: "range", min: "1", value: "1" });
  private readonly programs = element("select");
  private readonly speed = menu(SPEEDS, "4", { "aria-label": "Speed" });
  private readonly player = button("Play", () => this.play());
  private readonly arrays = new Map<string, ArrayPicture>();
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private readonly themed = new MutationObserver(() => this.repaint());
  private readonly resized = new ResizeObserver(() => this.fit());
  private readonly fit = (): void => {
    const width = this.pictures.clientWidth;
    const side = sharedSide([...this.arrays.values()], width);
    for (const picture of this.arrays.values()) picture.fit(width, side);
    this.lanes?.fit(width, null);
  };
  private readonly repaint = (): void => {
    for (const picture of this.drawnArrays()) picture.paint();
  };
  private lanes: ArrayPicture | null = null;
  private trace: Traced | null = null;
  /** Numbers of the accesses to step through. */
  private chosen: number[] = [];
  private timer = 0;

  /** `around` takes the arrow keys, too. */
  constructor(
    private readonly goTo: (line: number) => void,
    around: HTMLElement,
  ) {
    const back = button("◀", () => this.step(-1), { "aria-label": "Step back", title: "Left arrow" });
    const forward = button("▶", () => this.step(1), { "aria-label": "Step forward", title: "Right arrow" });
    this.slider.addEventListener("input", () => this.moved());
    this.programs.addEventListener("change", () => this.choose());
    this.speed.addEventListener("change", () => {
      if (this.timer) this.start();
    });
    this.stage.append(
      element("div", { className: "controls" }, back, forward, this.player, this.speed, field("Step", this.slider, "beside"), field("Program", this.programs, "beside")),
      this.what,
      this.pictures,
      this.told,
      this.wrong,
      this.words,
    );
    this.element = element("div", { className: "steps" }, this.status, this.stage);
    around.addEventListener("keydown", (event) => this.pressed(event));
    this.dark.addEventListener("change", this.repaint);
    this.themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.resized.observe(this.pictures);
    window.addEventListener("resize", this.fit); // the ratio of pixels may have changed
    this.clear("");
  }

  end(): void {
    this.stop();
    this.themed.disconnect();
    this.resized.disconnect();
    window.removeEventListener("resize", this.fit);
    this.dark.removeEventListener("change", this.repaint);
  }

  /** Draw nothing, and say why. */
  clear(why: string, tone = "faint"): void {
    this.stop();
    this.stage.hidden = true;
    this.say(why, tone);
  }

  /** Draw a run, from its first access on; one that went wrong from where it did. */
  show(trace: Traced): void {
    this.stop();
    this.trace = trace;
    const bad = badAccess(trace);
    const count = trace.accesses.length;
    const cut = trace.truncated ? " The trace continues; only its beginning is stored." : "";
    const unknown = trace.programs === null ? " Program (0, 0, 0) is drawn, since the size of the grid is unknown." : "";
    const some = (trace.programs ?? 1) > trace.chosen ? ` ${trace.chosen} of ${trace.programs} programs ${trace.chosen === 1 ? "is" : "are"} drawn.` : unknown;
    const went = count ? `${count} accesses.${some}${cut}` : "The kernel reads and writes nothing yet.";
    const why = bad && `${bad.kind === "race" ? "Race" : "Out of bounds"}: ${bad.message}${some}`;
    this.say(trace.problem ?? why ?? went, trace.problem || bad ? "bad" : "faint");
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
    this.lanes = null;
    this.pictures.replaceChildren(...this.drawnArrays().map((picture) => picture.element));
    const ran = [...new Set(trace.accesses.map(({ program }) => program.join(", ")))];
    const choices = menu([["", "all, in turn"], ...ran.map((program) => [program, `(${program})`] as const)], "");
    this.programs.replaceChildren(...choices.children);
    this.programs.value = "";
    const first = this.firstWrong();
    this.choose((bad ? Math.max(0, accessOf(trace, bad)) : (first?.writer ?? 0)) + 1);
    this.wrong.replaceChildren(...this.wrongWords());
    const marked = bad ? elementOf(bad, trace) : first;
    if (marked && count) this.arrays.get(marked.name)?.mark(marked.number);
  }

  /** Say what is drawn, or why nothing is. */
  say(text: string, tone: string): void {
    [this.status.textContent, this.status.className] = [text, tone];
  }

  private drawnArrays(): ArrayPicture[] {
    return [...this.arrays.values(), ...(this.lanes ? [this.lanes] : [])];
  }

  /** The first element that is off, and the last access that wrote it. */
  private firstWrong(): { name: string; number: number; writer: number | undefined } | null {
    for (const [name, numbers] of this.trace!.wrong) {
      const [number] = numbers;
      if (number !== undefined) return { name, number, writer: this.trace!.writers.get(name)?.get(number) };
    }
    return null;
  }

  /** Name the first elements that are off, what they are and what they should be, each with its step. */
  private wrongWords(): HTMLElement[] {
    const trace = this.trace!;
    return [...trace.wrong].flatMap(([name, numbers]) => {
      if (!numbers.size) return [];
      const rows = [...numbers].slice(0, MOST_WRONG).map((number) => {
        const writer = trace.writers.get(name)?.get(number);
        const go = writer === undefined ? "never written" : button(`step ${writer + 1}`, () => this.goToWrong(name, number, writer), { className: "place" });
        const cells = [written(trace.written.get(name)?.[number]), written(trace.expected.get(name)?.[number])];
        return element("tr", {}, element("th", { scope: "row" }, `${name}[${indexOf(number, trace.shapes.get(name)!).join(", ")}]`), ...cells.map((text) => element("td", {}, text)), element("td", {}, go));
      });
      const heads = ["element", "got", "expected", "written at"].map((head) => element("th", { scope: "col" }, head));
      const more = numbers.size > MOST_WRONG ? `, the first ${MOST_WRONG}` : "";
      return [element("table", { className: "numbers wrong" }, element("caption", {}, `${numbers.size} wrong in ${name}${more}`), element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows))];
    });
  }

  private goToWrong(name: string, number: number, writer: number): void {
    this.stop();
    this.programs.value = "";
    this.choose(writer + 1);
    this.arrays.get(name)?.mark(number);
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
    this.moved();
  }

  /** The user moves: playing ends. */
  private moved(): void {
    this.stop();
    this.draw();
  }

  private play(): void {
    if (this.timer) return this.stop();
    if (this.slider.value === this.slider.max) this.slider.value = "1";
    this.draw();
    this.start();
  }

  private start(): void {
    clearInterval(this.timer);
    this.player.textContent = "Pause";
    this.timer = window.setInterval(() => {
      this.slider.value = String(Number(this.slider.value) + 1);
      this.draw();
      if (this.slider.value === this.slider.max) this.stop();
    }, 1000 / Number(this.speed.value));
  }

  private stop(): void {
    clearInterval(this.timer);
    [this.timer, this.player.textContent] = [0, "Play"];
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
      const { before, values, wrong } = this.upTo(name, at);
      const touched = now.length ? `, ${now.length} elements accessed now` : "";
      array.draw({ before, now, colour, values, wrong }, `${name}, shape ${trace.shapes.get(name)!.join(" by ")}${touched}${wrong.size ? `, ${wrong.size} wrong` : ""}`);
    }
    this.slider.setAttribute("aria-valuetext", `${at + 1} of ${this.chosen.length}`);
    this.told.textContent = "";
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = colour;
    const { line } = access;
    const place = line ? button(`line ${line}`, () => this.goTo(line), { className: "place" }) : null;
    this.what.replaceChildren(swatch, ` Step ${at + 1} of ${this.chosen.length}: program (${access.program.join(", ")}), ${access.op} of ${access.argument} `, place ?? "");
    this.words.replaceChildren(stepTable(trace, number), valuesBefore(trace, number));
    // arrays stay, and with them the focus; each step has lanes of its own
    this.lanes?.element.remove();
    this.lanes = this.lanesOf(access, colour);
    this.pictures.append(this.lanes.element);
    this.fit();
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

  /** Return colours, values and wrong elements of an array as of step `at`. */
  private upTo(name: string, at: number): { before: Map<number, string>; values: Map<number, unknown>; wrong: Set<number> } {
    const trace = this.trace!;
    const shape = trace.shapes.get(name)!;
    const [before, values] = [new Map<number, string>(), new Map<number, unknown>()];
    const [writers, final] = [trace.writers.get(name)!, trace.written.get(name)];
    const now = this.chosen[at]!;
    for (const number of this.chosen.slice(0, at + 1)) {
      const access = trace.accesses[number]!;
      if (access.argument !== name) continue;
      const loaded = trace.loaded.get(number);
      access.indices.forEach((index, lane) => {
        if (!index || !isInside(index, shape)) return;
        const element = numberOf(index, shape);
        if (number !== now) before.set(element, this.colourOf(access));
        // a stored value is known only if it is the last one
        if (access.op === "load" && loaded && lane < loaded.length) values.set(element, loaded[lane]);
        else if (access.op !== "load" && writers.get(element) === number && final) values.set(element, final[element]);
      });
    }
    const wrong = [...(trace.wrong.get(name) ?? [])].filter((element) => (writers.get(element) ?? -1) <= now);
    return { before, values, wrong: new Set(wrong) };
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
      const value = access.op === "load" ? trace.loaded.get(number)?.[lane] : undefined;
      said.push(`${access.op} by program (${access.program.join(", ")})${value === undefined ? "" : `: ${written(value)}`}`);
    }
    const end = trace.written.get(name)?.[position];
    const isWrong = trace.wrong.get(name)?.has(position) ?? false;
    const atTheEnd = end === undefined ? "" : isWrong ? `; got ${written(end)}, expected ${written(trace.expected.get(name)?.[position])}` : `; ${written(end)} at the end`;
    this.told.textContent = `${name}[${index.join(", ")}]: ${said.length ? said.slice(-3).join(", ") : "not accessed so far"}${atTheEnd}`;
  }
}

/** Return the element that a finding is about, null if it is outside of its array. */
function elementOf({ argument, index }: Finding, { shapes }: Traced): { name: string; number: number } | null {
  const shape = shapes.get(argument ?? "");
  return shape && index && isInside(index, shape) ? { name: argument!, number: numberOf(index, shape) } : null;
}
