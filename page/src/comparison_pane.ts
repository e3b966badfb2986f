// A pane with two compilations side by side: what was kept, and what is on the page now.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { commonExtensions, readOnly } from "./code_view";
import type { Compiled } from "./compiled";
import { numbersOf } from "./compiled_numbers";
import { element, field, menu } from "./dom";
import { languageOf } from "./languages";
import { normalised } from "./normalised";
import type { Content, Shown } from "./panes";
import { wordsOf } from "./text_pane";

const STAGES = ["source", "ttir", "ttgir", "llir", "ptx", "sass", "amdgcn", "numpy"];
const NARROW = window.matchMedia("(max-width: 60rem)");

export function comparison(): Content {
  const said = element("p", { className: "faint" });
  const stages = menu(STAGES.map((name) => [name, name] as const), "ptx", { "aria-label": "Stage" });
  const asIs = element("input", { type: "checkbox" });
  const label = field("as it is, with names and locations", asIs, "inline");
  const controls = element("div", { className: "controls" }, stages, label);
  const table = element("table", { className: "numbers" });
  const code = element("div", { className: "code" });
  let shown: Shown = { compiled: null, kept: null };
  let end = (): void => {};

  const draw = async (): Promise<void> => {
    const { compiled, kept } = shown;
    end();
    end = () => {};
    code.replaceChildren();
    table.replaceChildren();
    controls.hidden = !compiled || !kept;
    said.textContent = "";
    said.hidden = Boolean(compiled && kept);
    if (!kept) said.textContent = "Nothing kept yet. Compile, choose “Keep for comparison”, change something and compile again.";
    else if (!compiled) said.textContent = "Kept. Compile again to compare.";
    if (!compiled || !kept) return;
    table.append(...rows(kept, compiled));
    const stage = stages.value;
    const lacking = [kept, compiled].find((each) => !each.has(stage));
    if (lacking) {
      said.hidden = false;
      said.textContent = `There is no ${stage} for ${lacking.compilation.target}.`;
      return;
    }
    const texts = await Promise.all([kept.text(stage), compiled.text(stage)]);
    if (shown.compiled !== compiled || shown.kept !== kept || stages.value !== stage) return;
    const [a, b] = texts.map((text) => (asIs.checked ? text : normalised(stage, text)));
    said.hidden = a !== b;
    said.textContent = a === b ? "Both are the same." : "";
    code.replaceChildren();
    end = sideBySide(code, stage, a!, b!);
  };
  const redraw = (): void => {
    draw().catch((error: unknown) => {
      said.hidden = false;
      said.textContent = wordsOf(error);
    });
  };
  stages.addEventListener("change", redraw);
  asIs.addEventListener("change", redraw);

  return {
    element: element("div", { className: "body" }, controls, table, said, code),
    show(now: Shown) {
      if (shown.compiled === now.compiled && shown.kept === now.kept && code.isConnected && code.childNodes.length) return;
      shown = now;
      redraw();
    },
    end: () => end(),
  };
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

/** The numbers of both, and what was asked for where that differs. */
function rows(kept: Compiled, compiled: Compiled): HTMLElement[] {
  const asked = (each: Compiled): Map<string, string> => {
    const { request } = each;
    const parts = { target: request.target, triton: request.triton ?? "", ...request.constexprs, ...request.options };
    return new Map(Object.entries(parts));
  };
  const pairs = [[asked(kept), asked(compiled)], [numbersOf(kept.compilation), numbersOf(compiled.compilation)]] as const;
  const body = pairs.flatMap(([a, b]) =>
    [...new Set([...a.keys(), ...b.keys()])]
      .map((name) => [name, a.get(name) ?? "", b.get(name) ?? ""] as const)
      .filter(([, left, right]) => left !== right),
  );
  const head = element("tr", {}, ...["what", "kept", "now"].map((text) => element("th", { scope: "col" }, text)));
  const lines = body.map(([name, left, right]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, left), element("td", {}, right)),
  );
  return lines.length ? [element("thead", {}, head), element("tbody", {}, ...lines)] : [];
}
