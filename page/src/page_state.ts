// The state of the page: what a permalink holds. The service keeps the same shape (see PUT /v1/states).

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { ask, ProblemAnswered } from "./api";
import { keep, kept } from "./browser_storage";
import { EXAMPLES } from "./examples";

export type Language = "python" | "ttir" | "ttgir";

/** A compile request as it stands in the forms: texts, as they were typed. */
export interface RequestText {
  language: Language;
  source: string;
  kernel: string | null;
  signature: Record<string, string>;
  constexprs: Record<string, string>;
  options: Record<string, string>;
  target: string;
  triton: string | null;
}

export interface LaunchText {
  grid: string;
  arguments: Record<string, ArgumentText>;
  reference: string;
  /** Further runs, which change some of the arguments. */
  cases: CaseText[];
}

export interface CaseText {
  name: string;
  /** What is empty, or not here, is as in the launch. */
  arguments: Record<string, Pick<ArgumentText, "shape" | "init" | "value">>;
}

export interface ArgumentText {
  shape: string;
  dtype: string;
  init: string;
  value: string;
  output: boolean;
}

export interface PageState {
  version: 1;
  /** What the editor holds. */
  request: RequestText;
  /** What was kept for comparison. */
  kept: RequestText | null;
  panes: string[];
  launch: LaunchText | null;
}

const DRAFT = location.pathname.endsWith("/learn") ? "tritond-lesson" : "tritond-draft";
/** What the address names, as JSON. */
let named = "";
const DIGEST = /^#(sha256:[0-9a-f]{64})$/;

export function initialState(): PageState {
  return {
    version: 1,
    request: structuredClone(EXAMPLES[0]!.request),
    kept: null,
    panes: ["ttir", "ptx", "resources"],
    launch: null,
  };
}

/** Return the state that the address names, else this tab's draft, else the first example. */
export async function openState(): Promise<PageState> {
  const digest = DIGEST.exec(location.hash)?.[1];
  if (digest) {
    const state = await stateOf(digest);
    named = JSON.stringify(state);
    return state;
  }
  if (location.hash.length > 1) {
    throw new ProblemAnswered({
      slug: "not_found",
      title: "This is no permalink",
      detail: `${location.hash.slice(0, 100)} is not #sha256: and 64 hexadecimal digits`,
    });
  }
  return draft() ?? initialState();
}

/** Return a stored state. Raises ProblemAnswered. */
export async function stateOf(digest: string): Promise<PageState> {
  return whole((await (await ask(`v1/states/${digest}`)).json()) as PageState);
}

/** Keep what this tab shows, so that it is there after a reload; an edited state has no address yet. */
export function keepDraft(state: PageState): void {
  const text = JSON.stringify(state);
  keep("sessionStorage", DRAFT, text);
  if (location.hash && text !== named) history.replaceState(null, "", location.pathname + location.search);
}

/** Store the state under its digest, show that in the address, and return the address. */
export async function share(state: PageState): Promise<string> {
  const body = JSON.stringify(state);
  const digest = digestOf(body);
  await ask(`v1/states/${digest}`, { method: "PUT", body });
  named = body;
  history.replaceState(null, "", `#${digest}`);
  return location.href;
}

/** Fill in what states did not have before: cases. */
function whole(state: PageState): PageState {
  return state.launch ? { ...state, launch: { ...state.launch, cases: state.launch.cases ?? [] } } : state;
}

/** Return the SHA-256 of a text; `crypto.subtle` has one on https and localhost only. */
function digestOf(text: string): string {
  return `sha256:${bytesToHex(sha256(utf8ToBytes(text)))}`;
}

function draft(): PageState | null {
  try {
    const found = JSON.parse(kept("sessionStorage", DRAFT) ?? "null") as PageState | null;
    return found?.version === 1 ? whole(found) : null;
  } catch {
    return null;
  }
}
