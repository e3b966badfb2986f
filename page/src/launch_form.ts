// The form of a launch: one row for each argument, and further cases that change some.

import { button, element, field, menu } from "./dom";
import { DTYPES, INITS } from "./launch";
import type { ArgumentText, CaseText, LaunchText } from "./page_state";

const AS_ABOVE = "as above";

/** Return the rows of the arguments; `keep` is called after each change of `launch`. */
export function argumentRows(launch: LaunchText, keep: () => void): HTMLElement[] {
  return Object.entries(launch.arguments).map(([name, text]) => argumentRow(name, text, keep));
}

function argumentRow(name: string, text: ArgumentText, keep: () => void): HTMLElement {
  const set = (part: Partial<ArgumentText>): void => {
    Object.assign(text, part);
    keep();
  };
  const output = element("input", { type: "checkbox", checked: text.output });
  output.addEventListener("change", () => set({ output: output.checked }));
  const fields = text.shape
    ? [
        at(`/arguments/${name}/shape`, input(text.shape, "shape", (shape) => set({ shape }))),
        at(`/arguments/${name}/dtype`, choice(DTYPES, text.dtype, "dtype", (dtype) => set({ dtype }))),
        at(`/arguments/${name}/init`, choice(INITS, text.init, "filled with", (init) => set({ init }))),
        field("output", output, "inline"),
      ]
    : [at(`/arguments/${name}`, input(text.value, "value", (value) => set({ value })))];
  return element("fieldset", {}, element("legend", {}, name), ...fields);
}

/** The further cases; empty fields keep the values above. */
export class CaseForms {
  readonly element = element("div", { className: "launch" });

  constructor(
    private readonly launch: () => LaunchText,
    private readonly keep: () => void,
  ) {}

  draw(): void {
    const { cases } = this.launch();
    const add = button("Add a case", () => this.add());
    this.element.replaceChildren(...cases.map((each, index) => this.row(each, index)), element("div", {}, add));
  }

  private add(): void {
    const { cases } = this.launch();
    cases.push({ name: `case ${cases.length + 2}`, arguments: {} });
    this.changed();
    this.element.querySelector<HTMLElement>(":scope > fieldset:nth-last-of-type(1) input")?.focus();
  }

  private changed(): void {
    this.keep();
    this.draw();
  }

  private row(each: CaseText, index: number): HTMLElement {
    const launch = this.launch();
    const name = input(each.name, "name", (text) => {
      each.name = text;
      this.keep();
    });
    const fields = Object.entries(launch.arguments).flatMap(([argument, above]) => this.changes(each, argument, above));
    const remove = button("Remove", () => {
      launch.cases.splice(index, 1);
      this.changed();
    }, { "aria-label": `Remove ${each.name}` });
    return element("fieldset", { className: "case" }, element("legend", {}, each.name), name, ...fields, remove);
  }

  private changes(each: CaseText, argument: string, above: ArgumentText): HTMLElement[] {
    const set = (part: { shape?: string; init?: string; value?: string }): void => {
      each.arguments[argument] = { shape: "", init: "", value: "", ...each.arguments[argument], ...part };
      this.keep();
    };
    const { shape = "", init = "", value = "" } = each.arguments[argument] ?? {};
    if (!above.shape) return [input(value, argument, (text) => set({ value: text }), above.value)];
    const fills = choice([AS_ABOVE, ...INITS], init || AS_ABOVE, `${argument} filled with`, (text) => set({ init: text === AS_ABOVE ? "" : text }));
    return [input(shape, `${argument} shape`, (text) => set({ shape: text }), above.shape), ...(above.init === "none" ? [] : [fills])];
  }
}

/** Give a field's control the pointer under which the service names it. */
function at(pointer: string, shown: HTMLElement): HTMLElement {
  shown.querySelector<HTMLElement>("input, select")!.dataset.pointer = pointer;
  return shown;
}

function input(value: string, what: string, change: (typed: string) => void, placeholder = ""): HTMLElement {
  const control = element("input", { value, placeholder, spellcheck: false, autocomplete: "off" });
  control.addEventListener("input", () => change(control.value));
  return field(what, control);
}

function choice(choices: string[], value: string, what: string, change: (chosen: string) => void): HTMLElement {
  const all = choices.includes(value) ? choices : [value, ...choices];
  const control = menu(all.map((each) => [each, each === "none" ? "uninitialised" : each] as const), value);
  control.addEventListener("change", () => change(control.value));
  return field(what, control);
}
