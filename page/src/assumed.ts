// The values that a request has only since the source proposes them: guesses, until somebody changes them.

import { element } from "./dom";
import { EXAMPLES } from "./examples";
import type { RequestText } from "./page_state";
import { firstText, isConstexpr } from "./request";
import type { Kernel } from "./wire";

/** A parameter with its proposed type, or with an example for its value. */
export interface Assumed {
  name: string;
  text: string;
  isConstexpr: boolean;
}

const HINTS: Readonly<Record<string, string>> = { "16": " divisible by 16", "1": " of 1" };

/** Return what a request assumes: what is as proposed, and neither annotated, a default, of an example nor in `typed`. */
export function assumedIn(kernel: Kernel | null, request: RequestText, typed: ReadonlySet<string>): Assumed[] {
  if (!kernel || request.language !== "python" || EXAMPLES.some((each) => each.request.source === request.source)) return [];
  return kernel.parameters.flatMap((parameter) => {
    const { name, proposal, annotation } = parameter;
    const isValue = isConstexpr(parameter);
    const text = request[isValue ? "constexprs" : "signature"][name];
    const isOpen = isValue ? proposal?.confidence === "low" : annotation === null && !proposal?.passed;
    const isGuess = Boolean(proposal && text) && isOpen && text === firstText(parameter, kernel) && !typed.has(name);
    return isGuess ? [{ name, text: text!, isConstexpr: isValue }] : [];
  });
}

/** Say it in a line: `assumes *fp32 x_ptr; i32 n divisible by 16; BLOCK=64 (an example)`; "" for nothing. */
export function sentenceOf(assumed: readonly Assumed[]): string {
  const byType = new Map<string, string[]>();
  for (const { name, text } of assumed.filter((each) => !each.isConstexpr)) {
    const type = text.startsWith("*") ? text.split(":")[0]! : text;
    byType.set(type, [...(byType.get(type) ?? []), name]);
  }
  const types = [...byType].map(([text, names]) => {
    const [type, hint = ""] = text.split(":");
    return `${type} ${names.join(", ")}${HINTS[hint] ?? ""}`;
  });
  const values = assumed.filter((each) => each.isConstexpr).map(({ name, text }) => `${name}=${text} (an example)`);
  const parts = [...types, ...values];
  return parts.length ? `assumes ${parts.join("; ")}` : "";
}

/** Return a badge for numbers that rest on a guess; none without one. */
export function guessBadge(sentence: string): HTMLElement[] {
  if (!sentence) return [];
  const badge = element("strong", { className: "guessed" }, "guessed");
  return [element("p", { className: "faint", title: sentence }, badge, ` These numbers are of a kernel that ${sentence}.`)];
}
