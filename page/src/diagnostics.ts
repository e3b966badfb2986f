// Diagnostics in the editor and beneath it; a click applies a hint that has an exact replacement.

import { forEachDiagnostic, setDiagnostics, type Diagnostic as Shown } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { JUMP } from "./code_view";
import { button, element } from "./dom";
import { USER_FILE } from "./line_links";
import { inPageWords, type Diagnostic, type Problem } from "./wire";

const SUGGESTED = /^Did you mean (?:'([^']+)'|"([^"]+)"|`([^`]+)`|(\.?[\w.]*\w))(?: instead of (?:'([^']+)'|"([^"]+)"))?\?/;
const QUOTED = /'([^']+)'|"([^"]+)"|`([^`]+)`/g;

/** A range of the text and its replacement. */
export interface Replacement {
  from: number;
  to: number;
  text: string;
}

/** The editor's marks, which follow edits. */
const marks = new WeakMap<Diagnostic, Shown>();

/** Show the diagnostics in the editor. */
export function showInEditor(view: EditorView, said: readonly Diagnostic[]): void {
  const { doc } = view.state;
  const shown = said.filter(isInSource(doc)).map((each): Shown => {
    const found = replacement(each, doc);
    const { from: start, to } = rangeOf(each, doc);
    const mark: Shown = {
      from: start,
      to,
      severity: each.severity === "note" ? "info" : each.severity,
      message: inPageWords(each.hint ? `${each.message}\n${each.hint}` : each.message),
      actions: found ? [{ name: `Write ${found.text}`, apply: (target, from) => apply(target, found, from - start) }] : [],
    };
    marks.set(each, mark);
    return mark;
  });
  view.dispatch(setDiagnostics(view.state, shown));
}

/** Return where a diagnostic is in the present text, null if what it is about was deleted. */
function rangeNow(view: EditorView, each: Diagnostic): { from: number; to: number } | null {
  let found: { from: number; to: number } | null = null;
  forEachDiagnostic(view.state, (mark, from, to) => {
    if (mark === marks.get(each)) found = { from, to };
  });
  return found;
}

/** Return a list of diagnostics with links to their lines. */
export function listed(view: EditorView, said: readonly Diagnostic[], problem: Problem | null): HTMLElement[] {
  const items = said.map((each) => item(view, each));
  if (items.length || !problem) return items;
  const errors = problem.errors?.map(({ message }) => message) ?? [problem.detail];
  return errors.map((message) => element("li", { className: "error" }, inPageWords(message)));
}

function item(view: EditorView, each: Diagnostic): HTMLElement {
  const shown = element("li", { className: each.severity });
  const { doc } = view.state;
  if (isInSource(doc)(each)) {
    const go = button(`${each.severity}, line ${each.line}`, () => goTo(view, each), { className: "place" });
    shown.append(go);
  } else {
    const place = each.line ? `, ${each.file ?? ""} line ${each.line}` : "";
    shown.append(element("b", {}, each.severity + place));
  }
  shown.append(" ", inPageWords(each.message));
  if (each.hint) shown.append(element("div", { className: "hint" }, inPageWords(each.hint)));
  const found = replacement(each, doc);
  const written = found && doc.sliceString(found.from, found.to);
  const start = rangeOf(each, doc).from;
  const mend = (): void => {
    const now = rangeNow(view, each);
    const by = (now?.from ?? 0) - start;
    // after an edit of just this, the hint is about nothing
    if (found && now && view.state.sliceDoc(found.from + by, found.to + by) === written) apply(view, found, by);
  };
  if (found) shown.append(button(`Write ${found.text}`, mend, { className: "small" }));
  return shown;
}

/** Write a replacement, where its text has moved `by` so many characters. */
function apply(view: EditorView, { from, to, text }: Replacement, by: number): void {
  view.dispatch({ changes: { from: from + by, to: to + by, insert: text }, selection: { anchor: from + by + text.length }, userEvent: "input" });
  view.focus();
}

function goTo(view: EditorView, each: Diagnostic): void {
  const now = rangeNow(view, each);
  if (!now) return;
  const { from } = now;
  view.dispatch({ selection: { anchor: from }, userEvent: JUMP, scrollIntoView: true });
  view.focus();
}

function isInSource(doc: Text): (each: Diagnostic) => boolean {
  return (each) => each.line !== null && (each.file ?? USER_FILE) === USER_FILE && each.line <= doc.lines;
}

/** Return the range of a diagnostic. Its columns count characters; the editor counts UTF-16 units. */
function rangeOf(each: Diagnostic, doc: Text): { from: number; to: number } {
  const at = (line: number, column: number): number => {
    const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const before = Array.from(found.text).slice(0, Math.max(column - 1, 0)).join("");
    return found.from + before.length;
  };
  const line = each.line ?? 1;
  const from = at(line, each.column ?? 1);
  if (each.column === null) return { from, to: doc.line(line).to };
  const end = each.end_line && each.end_column ? at(each.end_line, each.end_column) : from + 1;
  return { from, to: Math.max(end, from) };
}

/** Return the hint's replacement and its range, null if the hint is not exact. */
export function replacement(each: Diagnostic, doc: Text): Replacement | null {
  const suggested = SUGGESTED.exec(each.hint ?? "");
  if (!suggested || !isInSource(doc)(each)) return null;
  const text = suggested.slice(1, 5).find(Boolean)!;
  const range = rangeOf(each, doc);
  const written = doc.sliceString(range.from, range.to);
  const named = suggested[5] ?? suggested[6];
  const wrong = named ? [named] : Array.from(each.message.matchAll(QUOTED), (found) => found[1] ?? found[2] ?? found[3]!);
  if (/^[\w.]+$/.test(written) && /^[\w.]+$/.test(text)) return whole(range, written, text);
  for (const word of wrong) {
    const first = written.search(new RegExp(`(?<![\\w.])${escaped(word)}(?!\\w)|(?<=\\.)${escaped(word)}(?!\\w)`));
    const isOnce = first >= 0 && written.indexOf(word, first + word.length) < 0;
    if (isOnce) {
      const last = text.replace(/^\./, "");
      return { from: range.from + first, to: range.from + first + word.length, text: last };
    }
  }
  return null;
}

/** `tl.arang` becomes `tl.arange`; of `x.too`, `.to` and `to` replace the last name. */
function whole(range: { from: number; to: number }, written: string, text: string): Replacement {
  const last = written.lastIndexOf(".");
  if (text.startsWith(".") && last >= 0) return { from: range.from + last, to: range.to, text };
  const isDotted = text.includes(".") || last < 0;
  return isDotted ? { ...range, text } : { from: range.from + last + 1, to: range.to, text };
}

function escaped(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
