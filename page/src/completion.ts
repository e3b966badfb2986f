// Completion of `tl.` with the signatures of the selected Triton.

import type { CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";
import { describedName, type LanguageNames } from "./language_names";

const TYPED = /\b(tl|triton\.language)\.(\w*)$/;

/** Return the completion source. */
export function languageCompletion(names: LanguageNames): CompletionSource {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const typed = context.matchBefore(/\b(?:tl|triton\.language)\.\w*$/);
    const parts = typed && TYPED.exec(typed.text);
    if (!typed || !parts) return null;
    return {
      from: typed.to - parts[2]!.length,
      validFor: /^\w*$/,
      options: (await names.all()).map((name) => ({
        label: name.name,
        type: name.signature === null ? "constant" : "function",
        detail: name.signature && name.signature.length < 60 ? name.signature : "",
        info: () => describedName(name),
      })),
    };
  };
}
