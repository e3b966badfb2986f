// The state of the page, which permalinks store. The service has the same shape (see PUT /v1/states).

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { ask, ProblemAnswered } from "./api";
import { lastDraft } from "./drafts";
import { EXAMPLES } from "./examples";
import type { Problem } from "./wire";

export type Language = "python" | "ttir" | "ttgir";

/** A compile request in the forms: texts, as typed. */
export interface RequestText {
  language: Language;
  source: string;
  /** Modules that the source imports, by path. */
  files?: Record<string, string>;
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
  /** The requests kept for comparison: the first, and the others. */
  kept: RequestText | null;
  also_kept: RequestText[];
  panes: string[];
  launch: LaunchText | null;
  /** The contract of proofs. */
  contract: string | null;
}

const LINK = /^#(sha256:[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16})$/;
/** Digits of a digest in a short link; links of earlier versions have 16. */
const SHORT = 32;
const NO_LINK: Problem = {
  slug: "not_found",
  title: "This link is unknown or expired",
  detail: "Its end is cut off or changed. Ask for it again.",
};

function initialState(): PageState {
  return {
    version: 1,
    request: structuredClone(EXAMPLES[0]!.request),
    kept: null,
    also_kept: [],
    panes: ["ttir", "ptx", "resources"],
    launch: structuredClone(EXAMPLES[0]!.launch),
    contract: null,
  };
}

/** Return the state named by the URL, otherwise this tab's draft, otherwise the first example. */
export async function openState(): Promise<PageState> {
  const name = LINK.exec(location.hash)?.[1];
  if (name) return stateOf(name.includes(":") ? name : `sha256:${name}`);
  if (location.hash.length > 1) throw new ProblemAnswered(NO_LINK);
  const draft = lastDraft();
  return draft ? whole(draft) : initialState();
}

/** Return the state that the URL names, or the first example and why there is none. */
export async function stateAsked(): Promise<[PageState, unknown]> {
  try {
    return [await openState(), null];
  } catch (error) {
    return [initialState(), error];
  }
}

/** Return a stored state. Raises ProblemAnswered. */
export async function stateOf(name: string): Promise<PageState> {
  try {
    return whole((await (await ask(`v1/states/${name}`)).json()) as PageState);
  } catch (error) {
    if (!(error instanceof ProblemAnswered) || error.problem.slug !== "not_found") throw error;
    throw new ProblemAnswered({ ...NO_LINK, detail: "A link expires when it is not opened for a year." });
  }
}

/** An edited state has no link yet; the browser's Back leads to the state that has one. */
export function leaveLink(): void {
  if (location.hash) history.pushState(null, "", location.pathname + location.search);
}

/** Store the state under its digest, which is returned. Raises ProblemAnswered. */
export async function store(state: PageState): Promise<string> {
  const body = JSON.stringify(state);
  const digest = digestOf(body);
  await ask(`v1/states/${digest}`, { method: "PUT", body });
  return digest;
}

/** Store the state under its digest, show it in the URL, and return both links. */
export async function share(state: PageState): Promise<{ digest: string; url: string; short: string }> {
  const digest = await store(state);
  history.replaceState(null, "", `#${digest}`);
  const short = new URL(location.href);
  short.hash = digest.slice("sha256:".length).slice(0, SHORT);
  return { digest, url: location.href, short: short.href };
}

/** Add members that older states lack: cases, further kept requests, and a contract. */
function whole(state: PageState): PageState {
  const launch = state.launch && { ...state.launch, cases: state.launch.cases ?? [] };
  return { ...state, also_kept: state.also_kept ?? [], launch, contract: state.contract ?? null };
}

/** Return all requests that are kept for comparison. */
export function keptIn({ kept, also_kept }: PageState): RequestText[] {
  return kept ? [kept, ...also_kept] : [];
}

/** Return the SHA-256 of a text; `crypto.subtle` exists on https and localhost only. */
function digestOf(text: string): string {
  return `sha256:${bytesToHex(sha256(utf8ToBytes(text)))}`;
}
