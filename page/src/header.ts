// The bar at the top: what the page does, examples and drafts, the API key, and links.

import { button, element, menu } from "./dom";
import { drafts, type Draft } from "./drafts";
import { EXAMPLES, type Example } from "./examples";
import { githubDialog, opensGithub, type GithubFile } from "./github";
import { KeyField } from "./key_field";
import { mark } from "./mark";
import { KINDS } from "./pane_kinds";
import { systemDialog } from "./system_dialog";
import { themeMenu } from "./theme";

export interface HeaderActions {
  compile(): void;
  openExample(example: Example): void;
  openDraft(draft: Draft): void;
  /** Open the text of a file instead of the source. */
  openFile(file: GithubFile, text: string): void;
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
  private readonly key: KeyField;

  constructor(act: HeaderActions, { live, filters, keep }: Controls) {
    this.key = new KeyField(() => act.keyChanged());
    const add = menu([["", "Add pane"], ...KINDS], "", { "aria-label": "Add pane" });
    add.addEventListener("change", () => {
      act.addPane(add.value);
      add.value = "";
    });
    const system = systemDialog();
    const github = opensGithub() ? githubDialog((file, text) => act.openFile(file, text)) : null;
    this.element = element(
      "header",
      {},
      element("h1", {}, mark(), "tritond"),
      button("Compile", () => act.compile(), { className: "primary", title: "Ctrl+Enter" }),
      live,
      github?.start ?? null,
      examplesMenu(act),
      add,
      filters,
      keep,
      button("Share", () => act.share()),
      element("span", { className: "space" }),
      this.key.element,
      themeMenu(),
      element("nav", { "aria-label": "More" }, ...links(), system.link),
      system.element,
      github?.element ?? null,
    );
  }

  /** Ask for an API key; once it is entered, what failed is repeated. */
  askForKey(): void {
    this.key.ask();
  }
}

function examplesMenu(act: HeaderActions): HTMLElement {
  const examples = element("select", { "aria-label": "Examples" });
  let own: Draft[] = [];
  const fill = (): void => {
    own = drafts();
    const names = own.map((draft, index) => element("option", { value: `draft ${index}` }, nameOf(draft, own)));
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

/** Return the name of a draft; where others are of a kernel of this name, also how long it is. */
function nameOf({ kernel, at_ms, state: { request } }: Draft, all: readonly Draft[]): string {
  const files = Object.keys(request.files ?? {}).length;
  const size = `, ${request.source.split("\n").length} lines${files ? ` + ${files === 1 ? "1 file" : `${files} files`}` : ""}`;
  return `${kernel}${all.filter((each) => each.kernel === kernel).length > 1 ? size : ""}, ${ago(at_ms)}`;
}

function ago(at_ms: number): string {
  const minutes = Math.round((Date.now() - at_ms) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  return minutes < 2880 ? `${Math.round(minutes / 60)} h ago` : `${Math.round(minutes / 1440)} days ago`;
}

function links(): HTMLElement[] {
  return Object.entries({ Learn: "learn", API: "docs" }).map(([name, href]) => element("a", { href }, name));
}
