// The bar at the top: what the page does, examples and drafts, the API key, and links.

import { apiKey, keepApiKey } from "./api";
import { button, element, menu, settled } from "./dom";
import { drafts, type Draft } from "./drafts";
import { EXAMPLES, type Example } from "./examples";
import { IS_LEARNING } from "./lesson_panel";
import { mark } from "./mark";
import { KINDS } from "./pane_kinds";
import { themeMenu } from "./theme";

export interface HeaderActions {
  compile(): void;
  openExample(example: Example): void;
  openDraft(draft: Draft): void;
  addPane(kind: string): void;
  share(): void;
  /** Another API key was entered. */
  keyChanged(): void;
}

/** Controls of other parts of the page. */
interface Controls {
  live: HTMLElement;
  filters: HTMLElement;
  keep: HTMLElement;
}

export class Header {
  readonly element: HTMLElement;
  private readonly keyField: HTMLElement;
  private readonly key = element("input", { type: "password", autocomplete: "off", placeholder: "none", value: apiKey(), id: "api-key" });

  constructor(act: HeaderActions, { live, filters, keep }: Controls) {
    const changed = settled(() => act.keyChanged(), 300);
    this.key.addEventListener("input", () => {
      keepApiKey(this.key.value.trim());
      this.key.removeAttribute("aria-invalid");
      changed();
    });
    const add = menu([["", "Add a pane"], ...KINDS], "", { "aria-label": "Add a pane" });
    add.addEventListener("change", () => {
      act.addPane(add.value);
      add.value = "";
    });
    this.keyField = element("span", { className: "inline", hidden: !apiKey() }, element("label", { htmlFor: this.key.id }, "API key"), this.key);
    this.element = element(
      "header",
      {},
      element("h1", {}, mark(), "tritond"),
      IS_LEARNING ? null : button("Compile", () => act.compile(), { className: "primary", title: "Ctrl+Enter" }),
      IS_LEARNING ? null : live,
      IS_LEARNING ? null : examplesMenu(act),
      add,
      ...(IS_LEARNING ? [] : [filters, keep]),
      button("Share", () => act.share()),
      element("span", { className: "space" }),
      this.keyField,
      themeMenu(),
      element("nav", { "aria-label": "More" }, ...links()),
    );
  }

  /** Ask for an API key; once it is entered, what failed is repeated. */
  askForKey(): void {
    this.keyField.hidden = false;
    this.key.setAttribute("aria-invalid", "true");
    this.key.focus();
  }
}

function examplesMenu(act: HeaderActions): HTMLElement {
  const examples = element("select", { "aria-label": "Examples" });
  let own: Draft[] = [];
  const fill = (): void => {
    own = drafts();
    const names = own.map(({ kernel, at_ms }, index) => element("option", { value: `draft ${index}` }, `${kernel}, ${ago(at_ms)}`));
    examples.replaceChildren(
      element("option", { value: "" }, "Examples"),
      ...EXAMPLES.map(({ title }) => element("option", { value: title }, title)),
      ...(names.length ? [element("optgroup", { label: "Your drafts in this browser" }, ...names)] : []),
    );
    examples.value = "";
  };
  fill();
  examples.addEventListener("pointerdown", fill);
  examples.addEventListener("focus", fill);
  examples.addEventListener("change", () => {
    const chosen = EXAMPLES.find(({ title }) => title === examples.value);
    const draft = own[Number(/^draft (\d+)$/.exec(examples.value)?.[1] ?? NaN)];
    examples.value = "";
    if (chosen) act.openExample(structuredClone(chosen));
    else if (draft) act.openDraft(draft);
  });
  return examples;
}

function ago(at_ms: number): string {
  const minutes = Math.round((Date.now() - at_ms) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  return minutes < 2880 ? `${Math.round(minutes / 60)} h ago` : `${Math.round(minutes / 1440)} days ago`;
}

function links(): HTMLElement[] {
  const named = { ...(IS_LEARNING ? { Explorer: "." } : { Learn: "learn" }), API: "docs", System: "v1/system" };
  return Object.entries(named).map(([name, href]) => element("a", { href }, name));
}
