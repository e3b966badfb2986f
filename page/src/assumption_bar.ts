// The line above all results: what the request assumes, with a control to change each of it.

import type { Assumption } from "./assumed";
import { element, menu } from "./dom";

/** More controls are folded below their line at first. */
const MOST_OPEN = 6;

export class AssumptionBar {
  private readonly line = element("summary");
  private readonly controls = element("div", { className: "controls" });
  readonly element = element("details", { className: "assumes", hidden: true }, this.line, this.controls);
  private kernel = "";

  constructor(private readonly change: (assumption: Assumption, text: string) => void) {}

  /** Show the assumptions of a kernel, and `sentence`, which lists those that are still assumed. */
  show(kernel: string, sentence: string, assumptions: readonly Assumption[]): void {
    this.element.hidden = !assumptions.length;
    if (kernel !== this.kernel) this.element.open = assumptions.length <= MOST_OPEN;
    this.kernel = assumptions.length ? kernel : "";
    this.line.textContent = sentence ? `${kernel} ${sentence}` : `${kernel}: nothing is assumed any more`;
    const focused = document.activeElement?.id ?? "";
    this.controls.replaceChildren(...assumptions.map((each) => this.controlOf(each)));
    if (focused.startsWith("assumed-")) document.getElementById(focused)?.focus();
  }

  private controlOf(assumption: Assumption): HTMLElement {
    const { name, text, choices, why } = assumption;
    const control = menu(choices, text, { id: `assumed-${name}`, title: why, "aria-label": `${name}, assumed` });
    control.addEventListener("change", () => this.change(assumption, control.value));
    // a label of the same words would be that of the field of the form, too
    return element("span", { className: "beside" }, element("span", { "aria-hidden": "true" }, name), control);
  }
}
