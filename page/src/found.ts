// What an acting pane found, which is of the text and forms of then.

import { element } from "./dom";

/** The part that was changed: the source, the forms of the request, those of the launch, or the contract. */
export type Change = "Source" | "Forms" | "Launch" | "Contract";

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
    this.tell("");
  }

  /** Dim what was found, and say why: it is of what stood there before. */
  outdate(what: Change): void {
    if (this.isBegun) this.tell(`${what} changed.`);
  }

  private tell(why: string): void {
    this.element.classList.toggle("outdated", why !== "");
    this.age.textContent = why;
  }
}
