// A pane that compares compilations: the kept ones and the current one.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { commonExtensions, lineClasses, readOnly } from "./code_view";
import { comparisonTable, lineTable, type Column } from "./comparison_table";
import type { Compiled } from "./compiled";
import { element, field, menu } from "./dom";
import { languageOf } from "./languages";
import { differencesOf, type StageDifference } from "./differences";
import type { Content, Shown } from "./pane_kinds";
import { BY_NAME, STAGES } from "./stages";
import { wordsOf } from "./text_pane";

const A = "A".charCodeAt(0);
const SAME = "Both are the same.";
const REGISTERS = "Most lines differ only in their registers.";
const NARROW = window.matchMedia("(max-width: 60rem)");

/** Return the pane; `forget` drops a kept compilation, where that is possible. */
export function comparison(forget: ((index: number) => void) | null): Content {
  return new ComparisonPane(forget);
}

class ComparisonPane implements Content {
  readonly element: HTMLElement;
  private readonly said = element("p", { className: "faint" });
  private readonly from = menu([], "", { "aria-label": "From" });
  private readonly to = menu([], "", { "aria-label": "To" });
  private readonly stages = menu(STAGES.map(({ name, title }) => [name, title] as const), "ptx", { "aria-label": "Stage" });
  private readonly asIs = element("input", { type: "checkbox" });
  private readonly controls: HTMLElement;
  private readonly numbers = element("div");
  private readonly lines = element("div");
  private readonly tables = element("div", { className: "differences scrolls", tabIndex: 0, role: "group", "aria-label": "Differences" }, this.numbers, this.lines);
  private readonly code = element("div", { className: "code" });
  private readonly beside: HTMLElement;
  private shown: Shown = { compiled: null, kept: [] };
  private columns: Column[] = [];
  private closeCode = (): void => {};

  constructor(private readonly forget: ((index: number) => void) | null) {
    this.controls = element("div", { className: "controls" }, this.stages, field("from", this.from, "beside"), field("to", this.to, "beside"), field("Raw names and locations", this.asIs, "inline"));
    this.beside = element("div", { className: "compared-texts" }, this.controls, this.said, this.code);
    this.element = element("div", { className: "body comparison" }, element("div", { className: "compared-beside" }, this.tables, this.beside));
    for (const control of [this.from, this.to, this.stages, this.asIs]) control.addEventListener("change", () => this.redraw());
  }

  show(now: Shown): void {
    if (this.shown.compiled === now.compiled && same(this.shown.kept, now.kept) && this.code.childNodes.length) return;
    this.shown = { compiled: now.compiled, kept: [...now.kept] };
    this.redraw(true);
  }

  end(): void {
    this.closeCode();
  }

  private redraw(isNew = false): void {
    this.draw(isNew).catch((error: unknown) => this.say(wordsOf(error)));
  }

  private say(words: string): void {
    [this.said.textContent, this.said.hidden, this.code.hidden] = [words, !words, words !== ""];
  }

  private async draw(isNew: boolean): Promise<void> {
    const { compiled, kept } = this.shown;
    this.closeCode();
    this.closeCode = () => {};
    this.code.replaceChildren();
    const isOther = compiled !== null && !kept.some(({ compilation }) => compilation.key === compiled.compilation.key);
    const all = kept.length && isOther ? [...kept, compiled] : kept;
    this.tables.hidden = this.controls.hidden = all.length < 2;
    if (!kept.length) return this.say("Nothing kept yet. Compile, choose “Keep for comparison”, change something, then compile again.");
    if (all.length < 2) return this.say("Kept as A. Change something and compile to compare.");
    if (isNew) {
      this.say("Comparing …");
      // computed together with the counts; a failure is reported when it is drawn
      differencesOf(all[0]!, all.at(-1)!).catch(() => undefined);
      const columns = all.map((each, index) => this.columnOf(each, index));
      this.columns = columns;
      void this.count(columns);
      const names = columns.map(({ name }, index) => element("option", { value: index }, name));
      this.from.replaceChildren(...names);
      this.to.replaceChildren(...names.map((name) => name.cloneNode(true)));
      [this.from.value, this.to.value] = ["0", String(columns.length - 1)];
    }
    await this.drawTexts(this.columns[Number(this.from.value)]!.compiled, this.columns[Number(this.to.value)]!.compiled);
  }

  /** Add the instructions, which a worker counts first. */
  private async count(columns: Column[]): Promise<void> {
    // without counts, the rest is still useful
    const counts = await Promise.all(columns.map(({ compiled }) => compiled.instructions().catch(() => null)));
    counts.forEach((each, index) => (columns[index]!.instructions = each));
    if (columns === this.columns) this.numbers.replaceChildren(comparisonTable(columns));
  }

  private columnOf(compiled: Compiled, index: number): Column {
    const { forget } = this;
    const isKept = index < this.shown.kept.length;
    const name = isKept ? String.fromCharCode(A + index) : "now";
    return { name, compiled, instructions: null, forget: isKept && forget ? () => forget(index) : null };
  }

  private async drawTexts(from: Compiled, to: Compiled): Promise<void> {
    const chosen = (): string => [this.from.value, this.to.value, this.stages.value, this.asIs.checked].join();
    const [asked, { columns }, stage] = [chosen(), this, this.stages.value];
    const isCurrent = (): boolean => chosen() === asked && columns === this.columns;
    this.numbers.replaceChildren(comparisonTable(columns));
    this.lines.replaceChildren();
    const differences = await differencesOf(from, to);
    if (!isCurrent()) return;
    const lines = lineTable(differences.instructions?.by_line ?? []);
    if (lines) this.lines.replaceChildren(lines);
    const lacking = [from, to].find((each) => !each.has(stage));
    if (lacking) return this.say(`There is no ${BY_NAME.get(stage)?.title} for ${lacking.compilation.target}.`);
    const compared = differences.stages.find((each) => each.stage === stage);
    // the service does not compare NumPy modules; unchanged texts are shown in full
    if (this.asIs.checked || !compared) {
      const [a, b] = await Promise.all([from.text(stage), to.text(stage)]);
      if (!isCurrent()) return;
      this.say(a === b ? SAME : "");
      if (a !== b) this.closeCode = sideBySide(this.code, stage, a, b);
      return;
    }
    this.say(compared.same ? SAME : compared.diff ? "" : REGISTERS);
    if (compared.diff) this.closeCode = unified(this.code, stage, compared);
  }
}

function same(some: readonly Compiled[], others: readonly Compiled[]): boolean {
  return some.length === others.length && some.every((each, index) => each === others[index]);
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
