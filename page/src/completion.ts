// Completion of `tl.` with the signatures of the selected Triton.

import type { CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";
import { ask } from "./api";
import { element } from "./dom";
import type { LanguageName } from "./wire";

const TYPED = /\b(tl|triton\.language)\.(\w*)$/;

/** Return the completion source; `version` returns the selected Triton, null for the default. */
export function languageCompletion(version: () => string | null): CompletionSource {
  const known = new Map<string, Promise<LanguageName[]>>();
  const namesOf = (triton: string): Promise<LanguageName[]> => {
    let names = known.get(triton);
    if (!names) {
      names = ask(`v1/language${triton ? `?triton=${encodeURIComponent(triton)}` : ""}`)
        .then((answer) => answer.json() as Promise<{ names: LanguageName[] }>)
        .then((answer) => answer.names);
      names.catch(() => known.delete(triton)); // ask again next time
      known.set(triton, names);
    }
    return names;
  };
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const typed = context.matchBefore(/\b(?:tl|triton\.language)\.\w*$/);
    const parts = typed && TYPED.exec(typed.text);
    if (!typed || !parts) return null;
    const names = await namesOf(version() ?? "").catch(() => []);
    const from = typed.to - parts[2]!.length;
    return {
      from,
      validFor: /^\w*$/,
      options: names.map(({ name, signature, summary }) => ({
        label: name,
        type: signature === null ? "constant" : "function",
        detail: signature && signature.length < 60 ? signature : "",
        info: () => described(name, signature, summary),
      })),
    };
  };
}

function described(name: string, signature: string | null, summary: string): HTMLElement {
  return element(
    "div",
    { className: "described" },
    element("code", {}, `tl.${name}${signature ?? ""}`),
    summary ? element("p", {}, summary) : null,
  );
}
