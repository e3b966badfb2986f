// The source editor: highlighting, completion, diagnostics, and debounced change events.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { history, historyKeymap, indentWithTab, invertedEffects, isolateHistory, undo } from "@codemirror/commands";
import { bracketMatching, foldGutter, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { Compartment, EditorState, Prec, StateEffect, type Transaction } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap } from "@codemirror/view";
import { commonExtensions, compiledLines, JUMP, LinkedLines, typedOverSelection } from "./code_view";
import { languageCompletion } from "./completion";
import { FollowedLines } from "./followed_lines";
import { languageHover } from "./hover_texts";
import { LanguageNames } from "./language_names";
import { languageOf } from "./languages";
import type { Selection } from "./line_links";
import { lineNotes } from "./line_notes";
import type { Language, PageState } from "./page_state";

export interface EditorOptions {
  text: string;
  language: Language;
  selection: Selection;
  version: () => string | null;
  /** `replaced`: the whole text was, by one from the clipboard ("pasted") or another way. */
  onChange: (text: string, replaced: "" | "pasted" | "otherwise") => void;
  /** A state was opened again, by undo or redo. */
  onReopen: (state: PageState) => void;
  onSubmit: () => void;
}

/** Another state was opened; undoing it opens the one before. */
const opened = StateEffect.define<{ before: PageState; after: PageState }>();
const opensBefore = invertedEffects.of((transaction) =>
  transaction.effects.filter((effect) => effect.is(opened)).map(({ value: { before, after } }) => opened.of({ before: after, after: before })),
);

/** The lines of the text that was inspected, in the present text. */
export const inspectedLines = new FollowedLines();

/** The lines that are shown above the `def` of a kernel. */
const LINES_ABOVE = 3;

/** True if a transaction replaces the whole text. */
function replacesAll({ changes, startState }: Transaction): boolean {
  let isAll = false;
  changes.iterChangedRanges((from, to) => (isAll ||= from === 0 && to === startState.doc.length));
  return isAll;
}

export class SourceEditor {
  readonly view: EditorView;
  readonly linked: LinkedLines;
  private readonly language = new Compartment();
  private spoken: Language;

  constructor(parent: HTMLElement, options: EditorOptions) {
    this.linked = new LinkedLines(options.selection, true);
    this.spoken = options.language;
    const names = new LanguageNames(options.version);
    const submit = (): boolean => {
      options.onSubmit();
      return true;
    };
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: options.text,
        extensions: [
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: submit }])),
          // Escape, then Tab leaves the editor, as WAI requires of editors that handle the Tab key
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
          commonExtensions("Source"),
          typedOverSelection,
          history(),
          opensBefore,
          closeBrackets(),
          bracketMatching(),
          foldGutter(),
          lintGutter(),
          indentOnInput(),
          indentUnit.of("    "),
          EditorState.tabSize.of(4),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          autocompletion({ override: [languageCompletion(names)] }),
          languageHover(names),
          this.language.of(languageOf(options.language)),
          this.linked.extension,
          EditorView.domEventHandlers({ keydown: ({ key }) => void parent.classList.toggle("tabbed", key === "Tab"), blur: () => parent.classList.remove("tabbed") }),
          inspectedLines.field,
          lineNotes,
          EditorView.updateListener.of((update) => {
            const again = update.transactions.find((each) => each.isUserEvent("undo") || each.isUserEvent("redo"))?.effects.find((effect) => effect.is(opened));
            // the view cannot be changed within its own update
            if (again) return queueMicrotask(() => options.onReopen(again.value.after));
            if (!update.docChanged) return;
            const whole = update.transactions.find(replacesAll);
            options.onChange(update.state.doc.toString(), !whole ? "" : whole.isUserEvent("input.paste") ? "pasted" : "otherwise");
          }),
        ],
      }),
    });
    this.linked.attach(this.view);
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replace the whole text in one undo step, which also leads from one state to another. */
  write(before: PageState, after: PageState): void {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: after.request.source },
      selection: { anchor: 0 },
      scrollIntoView: true,
      effects: opened.of({ before: structuredClone(before), after: structuredClone(after) }),
      annotations: isolateHistory.of("full"),
    });
  }

  /** Make the way from one state to another, with the same text, a step to undo. */
  record(before: PageState, after: PageState): void {
    this.view.dispatch({ effects: opened.of({ before: structuredClone(before), after: structuredClone(after) }), annotations: isolateHistory.of("full") });
  }

  /** Replace the text, as if it were typed. */
  replace(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, annotations: isolateHistory.of("full"), userEvent: "input" });
  }

  /** Show a line of the text that was run, or compiled. */
  goTo(number: number, lines: FollowedLines): void {
    const now = lines.now(this.view.state, number);
    if (now === null) return;
    this.view.dispatch({ selection: { anchor: this.view.state.doc.line(now).from }, userEvent: JUMP, scrollIntoView: true });
    this.view.focus();
  }

  /** Scroll to a line, with its decorators. */
  reveal(number: number, lines: FollowedLines): void {
    const now = lines.now(this.view.state, number);
    if (now === null) return;
    const first = this.view.state.doc.line(Math.max(1, now - LINES_ABOVE));
    this.view.dispatch({ effects: EditorView.scrollIntoView(first.from, { y: "start" }) });
  }

  undo(): void {
    undo(this.view);
    this.view.focus();
  }

  /** From now on, lines of compilations are those of the present text. */
  begin(): void {
    this.view.dispatch({ effects: compiledLines.begin.of(null) });
  }

  speak(language: Language): void {
    if (language === this.spoken) return;
    this.spoken = language;
    this.view.dispatch({ effects: this.language.reconfigure(languageOf(language)) });
  }
}
