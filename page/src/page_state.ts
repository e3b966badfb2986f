// The state of the page, which permalinks store. The service has the same shape (see PUT /v1/states).

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { ask, ProblemAnswered } from "./api";
import { keep, kept } from "./browser_storage";
import { EXAMPLES } from "./examples";

export type Language = "python" | "ttir" | "ttgir";

/** A compile request in the forms: texts, as typed. */
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
  /** Further runs with some arguments changed. */
  cases: CaseText[];
}

export interface CaseText {
  name: string;
  /** Empty and missing arguments keep their value in the launch. */
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
  /** The text in the editor. */
  request: RequestText;
  /** The compilation kept for comparison. */
  kept: RequestText | null;
  panes: string[];
  launch: LaunchText | null;
}

const DRAFT = location.pathname.endsWith("/learn") ? "tritond-lesson" : "tritond-draft";
/** The state named by the URL, as JSON. */
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

/** Return the state named by the URL, otherwise this tab's draft, otherwise the first example. */
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
      title: "This is not a permalink",
      detail: `${location.hash.slice(0, 100)} is not #sha256: and 64 hexadecimal digits`,
    });
  }
  return draft() ?? initialState();
}

/** Return a stored state. Raises ProblemAnswered. */
export async function stateOf(digest: string): Promise<PageState> {
  return whole((await (await ask(`v1/states/${digest}`)).json()) as PageState);
}

/** Store this tab's state for a reload; an edited state has no URL yet. */
export function keepDraft(state: PageState): void {
  const text = JSON.stringify(state);
  keep("sessionStorage", DRAFT, text);
  if (location.hash && text !== named) history.replaceState(null, "", location.pathname + location.search);
}

/** Store the state under its digest, show it in the URL, and return the URL. */
export async function share(state: PageState): Promise<string> {
  const body = JSON.stringify(state);
  const digest = digestOf(body);
  await ask(`v1/states/${digest}`, { method: "PUT", body });
  named = body;
  history.replaceState(null, "", `#${digest}`);
  return location.href;
}

/** Add members that older states lack: cases. */
function whole(state: PageState): PageState {
  return state.launch ? { ...state, launch: { ...state.launch, cases: state.launch.cases ?? [] } } : state;
}

/** Return the SHA-256 of a text; `crypto.subtle` exists on https and localhost only. */
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
