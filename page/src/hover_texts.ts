// Texts under the pointer, or below the cursor with Ctrl+I: what an operation does, what `tl.` offers.

import { Prec, type Extension } from "@codemirror/state";
import { activateHover, closeHoverTooltips, EditorView, hasHoverTooltips, hoverTooltip, keymap } from "@codemirror/view";
import { element } from "./dom";
import { describedName, type LanguageNames } from "./language_names";
import { BY_NAME } from "./stages";

/** A text on a part of a line; `said` is for screen readers. */
export interface Told {
  from: number;
  to: number;
  said: string;
  draw(): HTMLElement;
}

/** Find the text on a column of a line, null for none. */
export type Tell = (line: string, column: number) => Promise<Told | null>;

/** Return an extension that shows what the first of `tells` finds. */
export function hoverTexts(...tells: readonly Tell[]): Extension {
  const toldAt = async (view: EditorView, position: number): Promise<Told | null> => {
    const line = view.state.doc.lineAt(position);
    for (const tell of tells) {
      // a text that cannot be had is not worth an error
      const told = await tell(line.text, position - line.from).catch(() => null);
      if (told) return { ...told, from: line.from + told.from, to: line.from + told.to };
    }
    return null;
  };
  const shown = hoverTooltip(async (view, position) => {
    const told = await toldAt(view, position);
    return told && { pos: told.from, end: told.to, above: true, create: () => ({ dom: told.draw() }) };
  });
  const tellAtCursor = (view: EditorView): boolean => {
    const { head } = view.state.selection.main;
    activateHover(view, head, 1, { tooltip: shown, until: (transaction) => transaction.docChanged || Boolean(transaction.selection) });
    void toldAt(view, head).then((told) => told && view.dispatch({ effects: EditorView.announce.of(told.said) }));
    return true;
  };
  const close = (view: EditorView): boolean => {
    if (!hasHoverTooltips(view.state)) return false;
    view.dispatch({ effects: closeHoverTooltips });
    return true;
  };
  // before CodeMirror's own use of the key, to select more
  return [shown, Prec.high(keymap.of([{ key: "Mod-i", run: tellAtCursor, preventDefault: true }, { key: "Escape", run: close }]))];
}

/** Texts by name, for each syntax that has some. */
type OperationTexts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Where operations stand in a line: anywhere in MLIR, first in assemblies. */
const OPERATIONS: Readonly<Record<string, RegExp>> = {
  mlir: /(?<![\w#!%@.])(?:[a-z]\w*(?:\.\w+)+|module\b)/g,
  ptx: /(?<=^\s*(?:\{\s*)?(?:@!?%\w+\s+)?)[a-z]\w*(?:(?:\.|::)\w+)*/g,
  sass: /(?<=^\s*(?:\/\*[0-9a-f]+\*\/\s+)?(?:@!?U?P\w+\s+)?)[A-Z][A-Z0-9_]*(?:\.\w+)*/g,
  amdgcn: /(?<=^\s+(?:[a-z][^;]*\s::\s+)?)[a-z]\w*(?=\s|$)/g, // `::` joins two that run at once
};
let texts: Promise<OperationTexts> | null = null;

/** Return the file of texts, which is loaded when it is first needed. */
function operationTexts(): Promise<OperationTexts> {
  texts ??= import("./operation_texts.json").then((module) => module.default);
  texts.catch(() => (texts = null)); // ask again next time
  return texts;
}

/** Return the source of texts on the operations of an artifact. */
export function operationTell(stage: string): Tell {
  const syntax = BY_NAME.get(stage)?.syntax ?? "";
  const pattern = OPERATIONS[syntax];
  return async (line, column) => {
    const found = pattern && partAt(pattern, line, column);
    if (!found) return null;
    const [known, text] = textOf((await operationTexts())[syntax] ?? {}, found[0], syntax);
    if (!text) return null;
    const rest = found[0].slice(known.length);
    const draw = (): HTMLElement => element("div", { className: "described" }, element("code", {}, element("b", {}, known), rest), element("p", {}, ...withCode(text)));
    return { from: found.index, to: found.index + found[0].length, said: `${known}: ${text.replaceAll("`", "")}`, draw };
  };
}

/** Return an extension that tells signatures and documentation of what stands after `tl.`. */
export function languageHover(names: LanguageNames): Extension {
  const pattern = /\b(?:tl|triton\.language)\.(\w+)/g;
  return hoverTexts(async (line, column) => {
    const found = partAt(pattern, line, column);
    const name = found && (await names.all()).find((each) => each.name === found[1]);
    if (!name) return null;
    return { from: found.index, to: found.index + found[0].length, said: `tl.${name.name}${name.signature ?? ""}: ${name.summary}`, draw: () => describedName(name) };
  });
}

/** Return the match of a global pattern that has this column. */
export function partAt(pattern: RegExp, line: string, column: number): RegExpMatchArray & { index: number } | null {
  for (const found of line.matchAll(pattern)) {
    if (found.index <= column && column <= found.index + found[0].length) return found as RegExpMatchArray & { index: number };
  }
  return null;
}

/** Return the text of an operation, and the name it is known by: `ld.global.v4.b32` is a `ld.global`,
 * AMD's `v_add_f32_e32` a `v_add`. */
function textOf(known: Readonly<Record<string, string>>, name: string, syntax: string): [string, string | undefined] {
  const beginning = syntax === "amdgcn" ? /^.*(?=_)/ : /^.*(?=\.|::)/;
  let shorter = name;
  while (shorter && !(shorter in known)) shorter = beginning.exec(shorter)?.[0] ?? "";
  return [shorter, known[shorter]];
}

/** Return a text whose parts between backticks are code. */
function withCode(text: string): (Node | string)[] {
  return text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}
