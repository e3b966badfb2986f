// What an acting pane found, which is of the text and forms of then.

import { element } from "./dom";

/** The part that was changed: the source, the forms of the request, those of the launch, the contract, or the kernel that is chosen. */
export type Change = "Source" | "Forms" | "Launch" | "Contract" | "Kernel";

export class Found {
  readonly element: HTMLElement;
  private readonly age = element("span", { className: "age" });
  private isBegun = false;

  constructor(...parts: HTMLElement[]) {
    this.element = element("div", { className: "found" }, this.age, ...parts);
  }

  /** From now on, what is found is of the present text and forms. */
  begin(): void {
    this.isBegun = true;
    this.element.hidden = false;
    this.tell("");
  }

  /** Dim what was found, and say why: it is of what stood there before. Hide what is of another kernel. */
  outdate(what: Change): void {
    if (!this.isBegun) return;
    if (what === "Kernel") this.element.hidden = true;
    else this.tell(`${what} changed.`);
  }

  private tell(why: string): void {
    this.element.classList.toggle("outdated", why !== "");
    this.age.textContent = why;
  }
}
