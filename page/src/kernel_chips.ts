// The kernels of the source as buttons, of which the chosen one is pressed.

import { button, element } from "./dom";
import type { Kernel } from "./wire";

export class KernelChips {
  readonly element = element("div", { className: "chips", role: "group", "aria-label": "Kernels", hidden: true });

  constructor(private readonly choose: (kernel: Kernel) => void) {}

  /** Offer the kernels of a source; a single one leaves no choice. */
  show(kernels: readonly Kernel[], chosen: Kernel | null): void {
    this.element.hidden = kernels.length < 2;
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.textContent : null;
    const chips = kernels.map((kernel) => {
      const { name, line, launched } = kernel;
      const title = `Line ${line}${launched ? ", launched in this file" : ""}`;
      return button(name, () => this.choose(kernel), { className: "chip", title, "aria-pressed": String(kernel === chosen) });
    });
    this.element.replaceChildren(...chips);
    if (focused) chips.find(({ textContent }) => textContent === focused)?.focus();
  }
}
