// The field of the API key, which is hidden until a key is needed.

import { apiKey, keepApiKey } from "./api";
import { element, settled } from "./dom";

export class KeyField {
  readonly element: HTMLElement;
  private readonly key = element("input", { type: "password", autocomplete: "off", placeholder: "none", value: apiKey(), id: "api-key" });

  constructor(whenChanged: () => void) {
    const changed = settled(whenChanged, 300);
    this.key.addEventListener("input", () => {
      keepApiKey(this.key.value.trim());
      this.key.removeAttribute("aria-invalid");
      changed();
    });
    this.element = element("span", { className: "inline", hidden: !apiKey() }, element("label", { htmlFor: this.key.id }, "API key"), this.key);
  }

  /** Ask for a key; once it is entered, what failed is repeated. */
  ask(): void {
    this.element.hidden = false;
    this.key.setAttribute("aria-invalid", "true");
    this.key.focus();
  }
}
