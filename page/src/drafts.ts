// Drafts: what was written on this page, by tab, text and kernel. Only this browser stores them.

import { keep, kept } from "./browser_storage";
import type { PageState } from "./page_state";

/** A text and the forms of one kernel in one tab. */
export interface Draft {
  tab: string;
  /** Identifies one of the tab's texts; earlier versions of the page kept only one. */
  text?: string;
  kernel: string;
  at_ms: number;
  state: PageState;
}

const ENTRY = "tritond-drafts";
const TAB = "tritond-tab";
const TEXT = "tritond-text";
const MOST = 30;
const MOST_CHARACTERS = 2_000_000;

/** Return all drafts, the newest first. */
export function drafts(): Draft[] {
  try {
    const found = JSON.parse(kept("localStorage", ENTRY) ?? "[]") as Draft[];
    return Array.isArray(found) ? found.filter(({ state }) => state?.version === 1) : [];
  } catch {
    return []; // written by something else
  }
}

/** From now on, another text is written in this tab: the drafts before stay as they are. */
export function beginText(): void {
  keep("sessionStorage", TEXT, newName());
}

/** Store what was written for a kernel of this tab's text; the oldest drafts give way. */
export function keepDraft(kernel: string, state: PageState): void {
  const own: Draft = { tab: nameOf(TAB), text: nameOf(TEXT), kernel, at_ms: Date.now(), state };
  const isReplaced = (each: Draft): boolean => each.text === own.text || hasSameContent(each.state, state);
  const others = drafts().filter((each) => each.tab !== own.tab || each.kernel !== kernel || !isReplaced(each));
  const all = [own, ...others].slice(0, MOST);
  let text = JSON.stringify(all);
  while (text.length > MOST_CHARACTERS && all.length > 1) {
    all.pop();
    text = JSON.stringify(all);
  }
  keep("localStorage", ENTRY, text);
}

/** Return the state that was last written in this tab. */
export function lastDraft(): PageState | null {
  const own = nameOf(TAB);
  return drafts().find((each) => each.tab === own)?.state ?? null;
}

function hasSameContent(one: PageState, other: PageState): boolean {
  const content = ({ request, launch, contract }: PageState): string => JSON.stringify([request, launch, contract]);
  return content(one) === content(other);
}

/** A name of this tab, or of the text in it, which survives a reload. */
function nameOf(entry: string): string {
  const name = kept("sessionStorage", entry) ?? newName();
  keep("sessionStorage", entry, name);
  return name;
}

function newName(): string {
  return Math.random().toString(36).slice(2);
}
