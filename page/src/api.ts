// Requests to the service that served this page, and only to it.

import { keep, kept } from "./browser_storage";
import type { Problem } from "./wire";

const WAIT_S = 30;
const KEY_ENTRY = "tritond-api-key";

/** A problem that the service answered, or a network error. */
export class ProblemAnswered extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Problems that pass without anybody's doing. */
const PASSING = new Set(["no_toolchain", "stopping", "store_unavailable", "queue_full", "too_many_requests", "too_many_bodies", "unreachable"]);

/** Return true if the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof ProblemAnswered && PASSING.has(error.problem.slug);
}

/** Return the API key that was entered in this tab, "" for none. */
export function apiKey(): string {
  return kept("sessionStorage", KEY_ENTRY) ?? "";
}

/** Keep an API key until this tab is closed. */
export function keepApiKey(key: string): void {
  keep("sessionStorage", KEY_ENTRY, key || null);
}

/** Return the URL of an API path, under the prefix of this page. */
export function address(path: string): URL {
  const here = document.baseURI.replace(/[#?].*$/, "");
  return new URL(path.replace(/^\//, ""), here.replace(/\/e\/[^/]*$/, "/")); // frames have another path
}

/** Return a finished answer; raise ProblemAnswered for errors, also of the network. */
export async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (apiKey()) headers.set("Authorization", `Bearer ${apiKey()}`);
  if (typeof options.body === "string") headers.set("Content-Type", "application/json");
  let answer: Response;
  try {
    answer = await fetch(address(path), { ...options, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ProblemAnswered({ slug: "unreachable", title: "No connection to tritond", detail: "Your text is safe." });
  }
  if (!answer.ok) throw new ProblemAnswered(await problemIn(answer));
  return answer;
}

/** Return the answer to a GET of a derived result; repeats until a worker has made it. */
export async function made(path: string, signal?: AbortSignal): Promise<Response> {
  for (;;) {
    const answer = await ask(`${path}?wait=${WAIT_S}`, { signal: signal ?? null });
    if (answer.status !== 202) return answer;
  }
}

/** POST a body as JSON, with a bounded wait for the result. */
export function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return ask(`${path}?wait=${WAIT_S}`, { method: "POST", body: JSON.stringify(body), signal: signal ?? null });
}

/** Yield the server-sent events of a job. `EventSource` cannot send a key. */
export async function* events(path: string, signal: AbortSignal): AsyncGenerator<{ kind: string; data: unknown }> {
  const answer = await ask(path, { signal });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (text + value).split("\n\n");
      text = parts.pop()!;
      for (const part of parts) {
        const kind = /^event: (.*)$/m.exec(part)?.[1];
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (kind && data) yield { kind, data: JSON.parse(data) as unknown };
      }
    }
  } finally {
    await reader.cancel();
  }
}

async function problemIn(answer: Response): Promise<Problem> {
  const plain: Problem = { slug: "", title: `HTTP ${answer.status}`, detail: answer.statusText };
  try {
    return { ...plain, ...((await answer.json()) as Problem) };
  } catch {
    return plain; // written by a proxy
  }
}
