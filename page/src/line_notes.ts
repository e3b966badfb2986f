// Results of a run at the editor's lines: notes beneath them, and their heat.

import { RangeSetBuilder, StateEffect, StateField, type EditorState, type Extension } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import { element } from "./dom";
import type { Tone } from "./launched";

/** A note beneath a line. */
export interface LineNote {
  line: number;
  text: string;
  tone: Tone;
}

/** The share of profiler samples at a line, and their most frequent stall. */
export interface LineHeat {
  line: number;
  percent: number;
  stall: string | null;
}

interface Said {
  notes: readonly LineNote[];
  heat: readonly LineHeat[];
}

const setSaid = StateEffect.define<Said>();
const MOST_CHARACTERS = 400;
const DEGREES = 5;

const said = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setSaid)) return decorated(transaction.state, effect.value);
    }
    return transaction.docChanged ? shown.map(transaction.changes) : shown;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** The editor extension that shows results of runs. */
export const lineNotes: Extension = said;

/** Show these instead of the earlier ones. */
export function showNotes(view: EditorView, notes: readonly LineNote[], heat: readonly LineHeat[] = []): void {
  view.dispatch({ effects: setSaid.of({ notes, heat }) });
}

function decorated(state: EditorState, { notes, heat }: Said): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const { doc } = state;
  const hottest = Math.max(0, ...heat.map(({ percent }) => percent));
  const lines = [...new Set([...notes, ...heat].map(({ line }) => line))].filter((line) => line >= 1 && line <= doc.lines);
  for (const number of lines.sort((a, b) => a - b)) {
    const { from, to } = doc.line(number);
    const hot = heat.find(({ line }) => line === number);
    if (hot) {
      const degree = Math.max(1, Math.ceil((DEGREES * hot.percent) / hottest));
      builder.add(from, from, Decoration.line({ class: `hot hot-${degree}` }));
      builder.add(to, to, Decoration.widget({ widget: new Words(heatText(hot), "heat"), side: 1 }));
    }
    for (const note of notes.filter(({ line }) => line === number)) {
      builder.add(to, to, Decoration.widget({ widget: new Words(note.text, note.tone), side: 2, block: true }));
    }
  }
  return builder.finish();
}

function heatText({ percent, stall }: LineHeat): string {
  return `${percent.toFixed(1)} %${stall ? ` ${stall.replaceAll("_", " ")}` : ""}`;
}

class Words extends WidgetType {
  constructor(
    private readonly text: string,
    private readonly tone: Tone | "heat",
  ) {
    super();
  }

  override eq(other: Words): boolean {
    return other.text === this.text && other.tone === this.tone;
  }

  override toDOM(): HTMLElement {
    const { text, tone } = this;
    const cut = text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)} …` : text;
    return element(tone === "heat" ? "span" : "div", { className: `note ${tone}` }, cut);
  }
}
