// A pane with an artifact's text; its lines are linked with the source and other panes.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { ProblemAnswered } from "./api";
import { commonExtensions, LinkedLines, readOnly } from "./code_view";
import type { Compiled } from "./compiled";
import { element } from "./dom";
import { languageOf } from "./languages";
import type { Selection } from "./line_links";
import type { Content, Shown } from "./panes";

/** Return the content of a pane for the artifact `name`. */
export function text(name: string, title: string, selection: Selection): Content {
  const said = element("p", { className: "faint" }, "Nothing compiled yet.");
  const code = element("div", { className: "code", hidden: true });
  const linked = new LinkedLines(selection);
  const extensions = [commonExtensions(title), readOnly(), languageOf(name), linked.extension];
  const view = new EditorView({ parent: code, state: EditorState.create({ extensions }) });
  let current: Compiled | null = null;
  linked.attach(view);

  const say = (words: string): void => {
    said.textContent = words;
    said.hidden = !words;
    code.hidden = words !== "";
  };
  const show = async (compiled: Compiled): Promise<void> => {
    if (!compiled.has(name)) {
      const { target, state } = compiled.compilation;
      return say(`${title}: none for ${target}${state === "succeeded" ? "" : ", since the compilation did not reach it"}.`);
    }
    if (!view.state.doc.length) say("Loading …");
    const content = await compiled.text(name);
    if (compiled !== current) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: content } });
    linked.link(null, new Map());
    say("");
    const [table, hues] = await Promise.all([compiled.table(name), compiled.hues()]);
    if (compiled === current) linked.link(table, hues);
  };

  return {
    element: element("div", { className: "body" }, said, code),
    show({ compiled }: Shown) {
      if (compiled === current) return;
      current = compiled;
      if (!compiled) return say("Nothing compiled yet.");
      show(compiled).catch((error: unknown) => {
        // without links, the text is still useful
        if (compiled === current && !view.state.doc.length) say(wordsOf(error));
      });
    },
    end() {
      linked.end();
      view.destroy();
    },
  };
}

/** Return the message of an exception. */
export function wordsOf(error: unknown): string {
  return error instanceof ProblemAnswered ? `${error.problem.title}: ${error.problem.detail}` : String(error);
}
