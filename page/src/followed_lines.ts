// Follows lines through edits, so that what is said about a line stays with it.

import { StateEffect, StateField, type ChangeDesc, type EditorState, type Text } from "@codemirror/state";

/** A text, and all changes since; null if there are none. */
interface Followed {
  text: Text;
  changes: ChangeDesc | null;
}

/** The lines of a text that was compiled or run, in the text as it is now. */
export class FollowedLines {
  /** Follow the text of this moment, once `use` says so. */
  readonly begin = StateEffect.define<null>();
  /** Mean the text of the last `begin` by line numbers from now on. */
  readonly use = StateEffect.define<null>();
  readonly field = StateField.define<{ begun: Followed; used: Followed }>({
    create: (state) => ({ begun: { text: state.doc, changes: null }, used: { text: state.doc, changes: null } }),
    update: ({ begun, used }, transaction) => {
      if (transaction.docChanged) [begun, used] = [later(begun, transaction.changes), later(used, transaction.changes)];
      for (const effect of transaction.effects) {
        if (effect.is(this.begin)) begun = { text: transaction.state.doc, changes: null };
        if (effect.is(this.use)) used = begun;
      }
      return { begun, used };
    },
  });

  /** Return the present number of a line, null if it was deleted. */
  now(state: EditorState, line: number): number | null {
    const { text, changes } = state.field(this.field).used;
    if (line < 1 || line > text.lines) return null;
    const { from, to } = text.line(line);
    if (!changes) return line;
    const [start, end] = [changes.mapPos(from, 1), changes.mapPos(to, -1)];
    if (to > from && end <= start) return null;
    return state.doc.lineAt(Math.min(start, state.doc.length)).number;
  }
}

function later({ text, changes }: Followed, more: ChangeDesc): Followed {
  return { text, changes: changes ? changes.composeDesc(more) : more };
}
