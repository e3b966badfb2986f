// A CodeMirror view: highlighted text whose numbered lines are linked to lines of other views.

import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { syntaxHighlighting } from "@codemirror/language";
import { EditorState, RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import { defaultKeymap } from "@codemirror/commands";
import { classHighlighter } from "@lezer/highlight";
import { FollowedLines } from "./followed_lines";
import type { LineTable, Place, Selection } from "./line_links";

interface Marks {
  hues: ReadonlyMap<number, number>;
  selected: ReadonlySet<number>;
  hovered: ReadonlySet<number>;
}

const setMarks = StateEffect.define<Partial<Marks>>();
const NO_MARKS: Marks = { hues: new Map(), selected: new Set(), hovered: new Set() };
/** The lines of the text that was compiled, in the view's present text. */
export const compiledLines = new FollowedLines();

const markedLines = StateField.define<{ marks: Marks; shown: DecorationSet }>({
  create: () => ({ marks: NO_MARKS, shown: Decoration.none }),
  update(value, transaction) {
    let { marks, shown } = value;
    let changed = false;
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) {
        marks = { ...marks, ...effect.value };
        changed = true;
      }
    }
    if (changed || transaction.docChanged) shown = decorated(transaction.state, marks);
    return { marks, shown };
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.shown),
});

function decorated(state: EditorState, marks: Marks): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const classes = new Map<number, string[]>();
  for (const number of new Set([...marks.hues.keys(), ...marks.selected, ...marks.hovered])) {
    const now = compiledLines.now(state, number);
    if (now === null) continue;
    const hue = marks.hues.get(number);
    const names = [hue === undefined ? "" : `hue hue-${hue}`, marks.selected.has(number) ? "selected" : "", marks.hovered.has(number) ? "hovered" : ""];
    classes.set(now, [...(classes.get(now) ?? []), ...names.filter(Boolean)]);
  }
  for (const [number, names] of [...classes].sort(([a], [b]) => a - b)) {
    const { from } = state.doc.line(number);
    builder.add(from, from, Decoration.line({ class: names.join(" ") }));
  }
  return builder.finish();
}

/** Return an extension that gives lines permanent CSS classes. */
export function lineClasses(marks: readonly { line: number; className: string }[]): Extension {
  return EditorView.decorations.of((view) => {
    const { doc } = view.state;
    return Decoration.set(marks.map(({ line, className }) => Decoration.line({ class: className }).range(doc.line(line).from)));
  });
}

/** The nonce that lets CodeMirror add its styles. */
export const NONCE = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? "";

/** Return the extensions of every view: line numbers, search, colours; `label` is for screen readers. */
export function commonExtensions(label: string): Extension[] {
  return [
    EditorView.cspNonce.of(NONCE),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
    lineNumbers(),
    drawSelection(),
    highlightSpecialChars(), // shared sources might reorder what is read, or hide it
    compiledLines.field,
    markedLines,
    syntaxHighlighting(classHighlighter),
    highlightSelectionMatches(),
    search({ top: true }),
    keymap.of([...searchKeymap, ...defaultKeymap]),
  ];
}

/**
 * Replaces a selection by typed text. Chromium itself would keep the style of the replaced text as
 * an inline style, which the page's policy refuses with an error.
 */
export const typedOverSelection: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main, ranges } = view.state.selection;
    const text = event.data;
    if (event.inputType !== "insertText" || !text || view.composing || main.empty) return false;
    const insert = (): ReturnType<EditorView["state"]["update"]> =>
      view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    const handlers = ranges.length === 1 ? view.state.facet(EditorView.inputHandler) : [];
    if (!handlers.some((handle) => handle(view, main.from, main.to, text, insert))) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});

/** Make a view read-only: it can be focused, but phones open no keyboard. */
export function readOnly(): Extension[] {
  return [
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ "aria-readonly": "true" }),
  ];
}

/**
 * Scrolls to the middle or start of a view, but not the page around it: several views do so at once, and the
 * last one would move the others, or the clicked line, out of sight.
 */
const scrollsWithin = EditorView.scrollHandler.of((view, range, { y }) => {
  if (y !== "center" && y !== "start") return false;
  // uses the drawn elements, since CodeMirror has no layout while it scrolls
  const { node } = view.domAtPos(range.head);
  const line = (node instanceof Element ? node : node.parentElement)?.closest(".cm-line")?.getBoundingClientRect();
  if (!line) return false;
  const { scrollDOM } = view;
  const above = y === "center" ? (scrollDOM.clientHeight - line.height) / 2 : 0;
  scrollDOM.scrollTop += line.top - scrollDOM.getBoundingClientRect().top - above;
  if (y === "start") scrollDOM.scrollLeft = 0;
  return true;
});

/** The event of a jump to a line that somebody asked for. */
export const JUMP = "select.jump";

/** Links the lines of one view with a selection, and reports cursor moves to it. */
export class LinkedLines {
  private table: LineTable | null = null;
  private view: EditorView | null = null;
  /** The line under the pointer, 0 for none. */
  private pointed = 0;
  /** True until it shows lines. */
  private isNew = true;
  private readonly stops: (() => void)[];

  /** In a view that `isEdited`, only a jump, a double click or Ctrl+F10 scrolls the others: a click begins an edit. */
  constructor(
    private readonly selection: Selection,
    private readonly isEdited = false,
  ) {
    this.stops = [
      selection.listen((places, origin, scrolls) => this.mark(places, scrolls && origin !== this)),
      selection.listenToHover((places) => this.hover(places)),
    ];
  }

  /** The extension that reports cursor moves to the selection. */
  private readonly tells: Extension = EditorView.updateListener.of((update) => {
    const isMoved = update.selectionSet && update.transactions.some((each) => each.isUserEvent("select"));
    if (!isMoved || !this.table) return;
    const scrolls = !this.isEdited || update.transactions.some((each) => each.isUserEvent(JUMP));
    // views cannot be changed within their own update
    queueMicrotask(() => this.select(update.state, scrolls));
  });
  /** The extension that reports the line under the pointer. */
  private readonly points: Extension = EditorView.domEventHandlers({
    mousemove: (event, view) => {
      const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
      const line = at === null ? 0 : view.state.doc.lineAt(at).number;
      if (line === this.pointed) return;
      this.pointed = line;
      this.selection.hover(line ? this.placesAt(view.state, line) : []);
    },
    mouseleave: () => {
      this.pointed = 0;
      this.selection.hover([]);
    },
  });
  /** The extension that scrolls the other views to the cursor's line on request. */
  private readonly scrolls: Extension = [
    EditorView.domEventHandlers({ dblclick: (_, view) => this.select(view.state, true) }),
    keymap.of([{ key: "Ctrl-F10", run: ({ state }) => (this.select(state, true), true) }]),
  ];
  readonly extension: Extension = [this.tells, this.points, this.scrolls, scrollsWithin];

  attach(view: EditorView): void {
    this.view = view;
  }

  /** Select the line of the cursor. */
  private select(state: EditorState, scrolls: boolean): void {
    if (this.table) this.selection.select(this.placesAt(state, state.doc.lineAt(state.selection.main.head).number), this, scrolls);
  }

  /** Return what the line of the present text came from, or led to. */
  private placesAt(state: EditorState, line: number): Place[] {
    const linked = [...(this.table?.places ?? [])].filter(([number]) => compiledLines.now(state, number) === line);
    return linked.flatMap(([, places]) => places);
  }

  /** Colour the lines of `table`, if any, and mark the selected ones; its numbers mean the text that was begun. */
  link(table: LineTable | null, hues: ReadonlyMap<Place, number>): void {
    this.table = table;
    const byLine = new Map<number, number>();
    for (const [line, places] of table?.places ?? []) {
      const hue = hues.get(places[0] ?? "");
      if (hue !== undefined) byLine.set(line, hue);
    }
    this.view?.dispatch({ effects: [compiledLines.use.of(null), setMarks.of({ hues: byLine, selected: new Set(), hovered: new Set() })] });
    this.mark(this.selection.places, this.selection.origin !== this && (this.isNew || this.selection.scrolls));
    this.isNew &&= table === null;
  }

  /** Disconnect the view from the selection. */
  end(): void {
    for (const stop of this.stops) stop();
  }

  /** Show a line at the top. */
  scrollTo(line: number): void {
    const { view } = this;
    if (view && line <= view.state.doc.lines) view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "start" }) });
  }

  private hover(places: ReadonlySet<Place>): void {
    if (!this.view || !this.table) return;
    const lines = [...places].flatMap((place) => this.table!.lines.get(place) ?? []);
    this.view.dispatch({ effects: setMarks.of({ hovered: new Set(lines) }) });
  }

  private mark(places: ReadonlySet<Place>, scrolls: boolean): void {
    const { view, table } = this;
    if (!view || !table) return;
    const lines = [...places].flatMap((place) => table.lines.get(place) ?? []);
    const shown = lines.map((line) => compiledLines.now(view.state, line)).filter((line) => line !== null);
    const first = Math.min(...shown);
    const effects: StateEffect<unknown>[] = [setMarks.of({ selected: new Set(lines) })];
    if (scrolls && Number.isFinite(first)) {
      effects.push(EditorView.scrollIntoView(view.state.doc.line(first).from, { y: "center" }));
    }
    view.dispatch({ effects });
  }
}
