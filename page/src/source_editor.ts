// The source editor: highlighting, completion, diagnostics, and debounced change events.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, foldGutter, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap } from "@codemirror/view";
import { commonExtensions, LinkedLines, typedOverSelection } from "./code_view";
import { languageCompletion } from "./completion";
import { languageOf } from "./languages";
import type { Selection } from "./line_links";
import { lineNotes } from "./line_notes";
import type { Language } from "./page_state";

export interface EditorOptions {
  text: string;
  language: Language;
  selection: Selection;
  version: () => string | null;
  onChange: (text: string) => void;
  onSubmit: () => void;
}

export class SourceEditor {
  readonly view: EditorView;
  readonly linked: LinkedLines;
  private readonly language = new Compartment();

  constructor(parent: HTMLElement, options: EditorOptions) {
    this.linked = new LinkedLines(options.selection);
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
          closeBrackets(),
          bracketMatching(),
          foldGutter(),
          lintGutter(),
          indentOnInput(),
          indentUnit.of("    "),
          EditorState.tabSize.of(4),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          autocompletion({ override: [languageCompletion(options.version)] }),
          this.language.of(languageOf(options.language)),
          this.linked.extension,
          lineNotes,
          EditorView.updateListener.of((update) => {
            if (update.docChanged) options.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    this.linked.attach(this.view);
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replace the whole text in one undo step. */
  write(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  speak(language: Language): void {
    this.view.dispatch({ effects: this.language.reconfigure(languageOf(language)) });
  }
}
