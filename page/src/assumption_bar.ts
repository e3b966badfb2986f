// Above all results: the launch that types and values are taken from, and what the request assumes, with a
// control to change each of it.

import type { Assumption } from "./assumed";
import { button, element, menu } from "./dom";

/** More controls are folded below their line at first. */
const MOST_OPEN = 6;

export class AssumptionBar {
  private readonly line = element("summary");
  private readonly controls = element("div", { className: "controls" });
  private readonly assumed = element("details", {}, this.line, this.controls);
  private readonly launch = element("p", { className: "launched" });
  private readonly warnings = element("ul", { className: "warned", "aria-label": "Warnings about the kernel" });
  readonly element = element("div", { className: "assumes", hidden: true }, this.launch, this.assumed, this.warnings);
  private kernel = "";

  constructor(
    private readonly change: (assumption: Assumption, text: string) => void,
    private readonly goTo: (line: number) => void,
  ) {}

  /**
   * Show the line of a kernel's launch, its assumptions, `sentence`, which lists those that are still assumed, and the
   * warnings about its text.
   */
  show(kernel: string, launchLine: number | null, sentence: string, assumptions: readonly Assumption[], warnings: readonly string[]): void {
    this.launch.hidden = launchLine === null;
    if (launchLine !== null) {
      const place = button(`line ${launchLine}`, () => this.goTo(launchLine), { className: "place" });
      this.launch.replaceChildren(`${kernel} is compiled as launched in `, place);
    }
    this.assumed.hidden = !assumptions.length;
    this.warnings.hidden = !warnings.length;
    this.warnings.replaceChildren(...warnings.map((words) => element("li", {}, words)));
    this.element.hidden = this.launch.hidden && this.assumed.hidden && this.warnings.hidden;
    if (kernel !== this.kernel) this.assumed.open = assumptions.length <= MOST_OPEN;
    this.kernel = assumptions.length ? kernel : "";
    this.line.textContent = sentence ? `${kernel} ${sentence}` : `${kernel}: no assumptions left`;
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
