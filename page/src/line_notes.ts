// Results of a run at the editor's lines: notes beneath them, and their heat.

import { StateEffect, StateField, type EditorState, type Extension, type Range } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import { element } from "./dom";
import { FollowedLines } from "./followed_lines";
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
const outdate = StateEffect.define<null>();
const MOST_CHARACTERS = 400;
const DEGREES = 5;

/** The lines of the text that was run, in the editor's present text. */
export const runLines = new FollowedLines();

const said = StateField.define<{ said: Said; isOld: boolean; shown: DecorationSet }>({
  create: () => ({ said: { notes: [], heat: [] }, isOld: false, shown: Decoration.none }),
  update(value, transaction) {
    let { said, isOld } = value;
    for (const effect of transaction.effects) {
      if (effect.is(setSaid)) said = effect.value;
      if (effect.is(runLines.begin)) isOld = false;
      if (effect.is(outdate)) isOld = true;
    }
    isOld ||= transaction.docChanged;
    if (said === value.said && isOld === value.isOld && !transaction.docChanged) return value;
    return { said, isOld, shown: decorated(transaction.state, said, isOld) };
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.shown),
});

/** The editor extension that shows results of runs. */
export const lineNotes: Extension = [runLines.field, said];

/** Remove the notes of the last run; from now on, line numbers mean the present text. */
export function beginRun(view: EditorView): void {
  view.dispatch({ effects: [runLines.begin.of(null), runLines.use.of(null), setSaid.of({ notes: [], heat: [] })] });
}

/** The notes, and those of a run that is under way, are of another request or launch. */
export function outdateNotes(view: EditorView): void {
  view.dispatch({ effects: outdate.of(null) });
}

/** Show these instead of the earlier ones, at the lines of the text that was run. */
export function showNotes(view: EditorView, notes: readonly LineNote[], heat: readonly LineHeat[] = []): void {
  view.dispatch({ effects: setSaid.of({ notes, heat }) });
}

function decorated(state: EditorState, { notes, heat }: Said, isOld: boolean): DecorationSet {
  const found: Range<Decoration>[] = [];
  const { doc } = state;
  const hottest = Math.max(0, ...heat.map(({ percent }) => percent));
  for (const line of new Set([...notes, ...heat].map((each) => each.line))) {
    const now = runLines.now(state, line);
    if (now === null) continue;
    const { from, to } = doc.line(now);
    const hot = heat.find((each) => each.line === line);
    if (hot) {
      const degree = Math.max(1, Math.ceil((DEGREES * hot.percent) / hottest));
      found.push(Decoration.line({ class: isOld ? "hot" : `hot hot-${degree}` }).range(from));
      found.push(Decoration.widget({ widget: new Words(heatText(hot), "heat", isOld), side: 1 }).range(to));
    }
    for (const note of notes.filter((each) => each.line === line)) {
      found.push(Decoration.widget({ widget: new Words(note.text, note.tone, isOld), side: 2, block: true }).range(to));
    }
  }
  return Decoration.set(found, true);
}

function heatText({ percent, stall }: LineHeat): string {
  return `${percent.toFixed(1)} %${stall ? ` ${stall.replaceAll("_", " ")}` : ""}`;
}

class Words extends WidgetType {
  constructor(
    private readonly text: string,
    private readonly tone: Tone | "heat",
    private readonly isOld: boolean,
  ) {
    super();
  }

  override eq(other: Words): boolean {
    return other.text === this.text && other.tone === this.tone && other.isOld === this.isOld;
  }

  override toDOM(): HTMLElement {
    const { text, tone, isOld } = this;
    const cut = text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)} …` : text;
    return element(tone === "heat" ? "span" : "div", { className: `note ${tone}${isOld ? " old" : ""}` }, cut, isOld ? element("i", {}, " before the last change") : null);
  }
}
