// A pane with the compiler's passes: a list of those that changed something, and their changes.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { unifiedMergeView } from "@codemirror/merge";
import { commonExtensions, LinkedLines, readOnly } from "./code_view";
import type { Compiled } from "./compiled";
import { button, element, field } from "./dom";
import { tableOfLeft } from "./filters";
import { hoverTexts, operationTell } from "./hover_texts";
import { languageOf } from "./languages";
import { tableOfMlir, type Selection } from "./line_links";
import { isLocationLine, normalised } from "./normalised";
import type { Content, Shown } from "./pane_kinds";
import { wordsOf } from "./text_pane";
import type { Pass } from "./wire";

/** A pass with its texts as they are compared, and the number of lines that only one of them has. */
interface ComparedPass {
  pass: Pass;
  stage: string;
  before: string;
  after: string;
  added: number;
  removed: number;
}

export function passes(selection: Selection): Content {
  return new PassesPane(selection);
}

class PassesPane implements Content {
  readonly element: HTMLElement;
  private readonly said = element("p", { className: "faint" }, "Nothing compiled yet.");
  private readonly list = element("ol", { className: "passes scrolls", tabIndex: 0, "aria-label": "Passes in order" });
  private readonly all = element("input", { type: "checkbox" });
  private readonly asIs = element("input", { type: "checkbox" });
  private readonly code = element("div", { className: "code" });
  private readonly stage: HTMLElement;
  private readonly linked: LinkedLines;
  private current: Compiled | null = null;
  private view: EditorView | null = null;
  private found: Pass[] = [];
  private compared: ComparedPass[] = [];
  private chosen = "";

  constructor(selection: Selection) {
    this.linked = new LinkedLines(selection);
    const controls = element("div", { className: "controls" }, field("Show unchanged passes", this.all, "inline"), field("Raw names and locations", this.asIs, "inline"));
    this.stage = element("div", { className: "body", hidden: true }, controls, element("div", { className: "beside-list" }, this.list, this.code));
    this.element = element("div", { className: "body" }, this.said, this.stage);
    this.all.addEventListener("change", () => this.draw());
    this.asIs.addEventListener("change", () => this.compare());
  }

  show({ compiled }: Shown): void {
    if (compiled === this.current) return;
    this.current = compiled;
    if (!this.found.length) [this.said.textContent, this.said.hidden] = [compiled ? "Loading …" : "Nothing compiled yet.", false];
    compiled
      ?.passes()
      .then((all) => {
        if (compiled !== this.current) return;
        this.found = all;
        [this.said.hidden, this.stage.hidden] = [true, false];
        this.compare();
      })
      .catch((error: unknown) => {
        if (compiled !== this.current) return;
        [this.said.textContent, this.said.hidden, this.stage.hidden] = [wordsOf(error), false, true];
      });
  }

  end(): void {
    this.linked.end();
    this.view?.destroy();
  }

  private compare(): void {
    this.compared = this.found.map((pass) => comparedOf(pass, this.asIs.checked));
    this.draw();
  }

  private draw(): void {
    const shown = this.all.checked ? this.compared : this.compared.filter(({ before, after }) => before !== after);
    const items = shown.map((each, index) => {
      const id = `${index} ${each.pass.name}`;
      const choose = button(each.pass.name, () => this.choose(id, each), { title: `${each.pass.name}, on its way to ${each.pass.stage}`, "aria-pressed": "false" });
      const isSame = each.before === each.after;
      const counts = !isSame && !each.added && !each.removed ? [element("span", {}, "moved")] : !isSame ? [element("span", { className: "good" }, `+${each.added}`), element("span", { className: "bad" }, `−${each.removed}`)] : [element("span", { className: "faint" }, "same")];
      choose.append(...counts.flatMap((count) => [" ", count]));
      choose.dataset.pass = id;
      return element("li", {}, choose);
    });
    this.list.replaceChildren(...items);
    const wanted = shown.findIndex((each, index) => `${index} ${each.pass.name}` === this.chosen);
    const first = shown[Math.max(0, wanted)];
    if (first) this.choose(`${Math.max(0, wanted)} ${first.pass.name}`, first);
    else [this.said.textContent, this.said.hidden] = ["No pass changed anything.", false];
  }

  private choose(id: string, { pass, stage, before, after }: ComparedPass): void {
    this.chosen = id;
    for (const each of this.list.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each.dataset.pass === id));
    this.view?.destroy();
    const merge = unifiedMergeView({ original: before, mergeControls: false, gutter: true, collapseUnchanged: { margin: 4, minSize: 8 } });
    const extensions = [commonExtensions(`After ${pass.name}`), readOnly(), languageOf(stage), hoverTexts(operationTell(stage)), this.linked.extension, merge];
    this.view = new EditorView({ parent: this.code, state: EditorState.create({ doc: after, extensions }) });
    this.linked.attach(this.view);
    const { current } = this;
    if (stage === "llir" || !pass.after || !current) return;
    const lines = pass.after.split("\n").flatMap((line, index) => (this.asIs.checked || !isLocationLine(line) ? [index + 1] : []));
    const table = tableOfLeft(tableOfMlir(pass.after), lines);
    // without colours, the passes are still to be read
    void current.hues().then((hues) => current === this.current && this.chosen === id && this.linked.link(table, hues)).catch(() => undefined);
  }
}

function comparedOf(pass: Pass, isAsIs: boolean): ComparedPass {
  const { before, after } = pass;
  if (before === null || after === null) return { pass, stage: "ttir", before: after ?? "", after: after ?? "", added: 0, removed: 0 };
  const isLlvm = pass.stage === "llir" && !after.trimStart().startsWith("module") && !after.includes("builtin.module") && /^define |^target /m.test(after);
  const stage = isLlvm ? "llir" : "ttir";
  const [a, b] = [before, after].map((text) => (isAsIs ? text : normalised(stage, text))) as [string, string];
  return { pass, stage, before: a, after: b, added: a === b ? 0 : linesOnlyIn(b, a), removed: a === b ? 0 : linesOnlyIn(a, b) };
}

/** Count the lines of a text that another one has not, or not as often; a whole diff of each pass would take seconds. */
function linesOnlyIn(text: string, other: string): number {
  const left = new Map<string, number>();
  for (const line of other.split("\n")) left.set(line, (left.get(line) ?? 0) + 1);
  return text.split("\n").filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  }).length;
}
