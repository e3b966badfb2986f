// Drafts: what was written on this page, by tab and kernel. Only this browser stores them.

import { keep, kept } from "./browser_storage";
import type { PageState } from "./page_state";

/** The text and forms of one kernel in one tab. */
export interface Draft {
  tab: string;
  kernel: string;
  at_ms: number;
  state: PageState;
}

const ENTRY = "tritond-drafts";
const TAB = "tritond-tab";
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

/** Store what was written for a kernel in this tab; the oldest drafts give way. */
export function keepDraft(kernel: string, state: PageState): void {
  const own: Draft = { tab: tab(), kernel, at_ms: Date.now(), state };
  const others = drafts().filter((each) => each.tab !== own.tab || each.kernel !== kernel);
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
  const own = tab();
  return drafts().find((each) => each.tab === own)?.state ?? null;
}

/** A name of this tab, which survives a reload. */
function tab(): string {
  const name = kept("sessionStorage", TAB) ?? Math.random().toString(36).slice(2);
  keep("sessionStorage", TAB, name);
  return name;
}
