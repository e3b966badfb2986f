// The names of `triton.language`, as the selected Triton has them.

import { ask } from "./api";
import { element } from "./dom";
import type { LanguageName } from "./wire";

/** Asks for the names of each Triton once. */
export class LanguageNames {
  private readonly known = new Map<string, Promise<LanguageName[]>>();

  /** `version` returns the selected Triton, null for the default. */
  constructor(private readonly version: () => string | null) {}

  /** Return the names; none where they cannot be had. */
  all(): Promise<LanguageName[]> {
    const triton = this.version() ?? "";
    let names = this.known.get(triton);
    if (!names) {
      names = ask(`v1/language${triton ? `?triton=${encodeURIComponent(triton)}` : ""}`)
        .then((answer) => answer.json() as Promise<{ names: LanguageName[] }>)
        .then((answer) => answer.names);
      names.catch(() => this.known.delete(triton)); // ask again next time
      this.known.set(triton, names);
    }
    return names.catch(() => []);
  }
}

/** Return a name with its signature and what its text begins with. */
export function describedName({ name, signature, summary }: LanguageName): HTMLElement {
  return element("div", { className: "described" }, element("code", {}, element("b", {}, `tl.${name}`), signature ?? ""), summary ? element("p", {}, summary) : null);
}
