// A pane that says why a kernel costs what it costs: its limits, its costly lines, and findings in its stages.

import { guessBadge } from "./assumed";
import type { Compiled, InstructionCounts } from "./compiled";
import { button, element } from "./dom";
import { USER_FILE, type Selection } from "./line_links";
import type { Content, Shown } from "./pane_kinds";
import { limitsOf } from "./resources_pane";
import { wordsOf } from "./text_pane";
import { settingsFor, Trials, type TrialContext } from "./trials";
import type { Explanation, Finding } from "./wire";

const MOST_LINES = 5;
const MOST_FINDINGS = 6;
const MOST_CLASSES = 6;
/** The class of the instructions that store and load spilled values. */
const SPILL = "local";
const OTHERS = "To compare many values of a setting, open Matrix.";
/** The words of a message that repeat the title of its part. */
const REPEATED = /^(?:not vectorised|uncoalesced): /;

type Place = Pick<Finding, "file" | "line">;

/** Return the pane; without `trials`, it offers no other settings. */
export function explain(selection: Selection, trials: TrialContext | null): Content {
  return new ExplainPane(selection, trials);
}

class ExplainPane implements Content {
  readonly element = element("div", { className: "body scrolls", tabIndex: 0, role: "group", "aria-label": "Explain" });
  private current: Compiled | null = null;

  private tried: Trials | null = null;

  constructor(
    private readonly selection: Selection,
    private readonly trials: TrialContext | null,
  ) {
    this.say("Nothing compiled yet.");
  }

  show({ compiled }: Shown): void {
    if (compiled === this.current) return;
    const isFirst = this.current === null;
    this.current = compiled;
    this.tried?.end();
    if (!compiled) return this.say("Nothing compiled yet.");
    if (isFirst) this.say("Loading …");
    Promise.all([compiled.explanation(), compiled.instructions()])
      .then(([explanation, instructions]) => compiled === this.current && this.draw(compiled, explanation, instructions))
      .catch((error: unknown) => compiled === this.current && this.say(wordsOf(error)));
  }

  end(): void {
    this.current = null; // answers that come later change nothing
    this.tried?.end();
  }

  private draw(compiled: Compiled, explanation: Explanation | null, instructions: InstructionCounts | null): void {
    const { compilation, request } = compiled;
    const { target, state } = compilation;
    if (!explanation) return this.say(state === "succeeded" ? `${target} has nothing to explain.` : "Nothing to explain: the compilation stopped at an earlier error.");
    const shown = [...guessBadge(compiled.assumed), limitsOf(compilation)];
    if (instructions) shown.push(this.linesShown(instructions, request.language === "python" ? request.source.split("\n") : []));
    if (this.trials) {
      this.tried = new Trials(compiled, settingsFor(compiled, explanation), this.trials);
      shown.push(this.tried.element);
    }
    shown.push(this.findingsShown(explanation), element("p", { className: "faint" }, OTHERS));
    this.element.replaceChildren(...shown);
  }

  /** The lines with most spill instructions, then with most of any class. */
  private linesShown({ total, by_class, by_line }: InstructionCounts, source: readonly string[]): HTMLElement {
    const lines = by_line.filter(({ line }) => line !== null).sort((a, b) => (b.by_class[SPILL] ?? 0) - (a.by_class[SPILL] ?? 0) || b.total - a.total);
    const rows = lines.slice(0, MOST_LINES).map((each) => {
      const text = each.file === USER_FILE ? (source[each.line! - 1] ?? "").trim() : "";
      const spills = `${each.by_class[SPILL] ?? 0}${each.local_bytes ? ` (${each.local_bytes} B)` : ""}`;
      const cells = [String(each.total), spills, mostOf({ ...each.by_class, [SPILL]: 0 }, 2)].map((cell) => element("td", {}, cell));
      return element("tr", {}, this.head(each), ...cells, element("td", { className: "code-text", title: text }, text));
    });
    const heads = ["line", "instructions", "spills", "mainly", "source"].map((name) => element("th", { scope: "col" }, name));
    const caption = element("caption", {}, `${total} instructions: ${mostOf(by_class, MOST_CLASSES)}`);
    return element("table", { className: "numbers explained" }, caption, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  }

  private findingsShown({ matrix_products, tma, not_vectorised, uncoalesced, layout_conversions }: Explanation): HTMLElement {
    const products = matrix_products.length ? matrix_products : [saying("no tl.dot")];
    const parts = [
      this.part("Matrix units and TMA", tma.message ? [saying(tma.message), ...products] : products),
      this.part("Unvectorised accesses", not_vectorised),
      this.part("Uncoalesced accesses", uncoalesced),
      this.part("Layout conversions", layout_conversions),
    ];
    return element("table", { className: "numbers explained" }, ...parts);
  }

  private part(title: string, found: readonly Finding[]): HTMLElement {
    const shown = found.length ? found.slice(0, MOST_FINDINGS) : [saying("none")];
    if (found.length > MOST_FINDINGS) shown.push(saying(`and ${found.length - MOST_FINDINGS} more, in tritonc explain --json`));
    const head = element("tr", { className: "part" }, element("th", { colSpan: 2, scope: "rowgroup" }, title));
    return element("tbody", {}, head, ...shown.map((each) => element("tr", {}, each.line === null ? element("td") : this.head(each), element("td", {}, each.message.replace(REPEATED, "")))));
  }

  /** The head of a row: a line that marks itself in the editor and in all panes. */
  private head({ file, line }: Place): HTMLElement {
    const name = file === USER_FILE ? `line ${line}` : `${file}:${line}`;
    return element("th", { scope: "row" }, button(name, () => this.selection.select([`${file}:${line}`], this), { className: "place" }));
  }

  private say(text: string): void {
    this.element.replaceChildren(element("p", { className: "faint" }, text));
  }
}

/** A finding of no line. */
function saying(message: string): Finding {
  return { file: null, line: null, message };
}

/** Return the most frequent classes. */
function mostOf(byClass: Readonly<Record<string, number>>, most: number): string {
  const sorted = Object.entries(byClass).filter(([, count]) => count).sort((a, b) => b[1] - a[1]);
  return sorted.slice(0, most).map(([name, count]) => `${name.replaceAll("_", " ")} ${count}`).join(", ");
}
