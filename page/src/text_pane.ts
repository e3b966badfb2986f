// A pane with an artifact's text; its lines are linked with the source and other panes.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { ProblemAnswered } from "./api";
import { commonExtensions, compiledLines, LinkedLines, readOnly } from "./code_view";
import type { Compiled } from "./compiled";
import { button, element } from "./dom";
import { filtered, tableOfLeft, type Filters } from "./filters";
import { hoverTexts, operationTell } from "./hover_texts";
import { languageOf } from "./languages";
import { layoutTell } from "./layout_hover";
import type { Selection } from "./line_links";
import { COMMON_TARGETS, STANDARD_TARGET } from "./targets";
import type { Content, Shown } from "./pane_kinds";
import { inPageWords } from "./wire";

/** The targets of the stages that only one vendor's have. */
const TARGETS: Readonly<Record<string, string>> = { amdgcn: COMMON_TARGETS.find((target) => target.startsWith("hip"))!, ptx: STANDARD_TARGET, sass: STANDARD_TARGET };

/** Return the content of a pane for the artifact `name`; `compileFor` compiles for another target, where that is possible. */
export function text(name: string, title: string, selection: Selection, filters: Filters, compileFor: ((target: string) => void) | null): Content {
  const said = element("p", { className: "faint" }, "Nothing compiled yet.");
  const code = element("div", { className: "code", hidden: true });
  const linked = new LinkedLines(selection);
  const hover = hoverTexts(operationTell(name), ...(name === "ttgir" ? [layoutTell(() => current)] : []));
  const extensions = [commonExtensions(title), readOnly(), languageOf(name), hover, linked.extension];
  const view = new EditorView({ parent: code, state: EditorState.create({ extensions }) });
  let current: Compiled | null = null;
  let isNew = true;
  linked.attach(view);

  const say = (words: string): void => {
    said.textContent = words;
    said.hidden = !words;
    code.hidden = words !== "";
  };
  const show = async (compiled: Compiled): Promise<void> => {
    if (!compiled.has(name)) {
      const { target, state } = compiled.compilation;
      const other = TARGETS[name];
      if (state !== "succeeded") return say(`No ${title}: the compilation stopped at an earlier error.`);
      say(`${target} has no ${title}. `);
      if (other && compileFor) said.append(button(`Compile for ${other}`, () => compileFor(other), { className: "small" }));
      return;
    }
    if (!view.state.doc.length) say("Loading …");
    const content = await compiled.text(name);
    if (compiled !== current) return;
    const left = filtered(name, content, filters.chosen);
    view.dispatch({ changes: changesTo(view.state.doc.toString(), left.text), effects: compiledLines.begin.of(null) });
    linked.link(null, new Map());
    say("");
    const [table, hues] = await Promise.all([compiled.table(name), compiled.hues()]);
    if (compiled !== current) return;
    const shown = tableOfLeft(table, left.lines);
    linked.link(shown, hues);
    if (isNew && shown.places.size && !selection.places.size) linked.scrollTo(Math.min(...shown.places.keys()));
    isNew &&= !shown.places.size;
  };
  const draw = (compiled: Compiled): void => {
    show(compiled).catch((error: unknown) => {
      // without links, the text is still useful
      if (compiled === current && !view.state.doc.length) say(wordsOf(error));
    });
  };
  const stop = filters.follow(() => {
    if (current) draw(current);
  });

  return {
    element: element("div", { className: "body" }, said, code),
    show({ compiled }: Shown) {
      if (compiled === current) return;
      isNew ||= current !== null && compiled !== null && current.compilation.kernel !== compiled.compilation.kernel;
      current = compiled;
      if (!compiled) return say("Nothing compiled yet.");
      draw(compiled);
    },
    end() {
      stop();
      linked.end();
      view.destroy();
    },
  };
}

/** Return a change of only the middle that differs, so that a view keeps its place. */
function changesTo(before: string, after: string): { from: number; to: number; insert: string } {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) };
}

/** Return the message of an exception; errors of fields stand without their pointers. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof ProblemAnswered)) return String(error);
  const { title, detail, errors } = error.problem;
  return `${title}: ${inPageWords(errors?.length ? errors.map(({ message }) => message).join(" ") : detail)}`;
}
