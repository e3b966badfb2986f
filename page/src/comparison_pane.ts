// A pane that compares two compilations: the kept one and the current one.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { commonExtensions, lineClasses, readOnly } from "./code_view";
import type { Compiled } from "./compiled";
import { element, field, menu } from "./dom";
import { languageOf } from "./languages";
import { differencesOf, type StageDifference } from "./differences";
import { tables } from "./difference_tables";
import type { Content, Shown } from "./pane_kinds";
import { STAGES } from "./stages";
import { wordsOf } from "./text_pane";

const SAME = "Both are the same.";
const REGISTERS = "They differ only in their registers, in most lines.";
const NARROW = window.matchMedia("(max-width: 60rem)");

export function comparison(): Content {
  return new ComparisonPane();
}

class ComparisonPane implements Content {
  readonly element: HTMLElement;
  private readonly said = element("p", { className: "faint" });
  private readonly stages = menu(STAGES.map(({ name }) => [name, name] as const), "ptx", { "aria-label": "Stage" });
  private readonly asIs = element("input", { type: "checkbox" });
  private readonly controls: HTMLElement;
  private readonly tables = element("div", { className: "differences scrolls", tabIndex: 0, role: "group", "aria-label": "Differences" });
  private readonly code = element("div", { className: "code" });
  private shown: Shown = { compiled: null, kept: null };
  private closeCode = (): void => {};

  constructor() {
    this.controls = element("div", { className: "controls" }, this.stages, field("unchanged, with names and locations", this.asIs, "inline"));
    this.element = element("div", { className: "body" }, this.controls, this.tables, this.said, this.code);
    this.stages.addEventListener("change", () => this.redraw());
    this.asIs.addEventListener("change", () => this.redraw());
  }

  show(now: Shown): void {
    if (this.shown.compiled === now.compiled && this.shown.kept === now.kept && this.code.childNodes.length) return;
    this.shown = now;
    this.redraw();
  }

  end(): void {
    this.closeCode();
  }

  private redraw(): void {
    this.draw().catch((error: unknown) => this.say(wordsOf(error)));
  }

  private say(words: string): void {
    [this.said.textContent, this.said.hidden, this.code.hidden] = [words, !words, words !== ""];
  }

  private async draw(): Promise<void> {
    const { compiled, kept } = this.shown;
    this.closeCode();
    this.closeCode = () => {};
    this.code.replaceChildren();
    this.tables.replaceChildren();
    this.tables.hidden = this.controls.hidden = !compiled || !kept;
    if (!kept) return this.say("Nothing kept yet. Compile, choose “Keep for comparison”, change something, then compile again.");
    if (!compiled) return this.say("Kept. Compile again to compare.");
    this.say("Comparing …");
    const [stage, isAsIs] = [this.stages.value, this.asIs.checked];
    const isCurrent = (): boolean => this.shown.compiled === compiled && this.shown.kept === kept && this.stages.value === stage && this.asIs.checked === isAsIs;
    const differences = await differencesOf(kept, compiled);
    if (!isCurrent()) return;
    this.tables.replaceChildren(...tables(asked(kept), asked(compiled), differences));
    const lacking = [kept, compiled].find((each) => !each.has(stage));
    if (lacking) return this.say(`There is no ${stage} for ${lacking.compilation.target}.`);
    const compared = differences.stages.find((each) => each.stage === stage);
    // the service does not compare NumPy modules; unchanged texts are shown in full
    if (isAsIs || !compared) {
      const [a, b] = await Promise.all([kept.text(stage), compiled.text(stage)]);
      if (!isCurrent()) return;
      this.say(a === b ? SAME : "");
      if (a !== b) this.closeCode = sideBySide(this.code, stage, a, b);
      return;
    }
    this.say(compared.same ? SAME : compared.diff ? "" : REGISTERS);
    if (compared.diff) this.closeCode = unified(this.code, stage, compared);
  }
}

/** The request, as typed. */
function asked({ request }: Compiled): Map<string, string> {
  return new Map(Object.entries({ target: request.target, triton: request.triton ?? "", ...request.constexprs, ...request.options }));
}

function sideBySide(parent: HTMLElement, stage: string, a: string, b: string): () => void {
  const of = (label: string): unknown[] => [commonExtensions(label), readOnly(), languageOf(stage)];
  const collapseUnchanged = { margin: 4, minSize: 8 };
  if (NARROW.matches) {
    const merge = unifiedMergeView({ original: a, mergeControls: false, collapseUnchanged });
    const extensions = [...of("Kept and current"), merge] as never[];
    const view = new EditorView({ parent, state: EditorState.create({ doc: b, extensions }) });
    return () => view.destroy();
  }
  const view = new MergeView({
    parent,
    a: { doc: a, extensions: of("Kept") as never[] },
    b: { doc: b, extensions: of("Current") as never[] },
    collapseUnchanged,
  });
  return () => view.destroy();
}

/** Show the service's diff of a stage: changed lines with some context. */
function unified(parent: HTMLElement, stage: string, { stage: name, diff, added, removed, truncated }: StageDifference): () => void {
  const lines = (diff ?? "").split("\n").slice(2);
  const kinds: Record<string, string> = { "+": "added", "-": "removed", "@": "hunk" };
  const marks = lines.flatMap((line, index) => (kinds[line[0] ?? ""] ? [{ line: index + 1, className: `diff-${kinds[line[0]!]}` }] : []));
  const view = new EditorView({
    parent,
    state: EditorState.create({ doc: lines.join("\n"), extensions: [commonExtensions(`Differences in ${name}: ${added} added, ${removed} removed`), readOnly(), languageOf(stage), lineClasses(marks)] }),
  });
  parent.append(element("p", { className: "faint count" }, `+${added} −${removed} lines${truncated ? ", some not shown" : ""}`));
  return () => view.destroy();
}
