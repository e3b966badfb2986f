// A pane with the compiler's passes: a slider selects a pass and shows its changes.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { unifiedMergeView } from "@codemirror/merge";
import { commonExtensions, readOnly } from "./code_view";
import type { Compiled } from "./compiled";
import { element, field } from "./dom";
import { languageOf } from "./languages";
import type { Content, Shown } from "./panes";
import { wordsOf } from "./text_pane";
import { normalised } from "./normalised";
import type { Pass } from "./wire";

export function passes(): Content {
  const said = element("p", { className: "faint" }, "Nothing compiled yet.");
  const slider = element("input", { type: "range", min: "0", max: "0", step: "1", "aria-label": "Pass" });
  const name = element("output", {});
  const all = element("input", { type: "checkbox" });
  const places = element("input", { type: "checkbox" });
  const code = element("div", { className: "code" });
  const controls = element(
    "div",
    { className: "controls", hidden: true },
    slider,
    name,
    field("also passes without changes", all, "inline"),
    field("with unchanged names and locations", places, "inline"),
  );
  let [current, view, found]: [Compiled | null, EditorView | null, Pass[]] = [null, null, []];

  const draw = (): void => {
    const shown = all.checked ? found : found.filter(({ changed }) => changed);
    slider.max = String(Math.max(shown.length - 1, 0));
    const pass = shown[Math.min(Number(slider.value), shown.length - 1)];
    view?.destroy();
    view = null;
    if (!pass) {
      name.textContent = "No pass changed anything.";
      return;
    }
    const position = `${shown.indexOf(pass) + 1} of ${shown.length}: ${pass.name} (${pass.stage})`;
    name.textContent = pass.changed ? position : `${position}, nothing changed`;
    slider.setAttribute("aria-valuetext", position);
    if (pass.before === null || pass.after === null) return;
    const stage = pass.stage === "llir" && !pass.after.trimStart().startsWith("module") && !pass.after.includes("builtin.module") && /^define |^target /m.test(pass.after) ? "llir" : "ttir";
    const [before, after] = [pass.before, pass.after].map((text) => (places.checked ? text : normalised(stage, text)));
    const merge = unifiedMergeView({ original: before!, mergeControls: false, gutter: true, collapseUnchanged: { margin: 4, minSize: 8 } });
    const extensions = [commonExtensions(`After ${pass.name}`), readOnly(), languageOf(stage), merge];
    view = new EditorView({ parent: code, state: EditorState.create({ doc: after!, extensions }) });
  };
  for (const control of [slider, all, places]) control.addEventListener("input", draw);

  return {
    element: element("div", { className: "body" }, said, controls, code),
    show({ compiled }: Shown) {
      if (compiled === current) return;
      current = compiled;
      [found, controls.hidden, said.hidden] = [[], true, false];
      view?.destroy();
      view = null;
      said.textContent = compiled ? "Loading …" : "Nothing compiled yet.";
      compiled
        ?.passes()
        .then((all) => {
          if (compiled !== current) return;
          [found, controls.hidden, said.hidden] = [all, false, true];
          draw();
        })
        .catch((error: unknown) => {
          if (compiled === current) said.textContent = wordsOf(error);
        });
    },
    end: () => view?.destroy(),
  };
}
